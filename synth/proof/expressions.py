"""The widths of constant expressions: whether their sums have only the bits of short words.

The operands of an operator share the width of the widest of them, and so do the arms of a choice. Other parts have a
width of their own: conditions, sides of a comparison, counts of shifts, indices, arguments, parts of a concatenation.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

_INTEGER = 32
"""Bits of a number without a size, and of the type integer."""
_MOST = (1 << _INTEGER - 1) - 1
_DIGITS = {"b": "01", "o": "01234567", "d": "0123456789", "h": "0123456789abcdef"}
_NUMBER = r"(?:\d[\d_]*\s*)?'s?[bodh]\s*[\w?]+|'[01xz]\b|\d[\d_]*(?:\.\d[\d_]*)?(?:e[-+]?\d+)?"
_NAME = r"\\|\$?[a-z_][\w$]*(?:\s*::\s*[a-z_][\w$]*)*"
"""With a backslash for a name whose letters are gone."""
_SIGNS = (
    r"<<<|>>>|===|!==|==\?|!=\?|<->|\*\*|<<|>>|<=|>=|==|!=|&&|\|\||->|~&|~\||~\^|\^~|\+:|-:|'\(|'\{"
    r"|[-+*/%<>&|^~!?:.,(){}[\]]"
)
_TOKEN = re.compile(rf"\s*(?:({_NUMBER})|({_NAME})|({_SIGNS}))", re.I)
_LEVELS = {
    sign: level
    for level, signs in enumerate(
        (
            "-> <->",
            "||",
            "&&",
            "|",
            "^ ~^ ^~",
            "&",
            "== != === !== ==? !=?",
            "< <= > >=",
            "<< >> <<< >>>",
            "+ -",
            "* / %",
        )
    )
    for sign in signs.split()
}
_LOGICAL, _COMPARED = 2, (6, 7)
"""The last level of operators whose operands have widths of their own; the levels of comparisons."""
_GROWING = "+", "-", "*", "**", "<<", "<<<", "~"
_LONGEST = 64
"""A shift or power from which on results are just too long."""
_SUM = re.compile(r"[-+*~]|<<")
_WIDE = re.compile(r"int|integer|longint|time|real|\$(?!signed$|unsigned$)\w+")
"""Types and functions of 32 bits or more."""


class Bound(NamedTuple):
    """Between which numbers a value is, and whether its type has a sign."""

    low: int
    high: int
    signed: bool


class Width(NamedTuple):
    """What is known of expressions that share a width."""

    is_wide: bool
    """Whether one of them has 32 bits or more; names that are not known count as short."""
    grows: bool = False
    """Whether a result may need more bits than its operands have."""
    bound: Bound | None = None
    """Bounds of the last result, if they are known."""
    is_long: bool = False
    """Whether one is a parameter without a range whose value grows: Icarus gives it more than 32 bits."""

    def __or__(self, other: "Width") -> "Width":
        bound, is_long = self._bound("|", other), self.is_long or other.is_long
        return Width(self.is_wide or other.is_wide, self.grows or other.grows, bound, is_long)

    def _bound(self, sign: str, other: "Width") -> Bound | None:
        if self.bound is None or other.bound is None:
            return None
        (low, high, signed), (least, most, too) = self.bound, other.bound
        size, other_size = max(-low, high), max(-least, most)
        match sign:
            case "+":
                return Bound(low + least, high + most, signed and too)
            case "-":
                return Bound(low - most, high - least, signed and too)
            case "*":
                size = size * other_size
            case "<<" | "<<<":
                size = size << min(other_size, _LONGEST)
            case "**":
                size = int(min(size, 1 << _LONGEST) ** min(other_size, _LONGEST))
            case "&" | "%" if min(low, least) >= 0:
                size = min(size, other_size)
            case "/" | ">>" | ">>>":
                pass
            case _:
                size = max(size, other_size)
        is_shift = sign in (">>", ">>>", "<<", "<<<", "**")
        size, least = min(size, 1 << 2 * _LONGEST), 0 if is_shift else least
        return Bound(-size if min(low, least) < 0 else 0, size, signed and (too or is_shift))

    def result(self, sign: str, other: "Width", joins: bool = True) -> "Width":
        """The width and bound of an operator's result; ``joins`` says that both operands share it."""
        both = self | other if joins else self
        return both._replace(grows=both.grows or sign in _GROWING, bound=self._bound(sign, other))


_BIT = Width(False, False, Bound(0, 1, False))


class _UnparsedError(Exception):
    """The text is no expression that is known here."""


