"""The widths of constant expressions: whether their sums have only the bits of short words.

The operands of an operator share the width of the widest of them, and so do the arms of a choice. Other parts have a
width of their own: conditions, sides of a comparison, counts of shifts, indices, arguments, parts of a concatenation.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

_INTEGER = 32
"""Bits of a number without a size, and of the type integer."""
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
_SUM = re.compile(r"[-+*~]|<<")
_WIDE = re.compile(r"int|integer|longint|time|real|\$(?!signed$|unsigned$)\w+")
"""Types and functions of 32 bits or more."""


class Width(NamedTuple):
    """What is known of expressions that share a width."""

    is_wide: bool
    """Whether one of them has 32 bits or more; names that are not known count as short."""
    grows: bool = False
    """Whether a result may need more bits than its operands have."""

    def __or__(self, other: "Width") -> "Width":
        return Width(self.is_wide or other.is_wide, self.grows or other.grows)


_BIT = Width(False)


class _UnparsedError(Exception):
    """The text is no expression that is known here."""


class Expression:
    """A constant expression, or several between commas; ``wide`` says which names have 32 bits or more.

    Members
    -------
    is_wide : the whole has 32 bits or more
    has_short_sum : it, or a part with a width of its own, has a sum of short words alone, or cannot be parsed
    leaves : the names and numbers
    """

    def __init__(self, text: str, wide: Mapping[str, bool]):
        self._tokens, self._place, self._wide = list[str](), 0, wide
        self.leaves, self.has_short_sum, self.is_wide = list[str](), False, False
        place, text = 0, text.strip()
        try:
            while place < len(text):
                token = _TOKEN.match(text, place)
                if token is None:
                    raise _UnparsedError
                place = token.end()
                self._tokens.append(re.sub(r"\s", "", token[0]))
                self.leaves += [self._tokens[-1]] if token[1] or token[2] else []
            self.is_wide = bool(text) and self._alone(self._parts())
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
        self.has_short_sum |= width.grows and not width.is_wide
        return width.is_wide

    def _parts(self, *signs: str) -> Width:
        """Expressions with widths of their own, between commas or other signs: the width of all together."""
        parts = [self._alone(self._choice())]
        while self._next(",", *signs):
            parts.append(self._alone(self._choice()))
        return Width(any(parts))

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
                left |= Width(False, sign in _GROWING)
            else:
                left |= right | Width(False, sign in _GROWING)
        return left

    def _power(self) -> Width:
        left = self._unary()
        while self._next("**"):
            self._alone(self._unary())
            left |= Width(False, True)
        return left

    def _unary(self) -> Width:
        if sign := self._next("+", "-", "~"):
            return self._unary() | Width(False, sign in "-~")
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
            return self._joined()
        if not token or not re.match(r"[\\\w$']", token):
            raise _UnparsedError
        if token[0].isdigit() or token[0] == "'":
            size = re.match(r"(\d*)[\d_]*('?)(.?)", token)
            assert size
            is_wide = not size[2] or (int(size[1]) >= _INTEGER if size[1] else size[3] not in "01xzXZ")
            return self._cast(Width(is_wide), not size[2] and token.isdigit() and int(token) >= _INTEGER)
        return self._named(token)

    def _cast(self, width: Width, is_wide: bool) -> Width:
        """What is before the place, or what it is the size or type of."""
        while self._next("'("):
            self._alone(width)
            self._alone(self._choice())
            self._need(")")
            width = Width(is_wide)
        return width

    def _joined(self) -> Width:
        """Behind the first brace: a concatenation, or a count and what is repeated."""
        width = self._parts()
        if self._next("{"):
            width = self._joined()
        self._need("}")
        return self._selected(width)

    def _selected(self, width: Width) -> Width:
        """A value, or the part of it that brackets and points select."""
        while self._next("["):
            self._parts(":", "+:", "-:")
            self._need("]")
            width = _BIT
        return width

    def _named(self, name: str) -> Width:
        last = name.rpartition(":")[2]
        width = Width(_WIDE.fullmatch(last) is not None or self._wide.get(last, False))
        if self._next() in ("signed", "unsigned"):  # behind the name of a type
            self._place += 1
        if self._next("("):
            argument = _BIT if self._next(")") else self._parts()
            if argument is not _BIT:
                self._need(")")
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
        return self._cast(width, width.is_wide)
