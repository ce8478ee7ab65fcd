"""The floated sum: the exact sum of all products as one floating-point number, which a MAC's adder adds and rounds.

It suits any scale, any accumulator and any range: the sum is normalized, multiplied by the scale, and then treated as
the product of a MAC. :mod:`hwgen.datapath.bounded` is smaller where it fits. Without an accumulator, the number is
rounded as an encoder rounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_, or_

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import PureInterface

from golden import Rounding, WideFormat
from golden.wide import IEEE, POSITIVE
from hwgen.datapath.adder import FloatAdder
from hwgen.datapath.arithmetic import named
from hwgen.datapath.compress import sum_by_prefix
from hwgen.datapath.fast.adder import TwoPathAdder
from hwgen.datapath.goal import SPEED
from hwgen.datapath.multiplier import Lane
from hwgen.datapath.normalize import normalized, or_from_above, signed_magnitude
from hwgen.datapath.product import NumberShape, Scale, product_signature
from hwgen.datapath.rows import SumShape, sum_of_products
from hwgen.datapath.sums import Sum
from hwgen.netlist.book import chapter
from hwgen.rounding.neighbour import cut
from hwgen.rounding.position import Parts
from hwgen.rounding.rounder import Rounder

_SPECIALS = "Specials of the products: infinities, NaN and zero"


@dataclass(frozen=True)
class FloatedShape(NumberShape):
    """Widths of a normalized sum: value = significand * 2**(exponent - bias - (significand_bits - 1)).

    ``scale_exponents`` are the smallest and the largest exponent of the scale, ``scale_bits`` the bits of its
    significand, ``scale_fraction_bits`` those after its point.
    """

    products: SumShape
    scale_exponents: tuple[int, int]
    scale_bits: int
    scale_fraction_bits: int

    integer_bits = 1

    @property
    def significand_bits(self) -> int:
        """Bits of the largest magnitude."""
        return (self.products.lanes * self.products.largest * ((1 << self.scale_bits) - 1)).bit_length()

    @property
    def bias(self) -> int:
        """The exponent of a first bit counts from the last one; the bias is the scale's weight of that bit."""
        return self.scale_fraction_bits - self.products.lsb_exponent

    @property
    def exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent, including the bias."""
        low, high = self.scale_exponents
        return low, high + self.significand_bits - 1

    @property
    def lsb_exponent(self) -> int:
        """Every sum is a multiple of 2 to this power."""
        return self.products.lsb_exponent - self.scale_fraction_bits + self.scale_exponents[0]


@dataclass(frozen=True)
class Floated:
    """The sum of all products as a normalized number of a ``shape``, with its sign; whether it is too large."""

    shape: NumberShape
    significand: Value
    exponent: Value
    is_zero: Value
    negative: Value
    is_inf: Value = field(default_factory=lambda: Const(0, 1))


def floated_sum(
    m: Module,
    lanes: Sequence[Lane],
    shape: SumShape,
    target: WideFormat,
    acc: Value | None,
    scale: Scale,
    *,
    positive: bool,
    random: Value | None,
    flags: bool,
) -> Sum:
    """Add, normalize, scale, and add to the accumulator, if there is one; with ``positive`` a zero is +0.

    The goal ``speed`` has no ``random`` words.
    """
    products = [lane.product for lane in lanes]
    add_products = sum_by_prefix if shape.goal == SPEED else sum_of_products
    total = add_products(m, [lane.row for lane in lanes], shape)
    width = len(total) - 1
    floated = FloatedShape(shape, scale.exponents, len(scale.significand), scale.fraction_bits)
    chapter(m, f"Magnitude of the sum: {width} bits, times the scale's significand; normalized to the first 1")
    negative = named(m, "products_sum_negative", total[-1])
    value, places = _normalized(m, floated, total[:-1], negative, scale)
    bits = floated.significand_bits
    exponent = named(m, "sum_exponent", (bits - 1) - places + scale.exponent, floated.exponent_shape)

    is_zero = named(m, "sum_is_zero", ~value[-1] | scale.is_zero)
    all_minus = reduce(and_, (item.sign for item in products))
    number = Floated(floated, value, exponent, is_zero, Mux(is_zero, all_minus, negative))
    zero = POSITIVE if positive else IEEE
    adder: TwoPathAdder | FloatAdder | NoAdder = FloatAdder(target, floated, flags=flags, zero=zero, random=random)
    if acc is None:
        adder, acc = NoAdder(target, floated, flags=flags, zero=zero, random=random), Const(0, target.width)
    elif shape.goal == SPEED:
        adder = TwoPathAdder(target, floated, flags=flags, zero=zero)
    return added(m, products, number, adder, acc, scale)


class NoAdder:
    """The hardware of ``round(number)``, in the place of a :class:`FloatAdder`, whose parameters it has."""

    def __init__(self, target: WideFormat, shape: FloatedShape, *, flags: bool, zero: str, random: Value | None):
        self.accumulator, self.shape, self.has_flags, self.zero, self.random = target, shape, flags, zero, random

    def add(self, m: Module, number: PureInterface, _acc: Value) -> Sum:
        """Round the number."""
        target, shape = self.accumulator, self.shape
        chapter(m, _SPECIALS, number.sign, number.is_inf, number.is_nan)  # not where they are read first
        rounding = target.roundings[0] if self.random is None else Rounding.STOCHASTIC
        rounder = Rounder(target, rounding, target.overflows[0], random=self.random)
        fraction, rest = cut(number.significand[:-1], min(rounder.fraction_bits, shape.significand_bits - 1))
        low, high = (exponent - shape.bias for exponent in shape.exponents)
        classes = number.is_zero, number.is_inf, number.is_nan, ~number.is_zero
        one, place = Const(1, 1), (number.exponent, shape.bias, (low, high))
        parts = Parts(number.sign, *place, one, fraction, rest, *classes, zero_exponent=high)  # of zero, any exponent
        code, word = rounder.code_and_flags(m, parts, Const(0, 1))
        bits = named(m, "rounded", code)
        if self.zero == POSITIVE:
            bits = Cat(bits[:-1], bits[-1] & bits[:-1].any())
        inexact, underflow, overflow, _ = word
        invalid = number.is_invalid if self.has_flags else Const(0, 1)
        return Sum(bits, overflow, inexact, underflow, invalid)


def added(
    m: Module,
    products: Sequence[PureInterface],
    total: Floated,
    adder: TwoPathAdder | FloatAdder | NoAdder,
    acc: Value,
    scale: Scale,
    *,
    is_result: bool = False,
) -> Sum:
    """The accumulator plus the sum of the products, unless these are infinite or NaN.

    If the sum of the products ``is_result`` of an operation of its own, its infinities of both signs are invalid even
    if the accumulator is NaN.
    """
    target, flags = adder.accumulator, adder.has_flags
    chapter(m, _SPECIALS)
    plus_inf = reduce(or_, (item.is_inf & ~item.is_nan & ~item.sign for item in products))
    minus_inf = reduce(or_, (item.is_inf & ~item.is_nan & item.sign for item in products))
    plus_inf, minus_inf = named(m, "products_plus_inf", plus_inf), named(m, "products_minus_inf", minus_inf)
    any_nan = named(m, "products_nan", reduce(or_, (item.is_nan for item in products)))
    opposite = named(m, "products_opposite", plus_inf & minus_inf)
    unscaled = named(m, "zero_times_infinity", (plus_inf | minus_inf) & scale.is_zero)
    is_nan, is_inf = any_nan | opposite | unscaled | scale.is_nan, plus_inf | minus_inf
    if target.nan_keeps_sign:  # the sign of the first product that is NaN or infinite
        special_sign: Value = Const(0, 1)
        for item in reversed(products):
            special_sign = Mux(item.is_nan | item.is_inf | scale.is_nan, item.sign, special_sign)
    else:
        special_sign = minus_inf
    sign = Mux(is_nan | is_inf, special_sign, total.negative)

    number = product_signature(total.shape, flags=flags).create(path=("products",))
    m.d.comb += [
        number.sign.eq(sign),
        number.exponent.eq(total.exponent),
        number.significand.eq(total.significand),
        number.is_zero.eq(total.is_zero),
        number.is_inf.eq(is_inf | total.is_inf),
        number.is_nan.eq(is_nan),
    ]
    special = named(m, "acc_is_infinity_or_nan", (acc[:-1] if target.flush else acc[target.fraction_bits : -1]).all())
    if flags:
        acc_nan = special if target.flush else special & acc[: target.fraction_bits].any()
        known_nan = any_nan | scale.is_nan | (Const(0, 1) if is_result else acc_nan)
        invalid = reduce(or_, (item.is_invalid for item in products), unscaled) & ~scale.is_nan
        m.d.comb += number.is_invalid.eq(invalid | (opposite & ~known_nan))
    result = adder.add(m, number, acc)
    return replace(result, finite=named(m, "all_finite", ~(is_nan | is_inf | special)))


def _normalized(m: Module, shape: FloatedShape, total: Value, negative: Value, scale: Scale) -> tuple[Value, Value]:
    """The magnitude of a sum, times the scale's significand, moved left to its first 1; by how many places."""
    bits, goal = shape.significand_bits, shape.products.goal
    magnitude, above = signed_magnitude(m, "products_magnitude", total, negative, goal)
    if shape.scale_bits > 1:
        magnitude, above = named(m, "scaled_magnitude", magnitude * scale.significand), None
    magnitude = magnitude[:bits]
    if bits == 1:
        return magnitude, Const(0, 1)
    if goal == SPEED:
        above = or_from_above(m, magnitude) if above is None else above[:bits]
    return normalized(m, magnitude, above=above, name="sum_significand")
