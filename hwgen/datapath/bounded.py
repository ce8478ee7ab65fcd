"""Products and an accumulator in a frame of fixed point, rounded once; the frame is bounded or spanning.

A bounded frame has few bits, as at most one addend can be far away. The sum S of all products is exact. The accumulator
C is added where it overlaps S. If its last bit lies below that of S, then S is raised in the frame, so that the frame
has what is below it; the rest of C is a sticky bit. If C is so large that it swallows S, or if S is 0, C is the result.
The frame has as many bits as S, and a few more than the target's significand, whatever the target's range.

A spanning frame holds products and an accumulator of a short range. The accumulator's magnitude is always added: if it
is negative, the signs of all products are inverted. The total is normalized in two's complement, by no more places than
a subnormal result leaves, so that a first bit of 0 is that of a subnormal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from amaranth.hdl import Cat, Const, Module, Mux, Value

from golden import WideFormat
from hwgen.datapath.arithmetic import extended, named, reaches
from hwgen.datapath.compress import PRODUCTS, prefix_sum, sum_by_prefix
from hwgen.datapath.fast.prefix import Places
from hwgen.datapath.goal import FPGA, SPEED
from hwgen.datapath.multiplier import Lane
from hwgen.datapath.normalize import Normalized, RoundedTotal, anticipated, rounded_total
from hwgen.datapath.product import Scale
from hwgen.datapath.rows import SumShape, chained, moved_up, sum_of_products
from hwgen.datapath.sums import Specials, Sum, specials
from hwgen.netlist.book import chapter

MAX_SECOND_STEP = 8
"""A second stage of so few places is smaller than one of the next power of two, which tests and masks most bits."""

LONGEST_RANGE = 64
"""Bits of the largest range of an accumulator for which a spanning frame is smaller than a floating-point sum."""


@dataclass(frozen=True)
class BoundedShape(SumShape):
    """Widths of a bounded frame; ``target`` is the accumulator's format."""

    target: WideFormat

    @property
    def precision(self) -> int:
        """Bits of the target's significand."""
        return self.target.fraction_bits + 1

    @property
    def level(self) -> int:
        """Places of the frame below the last bit of S unless S is raised; more than 0 for an S shorter than C."""
        return max(self.precision - self.sum_bits, 0) // 2

    @property
    def raised(self) -> int:
        """Places of the frame below the last bit of a raised S.

        If C is less than half of that bit, |S + C| is more than half of it if S != 0. The first bit that rounding drops
        is then at most ``precision + 1`` places below; what C has below that is sticky.
        """
        return self.precision + 1

    @property
    def tail(self) -> int:
        """Bits below the frame that are kept for the sticky bit: a fraction."""
        return self.target.fraction_bits

    @property
    def frame_bits(self) -> int:
        """Bits of the frame without sign.

        If S is raised, C < 2**(raised - level - 1 + precision) times the frame's last bit, and |S| < 2**(raised +
        sum_bits - 1); otherwise, unless C is the result, C < 2**(level + sum_bits + precision), and S is smaller.
        """
        return self.raised + max(self.level + self.sum_bits, self.precision - self.level)

    @property
    def full_bits(self) -> int:
        """Bits of a frame without sign in which S is never raised; it is as long as all places of C need.

        C < 2**(sum_bits + precision) times the last bit of S, unless C is the result, and |S + C| is, too.
        """
        return self.raised + self.sum_bits + self.precision

    @property
    def products_field(self) -> int:
        """The accumulator's exponent field with which its last bit has the weight of the products' last bit."""
        return self.lsb_exponent + self.target.bias + self.target.fraction_bits

    @property
    def level_field(self) -> int:
        """The smallest field of an accumulator whose last bit is in the frame without raising S."""
        return self.products_field - self.level

    @property
    def lowest_field(self) -> int:
        """The smallest field of an accumulator whose first bit is in the frame."""
        return self.products_field - self.raised - self.tail

    @property
    def dominant_field(self) -> int:
        """The smallest field of an accumulator that is the result.

        S is then less than a quarter of its last place; half would be too much for a power of two, whose lower
        neighbour is half a place away.
        """
        return self.products_field + self.sum_bits + 1

    @property
    def fits(self) -> bool:
        """Whether neither overflow nor subnormal results need logic.

        * Not too small: subnormal accumulators are below the frame, so that their exponent does not matter, if
          ``lowest_field >= 1``, which is lsb_exponent - precision >= 2 - bias. If then S != 0, S + C is 0 or at least
          2**(lsb_exponent - precision): if C is less than half of S's last bit, |S + C| is more than half of it;
          otherwise C's last bit has at least that weight, and both are multiples of it or of S's last bit. The smallest
          normal number is 2**(1 - bias).
        * Not too large: unless C is the result, |S + C| < 2**(lsb_exponent - level + frame_bits); rounding makes it at
          most that power of two, which is finite if lsb_exponent - level + frame_bits <= bias.

        If S = 0, the result is C, which is exact. So neither overflow nor underflow is possible.
        """
        top = self.lsb_exponent - self.level + self.frame_bits
        return not self.target.flush and self.lowest_field >= 1 and top <= self.target.bias

    @property
    def steps(self) -> list[int]:
        """Places that the stages of the normalizer move; a 1 in the last place can reach the first.

        Powers of two, once each; or, instead of a large one, a small one twice.
        """
        farthest = self.frame_bits - 1
        powers = [1 << k for k in reversed(range((farthest + 1).bit_length() - 1))]
        rest = farthest - sum(powers)
        if not rest:
            return powers
        extra = 1 << (rest - 1).bit_length()
        return sorted([*powers, extra if extra <= MAX_SECOND_STEP else 2 * powers[0]], reverse=True)


