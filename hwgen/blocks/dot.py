"""The fused dot product: products of several lanes and an accumulator in one fixed-point sum, rounded once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add, and_, or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

import golden
from golden import ACCUMULATORS, Biased, ExactAccumulator, Format
from golden.exact import scale_range
from hwgen.blocks.mac import operands
from hwgen.datapath.code_ports import code_ports, code_widths
from hwgen.datapath.fixed import Rounded, aligned, moved_left
from hwgen.datapath.flags import flag_port, word
from hwgen.datapath.multiplier import Multiplier, scale_port

MAX_LANES = 16


def check_lanes(lanes: object) -> int:
    """Return a number of lanes, or raise ValueError."""
    if isinstance(lanes, bool) or not isinstance(lanes, int) or not 1 <= lanes <= MAX_LANES:
        raise ValueError(f"lanes must be an integer from 1 to {MAX_LANES}, not {lanes!r}")
    return lanes


@dataclass(frozen=True)
class _Addend:
    """A number on its way into the sum; ``value`` is its magnitude, and ``is_invalid`` says that it makes the sum so by itself."""

    sign: Value
    value: Value
    is_inf: Value
    is_nan: Value
    is_invalid: Value


class Dot(wiring.Component):
    """``acc_out = round(acc_in + 2**scale * (a_0 * b_0 + a_1 * b_1 + ...))``, rounded once; combinational.

    ::

        codes -> decode, exact product -> one fixed-point place each \\
        acc_in -------------------------> the same places ------------ sum -> sign, magnitude -> normalize -> round

    Parameters
    ----------
    a_format, b_format, accumulator, terms, overflow, scale_bits, flags
        As of :class:`hwgen.blocks.mac.Mac`; a product of each lane is a term.
    lanes : int
        1 to 16.

    Members
    -------
    a, b : ``In``
        Codes of all lanes, lane 0 in the least significant bits; and ``a_select``, ``b_select``, a bit for each lane, where they are of
        two formats.
    scale, acc_in, acc_out, overflow, flags
        As of :class:`hwgen.blocks.mac.Mac`. An exact zero is -0 if all that is added is, else +0. A NaN of ``dlfloat16`` has the
        accumulator's sign if that is one, else that of the first lane whose product is none.
    """

    def __init__(
        self,
        a_format: Format | str,
        b_format: Format | str | None = None,
        accumulator: str = "binary16",
        lanes: int = 2,
        terms: int = 1024,
        overflow: bool = False,
        scale_bits: int = 0,
        flags: bool = False,
    ):
        fa, fb = self._formats = operands(a_format, b_format)
        self.lanes, self._overflow, self._scale_bits, self._flags = check_lanes(lanes), overflow, scale_bits, flags
        if accumulator not in ACCUMULATORS:
            raise ValueError(f"Accumulator must be one of {', '.join(ACCUMULATORS)}, not {accumulator!r}")
        self._accumulator = ExactAccumulator(fa, fb, terms, scale_bits) if accumulator == "exact" else golden.get(accumulator)
        width = self._accumulator.width
        more = ({"overflow": Out(1)} if overflow else {}) | flag_port(flags)
        codes = code_ports("a", fa, lanes) | code_ports("b", fb, lanes) | scale_port(scale_bits)
        super().__init__({**codes, "acc_in": In(width), "acc_out": Out(width), **more})

    def elaborate(self, _platform: object) -> Module:
        """Products, then the sum."""
        m = Module()
        fa, fb = self._formats
        products = []
        for lane in range(self.lanes):
            product = Multiplier(fa, fb, normalized=False, scale_bits=self._scale_bits, tells_invalid=self._flags)
            m.submodules[f"lane_{lane}"] = product
            if self._scale_bits:
                m.d.comb += product.scale.eq(self.scale)
            for port, width in (code_widths("a", fa) | code_widths("b", fb)).items():
                m.d.comb += getattr(product, port).eq(getattr(self, port)[lane * width : (lane + 1) * width])
            products.append(product)
        if isinstance(self._accumulator, ExactAccumulator):
            self._exact(m, products, self._accumulator)
        else:
            self._rounded(m, products, self._accumulator)
        return m

    def _addends(self, m: Module, products: list[Multiplier], width: int, lsb_exponent: int) -> list[_Addend]:
        """The lanes' products in fixed point."""
        addends = []
        for lane, product in enumerate(products):
            magnitude = Signal(width, name=f"magnitude_{lane}")
            m.d.comb += magnitude.eq(aligned(m, product, product.layout, width, lsb_exponent))
            invalid = product.is_invalid if self._flags else Const(0, 1)
            addends.append(_Addend(product.sign, magnitude, product.is_inf & ~product.is_nan, product.is_nan, invalid))
        return addends

    @staticmethod
    def _total(m: Module, addends: list[_Addend], width: int, start: Value | None = None) -> Signal:
        """The sum in two's complement: negative addends as complements, whose missing units are counted together."""
        total: Value = reduce(add, (addend.sign for addend in addends))
        for addend in addends:
            magnitude = Cat(addend.value, Const(0, width - len(addend.value)))
            total = total + (magnitude ^ addend.sign.replicate(width))
        total = total if start is None else total + start
        found = Signal(width, name="total")
        m.d.comb += found.eq(total)
        return found

    def _exact(self, m: Module, products: list[Multiplier], unit: ExactAccumulator) -> None:
        width = unit.value_width
        wide = width + (self.lanes.bit_length() if self._overflow or self._flags else 0)
        value = Signal(width, name="value")
        flags = pos_inf, neg_inf, nan = Signal(name="pos_inf"), Signal(name="neg_inf"), Signal(name="nan")
        addends = self._addends(m, products, width, unit.lsb_exponent)
        m.d.comb += Cat(value, *flags).eq(self.acc_in)
        total = self._total(m, addends, wide, Cat(value, value[-1].replicate(wide - width)))
        pos_inf_out, neg_inf_out, nan_out = Signal(name="pos_inf_out"), Signal(name="neg_inf_out"), Signal(name="nan_out")
        m.d.comb += [
            pos_inf_out.eq(reduce(or_, (one.is_inf & ~one.sign for one in addends), pos_inf)),
            neg_inf_out.eq(reduce(or_, (one.is_inf & one.sign for one in addends), neg_inf)),
            nan_out.eq(reduce(or_, (one.is_nan for one in addends), nan) | (pos_inf_out & neg_inf_out)),
            self.acc_out.eq(Cat(total[:width], pos_inf_out, neg_inf_out, nan_out)),
        ]
        no_room = ~(total[width - 1 :].all() | ~total[width - 1 :].any())
        if self._overflow:
            m.d.comb += self.overflow.eq(no_room)
        if self._flags:
            is_nan = reduce(or_, (one.is_nan for one in addends), nan)
            invalid = reduce(or_, (one.is_invalid for one in addends), pos_inf_out & neg_inf_out & ~is_nan)
            m.d.comb += self.flags.eq(word(Const(0, 1), Const(0, 1), no_room, invalid))

    def _rounded(self, m: Module, products: list[Multiplier], target: Format) -> None:
        fa, fb = self._formats
        normal = target.rows[-1]
        assert isinstance(normal.exponent, Biased)
        fraction_bits, bias = normal.fraction_bits, normal.exponent.bias
        # Exponents of the last bits, and of the first bits of the largest numbers.
        smallest_scale, largest_scale = scale_range(self._scale_bits)
        product_lsb = fa.ulp_exponent + fb.ulp_exponent + smallest_scale
        lsb = min(product_lsb, (-bias if target.flush else 1 - bias) - fraction_bits)
        largest = max(fa.exponent_range[1] + fb.exponent_range[1] + 2 + largest_scale, (1 << normal.exponent.bits) - bias)
        magnitude_bits = largest - lsb
        width = magnitude_bits + self.lanes.bit_length() + 1
        acc = self._unpacked(m, target, lsb, magnitude_bits)
        addends = [acc, *self._addends(m, products, magnitude_bits, lsb)]
        total = self._total(m, addends, width)
        sign, magnitude = Signal(name="sum_sign"), Signal(width - 1, name="sum_magnitude")
        m.d.comb += [sign.eq(total[-1]), magnitude.eq((total[:-1] ^ sign.replicate(width - 1)) + sign)]
        rounded = Rounded(m, magnitude, lsb, target)

        is_nan, is_inf = Signal(name="is_nan"), Signal(name="is_inf")
        minus_inf = Signal(name="minus_inf")
        plus_inf = Signal(name="plus_inf")
        infinite, zero_sign = Signal(name="infinite"), Signal(name="zero_sign")
        m.d.comb += [
            plus_inf.eq(reduce(or_, (one.is_inf & ~one.sign for one in addends))),
            minus_inf.eq(reduce(or_, (one.is_inf & one.sign for one in addends))),
            is_nan.eq(reduce(or_, (one.is_nan for one in addends)) | (plus_inf & minus_inf)),
            is_inf.eq(plus_inf | minus_inf),
            infinite.eq(is_nan | is_inf | rounded.overflow),
            zero_sign.eq(reduce(and_, (one.sign for one in addends)) & ~magnitude.any()),
        ]
        assert target.canonical_nan is not None
        body = target.width - 1
        ones = Const(target.canonical_nan if target.flush else target.infinity or 0, body)
        payload = Const(0 if target.flush else target.canonical_nan & ((1 << fraction_bits) - 1), fraction_bits)
        code_out = Signal(body, name="code_out")
        sign_out = Signal(name="sign_out")
        finite = Cat(rounded.fraction, rounded.field)
        m.d.comb += code_out.eq(Mux(infinite, ones, finite) | Mux(is_nan, payload, 0))
        if target.nan_keeps_sign:  # one code for NaN and infinity: the sign of what brought it in
            special_sign: Value = Const(0, 1)
            for one in reversed(addends):
                special_sign = Mux(one.is_nan | one.is_inf, one.sign, special_sign)
            m.d.comb += sign_out.eq(Mux(is_nan | is_inf, special_sign, sign | zero_sign))
        else:
            m.d.comb += sign_out.eq(~is_nan & Mux(is_inf, minus_inf, sign | zero_sign))
        m.d.comb += self.acc_out.eq(Cat(code_out, sign_out))
        if self._overflow:
            m.d.comb += self.overflow.eq(rounded.overflow & ~(is_nan | is_inf))
        if self._flags:
            past, lost = Signal(name="overflow_flag"), Signal(name="lost")
            opposite = plus_inf & minus_inf & ~reduce(or_, (one.is_nan for one in addends))
            m.d.comb += [
                past.eq(rounded.overflow & ~(is_nan | is_inf)),
                lost.eq(rounded.lost & ~(is_nan | is_inf)),
                self.flags.eq(
                    word(lost | past, lost & rounded.tiny & ~past, past, reduce(or_, (one.is_invalid for one in addends), opposite))
                ),
            ]

    def _unpacked(self, m: Module, target: Format, lsb: int, width: int) -> _Addend:
        """The accumulator in fixed point."""
        normal = target.rows[-1]
        assert isinstance(normal.exponent, Biased)
        fraction_bits, exponent_bits, bias = normal.fraction_bits, normal.exponent.bits, normal.exponent.bias
        fraction, field, sign = Signal(fraction_bits, name="acc_fraction"), Signal(exponent_bits, name="acc_field"), Signal(name="acc_sign")
        hidden, special = Signal(name="acc_hidden"), Signal(name="acc_special")
        m.d.comb += Cat(fraction, field, sign).eq(self.acc_in)
        significand: Value = Cat(fraction, hidden)
        if target.flush:
            m.d.comb += [hidden.eq(self.acc_in[:-1].any()), special.eq(self.acc_in[:-1].all())]
            is_nan: Value = special
        else:  # subnormals have field 0 but the places of field 1
            m.d.comb += [hidden.eq(field.any()), special.eq(field.all())]
            is_nan = special & fraction.any()
            significand = Mux(hidden, significand, Cat(Const(0, 1), fraction))
        spare = max(lsb - (-bias - fraction_bits), 0)
        finite = significand & (~special).replicate(fraction_bits + 1)
        moved = moved_left(m, finite, field, width + spare)[spare:]
        magnitude = Signal(width, name="acc_magnitude")
        m.d.comb += magnitude.eq(Cat(Const(0, max(-bias - fraction_bits - lsb, 0)), moved))
        return _Addend(sign, magnitude, special & ~is_nan, is_nan, is_nan & ~fraction[-1])
