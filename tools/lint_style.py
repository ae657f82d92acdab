#!/usr/bin/env python3
"""Keeps the style that a program can check (docs/STYLE.md): sizes, banned words, formatting, rules
that tie text, code and test, and paths named in the documentation.

Prints file:line of each violation; exits 1 when there is one.
"""

import ast
import os
import re
import shutil
import subprocess
import sys

from cpp_functions import functions
from lint_common import (CPP_SUFFIXES, Report, is_generated, line_of, read, repo_files, repo_root,
                         strip_comments_and_strings)

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 800
LINE_LENGTH_MAX = 100
CODE_SUFFIXES = CPP_SUFFIXES + (".py", ".sh", ".js", ".mjs")

# Banned in C++ code (comments and strings do not count): pattern, why, where it is allowed.
BANNED = [
    (r"\bthrow\b", "the project throws nothing", ()),
    (r"\bstd\s*::\s*(?:ranges\s*::\s*)?views\b|\branges\s*::\s*views\b",
     "no views: clang 14 fails on libstdc++ 12's", ()),
    (r"\bstd\s*::\s*format\b", "std::format is missing in g++ 12: fmt::format", ()),
    (r"(?<![\w.>])s?rand\s*\(", "chance comes from runtime::Rng", ("broker/runtime/uv/",)),
    (r"\bsleep_(?:for|until)\s*\(|(?<![\w.>])(?:u|nano)?sleep\s*\(\s*[^\s)]",
     "nothing sleeps: await an event or a timer", ()),
    (r"\b(?:secure_)?getenv\s*\(", "the environment is read by the floor only",
     ("broker/runtime/", "tests/")),
    (r"\busing\s+namespace\b", "name what is used", ("tests/",)),
    (r"\bco_(?:await|yield|return)\b", "no coroutines: the simulator must see every state", ()),
    # Snapshots of metadata records are shared between the replica and those who were told of
    # them (docs/decisions/0002-shared-metadata-records.md).
    (r"\bstd\s*::\s*shared_ptr\b(?!\s*<\s*const\s+[\w:]*Record\s*>)"
     r"|\bmake_shared\b(?!\s*<\s*(?:const\s+)?[\w:]*Record\s*>)",
     "std::shared_ptr only in broker/runtime/, but for const ...Record of the metadata",
     # An HTTP thread and a shard share the answer: either may be gone first.
     ("broker/runtime/", "broker/http/", "cluster/metadata/", "tests/")),
]
BANNED = [(re.compile(pattern), why, allowed) for pattern, why, allowed in BANNED]
PYTHON_SLEEP = re.compile(r"\btime\.sleep\s*\(|\bfrom time import .*\bsleep\b")

# Banned everywhere, comments and documentation included. Split so that this file passes.
UNFINISHED = re.compile(r"\b(?:TO" r"DO(?!\(#\d+\))|FIX" r"ME|X" r"XX)\b")
WORKPLACE = re.compile(
    r"(?<![\w.])/wo" r"rk/|/tmp" r"/w\b|\bsub-?" r"agents?\b|\bhelper" r" agents?\b"
    r"|\bsandbox" r" session",
    re.IGNORECASE)
WORDS_EXEMPT = ("tests/lint/",)  # quotes what it expects to be refused

RULE = re.compile(r"\b(GM|MR|CL)(\d+)\b")
RULE_HOMES = {"GM": "gm/README.md", "MR": "queue/mirror/README.md", "CL": "cluster/README.md"}
RULE_CODE = ("gm/", "queue/", "cluster/", "broker/")

DOC_PATH = re.compile(r"`((?:broker|gm|queue|cluster|tests|tools|docs|\.ci)/[^`\s]*)`")
DOC_TARGET = re.compile(r"`make ([a-z][a-z0-9-]*)")
# History and decisions speak of the tree as it was.
DOCS_EXEMPT = ("docs/decisions/", "docs/CHANGELOG.md")


def check_sizes(path, text, report):
    lines = text.splitlines()
    if len(lines) > FILE_LINES_MAX:
        report.add(path, len(lines), f"file has {len(lines)} lines, at most {FILE_LINES_MAX}")
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_LENGTH_MAX:
            report.add(path, number, f"line has {len(line)} columns, at most {LINE_LENGTH_MAX}")
        if line != line.rstrip():
            report.add(path, number, "spaces at the end of the line")


def check_cpp_functions(path, text, report):
    found, matched = functions(text)
    if not matched:
        report.add(path, 1, "braces do not match for the lint's scanner: function sizes unchecked")
    for first, last, name in found:
        check_function_size(path, first, last, name, report)


def check_python_functions(path, text, report):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            check_function_size(path, node.lineno, node.end_lineno, node.name, report)


def check_function_size(path, first, last, name, report):
    size = last - first + 1
    if size > FUNCTION_LINES_MAX:
        report.add(path, first, f"{name} has {size} lines, at most {FUNCTION_LINES_MAX}")


def check_banned(path, text, report):
    code = strip_comments_and_strings(text)
    for pattern, why, allowed in BANNED:
        if path.startswith(allowed):
            continue
        for match in pattern.finditer(code):
            report.add(path, line_of(code, match.start()), f"banned: {match[0].strip()} ({why})")
    if path.endswith(".h") and not re.search(r"^#pragma once$", text, re.MULTILINE):
        report.add(path, 1, "header without #pragma once")


