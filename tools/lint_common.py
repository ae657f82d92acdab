"""What the lints share: which files there are, and C++ with comments and strings blanked."""

import os
import re
import sys

CPP_SUFFIXES = (".cc", ".h")
TEXT_SUFFIXES = CPP_SUFFIXES + (
    ".py", ".sh", ".js", ".mjs", ".md", ".txt", ".json", ".proto", ".conf", ".yml")
TEXT_NAMES = ("Makefile", ".clang-format", ".gitignore", ".ci/run")
SKIPPED_DIRECTORIES = {".git", "node_modules", "__pycache__", "corpus", "ringtail-data"}


def repo_files(root):
    """Paths of all text files below root, relative to it, sorted; build directories left out."""
    found = []
    for directory, names, files in os.walk(root):
        names[:] = sorted(
            n for n in names
            if n not in SKIPPED_DIRECTORIES and n != "build" and not n.startswith("build-"))
        for name in files:
            path = os.path.relpath(os.path.join(directory, name), root)
            if path.endswith(TEXT_SUFFIXES) or path in TEXT_NAMES:
                found.append(path)
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def is_generated(text):
    """A file says in its first lines that one of our tools wrote it."""
    head = "\n".join(text.split("\n", 5)[:5])
    return re.search(r"(?:generated|written) by tools/\w+\.py", head, re.IGNORECASE) is not None


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


_TOKEN = re.compile(
    r"""
      (?P<line>//[^\n]*(?:\\\n[^\n]*)*)
    | (?P<block>/\*.*?(?:\*/|\Z))
    | (?P<raw>\b(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
    | (?P<string>"(?:\\.|[^"\\\n])*")
    | (?P<number>\b\d(?:[\w.]|'(?=\w))*)
    | (?P<char>'(?:\\.|[^'\\\n])+')
    """,
    re.VERBOSE | re.DOTALL)


def _blank(piece):
    return re.sub(r"[^\n]", " ", piece)


def strip_comments(text):
    """C++ with comments replaced by spaces; lines and columns stay where they are."""
    def replace(match):
        return _blank(match[0]) if match["line"] or match["block"] else match[0]
    return _TOKEN.sub(replace, text)


def strip_comments_and_strings(text):
    """As strip_comments, and what stands inside quotes is blank too (the quotes stay)."""
    def replace(match):
        piece = match[0]
        if match["number"]:
            return piece
        if match["line"] or match["block"]:
            return _blank(piece)
        return piece[0] + _blank(piece[1:-1]) + piece[-1]
    return _TOKEN.sub(replace, text)


class Report:
    """Violations as file:line: text."""

    def __init__(self):
        self.lines = []

    def add(self, path, line, text):
        self.lines.append((path, line, text))

    def finish(self, name):
        for path, line, text in sorted(self.lines):
            print(f"{path}:{line}: {text}")
        if self.lines:
            print(f"{name}: {len(self.lines)} violations")
            return 1
        print(f"{name}: clean")
        return 0


def repo_root(argv):
    """The root given with --root, else the repository that this tool lies in."""
    if "--root" in argv:
        return os.path.abspath(argv[argv.index("--root") + 1])
    return os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0])))
