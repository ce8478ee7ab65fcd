"""What simulators and synthesis read differently, and what the text of a file shows but no syntax tree that we have.

The text is preprocessed Verilog without comments and strings.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from synth.proof.expressions import Bound, Expression, Width

_ASSERTION = re.compile(
    r"\b(?:assert|assume|cover|restrict|expect)\b\s*(?:(?:property|sequence|final)\b|#\s*0)?\s*(?=\()"
)
_ELSE = re.compile(r"\s*else\b")
_NAMED = re.compile(r"\b(property|sequence)\b.*?\bend\1\b", re.S)
_REPORT = re.compile(r"\s*(?:;|\$(?:error|warning|info|fatal|display)\b\s*)")
"""A statement of an assertion that changes nothing: an empty one, or the name of a system task."""
_CHANGE = re.compile(r"(?<![=!<>|#])=(?![=>])|\|=(?!>)|<<=|>>=|\+\+|--")
_FUNCTION = re.compile(r"\bfunction\b([^;(]*?)([\w$]+)\s*[;(]")

_SYSTEM = re.compile(r"\$[a-z]\w*|\\")
"""Names of system tasks and functions; and the backslash that is left of a name, which may be a function's."""
_HARMLESS = re.compile(
    r"\$(?:error|warning|info|fatal|display|(?:real)?time|isunknown|onehot0?|count(?:ones|bits)|(?:un)?signed|clog2|bits"
    r"|past|stable|changed|rose|fell|sampled)"
)
"""System tasks and functions that assign nothing."""
_FILL = re.compile(r"[(,]\s*('1)\s*(?=[),])")
"""An argument that is '1 alone, which Icarus Verilog takes for one bit at an input of more."""
_SIGNED_BASE = re.compile(r"'[sS][bodhBODH]")

_BODY = re.compile(r"\bfunction\b.*?\bendfunction\b", re.S)
_CALL = re.compile(r"(?<![\w$'])([A-Za-z_][\w$]*)\s*(?=\()")
_NAME = re.compile(r"(?<![\w$.'])[A-Za-z_][\w$]*(?![\w$])(?!\s*(?:::|'))")
_ENUM = re.compile(r"\benum\b[^{;]*\{([^}]*)\}")
_TYPE = re.compile(r"\btypedef\b((?:[^;{}]|\{(?:[^{}]|\{[^{}]*\})*\})*?)([\w$]+)\s*;")
"""A type that has a name, but for lists: what it is, and the name."""
_SHORT = r"(?<!\$)\bsigned\b(?!\s*\[\s*31\s*:\s*0\s*\])|\b(?:byte|shortint)\b(?!\s*unsigned)"
"""Words with a sign that are not those of an integer."""
_MEASURED = re.compile(
    r"\s*(?:(?:logic|bit|reg|byte|shortint|int|longint|integer)\b(?:\s*(?:un)?signed)?(?:\s*\[[^]]*\])*"
    r"|(?:[\w$]+\s*::\s*)?([\w$]+))\s*"
)
"""A type, which may have a name."""

_LIST = re.compile(r"[][(){},;]|\b(?:parameter|localparam)\b")
_PARAMETERS = re.compile(r"\b(?:parameter|localparam)\b|#\s*\((?!\s*(?:parameter|localparam|\.))")
_DECLARED = re.compile(r"(.*?)([\w$]+)\s*(?:\[[^]]*\]\s*)*", re.S)
"""A declaration before the sign of its value: the type and the name."""
_MODULE = re.compile(r"\b(?:macromodule|module|interface|package|program)\s+(?:(?:automatic|static)\s+)?([\w$]+)")
_NAMED_VALUE = re.compile(r"\s*\.\s*([\w$]+)\s*\((.*)\)\s*", re.S)
_PLAIN = "", "signed", "unsigned"
"""Types of a parameter that leave its width to its value."""
_WIDE = re.compile(r"\b(int|integer|longint|time|real)\b|\[\s*(3[1-9]|[4-9]\d|\d{3,})\s*:\s*0\s*\]")
"""Types of 32 bits or more."""


