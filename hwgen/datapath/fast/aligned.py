"""Aligned sums for speed: levels are numbers of a group and a place in it, and each has its own shift.

A product is moved by its place in a group of levels while the largest group is sought, and then by groups: the frame of
the sum is that of the largest group, a few places longer than one of the largest level. Where the largest level cuts
all addends, within the last places of that frame, is found beside it. Full adders make two rows of all addends, and a
parallel prefix adds them, to the total and to the total less 1, whose complement is the magnitude of a negative
total. Its first 1 is found beside the addition, as for sums that are rounded (:mod:`hwgen.datapath.normalize`).

The results are those of :mod:`hwgen.datapath.aligned`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import In, Out

from hwgen.datapath.aligned import AlignedShape, acc_parts, joined, levels_of
from hwgen.datapath.arithmetic import any_of, named, range_shape, reaches
from hwgen.datapath.compress import FIRST, compressed
from hwgen.datapath.fast.prefix import Places, total_and_less_1
from hwgen.datapath.multiplier import Lane
from hwgen.datapath.normalize import Normalized, anticipated, moved_at_once
from hwgen.datapath.product import Scale
from hwgen.datapath.rows import moved_up, zero_is_silent
from hwgen.datapath.sums import Sum, specials
from hwgen.netlist.book import chapter
from hwgen.netlist.parts import Repeated

PLACES = 3
"""Bits of a level's place in its group. With fewer there are more groups, to be distinguished before all else."""

GROUP = 1 << PLACES
"""Levels of a group."""

SIGNS, PRODUCTS = 5, 8
"""Arrival of the number of negative products and of their rows, in delays of an XOR."""