@dataclass(frozen=True)
class _Aligned:
    """The accumulator's magnitude in the frame; whether anything is lost below; how its exponent compares."""

    magnitude: Value
    sticky: Value
    keeps_level: Value
    dominates: Value


def rounded_sum(m: Module, lanes: Sequence[Lane], frame: BoundedShape, acc: Value, positive: bool) -> Sum:
    """The sum in a bounded frame: add, normalize and round; with ``positive`` a zero is +0."""
    if frame.goal == SPEED:
        return _sum_in_full(m, lanes, frame, acc, positive)
    products_sum = sum_of_products(m, [lane.row for lane in lanes], frame)
    aligned = _aligned(m, frame, acc)
    finite, is_zero = _rounded(m, frame, products_sum, aligned)

    chapter(m, "Specials: the accumulator as result, infinities and NaN; the sign")
    any_sum = named(m, "any_sum", products_sum.any())
    special = _specials(m, lanes, frame, acc)
    is_acc = ~any_sum | aligned.dominates
    choose_acc = named(m, "choose_acc", is_acc & ~special.force)
    choose_sum = named(m, "choose_sum", ~(is_acc | special.force | is_zero))
    body = finite.body & choose_sum.replicate(len(acc) - 1)
    bits = _joined(m, lanes, frame, acc, special, (choose_acc, choose_sum), body, finite.negative, positive)
    inexact = any_sum & (aligned.dominates | finite.lost) & special.finite
    never = Const(0, 1)  # within the frame's limits sums neither overflow nor underflow
    return Sum(bits, never, inexact, invalid=special.invalid, finite=special.finite)


def _specials(m: Module, lanes: Sequence[Lane], frame: BoundedShape, acc: Value) -> Specials:
    products = [lane.product for lane in lanes]
    # an infinite accumulator dominates: it is its own result
    return specials(m, products, frame.product, acc, frame.target.fraction_bits, Scale.none(), acc_passes=True)


def _joined(
    m: Module,
    lanes: Sequence[Lane],
    frame: BoundedShape,
    acc: Value,
    special: Specials,
    chosen: tuple[Value, Value],
    body: Value,
    negative: Value,
    positive: bool,
) -> Value:
    """The result: the accumulator or the sum, whichever is ``chosen``, or a special; the ``body`` is 0 otherwise."""
    k, exponent_bits, (choose_acc, choose_sum) = frame.target.fraction_bits, frame.target.exponent_bits, chosen
    number = (acc[:-1] & choose_acc.replicate(k + exponent_bits)) | body
    code_out = number | Cat(Const(0, k - 1), special.is_nan, special.force.replicate(exponent_bits))
    all_minus = Const(0, 1) if positive else reduce(and_, (lane.product.sign for lane in lanes))
    acc_sign = named(m, "acc_sign", acc[-1] & (acc[:-1].any() | all_minus))
    sum_sign = named(m, "sum_sign", negative ^ acc[-1])
    sign_out = (acc_sign & choose_acc) | (sum_sign & choose_sum) | (special.minus_inf & ~special.is_nan)
    return Cat(named(m, "code_out", code_out), named(m, "sign_out", sign_out))


