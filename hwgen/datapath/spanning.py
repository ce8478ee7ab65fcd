"""The spanning frame: products and an accumulator of a short range, in one fixed point that holds both, rounded once.

The products' sum S is that of :mod:`hwgen.datapath.rows`. The accumulator's magnitude is always added: if it is
negative, the signs of all products are inverted. The total is normalized in two's complement, by no more places than a
subnormal result leaves, so that a first bit of 0 is that of a subnormal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from amaranth.hdl import Cat, Const, Module, Value

from golden import WideFormat
from hwgen.datapath.arithmetic import extended, named, reaches
from hwgen.datapath.fabric import FPGA, chained
from hwgen.datapath.lane import Lane
from hwgen.datapath.rows import SumShape, moved_up, sum_of_products
from hwgen.datapath.scale import Scale
from hwgen.datapath.signed import Normalized
from hwgen.datapath.sums import RoundedSum, specials
from hwgen.datapath.total import rounded_total
from hwgen.netlist.book import chapter

LONGEST_RANGE = 64
"""Bits of the largest range of an accumulator for which this frame is smaller than a floating-point sum."""


@dataclass(frozen=True)
class SpanningShape(SumShape):
    """Widths of a spanning frame.

    Parameters
    ----------
    product, lanes
        See :class:`hwgen.datapath.rows.SumShape`.
    target : WideFormat
        The accumulator's format.
    """

    target: WideFormat

    @property
    def fits(self) -> bool:
        """Whether the accumulator's range is short, and its format has subnormals."""
        return self.target.has_subnormals and self.acc_bits <= LONGEST_RANGE

    @property
    def lsb(self) -> int:
        """Exponent of the frame's last bit."""
        return min(self.lsb_exponent, self.target.ulp_exponent)

    @property
    def acc_bits(self) -> int:
        """Bits of the largest accumulator as a multiple of the smallest."""
        return self.target.fraction_bits + (1 << self.target.exponent_bits) - 2

    @property
    def frame_bits(self) -> int:
        """Bits of the largest sum, without sign."""
        largest = self.lanes * self.largest << (self.lsb_exponent - self.lsb)
        acc = ((1 << self.acc_bits) - 1) << (self.target.ulp_exponent - self.lsb)
        return (largest + acc).bit_length()

    @property
    def steps(self) -> list[int]:
        """Places that the stages of the normalizer move: together from the first bit to a subnormal's place."""
        farthest = self.lsb + self.frame_bits - 1 + self.target.bias - 1
        powers = [1 << k for k in range((farthest + 1).bit_length() - 1)]
        rest = farthest - sum(powers)
        return sorted([*powers, *(power for power in powers if power & rest)], reverse=True)


def spanning_sum(m: Module, lanes: Sequence[Lane], frame: SpanningShape, acc: Value, positive: bool) -> RoundedSum:
    """Add, normalize and round; with ``positive`` a zero is +0."""
    target, width = frame.target, frame.frame_bits + 1
    k, exponent_bits = target.fraction_bits, target.exponent_bits
    products_sum = sum_of_products(m, [lane.row for lane in lanes], frame)
    chapter(m, f"Fixed point of the accumulator: bit 0 of acc_magnitude weighs 2^{target.ulp_exponent}")
    field = named(m, "acc_field", acc[k:-1])
    hidden = named(m, "acc_hidden", field.any())
    exponent = named(m, "acc_exponent", Cat(field[0] | ~hidden, field[1:]))  # at least 1, so that bit 0 is moved away
    significand = named(m, "acc_significand", Cat(acc[:k], hidden))
    magnitude = moved_up(m, significand, exponent, frame.acc_bits + 1, "acc_", Const(0, 1))[1:]
    magnitude = named(m, "acc_magnitude", magnitude)
    chapter(m, f"Add: total {width} bits in two's complement, bit 0 weighs 2^{frame.lsb}; negated if acc is negative")
    placed = Cat(Const(0, frame.lsb_exponent - frame.lsb), products_sum)
    addend = Cat(Const(0, target.ulp_exponent - frame.lsb), magnitude, Const(0, 1))
    if frame.fabric == FPGA:
        total = named(m, "total", chained(m, [placed, addend], [], width))
    else:
        placed = Cat(placed, products_sum[-1].replicate(max(width - len(placed), 0)))
        total = named(m, "total", (placed + addend)[:width])

    most = sum(frame.steps)

    def exponent_less_1(first: Normalized) -> Value:
        return named(m, "exponent_less_1", first.room - (first.most - most) if first.most > most else first.room)

    addends = placed, extended(addend, width)
    rounding = frame.steps, k + 1, exponent_less_1, (most + 2).bit_length(), frame.goal
    rounded = rounded_total(m, total, addends, Const(0, 1), *rounding)
    packed, negative = named(m, "rounded", rounded.body), rounded.negative

    chapter(m, "Specials: overflow, infinities and NaN; the sign")
    special = specials(m, [lane.product for lane in lanes], frame.product, acc, k, Scale.none(), acc_passes=False)
    past = named(m, "past_largest", reaches(packed[k:], (1 << exponent_bits) - 1))
    force = named(m, "infinite_or_nan", special.force | past)
    number = packed[: k + exponent_bits] & (~force).replicate(k + exponent_bits)
    code_out = number | Cat(Const(0, k - 1), special.is_nan, force.replicate(exponent_bits))
    code_out = named(m, "code_out", code_out)
    all_minus = Const(0, 1) if positive else reduce(and_, (lane.product.sign for lane in lanes))
    sum_sign = named(m, "sum_sign", (negative ^ acc[-1]) & (total.any() | all_minus))
    sign_out = ~special.is_nan & ((special.is_inf & special.minus_inf) | (~special.is_inf & sum_sign))
    if positive:
        sign_out = sign_out & code_out.any()
    overflow = named(m, "overflow", past & special.finite)
    inexact = (rounded.lost | past) & special.finite
    underflow = inexact & ~rounded.leading_one & ~past
    bits = Cat(code_out, named(m, "sign_out", sign_out))
    return RoundedSum(bits, inexact, underflow, overflow, special.invalid, special.finite)
