"""The bounded frame: products and an accumulator, rounded once, in few bits, as at most one of them can be far away.

The sum S of all products is exact. The accumulator C is added where it overlaps S. If its last bit lies below that of
S, then S is raised in the frame, so that the frame has what is below it; the rest of C is a sticky bit. If C is so
large that it swallows S, or if S is 0, C is the result. The frame has as many bits as S, and a few more than the
target's significand, whatever the target's range.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import zip_longest
from operator import add, and_, or_

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import PureInterface

from golden import WideFormat
from hwgen.datapath.arithmetic import named, reaches
from hwgen.datapath.rows import SumShape, moved_up, sum_of_products
from hwgen.netlist.book import chapter

MAX_SECOND_STEP = 8
"""A second stage of so few places is smaller than one of the next power of two, which tests and masks most bits."""


@dataclass(frozen=True)
class BoundedShape(SumShape):
    """Widths of a bounded frame.

    Parameters
    ----------
    product, lanes
        See :class:`hwgen.datapath.rows.SumShape`.
    target : WideFormat
        The accumulator's format.
    """

    target: WideFormat

    @property
    def precision(self) -> int:
        """Bits of the target's significand."""
        return self.target.fraction_bits + 1

    @property
    def raised(self) -> int:
        """Places of the frame below the last bit of the sum of products, if the accumulator's last bit lies below it.

        With S != 0, |S + C| has at least half the weight of S's last bit unless C has, too; half a unit of rounding is
        then ``precision`` places below the first bit.
        """
        return self.precision + 1

    @property
    def frame_bits(self) -> int:
        """Bits of the frame without sign.

        An accumulator that is not too large is less than 2**(sum_bits + precision) times the last bit of S. If S is
        raised, it is less than 2**(raised + precision - 1) times the frame's last bit, and S than half of
        2**(raised + sum_bits).
        """
        return self.raised + max(self.sum_bits, self.precision)

    @property
    def level_field(self) -> int:
        """The accumulator's exponent field with which its last bit has the weight of that of the products."""
        return self.lsb_exponent + self.target.bias + self.target.fraction_bits

    @property
    def lowest_field(self) -> int:
        """The accumulator's exponent field with which all its bits are just below the raised frame."""
        return self.level_field - self.raised - self.precision

    @property
    def dominant_field(self) -> int:
        """The accumulator's exponent field from which on it is the result.

        S is then less than a quarter of its last place; half would be too much for a power of two, whose lower
        neighbour is half a place away.
        """
        return self.level_field + self.sum_bits + 1

    @property
    def fits(self) -> bool:
        """Whether neither overflow nor subnormal results need logic.

        * Not too small: subnormal accumulators (fields 0 and 1 have one exponent) lie below the raised frame, that is,
          ``lowest_field >= 1``. If then S != 0, S + C is 0 or at least 2**(lsb_exponent - precision): if C is less than
          half of S's last bit, so is the loss; otherwise C's last bit, of which both are multiples, has that weight or
          more. From ``lowest_field >= 1`` follows lsb_exponent - precision >= 3 - bias, above the smallest normal
          number, 2**(1 - bias).
        * Not too large: if C is not the result, |S + C| < 2**(lsb_exponent + frame_bits), which at most becomes that
          power of two by rounding. It is finite if lsb_exponent + frame_bits <= bias.

        If S = 0, the result is C, which is exact. So is an underflow or an overflow impossible in all cases.
        """
        return (
            not self.target.flush and self.lowest_field >= 1 and self.lsb_exponent + self.frame_bits <= self.target.bias
        )

    @property
    def steps(self) -> list[int]:
        """Places that the stages of the normalizer move; a 1 in the last place can reach the first.

        Powers of two, once each; or, instead of a large one, a small one twice.
        """
        farthest = self.frame_bits - 1
        powers = [1 << k for k in reversed(range((farthest + 1).bit_length() - 1))]
        rest = farthest - sum(powers)
        if not rest:
            return powers
        extra = 1 << (rest - 1).bit_length()
        return sorted([*powers, extra if extra <= MAX_SECOND_STEP else 2 * powers[0]], reverse=True)


@dataclass(frozen=True)
class Rounded:
    """The accumulator plus all products, rounded once; whether that is inexact, and whether it is invalid."""

    acc_out: Value
    inexact: Value
    invalid: Value


