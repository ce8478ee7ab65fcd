"""The fused multiply-accumulate unit: an exact product, an accumulator, one rounding."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

import golden
from golden import ACCUMULATORS, ExactAccumulator, Format
from hwgen.adder import Adder, AdderShape
from hwgen.exact import ExactAdder
from hwgen.multiplier import Multiplier, ProductShape


class Mac(wiring.Component):
    """``acc_out = round(acc_in + a * b)``, rounded once; combinational.

    Parameters
    ----------
    a_format, b_format : Format or str
        Of at most 16 bits; ``b_format`` defaults to ``a_format``.
    accumulator : str
        ``binary16``, ``bfloat16``, ``binary32``: ties to even, subnormals kept, overflow to infinity, canonical NaN;
        ``dlfloat16``: ties away from zero, flushed below its smallest value; ``exact``: see ``golden.ExactAccumulator``.
    terms : int
        Products that an ``exact`` accumulator has room for.

    Members
    -------
    a, b : ``In``
        Codes.
    acc_in : ``In``
        Bits of the accumulator.
    acc_out : ``Out``
    """

    def __init__(
        self, a_format: Format | str, b_format: Format | str | None = None, accumulator: str = "binary16", terms: int = 1024
    ):
        fa = golden.get(a_format)
        fb = fa if b_format is None else golden.get(b_format)
        for fmt in (fa, fb):
            if fmt.width > 16:
                raise ValueError(f"Operands of a MAC must have at most 16 bits, not {fmt.width} as {fmt.name}")
        if accumulator not in ACCUMULATORS:
            raise ValueError(f"Accumulator must be one of {', '.join(ACCUMULATORS)}, not {accumulator!r}")
        self.adder: Adder | ExactAdder
        if accumulator == "exact":
            self.multiplier = Multiplier(fa, fb, normalized=False)
            self.adder = ExactAdder(ExactAccumulator(fa, fb, terms), self.multiplier.layout)
        else:
            target = golden.get(accumulator)
            self.multiplier = Multiplier(fa, fb, spare_carry=AdderShape.spare_carry(target, ProductShape.of(fa, fb)))
            self.adder = Adder(target, self.multiplier.layout)
        width = len(self.adder.acc_in)
        super().__init__({"a": In(fa.width), "b": In(fb.width), "acc_in": In(width), "acc_out": Out(width)})

    def elaborate(self, _platform: object) -> Module:
        """Multiplier, then adder."""
        m = Module()
        m.submodules.multiplier = product = self.multiplier
        m.submodules.adder = adder = self.adder
        m.d.comb += [product.a.eq(self.a), product.b.eq(self.b), adder.acc_in.eq(self.acc_in), self.acc_out.eq(adder.acc_out)]
        for name in ("sign", "exponent", "significand", "is_zero", "is_inf", "is_nan"):
            m.d.comb += getattr(adder, name).eq(getattr(product, name))
        return m
