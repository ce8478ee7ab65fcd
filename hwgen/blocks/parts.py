"""The halves of a fused multiply-accumulate unit: the multiplier and the adder behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from golden import ACCUMULATORS, Format
from golden.arithmetic.options import SumKeywords
from golden.wide import wide
from hwgen.blocks.arguments import Accumulating
from hwgen.blocks.block import Block
from hwgen.blocks.options import A_FORMAT, ACCUMULATOR, B_FORMAT, OPTIMIZE, TERMS, ZERO
from hwgen.blocks.words import operands, sum_lines
from hwgen.datapath import multiplier
from hwgen.datapath.adder import FloatAdder
from hwgen.datapath.adder_shape import AdderShape
from hwgen.datapath.fast.adder import TwoPathAdder
from hwgen.datapath.goal import AREA, SPEED
from hwgen.datapath.product import ProductShape, product_signature
from hwgen.datapath.sums import add_exact


class Multiplier(Accumulating, multiplier.Multiplier):
    """Exact product of two codes, neither rounded nor normalized; combinational.

    Parameters
    ----------
    a_format, b_format : Format or str
        ``b_format`` defaults to ``a_format``.
    accumulator : str
        Accumulator of the :class:`Adder` that takes the product: see :class:`hwgen.Mac`.
    scale_bits : int
        Width of the port ``scale``, up to 10; 0: no port and no scale.
    flags : bool
        Whether the product has the member ``is_invalid``, which an adder with flags needs.

    Members
    -------
    a, b : ``In``
        Codes; and ``a_select``, ``b_select`` for pairs of formats.
    scale : ``In(scale_bits)``
        Exponent, in two's complement, of a power of two that multiplies the product.
    product : ``Out(product_signature)``
        See :func:`hwgen.datapath.product.product_signature`.
    """

    takes_aligned = False

    def __init__(
        self,
        a_format: Format | str,
        b_format: Format | str | None = None,
        *,
        accumulator: str = "binary16",
        scale_bits: int = 0,
        flags: bool = False,
    ):
        self._check(a_format, b_format, accumulator=accumulator, scale_bits=scale_bits, flags=flags)
        super().__init__(part_product_shape(self), flags=flags)


class Adder(Accumulating, wiring.Component):
    """``acc_out = round(acc_in + product)``, rounded once; combinational.

    Parameters
    ----------
    a_format, b_format, accumulator, terms, scale_bits, overflow, flags, zero
        See :class:`hwgen.Mac`; the :class:`Multiplier` must have the same values of those that it also has.
    accumulator_rounding, random_bits, optimize
        See :class:`hwgen.Mac`.

    Members
    -------
    product : ``In(product_signature)``
        Output of the :class:`Multiplier`.
    acc_in, acc_out, random, overflow, flags
        See :class:`hwgen.Mac`.
    """

    takes_aligned = False

    def __init__(
        self,
        a_format: Format | str,
        b_format: Format | str | None = None,
        *,
        overflow: bool = False,
        optimize: str = AREA,
        **sums: Unpack[SumKeywords],
    ):
        self._check(a_format, b_format, overflow=overflow, optimize=optimize, **sums)
        product = product_signature(part_product_shape(self), flags=self.has_flags)
        super().__init__({"product": In(product), **self._sum_ports()})

    def elaborate(self, _platform: object) -> Module:
        """A floating-point adder, or a fixed-point one for an exact accumulator."""
        m = Module()
        layout = part_product_shape(self)
        if self.exact is None:
            target, flags, zero = wide(self.accumulator), self.has_flags, self.zero
            unit: TwoPathAdder | FloatAdder = FloatAdder(target, layout, flags=flags, zero=zero, random=self._words)
            if self.optimize == SPEED:
                unit = TwoPathAdder(target, layout, flags=flags, zero=zero)
            total = unit.add(m, self.product, self.acc_in)
        else:
            total = add_exact(m, self.exact, layout, self.product, self.acc_in)
        self._add_outputs(m, total.bits, total.overflow, lambda: total.word)
        return m


def part_product_shape(part: Accumulating) -> ProductShape:
    """The shape of the product that connects a multiplier and an adder."""
    formats, scale_bits = (part.a_format, part.b_format), part.scale_bits
    if part.exact is not None:
        return ProductShape.of(*formats, normalized=False, scale_bits=scale_bits)
    plain = ProductShape.of(*formats, scale_bits=scale_bits)
    spare_carry = AdderShape.spare_carry(wide(part.accumulator), plain)
    return ProductShape.of(*formats, spare_carry=spare_carry, scale_bits=scale_bits)


MULTIPLIER = Block(
    "multiplier",
    "first half of a MAC: decoders, exact product, exponent sum, flags",
    Multiplier,
    (A_FORMAT, B_FORMAT),
    (),
    codes=("a", "b"),
    title=lambda core: f"Exact product of {operands(core)}, neither rounded nor normalized",
    generated=False,
)
ADDER = Block(
    "adder",
    "second half of a MAC: alignment, addition, rounding",
    Adder,
    (A_FORMAT, B_FORMAT),
    (replace(ACCUMULATOR, help="format of the accumulator", allowed=ACCUMULATORS, listing=""), TERMS, ZERO, OPTIMIZE),
    title=lambda core: f"Adder behind the multiplier: {operands(core)} into {core.accumulator}",
    lines=sum_lines,
    generated=False,
)
