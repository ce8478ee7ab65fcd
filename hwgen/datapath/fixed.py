"""Fixed point: exact products as integers of one weight, and sums of them back in floating point with one rounding."""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from golden import Biased, Format
from hwgen.datapath.multiplier import ProductShape


class Product(Protocol):
    """A product as ``Multiplier`` delivers it."""

    exponent: Signal
    significand: Signal
    is_zero: Signal
    is_inf: Signal
    is_nan: Signal


def aligned(m: Module, product: Product, shape: ProductShape, width: int, lsb_exponent: int) -> Value:
    """A product's magnitude in ``width`` bits of which bit 0 weighs ``2**lsb_exponent``; 0 unless it is finite."""
    low, high = shape.exponents
    # Weight of the significand's last bit, counted from bit 0; below 0 the bits that stick out are zeros.
    offset = -shape.bias - shape.fraction_bits - lsb_exponent
    lowest, highest = low + offset, high + offset
    spare = max(-lowest, 0)
    exponent = product.exponent.as_signed() if shape.exponent_shape.signed else product.exponent
    distance = Signal(max((highest + spare).bit_length(), 1), name="distance")
    finite = Signal(len(product.significand), name="finite_significand")
    silent = product.is_zero | product.is_inf | product.is_nan
    m.d.comb += distance.eq(exponent + (offset + spare))
    m.d.comb += finite.eq(Mux(silent, 0, product.significand))
    return moved_left(m, finite, distance, width + spare)[spare:]


def moved_left(m: Module, value: Value, distance: Value, limit: int) -> Value:
    """``value << distance``, in as many bits as that can take, but no more than ``limit``."""
    for k in reversed(range(len(distance))):
        step = 1 << k
        moved = Signal(min(len(value) + step, limit), name=f"moved_left_{step}")
        m.d.comb += moved.eq(Mux(distance[k], Cat(Const(0, step), value), value))
        value = moved
    return value


class Rounded:
    """A magnitude in fixed point, rounded once to an accumulator's format; the sign is not its matter.

    ::

        | 1.fraction_bits ... | half | below ... |       after moving left

    The magnitude moves left until a 1 stands in front, but not so far that a subnormal's hidden bit would be passed. Zeros are put in front
    of it so that this limit is 2**n - 1: then the exponent field is the complement of the distance.

    Parameters
    ----------
    m : Module
    magnitude : Value
        Bit 0 weighs ``2**lsb_exponent``.
    lsb_exponent : int
    target : Format
        ``binary16``, ``bfloat16``, ``binary32`` (ties to even, subnormals) or ``dlfloat16`` (ties away, flushed below).

    Attributes
    ----------
    field, fraction : Value
        What they are unless the number overflows.
    overflow : Value
    lost : Value
        Whether they are another number than the magnitude.
    tiny : Value
        Whether the magnitude is below the smallest normal number, where it is lost.
    """

    def __init__(self, m: Module, magnitude: Value, lsb_exponent: int, target: Format):
        normal = target.rows[-1]
        assert isinstance(normal.exponent, Biased)
        fraction_bits, exponent_bits, bias = normal.fraction_bits, normal.exponent.bits, normal.exponent.bias
        lowest = -bias if target.flush else 1 - bias  # exponent of the smallest normal number
        top = lsb_exponent + len(magnitude) - 1
        steps = max(max(top - lowest, 1).bit_length(), exponent_bits)
        width = lowest + (1 << steps) - lsb_exponent
        tail = width - 1 - fraction_bits
        value: Value = Cat(magnitude, Const(0, width - len(magnitude)))
        if tail < 1:
            value, tail = Cat(Const(0, 1 - tail), value), 1
        moves = []
        for k in reversed(range(steps)):
            step = 1 << k
            move = Signal(name=f"normalize_by_{step}")
            moved = Signal(len(value), name=f"normalized_by_{step}")
            m.d.comb += [move.eq(~value[-step:].any()), moved.eq(Mux(move, Cat(Const(0, step), value[:-step]), value))]
            moves.append(move)
            value = moved
        kept, half, below = value[tail:], value[tail - 1], value[: tail - 1]
        up = half if target.flush else half & (kept[0] | below.any())
        complement = Cat(*(~move for move in reversed(moves)))
        packed = Signal(fraction_bits + steps + 1, name="packed")
        if target.flush:  # a carry out of the flushed ones ends at code 0
            m.d.comb += packed.eq(Mux(kept[-1], Cat(kept[:-1], complement) + up, 0))
        else:
            m.d.comb += packed.eq(Cat(kept[:-1], complement) + Cat(up, Const(0, fraction_bits - 1), kept[-1]))
        field = packed[fraction_bits:]
        self.fraction, self.field = packed[:fraction_bits], field[:exponent_bits]
        past = field[exponent_bits:].any()
        last = packed[: fraction_bits + exponent_bits] if target.flush else self.field
        self.overflow = past | last.all()
        self.lost, self.tiny = half | below.any(), ~kept[-1]
        if target.flush:  # the pattern under the smallest number is none
            self.lost = self.lost | (magnitude.any() & ~packed.any())
            self.tiny = ~kept[-1] | ~(complement.any() | kept[:-1].any())