def _aligned(m: Module, frame: BoundedShape, acc: Value) -> _Aligned:
    k = frame.target.fraction_bits
    chapter(m, f"Align: acc_in_frame {frame.frame_bits} bits; the {frame.tail} bits below become the sticky bit")
    field = named(m, "acc_field", acc[k:-1])
    keeps_level = named(m, "acc_reaches_level", reaches(field, frame.level_field))
    in_frame = named(m, "acc_reaches_frame", reaches(field, frame.lowest_field))
    dominates = named(m, "acc_dominates", reaches(field, frame.dominant_field))
    # Below the frame there is a tail, but no place for a hidden bit.
    significand = named(m, "acc_significand", Cat(acc[:k], in_frame))
    places = (frame.level + frame.sum_bits + frame.tail, frame.raised - frame.level - 1 + frame.tail)
    bits = max(places).bit_length()
    level, lowest = (frame.level + frame.tail - frame.products_field) % (1 << bits), -frame.lowest_field % (1 << bits)
    origin = named(m, "acc_place_of_field_0", Mux(keeps_level, level, lowest), bits)
    place = named(m, "acc_place", (field[:bits] + origin)[:bits] & in_frame.replicate(bits))
    moved = moved_up(m, significand, place, frame.frame_bits + frame.tail, "acc_", Const(0, 1))
    sticky = named(m, "sticky", moved[: frame.tail].any() | (field.any() & ~in_frame))
    return _Aligned(named(m, "acc_in_frame", moved[frame.tail :]), sticky, keeps_level, dominates)


def _rounded(m: Module, frame: BoundedShape, products_sum: Value, aligned: _Aligned) -> tuple[RoundedTotal, Value]:
    """The rounded sum, meaningless if the accumulator is the result, and whether it is 0."""
    target, bits = frame.target, frame.target.exponent_bits
    width, sign = frame.frame_bits + 1, products_sum[-1]
    chapter(m, f"Add: total {width} bits in two's complement, negated if the accumulator is negative")
    raised = Cat(Const(0, frame.raised), products_sum)
    level = Cat(Const(0, frame.level), products_sum, sign.replicate(frame.raised - frame.level))
    placed = named(m, "sum_in_frame", Mux(aligned.keeps_level, level, raised))
    addend = Cat(placed, sign.replicate(width - len(placed)))

    def exponent_less_1(first: Normalized) -> Value:
        lowest = frame.lsb_exponent + frame.frame_bits - 1 - first.most + target.bias - 1
        levels = [number % (1 << bits) for number in (lowest - frame.level, lowest - frame.raised)]
        base = named(m, "lowest_exponent_less_1", Mux(aligned.keeps_level, *levels))
        return named(m, "exponent_less_1", (base + first.room)[:bits])

    total = named(m, "total", (addend + aligned.magnitude)[:width])
    rounding = frame.steps, frame.precision, exponent_less_1, bits
    rounded = rounded_total(m, total, None, aligned.sticky, *rounding)
    # A first bit of 0 is the number 0, or minus one unit of the frame, whose complement is 0.
    is_zero = named(m, "total_is_zero", ~(rounded.leading_one | rounded.negative))
    return replace(rounded, body=named(m, "rounded", rounded.body)), is_zero


