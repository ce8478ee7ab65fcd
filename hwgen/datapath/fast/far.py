"""The far path: the operands are aligned; the sum moves by at most one place, and is rounded.

An effective subtraction puts both operands one place higher than an addition. So the first 1 of a result is in one of
two places, not three::

                      | places above the tail .... | tail ......... |
    leading, addition | 0 1.xxxxxxxxx              | x 0            |   sum at least 2: high, otherwise low
    leading, subtract | 1.xxxxxxxxxx               | 0 0            |   difference at least 1: high, otherwise low
    trailing          | 0 0 0 1.xxxx               | x x            |   sticky: OR of the bits lost on the right

The places above the tail are added (``total``). The tail decides beside that whether the result is rounded up, if it is
high, and if it is low. This is a carry that enters all places at once, behind the adder's spans of carries.
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value

from golden import WideFormat
from hwgen.datapath.adder_shape import TwoPathShape
from hwgen.datapath.arithmetic import named, plus
from hwgen.datapath.fast.prefix import Compound, compound
from hwgen.datapath.fast.product import Difference, FastProduct
from hwgen.datapath.sums import Accumulator
from hwgen.netlist.book import chapter


@dataclass(frozen=True)
class Operands:
    """The far path's operands: places above the tail, and the tail; bits lost on the right."""

    acc: Value
    acc_tail: Value
    product: Value
    product_tail: Value
    sticky: Value


@dataclass(frozen=True)
class FarResult:
    """A rounded sum without exponent and specials.

    ``is_high`` is the place of its first 1, before it is rounded; ``high`` and ``low`` are the rounded fractions of
    either place with the bit in front. ``has_first`` says whether there is a 1 in the higher place after rounding,
    ``low_has_one`` whether a low sum has a first 1, and ``high_is_carried`` whether a high one becomes the next power
    of two. If ``product_exceeds``, the result is ``exceeding``, a fraction without hidden bit. ``is_zero`` says that
    the sum is exactly zero.

    The others are what flags need: ``high_inexact`` and ``low_inexact`` say whether rounding changes the sum, which
    begins with ``unrounded``; ``low_half`` is the last bit of a low one.
    """

    is_high: Value
    high: Value
    high_is_carried: Value
    low: Value
    low_has_one: Value
    has_first: Value
    product_exceeds: Value
    exceeding: Value
    is_zero: Value
    high_inexact: Value
    low_inexact: Value
    unrounded: Value
    low_half: Value

    def status(
        self, m: Module, fmt: WideFormat, fields: tuple[Value, Value], is_flushed: Value, is_zero: Value
    ) -> tuple[Value, Value]:
        """Whether the result differs from the sum, and whether that is below the smallest normal number and not zero.

        ``fields`` are those of a low and of a high result. ``is_flushed`` says that a low result is below the exponents
        of a format without subnormals, ``is_zero`` that both operands are zero.
        """
        inexact = named(m, "far_inexact", Mux(self.is_high, self.high_inexact, self.low_inexact))
        no_one = Mux(self.is_high, ~self.unrounded[-1], ~self.unrounded[-2:].any())
        if fmt.has_subnormals:
            return inexact, named(m, "far_is_tiny", self.product_exceeds | no_one)
        k, (low, high) = fmt.fraction_bits, fields
        # the number with field 0 and fraction 0 is below the smallest one: its code is that of zero
        high_is_tiny = named(m, "high_is_tiny", ~high.any() & ~self.unrounded[:k].any())
        low_fraction = Cat(self.low_half, self.unrounded[: k - 1])
        low_is_tiny = named(m, "low_is_tiny", is_flushed | (~low.any() & ~low_fraction.any()))
        tiny = self.product_exceeds | no_one | Mux(self.is_high | self.unrounded[-1], high_is_tiny, low_is_tiny)
        tiny = named(m, "far_is_tiny", tiny & ~is_zero)
        return named(m, "far_differs", inexact | tiny), tiny


