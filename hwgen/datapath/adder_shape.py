"""Widths and constants of the adders of a fused MAC, derived from its formats."""

from dataclasses import dataclass

from golden import WideFormat
from hwgen.datapath.arithmetic import range_shape
from hwgen.datapath.product import NumberShape, ProductShape

GUARD_BITS = 2
"""Bits between the frame and the sticky bit that are enough to round to the nearest: if the exponents differ by more
than one, the difference moves left by at most one place.
"""


@dataclass(frozen=True)
class AdderShape:
    """Widths of the sum of an accumulator (``binary16``, ``bfloat16``, ``binary32`` or ``dlfloat16``) and a product."""

    accumulator: WideFormat
    product: NumberShape
    random_bits: int = 0

    @property
    def precision(self) -> int:
        """Bits of the accumulator's significand."""
        return self.accumulator.fraction_bits + 1

    @property
    def frame_bits(self) -> int:
        """Bits of the wider significand."""
        return max(self.precision, self.product.significand_bits)

    @property
    def shift_bits(self) -> int:
        """Bits of a shift amount that can move a whole frame past the guard bits, or the last guard bit to the top."""
        return (self.frame_bits + self.guard_bits).bit_length()

    @property
    def guard_bits(self) -> int:
        """Bits between the frame and the sticky bit; as many as random bits behind a result that moves left once."""
        return max(GUARD_BITS, self.precision + self.random_bits + 1 - self.frame_bits)

    @property
    def product_exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a normalized product, with the accumulator's bias."""
        low, high = self.product.exponents
        return low + self.offset, high + self.offset + (self.product.integer_bits - 1)

    @property
    def offset(self) -> int:
        """Difference of the biases, accumulator minus product."""
        return self.accumulator.bias - self.product.bias

    @property
    def ties_lead(self) -> bool:
        """Whether the product leads if the exponents are equal; chosen for a constant with more trailing zeros."""
        return trailing_zeros(self.offset + 1) >= trailing_zeros(self.offset)

    @property
    def smallest_exponent(self) -> int:
        """The accumulator's smallest exponent, bias included: that of its subnormals, if it has them."""
        return int(self.accumulator.has_subnormals)

    @property
    def highest_exponent(self) -> int:
        """Largest exponent of a frame whose sum can be finite; no accumulator cancels enough of a larger product."""
        return (1 << self.accumulator.exponent_bits) - self.smallest_exponent

    @property
    def difference(self) -> tuple[int, int]:
        """Range of the exponents' difference: product minus accumulator, minus 1 without ``ties_lead``."""
        (low, high), acc_high = self.product_exponents, (1 << self.accumulator.exponent_bits) - 1
        ties = 0 if self.ties_lead else 1
        return low - acc_high - ties, high - self.smallest_exponent - ties

    @staticmethod
    def spare_carry(accumulator: WideFormat, product: ProductShape) -> int:
        """1 if adding 1 to the sum of the product's exponents simplifies the adder's constant, else 0."""
        if product.a.has_increment or product.b.has_increment:
            return 0  # the carry-in is taken
        offset = AdderShape(accumulator, product).offset
        return int(trailing_zeros(offset - 1) > max(trailing_zeros(offset), trailing_zeros(offset + 1)))


class TwoPathShape(AdderShape):
    """Widths of a two-path adder, and which cases the ranges of its formats exclude; its products are normalized."""

    @property
    def tail_bits(self) -> int:
        """Bits of the far path's operands below the last place of a result that moves nowhere."""
        return self.frame_bits - self.precision + 2

    @property
    def shift_bits(self) -> int:
        """Bits of a shift amount that can move an operand of the far path out of its frame."""
        return (self.frame_bits + 1).bit_length()

    @property
    def difference_bits(self) -> int:
        """Bits of the product's exponent minus the accumulator's minus 1."""
        (low, high), acc_high = self.product_exponents, (1 << self.accumulator.exponent_bits) - 1
        return range_shape(min(low - acc_high - 1, -2), max(high - self.smallest_exponent - 1, 1)).width

    @property
    def close_bits(self) -> int:
        """Bits of the close path: from twice the accumulator's first bit to the last one that is not always 0."""
        return 2 + max(self.precision - 1, self.product.significand_bits)

    @property
    def close_rounds(self) -> bool:
        """Whether the close path has more bits than an accumulator; otherwise its results are exact."""
        return self.close_bits > self.precision + 1

    @property
    def exceeds_smallest(self) -> bool:
        """Whether a product that is neither close nor leads can exceed an accumulator without hidden bit."""
        return self.product_exponents[0] < self.smallest_exponent - 1

    @property
    def reaches_below(self) -> bool:
        """Whether products have bits below the accumulator's smallest value."""
        return self.product.lsb_exponent < self.accumulator.ulp_exponent


def trailing_zeros(number: int) -> int:
    """Zeros after a number's last 1; 32 for the number 0."""
    return (number & -number).bit_length() - 1 if number else 32
