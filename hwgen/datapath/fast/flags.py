"""What the flags of a two-path adder need: whether a result differs from the exact sum, and whether it is tiny."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Value

from golden import WideFormat
from hwgen.datapath.arithmetic import named
from hwgen.datapath.fast.close import CloseResult
from hwgen.datapath.fast.far import FarResult

Status = tuple[Value, Value]
"""Whether the result differs from the exact sum, and whether that is below the smallest normal number and not zero."""


def far_status(
    m: Module, fmt: WideFormat, total: FarResult, fields: tuple[Value, Value], is_flushed: Value, is_zero: Value
) -> Status:
    """Of the far path.

    Parameters
    ----------
    fields : Value, Value
        Fields of a low and of a high result.
    is_flushed : Value
        Whether a low result is below the exponents of a format without subnormals.
    is_zero : Value
        Whether both operands are zero.
    """
    inexact = named(m, "far_inexact", Mux(total.is_high, total.high_inexact, total.low_inexact))
    no_one = Mux(total.is_high, ~total.unrounded[-1], ~total.unrounded[-2:].any())
    if fmt.has_subnormals:
        return inexact, named(m, "far_is_tiny", total.product_exceeds | no_one)
    k, (low, high) = fmt.fraction_bits, fields
    # the number with field 0 and fraction 0 is below the smallest one: its code is that of zero
    high_is_tiny = named(m, "high_is_tiny", ~high.any() & ~total.unrounded[:k].any())
    low_fraction = Cat(total.low_half, total.unrounded[: k - 1])
    low_is_tiny = named(m, "low_is_tiny", is_flushed | (~low.any() & ~low_fraction.any()))
    tiny = total.product_exceeds | no_one | Mux(total.is_high | total.unrounded[-1], high_is_tiny, low_is_tiny)
    tiny = named(m, "far_is_tiny", tiny & ~is_zero)
    return named(m, "far_differs", inexact | tiny), tiny


def close_status(m: Module, fmt: WideFormat, total: CloseResult) -> Status:
    """Of the close path."""
    if fmt.has_subnormals:
        return total.inexact, ~total.has_one
    tiny = ~total.has_one | ~(total.unrounded_field.any() | total.unrounded_fraction.any())
    tiny = named(m, "close_is_tiny", tiny & ~total.is_zero)
    return named(m, "close_differs", total.inexact | tiny), tiny