@dataclass(frozen=True)
class _Aligned:
    """The accumulator's magnitude in the frame; whether anything is lost below; how its exponent compares."""

    magnitude: Value
    sticky: Value
    reaches_products: Value
    dominates: Value


@dataclass(frozen=True)
class _Finite:
    """A rounded number without sign, meaningless if the accumulator is the result; the sign; whether it is 0."""

    body: Value
    negative: Value
    is_zero: Value
    lost: Value


def rounded_sum(m: Module, products: list[PureInterface], frame: BoundedShape, acc: Value, positive: bool) -> Rounded:
    """Add, normalize and round; with ``positive`` a zero is +0."""
    products_sum = sum_of_products(m, products, frame, acc[-1])
    aligned = _aligned(m, frame, acc)
    total = _total(m, frame, products_sum, aligned)
    finite = _rounded(m, frame, total, aligned)
    k, exponent_bits = frame.target.fraction_bits, frame.target.exponent_bits

    chapter(m, "Specials: the accumulator as result, infinities and NaN; the sign")
    any_sum = named(m, "any_sum", products_sum.any())
    is_acc = named(m, "acc_is_result", ~any_sum | aligned.dominates)
    number = named(m, "finite", Mux(is_acc, acc[:-1], finite.body & (~finite.is_zero).replicate(k + exponent_bits)))
    special, some_fraction = named(m, "acc_special", acc[k:-1].all()), named(m, "acc_some_fraction", acc[:k].any())
    acc_nan, acc_inf = named(m, "acc_is_nan", special & some_fraction), special & ~some_fraction
    any_nan = reduce(or_, (product.is_nan for product in products), acc_nan)
    is_nan, force, is_inf, minus_inf, opposite = any_nan, any_nan, acc_inf, None, Const(0, 1)
    if any(np.isinf(operand.fmt.values).any() for operand in (frame.product.a, frame.product.b)):
        infinities = [(product.is_inf & ~product.is_nan, product.sign) for product in products]
        infinities.append((acc_inf, acc[-1]))
        plus_inf = named(m, "plus_inf", reduce(or_, (item & ~sign for item, sign in infinities)))
        minus_inf = named(m, "minus_inf", reduce(or_, (item & sign for item, sign in infinities)))
        opposite, is_inf = plus_inf & minus_inf & ~any_nan, named(m, "is_inf", plus_inf | minus_inf)
        is_nan = any_nan | (plus_inf & minus_inf)
        force = is_nan | is_inf
    # An infinite accumulator dominates: without infinite products it needs no more.
    is_nan, force = named(m, "is_nan", is_nan), named(m, "force_special", force)
    fraction_out = named(m, "fraction_out", number[:k] & (~force).replicate(k))
    code_out = Cat(fraction_out[:-1], fraction_out[-1] | is_nan, number[k:] | force.replicate(exponent_bits))

    all_minus = Const(0, 1) if positive else reduce(and_, (product.sign for product in products))
    acc_sign = named(m, "acc_sign", acc[-1] & (acc[:-1].any() | all_minus))
    sum_sign = named(m, "sum_sign", (finite.negative ^ acc[-1]) & ~finite.is_zero)
    sign = Mux(is_acc, acc_sign, sum_sign)
    sign_out = named(m, "sign_out", (sign if minus_inf is None else Mux(is_inf, minus_inf, sign)) & ~is_nan)
    inexact = any_sum & (aligned.dominates | finite.lost) & ~(is_nan | is_inf)
    invalid = (acc_nan & ~acc[k - 1]) | opposite
    if "is_invalid" in products[0].signature.members:
        invalid = reduce(or_, (product.is_invalid for product in products), invalid)
    return Rounded(Cat(code_out, sign_out), inexact, invalid)


