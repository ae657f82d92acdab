"""Finds the functions of a C++ file by matching braces: enough for their lengths, no parser."""

import re

from lint_common import line_of, strip_comments_and_strings

_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)
_ACCESS = re.compile(r"\b(?:public|protected|private)\s*:(?!:)")
# What may stand between the last parenthesis of a function's head and its body.
_TAIL = re.compile(
    r"(?:\s|\b(?:const|noexcept|override|final|mutable|volatile|try)\b|&|\[\[\w+\]\])*\Z")
_TRAILING_RETURN = re.compile(r"\)[\s\w&]*->[^;{}]*\Z")
_TYPE_OR_NAMESPACE = re.compile(
    r"\s*(?:inline\s+)?(?:template\s*<.*>\s*)?(?:typedef\s+)?"
    r"(?:namespace|class|struct|union|enum|extern\s*\")", re.DOTALL)
# "Name(args) : member_" just before a brace: that brace initialises the member.
_MEMBER_INIT = re.compile(r"\)[\s\w]*:(?!:).*[\w>]\s*\Z", re.DOTALL)
_NEVER_FUNCTION = re.compile(r"\s*(?:inline\s+)?(?:namespace|enum)\b")


def _kind(head):
    """What the brace after `head` opens at namespace or class scope."""
    head = _ACCESS.sub(lambda m: " " * len(m[0]), head)
    if _MEMBER_INIT.search(head) and not _TAIL.match(head[head.rfind(")") + 1:]):
        return "init"
    if not _NEVER_FUNCTION.match(head) and ")" in head:
        after_parenthesis = head[head.rfind(")") + 1:]
        if _TAIL.match(after_parenthesis) or _TRAILING_RETURN.search(head):
            return "function"
        # A body behind an initialiser list that ends in a brace: "... : a_(1), b_{2} {".
        if re.search(r"\)[\s\w]*:(?!:)", head) and head.rstrip().endswith("}"):
            return "function"
    if _TYPE_OR_NAMESPACE.match(head):
        return "scope"
    return "init"


def functions(text):
    """(first line, last line, name) of each function body that is not inside another one; and
    whether all braces matched."""
    code = _PREPROCESSOR.sub(lambda m: re.sub(r"[^\n]", " ", m[0]),
                             strip_comments_and_strings(text))
    found = []
    stack = []          # (kind, start of the head)
    head_start = 0
    matched = True
    for brace in re.finditer(r"[{};]", code):
        at = brace.start()
        in_body = any(kind in ("function", "init") for kind, _ in stack)
        if brace[0] == ";":
            if not in_body:
                head_start = at + 1
        elif brace[0] == "{":
            stack.append(("body" if in_body else _kind(code[head_start:at]), head_start))
            if stack[-1][0] == "scope":
                head_start = at + 1
        elif not stack:
            matched = False
        else:
            kind, start = stack.pop()
            if kind == "function":
                found.append(_describe(code, start, at))
            if kind in ("function", "scope"):
                head_start = at + 1
    return found, matched and not stack


def _describe(code, start, end):
    head = _ACCESS.sub(lambda m: " " * len(m[0]), code[start:end])
    first = start + len(head) - len(head.lstrip())
    name = re.search(r"((?:\w+::)*operator\s*(?:\(\s*\)|[^\s\w(]+)|[~\w:]+)\s*\(", head)
    return line_of(code, first), line_of(code, end), name[1] if name else "function"
