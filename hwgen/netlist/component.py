"""What all public components have in common: refused ones leave nothing behind, and ``repr`` is the call that made one."""

from __future__ import annotations

from enum import Enum
from inspect import signature
from typing import Any, Self

from golden import Format


class Checked:
    """A mixin for components whose constructors check their arguments before they make ports.

    Amaranth warns of components that are made and never used. One that was refused was never made.
    """

    _MustUse__silence = True
    _call: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Note the call, and tell Amaranth where it was made."""
        # mypy sees `object.__new__` behind the mixin; behind it in a component is Amaranth's, which takes all of these
        self: Self = super().__new__(cls, *arguments, src_loc_at=1, **options)  # type: ignore[call-arg]
        self._call = arguments, options
        return self

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._MustUse__silence = False

    def __repr__(self) -> str:
        """The call that made it, without options that have their defaults."""
        arguments, options = self._call
        known = signature(type(self)).parameters
        defaults = {
            name: parameter.default for name, parameter in known.items()
        }  # a subclass may take them as **options
        words = [
            f"{name}={plain(value)!r}"
            for name, value in options.items()
            if name not in defaults or value != defaults[name]
        ]
        return f"{type(self).__name__}({', '.join([*(repr(plain(value)) for value in arguments), *words])})"


def plain(value: object) -> Any:
    """A value as users write it: formats by their names, members of enumerations as words."""
    return value.value if isinstance(value, Enum) else value.name if isinstance(value, Format) else value
