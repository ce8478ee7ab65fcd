"""Sums of exact products in fixed point and two's complement, as wide as their range."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import PureInterface

from golden import Format
from golden.bits import scale_range
from hwgen.datapath.arithmetic import extended, named
from hwgen.datapath.goal import AREA, ASIC, FPGA
from hwgen.datapath.product import ProductShape
from hwgen.netlist.book import chapter

MAX_SPARE_PLACES = 4
"""Up to this number, more places below cost less than subtracting a constant from the distance of a shift."""


@dataclass(frozen=True)
class SumShape:
    """Widths of a sum of products without normalized subnormals.

    The sum is written for ``fabric``, and what follows it is built for ``goal``; see :mod:`hwgen.datapath.goal`.
    """

    product: ProductShape
    lanes: int
    fabric: str = field(default=ASIC, kw_only=True)
    goal: str = field(default=AREA, kw_only=True)

    @property
    def lsb_exponent(self) -> int:
        """Every product is a multiple of 2 to this power."""
        return self.product.lsb_exponent

    @cached_property
    def largest(self) -> int:
        """The largest product as a multiple of the smallest."""
        shape, power = self.product, scale_range(self.product.scale_bits)[1] - self.lsb_exponent
        return int(
            Fraction(shape.a.fmt.largest_magnitude) * Fraction(shape.b.fmt.largest_magnitude) * Fraction(2) ** power
        )

    @property
    def product_bits(self) -> int:
        """Bits of the largest product, without sign."""
        return self.largest.bit_length()

    @property
    def sum_bits(self) -> int:
        """Bits of the sum of all products, in two's complement."""
        return (self.lanes * self.largest).bit_length() + 1

    @property
    def row_bits(self) -> int:
        """Bits of a row, a product in fixed point with its sign as last bit.

        For cells: in two's complement, the last bit inverted. For FPGAs: in one's complement, which lacks the sign.
        """
        return self.product_bits + 1


def sum_of_products(m: Module, rows: Sequence[Value], shape: SumShape) -> Value:
    """The sum of the rows of all lanes."""
    chapter(m, f"Sum: {shape.lanes} products; products_sum {shape.sum_bits} bits in two's complement")
    return named(m, "products_sum", _sum_of_rows(m, rows, shape, shape.sum_bits, []), note=_note(shape))


def sum_with(m: Module, rows: Sequence[Value], shape: SumShape, acc: Value, width: int) -> Value:
    """``acc`` plus the rows of all lanes, modulo ``2**width``."""
    chapter(m, f"Sum: {shape.lanes} products and the accumulator; total {width} bits in two's complement")
    return named(m, "total", _sum_of_rows(m, rows, shape, width, [acc]), note=_note(shape))


def _note(shape: SumShape) -> str:
    return "" if shape.fabric == FPGA else "the constant makes up for the inverted signs of the rows"


def _sum_of_rows(m: Module, rows: Sequence[Value], shape: SumShape, width: int, others: Sequence[Value]) -> Value:
    if shape.fabric == FPGA:
        return chained(m, [*rows, *others], [row[-1] for row in rows], width)
    # -s * 2**n = (1 - s) * 2**n - 2**n: the signs of all rows are inverted, and share one constant.
    constant = (-shape.lanes << shape.product_bits) % (1 << width)
    return sum([*rows, *others], Const(constant, width))[:width]


def finite_row(m: Module, name: str, product: PureInterface, shape: SumShape, mask: Value | None = None) -> Value:
    """The row of a product, 0 if it is not finite or if ``mask`` is 1."""
    no_number = product.is_inf | product.is_nan
    return product_row(m, name, product, shape, product.sign, no_number if mask is None else no_number | mask)


def product_row(m: Module, name: str, product: PureInterface, shape: SumShape, sign: Value, no_number: Value) -> Value:
    """The row of a product with another sign, 0 where ``no_number`` is 1.

    For cells the significand is negated before the shift, where it is short; the shift then fills with the sign. For
    FPGAs it is inverted after the shift, in the LUTs of the adder. The nets' names begin with ``name``.
    """
    steps = "shifted left, inverted if negative" if shape.fabric == FPGA else "negated if negative, then shifted left"
    chapter(m, f"Fixed point of {name}: {shape.product_bits} bits, bit 0 weighs 2^{shape.lsb_exponent}; {steps}")
    sign = named(m, f"{name}_sign", sign)
    significand = product.significand
    distance, spare = _distance(m, f"{name}_", product.exponent, shape)
    width = shape.product_bits + spare
    if not (zero_is_silent(shape.product.a.fmt) and zero_is_silent(shape.product.b.fmt)):
        no_number = no_number | product.is_zero
    if shape.fabric == FPGA:
        if not isinstance(no_number, Const):
            significand = named(m, f"{name}_significand", Mux(no_number, 0, significand))
        moved = moved_up(m, significand, distance, width, f"{name}_", Const(0, 1))[spare:]
        return Cat(moved ^ sign.replicate(len(moved)), sign)
    bits = []
    invert: Value = Const(0, 1)  # a negative number is inverted above its last 1
    for place, bit in enumerate(significand, 1):
        bits.append(bit ^ invert)
        if place < len(significand):
            invert = named(m, f"{name}_inverts_bit_{place}", (sign & bit) | invert)
    keep = None
    negative = (sign & significand[-1]) | invert
    if not isinstance(no_number, Const):
        keep = named(m, f"{name}_is_added", ~no_number)
        negative = sign & ~product.is_zero & keep  # known before the product is
    negative = named(m, f"{name}_negative", negative)
    signed = named(m, f"{name}_signed", Cat(*bits))
    moved = moved_up(m, signed, distance, width, f"{name}_", negative, keep)[spare:]
    return Cat(moved, negative.replicate(shape.product_bits - len(moved)), ~negative)


