"""The fused multiply-accumulate unit: an exact product, an accumulator, one rounding."""

from __future__ import annotations

from typing import Unpack

from amaranth.hdl import Module
from amaranth.lib import wiring

from golden import Format
from golden.arithmetic.options import SumKeywords
from golden.wide import ALIGNED, RVBNA, wide
from hwgen.blocks.arguments import Accumulating
from hwgen.blocks.block import Block
from hwgen.blocks.options import A_FORMAT, ACCUMULATION, B_FORMAT, OPTIMIZE, VARIED_RESULT
from hwgen.blocks.parts import Adder, Multiplier, part_product_shape
from hwgen.blocks.words import operands, sum_lines, sum_rules
from hwgen.datapath.fast import product
from hwgen.datapath.fast.adder import TwoPathAdder
from hwgen.datapath.goal import AREA, SPEED
from hwgen.datapath.multiplier import operand_ports
from hwgen.datapath.operand import Operand
from hwgen.datapath.ports import FLAG_BITS, code


class Mac(Accumulating, wiring.Component):
    """``acc_out = round(acc_in + a * b * 2**scale)``, rounded once; combinational.

    Parameters
    ----------
    a_format, b_format : Format or str
        ``b_format`` defaults to ``a_format``.
    accumulator : str
        ``binary16``, ``bfloat16``, ``binary32``: ties to even, subnormals kept, overflow to infinity, canonical NaN;
        ``dlfloat16``: ties away from zero, flushed below its smallest value; ``exact``: see
        ``golden.ExactAccumulator``; ``rvbna`` and ``aligned6`` to ``aligned40``: see :func:`golden.mac`.
    terms : int, optional
        With ``exact`` only: number of products that fit without overflow. Default: 1024.
    scale_bits : int
        Width of the port ``scale``, up to 10; 0: no port and no scale.
    overflow : bool
        Whether there is a port ``overflow``.
    flags : bool
        Whether there is a port ``flags``.
    zero : str
        Sign of a zero result: ``ieee``, or ``positive``, which is always +0 and needs a rounded accumulator.
    accumulator_rounding : str, optional
        ``stochastic`` rounds sums into ``binary16``, ``bfloat16`` or ``dlfloat16`` by random words.
    accumulator_overflow, daz, ftz : str, optional
        These, and the rounding ``toward_zero``, describe other people's modules, not hardware: see :func:`golden.mac`.
    random_bits : int, optional
        Width of ``random``, 1 to 32; with ``accumulator_rounding`` only. Default: 16.
    optimize : str
        ``area``, or ``speed``: a shorter delay at a larger area, with the same results. It needs an accumulator
        that rounds.

    Members
    -------
    a, b : ``In``
        Codes; and ``a_select``, ``b_select`` for pairs of formats.
    scale : ``In(scale_bits)``
        Exponent in two's complement.
    acc_in, acc_out : ``In``, ``Out``
        Bits of the accumulator before and after.
    random : ``In(random_bits)``
        With ``accumulator_rounding`` only: uniformly distributed, fresh for every sum.
    overflow : ``Out(1)``
        1 if a sum of finite operands became infinite, or if it did not fit an ``exact`` accumulator and wrapped.
    flags : ``Out(4)``
        A :class:`golden.Flag` word, as :func:`golden.mac_with_flags` returns it.
    """

    takes_variants = True

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
        codes = operand_ports(self.a_format, self.b_format, self.scale_bits)
        self._inputs = tuple(codes)
        super().__init__({**codes, **self._sum_ports()})

    def elaborate(self, _platform: object) -> Module:
        """Multiplier, then adder."""
        self.check_ours()
        m = Module()
        if self.optimize == SPEED:
            self._fast(m)
            return m
        if self.accumulator in (RVBNA, *ALIGNED):
            self._add_rounded(m)
            return m
        formats = self.a_format, self.b_format
        if self.exact is not None and part_product_shape(self).of_integers:
            self._add_exact(m)  # no product is carried before the accumulator is added
            return m
        m.submodules.multiplier = first = Multiplier(
            *formats, accumulator=self.accumulator, scale_bits=self.scale_bits, flags=self.has_flags
        )
        m.submodules.adder = adder = Adder(*formats, overflow=self.has_overflow, **self.sums.keywords)
        wiring.connect(m, first.product, adder.product)
        for name in self._inputs:
            m.d.comb += getattr(first, name).eq(getattr(self, name))
        if self._words is not None:
            m.d.comb += adder.random.eq(self._words)
        m.d.comb += adder.acc_in.eq(self.acc_in)
        outputs = [name for name in ("acc_out", "overflow", "flags") if name in self.signature.members]
        m.d.comb += [getattr(self, name).eq(getattr(adder, name)) for name in outputs]
        return m

    def _fast(self, m: Module) -> None:
        """Operands, a product that is normalized early, and an adder with two paths."""
        shape = product.fast_product_shape(wide(self.accumulator), part_product_shape(self))
        m.submodules.operand_a = a = Operand(shape.a, "a")
        m.submodules.operand_b = b = Operand(shape.b, "b")
        m.d.comb += [a.code.eq(code(self, "a", self.a_format)), b.code.eq(code(self, "b", self.b_format))]
        scale = self.scale if self.scale_bits else None
        number = product.multiply(m, shape, a, b, scale, flags=self.has_flags)
        unit = TwoPathAdder(wide(self.accumulator), shape, flags=self.has_flags, zero=self.zero)
        total = unit.add(m, number, self.acc_in)
        self._add_outputs(m, total.bits, total.overflow, lambda: total.word)


MAC = Block(
    "mac",
    "fused multiply-accumulate: one rounding of the exact acc + a * b",
    Mac,
    (A_FORMAT, B_FORMAT),
    (*ACCUMULATION, *VARIED_RESULT, OPTIMIZE),
    codes=("a", "b"),
    title=lambda core: f"Fused multiply-accumulate: {operands(core)} into {core.accumulator}",
    lines=sum_lines,
    rules=sum_rules,
    meanings={
        "a": "code of the first operand",
        "b": "code of the second operand",
        "scale": "exponent, in two's complement, of a power of two that multiplies the products",
        "acc_in": "accumulator before the addition",
        "random": "random bits, uniformly distributed",
        "acc_out": "accumulator after the addition",
        "flags": f"status: {FLAG_BITS}",
    },
)