def without_assertions(code: str) -> tuple[str, list[tuple[int, str]]]:
    """The text with blanks instead of assertions, and the places and problems of those that change something.

    Synthesis leaves assertions out, with their functions, and with what is done when they pass or fail.
    """
    names = {match[2] for match in _FUNCTION.finditer(code)}
    called = re.compile(rf"(?<![\w$])(?:\w+::)*({'|'.join(map(re.escape, sorted(names))) or '(?!)'})\s*\(")
    problems = list[tuple[int, str]]()

    def blank(start: int, end: int) -> None:
        nonlocal code
        part = code[start:end]
        if function := called.search(part):
            problems.append((start, f"call the function {function[1]} in an assertion"))
        if word := next((word for word in _SYSTEM.findall(part) if not _HARMLESS.fullmatch(word)), ""):
            what = f"call {word}" if word != "\\" else "have a name that begins with a backslash"
            problems.append((start, f"{what} in an assertion"))
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


def _closed(code: str, start: int, pair: str = "()") -> int:
    """The place behind the parenthesis, or brace, that belongs to the one at a place."""
    depth = 0
    for match in re.compile(f"[{pair}]").finditer(code, start):
        depth += 1 if match[0] == pair[0] else -1
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


class _Constant(NamedTuple):
    """A parameter: its place, the type before its name, the text of its value; and its module, if that is an option."""

    start: int
    kind: str
    name: str
    value: str
    module: str


class _Override(NamedTuple):
    """A value that an instance gives a parameter: its place, the module, the parameter's name or number, the text."""

    start: int
    module: str
    key: str | int
    value: str


def short_sums(code: str) -> Iterator[tuple[int, str]]:
    """Places and problems of constants whose width is only that of the short words in a sum.

    Some tools add such words with 32 bits, others with the bits of the longest one.
    """
    constants, overrides = list(_constants(code)), list(_overrides(code))
    known = _known(code, constants, overrides)
    for start, kind, name, value, _ in constants:
        is_odd = kind == "signed" or re.search(r"'[01xz]", value, re.I) or Expression(value, known).has_short_sum
        if kind in _PLAIN and is_odd:
            yield start, f"have the parameter {name} without a range"
    for match in re.finditer(r"\benum\b[^{;]*\{", code):
        for start, end in _listed(code, match.end()):
            name, _, value = code[start:end].partition("=")
            if Expression(value, known).has_short_sum:
                yield start, f"have the value of {name.strip()} as a sum of short constants"
    for match in (
        re.finditer(r"(?<!')\{|\$bits\s*(?=\()", code) if any(width.is_long for width in known.values()) else ()
    ):
        pair = "{}" if match[0] == "{" else "()"
        if Expression(code[match.start() : _closed(code, match.start(), pair)], known).joins_long:
            yield match.start(), "take the size of a sum that is a parameter without a range"
    for start, _, _, value in overrides:
        if Expression(value, known).has_short_sum:
            yield start, "give a parameter a sum of short constants"
    for match in re.finditer(r"\bcase\s*(?=\()", code):
        end = _closed(code, match.end())
        chosen = Expression(code[match.end() + 1 : end - 1], known)
        if not all(leaf[0] in "0123456789'" or leaf.rpartition(":")[2] in known for leaf in chosen.leaves):
            continue  # of a block, where tools agree
        if chosen.has_short_sum or any(Expression(item, known).has_short_sum for item in _items(code, end)):
            yield match.start(), "choose by a sum of short constants"


def signs_and_sizes(code: str) -> Iterator[tuple[int, str]]:
    """Places and problems of constants whose sign or size some simulators misjudge.

    In functions for constants they take short words with a sign for ones without, and the size of a signal for 0.
    """
    for match in _FILL.finditer(code):
        yield match.start(1), "connect '1 to an input"
    for match in _SIGNED_BASE.finditer(code):
        if not re.search(r"(?<![\w$])\d[\d_]*\s*$", code[max(match.start() - 99, 0) : match.start()]):
            yield match.start(), "have a constant with a sign but without its size"
    types, short = {*re.findall(r"\btype\s+([\w$]+)\s*=", code)}, _SHORT
    for match in _TYPE.finditer(code):
        types.add(match[2])
        if re.search(short, match[1]):
            short += rf"|(?<![\w$]){re.escape(match[2])}(?![\w$])"
    constants = set(_known(code, list(_constants(code)), list(_overrides(code))))
    constants |= {name for match in _ENUM.finditer(code) for name in _NAME.findall(match[1])}
    bodies = [(match, found) for match in _BODY.finditer(code) if (found := _FUNCTION.match(match[0]))]
    heads = {match.start() + found.start(2) for match, found in bodies}
    called = {found[2]: {found[2], *_CALL.findall(match[0])} for match, found in bodies}
    wrong = {found[2] for match, found in bodies if re.search(short, match[0])}
    while more := {name for name, inner in called.items() if inner & wrong} - wrong:
        wrong |= more
    for match in _CALL.finditer(code):
        is_call = match[1] in wrong and match.start() not in heads
        if is_call and constants >= {*_NAME.findall(code[match.end() : _closed(code, match.end())])}:
            yield match.start(), f"call {match[1]} for constants alone, as it has a short word with a sign"
    for match in re.finditer(r"\$(bits|size|left|right|high|low|increment|(?:unpacked_)?dimensions)\s*(?=\()", code):
        measured = _MEASURED.fullmatch(code, match.end() + 1, _closed(code, match.end()) - 1)
        if not measured or (match[1] == "bits" and not {measured[1]} <= types | {None}):
            what = "a signal or a list" if match[1] == "bits" else "a part or an expression"
            yield match.start(), f"take the size of {what} by ${match[1]}"


