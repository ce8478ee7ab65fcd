"""The fused dot product: adds the products of several lanes and an accumulator in fixed point, rounded once."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add, and_, or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import ExactAccumulator, Format, WideFormat
from golden.exact import scale_range
from golden.refusal import check_flag, check_integer
from golden.wide import IEEE, POSITIVE, wide
from hwgen.blocks.arguments import Accumulating, check_room
from hwgen.blocks.block import Block
from hwgen.blocks.mac import MAC
from hwgen.blocks.options import A_FORMAT, ACCUMULATOR, B_FORMAT, LANES, MAX_LANES, SCALE_BITS, SUM_FLAGS, TERMS, ZERO
from hwgen.blocks.words import operands, sum_lines, sum_rules
from hwgen.datapath.arithmetic import moved_left, named
from hwgen.datapath.bounded import BoundedShape, rounded_sum
from hwgen.datapath.exact import sticky_specials
from hwgen.datapath.fixed import Addend, addend, rounded
from hwgen.datapath.multiplier import Multiplier, operand_ports
from hwgen.datapath.ports import code_widths, flag_word, sum_ports
from hwgen.datapath.product import ProductShape
from hwgen.netlist.book import chapter


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
        Number of products, 1 to 32.
    accumulator, terms, scale_bits, overflow, flags
        See :class:`hwgen.Mac`; the product of each lane counts as a term.

    Members
    -------
    a, b : ``In``
        Codes of all lanes, lane 0 in the least significant bits; and ``a_select``, ``b_select`` with one bit per lane
        for pairs of formats.
    scale, acc_in, acc_out, overflow, flags
        See :class:`hwgen.Mac`. An exact zero is -0 if all addends are -0, else +0. A NaN of ``dlfloat16`` has the sign
        of the accumulator if that is NaN or infinite, else that of the first lane whose product is.
    """

    def __init__(
        self,
        a_format: Format | str,
        b_format: Format | str | None = None,
        *,
        lanes: int = 2,
        accumulator: str = "binary16",
        terms: int | None = None,
        scale_bits: int = 0,
        overflow: bool = False,
        flags: bool = False,
        zero: str = IEEE,
    ):
        self._keep(a_format, b_format, accumulator, terms, scale_bits, flags, zero)
        self.lanes = check_integer("lanes", lanes, 1, MAX_LANES)
        check_room(self.terms, self.lanes)
        self.has_overflow = check_flag("overflow", overflow)
        codes = operand_ports(self.a_format, self.b_format, self.scale_bits, self.lanes)
        width = self.accumulator_width
        super().__init__({**codes, "acc_in": In(width), "acc_out": Out(width), **sum_ports(overflow, flags)})

    def elaborate(self, _platform: object) -> Module:
        """Products, then the sum."""
        m = Module()
        layout = ProductShape.of(self.a_format, self.b_format, normalized=False, scale_bits=self.scale_bits)
        multipliers = []
        for lane in range(self.lanes):
            m.submodules[f"lane_{lane}"] = multiplier = Multiplier(layout, flags=self.has_flags)
            multipliers.append(multiplier)
            if self.scale_bits:
                m.d.comb += multiplier.scale.eq(self.scale)
            for port, width in (code_widths("a", self.a_format) | code_widths("b", self.b_format)).items():
                m.d.comb += getattr(multiplier, port).eq(getattr(self, port).word_select(lane, width))
        if self.exact is not None:
            self._exact(m, multipliers, self.exact)
            return m
        target = wide(self.accumulator)
        frame = BoundedShape(layout, self.lanes, target)
        if frame.fits:
            self._bounded(m, multipliers, frame)
        else:
            self._rounded(m, multipliers, target)
        return m

    @staticmethod
    def _addends(m: Module, multipliers: list[Multiplier], width: int, lsb_exponent: int) -> list[Addend]:
        return [
            addend(m, f"lane_{lane}", multiplier.product, multiplier.layout, width, lsb_exponent)
            for lane, multiplier in enumerate(multipliers)
        ]

    @staticmethod
    def _total(m: Module, addends: list[Addend], width: int, *start: Value) -> Signal:
        """The sum in two's complement: negative addends are inverted, and their number is added (-x = ~x + 1)."""
        units: Value = reduce(add, (term.sign for term in addends))
        magnitudes = (Cat(term.magnitude, Const(0, width - len(term.magnitude))) for term in addends)
        terms = (value ^ term.sign.replicate(width) for value, term in zip(magnitudes, addends, strict=True))
        return named(m, "total", sum((*terms, *start), units)[:width])

    def _exact(self, m: Module, multipliers: list[Multiplier], unit: ExactAccumulator) -> None:
        width = unit.value_width
        spare = self.lanes.bit_length() if self.has_overflow or self.has_flags else 0
        addends = self._addends(m, multipliers, width, unit.lsb_exponent)
        chapter(m, f"Sum: {self.lanes} products and the accumulator; total {width + spare} bits in two's complement")
        value = named(m, "value", self.acc_in[:width])
        total = self._total(m, addends, width + spare, Cat(value, value[-1].replicate(spare)))
        specials, opposite = sticky_specials(m, self.acc_in[width:], addends)
        m.d.comb += self.acc_out.eq(Cat(total[:width], specials))
        no_room = ~(total[width - 1 :].all() | ~total[width - 1 :].any())
        if self.has_overflow:
            m.d.comb += self.overflow.eq(no_room)
        if self.has_flags:
            invalid = reduce(or_, (term.is_invalid for term in addends), opposite)
            m.d.comb += self.flags.eq(flag_word(Const(0, 1), Const(0, 1), no_room, invalid))

    def _bounded(self, m: Module, multipliers: list[Multiplier], frame: BoundedShape) -> None:
        products = [multiplier.product for multiplier in multipliers]
        result = rounded_sum(m, products, frame, self.acc_in, self.zero == POSITIVE)
        m.d.comb += self.acc_out.eq(result.acc_out)
        never = Const(0, 1)  # within the frame's limits sums neither overflow nor underflow
        if self.has_overflow:
            m.d.comb += self.overflow.eq(never)
        if self.has_flags:
            chapter(m, "Flags: inexact, invalid; sums never overflow or underflow", self.flags)
            inexact, invalid = named(m, "inexact", result.inexact), named(m, "invalid", result.invalid)
            m.d.comb += self.flags.eq(flag_word(inexact, never, never, invalid))

    def _rounded(self, m: Module, multipliers: list[Multiplier], target: WideFormat) -> None:
        fa, fb = self.a_format, self.b_format
        fraction_bits, bias = target.fraction_bits, target.bias
        # Exponents of the last bit of the sum, and of the first bit of the largest addend.
        smallest_scale, largest_scale = scale_range(self.scale_bits)
        product_lsb = fa.ulp_exponent + fb.ulp_exponent + smallest_scale
        lsb = min(product_lsb, (-bias if target.flush else 1 - bias) - fraction_bits)
        largest = max(
            fa.exponent_range[1] + fb.exponent_range[1] + 2 + largest_scale, (1 << target.exponent_bits) - bias
        )
        width = largest - lsb + self.lanes.bit_length() + 1
        chapter(m, f"Fixed point of the accumulator: {largest - lsb} bits, bit 0 weighs 2^{lsb}")
        acc = self._unpacked(m, target, lsb, largest - lsb)
        addends = [acc, *self._addends(m, multipliers, largest - lsb, lsb)]
        chapter(m, f"Sum: {self.lanes} products and the accumulator; total {width} bits; its sign and magnitude")
        total = self._total(m, addends, width)
        sign = named(m, "sum_sign", total[-1])
        magnitude = named(m, "sum_magnitude", ((total[:-1] ^ sign.replicate(width - 1)) + sign)[: width - 1])
        finite, past, lost, tiny = rounded(m, magnitude, lsb, target)

        chapter(m, "Specials: overflow, infinities and NaN; the sign")
        plus_inf = named(m, "plus_inf", reduce(or_, (term.is_inf & ~term.sign for term in addends)))
        minus_inf = named(m, "minus_inf", reduce(or_, (term.is_inf & term.sign for term in addends)))
        any_nan = reduce(or_, (term.is_nan for term in addends))
        is_nan = named(m, "is_nan", any_nan | (plus_inf & minus_inf))
        is_inf = named(m, "is_inf", plus_inf | minus_inf)
        infinite = named(m, "force_special", is_nan | is_inf | past)
        zero_sign = named(m, "zero_sign", reduce(and_, (term.sign for term in addends)) & ~magnitude.any())
        assert target.canonical_nan is not None
        body = target.width - 1
        ones = Const(target.canonical_nan if target.flush else target.infinity or 0, body)
        payload = Const(0 if target.flush else target.canonical_nan & ((1 << fraction_bits) - 1), fraction_bits)
        code_out = named(m, "code_out", Mux(infinite, ones, finite) | Mux(is_nan, payload, 0))
        if target.nan_keeps_sign:  # one code for NaN and infinity, with the sign of the first addend that is either
            special_sign: Value = Const(0, 1)
            for term in reversed(addends):
                special_sign = Mux(term.is_nan | term.is_inf, term.sign, special_sign)
            sign_out = Mux(is_nan | is_inf, special_sign, sign | zero_sign)
        else:
            sign_out = ~is_nan & Mux(is_inf, minus_inf, sign | zero_sign)
        if self.zero == POSITIVE:
            sign_out = sign_out & code_out.any()
        m.d.comb += self.acc_out.eq(Cat(code_out, named(m, "sign_out", sign_out)))
        if self.has_overflow:
            m.d.comb += self.overflow.eq(past & ~(is_nan | is_inf))
        if self.has_flags:
            past = named(m, "overflow_flag", past & ~(is_nan | is_inf))
            lost = named(m, "lost", lost & ~(is_nan | is_inf))
            invalid = reduce(or_, (term.is_invalid for term in addends), plus_inf & minus_inf & ~any_nan)
            m.d.comb += self.flags.eq(flag_word(lost | past, lost & tiny & ~past, past, invalid))

    def _unpacked(self, m: Module, target: WideFormat, lsb: int, width: int) -> Addend:
        """The accumulator in fixed point."""
        k, bias, acc = target.fraction_bits, target.bias, self.acc_in
        fraction, field = named(m, "acc_fraction", acc[:k]), named(m, "acc_field", acc[k:-1])
        hidden = named(m, "acc_hidden", acc[:-1].any() if target.flush else field.any())
        special = named(m, "acc_special", acc[:-1].all() if target.flush else field.all())
        is_nan = special if target.flush else special & fraction.any()
        significand: Value = Cat(fraction, hidden)
        if not target.flush:  # a subnormal has field 0, but the exponent of field 1
            significand = Mux(hidden, significand, Cat(Const(0, 1), fraction))
        spare = max(lsb + bias + k, 0)
        finite = named(m, "acc_significand", significand & (~special).replicate(k + 1))
        moved = moved_left(m, finite, field, width + spare, "acc_")[spare:]
        magnitude = named(m, "acc_magnitude", Cat(Const(0, max(-bias - k - lsb, 0)), moved), width)
        sign = named(m, "acc_sign", acc[-1])
        return Addend(sign, magnitude, special & ~is_nan, is_nan, is_nan & ~fraction[-1])


DOT = Block(
    "dot",
    "fused dot product: one rounding of the exact acc + a_0 * b_0 + ... + a_n * b_n",
    Dot,
    (A_FORMAT, B_FORMAT),
    (replace(LANES, always=True), ACCUMULATOR, TERMS, SCALE_BITS, SUM_FLAGS, ZERO),
    codes=("a", "b"),
    title=lambda core: f"Fused dot product of {core.lanes} lanes: {operands(core)} into {core.accumulator}",
    lines=sum_lines,
    rules=sum_rules,
    meanings=MAC.meanings,
)
