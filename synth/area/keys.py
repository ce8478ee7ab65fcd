"""Plain data from JSON, read key by key: a value of the wrong type is refused."""

import math
from typing import Any

from golden.refusal import BadKind, BadValue, check_choice


class Keys:
    """Takes the keys out of the mapping ``data``; if it is not a mapping, BadKind names ``what``.

    All methods refuse a missing key, or a value of the wrong type, with a BadValue or BadKind.
    """

    def __init__(self, data: object, what: str):
        if not isinstance(data, dict):
            raise BadKind(what, f"must be a mapping, not a {type(data).__name__}")
        self.rest: dict[str, Any] = dict(data)
        """Keys that have not been taken yet, with their values."""

    def take(self, key: str) -> Any:
        """Any value; None if the key is missing."""
        return self.rest.pop(key, None)

    def text(self, key: str) -> str:
        """A string that is not blank."""
        return _text(key, self.take(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of at least one nonblank string."""
        return tuple(_text(key, value) for value in self._filled(key))

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        """One of the ``allowed`` strings."""
        return check_choice(key, self.take(key), allowed)

    def number(self, key: str) -> float:
        """A finite number of at least 0."""
        return _number(key, self.take(key))

    def numbers(self, key: str) -> tuple[float, ...]:
        """A list of at least one such number."""
        return tuple(_number(key, value) for value in self._filled(key))

    def count(self, key: str) -> int:
        """An integer of at least 0."""
        value = self.take(key)
        if type(value) is not int or value < 0:
            raise BadValue(key, f"must be an integer of at least 0, not {value!r}")
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
        raise BadValue(key, f"must be a finite number of at least 0, not {value!r}")
    number: float = value
    return number
