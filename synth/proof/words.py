"""What simulators and synthesis read differently, and what the text of a file shows but no syntax tree that we have.

The text is preprocessed Verilog without comments and strings.
"""

import re
from collections.abc import Iterator, Mapping

_ASSERTION = re.compile(
    r"\b(?:assert|assume|cover|restrict|expect)\b\s*(?:(?:property|sequence|final)\b|#\s*0)?\s*(?=\()"
)
_ELSE = re.compile(r"\s*else\b")
_NAMED = re.compile(r"\b(property|sequence)\b.*?\bend\1\b", re.S)
_REPORT = re.compile(r"\s*(?:;|\$(?:error|warning|info|fatal|display)\b\s*)")
"""A statement of an assertion that changes nothing: an empty one, or the name of a system task."""
_CHANGE = re.compile(r"(?<![=!<>|#])=(?![=>])|\|=(?!>)|<<=|>>=|\+\+|--")
_FUNCTION = re.compile(r"\bfunction\b([^;(]*?)([\w$]+)\s*[;(]")

_LIST = re.compile(r"[][(){},;]|\b(?:parameter|localparam)\b")
_PARAMETERS = re.compile(r"\b(?:parameter|localparam)\b|#\s*\((?!\s*(?:parameter|localparam|\.))")
_DECLARED = re.compile(r"(.*?)([\w$]+)\s*(?:\[[^]]*\]\s*)*", re.S)
"""A declaration before the sign of its value: the type and the name."""
_INNER = re.compile(r"\[[^][]*\]|\{[^{}]*\}|(?<=[\w$])\s*\([^()]*\)")
"""Parts of an expression whose widths do not count for it: what selects bits, joins words or is an argument."""
_LEAF = re.compile(r"(?:\d+\s*)?'s?[bodh]\s*[\w?]+|'[01xz]|\d[\w.]*'?|[$\w]+(?:::[$\w]+)*", re.I)
_SUM = re.compile(r"[-+*~]|<<")
_WIDE = re.compile(r"\b(int|integer|longint|time|real)\b|\[\s*(3[1-9]|[4-9]\d|\d{3,})\s*:\s*0\s*\]")
"""Types of 32 bits or more."""


def without_assertions(code: str) -> tuple[str, list[tuple[int, str]]]:
    """The text with blanks instead of assertions, and the places and problems of those that change something.

    Synthesis leaves assertions out, with their functions, and with what is done when they pass or fail.
    """
    names = {match[2] for match in _FUNCTION.finditer(code)}
    called = re.compile(rf"(?<![\w$.])(?:\w+::)*({'|'.join(map(re.escape, sorted(names))) or '(?!)'})\s*\(")
    problems = list[tuple[int, str]]()

    def blank(start: int, end: int) -> None:
        nonlocal code
        part = code[start:end]
        if function := called.search(part):
            problems.append((start, f"call the function {function[1]} in an assertion"))
        if _CHANGE.search(part):
            problems.append((start, "assign a variable in an assertion"))
        code = code[:start] + re.sub(r"[^\n]", " ", part) + code[end:]

    for match in _ASSERTION.finditer(code):
        closed = _closed(code, match.end())
        end = closed if _ELSE.match(code, closed) else _reported(code, closed)
        failing = None if end is None else _ELSE.match(code, end)
        end = _reported(code, failing.end()) if failing else end
        if end is None:
            problems.append((match.start(), "have an assertion that does more than report"))
        blank(match.start(), end or match.end())
    for match in _NAMED.finditer(code):
        blank(*match.span())
    return code, sorted(problems)


def _closed(code: str, start: int) -> int:
    """The place behind the parenthesis that belongs to the one at a place."""
    depth = 0
    for match in re.compile(r"[()]").finditer(code, start):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return len(code)


