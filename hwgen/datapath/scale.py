"""A factor of all products of a sum: a power of two, or the product of the scales of two blocks."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Const, Value
from amaranth.lib.wiring import PureInterface

from golden.arithmetic.exact import scale_range
from hwgen.datapath.product import ProductShape


@dataclass(frozen=True)
class Scale:
    """A factor, ``significand * 2**(exponent - fraction_bits)``, that is not negative.

    Attributes
    ----------
    exponent : Value
    exponents : (int, int)
        Smallest and largest exponent of a factor that is neither 0 nor NaN.
    significand : Value
        The number 1 for powers of two.
    fraction_bits : int
    is_zero, is_nan : Value
        Exponent and significand are then meaningless.
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