def _aligned_in_full(m: Module, frame: BoundedShape, acc: Value) -> _Aligned:
    """The accumulator in the full frame, 0 if it dominates; its level is kept if nothing is below."""
    k = frame.target.fraction_bits
    chapter(m, f"Align: acc_in_frame {frame.full_bits} bits; the {frame.tail} bits below become the sticky bit")
    field = named(m, "acc_field", acc[k:-1])
    is_whole = named(m, "acc_is_whole", reaches(field, frame.products_field - frame.raised))
    in_frame = named(m, "acc_reaches_frame", reaches(field, frame.lowest_field))
    dominates = named(m, "acc_dominates", reaches(field, frame.dominant_field))
    significand = Cat(acc[:k], in_frame) & (~dominates).replicate(k + 1)
    significand = named(m, "acc_significand", significand)
    bits = (frame.dominant_field - 1 - frame.lowest_field).bit_length()
    place = (field[:bits] - frame.lowest_field)[:bits] & in_frame.replicate(bits)
    place = named(m, "acc_place", place)
    moved = moved_up(m, significand, place, frame.full_bits + frame.tail, "acc_", Const(0, 1))
    sticky = named(m, "sticky", moved[: frame.tail].any() | (field.any() & ~in_frame))
    return _Aligned(named(m, "acc_in_frame", moved[frame.tail :]), sticky, is_whole, dominates)


def _sum_in_full(m: Module, lanes: Sequence[Lane], frame: BoundedShape, acc: Value, positive: bool) -> Sum:
    """The sum in the full frame, in which the accumulator is one more row.

    Its bits from the last one of the products on are the products' sum if the accumulator dominates, or if something of
    it is below the frame. Otherwise the accumulator needs no choice where they are 0: it is the sum.
    """
    target, bits, low, rows = frame.target, frame.target.exponent_bits, frame.raised, [(0, lane.row) for lane in lanes]
    aligned = _aligned_in_full(m, frame, acc)
    row, constant = extended(aligned.magnitude[low:], frame.full_bits - low + 1), -frame.lanes << frame.product_bits
    total, places = prefix_sum(m, "total", rows, constant, row, len(row), PRODUCTS)
    whole, marks = Cat(aligned.magnitude[:low], total), anticipated(m, places, aligned.magnitude[:low])

    chapter(m, "Specials: the accumulator as result, infinities and NaN")
    any_sum = named(m, "any_sum", total.any())
    special = _specials(m, lanes, frame, acc)
    is_acc = ~(any_sum | aligned.keeps_level) | aligned.dominates
    choose_acc = named(m, "choose_acc", is_acc & ~special.force)
    choose_sum = named(m, "choose_sum", ~(is_acc | special.force) & (any_sum | aligned.magnitude[:low].any()))
    lowest = frame.lsb_exponent - low + frame.full_bits - 1 + target.bias - 1

    def exponent_less_1(first: Normalized) -> Value:
        return named(m, "exponent_less_1", (first.room + (lowest - first.most) % (1 << bits))[:bits])

    rounding = [frame.full_bits - 1], frame.precision, exponent_less_1, bits, choose_sum
    rounded = rounded_total(m, whole, marks, aligned.sticky, *rounding)
    body = named(m, "rounded", rounded.body)
    result = _joined(m, lanes, frame, acc, special, (choose_acc, choose_sum), body, rounded.negative, positive)
    inexact = any_sum & (aligned.dominates | rounded.lost) & special.finite
    return Sum(result, Const(0, 1), inexact, invalid=special.invalid, finite=special.finite)


@dataclass(frozen=True)
class SpanningShape(SumShape):
    """Widths of a spanning frame; ``target`` is the accumulator's format."""

    target: WideFormat

    @property
    def fits(self) -> bool:
        """Whether the accumulator's range is short, and its format has subnormals."""
        return self.target.has_subnormals and self.acc_bits <= LONGEST_RANGE

    @property
    def lsb(self) -> int:
        """Exponent of the frame's last bit."""
        return min(self.lsb_exponent, self.target.ulp_exponent)

    @property
    def acc_bits(self) -> int:
        """Bits of the largest accumulator as a multiple of the smallest."""
        return self.target.fraction_bits + (1 << self.target.exponent_bits) - 2

    @property
    def frame_bits(self) -> int:
        """Bits of the largest sum, without sign."""
        largest = self.lanes * self.largest << (self.lsb_exponent - self.lsb)
        acc = ((1 << self.acc_bits) - 1) << (self.target.ulp_exponent - self.lsb)
        return (largest + acc).bit_length()

    @property
    def steps(self) -> list[int]:
        """Places that the stages of the normalizer move: together from the first bit to a subnormal's place."""
        farthest = self.lsb + self.frame_bits - 1 + self.target.bias - 1
        powers = [1 << k for k in range((farthest + 1).bit_length() - 1)]
        rest = farthest - sum(powers)
        return sorted([*powers, *(power for power in powers if power & rest)], reverse=True)


