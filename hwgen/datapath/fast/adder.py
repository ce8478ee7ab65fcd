"""The two-path adder of a fused MAC: an accumulator plus an exact product, rounded once.

:mod:`hwgen.datapath.adder` shifts, adds, shifts again and rounds, one after the other. But a sum needs either a long
shift in front of the addition, or a long one behind it, never both:

* In the *far* path the operands are aligned by any distance. Then the sum moves by at most one place.
* In the *close* path they are subtracted, and their exponents differ by at most 1. Then the sum moves by any distance,
  and it is exact (or needs no more than the few bits of a product that is longer than the accumulator).

Both are computed; one counts. Within the paths, nothing waits that can be computed early:

* The exponents' difference needs no negation and no constant, and its low bits, which come first, shift first.
* In the close path the adder delivers the sum and the sum plus 1 at the same time, and the complement only chooses; in
  the far path rounding is a carry that enters all places at once.
* The exponents of all results that can come out are there before the sum is, and special values are in them.
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import PureInterface

from golden import WideFormat
from golden.wide import IEEE
from hwgen.datapath.adder_shape import TwoPathShape
from hwgen.datapath.arithmetic import named
from hwgen.datapath.fast import close, far
from hwgen.datapath.fast.far import FarResult
from hwgen.datapath.fast.product import Difference, FastProduct, difference, taken
from hwgen.datapath.product import NumberShape
from hwgen.datapath.sums import Accumulator, Sum, unpacked
from hwgen.netlist.book import chapter


@dataclass(frozen=True)
class _Specials:
    """Whether the result is NaN, or special whatever the sum, and the sign that it then has."""

    nan: Value
    either: Value
    product: Value
    sign: Value


@dataclass(frozen=True)
class _Candidate:
    """A result's field if its first 1 is in a certain place; bits to clear and bits to set in its fraction."""

    field: Value
    clears: Value
    sets: Value

    def fraction(self, bits: Value) -> Value:
        """The fraction of the result from that of the sum."""
        return (bits & (~self.clears).replicate(len(bits))) | self.sets.replicate(len(bits))


