"""Interface of an exact product between blocks: widths and signature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from amaranth.hdl import Shape
from amaranth.lib.wiring import Out, Signature

from golden import Format
from golden.arithmetic.exact import scale_range
from hwgen.datapath.arithmetic import range_shape
from hwgen.datapath.operand import OperandShape


class NumberShape(Protocol):
    """Widths of a number: value = significand * 2**(exponent - bias - fraction bits)."""

    @property
    def significand_bits(self) -> int:
        """Bits of the significand."""

    @property
    def integer_bits(self) -> int:
        """Those before its binary point."""

    @property
    def bias(self) -> int:
        """Exponent minus the value's exponent."""

    @property
    def exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a finite nonzero number, including the bias."""

    @property
    def exponent_shape(self) -> Shape:
        """Smallest shape for every exponent."""

    @property
    def lsb_exponent(self) -> int:
        """Every number is a multiple of 2 to this power."""


@dataclass(frozen=True)
class ProductShape:
    """Widths of the products of two formats: value = significand * 2**(exponent - bias - fraction_bits).

    Parameters
    ----------
    a, b : OperandShape
    spare_carry : int
        1 adds 1 to the exponents' sum through its free carry-in, which can simplify the adder's constants.
    scale_bits : int
        Bits of a scale, a number in two's complement that is added to the exponents' sum; 0 without.
    """

    a: OperandShape
    b: OperandShape
    spare_carry: int = 0
    scale_bits: int = 0

    @classmethod
    def of(
        cls,
        a_format: Format,
        b_format: Format,
        *,
        normalized: bool = True,
        keeps_exponents: bool = False,
        spare_carry: int = 0,
        scale_bits: int = 0,
    ) -> ProductShape:
        """Widths of the products of two formats; see ``OperandShape`` for both operands' options."""
        a, b = (OperandShape(fmt, normalized, keeps_exponents) for fmt in (a_format, b_format))
        return cls(a, b, spare_carry, scale_bits)

    @property
    def fraction_bits(self) -> int:
        """Bits of the significand after the binary point."""
        return self.a.significand_bits + self.b.significand_bits - 2

    @property
    def integer_bits(self) -> int:
        """Bits of the significand before the binary point: 2, or 1 if an operand has no fraction."""
        return min(self.a.significand_bits, self.b.significand_bits, 2)

    @property
    def significand_bits(self) -> int:
        """Bits of the exact product's significand."""
        return self.integer_bits + self.fraction_bits

    @property
    def bias(self) -> int:
        """Exponent minus the value's exponent."""
        return self.a.bias + self.b.bias + self.spare_carry

    @cached_property
    def exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a finite nonzero product, including the bias."""
        (a_low, a_high), (b_low, b_high), (low, high) = self.a.exponents, self.b.exponents, scale_range(self.scale_bits)
        return a_low + b_low + low + self.spare_carry, a_high + b_high + high + self.spare_carry

    @property
    def exponent_shape(self) -> Shape:
        """Smallest shape for every exponent."""
        return range_shape(*self.exponents)

    @property
    def lsb_exponent(self) -> int:
        """Every product is a multiple of 2 to this power."""
        return self.a.fmt.ulp_exponent + self.b.fmt.ulp_exponent + scale_range(self.scale_bits)[0]


def product_signature(layout: NumberShape, *, flags: bool = False) -> Signature:
    """An exact product: value = significand * 2**(exponent - bias - fraction_bits), see ``ProductShape``.

    Parameters
    ----------
    layout : ProductShape
    flags : bool
        Whether the product has ``is_invalid``.

    Members
    -------
    sign : ``Out(1)``
        Exclusive or of the operands' sign bits, for all classes.
    exponent : ``Out(layout.exponent_shape)``
        Sum of the operands' exponents, both biases included.
    significand : ``Out(layout.significand_bits)``
        Like the exponent meaningless unless the product is finite and not zero.
    is_zero, is_inf, is_nan : ``Out(1)``
        ``is_zero`` and ``is_inf`` are meaningless if ``is_nan`` is 1.
    is_invalid : ``Out(1)``
        Whether the product is NaN because of 0 * infinity.
    """
    return number_signature(layout.exponent_shape, layout.significand_bits, *(("is_invalid",) if flags else ()))


def number_signature(exponent: Shape, significand_bits: int, *flags: str) -> Signature:
    """Signature of a number: sign, exponent, significand, its class, and further ``flags``."""
    classes = dict.fromkeys(("is_zero", "is_inf", "is_nan", *flags), Out(1))
    return Signature({"sign": Out(1), "exponent": Out(exponent), "significand": Out(significand_bits), **classes})