def spanning_sum(m: Module, lanes: Sequence[Lane], frame: SpanningShape, acc: Value, positive: bool) -> Sum:
    """The sum in a spanning frame: add, normalize and round; with ``positive`` a zero is +0."""
    target, width = frame.target, frame.frame_bits + 1
    k, exponent_bits = target.fraction_bits, target.exponent_bits
    add_products = sum_by_prefix if frame.goal == SPEED else sum_of_products
    products_sum = add_products(m, [lane.row for lane in lanes], frame)
    chapter(m, f"Fixed point of the accumulator: bit 0 of acc_magnitude weighs 2^{target.ulp_exponent}")
    field = named(m, "acc_field", acc[k:-1])
    hidden = named(m, "acc_hidden", field.any())
    exponent = named(m, "acc_exponent", Cat(field[0] | ~hidden, field[1:]))  # at least 1, so that bit 0 is moved away
    significand = named(m, "acc_significand", Cat(acc[:k], hidden))
    magnitude = moved_up(m, significand, exponent, frame.acc_bits + 1, "acc_", Const(0, 1))[1:]
    magnitude = named(m, "acc_magnitude", magnitude)
    chapter(m, f"Add: total {width} bits in two's complement, bit 0 weighs 2^{frame.lsb}; negated if acc is negative")
    placed = Cat(Const(0, frame.lsb_exponent - frame.lsb), products_sum)
    addend = Cat(Const(0, target.ulp_exponent - frame.lsb), magnitude, Const(0, 1))
    if frame.fabric == FPGA:
        total = named(m, "total", chained(m, [placed, addend], [], width))
    else:
        placed = Cat(placed, products_sum[-1].replicate(max(width - len(placed), 0)))
        total = named(m, "total", (placed + addend)[:width])

    most = sum(frame.steps)

    def exponent_less_1(first: Normalized) -> Value:
        room = (first.room - (first.most - most)).as_unsigned() if first.most > most else first.room
        return named(m, "exponent_less_1", room)  # its first bits are cut off

    marks = None
    if frame.goal == SPEED:
        marks = anticipated(m, Places.of(m, "addends", placed, extended(addend, width)))
    rounding = frame.steps, k + 1, exponent_less_1, (most + 2).bit_length()
    rounded = rounded_total(m, total, marks, Const(0, 1), *rounding)
    packed, negative = named(m, "rounded", rounded.body), rounded.negative

    chapter(m, "Specials: overflow, infinities and NaN; the sign")
    special = specials(m, [lane.product for lane in lanes], frame.product, acc, k, Scale.none(), acc_passes=False)
    past = named(m, "past_largest", reaches(packed[k:], (1 << exponent_bits) - 1))
    force = named(m, "infinite_or_nan", special.force | past)
    number = packed[: k + exponent_bits] & (~force).replicate(k + exponent_bits)
    code_out = number | Cat(Const(0, k - 1), special.is_nan, force.replicate(exponent_bits))
    code_out = named(m, "code_out", code_out)
    all_minus = Const(0, 1) if positive else reduce(and_, (lane.product.sign for lane in lanes))
    sum_sign = named(m, "sum_sign", (negative ^ acc[-1]) & (total.any() | all_minus))
    sign_out = ~special.is_nan & ((special.is_inf & special.minus_inf) | (~special.is_inf & sum_sign))
    if positive:
        sign_out = sign_out & code_out.any()
    overflow = named(m, "overflow", past & special.finite)
    inexact = (rounded.lost | past) & special.finite
    underflow = inexact & ~rounded.leading_one & ~past
    bits = Cat(code_out, named(m, "sign_out", sign_out))
    return Sum(bits, overflow, inexact, underflow, special.invalid, special.finite)
