"""Ports for codes: one, and beside it a select pin where the codes are of two formats (:mod:`golden.multi`)."""

from typing import Any

from amaranth.hdl import Cat, Value
from amaranth.lib.wiring import In

from golden import Format
from golden.multi import MultiFormat

Bits = tuple[tuple[str, int], ...]
"""Where the bits of a code are, least significant first: names of ports, and places in them."""


def code_ports(name: str, fmt: Format) -> dict[str, Any]:
    """Members of a component for codes of a format: ``name``, and ``name_select`` where there are two formats."""
    return {port: In(width) for port, width in code_widths(name, fmt).items()}


def code_widths(name: str, fmt: Format) -> dict[str, int]:
    """Widths of these members."""
    if isinstance(fmt, MultiFormat):
        return {name: fmt.width - 1, f"{name}_select": 1}
    return {name: fmt.width}


def code_bits(name: str, fmt: Format) -> Bits:
    """Where golden's code is in these members."""
    if not isinstance(fmt, MultiFormat):
        return tuple((name, place) for place in range(fmt.width))
    top = fmt.width - 2
    return (*((name, place) for place in range(top)), (f"{name}_select", 0), (name, top))


def code(component: Any, name: str, fmt: Format) -> Value:
    """Golden's code, put together from a component's members."""
    if not isinstance(fmt, MultiFormat):
        value: Value = getattr(component, name)
        return value
    return Cat(getattr(component, port)[place] for port, place in code_bits(name, fmt))
