"""Widths and constants of a two-path adder, derived from its formats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from golden import WideFormat
from hwgen.datapath.arithmetic import range_shape
from hwgen.datapath.frame import AdderShape
from hwgen.datapath.product import NumberShape


@dataclass(frozen=True)
class TwoPathShape:
    """Widths of the sum of an accumulator and a product, and which cases their ranges exclude.

    Parameters
    ----------
    accumulator : WideFormat
        ``binary16``, ``bfloat16``, ``binary32`` or ``dlfloat16``.
    product : NumberShape
        Of normalized numbers.
    """

    accumulator: WideFormat
    product: NumberShape

    @property
    def precision(self) -> int:
        """Bits of the accumulator's significand."""
        return self.accumulator.fraction_bits + 1

    @property
    def product_bits(self) -> int:
        """Bits of the product's significand; the first one is 1."""
        return self.product.significand_bits

    @property
    def frame_bits(self) -> int:
        """Bits of the wider significand."""
        return max(self.precision, self.product_bits)

    @property
    def tail_bits(self) -> int:
        """Bits of the far path's operands below the last place of a result that moves nowhere."""
        return self.frame_bits - self.precision + 2

    @cached_property
    def shift_bits(self) -> int:
        """Bits of a shift amount that can move an operand of the far path out of its frame."""
        return (self.frame_bits + 1).bit_length()

    @cached_property
    def product_exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a normalized product, with the accumulator's bias."""
        return AdderShape(self.accumulator, self.product).product_exponents

    @property
    def smallest_exponent(self) -> int:
        """The accumulator's smallest exponent, bias included: that of its subnormals, if it has them."""
        return int(self.accumulator.has_subnormals)

    @property
    def largest_exponent(self) -> int:
        """Largest exponent of a product that leads in a finite sum: see ``AdderShape.highest_exponent``."""
        return AdderShape(self.accumulator, self.product).highest_exponent

    @cached_property
    def difference_bits(self) -> int:
        """Bits of the product's exponent minus the accumulator's minus 1."""
        low, high = self.product_exponents
        acc_high = (1 << self.accumulator.exponent_bits) - 1
        return range_shape(min(low - acc_high - 1, -2), max(high - self.smallest_exponent - 1, 1)).width

    @property
    def close_bits(self) -> int:
        """Bits of the close path: from twice the accumulator's first bit to the last one that is not always 0."""
        return 2 + max(self.precision - 1, self.product_bits)

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
