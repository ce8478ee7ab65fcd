"""The fused dot product: adds the products of several lanes and an accumulator in fixed point, rounded once."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from amaranth.hdl import Module
from amaranth.lib import wiring

from golden import Format
from golden.arithmetic.options import SumKeywords
from golden.refusal import BadValue
from golden.wide import NONE, check_accumulator
from hwgen.blocks.arguments import Accumulating
from hwgen.blocks.block import Block
from hwgen.blocks.mac import MAC
from hwgen.blocks.options import (
    A_FORMAT,
    ACCUMULATION,
    B_FORMAT,
    BLOCK_SCALE,
    DOT_ACCUMULATOR,
    FABRIC,
    LANES,
    OPTIMIZE,
    SUM_TO,
    VARIED_RESULT,
)
from hwgen.blocks.words import operands, sum_lines, sum_rules
from hwgen.datapath.goal import AREA, ASIC
from hwgen.datapath.multiplier import operand_ports


class Dot(Accumulating, wiring.Component):
    """``acc_out = round(acc_in + 2**scale * (a_0 * b_0 + a_1 * b_1 + ...))``, rounded once; combinational.

    ::

        codes  -> decode -> exact product -> fixed point \\
        acc_in ----------------------------> fixed point -- sum -> sign, magnitude -> normalize -> round

    Parameters
    ----------
    a_format, b_format : Format or str
        ``b_format`` defaults to ``a_format``.
    lanes : int
        Number of products, 1 to 32; with accumulator ``rvbna`` a power of two.
    accumulator, terms, scale_bits, overflow, flags, zero, accumulator_rounding, random_bits and so on
        See :class:`hwgen.Mac`; the product of each lane counts as a term. With the accumulator ``none`` the sum of the
        products alone is rounded.
    target : str, optional
        With the accumulator ``none`` only: format of the sum, one of :data:`golden.WIDE`. Default: ``binary32``.
    block_scale : Format or str, optional
        Format of the scales of two blocks, one of :data:`golden.arithmetic.blocks.SCALES`, which excludes
        ``scale_bits``. Needs an accumulator that rounds; ``rvbna`` and aligned ones need ``e8m0``.
    fabric : str
        ``asic`` or ``fpga``: whether sums are written for cells, or for carry chains; the bits are the same.
    optimize : str
        ``area`` or ``speed``; the bits are the same, and docs/fast.md has delays and areas. ``speed`` needs fabric
        ``asic``, and an accumulator that rounds each sum, or an aligned one of signed formats without a scale, whose
        first 1 is found beside the sum, or ``exact``, where full adders compress the bits of all products, of integers
        their partial products.

    Members
    -------
    a, b : ``In``
        Codes of all lanes, lane 0 in the least significant bits; and ``a_select``, ``b_select`` with one bit per lane
        for pairs of formats.
    a_scale, b_scale : ``In``
        With ``block_scale`` only: codes of the scales, which multiply all products.
    scale, acc_in, acc_out, random, overflow, flags
        See :class:`hwgen.Mac`; with the accumulator ``none`` there is no ``acc_in``. An exact zero is -0 if all addends
        are -0, else +0. A NaN of ``dlfloat16`` has the sign of the accumulator if that is NaN or infinite, else that of
        the first lane whose product is.
    """

    takes_variants = True

    def __init__(
        self,
        a_format: Format | str,
        b_format: Format | str | None = None,
        *,
        lanes: int = 2,
        overflow: bool = False,
        block_scale: Format | str | None = None,
        fabric: str = ASIC,
        optimize: str = AREA,
        target: str | None = None,
        **sums: Unpack[SumKeywords],
    ):
        is_alone = "accumulator" in sums and check_accumulator(sums["accumulator"], (NONE,)) == NONE
        if target is not None and not is_alone:
            raise BadValue("target", f"needs accumulator {NONE!r}")
        self._check(
            a_format,
            b_format,
            lanes=lanes,
            block_scale=block_scale,
            overflow=overflow,
            fabric=fabric,
            optimize=optimize,
            target=target or "binary32" if is_alone else None,
            **sums,
        )
        codes = operand_ports(self.a_format, self.b_format, self.scale_bits, self.lanes, self.block_scale)
        super().__init__({**codes, **self._sum_ports()})

    @property
    def is_dot(self) -> bool:
        """True: the products of all lanes are added up first."""
        return True

    def elaborate(self, _platform: object) -> Module:
        """Products, then the sum."""
        self.check_ours()
        m = Module()
        if self.exact is None:
            self._add_rounded(m)
        else:
            self._add_exact(m)
        return m


MEANINGS = {
    **MAC.meanings,
    **{f"{name}_scale": f"code of the scale of {name}, which multiplies the products" for name in "ab"},
}
DOT = Block(
    "dot",
    "fused dot product: one rounding of the exact acc + a_0 * b_0 + a_1 * b_1 + ...",
    Dot,
    (A_FORMAT, B_FORMAT),
    (
        replace(LANES, always=True),
        DOT_ACCUMULATOR,
        SUM_TO,
        *ACCUMULATION[1:],
        BLOCK_SCALE,
        *VARIED_RESULT,
        FABRIC,
        OPTIMIZE,
    ),
    codes=("a", "b"),
    title=lambda core: (
        f"Fused dot product of {core.lanes} lanes: {operands(core)} into {core.target or core.accumulator}"
    ),
    lines=sum_lines,
    rules=sum_rules,
    meanings=MEANINGS,
)