class TwoPathAdder:
    """The hardware of ``round(acc_in + product)``; parameters as of :class:`hwgen.datapath.adder.FloatAdder`."""

    def __init__(self, accumulator: WideFormat, product: NumberShape, *, flags: bool = False, zero: str = IEEE):
        self.accumulator, self.shape = accumulator, TwoPathShape(accumulator, product)
        self.has_flags, self.zero = flags, zero

    def add(self, m: Module, product: FastProduct | PureInterface, acc_in: Value) -> Sum:
        """Add the hardware to a module; its stages in order."""
        shape, fmt = self.shape, self.accumulator
        if not isinstance(product, FastProduct):
            product = taken(m, shape.product, product, flags=self.has_flags)
        acc = unpacked(m, fmt, acc_in)
        subtract = named(m, "subtract", product.sign ^ acc.sign)
        specials = self._specials(m, product, acc, subtract)
        distance = difference(m, shape, product, acc)
        leads = distance.product_leads
        candidates = self._candidates(m, distance, specials, subtract)
        operands = far.aligned(m, shape, product, acc, distance, subtract)
        total = far.add(m, shape, operands, acc, distance, subtract, specials.product)
        may_lack_one = named(m, "may_lack_one", ~subtract & ~leads & ~acc.hidden & ~specials.product)
        far_sign = Mux(leads | total.product_exceeds, product.sign, acc.sign & ~total.is_zero)
        far_sign = named(m, "far_sign", far_sign)
        far_result = self._far(m, total, candidates, may_lack_one)
        close_total = close.subtract(m, shape, product, acc, distance)
        close_sign = Mux(close_total.acc_wins, acc.sign & ~close_total.is_zero, product.sign)
        close_sign = named(m, "close_sign", close_sign)
        is_close = named(m, "is_close", subtract & ~product.is_zero & ~specials.either & close_total.counts)
        close_result = close_total.fraction, close_total.field
        paths, signs = (far_result, close_result), (far_sign, close_sign)
        bits, is_special = self._select(m, paths, signs, is_close, specials)
        overflow = is_special & ~specials.either
        if not self.has_flags:
            return Sum(bits, overflow)
        chapter(m, "Flags: inexact, underflow, overflow, invalid")
        overflow = named(m, "overflow_flag", overflow)
        low, high, _ = candidates
        both_zero = product.is_zero & ~acc.hidden
        far_differs, far_is_tiny = total.status(m, fmt, (low.field, high.field), low.clears, both_zero)
        close_differs, close_is_tiny = close_total.status(m, fmt)
        finite = named(m, "is_finite", ~specials.either)
        lost = named(m, "lost", Mux(is_close, close_differs, far_differs) & finite)
        tiny = named(m, "is_tiny", Mux(is_close, close_is_tiny, far_is_tiny))
        opposite = acc.is_special & ~acc.is_nan & product.is_inf & ~product.is_nan & subtract
        invalid = product.is_invalid | named(m, "opposite_infinities", opposite) | acc.is_signaling
        return Sum(bits, overflow, lost | overflow, lost & tiny & ~overflow, invalid)

    def _specials(self, m: Module, product: FastProduct, acc: Accumulator, subtract: Value) -> _Specials:
        """Infinities and NaN."""
        chapter(m, "Specials: infinities and NaN; the sign that they have")
        special = named(m, "product_special", product.is_inf | product.is_nan)
        either = named(m, "either_special", acc.is_special | special)
        sign = named(m, "special_sign", Mux(acc.is_special, acc.sign, product.sign))
        if not self.accumulator.has_subnormals:
            return _Specials(Const(0, 1), either, special, sign)
        nan = named(m, "nan", product.is_nan | acc.is_nan | (acc.is_special & product.is_inf & subtract))
        return _Specials(nan, either, special, sign & ~nan)

    def _candidates(
        self, m: Module, distance: Difference, specials: _Specials, subtract: Value
    ) -> tuple[_Candidate, _Candidate, _Candidate]:
        """Fields of a low and of a high result of the far path, and of the power of two above a high difference.

        Special values, overflow and underflow are in them.
        """
        chapter(m, f"Far exponents: low_field and high_field {self.accumulator.exponent_bits} bits, of either result")
        exponent, forced = distance.exponent, named(m, "forced_special", specials.either | distance.too_large)
        low = named(m, "low_exponent", (exponent - subtract)[: len(exponent)])
        high = named(m, "high_exponent", (exponent + ~subtract)[: len(exponent)])
        above = (exponent + 1)[: len(exponent)]
        if self.accumulator.has_subnormals:
            past = exponent.all()  # 1 more would wrap
            return (
                self._infinite(m, "low", low, forced),
                self._infinite(m, "high", high, forced | (past & ~subtract)),
                self._infinite(m, "above_high", above, forced | past),
            )
        below = named(m, "low_is_flushed", subtract & ~exponent.any() & ~forced)
        return (
            self._flushed(m, "low", low, forced, below),
            self._flushed(m, "high", high, forced, Const(0, 1)),
            self._flushed(m, "above_high", above, forced, Const(0, 1)),
        )

    def _infinite(self, m: Module, name: str, exponent: Value, forced: Value) -> _Candidate:
        """A field that is infinity's where it is ``forced`` to be, or where the exponent is that."""
        field = named(m, f"{name}_field", exponent | forced.replicate(len(exponent)))
        return _Candidate(field, named(m, f"{name}_is_infinite", field.all()), Const(0, 1))

    def _flushed(self, m: Module, name: str, exponent: Value, forced: Value, below: Value) -> _Candidate:
        """A field if sums are flushed: zero's if it is ``below`` 0, the special one's if it is too large."""
        bits = self.accumulator.exponent_bits
        special = named(m, f"{name}_is_special", forced | (exponent[bits] & ~below))
        field = (exponent[:bits] & (~below).replicate(bits)) | special.replicate(bits)
        return _Candidate(named(m, f"{name}_field", field), below, special)

    def _far(
        self, m: Module, total: FarResult, candidates: tuple[_Candidate, _Candidate, _Candidate], may_lack_one: Value
    ) -> tuple[Value, Value]:
        """Fraction and field of the far path's result.

        ``may_lack_one`` says that an accumulator without hidden bit leads in an addition.
        """
        fmt, (low, high, above) = self.accumulator, candidates
        k, bits, exceeds = fmt.fraction_bits, fmt.exponent_bits, total.product_exceeds
        chapter(m, f"Far result: far_fraction {k} bits, far_field {bits} bits")
        first = named(m, "first_place", total.has_first & ~exceeds)
        fraction = Mux(total.is_high, high.fraction(total.high[:k]), low.fraction(total.low[:k]))
        low_field = low.field
        if fmt.has_subnormals:
            fraction = Mux(exceeds, total.exceeding, fraction)
            low_field = Cat(low_field[0] & (~may_lack_one | total.low_has_one), low_field[1:])
        else:
            flushed = exceeds | (may_lack_one & ~total.low_has_one & ~first)
            flushed = named(m, "far_is_flushed", flushed)
            special = named(m, "low_becomes_special", ~total.is_high & total.has_first & high.sets)
            fraction = (fraction & (~flushed).replicate(k)) | special.replicate(k)
            low_field = low_field & (~flushed).replicate(bits)
        field = Mux(first, high.field, low_field)
        if self.shape.frame_bits > self.shape.precision:
            is_above = named(m, "is_above_high", total.is_high & total.high_is_carried & ~exceeds)
            fraction, field = Mux(is_above, above.sets.replicate(k), fraction), Mux(is_above, above.field, field)
        return named(m, "far_fraction", fraction), named(m, "far_field", field)

    def _select(
        self,
        m: Module,
        paths: tuple[tuple[Value, Value], tuple[Value, Value]],
        signs: tuple[Value, Value],
        is_close: Value,
        specials: _Specials,
    ) -> tuple[Value, Value]:
        """The accumulator's bits from (fraction, field) of the far and of the close path, and whether it is special."""
        fmt = self.accumulator
        k, bits = fmt.fraction_bits, fmt.exponent_bits
        (far_fraction, far_field), (close_fraction, close_field) = paths
        chapter(m, f"Select: fraction_out {k} bits and field_out {bits} bits of one path; the sign")
        fraction = Mux(is_close, close_fraction, far_fraction)
        if fmt.has_subnormals:
            assert fmt.canonical_nan is not None
            fraction |= Mux(specials.nan, fmt.canonical_nan & ((1 << k) - 1), 0)
        fraction = named(m, "fraction_out", fraction)
        field = named(m, "field_out", Mux(is_close, close_field, far_field))
        body = Cat(fraction, field)
        far_sign, close_sign = signs
        sign = Mux(specials.either, specials.sign, Mux(is_close, close_sign, far_sign))
        if self.zero != IEEE:
            sign &= body.any()
        return Cat(body, named(m, "sign_out", sign)), field.all() if fmt.has_subnormals else body.all()
