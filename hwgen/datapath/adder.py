"""The adder of a fused MAC: an accumulator plus an exact product, rounded once.

The accumulator's significand and the product are aligned in a frame of ``frame_bits`` bits, guard bits, two unless the
sum is rounded by random bits, and a sticky bit. Four decisions keep the datapath small:

* The product is normalized first (its msb is a carry into the exponent). Then these guard bits are enough for every
  alignment.
* The operand with the larger *exponent* leads; significands are not compared. The other one moves right by the
  exponent difference d, or, if d is negative, by one place (a wire) and then by ~d = -d - 1.
* Subtraction is in one's complement. Without a carry-out the trailing operand was the larger one, and the complement of
  the sum is the exact difference. With a carry-out, a unit in an infinitely distant last place is missing: ones move in
  from the right when the sum is normalized, and the rounding decision includes the missing unit. The only increment is
  the rounding one; nothing is negated.
* The frame has a carry bit on top. So the frame's exponent is the number of places that a sum may move left before it
  becomes subnormal, and fraction and exponent are packed with one addition.
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import PureInterface

from golden import WideFormat
from golden.wide import IEEE
from hwgen.datapath.adder_shape import AdderShape
from hwgen.datapath.arithmetic import addend, carry_out, extended, moved_right, named, plus, range_shape
from hwgen.datapath.normalize import normalized
from hwgen.datapath.product import NumberShape
from hwgen.datapath.sums import Accumulator, Sum, unpacked
from hwgen.netlist.book import chapter


@dataclass(frozen=True)
class _Aligned:
    """The operands in one frame.

    ``sticky`` is the OR of the bits that the trailing operand lost on the right. ``product_too_large`` is 1 if no
    accumulator makes the sum finite.
    """

    acc_leads: Value
    exponent: Value
    leading: Value
    trailing: Value
    sticky: Value
    product_too_large: Value


@dataclass(frozen=True)
class _Sum:
    """The magnitude of the sum, from which a unit in an infinitely distant last place may be missing, and its sign."""

    magnitude: Value
    unit_missing: Value
    subtract: Value
    product_is_larger: Value
    plus_zero: Value


class FloatAdder:
    """The hardware of ``round(acc_in + product)``, with ``flags`` as in :func:`golden.flags.of_sum`.

    The product is one of normalized operands, or another number with a leading 1. ``zero`` is the sign of a zero
    result, one of :data:`golden.wide.ZEROS`. The sum is rounded to the nearest number, ``to_odd``, or stochastically by
    a ``random`` word.
    """

    def __init__(
        self,
        accumulator: WideFormat,
        product: NumberShape,
        *,
        flags: bool = False,
        zero: str = IEEE,
        to_odd: bool = False,
        random: Value | None = None,
    ):
        self.accumulator, self.has_flags = accumulator, flags
        self.layout = AdderShape(accumulator, product, 0 if random is None else len(random))
        self.zero, self.to_odd, self.random = zero, to_odd, random

    def add(self, m: Module, product: PureInterface, acc_in: Value) -> Sum:
        """Add the hardware to a module; its stages in order."""
        acc = unpacked(m, self.accumulator, acc_in)
        aligned = self._align(m, product, acc)
        total = self._add(m, product, acc, aligned)
        significand, exponent = self._normalize(m, total, aligned)
        packed, overflow, inexact = self._round(m, total, aligned, significand, exponent)
        bits, is_special, flushed = self._pack(m, product, acc, total, packed, overflow, significand[-1])
        finite = named(m, "is_finite", ~(acc.is_special | product.is_inf | product.is_nan))
        overflow = is_special & finite
        if not self.has_flags:
            return Sum(bits, overflow)
        chapter(m, "Flags: inexact, underflow, overflow, invalid")
        overflow = named(m, "overflow_flag", overflow)
        lost = named(m, "lost", (inexact | flushed) & finite)
        opposite = acc.is_special & ~acc.is_nan & product.is_inf & ~product.is_nan & total.subtract
        opposite = named(m, "opposite_infinities", opposite)
        invalid = product.is_invalid | opposite | acc.is_signaling
        tiny = self._is_tiny(significand, exponent)
        return Sum(bits, overflow, lost | overflow, lost & tiny & ~overflow, invalid)

    def _normalize_product(self, m: Module, product: PureInterface) -> tuple[Value, Value, Value]:
        """Normalize the product.

        Returns the exponent with the accumulator's bias, the significand in [1, 2), and whether it was in [2, 4).
        """
        w, significand, at_least_two = self.layout, product.significand, Const(0, 1)
        if w.product.integer_bits == 2:
            at_least_two = named(m, "at_least_two", significand[-1])
            significand = Mux(at_least_two, significand, significand << 1)[:-1]
        shape, odd = range_shape(*w.product_exponents), w.offset % 2
        exponent = extended(product.exponent, shape.width)
        # With an odd offset: exponent + at_least_two = exponent + 1 - (not at_least_two)
        exponent = (exponent - ~at_least_two if odd else exponent + at_least_two)[: shape.width]
        exponent = named(m, "product_exponent_before_offset", exponent) if w.offset + odd else exponent
        name, added = "normalized_product_exponent", w.offset + odd
        note = f"product_exponent_before_offset {addend(added)}" if added else ""
        exponent = named(m, name, plus(m, name, exponent, added), shape, note=note)
        return exponent, named(m, "normalized_product_significand", significand), at_least_two

    def _align(self, m: Module, product: PureInterface, acc: Accumulator) -> _Aligned:
        """The operand with the larger exponent leads; the other one moves right.

        ::

            leading   | 1.xxxxxxxxxxx |
            trailing  | 1.xxxx ...... | guard | round |   before the shift by d >= 0
                      | 0 1.xxxx .... | guard | round |   before the shift by ~d, if d < 0: -d = ~d + 1
                      | 0 0 0 1.xxxx  | guard | round |   after it; sticky is the OR of the bits lost on the right
        """
        w = self.layout
        low, high = w.difference
        width = range_shape(min(low, -1), high).width
        chapter(m, f"Exponent difference: product, normalized to [1, 2), minus accumulator; difference {width} bits")
        product_exponent, product_significand, at_least_two = self._normalize_product(m, product)
        # exponent + at_least_two - acc_exponent + offset (- 1), where -x = ~x + 1; at_least_two enters as a carry-in
        not_acc = named(m, "not_acc_exponent", ~acc.exponent)
        minus_acc = extended(Cat(not_acc, Const(1, 1)).as_signed(), width)
        constant = w.offset + int(w.ties_lead)
        minus_acc = plus(m, "offset_minus_acc_exponent", minus_acc, constant)
        note = f"-acc_exponent {addend(constant - 1)}"
        minus_acc = named(m, "offset_minus_acc_exponent", minus_acc, note=note)
        exponent = extended(product.exponent, width)
        difference = (Cat(at_least_two, exponent) + Cat(at_least_two, minus_acc))[1 : width + 1]
        difference = named(m, "difference", difference)
        product_is_lower = named(m, "product_is_lower", difference[-1])
        acc_leads = named(m, "acc_leads", product_is_lower | product.is_zero)

        places = w.frame_bits + w.guard_bits
        widths = f"{w.frame_bits} bits and {w.guard_bits} guard bits"
        chapter(m, f"Align: the operand with the smaller exponent is shifted right; {widths}")
        acc_frame = Cat(Const(0, w.frame_bits - len(acc.significand)), acc.significand)
        product_frame = Cat(Const(0, w.frame_bits - len(product_significand)), product_significand)
        leading = named(m, "leading", Mux(acc_leads, acc_frame, product_frame))
        straight, one_lower = Const(0, w.guard_bits), Const(0, w.guard_bits - 1)
        acc_trailing = Cat(straight if w.ties_lead else one_lower, acc_frame)
        product_trailing = Cat(one_lower if w.ties_lead else straight, product_frame)
        product_trails = named(m, "product_trails", product_is_lower & ~product.is_zero)
        acc_trailing &= (~acc_leads).replicate(places)
        trailing = named(m, "trailing", acc_trailing | (product_trailing & product_trails.replicate(places)))

        magnitude = named(m, "difference_or_complement", difference[:-1] ^ product_is_lower.replicate(width - 1))
        too_far = named(m, "too_far", magnitude[w.shift_bits :].any())
        distance = named(m, "distance", magnitude[: w.shift_bits] | too_far.replicate(w.shift_bits))
        aligned, lost = moved_right(m, trailing, distance)
        exponent = Mux(acc_leads, acc.exponent, product_exponent)
        exponent = named(m, "leading_exponent", exponent, w.highest_exponent.bit_length())
        (low, high), limit = w.product_exponents, w.highest_exponent
        field = product_exponent[:-1] if low < 0 else product_exponent  # if the product leads, it is not negative
        too_large = named(m, "product_too_large", ~acc_leads & (field > limit if high > limit else Const(0, 1)))
        return _Aligned(acc_leads, exponent, leading, aligned, named(m, "sticky", lost), too_large)

    def _add(self, m: Module, product: PureInterface, acc: Accumulator, aligned: _Aligned) -> _Sum:
        """Leading plus or minus trailing operand, in one's complement.

        ::

            | carry | frame_bits ... | guard | round |
        """
        chapter(m, f"Add: total {self.layout.frame_bits + 1} bits with carry; subtraction adds the one's complement")
        guard_bits = self.layout.guard_bits
        tail, addend = aligned.trailing[:guard_bits], aligned.trailing[guard_bits:]
        subtract = named(m, "subtract", product.sign ^ acc.sign)
        total = named(m, "total", aligned.leading + (addend ^ subtract.replicate(len(addend))))
        carry_out = named(m, "carry_out", total[-1])
        trailing_is_larger = named(m, "trailing_not_smaller", subtract & ~carry_out)
        unit_missing = named(m, "unit_missing", subtract & carry_out)
        tail = tail ^ unit_missing.replicate(guard_bits)
        frame = total[:-1] ^ trailing_is_larger.replicate(len(addend))
        magnitude = named(m, "sum", Cat(tail, frame, carry_out & ~subtract))
        product_is_larger = named(m, "product_sign_wins", aligned.acc_leads ^ carry_out)  # if the signs differ
        sum_is_zero = named(m, "no_ones_in_sum", ~(magnitude.any() | aligned.sticky))
        plus_zero = named(m, "plus_zero", sum_is_zero & trailing_is_larger)
        return _Sum(magnitude, unit_missing, subtract, product_is_larger, plus_zero)

    def _normalize(self, m: Module, total: _Sum, aligned: _Aligned) -> tuple[Value, Value]:
        """Move the sum left until the carry place is 1, but by no more places than its exponent allows.

        Returns the significand, and the exponent: the field minus 1, but 0 if the carry place is 0. That is the case
        for zero and subnormal sums, whose field is 0. Formats without subnormals have no such limit unless a random
        word decides about the numbers below their smallest one, which then has the field 0.
        """
        width = len(total.magnitude)
        chapter(m, f"Normalize: {width} bits, shifted left to the first 1 as far as the exponent allows")
        subnormals, bits = self.accumulator.has_subnormals, len(aligned.exponent)
        room = aligned.exponent if subnormals else None
        if not subnormals and self.random is not None:
            room = named(m, "places_to_field_0", (aligned.exponent + 1)[: bits + 1])
        significand, moves = normalized(m, total.magnitude, fill=total.unit_missing, room=room)
        rest = aligned.exponent - named(m, "places", moves)  # negative only if sums are flushed
        rest = Cat(rest[:bits], Const(0, 1)) if subnormals else Cat(rest[: bits + 1], rest[-1])
        return significand, named(m, "exponent_less_1", rest & significand[-1].replicate(len(rest)))

    def _round(
        self, m: Module, total: _Sum, aligned: _Aligned, significand: Value, exponent: Value
    ) -> tuple[Value, Value, Value]:
        """Pack exponent and significand, and round them in one addition.

        ::

            | 1.fraction_bits ... | half | below ... |   sticky

        Returns exponent and fraction side by side, whether infinity must replace them, and whether they differ from the
        sum.
        """
        fmt = self.accumulator
        tail_bits = len(significand) - (fmt.fraction_bits + 1)
        how = "to odd" if self.to_odd else "to nearest, ties away" if fmt.flush else "to nearest, ties to even"
        how = how if self.random is None else "stochastically"
        chapter(m, f"Round: {len(significand)} bits to {fmt.fraction_bits + 1}, {how}")
        kept, half, rest = significand[tail_bits:], significand[tail_bits - 1], significand[: tail_bits - 1]
        missing = total.unit_missing
        below = named(m, "below", (rest ^ missing.replicate(tail_bits - 1)).any() | aligned.sticky)
        # If no unit is missing, half decides, and odd in a tie. If one is missing, the tail is a complement: half still
        # decides if below is 1; if it is 0, half = 1 stands for a whole unit, and half = 0 for a tie. The majority of
        # half, odd and missing covers both.
        odd = Const(1, 1) if fmt.flush else kept[0]  # ties away from zero, or to even
        at_tie = named(m, "round_up_at_tie", (half & missing) | (odd & (half | missing)))
        inexact = below | (half ^ missing)
        if self.random is not None:
            up, inexact = self._stochastic(m, significand, exponent, missing, aligned.sticky, inexact)
        else:
            up = ~inexact & half if self.to_odd else Mux(below, half, at_tie)
        up = named(m, "round_up", up)
        packed = Cat(kept[:-1], exponent) + Cat(up, Const(0, fmt.fraction_bits - 1), kept[-1])
        if self.random is not None and fmt.flush:
            packed = Mux(kept[-1], packed, up)
        if self.to_odd:
            packed = Cat(packed[0] | inexact, packed[1:])
        packed = named(m, "rounded", packed[: fmt.fraction_bits + len(exponent)])
        # A carry into the exponent of infinities leaves the fraction 0, which is infinity already. If sums are flushed,
        # the only special value has a fraction of ones, which a carry clears.
        past_field = packed[fmt.fraction_bits + fmt.exponent_bits : -1].any()
        infinite = exponent[1:-1].all() if fmt.has_subnormals else ~packed[-1] & past_field
        return (
            packed,
            named(m, "too_large_before_rounding", aligned.product_too_large | infinite),
            inexact,
        )

    def _stochastic(
        self, m: Module, significand: Value, exponent: Value, missing: Value, sticky: Value, inexact: Value
    ) -> tuple[Value, Value]:
        """Whether the random word rounds a sum up, and whether the sum is no number of the format.

        The word is added to as many bits of the tail. A missing unit reaches these bits if only ones, which moved in
        with it, are below them. Below the smallest number of a format without subnormals, the whole fixed-point number
        is compared with 2**R - random of the 2**R parts of that number.
        """
        assert self.random is not None
        fmt, count = self.accumulator, len(self.random)
        first = len(significand) - (fmt.fraction_bits + 1)
        low, tail = significand[: first - count], significand[first - count : first]
        unit = named(m, "unit_reaches_tail", missing & low.all() & ~sticky)
        up = carry_out(m, tail, self.random, unit)
        if not fmt.flush:
            return up, inexact
        # Without subnormals, the code 1 of the smallest number is that of a 1 with a fraction of 1.
        smallest = (1 << fmt.fraction_bits) + 1
        is_lowest = exponent.all() & ~significand[first:-1].any()
        in_gap = named(m, "below_smallest", ~significand[-1] | is_lowest)
        position = named(m, "gap_position", significand[first - count :] + unit)
        steps = named(m, "gap_steps", (1 << count) - self.random, count + 1)
        needed = named(m, "gap_threshold", steps * smallest, count + fmt.fraction_bits + 1)
        some = named(m, "gap_some", significand.any() | missing | sticky)
        return Mux(in_gap, position >= needed, up), Mux(in_gap, some & (position != smallest << count), inexact)

    def _pack(
        self,
        m: Module,
        product: PureInterface,
        acc: Accumulator,
        total: _Sum,
        packed: Value,
        overflow: Value,
        leading_one: Value,
    ) -> tuple[Value, Value, Value]:
        """Replace the rounded sum by special values where necessary, and add the sign.

        Returns the result, whether it is special, and whether it is a zero in place of another number.
        """
        fmt = self.accumulator
        k, exponent_bits, canonical_nan = fmt.fraction_bits, fmt.exponent_bits, fmt.canonical_nan
        chapter(m, "Specials: overflow, infinities and NaN; the sign")
        infinite = named(m, "force_special", overflow | acc.is_special | product.is_inf | product.is_nan)
        if fmt.has_subnormals:
            assert canonical_nan is not None
            nan = named(m, "nan", product.is_nan | acc.is_nan | (acc.is_special & product.is_inf & total.subtract))
            payload = named(m, "nan_fraction", Mux(nan, canonical_nan & ((1 << k) - 1), 0))
            fraction = named(m, "fraction_out", (packed[:k] & (~infinite).replicate(k)) | payload)
            field = named(m, "exponent_out", packed[k : k + exponent_bits] | infinite.replicate(exponent_bits))
            product_sign = ~acc.is_special & (product.is_inf | total.product_is_larger)
            sign = named(m, "sum_sign", Mux(product_sign, product.sign, acc.sign))
            plus_zero = self._plus_zero(total.plus_zero & ~infinite, Cat(fraction, field))
            sign &= ~(nan | plus_zero)
            return Cat(fraction, field, named(m, "sign_out", sign)), field.all(), Const(0, 1)
        underflow = named(m, "underflow", packed[-1] if self.random is not None else packed[-1] | ~leading_one)
        kept = packed[: k + exponent_bits] & (~underflow).replicate(k + exponent_bits)
        body = named(m, "body", kept | infinite.replicate(len(kept)))
        special = acc.is_special | product.is_inf | product.is_nan
        product_sign = ~acc.is_special & (product.is_inf | product.is_nan | total.product_is_larger)
        sign = named(m, "sum_sign", Mux(product_sign, product.sign, acc.sign))
        sign &= ~self._plus_zero(total.plus_zero & ~special, body)
        # A carry can also lead to the one special value of such a format.
        return Cat(body, named(m, "sign_out", sign)), body.all(), leading_one & ~kept.any()

    def _plus_zero(self, exact: Value, body: Value) -> Value:
        """Whether the result is +0 for certain: where ``exact`` is 1, and with ``positive`` wherever it is zero."""
        return exact if self.zero == IEEE else ~body.any()

    def _is_tiny(self, significand: Value, exponent: Value) -> Value:
        """Whether the sum is below the smallest normal number."""
        if self.accumulator.has_subnormals:
            return ~significand[-1]
        fraction = significand[-self.accumulator.fraction_bits - 1 : -1]  # field 0 with fraction 0 is zero
        return ~significand[-1] | (exponent[-1] & ~(exponent.all() & fraction.any()))
