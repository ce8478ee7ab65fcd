"""Interface of an exact product between blocks: widths and signature; and a factor that all products of a sum share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from amaranth.hdl import Const, Shape, Value
from amaranth.lib.wiring import Out, PureInterface, Signature

from golden import Format
from golden.bits import scale_range
from hwgen.datapath.arithmetic import range_shape
from hwgen.datapath.operand import OperandShape


class NumberShape(Protocol):
    """Widths of a number: value = significand * 2**(exponent - bias - fraction bits)."""

    @property
    def significand_bits(self) -> int:
        """Bits of the significand."""

    @property
    def integer_bits(self) -> int:
        """Bits of the significand before its binary point."""

    @property
    def bias(self) -> int:
        """Exponent minus the value's exponent."""

    @property
    def exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a finite nonzero number, including the bias."""

    @property
    def lsb_exponent(self) -> int:
        """Every number is a multiple of 2 to this power."""

    @property
    def exponent_shape(self) -> Shape:
        """Smallest shape for every exponent."""
        return range_shape(*self.exponents)


@dataclass(frozen=True)
class ProductShape(NumberShape):
    """Widths of the products of two formats: value = significand * 2**(exponent - bias - fraction_bits).

    A ``spare_carry`` of 1 adds 1 to the exponents' sum through its free carry-in, which can simplify the adder's
    constants. A scale, a number of ``scale_bits`` in two's complement, is added to that sum; 0 bits: none.
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
        """The shape for two formats; see :class:`OperandShape` for the options of both operands."""
        a, b = (OperandShape(fmt, normalized, keeps_exponents) for fmt in (a_format, b_format))
        return cls(a, b, spare_carry, scale_bits)

    @property
    def of_integers(self) -> bool:
        """Whether both codes are integers in two's complement, all of them numbers, and there is no scale."""
        return self.a.fmt.has_lowest and self.b.fmt.has_lowest and not self.scale_bits

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
    def lsb_exponent(self) -> int:
        """Every product is a multiple of 2 to this power."""
        return self.a.fmt.ulp_exponent + self.b.fmt.ulp_exponent + scale_range(self.scale_bits)[0]


def product_signature(layout: NumberShape, *, flags: bool = False) -> Signature:
    """An exact product: value = significand * 2**(exponent - bias - fraction_bits), see :class:`ProductShape`.

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
        With ``flags`` only: whether the product is NaN because of 0 * infinity.
    """
    return number_signature(layout.exponent_shape, layout.significand_bits, *(("is_invalid",) if flags else ()))


def number_signature(exponent: Shape, significand_bits: int, *flags: str) -> Signature:
    """Signature of a number: sign, exponent, significand, its class, and further ``flags``."""
    classes = dict.fromkeys(("is_zero", "is_inf", "is_nan", *flags), Out(1))
    return Signature({"sign": Out(1), "exponent": Out(exponent), "significand": Out(significand_bits), **classes})


@dataclass(frozen=True)
class Scale:
    """A factor, ``significand * 2**(exponent - fraction_bits)``, that is not negative.

    ``exponents`` are the smallest and the largest one of a factor that is neither 0 nor NaN; if it is, exponent and
    significand are meaningless. The significand of powers of two is the number 1.
    """

    exponent: Value
    exponents: tuple[int, int]
    significand: Value
    fraction_bits: int
    is_zero: Value
    is_nan: Value

    @classmethod
    def none(cls) -> Scale:
        """The factor 1."""
        never = Const(0, 1)
        return cls(Const(0, 1), (0, 0), Const(1, 1), 0, never, never)

    @classmethod
    def of_port(cls, port: Value) -> Scale:
        """2 to the power of a number in two's complement."""
        never = Const(0, 1)
        return cls(port.as_signed(), scale_range(len(port)), Const(1, 1), 0, never, never)

    @classmethod
    def of_blocks(cls, product: PureInterface, shape: ProductShape) -> Scale:
        """The product of two scales."""
        low, high = shape.exponents
        significand = product.significand if shape.significand_bits > 1 else Const(1, 1)
        exponents = low - shape.bias, high - shape.bias
        exponent = product.exponent - shape.bias
        return cls(exponent, exponents, significand, shape.fraction_bits, product.is_zero, product.is_nan)

    @property
    def is_one(self) -> bool:
        """Whether there is no factor but 1."""
        return isinstance(self.exponent, Const)
