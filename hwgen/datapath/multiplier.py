"""The multiplier of a fused MAC: decoders, exact product, sum of the exponents, classes; nothing is rounded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from operator import mul
from types import MappingProxyType
from typing import Any

from amaranth.hdl import Cat, Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Format
from hwgen.datapath.arithmetic import extended, named
from hwgen.datapath.compress import multiplied
from hwgen.datapath.operand import Operand
from hwgen.datapath.ports import code, code_ports
from hwgen.datapath.product import ProductShape, product_signature
from hwgen.netlist.book import NOTE, chapter


def operand_ports(
    a_format: Format, b_format: Format, scale_bits: int, lanes: int = 1, block_scale: Format | None = None
) -> dict[str, Any]:
    """Ports for the codes of both operands; ``scale`` unless it has 0 bits; codes of the scales of two blocks."""
    ports = code_ports("a", a_format, lanes) | code_ports("b", b_format, lanes)
    if block_scale is not None:
        ports |= code_ports("a_scale", block_scale) | code_ports("b_scale", block_scale)
    return ports | ({"scale": In(scale_bits)} if scale_bits else {})


class Multiplier(wiring.Component):
    """Exact product of two codes; combinational.

    Parameters
    ----------
    layout : ProductShape
    flags : bool
        Whether the product has ``is_invalid``.
    adders : bool
        Whether the significands are multiplied by full adders, which are fast; otherwise synthesis chooses.
    controls, others : mapping
        Members that a subclass adds before and after the product.

    Members
    -------
    a, b : ``In``
        Codes; and ``a_select``, ``b_select`` for pairs of formats.
    scale : ``In(scale_bits)``
        With ``layout.scale_bits`` only: exponent of a power of two, in two's complement.
    product : ``Out(product_signature)``
    """

    def __init__(
        self,
        layout: ProductShape,
        *,
        flags: bool = False,
        adders: bool = False,
        controls: Mapping[str, Any] = MappingProxyType({}),
        others: Mapping[str, Any] = MappingProxyType({}),
    ):
        self.layout, self.has_flags, self.adders = layout, flags, adders
        codes = operand_ports(layout.a.fmt, layout.b.fmt, layout.scale_bits)
        super().__init__({**codes, **controls, "product": Out(product_signature(layout, flags=flags)), **others})

    def elaborate(self, _platform: object) -> Module:
        """Decode the codes, multiply the significands, add the exponents."""
        m = Module()
        m.submodules.operand_a = a = Operand(self.layout.a, "a")
        m.submodules.operand_b = b = Operand(self.layout.b, "b")
        out, shape = self.product, self.layout
        factors = f"{shape.a.significand_bits} x {shape.b.significand_bits} = {shape.significand_bits} bits"
        title = f"Product: significand {factors}; exponent {len(out.exponent)} bits, bias {shape.bias}"
        chapter(m, title, *(getattr(out, name) for name in out.signature.members))
        # The sum has one free carry-in, for an operand's increment or the adder's spare carry.
        increments = [operand.increment for operand in (a, b) if operand.layout.has_increment]
        carry, *others = increments or [Const(self.layout.spare_carry, 1)]
        width = len(out.exponent)
        exponent = (Cat(carry, extended(a.exponent, width)) + Cat(carry, extended(b.exponent, width)))[1 : width + 1]
        terms = [*others, self.scale.as_signed()] if self.layout.scale_bits else others
        note = "an increment is the sign of its exponent, and is carried in" if increments else ""
        if note and not terms:
            out.exponent.attrs[NOTE] = note
        for term in terms:
            exponent = (named(m, "partial_exponent_sum", exponent, note=note) + term)[:width]
            note = ""
        multiply = partial(multiplied, m) if self.adders else mul
        either_zero = named(m, "either_zero", a.is_zero | b.is_zero)
        either_inf = named(m, "either_inf", a.is_inf | b.is_inf)
        m.d.comb += [
            a.code.eq(code(self, "a", self.layout.a.fmt)),
            b.code.eq(code(self, "b", self.layout.b.fmt)),
            out.sign.eq(a.sign ^ b.sign),
            out.exponent.eq(exponent),
            out.significand.eq(multiply(a.significand, b.significand)),
            out.is_zero.eq(either_zero),
            out.is_inf.eq(either_inf),
            out.is_nan.eq(a.is_nan | b.is_nan | (either_zero & either_inf)),
        ]
        if self.has_flags:
            m.d.comb += out.is_invalid.eq((a.is_zero & ~a.is_nan & b.is_inf) | (b.is_zero & ~b.is_nan & a.is_inf))
        return m
