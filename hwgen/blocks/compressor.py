"""The loop of a processing element with its accumulator in carry-save form: products compressed into two rows."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import DEFAULT_TERMS, ExactAccumulator, Format
from golden.arithmetic.options import SumKeywords
from golden.refusal import check_flag
from hwgen.blocks.arguments import Accumulating
from hwgen.blocks.block import Block
from hwgen.blocks.options import A_FORMAT, B_FORMAT, LANES, SCALE_BITS, TERMS
from hwgen.blocks.words import operands, sum_lines
from hwgen.datapath.compress import compressed_sum
from hwgen.datapath.multiplier import lanes_of, operand_ports
from hwgen.datapath.ports import flag_port, flag_word
from hwgen.datapath.product import ProductShape
from hwgen.datapath.rows import SumShape
from hwgen.datapath.sums import sticky_specials


class Compressor(Accumulating, wiring.Component):
    """``acc_out = acc_in + a_0 * b_0 + a_1 * b_1 + ...`` in carry-save form; combinational.

    The accumulator is {nan, neg_inf, pos_inf, second, first}: sticky flags and two rows, whose sum is the value. They
    have one bit more than the value of an ``exact`` accumulator, in two's complement. A sum of a value that fits and of
    one product per lane then fits too, because an accumulator has room for all lanes.

    Formats, ``lanes``, ``terms``, ``scale_bits`` and ``flags`` are those of a :class:`hwgen.Dot`. With ``state_last``
    the accumulator arrives after the products, as in a pipeline.

    Members
    -------
    enable : ``In(1)``
        Add the products; otherwise the value and its flags remain.
    a, b, scale : ``In``
        See :class:`hwgen.Dot`.
    acc_in, acc_out : ``In``, ``Out``
        The accumulator before and after.
    flags : ``Out(4)``
        With ``flags`` only: a :class:`golden.Flag` word without overflow, which only the resolved value shows.
    """

    exact: ExactAccumulator

    def __init__(
        self,
        a_format: Format | str,
        b_format: Format | str | None = None,
        *,
        lanes: int = 1,
        terms: int | None = None,
        scale_bits: int = 0,
        flags: bool = False,
        state_last: bool = False,
    ):
        sums: SumKeywords = {"accumulator": "exact", "terms": terms, "scale_bits": scale_bits, "flags": flags}
        self._check(a_format, b_format, lanes=lanes, **sums)
        self.state_last = check_flag("state_last", state_last)
        codes = operand_ports(self.a_format, self.b_format, self.scale_bits, self.lanes)
        width = 2 * self.row_bits + 3
        super().__init__({"enable": In(1), **codes, "acc_in": In(width), "acc_out": Out(width), **flag_port(flags)})

    @property
    def row_bits(self) -> int:
        """Bits of each row."""
        return self.exact.value_width + 1

    def elaborate(self, _platform: object) -> Module:
        """Products, then full adders."""
        m = Module()
        layout = ProductShape.of(self.a_format, self.b_format, normalized=False, scale_bits=self.scale_bits)
        shape, width = SumShape(layout, self.lanes), self.row_bits
        lanes = lanes_of(
            m, self, layout, self.lanes, shape, enable=self.enable, finite=True, flags=self.has_flags, adders=True
        )
        rows = self.acc_in[:width], self.acc_in[width : 2 * width]
        rows = compressed_sum(m, [lane.row for lane in lanes], shape, rows, state_last=self.state_last)
        products = [lane.product for lane in lanes]
        classes = [
            (product.sign, product.is_inf & ~product.is_nan & self.enable, product.is_nan & self.enable)
            for product in products
        ]
        specials, opposite = sticky_specials(m, self.acc_in[2 * width :], classes)
        m.d.comb += self.acc_out.eq(Cat(*rows, specials))
        if self.has_flags:
            invalid = reduce(or_, (product.is_invalid & self.enable for product in products), opposite)
            zero = Const(0, 1)
            m.d.comb += self.flags.eq(flag_word(zero, zero, zero, invalid))
        return m


_TERMS = f"number of products that fit without overflow (default: {DEFAULT_TERMS})"
COMPRESSOR = Block(
    "compressor",
    "loop of a pe with --carry-save: products and two rows compressed to two rows",
    Compressor,
    (A_FORMAT, B_FORMAT),
    (replace(LANES, always=True), replace(TERMS, help=_TERMS, only_with=None), SCALE_BITS),
    codes=("a", "b"),
    title=lambda core: f"Compressor of {core.lanes} lanes: {operands(core)} into an exact accumulator of two rows",
    lines=sum_lines,
    generated=False,
)