def check_words(path, text, report):
    if path.startswith(WORDS_EXEMPT):
        return
    for match in WORKPLACE.finditer(text):
        report.add(path, line_of(text, match.start()), f'banned: "{match[0]}" (workplace)')
    if path.endswith(".md"):
        return
    for match in UNFINISHED.finditer(text):
        report.add(path, line_of(text, match.start()),
                   f"banned: {match[0]} without an issue number, as in {match[0][:4]}(#12)")


def check_rules(root, paths, report):
    """Each rule of a README has a mark in the code and a checker, and each mark has its rule."""
    marks = {}
    for path in paths:
        if path.startswith(RULE_CODE) and path.endswith(CPP_SUFFIXES):
            text = read(root, path)
            for match in RULE.finditer(text):
                marks.setdefault(match[0], (path, line_of(text, match.start())))
    checkers = {re.match(r"(\w+?)_", os.path.basename(path))[1].upper()
                for path in paths if re.match(r"tests/sim/checkers/(gm|mr|cl)\d+_.*\.cc\Z", path)}
    rules = set()
    for family, home in RULE_HOMES.items():
        if home not in paths:
            continue
        text = read(root, home)
        for match in RULE.finditer(text):
            if match[1] != family or match[0] in rules:
                continue
            rules.add(match[0])
            line = line_of(text, match.start())
            if match[0] not in marks:
                report.add(home, line, f"rule {match[0]} has no mark in the code")
            if match[0] not in checkers:
                report.add(home, line, f"rule {match[0]} has no checker in tests/sim/checkers/")
    for rule in sorted(set(marks) - rules):
        report.add(*marks[rule], f"mark of rule {rule}, which no README states")


def check_docs(root, path, text, makefile, report):
    if path.startswith(DOCS_EXEMPT):
        return
    for match in DOC_PATH.finditer(text):
        named = re.sub(r":\d+\Z", "", match[1])
        if re.search(r"[<>*{}…]", named):
            continue
        if not os.path.exists(os.path.join(root, named)):
            report.add(path, line_of(text, match.start()), f"names {named}, which does not exist")
    for match in DOC_TARGET.finditer(text):
        if not re.search(rf"^{match[1]}:", makefile, re.MULTILINE):
            report.add(path, line_of(text, match.start()), f"names make {match[1]}: no such target")


def check_format(root, paths, report):
    """clang-format 14, Debian 12's, decides; where it is missing the check is left out."""
    tool = shutil.which("clang-format")
    if tool is None or not paths or not os.path.isfile(os.path.join(root, ".clang-format")):
        return
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False)
    if "version 14." not in version.stdout:
        print(f"lint_style: formatting not checked, need clang-format 14: {version.stdout.strip()}")
        return
    result = subprocess.run([tool, "--dry-run", "-Werror", *paths], cwd=root, text=True,
                            capture_output=True, check=False)
    first = {}
    for match in re.finditer(r"^(\S+?):(\d+):\d+: error: code should be", result.stderr,
                             re.MULTILINE):
        first.setdefault(match[1], int(match[2]))
    for path, line in first.items():
        report.add(path, line, "not formatted: make fmt")
    if result.returncode != 0 and not first:
        report.add(".clang-format", 1, f"clang-format failed: {result.stderr.strip()[:300]}")


def check_generated(root, report):
    tool = os.path.join(root, "tools", "gen_methods.py")
    if not os.path.isfile(tool):
        return
    result = subprocess.run([sys.executable, tool, "--check"], cwd=root, text=True,
                            capture_output=True, check=False)
    if result.returncode != 0:
        report.add("tools/gen_methods.py", 1,
                   f"generated files are not current: {(result.stdout + result.stderr).strip()}")


def check_file(root, path, makefile, report):
    text = read(root, path)
    check_words(path, text, report)
    generated = is_generated(text)
    if path.endswith(CODE_SUFFIXES) and not generated:
        check_sizes(path, text, report)
    if path.endswith(CPP_SUFFIXES):
        check_banned(path, text, report)
        if not generated:
            check_cpp_functions(path, text, report)
    elif path.endswith(".py"):
        check_python_functions(path, text, report)
        if not path.startswith(WORDS_EXEMPT):
            for match in PYTHON_SLEEP.finditer(text):
                report.add(path, line_of(text, match.start()),
                           f"banned: {match[0]} (await an event)")
    elif path.endswith(".md"):
        check_docs(root, path, text, makefile, report)
    return generated


def check(root):
    report = Report()
    paths = repo_files(root)
    makefile = read(root, "Makefile") if "Makefile" in paths else ""
    to_format = []
    for path in paths:
        generated = check_file(root, path, makefile, report)
        if path.endswith(CPP_SUFFIXES) and not generated:
            to_format.append(path)
    check_rules(root, paths, report)
    check_format(root, to_format, report)
    check_generated(root, report)
    return report


if __name__ == "__main__":
    sys.exit(check(repo_root(sys.argv)).finish("lint_style"))
