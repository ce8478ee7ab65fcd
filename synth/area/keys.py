"""Plain data from JSON, read key by key: each value is of the kind asked for, or refused."""

import math
from typing import Any

from golden.refusal import BadKind, BadValue, check_choice


class Keys:
    """Takes the keys out of a mapping; BadKind, in the name of ``what``, if ``data`` are none.

    All methods refuse a missing key, or a value of another kind, with a BadValue or BadKind.
    """

    def __init__(self, data: object, what: str):
        if not isinstance(data, dict):
            raise BadKind(what, f"must be a mapping, not a {type(data).__name__}")
        self.rest: dict[str, Any] = dict(data)
        """What was not taken yet."""

    def take(self, key: str) -> Any:
        """Any value; None where the key is missing."""
        return self.rest.pop(key, None)

    def text(self, key: str) -> str:
        """A text that is not blank."""
        return _text(key, self.take(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of at least one text."""
        return tuple(_text(key, value) for value in self._filled(key))

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        """One of some texts."""
        return check_choice(key, self.take(key), allowed)

    def number(self, key: str) -> float:
        """A finite number, 0 or more."""
        return _number(key, self.take(key))

    def numbers(self, key: str) -> tuple[float, ...]:
        """A list of at least one such number."""
        return tuple(_number(key, value) for value in self._filled(key))

    def count(self, key: str) -> int:
        """An integer, 0 or more."""
        value = self.take(key)
        if type(value) is not int or value < 0:
            raise BadValue(key, f"must be a count, not {value!r}")
        return value

    def items(self, key: str) -> list[Any]:
        """A list."""
        value = self.take(key)
        if not isinstance(value, list):
            raise BadValue(key, f"must be a list, not {value!r}")
        return value

    def _filled(self, key: str) -> list[Any]:
        values = self.items(key)
        if not values:
            raise BadValue(key, "must not be empty")
        return values


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadValue(key, f"must be text, not {value!r}")
    return value


def _number(key: str, value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        raise BadValue(key, f"must be a number from 0, not {value!r}")
    number: float = value
    return number
