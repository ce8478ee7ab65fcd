"""The close path: a subtraction of numbers whose exponents differ by at most 1. Its result may move far to the left.

::

    accumulator | 0 1.xxxxxxxxxx |   stays where it is
    product     | 1.xxxxxx ..... |   its exponent is 1 larger; the path is not chosen if the difference is 2 or more
                | 0 1.xxxxxx ... |   equal
                | 0 0 1.xxxxxx . |   1 smaller

Nothing is lost on the right. A *sentinel*, a 1 in the place where the accumulator's smallest exponent begins, limits
the move to the left: results below it are subnormal.
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value

from golden import WideFormat
from hwgen.datapath.adder_shape import TwoPathShape
from hwgen.datapath.arithmetic import any_of, named
from hwgen.datapath.fast.prefix import compound
from hwgen.datapath.fast.product import Difference, FastProduct
from hwgen.datapath.normalize import or_from_above
from hwgen.datapath.sums import Accumulator
from hwgen.netlist.book import chapter


@dataclass(frozen=True)
class CloseResult:
    """A difference, rounded if it has too many bits.

    ``counts`` says whether the path is right, if the numbers are finite, not zero, and subtracted. ``field`` and
    ``fraction`` are those of the result; ``has_one`` says that its first 1 is not below the accumulator's smallest
    exponent. ``unrounded_field`` and ``unrounded_fraction`` are those before rounding.
    """

    counts: Value
    field: Value
    fraction: Value
    acc_wins: Value
    is_zero: Value
    has_one: Value
    inexact: Value
    unrounded_field: Value
    unrounded_fraction: Value

    def status(self, m: Module, fmt: WideFormat) -> tuple[Value, Value]:
        """Whether the result differs from the sum, and whether that is not zero but below all normal numbers."""
        if fmt.has_subnormals:
            return self.inexact, ~self.has_one
        tiny = ~self.has_one | ~(self.unrounded_field.any() | self.unrounded_fraction.any())
        tiny = named(m, "close_is_tiny", tiny & ~self.is_zero)
        return named(m, "close_differs", self.inexact | tiny), tiny


def subtract(
    m: Module, shape: TwoPathShape, product: FastProduct, acc: Accumulator, distance: Difference
) -> CloseResult:
    """Both differences are computed; the one that is not negative counts."""
    width, places = shape.close_bits, distance.places
    chapter(m, f"Close subtract: exponents differ by at most 1; close_difference {width} bits")

    def placed(value: Value, front: int) -> Value:
        return Cat(Const(0, width - front - len(value)), value, Const(0, front))

    above, equal, below = (placed(product.significand, front) for front in range(3))
    product_close = named(m, "product_close", Mux(places[1], Mux(places[0], equal, below), above))
    minus_product = named(m, "minus_product_close", ~product_close)
    both = compound(m, "close_total", placed(acc.significand, 1), minus_product)
    acc_wins = named(m, "acc_wins_close", both.carry_plus_1)
    difference = named(m, "close_difference", Mux(acc_wins, both.sum_plus_1, ~both.sum))
    is_zero = named(m, "close_difference_is_zero", ~difference.any())
    is_equal = named(m, "exponents_are_equal", places.all())
    is_below = named(m, "product_exponent_is_1_less", places[1:].all() & ~places[0])
    is_above = named(m, "product_exponent_is_1_more", ~places.any())
    counts = named(m, "close_counts", is_equal | is_below | (is_above & ~difference[-1]))

    bits = width - 1
    chapter(m, f"Close normalize: {bits} bits, shifted left to the first 1 or the sentinel")
    first = shape.smallest_exponent  # the sentinel's first place stands for this exponent
    sentinel = [
        acc.exponent == first + bits - 1 - place
        if (first + bits - 1 - place).bit_length() <= len(acc.exponent)
        else Const(0, 1)
        for place in range(bits)
    ]
    sentinel = named(m, "sentinel", Cat(sentinel))
    with_sentinel = named(m, "close_with_sentinel", difference[:-1] | sentinel)
    above_or_here = or_from_above(m, with_sentinel)
    first_one = named(m, "first_one", with_sentinel & ~Cat(above_or_here[1:], Const(0, 1)))
    moved = [
        any_of([first_one[place] & difference[place - move] for place in range(bits - 1, move - 1, -1)])
        for move in range(bits)
    ]
    has_one = named(m, "close_has_one", moved[0])
    others = [named(m, f"close_moved_left_{bits - 1 - move}", moved[move]) for move in range(1, bits)]
    moved = named(m, "close_moved_left", Cat(reversed(others)))
    steps = (bits - 1).bit_length()
    zeros = [
        any_of([first_one[place] for place in range(bits) if (bits - 1 - place) >> bit & 1]) for bit in range(steps)
    ]
    zeros = named(m, "close_zeros", Cat(zeros))
    field_bits, k = shape.accumulator.exponent_bits, shape.precision - 1
    field = named(m, "close_exponent", (acc.exponent - zeros)[:field_bits] & has_one.replicate(field_bits))
    tail_bits = len(moved) - k
    if shape.accumulator.flush:
        moved = named(m, "close_unless_flushed", moved & has_one.replicate(len(moved)))
    if not shape.close_rounds:
        return CloseResult(counts, field, moved, acc_wins, is_zero, has_one, Const(0, 1), field, moved)
    tail, kept = moved[:tail_bits], moved[tail_bits:]
    chapter(m, f"Close round: {len(moved) + 1} bits to {k + 1}")
    odd = Const(1, 1) if shape.accumulator.flush else kept[0]
    up = tail[-1] & (odd | tail[:-1].any())
    if shape.accumulator.flush:  # all ones are the one special value: a number that is cut to it overflows already
        up &= ~Cat(kept, field).all()
    up = named(m, "close_rounds_up", up)
    rounded = named(m, "close_rounded", (Cat(kept, field) + up)[: k + field_bits])
    inexact = named(m, "close_inexact", tail.any())
    return CloseResult(counts, rounded[k:], rounded[:k], acc_wins, is_zero, has_one, inexact, field, kept)