class Expression:
    """A constant expression, or several between commas; ``known`` says what is known of names.

    Members
    -------
    width : of the whole
    has_short_sum : it, or a part with a width of its own, has a sum of short words alone, or one that may need more
        than 31 bits, or be negative without a sign; or it cannot be parsed
    joins_long : a concatenation or $bits has a part that is long
    leaves : the names and numbers
    """

    def __init__(self, text: str, known: Mapping[str, Width]):
        self._tokens, self._place, self._known = list[str](), 0, known
        self.leaves, self.has_short_sum, self.joins_long, self.width = list[str](), False, False, Width(False)
        place, text = 0, text.strip()
        try:
            while place < len(text):
                token = _TOKEN.match(text, place)
                if token is None:
                    raise _UnparsedError
                place = token.end()
                self._tokens.append(re.sub(r"\s", "", token[0]))
                self.leaves += [self._tokens[-1]] if token[1] or token[2] else []
            self.width = self._parts() if text else _BIT
            if self._next():
                raise _UnparsedError
        except _UnparsedError:
            self.has_short_sum = _SUM.search(text) is not None

    def _next(self, *signs: str) -> str:
        """The next token, if it is one of some signs, or of all; it is taken if it is one of some."""
        token = self._tokens[self._place] if self._place < len(self._tokens) else ""
        if not signs:
            return token
        self._place += token in signs
        return token if token in signs else ""

    def _need(self, sign: str) -> None:
        if not self._next(sign):
            raise _UnparsedError

    def _alone(self, width: Width) -> bool:
        """Whether a part with a width of its own is wide."""
        low, high, signed = width.bound or (0, 0, True)
        self.has_short_sum |= width.grows and (not width.is_wide or max(-low, high) > _MOST or (low < 0 and not signed))
        return width.is_wide

    def _parts(self, *signs: str) -> Width:
        """Expressions with widths of their own, between commas or other signs: the width of all together."""
        whole = self._choice()
        self._alone(whole)
        while self._next(",", *signs):
            part = self._choice()
            self._alone(part)
            whole = (whole | part)._replace(bound=None)
        return whole

    def _choice(self) -> Width:
        condition = self._operation(0)
        if not self._next("?"):
            return condition
        self._alone(condition)
        first = self._choice()
        self._need(":")
        return first | self._choice()

    def _operation(self, lowest: int) -> Width:
        """Operators from a level on, of equal levels from the left."""
        left = self._power()
        while (level := _LEVELS.get(self._next(), -1)) >= lowest:
            sign = self._next(*_LEVELS)
            right = self._operation(level + 1)
            if level <= _LOGICAL:
                self._alone(left), self._alone(right)
                left = _BIT
            elif level in _COMPARED:
                self._alone(left | right)
                left = _BIT
            elif "<<" in sign or ">>" in sign:
                self._alone(right)
                left = left.result(sign, right, joins=False)
            else:
                left = left.result(sign, right)
        return left

    def _power(self) -> Width:
        left = self._unary()
        while self._next("**"):
            right = self._unary()
            self._alone(right)
            left = left.result("**", right, joins=False)
        return left

    def _unary(self) -> Width:
        if sign := self._next("+", "-", "~"):
            width = self._unary()
            zero = Width(False, False, Bound(0, 0, True))
            return zero.result("-", width) if sign != "+" else width  # where ~ differs by 1
        if self._next("!", "&", "|", "^", "~&", "~|", "~^", "^~"):
            self._alone(self._unary())
            return _BIT
        return self._primary()

    def _primary(self) -> Width:
        token = self._next()
        self._place += 1
        if token in ("(", "'("):
            width = self._choice()
            self._need(")")
            return self._cast(width, False)
        if token in ("{", "'{"):
            return self._joined(token == "{")
        if not token or not re.match(r"[\\\w$']", token):
            raise _UnparsedError
        if token[0].isdigit() or token[0] == "'":
            size = re.match(r"(\d*)[\d_]*('?)(.?)", token)
            assert size
            is_wide = not size[2] or (int(size[1]) >= _INTEGER if size[1] else size[3] not in "01xzXZ")
            value = int(token.replace("_", "")) if re.fullmatch(r"[\d_]+", token) else None
            for base, digits in _DIGITS.items():
                if found := re.fullmatch(rf"[\d_]*'s?{base}([{digits}_]+)", token, re.I):
                    value = int(found[1].replace("_", "") or "0", len(digits))
            bound = None if value is None else Bound(value, value, not size[2] or size[3] in "sS")
            return self._cast(Width(is_wide, False, bound), not size[2] and token.isdigit() and int(token) >= _INTEGER)
        return self._named(token)

    def _cast(self, width: Width, is_wide: bool) -> Width:
        """What is before the place, or what it is the size or type of."""
        while self._next("'("):
            self._alone(width)
            self._alone(self._choice())
            self._need(")")
            width = Width(is_wide)
        return width

    def _joined(self, is_sized: bool = True) -> Width:
        """Behind the first brace: a concatenation, or a count and what is repeated."""
        width = self._parts()
        if self._next("{"):
            width = self._joined()
        else:
            self.joins_long |= width.is_long and is_sized
        self._need("}")
        return self._selected(Width(width.is_wide))

    def _selected(self, width: Width) -> Width:
        """A value, or the part of it that brackets and points select."""
        while self._next("["):
            self._parts(":", "+:", "-:")
            self._need("]")
            width = Width(False)
        return width

    def _named(self, name: str) -> Width:
        last = name.rpartition(":")[2]
        width = Width(True) if _WIDE.fullmatch(last) else self._known.get(last, Width(False))
        if self._next() in ("signed", "unsigned"):  # behind the name of a type
            self._place += 1
        if self._next("("):
            argument = _BIT if self._next(")") else self._parts()
            if argument is not _BIT:
                self._need(")")
            self.joins_long |= last == "$bits" and argument.is_long
            if last == "$clog2" and argument.bound is not None:
                return Width(True, False, Bound(0, max(argument.bound[:2]).bit_length(), True))
            is_kept = last in ("$signed", "$unsigned")
            return self._selected(Width(argument.is_wide) if is_kept else width)
        if last in ("signed", "unsigned") and self._next("'("):
            width = Width(self._alone(self._choice()))
            self._need(")")
            return width
        width = self._selected(width)
        if self._next("."):
            self._place += 1
            return self._named(self._tokens[self._place - 1]) if self._place <= len(self._tokens) else width
        return self._cast(width, _WIDE.fullmatch(last) is not None)
