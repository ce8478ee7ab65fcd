"""The fused multiply-accumulate unit: an exact product, an accumulator, one rounding."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

import golden
from golden import ACCUMULATORS, ExactAccumulator, Format
from golden.validation import MAX_WIDTH
from hwgen.datapath.adder import Adder
from hwgen.datapath.code_ports import code_ports
from hwgen.datapath.exact import ExactAdder
from hwgen.datapath.flags import flag_port
from hwgen.datapath.frame import AdderShape
from hwgen.datapath.multiplier import Multiplier, ProductShape, scale_port


class Mac(wiring.Component):
    """``acc_out = round(acc_in + a * b * 2**scale)``, rounded once; combinational.

    Parameters
    ----------
    a_format, b_format : Format or str
        Of at most 16 bits; ``b_format`` defaults to ``a_format``.
    accumulator : str
        ``binary16``, ``bfloat16``, ``binary32``: ties to even, subnormals kept, overflow to infinity, canonical NaN;
        ``dlfloat16``: ties away from zero, flushed below its smallest value; ``exact``: see ``golden.ExactAccumulator``.
    terms : int
        Products that an ``exact`` accumulator has room for.
    overflow : bool
        Whether there is a port ``overflow``.
    scale_bits : int
        Bits of the port ``scale``, up to 10; 0 where there is none, and no scale.
    flags : bool
        Whether there is a port ``flags``.

    Members
    -------
    a, b : ``In``
        Codes; and ``a_select``, ``b_select`` where they are of two formats.
    scale : ``In(scale_bits)``
        In two's complement.
    acc_in : ``In``
        Bits of the accumulator.
    acc_out : ``Out``
    overflow : ``Out(1)``
        Whether a sum of finite operands became infinite; of an ``exact`` accumulator, whether it had no room for the sum, and wrapped.
    flags : ``Out(4)``
        A :class:`golden.Flag` word, see :func:`golden.flags.of_sum`; of an ``exact`` accumulator ``golden.ExactAccumulator.flags``.
    """

    def __init__(
        self,
        a_format: Format | str,
        b_format: Format | str | None = None,
        accumulator: str = "binary16",
        terms: int = 1024,
        overflow: bool = False,
        scale_bits: int = 0,
        flags: bool = False,
    ):
        fa, fb = operands(a_format, b_format)
        self._options = (fa, fb, accumulator)
        self._terms, self._overflow, self._scale_bits, self._flags = terms, overflow, scale_bits, flags
        if accumulator not in ACCUMULATORS:
            raise ValueError(f"Accumulator must be one of {', '.join(ACCUMULATORS)}, not {accumulator!r}")
        width = ExactAccumulator(fa, fb, terms, scale_bits).width if accumulator == "exact" else golden.get(accumulator).width
        more = ({"overflow": Out(1)} if overflow else {}) | flag_port(flags)
        codes = {**code_ports("a", fa), **code_ports("b", fb), **scale_port(scale_bits)}
        self._inputs = tuple(codes)
        super().__init__({**codes, "acc_in": In(width), "acc_out": Out(width), **more})

    def elaborate(self, _platform: object) -> Module:
        """Multiplier, then adder."""
        m = Module()
        m.submodules.multiplier = product = multiplier(*self._options, self._scale_bits, self._flags)
        m.submodules.adder = total = adder(*self._options, self._terms, self._overflow, self._scale_bits, self._flags)
        for name in self._inputs:
            m.d.comb += getattr(product, name).eq(getattr(self, name))
        m.d.comb += [total.acc_in.eq(self.acc_in), self.acc_out.eq(total.acc_out)]
        for name in ("sign", "exponent", "significand", "is_zero", "is_inf", "is_nan", *(("is_invalid",) if self._flags else ())):
            m.d.comb += getattr(total, name).eq(getattr(product, name))
        if self._overflow:
            m.d.comb += self.overflow.eq(total.overflow)
        if self._flags:
            m.d.comb += self.flags.eq(total.flags)
        return m


def multiplier(
    a_format: Format | str,
    b_format: Format | str | None = None,
    accumulator: str = "binary16",
    scale_bits: int = 0,
    tells_invalid: bool = False,
) -> Multiplier:
    """The first half of a ``Mac``: decode, exact product, exponent sum and classes, neither rounded nor normalized."""
    fa, fb = operands(a_format, b_format)
    if accumulator == "exact":
        return Multiplier(fa, fb, normalized=False, scale_bits=scale_bits, tells_invalid=tells_invalid)
    spare_carry = _product(fa, fb, accumulator, scale_bits).spare_carry
    return Multiplier(fa, fb, spare_carry=spare_carry, scale_bits=scale_bits, tells_invalid=tells_invalid)


def adder(
    a_format: Format | str,
    b_format: Format | str | None = None,
    accumulator: str = "binary16",
    terms: int = 1024,
    overflow: bool = False,
    scale_bits: int = 0,
    flags: bool = False,
) -> Adder | ExactAdder:
    """The second half of a ``Mac``: from the multiplier's outputs and the accumulator to the rounded sum."""
    fa, fb = operands(a_format, b_format)
    if accumulator == "exact":
        product = ProductShape.of(fa, fb, normalized=False, scale_bits=scale_bits)
        return ExactAdder(ExactAccumulator(fa, fb, terms, scale_bits), product, overflow, flags)
    return Adder(golden.get(accumulator), _product(fa, fb, accumulator, scale_bits), overflow, flags)


def operands(a_format: Format | str, b_format: Format | str | None) -> tuple[Format, Format]:
    """The formats of both operands, if there are multipliers for them."""
    fa = golden.get(a_format)
    fb = fa if b_format is None else golden.get(b_format)
    for fmt in (fa, fb):
        if fmt.width > MAX_WIDTH:
            raise ValueError(f"Operands of a MAC must have at most {MAX_WIDTH} bits, not {fmt.width} as {fmt.name}")
    return fa, fb


def _product(fa: Format, fb: Format, accumulator: str, scale_bits: int) -> ProductShape:
    """What the multiplier and the adder of an accumulator agree on."""
    plain = ProductShape.of(fa, fb, scale_bits=scale_bits)
    return ProductShape.of(fa, fb, spare_carry=AdderShape.spare_carry(golden.get(accumulator), plain), scale_bits=scale_bits)
