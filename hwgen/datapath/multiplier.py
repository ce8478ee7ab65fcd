"""The multiplier of a fused MAC: decode, exact product, sum of the exponents, class flags. Nothing is normalized or rounded here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from amaranth.hdl import Cat, Const, Module, Shape, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

import golden
from golden import Format
from golden.exact import scale_range
from hwgen.datapath.code_ports import code, code_ports
from hwgen.datapath.operand import Operand, OperandShape, extended, range_shape


def scale_port(scale_bits: int) -> dict[str, Any]:
    """The member ``scale`` of so many bits, or none."""
    return {"scale": In(scale_bits)} if scale_bits else {}


def invalid_port(flags: bool) -> dict[str, Any]:
    """The member of what takes a product that says whether it is 0 * infinity, or none."""
    return {"is_invalid": In(1)} if flags else {}


@dataclass(frozen=True)
class ProductShape:
    """Widths of the products of two formats: value = significand * 2**(exponent - bias - fraction_bits).

    Parameters
    ----------
    a, b : OperandShape
    spare_carry : int
        1 adds 1 to the exponents' sum, through a carry-in that costs nothing: an adder asks for it where its constants get simpler.
    scale_bits : int
        Bits of a number in two's complement that is added to the exponents' sum; 0 where there is none.
    """

    a: OperandShape
    b: OperandShape
    spare_carry: int = 0
    scale_bits: int = 0

    @classmethod
    def of(cls, a_format: Format, b_format: Format, *, normalized: bool = True, spare_carry: int = 0, scale_bits: int = 0) -> ProductShape:
        """Of two formats."""
        return cls(OperandShape(a_format, normalized), OperandShape(b_format, normalized), spare_carry, scale_bits)

    @property
    def normalized(self) -> bool:
        """Whether operands are normalized, so that a product lies in [1, 4)."""
        return self.a.normalized and self.b.normalized

    @property
    def fraction_bits(self) -> int:
        """Bits of the significand behind the binary point."""
        return self.a.significand_bits + self.b.significand_bits - 2

    @property
    def integer_bits(self) -> int:
        """Bits of the significand before the binary point: 2, but 1 where an operand has no fraction."""
        return min(self.a.significand_bits, self.b.significand_bits, 2)

    @property
    def significand_bits(self) -> int:
        """Bits of the exact product."""
        return self.integer_bits + self.fraction_bits

    @property
    def bias(self) -> int:
        """What the exponent exceeds the value's by."""
        return self.a.bias + self.b.bias + self.spare_carry

    @cached_property
    def exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent."""
        (a_low, a_high), (b_low, b_high), (low, high) = self.a.exponents, self.b.exponents, scale_range(self.scale_bits)
        return a_low + b_low + low + self.spare_carry, a_high + b_high + high + self.spare_carry

    @property
    def exponent_shape(self) -> Shape:
        """Of the exponent."""
        return range_shape(*self.exponents)


class Multiplier(wiring.Component):
    """Exact product of two codes; combinational.

    Parameters
    ----------
    a_format, b_format : Format or str
        ``b_format`` defaults to ``a_format``.
    normalized : bool
        Whether subnormal operands are normalized. A floating-point adder wants that; a fixed-point one does not need it.
    spare_carry, scale_bits : int
        See ``ProductShape``.
    tells_invalid : bool
        Whether there is a port ``is_invalid``.

    Members
    -------
    a, b : ``In``
        Codes; and ``a_select``, ``b_select`` where they are of two formats.
    scale : ``In(scale_bits)``
        If there is one: exponent of a power of two, in two's complement.
    sign : ``Out(1)``
        Exclusive or of the sign bits, whatever the classes.
    exponent : ``Out``
        Sum of the exponents, without a bias constant; two's complement if ``layout.exponent_shape`` is signed.
    significand : ``Out``
        See ``ProductShape``; it and the exponent are meaningless unless the product is finite and not zero.
    is_zero, is_inf, is_nan : ``Out(1)``
        ``is_zero`` and ``is_inf`` are meaningless where ``is_nan`` is set.
    is_invalid : ``Out(1)``
        If asked for: whether it is NaN because of 0 * infinity.
    """

    def __init__(
        self,
        a_format: Format | str,
        b_format: Format | str | None = None,
        *,
        normalized: bool = True,
        spare_carry: int = 0,
        scale_bits: int = 0,
        tells_invalid: bool = False,
    ):
        self.a_format = golden.get(a_format)
        self.b_format = self.a_format if b_format is None else golden.get(b_format)
        self.layout = ProductShape.of(self.a_format, self.b_format, normalized=normalized, spare_carry=spare_carry, scale_bits=scale_bits)
        self.tells_invalid = tells_invalid
        super().__init__(
            {
                **code_ports("a", self.a_format),
                **code_ports("b", self.b_format),
                **scale_port(scale_bits),
                "sign": Out(1),
                "exponent": Out(self.layout.exponent_shape.width),
                "significand": Out(self.layout.significand_bits),
                "is_zero": Out(1),
                "is_inf": Out(1),
                "is_nan": Out(1),
                **({"is_invalid": Out(1)} if tells_invalid else {}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        """Decode, multiply, add."""
        m = Module()
        m.submodules.operand_a = a = Operand(self.layout.a)
        m.submodules.operand_b = b = Operand(self.layout.b)
        # The sum has one carry-in to give away: to an operand's increment, or to the adder's spare carry.
        increments = [operand.increment for operand in (a, b) if operand.layout.has_increment] or [Const(self.layout.spare_carry, 1)]
        width = len(self.exponent)
        carry, exponent_a, exponent_b = increments[0], extended(a.exponent, width), extended(b.exponent, width)
        exponent = (Cat(carry, exponent_a) + Cat(carry, exponent_b))[1 : width + 1]
        for increment in increments[1:]:
            exponent = (exponent + increment)[:width]
        if self.layout.scale_bits:
            exponent = (exponent + self.scale.as_signed())[:width]
        either_zero = Signal(name="either_zero")
        either_inf = Signal(name="either_inf")
        m.d.comb += [
            a.code.eq(code(self, "a", self.a_format)),
            b.code.eq(code(self, "b", self.b_format)),
            self.sign.eq(a.sign ^ b.sign),
            self.exponent.eq(exponent),
            self.significand.eq(a.significand * b.significand),
            either_zero.eq(a.is_zero | b.is_zero),
            either_inf.eq(a.is_inf | b.is_inf),
            self.is_zero.eq(either_zero),
            self.is_inf.eq(either_inf),
            self.is_nan.eq(a.is_nan | b.is_nan | (either_zero & either_inf)),
        ]
        if self.tells_invalid:
            m.d.comb += self.is_invalid.eq((a.is_zero & ~a.is_nan & b.is_inf) | (b.is_zero & ~b.is_nan & a.is_inf))
        return m