def aligned(
    m: Module, shape: TwoPathShape, product: FastProduct, acc: Accumulator, distance: Difference, subtract: Value
) -> Operands:
    """Both operands are moved right while their difference is still computed, its low bits first; one move counts.

    The accumulator moves by ``places``, and by one place more by wires; the product by the complement of ``places``.
    """
    tail, width, steps = shape.tail_bits, shape.frame_bits + 2, min(shape.shift_bits, shape.difference_bits - 1)
    chapter(m, f"Far align: {width} bits; the last {tail} are the tail")
    places, leads = distance.places, distance.product_leads

    def placed(name: str, significand: Value) -> Value:
        frame = Cat(Const(0, shape.frame_bits - len(significand)), significand)
        return named(m, name, Mux(subtract, Cat(Const(0, 2), frame), Cat(Const(0, 1), frame, Const(0, 1))))

    acc_frame, product_frame = placed("acc_placed", acc.significand), placed("product_placed", product.significand)
    bits, far_bits = places[:steps], places[steps:-1]
    acc_moved, acc_lost = _moved_right(m, "acc", Cat(acc_frame[1:], Const(0, 1)), bits)
    product_moved, product_lost = _moved_right(m, "product", product_frame, ~bits)
    acc_is_out, product_is_out = named(m, "acc_is_out", far_bits.any()), named(m, "product_is_out", ~far_bits.all())
    product_trails = named(m, "product_trails", ~leads & ~product.is_zero)
    acc_lost = named(m, "acc_sticky", acc_lost | (acc_is_out & acc.significand.any()))
    product_lost = named(m, "product_sticky", product_lost | product_is_out)
    sticky = named(m, "sticky", (leads & acc_lost) | (product_trails & product_lost))

    def chosen(name: str, leading: Value, leads: Value, moved: Value, trails: Value) -> Value:
        return named(m, name, (leading & leads.replicate(width)) | (moved & trails.replicate(width)))

    acc_far = chosen("acc_aligned", acc_frame, ~leads, acc_moved, leads & ~acc_is_out)
    product_far = chosen("product_aligned", product_frame, leads, product_moved, product_trails & ~product_is_out)
    return Operands(acc_far[tail:], acc_far[:tail], product_far[tail:], product_far[:tail], sticky)


def _moved_right(m: Module, name: str, value: Value, distance: Value) -> tuple[Value, Value]:
    """``value >> distance``, by the last bit of the distance first, and whether a 1 was lost."""
    lost: Value = Const(0, 1)
    for k, moves in enumerate(distance):
        step = min(1 << k, len(value))
        lost = lost | (moves & value[:step].any())
        value = named(m, f"{name}_moved_right_{1 << k}", Mux(moves, Cat(value[step:], Const(0, step)), value))
    return value, lost


def add(
    m: Module,
    shape: TwoPathShape,
    operands: Operands,
    acc: Accumulator,
    distance: Difference,
    subtract: Value,
    product_is_special: Value,
) -> FarResult:
    """Add in one's complement, and round to nearest."""
    width, tail_bits, away = shape.precision, shape.tail_bits, shape.accumulator.flush
    chapter(m, f"Far add: total {width} bits, and its carries; subtraction adds the one's complement")
    leads = distance.product_leads
    inverts_acc = named(m, "inverts_acc", subtract & leads)
    inverts_product = named(m, "inverts_product", subtract & ~leads)
    acc_addend = named(m, "acc_addend", operands.acc ^ inverts_acc.replicate(width))
    product_addend = named(m, "product_addend", operands.product ^ inverts_product.replicate(width))
    if tail_bits == 2:
        half, rest, sticky, carry = _short_tail(m, operands, subtract)
        total = compound(m, "total", acc_addend, product_addend, low_fan_out=True)
    else:
        half, rest, sticky, carry = _long_tail(m, shape, operands, subtract, inverts_acc, inverts_product)
        halves = named(m, "addend_halves", acc_addend ^ product_addend)
        carries = named(m, "addend_carries", Cat(carry, (acc_addend & product_addend)[:-1]))
        total = compound(m, "total", halves, carries, low_fan_out=True)
        carry = Const(0, 1)  # it is in the sum

    chapter(m, f"Far round: high {width} bits or low {width} bits, to nearest, ties {'away' if away else 'to even'}")
    # The bits after the last place: of a high result half, then rest and sticky; of a low one rest, then sticky.
    odd = Const(1, 1) if away else total.sum[0]
    high_up = named(m, "high_rounds_up", carry | (half & (odd | rest | sticky)))
    low_up = named(m, "low_rounds_up", carry | (half & rest))
    no_half = rest if away else rest & sticky
    becomes_high = carry & total.sum_plus_1[-1]
    low_bit = named(m, "low_last_bit", Mux(half, ~rest, no_half & ~becomes_high))
    high_is_carried = Const(0, 1)  # an accumulator is not rounded past its power of two if it becomes smaller
    if tail_bits > 2:
        high_is_carried = named(m, "high_is_carried", high_up & total.sum.all())
    high = total.plus(m, "high", high_up)
    low_sum = total.plus(m, "low_before_last_bit", low_up)
    low = named(m, "low", Cat(low_bit, low_sum[:-1]))
    stays: Value = Const(0, 1)
    if shape.accumulator.has_subnormals:
        stays = named(m, "acc_has_no_room", ~acc.field[1:].any() & inverts_product)
    is_high = named(m, "is_high", total.sum[-1] | stays)
    up = named(m, "first_place_rounds_up", Mux(stays, high_up, low_up))
    wraps = named(m, "sum_may_wrap", stays & high_up)  # to zero
    has_first = named(m, "has_first_place", (total.sum[-1] & ~wraps) | (up & total.sum_plus_1[-1]))
    unrounded = named(m, "unrounded", Mux(carry, total.sum_plus_1, total.sum))

    no_hidden = named(m, "acc_may_be_exceeded", inverts_product & ~acc.hidden)
    exact = carry & total.sum[:-1].all() if tail_bits == 2 else ~(total.sum.any() | half | rest | sticky)
    is_zero = named(m, "far_sum_is_zero", no_hidden & exact)
    exceeds, exceeding = Const(0, 1), Const(0, width - 1)
    if shape.exceeds_smallest:
        acc_wins = Mux(carry, total.carry_plus_1, total.carry)
        exceeds = named(m, "product_exceeds", no_hidden & ~acc_wins & ~product_is_special)
        if not shape.accumulator.flush:
            exceeding = _exceeding(m, shape, operands, total)
    low_inexact = named(m, "low_inexact", rest | sticky)
    results = is_high, high, high_is_carried, low, low_sum[-2], has_first, exceeds, exceeding, is_zero
    return FarResult(*results, half | low_inexact, low_inexact, unrounded, half)