def _aligned(m: Module, frame: BoundedShape, acc: Value) -> _Aligned:
    k, precision = frame.target.fraction_bits, frame.precision
    chapter(m, f"Align: acc_in_frame {frame.frame_bits} bits; the {precision} bits below become the sticky bit")
    field = named(m, "acc_field", acc[k:-1])
    significand = named(m, "acc_significand", Cat(acc[:k], field.any()))
    reaches_products = named(m, "acc_reaches_products", reaches(field, frame.level_field))
    reaches_frame = named(m, "acc_reaches_frame", reaches(field, frame.lowest_field))
    dominates = named(m, "acc_dominates", reaches(field, frame.dominant_field))
    bits = max(frame.sum_bits + precision, frame.raised - 1 + precision).bit_length()
    level, lowest = (precision - frame.level_field) % (1 << bits), -frame.lowest_field % (1 << bits)
    origin = named(m, "acc_place_of_field_0", Mux(reaches_products, level, lowest), bits)
    place = named(m, "acc_place", (field[:bits] + origin)[:bits] & reaches_frame.replicate(bits))
    moved = moved_up(m, significand, place, frame.frame_bits + precision, "acc_", Const(0, 1))
    sticky = named(m, "sticky", moved[:precision].any())
    return _Aligned(named(m, "acc_in_frame", moved[precision:]), sticky, reaches_products, dominates)


def _total(m: Module, frame: BoundedShape, products_sum: Value, aligned: _Aligned) -> Value:
    width, sign = frame.frame_bits + 1, products_sum[-1]
    chapter(m, f"Add: total {width} bits in two's complement, negated if the accumulator is negative")
    raised = Cat(Const(0, frame.raised), products_sum)
    level = Cat(products_sum, sign.replicate(frame.raised))
    placed = named(m, "sum_in_frame", Mux(aligned.reaches_products, level, raised))
    addend = Cat(placed, sign.replicate(width - len(placed)))
    return named(m, "total", (addend + aligned.magnitude)[:width])


def _rounded(m: Module, frame: BoundedShape, total: Value, aligned: _Aligned) -> _Finite:
    target, k = frame.target, frame.target.fraction_bits
    negative = named(m, "total_negative", total[-1])
    value, below, room = _normalized(m, total[:-1], negative, aligned.sticky, frame)
    chapter(m, f"Round: {len(value)} bits to {frame.precision}, to nearest, ties to even")
    complement = named(m, "one_complement", value ^ negative.replicate(len(value)))
    kept, half = complement[1:], complement[0]
    # The complement of a negative total lacks a unit in the last place. If nothing is below, that unit carries: it
    # completes a half to a whole, or is a half.
    missing = named(m, "unit_missing", negative & ~below)
    up = named(m, "round_up", (half & (below | negative | kept[0])) | (missing & kept[0]))
    lowest = frame.lsb_exponent + frame.frame_bits - 1 - sum(frame.steps) + target.bias - 1
    levels = [number % (1 << target.exponent_bits) for number in (lowest, lowest - frame.raised)]
    base = named(m, "lowest_exponent_less_1", Mux(aligned.reaches_products, *levels))
    exponent = named(m, "exponent_less_1", (base + room)[: target.exponent_bits])
    body = Cat(kept[:-1], exponent) + Cat(up, Const(0, k - 1), kept[-1])
    # A first bit of 0 is the number 0, or minus one unit of the frame, whose complement is 0.
    is_zero = named(m, "total_is_zero", ~(kept[-1] | negative))
    return _Finite(named(m, "rounded", body[: target.width - 1]), negative, is_zero, below | value[0])


def _normalized(
    m: Module, value: Value, negative: Value, sticky: Value, frame: BoundedShape
) -> tuple[Value, Value, Value]:
    """Move a number left while its first bits equal its sign, and cut it after the half bit.

    Returns
    -------
    value, below, room : Value
        The first bits; whether there are any ones after them; and how many places less than possible they have moved.
    """
    steps, kept = frame.steps, frame.precision + 1
    chapter(m, f"Normalize: {len(value)} bits, shifted left while the first bit equals the sign")
    below = sticky
    stays: dict[int, list[Value]] = {step: [] for step in steps}
    for number, step in enumerate(steps):
        front, again = value[-step:], "_again" if step in steps[:number] else ""
        move = named(m, f"moves_left_{step}{again}", Mux(negative, front.all(), ~front.any()))
        value = named(m, f"moved_left_{step}{again}", Mux(move, Cat(Const(0, step), value)[: len(value)], value))
        spare = max(len(value) - kept - sum(steps[number + 1 :]), 0)
        if spare:
            below = named(m, f"below_after_{step}{again}", below | value[:spare].any())
            value = value[spare:]
        stays[step].append(~move)
    first, *others = zip_longest(*reversed(stays.values()), fillvalue=Const(0, 1))
    return value, below, reduce(add, (Cat(*bits) for bits in others), named(m, "places_not_moved", Cat(*first)))
