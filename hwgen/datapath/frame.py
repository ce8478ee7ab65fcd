"""Widths and constants of a fused MAC's adder, derived from its formats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from golden import WideFormat
from hwgen.datapath.product import NumberShape, ProductShape

GUARD_BITS = 2
"""Bits between the frame and the sticky bit. Two are enough: if the exponents differ by more than one, the difference
moves left by at most one place.
"""


@dataclass(frozen=True)
class AdderShape:
    """Widths of the sum of an accumulator and a product.

    Parameters
    ----------
    accumulator : WideFormat
        ``binary16``, ``bfloat16``, ``binary32`` or ``dlfloat16``.
    product : NumberShape
    """

    accumulator: WideFormat
    product: NumberShape

    @property
    def frame_bits(self) -> int:
        """Bits of the wider significand."""
        return max(self.accumulator.fraction_bits + 1, self.product.significand_bits)

    @property
    def shift_bits(self) -> int:
        """Bits of a shift amount that can move a whole frame past the guard bits, or the last guard bit to the top."""
        return (self.frame_bits + GUARD_BITS).bit_length()

    @cached_property
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
    def highest_exponent(self) -> int:
        """Largest exponent of a frame whose sum can be finite; no accumulator cancels enough of a larger product."""
        return (1 << self.accumulator.exponent_bits) - int(self.accumulator.has_subnormals)

    @property
    def difference(self) -> tuple[int, int]:
        """Range of the exponents' difference: product minus accumulator, minus 1 without ``ties_lead``."""
        low, high = self.product_exponents
        acc_low, acc_high = int(self.accumulator.has_subnormals), (1 << self.accumulator.exponent_bits) - 1
        ties = 0 if self.ties_lead else 1
        return low - acc_high - ties, high - acc_low - ties

    @staticmethod
    def spare_carry(accumulator: WideFormat, product: ProductShape) -> int:
        """1 if adding 1 to the sum of the product's exponents simplifies the adder's constant, else 0."""
        if product.a.has_increment or product.b.has_increment:
            return 0  # the carry-in is taken
        offset = AdderShape(accumulator, product).offset
        return int(trailing_zeros(offset - 1) > max(trailing_zeros(offset), trailing_zeros(offset + 1)))


def trailing_zeros(number: int) -> int:
    """Zeros after a number's last 1; 32 for the number 0."""
    return (number & -number).bit_length() - 1 if number else 32
