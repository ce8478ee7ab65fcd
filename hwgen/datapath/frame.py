"""Widths and constants of a fused MAC's adder, derived from its formats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from golden import WideFormat
from hwgen.datapath.product import ProductShape

GUARD_BITS = 2
"""Bits between the frame and the sticky bit: a difference of operands that are more than one place apart moves left by
one at most.
"""


@dataclass(frozen=True)
class AdderShape:
    """Widths of the sum of an accumulator and a product.

    Parameters
    ----------
    accumulator : WideFormat
        ``binary16``, ``bfloat16``, ``binary32`` or ``dlfloat16``.
    product : ProductShape
    """

    accumulator: WideFormat
    product: ProductShape

    @property
    def frame_bits(self) -> int:
        """Bits of the wider significand."""
        return max(self.accumulator.fraction_bits + 1, self.product.significand_bits)

    @property
    def shift_bits(self) -> int:
        """Bits of a shift amount that moves a whole frame below the guard bits, or a last guard bit to the top."""
        return (self.frame_bits + GUARD_BITS).bit_length()

    @cached_property
    def product_exponents(self) -> tuple[int, int]:
        """Exponents of a normalized product, as the accumulator's exponent field would have them."""
        low, high = self.product.exponents
        return low + self.offset, high + self.offset + (self.product.integer_bits - 1)

    @property
    def offset(self) -> int:
        """What takes a product's exponent to the accumulator's bias."""
        return self.accumulator.bias - self.product.bias

    @property
    def ties_lead(self) -> bool:
        """Whether the product leads when the exponents are equal: whichever gives the comparison a constant with more
        zeros at its end.
        """
        return trailing_zeros(self.offset + 1) >= trailing_zeros(self.offset)

    @property
    def highest_exponent(self) -> int:
        """Largest exponent of a frame whose sum can still be finite: with more, no accumulator cancels enough of the
        product.
        """
        return (1 << self.accumulator.exponent_bits) - (1 if self.accumulator.has_subnormals else 0)

    @property
    def difference(self) -> tuple[int, int]:
        """Range of the exponents' difference: product minus accumulator, minus 1 where ``ties_lead`` is not."""
        low, high = self.product_exponents
        ties = 0 if self.ties_lead else 1
        return low - (1 << self.accumulator.exponent_bits) + 1 - ties, high - int(
            self.accumulator.has_subnormals
        ) - ties

    @staticmethod
    def spare_carry(accumulator: WideFormat, product: ProductShape) -> int:
        """Whether the sum of the product's exponents had better be 1 larger."""
        if product.a.has_increment or product.b.has_increment:
            return 0  # the carry-in is taken
        offset = AdderShape(accumulator, product).offset
        return int(trailing_zeros(offset - 1) > max(trailing_zeros(offset), trailing_zeros(offset + 1)))


def trailing_zeros(number: int) -> int:
    """Zeros below a number's last 1; many for 0."""
    return (number & -number).bit_length() - 1 if number else 32
