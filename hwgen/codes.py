"""Ports for codes: one, and beside it a select pin where the codes are of two formats (:mod:`golden.multi`)."""

from itertools import groupby
from typing import Any, TypeVar

import numpy as np
from amaranth.hdl import Cat, Value
from amaranth.lib.wiring import In

from golden import Format
from golden.multi import MultiFormat

Word = TypeVar("Word", int, np.ndarray)
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


def split(name: str, fmt: Format, word: Word) -> dict[str, Word]:
    """Values of these members, from golden's code: an integer, or an array of them."""
    found: dict[str, Any] = {}
    for at, (port, place) in enumerate(code_bits(name, fmt)):
        found[port] = found.get(port, 0) | (word >> at & 1) << place
    return found


def expression(name: str, fmt: Format) -> str:
    """Golden's code in Verilog, put together from these members."""
    widths, parts = code_widths(name, fmt), []
    for port, run in groupby(code_bits(name, fmt), key=lambda bit: bit[0]):
        places = [place for _, place in run]
        low, high = places[0], places[-1]
        whole = len(places) == widths[port]
        parts.append(port if whole else f"{port}[{high}:{low}]" if high > low else f"{port}[{low}]")
    return parts[0] if len(parts) == 1 else f"{{{', '.join(reversed(parts))}}}"


def code(component: Any, name: str, fmt: Format) -> Value:
    """Golden's code, put together from a component's members."""
    if not isinstance(fmt, MultiFormat):
        value: Value = getattr(component, name)
        return value
    return Cat(getattr(component, port)[place] for port, place in code_bits(name, fmt))
