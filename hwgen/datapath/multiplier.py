"""The multiplier of a MAC, and the lane of a sum of products: a multiplier with the product's row in fixed point."""

from collections.abc import Mapping
from functools import partial
from operator import mul
from types import MappingProxyType
from typing import Any

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Format
from hwgen.datapath.arithmetic import extended, named
from hwgen.datapath.compress import multiplied
from hwgen.datapath.goal import ASIC
from hwgen.datapath.operand import Operand
from hwgen.datapath.ports import code, code_ports, code_widths
from hwgen.datapath.product import ProductShape, product_signature
from hwgen.datapath.rows import SumShape, finite_row, integer_row, partial_products, product_row
from hwgen.netlist.book import NOTE, chapter
from hwgen.netlist.parts import Repeated


def operand_ports(
    a_format: Format, b_format: Format, scale_bits: int, lanes: int = 1, block_scale: Format | None = None
) -> dict[str, Any]:
    """Ports for the codes of both operands; ``scale`` unless it has 0 bits; codes of the scales of two blocks."""
    ports = code_ports("a", a_format, lanes) | code_ports("b", b_format, lanes)
    if block_scale is not None:
        ports |= code_ports("a_scale", block_scale) | code_ports("b_scale", block_scale)
    return ports | ({"scale": In(scale_bits)} if scale_bits else {})


class Multiplier(wiring.Component):
    """Exact product of two codes: decoders, product, sum of the exponents, classes; combinational.

    With ``flags`` the product has ``is_invalid``. With ``adders`` the significands are multiplied by full adders, which
    are fast; otherwise synthesis chooses. A subclass adds ``controls`` and ``others`` before and after the product.

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


class Lane(Repeated, Multiplier):
    """The product of two codes, and its ``row`` in a sum of a ``shape``, see :class:`SumShape`; combinational.

    Without a shape there is no row. With ``negates`` there is a port ``negate``, which negates the row; with ``masks``
    there is a port ``enable``, without which the row is 0. With ``finite`` the row of a product that is not finite is
    also 0, otherwise it is any number. With ``partial`` the product is one of integers, and the row its partial
    products side by side.
    """

    part = "lane"

    def __init__(
        self,
        layout: ProductShape,
        shape: SumShape | None,
        *,
        negates: bool = False,
        masks: bool = False,
        finite: bool = False,
        flags: bool = False,
        adders: bool = False,
        partial: bool = False,
    ):
        self.shape, self.negates, self.masks, self.finite, self.partial = shape, negates, masks, finite, partial
        self.identity = layout, shape, negates, masks, finite, flags, adders, partial
        formats = " and ".join(dict.fromkeys(operand.fmt.name for operand in (layout.a, layout.b)))
        self.heading, self.summary = "Lanes: exact products", f"one lane, the exact product of two codes of {formats}"
        if shape is not None:
            bits = layout.a.fmt.width * layout.b.fmt.width if partial else shape.row_bits
            self.heading += f"; row {bits} bits" + ("" if partial else f", bit 0 weighs 2^{shape.lsb_exponent}")
            self.summary += ", and its row in the sum"
        controls = {"negate": In(1)} if negates else {}
        controls |= {"enable": In(1)} if masks else {}
        row = {} if shape is None else {"row": Out(bits)}
        super().__init__(layout, flags=flags, adders=adders, controls=controls, others=row)

    def elaborate(self, platform: object) -> Module:
        """A multiplier, then the shift to fixed point."""
        m, product = super().elaborate(platform), self.product
        if self.shape is None:
            return m
        if self.partial:
            row = Cat(partial_products(m, "row", self.a, self.b))
        elif self.layout.of_integers and self.shape.fabric == ASIC and not (self.negates or self.adders):
            row = integer_row(m, "row", self.a, self.b)
        elif self.finite:
            row = finite_row(m, "row", product, self.shape, ~self.enable if self.masks else None)
        else:
            sign = product.sign ^ self.negate if self.negates else product.sign
            row = product_row(m, "row", product, self.shape, sign, Const(0, 1))
        m.d.comb += self.row.eq(row)
        return m


def lanes_of(
    m: Module,
    ports: wiring.Component,
    layout: ProductShape,
    count: int,
    shape: SumShape | None,
    *,
    negate: Value | None = None,
    enable: Value | None = None,
    finite: bool = False,
    flags: bool,
    adders: bool = False,
    partial: bool = False,
) -> list[Lane]:
    """A :class:`Lane` for each of ``count`` pairs of a component's codes, with the same scale and the same controls."""
    lanes = []
    for number in range(count):
        negates, masks = negate is not None and shape is not None, enable is not None
        words = {"negates": negates, "masks": masks, "finite": finite, "adders": adders, "partial": partial}
        lane = Lane(layout, shape, flags=flags, **words)
        m.submodules[f"lane_{number}"] = lane
        lanes.append(lane)
        if layout.scale_bits:
            m.d.comb += lane.scale.eq(ports.scale)
        if lane.negates:
            m.d.comb += lane.negate.eq(negate)
        if lane.masks:
            m.d.comb += lane.enable.eq(enable)
        for port, width in (code_widths("a", layout.a.fmt) | code_widths("b", layout.b.fmt)).items():
            m.d.comb += getattr(lane, port).eq(getattr(ports, port).word_select(number, width))
    return lanes
