"""A mixin for all public components: no warnings about refused ones, and a ``repr`` that shows the constructor call."""

from enum import Enum
from inspect import signature
from typing import Any, Self

from golden import Format
from golden.refusal import BadValue


class Checked:
    """A mixin for components whose constructors check their arguments before they create ports.

    Amaranth warns of components that are created and never used; it must not if a constructor refused its arguments.
    """

    _MustUse__silence = True
    _call: tuple[tuple[Any, ...], dict[str, Any]]
    of_others: tuple[str, ...] = ()
    """Arguments that describe other people's modules, and that no hardware of ours has."""

    def check_ours(self) -> None:
        """Refuse what only other people's modules have."""
        for argument in self.of_others:
            problem = "is for other people's modules, which verify, simulate and compare take with --verilog"
            raise BadValue(argument, f"{getattr(self, argument)!r} {problem}")

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Store the arguments, and report the caller's source location to Amaranth."""
        # mypy sees `object.__new__`; in a component the next one is Amaranth's, which takes these arguments.
        self: Self = super().__new__(cls, *arguments, src_loc_at=1, **options)  # type: ignore[call-arg]
        self._call = arguments, options
        return self

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._MustUse__silence = False

    def __repr__(self) -> str:
        """The constructor call, without options that have their default values."""
        arguments, options = self._call
        parameters = signature(type(self)).parameters  # those of a subclass may be **options
        words = [
            f"{name}={plain(value)!r}"
            for name, value in options.items()
            if name not in parameters or value != parameters[name].default
        ]
        return f"{type(self).__name__}({', '.join([*(repr(plain(value)) for value in arguments), *words])})"


def plain(value: object) -> Any:
    """A value as users write it: the name of a format, the word of an enumeration's member."""
    return value.value if isinstance(value, Enum) else value.name if isinstance(value, Format) else value