def in_frame(m: Module, prefix: str, significand: Value, exponent: Value, shape: SumShape) -> Value:
    """The magnitude of a product in fixed point."""
    distance, spare = _distance(m, prefix, exponent, shape)
    width = shape.product_bits + spare
    return extended(moved_up(m, significand, distance, width, prefix, Const(0, 1))[spare:], shape.product_bits)


def _distance(m: Module, prefix: str, exponent: Value, shape: SumShape) -> tuple[Value, int]:
    """The places by which a product's significand is moved to the left, and the number of places below the frame."""
    low, high = shape.product.exponents
    offset = -shape.product.bias - shape.product.fraction_bits - shape.lsb_exponent
    spare = max(-low - offset, 0)
    if 0 < -(offset + spare) <= MAX_SPARE_PLACES:
        spare = -offset
    bits = max((high + offset + spare).bit_length(), 1)
    return named(m, f"{prefix}distance", exponent + (offset + spare), bits), spare


def partial_products(m: Module, name: str, a: Value, b: Value) -> list[Value]:
    """Rows of as many bits as ``a``, one for each bit of ``b``: together more than the product of two integers.

    Baugh and Wooley: a partial product p of one sign bit is worth -p * 2**k = ~p * 2**k - 2**k. What the rows are worth
    more is :func:`excess`.
    """
    size = f"{len(a)} x {len(b)} bits in two's complement"
    chapter(m, f"Fixed point of {name}: {size}; partial products of one sign bit are inverted")
    rows: list[Value] = []
    for place, bit in enumerate(b):
        is_sign = place == len(b) - 1
        bits = [~(other & bit) if is_sign else other & bit for other in a[:-1]]
        last = a[-1] & bit if is_sign else ~(a[-1] & bit)
        rows.append(named(m, f"{name}_of_bit_{place}", Cat(*bits, last)))
    return rows


def excess(a_bits: int, b_bits: int) -> int:
    """What the :func:`partial_products` of integers of some widths are worth more than the product."""
    return ((1 << a_bits - 1) - 1 << b_bits - 1) + ((1 << b_bits - 1) - 1 << a_bits - 1)


def integer_row(m: Module, name: str, a: Value, b: Value) -> Value:
    """The row of a product of two integers in two's complement: the sum of its partial products.

    Their constant and that of the row's inverted sign are a single one. Synthesis merges the sums of all lanes.
    """
    width = len(a) + len(b)
    rows = [Cat(Const(0, place), row) for place, row in enumerate(partial_products(m, name, a, b))]
    return sum([Const((1 << width - 1) - excess(len(a), len(b)), width), *rows])[:width]


def moved_up(
    m: Module, value: Value, distance: Value, limit: int, prefix: str, fill: Value, keep: Value | None = None
) -> Value:
    """``value << distance`` with bits ``fill`` above, cut to ``limit`` bits; 0 if ``keep`` and ``fill`` are 0.

    The smallest stage is the first: the value then stays short for longer. That is also the stage to mask the value in,
    because its multiplexers have two gates for their selects.
    """
    for k, bit in enumerate(distance):
        step = 1 << k
        width = min(len(value) + step, limit)
        moved, still = Cat(Const(0, step), value)[:width], Cat(value, fill.replicate(step))[:width]
        choice = Mux(bit, moved, still)
        if keep is not None and k == 0:
            moves, stays = named(m, f"{prefix}moves", bit & keep), named(m, f"{prefix}stays", ~bit & keep)
            choice = (moved & moves.replicate(width)) | (still & stays.replicate(width))
        value = named(m, f"{prefix}moved_left_{step}", choice)
    return value


def zero_is_silent(fmt: Format) -> bool:
    """Whether the significand of a zero is 0 without a mask, although an operand may have any for zero.

    It is if zero is a fraction of 0 without hidden bit, and the fraction has two bits or more: for each of its bits,
    another code of the same row then needs a 0.
    """
    zeros = np.flatnonzero(fmt.values == 0)
    rows = [fmt.rows[fmt.magnitude_rows[code]] for code in zeros & ((1 << fmt.magnitude_bits) - 1)]
    is_special = any((code & item.mask) == item.value for code in zeros.tolist() for item in fmt.specials)
    return not is_special and all(not row.hidden and row.fraction_bits > 1 for row in rows)


def chained(m: Module, addends: Sequence[Value], units: Sequence[Value], width: int) -> Value:
    """The sum of numbers in two's complement and of single bits, modulo ``2**width``: a carry chain for each two.

    Yosys would merge sums of sums into compressors of LUTs, which take more than carry chains. It does not if each
    sum has a place in front that is dropped; that place also brings a bit in as carry.
    """
    terms, bits, level = list(addends), list(units), 0
    while len(terms) > 1 or bits:
        if len(terms) == 1:
            terms.append(Const(0, 1))
        pairs = [terms[place : place + 2] for place in range(0, len(terms), 2)]
        level += 1
        terms = []
        for number, pair in enumerate(pairs):
            if len(pair) == 1:
                terms += pair
                continue
            size = min(max(map(len, pair)) + 1, width)
            first, second = (_extended(value, size) for value in pair)
            carry = bits.pop() if bits else Const(0, 1)
            total = (Cat(Const(1, 1), first) + Cat(carry, second))[1 : size + 1]
            is_last = len(pairs) == 1 and not bits  # the caller names it
            terms.append(total if is_last else named(m, f"sum_{level}_{number}", total))
    return _extended(terms[0], width)


def _extended(value: Value, width: int) -> Value:
    """The same number in two's complement in ``width`` bits."""
    return Cat(value, value[-1].replicate(max(width - len(value), 0)))[:width]