@dataclass(frozen=True)
class GroupedShape(AlignedShape):
    """Widths of an aligned sum in the frame of a group of levels; its binary point is that of the smallest of them."""

    @property
    def groups(self) -> range:
        """Groups of the largest level, at least two: with an accumulator above, no bit of any product is kept."""
        first, last = self.levels[0] // GROUP, (self.levels[1] + self.addend_bits - 1) // GROUP
        return range(first, max(last, first + 1) + 1)

    @property
    def product_groups(self) -> range:
        """Groups of levels of products."""
        return range(self.groups[0], self.levels[1] // GROUP + 1)

    @property
    def acc_groups(self) -> range:
        """Groups of levels of accumulators that can have bits in the frame."""
        return range(self.groups[0] - self.distances(1) + 1, self.groups[-1] + 1)

    def distances(self, integer_bits: int) -> int:
        """How many groups, from the largest down, can have bits of a number in the frame."""
        return -(-(self.fraction_bits + integer_bits + GROUP - 1) // GROUP)

    @property
    def row_bits(self) -> int:
        """Bits of a product in the frame, without sign."""
        return self.addend_bits + GROUP - 1

    @property
    def frame_bits(self) -> int:
        """Bits of the sum, without sign."""
        return self.sum_bits + GROUP - 1


def _in_frame(
    m: Module, name: str, field: Value, fraction_bits: int, moves: Value, keeps: Value, width: int, shape: AlignedShape
) -> Value:
    """A number that has been moved by its place in a group, moved down by groups, and cut in the last places.

    Each of ``moves`` says whether it is moved by that number of groups.
    """
    first, bits = shape.fraction_bits - fraction_bits, []
    for place in range(width):
        sources = [(move, place - first + GROUP * number) for number, move in enumerate(moves)]
        bit = any_of([move & field[source] for move, source in sources if 0 <= source < len(field)])
        bits.append(bit & keeps[place] if place < len(keeps) else bit)
    return named(m, name, Cat(*bits))


class Mover(Repeated):
    """Move a product to its place in the frame, and cut it; combinational.

    The row is in one's complement, without the sign, which completes the two's complement. ``moves`` and ``keeps`` are
    those of :func:`_in_frame`. ``is_zero`` exists only where the significand of a zero may not be 0.
    """

    part, follows = "aligner", "Largest level"
    summary = "a product in the frame of the largest group of levels"

    def __init__(self, shape: GroupedShape):
        self.shape = self.identity = shape
        self._how = "shifted left in its group, moved right by groups, cut by keeps; inverted if negative"
        self.heading = f"Align the lanes: row {shape.row_bits} bits, {self._how}"
        self.masks = not (zero_is_silent(shape.product.a.fmt) and zero_is_silent(shape.product.b.fmt))
        mask = {"is_zero": In(1)} if self.masks else {}
        significand = {"significand": In(shape.product.significand_bits), **mask, "negative": In(1)}
        moves = {"place": In(PLACES), "moves": In(shape.distances(shape.integer_bits)), "keeps": In(GROUP - 1)}
        super().__init__({**significand, **moves, "row": Out(shape.row_bits)})

    def elaborate(self, _platform: object) -> Module:
        """Shift left, move, cut, then invert."""
        m, shape = Module(), self.shape
        chapter(m, f"Align: {shape.row_bits} bits, {self._how}")
        significand: Value = self.significand
        if self.masks:
            significand = named(m, "nonzero_significand", Mux(self.is_zero, 0, significand))
        field = moved_up(m, significand, self.place, len(significand) + GROUP - 1, "", Const(0, 1))
        cut = self.moves, self.keeps, shape.row_bits, shape
        magnitude = _in_frame(m, "magnitude", field, shape.point, *cut)
        m.d.comb += self.row.eq(magnitude ^ self.negative.replicate(shape.row_bits))
        return m


@dataclass(frozen=True)
class _Level:
    """A level: whether it is in each of some groups, also if its number counts; its place, and whether that reaches 1,
    2 and so on; whether the level, if it counts, reaches each group.
    """

    is_in: Mapping[int, Value]
    counts_in: Mapping[int, Value]
    place: Value
    reached: Sequence[Value]
    reaches: Mapping[int, Value]

    @classmethod
    def of(cls, m: Module, name: str, level: Value, active: Value, groups: Iterable[int]) -> "_Level":
        """Those of a level, in two's complement if its shape is signed."""
        place, group = level[:PLACES], level[PLACES:].as_signed() if level.shape().signed else level[PLACES:]
        is_in = {
            number: named(m, f"{name}_is_in_group_{number}".replace("-", "minus_"), group == number)
            for number in groups
        }
        counts_in = {number: own & active for number, own in is_in.items()}
        reached = [named(m, f"{name}_reaches_place_{number}", reaches(place, number)) for number in range(1, GROUP)]
        return cls(is_in, counts_in, place, reached, {number: reaches(group, number) & active for number in groups})

    def moves(self, m: Module, name: str, largest: Mapping[int, Value], count: int) -> Value:
        """Whether a number with this level is moved by each number of groups."""
        terms = [
            [own & largest[number + distance] for number, own in self.is_in.items() if number + distance in largest]
            for distance in range(count)
        ]
        return named(m, f"{name}_moves", Cat(any_of(each) for each in terms))


def grouped_sum(m: Module, lanes: Sequence[Lane], shape: GroupedShape, acc: Value, positive: bool) -> Sum:
    """Align, add and truncate, as :func:`hwgen.datapath.aligned.aligned_sum` does without a scale."""
    target, k, origin = shape.target, shape.target.fraction_bits, shape.field_of_level_0
    chapter(m, f"Accumulator: {target.name}; acc_significand {k + 1} bits; acc_level counts as the products' levels")
    exponent, significand = acc_parts(m, acc, k)
    number = named(m, "acc_level", exponent - origin, range_shape(min(1 - origin, -1), shape.acc_levels[1]))
    active = significand.any() if origin <= 1 else Const(1, 1)  # otherwise zeros and subnormals are below all products
    level = _Level.of(m, "acc", number, active, shape.acc_groups)
    dominates = named(m, "acc_dominates", reaches(number, GROUP * shape.groups.stop))

    chapter(m, "Largest level: its group, of products that are not zero and the accumulator; what it cuts in the frame")
    names, values, used = levels_of(m, lanes, shape)
    levels = [_Level.of(m, *each, shape.product_groups) for each in zip(names, values, used, strict=True)]
    largest, keeps = _largest(m, [*levels, level], shape)
    rows: list[tuple[Value, Value]] = []
    for name, lane, own in zip(names, lanes, levels, strict=True):
        m.submodules[f"align_{len(rows)}"] = unit = Mover(shape)
        if unit.masks:
            m.d.comb += unit.is_zero.eq(lane.product.is_zero)
        negative = named(m, f"{name}_negative", lane.product.sign ^ acc[-1])
        m.d.comb += [
            unit.significand.eq(lane.product.significand),
            unit.negative.eq(negative),
            unit.place.eq(own.place),
            unit.moves.eq(own.moves(m, name, largest, len(unit.moves))),
            unit.keeps.eq(keeps),
        ]
        rows.append((unit.row, negative))
    width = shape.fraction_bits + GROUP
    chapter(m, f"Align the accumulator: acc_row {width} bits, bit 0 weighs as in the rows of the lanes")
    moved = moved_up(m, significand, level.place, k + GROUP, "acc_", Const(0, 1))
    moves = level.moves(m, "acc", largest, shape.distances(1))
    acc_row = _in_frame(m, "acc_row", moved, k, moves, keeps, width, shape)
    total = _total(m, rows, acc_row, shape)

    chapter(m, "Specials: the accumulator as result, infinities and NaN; the sign")
    passes = shape.acc_levels[1] + 1 >= GROUP * shape.groups.stop  # an infinite accumulator dominates
    special = specials(m, [lane.product for lane in lanes], shape.product, acc, k, Scale.none(), acc_passes=passes)
    is_acc = named(m, "is_acc", ~any_of(used) | dominates)
    choose_acc = named(m, "choose_acc", is_acc & ~special.force)
    choose_sum = named(m, "choose_sum", ~(is_acc | special.force | total.is_zero))
    group = Cat(any_of([is_it for number, is_it in largest.items() if number >> bit & 1]) for bit in range(8))
    base = Cat(Const(0, PLACES), group) + (origin - shape.fraction_bits + shape.frame_bits - total.first.most) % 256
    value, body = total.first.value, Const(0, k + target.exponent_bits)
    for moves_again, chosen in enumerate((choose_sum & ~total.once_more, choose_sum & total.once_more)):
        name, first = "field_if_moved_again" if moves_again else "field_if_not", len(value) - 1 - moves_again
        field = named(m, name, (base + total.first.room - moves_again)[: target.exponent_bits])
        one_of_both = Cat(Const(0, k - shape.kept_fraction), value[first - shape.kept_fraction : first], field)
        body = body | (one_of_both & chosen.replicate(len(one_of_both)))
    sign = total.negative ^ acc[-1]
    bits = joined(m, shape, acc, special, (choose_acc, choose_sum), body, sign, positive)
    return Sum(bits, Const(0, 1), invalid=special.invalid, finite=special.finite)


def _largest(m: Module, levels: Sequence[_Level], shape: GroupedShape) -> tuple[dict[int, Value], Value]:
    """Whether the largest level is in each group, and the places of its frame that it keeps.

    ``largest_group`` and ``largest_place`` are in unary: as many ones as the number of the group, from the first, or of
    the level in it.
    """
    reached: list[Value] = []
    for place, number in enumerate(shape.groups[1:]):
        each = [level.reaches[number] for level in levels if number in level.reaches]
        reached.append(named(m, f"largest_group_bit_{place}", any_of(each)))
    pairs = zip([Const(1, 1), *reached], [*reached, Const(0, 1)], strict=True)
    is_it = [reaches_it & ~reaches_next for reaches_it, reaches_next in pairs]
    largest = {
        number: named(m, f"largest_group_is_{number}", own) for number, own in zip(shape.groups, is_it, strict=True)
    }
    cuts = []
    for place in range(1, GROUP):
        hits = []
        for number, own in largest.items():
            each = [level.counts_in[number] & level.reached[place - 1] for level in levels if number in level.counts_in]
            hits.append(own & named(m, f"some_level_reaches_place_{place}_of_group_{number}", any_of(each)))
        cuts.append(named(m, f"largest_place_bit_{place - 1}", any_of(hits)))
    return largest, named(m, "keeps", ~Cat(*cuts))


@dataclass(frozen=True)
class _Total:
    """The first bits of a sum's magnitude, one more than are kept, and whether it moves left once more; its sign."""

    first: Normalized
    once_more: Value
    negative: Value
    is_zero: Value


def _total(m: Module, rows: Sequence[tuple[Value, Value]], acc_row: Value, shape: GroupedShape) -> _Total:
    """Add the rows of the lanes, in one's complement with their signs, and the accumulator's."""
    width = shape.frame_bits + 1
    chapter(m, f"Compress: full adders, from the bits of all lanes and the accumulator to two rows of {width} bits")
    signs = [(FIRST, sign) for _, sign in rows]
    (count,) = compressed(m, [signs, *([] for _ in range(1, len(rows).bit_length()))], 1, "negative_")
    count = named(m, "negative_rows", count)
    # -s * 2**n = (1 - s) * 2**n - 2**n: the bits of the number of signs are inverted, and share one constant.
    constant = -((1 << len(count)) - 1 << shape.row_bits) - 1
    columns = [[(FIRST, Const(1, 1))] * (constant >> place & 1) for place in range(width)]
    words = [(SIGNS, 0, count), (SIGNS, shape.row_bits, ~count)]
    for time, start, word in [*words, *((PRODUCTS, 0, row) for row in (acc_row, *(row for row, _ in rows)))]:
        for column, bit in zip(columns[start:], word, strict=False):
            column.append((time, bit))
    first, second = compressed(m, columns, 2, early_halves=True)
    chapter(m, f"Add: total and total_less_1, {width} bits in two's complement, by parallel prefix; the magnitude")
    places = Places.of(m, "total_less_1", first, second)
    total, less_1 = total_and_less_1(m, places)
    negative = named(m, "total_is_not_positive", less_1[-1])
    is_zero = named(m, "total_is_zero", places.half.all())
    magnitude = named(m, "total_magnitude", Mux(negative, ~less_1[:-1], total[:-1]))
    marks, number = anticipated(m, places), Cat(magnitude, Const(0, 1))
    moved = moved_at_once(m, marks, number, Const(0, 1), width - 2, shape.kept_fraction, beside=True)
    return _Total(*moved, negative, is_zero)
