"""Ports of blocks: codes, with select pins for pairs of formats (:mod:`golden.multi`), and status flags."""

from dataclasses import replace
from itertools import groupby
from typing import Any, TypeVar

import numpy as np
from amaranth.hdl import Cat, Const, Mux, Value
from amaranth.lib.wiring import In, Out

from golden import Fixed, Flag, Format, Row
from golden.multi import MultiFormat

Word = TypeVar("Word", int, np.ndarray)
Bits = tuple[tuple[str, int], ...]
"""Where the bits of a code are: names of ports, and places in them; bit 0 first."""

_FLAGS = [str(flag.name).lower() for flag in Flag]
FLAG_BITS = ", ".join(f"bit {place} {name}" for place, name in enumerate(_FLAGS))
"""The bits of ``flags``, see :mod:`golden.flags`."""
_SOURCE = "IEEE 754-2019, section 7; tininess before rounding"
MEANING = f"{', '.join(_FLAGS[:-1])} and {_FLAGS[-1]} ({_SOURCE}), from bit 0 on"
"""The same for use in a sentence, with the source."""


def code_ports(name: str, fmt: Format, lanes: int = 1) -> dict[str, Any]:
    """Members of a component for codes of a format: ``name``, and ``name_select`` for a pair of formats."""
    return {port: In(width) for port, width in code_widths(name, fmt, lanes).items()}


def code_widths(name: str, fmt: Format, lanes: int = 1) -> dict[str, int]:
    """Widths of these members: codes of all lanes, lane 0 in the least significant bits, and a select bit per lane."""
    if isinstance(fmt, MultiFormat):
        return {name: lanes * (fmt.width - 1), f"{name}_select": lanes}
    return {name: lanes * fmt.width}


def code_bits(name: str, fmt: Format, lanes: int = 1) -> Bits:
    """Places of the reference model's codes in these members, lane 0 first."""
    return tuple(bit for lane in range(lanes) for bit in _lane_bits(name, fmt, lane))


def _lane_bits(name: str, fmt: Format, lane: int) -> Bits:
    if not isinstance(fmt, MultiFormat):
        return tuple((name, lane * fmt.width + place) for place in range(fmt.width))
    first, count = lane * (fmt.width - 1), fmt.magnitude_bits - 1
    bits = [(name, place) for place in range(first, first + fmt.width - 1)]
    return (*bits[:count], (f"{name}_select", lane), *bits[count:])


def split(name: str, fmt: Format, word: Word, lanes: int = 1) -> dict[str, Word]:
    """Values of these members, from the reference model's code or an array of them; for lanes, words with all codes."""
    values: dict[str, Any] = {}
    for bit, (port, place) in enumerate(code_bits(name, fmt, lanes)):
        values[port] = values.get(port, 0) | (word >> bit & 1) << place
    return values


def expression(name: str, fmt: Format, lane: int = 0, lanes: int = 1) -> str:
    """Verilog expression for a lane's code, as the reference model has it, from these members."""
    widths, parts = code_widths(name, fmt, lanes), []
    for port, run in groupby(_lane_bits(name, fmt, lane), key=lambda bit: bit[0]):
        places = [place for _, place in run]
        low, high = places[0], places[-1]
        is_whole = len(places) == widths[port]
        parts.append(port if is_whole else f"{port}[{high}:{low}]" if high > low else f"{port}[{low}]")
    return parts[0] if len(parts) == 1 else f"{{{', '.join(reversed(parts))}}}"


def code(component: Any, name: str, fmt: Format) -> Value:
    """The code, as the reference model has it, from a component's members."""
    if not isinstance(fmt, MultiFormat):
        value: Value = getattr(component, name)
        return value
    return Cat(getattr(component, port)[place] for port, place in code_bits(name, fmt))


def sign(fmt: Format, code: Value) -> Value:
    """The sign of a code; 0 in formats without a sign."""
    return code[-1] if fmt.signed else Const(0, 1)


def magnitude(fmt: Format, code: Value) -> Value:
    """The code without its sign; with a lowest number in two's complement, it has one bit more."""
    return (Mux(code[-1], -code, code) if fmt.twos_complement else code)[: fmt.magnitude_bits + fmt.has_lowest]


def magnitude_rows(fmt: Format) -> tuple[Row, ...]:
    """The rows of such magnitudes."""
    if not fmt.has_lowest:
        return fmt.rows
    return tuple(
        replace(row, exponent=Fixed(row.exponent.exponent + 1), fraction_bits=row.fraction_bits + 1)
        for row in fmt.rows
        if isinstance(row.exponent, Fixed)
    )


def flag_port(flags: bool) -> dict[str, Any]:
    """The member ``flags``, or none."""
    return {"flags": Out(len(Flag))} if flags else {}


def sum_ports(overflow: bool, flags: bool) -> dict[str, Any]:
    """The members ``overflow`` and ``flags`` of a component that adds to an accumulator."""
    return ({"overflow": Out(1)} if overflow else {}) | flag_port(flags)


def flag_word(inexact: Value, underflow: Value, overflow: Value, invalid: Value) -> Value:
    """Flags in the order of :class:`golden.Flag`."""
    return Cat(inexact, underflow, overflow, invalid)