def _reported(code: str, start: int) -> int | None:
    """The place behind a statement that only reports; None if another statement is there."""
    match = _REPORT.match(code, start)
    if match is None or match[0].endswith(";"):
        return match and match.end()
    end = _closed(code, match.end()) if code.startswith("(", match.end()) else match.end()
    last = re.compile(r"\s*;").match(code, end)
    return last and last.end()


def short_sums(code: str) -> Iterator[tuple[int, str]]:
    """Places and problems of constants whose width is only that of the short words in a sum.

    Some tools add such words with 32 bits, others with the bits of the longest one.
    """
    wide = {match[2]: bool(_WIDE.search(match[1])) for match in _FUNCTION.finditer(code)}
    wide |= dict.fromkeys(re.findall(r"\bgenvar\s+([\w$]+)", code), True)
    for match in _PARAMETERS.finditer(code):
        kind: str | None = None
        for start, end in _listed(code, match.end()):
            name, _, value = code[start:end].partition("=")
            declared = _DECLARED.fullmatch(name.strip())
            if declared is None or not value or value[0] == "=":
                continue
            kind = declared[1].strip() if kind is None else kind
            is_plain = kind in ("", "signed", "unsigned")
            is_wide = any(_is_wide(leaf, wide) for leaf in _leaves(value)) if is_plain else bool(_WIDE.search(kind))
            if is_plain and (kind == "signed" or re.search(r"'[01xz]", value, re.I) or _is_short_sum(value, wide)):
                yield start, f"have the parameter {declared[2]} without a range"
            wide[declared[2]] = is_wide and wide.get(declared[2], True)
    for match in re.finditer(r"\benum\b[^{;]*\{", code):
        for start, end in _listed(code, match.end()):
            name, _, value = code[start:end].partition("=")
            if _is_short_sum(value, wide):
                yield start, f"have the value of {name.strip()} as a sum of short constants"
    for match in re.finditer(r"#\s*\(", code):
        for start, end in _listed(code, match.end()):
            if _is_short_sum(re.sub(r"^\s*\.\s*[\w$]+\s*\((.*)\)\s*$", r"\1", code[start:end], flags=re.S), wide):
                yield start, "give a parameter a sum of short constants"
    for match in re.finditer(r"\bcase\s*(?=\()", code):
        value = code[match.end() + 1 : _closed(code, match.end()) - 1]
        is_constant = all(re.match(r"[\d']", leaf) or leaf.rpartition(":")[2] in wide for leaf in _leaves(value))
        if is_constant and _is_short_sum(value, wide):
            yield match.start(), "choose by a sum of short constants"


def _listed(code: str, start: int) -> Iterator[tuple[int, int]]:
    """The parts between commas, from a place to the end of their list or declaration."""
    depth = 0
    for match in _LIST.finditer(code, start):
        if match[0] in ("(", "[", "{"):
            depth += 1
        elif depth and match[0] in (")", "]", "}"):
            depth -= 1
        elif depth == 0:
            yield start, match.start()
            start = match.end()
            if match[0] != ",":
                return


def _outer(value: str) -> str:
    """An expression without its inner parts."""
    outer = _INNER.sub(" ", value)
    return value if outer == value else _outer(outer)


def _leaves(value: str) -> list[str]:
    """The names and numbers of an expression that give it a width."""
    return _LEAF.findall(_outer(value))


def _is_short_sum(value: str, wide: Mapping[str, bool]) -> bool:
    leaves = _leaves(value)
    return bool(leaves and _SUM.search(_outer(value))) and not any(_is_wide(leaf, wide) for leaf in leaves)


def _is_wide(leaf: str, wide: Mapping[str, bool]) -> bool:
    """Whether a name or number has 32 bits or more; names that are not known count as short."""
    size = re.match(r"(\d*)\s*'", leaf)
    if size:
        return leaf[1:2].lower() not in "01xz" if not size[1] else int(size[1]) >= 32
    name = leaf.rpartition(":")[2]
    return name[0].isdigit() or name[0] == "$" or bool(_WIDE.fullmatch(name)) or wide.get(name, False)