def _constants(code: str) -> Iterator[_Constant]:
    modules = [(match.start(), match[1]) for match in _MODULE.finditer(code)]
    for match in _PARAMETERS.finditer(code):
        module = max((item for item in modules if item[0] < match.start()), default=(0, ""))[1]
        kind: str | None = None
        for start, end in _listed(code, match.end()):
            name, _, value = code[start:end].partition("=")
            declared = _DECLARED.fullmatch(name.strip())
            if declared is None or not value or value[0] == "=":
                continue
            kind = declared[1].strip() if kind is None else kind
            yield _Constant(start, kind, declared[2], value, "" if match[0] == "localparam" else module)


def _overrides(code: str) -> Iterator[_Override]:
    declared = {match.start(1) for match in _MODULE.finditer(code)}
    for match in re.finditer(r"([\w$]*)\s*#\s*\(", code):
        for number, (start, end) in enumerate(_listed(code, match.end())):
            named = _NAMED_VALUE.fullmatch(code[start:end])
            key, value = (named[1], named[2]) if named else (number, code[start:end])
            if value.strip() and match.start() not in declared:
                yield _Override(start, match[1], key, value)


def _known(code: str, constants: Iterable[_Constant], overrides: Iterable[_Override]) -> Mapping[str, Width]:
    """What is known of genvars, functions and parameters, wherever they are in the file."""
    known = {match[2]: Width(bool(_WIDE.search(match[1]))) for match in _FUNCTION.finditer(code)}
    known |= dict.fromkeys(re.findall(r"\bgenvar\s+([\w$]+)", code), Width(True))
    kinds, values, names = dict[str, set[str]](), dict[str, list[str]](), dict[str, list[str]]()
    for _, kind, name, value, module in constants:
        names.setdefault(module, []).append(name)
        kinds.setdefault(name, set()).add(kind)
        values.setdefault(name, []).append(value)
    for _, module, key, value in overrides:
        own = names.get(module, [])
        given = [key] if isinstance(key, str) else own[key : key + 1] if own else [*values]
        for name in given:
            values.get(name, []).append(value)
    known |= dict.fromkeys(values, Width(True))
    is_new = True
    while is_new:  # for a value may have another parameter
        is_new = False
        for name, texts in values.items():
            found = [Expression(text, known).width for text in texts]
            typed = {kind for kind in kinds[name] if kind not in _PLAIN}
            is_plain = typed != kinds[name]
            is_wide = all(map(_WIDE.search, typed)) and (not is_plain or all(width.is_wide for width in found))
            is_long = is_plain and any(width.grows or width.is_long for width in found)
            bounds = [width.bound for width in found if width.bound]
            signed = all(
                re.search(r"\bsigned\b|\b(int|integer|longint|byte|shortint)\b(?!\s*unsigned)", kind) for kind in typed
            )
            signed = signed and (not is_plain or all(bound.signed for bound in bounds))
            bound = (
                Bound(min(item.low for item in bounds), max(item.high for item in bounds), signed)
                if len(bounds) == len(found)
                else None
            )
            width = Width(is_wide, False, bound, is_long)
            known[name], is_new = width, is_new or width != known[name]
    return known


def _items(code: str, start: int) -> Iterator[str]:
    """What is before the branches of a case."""
    end = max(code.find("endcase", start), start)
    for match in re.finditer(r"(?:^|;|\bend(?:\s*:\s*\w+)?(?=\s))([^:;?]*):", code[start:end]):
        yield match[1]


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