def _short_tail(m: Module, operands: Operands, subtract: Value) -> tuple[Value, Value, Value, Value]:
    """Tails of two bits. Only the first one may have two operands, and that only in additions.

    Returns the two bits of the sum after its last place, whether there are ones after them, and the carry into it.
    """
    (acc_rest, acc_half), (product_rest, product_half) = operands.acc_tail, operands.product_tail
    sticky, rest = operands.sticky, named(m, "tail_rest", acc_rest | product_rest)
    trailing_half = named(m, "tail_half", acc_half | product_half)
    below = named(m, "tail_below_half", rest | sticky)
    half = named(m, "half", Mux(subtract, trailing_half ^ below, acc_half ^ product_half))
    carry = named(m, "tail_carry", Mux(subtract, ~(trailing_half | below), acc_half & product_half))
    return half, named(m, "rest", rest ^ (subtract & sticky)), sticky, carry


def _long_tail(
    m: Module, shape: TwoPathShape, operands: Operands, subtract: Value, inverts_acc: Value, inverts_product: Value
) -> tuple[Value, Value, Value, Value]:
    """Tails of more bits, because the product has more bits than the accumulator; see ``_short_tail``."""
    bits = shape.tail_bits
    acc = operands.acc_tail ^ inverts_acc.replicate(bits)
    product = operands.product_tail ^ inverts_product.replicate(bits)
    tail = named(m, "tail", (acc + product + (subtract & ~operands.sticky))[: bits + 1])
    half, rest, carry = named(m, "half", tail[bits - 1]), named(m, "rest", tail[bits - 2]), tail[bits]
    return half, rest, named(m, "below_rest", tail[: bits - 2].any() | operands.sticky), named(m, "tail_carry", carry)


def _exceeding(m: Module, shape: TwoPathShape, operands: Operands, total: Compound) -> Value:
    """The rounded product minus an accumulator that has a larger exponent, but no hidden bit, and is smaller.

    The difference is the complement of ``total``, and 1 more where it is rounded up. Only its last bits change then:
    where the bit after the last place is 1, the product has few in front of it. With a long tail ``total`` has the
    tail's carry, and the difference is a subtraction of its own.
    """
    width = shape.precision - 1
    is_long = shape.tail_bits > 2
    if not is_long and not shape.reaches_below:
        return named(m, "exceeding", ~total.sum[:width])
    half, below = operands.product_tail[-1], operands.product_tail[:-1].any() | operands.sticky
    up = named(m, "exceeding_rounds_up", half & (operands.product[0] ^ operands.acc[0] | below))
    if is_long:  # the carry of the tail is in the total
        return named(m, "exceeding", (operands.product[:width] - operands.acc[:width] + up)[:width])
    bits = min(shape.product.significand_bits, width)
    difference = plus(m, "exceeding", ~total.sum[:bits], 0, up)
    return named(m, "exceeding", Cat(difference, ~total.sum[bits:width]))
