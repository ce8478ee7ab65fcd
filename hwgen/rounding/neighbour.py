"""The lower neighbour of a number among the values of a format, and the bits by which the number exceeds it.

The fraction is aligned so that the bits to keep end at a fixed place. They and the exponent form the neighbour's
ordinal (see :mod:`hwgen.rounding.ordinals`).
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Mux, Value

from golden import Rounding
from hwgen.datapath.arithmetic import moved_right, plus
from hwgen.netlist.book import chapter
from hwgen.rounding.ordinals import Segment
from hwgen.rounding.position import Position


@dataclass(frozen=True)
class LowerNeighbour:
    """The ordinal of a number's lower neighbour, and what the number has after the kept bits.

    ``tail`` are the first bits after these, ``half`` is the very first one, and ``below`` says whether there are ones
    after the tail. ``beyond`` says whether there are any ones; it is meaningless below the smallest value.
    """

    ordinal: Value
    tail: Value
    half: Value
    below: Value
    beyond: Value


def lower_neighbour(at: Position, rounding: Rounding, tail_bits: int) -> LowerNeighbour:
    """Find the lower neighbour of a number at a position.

    ``rounding`` decides what must be known of the bits after the kept ones; ``tail_bits`` of them are needed as such.
    """
    extends = _zero_extends(at, rounding)
    chapter(at.m, f"Align: up to {at.order.fraction_bits} fraction bits are kept; width of the tail: {tail_bits}")
    width = at.order.fraction_bits + tail_bits
    fraction, rest = cut(at.parts.fraction, width)
    rest = at.parts.rest | rest
    if rounding is Rounding.HYBRID:  # far from 1, the tail has a different place
        first, others = cut(fraction, at.order.fraction_bits + 1)
        value, below = _with_zero_extending(at, first)
        kept, half, below = value[1:], at.named("half", value[0]), at.named("below", below | others | rest)
        tail = _hybrid_tail(at, fraction)[:tail_bits]
        beyond = half | below
    else:
        value, lost = _aligned(at, fraction, extends)
        aligned = at.named("aligned", value)
        below = at.named("below", lost | rest)
        kept, tail, half = aligned[tail_bits:], aligned[:tail_bits], aligned[tail_bits - 1]
        beyond = tail.any() | below
    chapter(at.m, f"Lower neighbour: lower_ordinal {at.order.width} bits, from exponent and kept bits")
    return LowerNeighbour(at.named("lower_ordinal", _ordinal(at, kept, extends)), tail, half, below, beyond)


def cut(fraction: Value, width: int) -> tuple[Value, Value]:
    """The first ``width`` bits of a fraction, and whether there are ones after them."""
    first = Cat(Const(0, max(width - len(fraction), 0)), fraction)[-width:]
    return first, fraction[: max(len(fraction) - width, 0)].any()


def _aligned(at: Position, fraction: Value, extends: bool) -> tuple[Value, Value]:
    """Kept bits and tail, and whether there are ones after the tail.

    ::

        | hidden | fraction ........................... |     before the shift; hidden is used below the normals only
        | kept: fraction bits of the finest binade | tail |   after it
    """
    order, width = at.order, len(fraction)
    deepest = max(at.lowest_relevant, at.parts.exponents[0])
    if extends:
        return _with_zero_extending(at, fraction)
    if order.first_missing or deepest >= order.bottom_exponent:
        # If the first value is missing, all numbers below the normals are in one gap, see Rounder._round_first_gap.
        value, lost = moved_right(at.m, fraction, at.lacking)
        return value & (~at.under).replicate(width), lost
    if len(at.lacking):
        value, lost = moved_right(at.m, Cat(fraction, at.under), _lacking_and_depth(at, deepest))
        return value[:width] & at.relevant.replicate(width), lost
    return _with_subnormals(at, fraction, deepest)


def _hybrid_tail(at: Position, fraction: Value) -> Value:
    """The tail of a number far from 1, moved by the bits that its binade lacks; below the smallest value by 4."""
    less_one = plus(at.m, "tail_distance", at.lacking, -1)  # a wire moves by one place
    distance = at.named("tail_distance", less_one | at.under.replicate(len(at.lacking)))
    tail, _ = moved_right(at.m, Cat(fraction[1:], Const(1, 1)), distance, "tail_")
    return tail


def _zero_extends(at: Position, rounding: Rounding) -> bool:
    """Whether zero continues the lowest segment, one of powers of two, and rounding needs no smaller exponent."""
    order, first = at.order, at.order.segments[0] if at.order.segments else None
    if order.subnormals or order.first_missing or rounding.is_stochastic or order.bottom_fraction_bits:
        return False
    if not at.has_zero:
        return False
    if first is None or first not in at.segments:
        return False
    low, high = order.ends(first)
    changing = (low ^ high).bit_length()
    return order.zero >> changing == low >> changing


def _with_zero_extending(at: Position, fraction: Value) -> tuple[Value, Value]:
    """Aligned bits if zero continues the lowest segment: below it none is kept, and the hidden bit becomes ``half``."""
    value, lost = moved_right(at.m, fraction, at.lacking)
    half = len(fraction) - at.order.fraction_bits - 1
    lost = lost | (at.under & value[half])
    return Cat(value[:half], Mux(at.under, at.relevant, value[half]), value[half + 1 :]), lost


def _with_subnormals(at: Position, fraction: Value, deepest: int) -> tuple[Value, Value]:
    """Aligned bits if only subnormals move: by one place with a wire, then by the rest of the exponents' difference."""
    order, parts, width = at.order, at.parts, len(fraction)
    places = (order.bottom_exponent - 1 - deepest).bit_length()
    # bottom - 1 - exponent, where -x = ~x + 1
    complement = at.named("not_exponent", ~at.exponent[:places])
    distance = at.named(
        "shift_below_normals", plus(at.m, "shift_below_normals", complement, order.bottom_exponent + parts.offset)
    )
    moved, lost = moved_right(at.m, Cat(fraction, parts.hidden), distance)
    subnormal = at.named("in_subnormal_range", at.under & at.relevant)
    value = (moved[1:] & subnormal.replicate(width)) | (fraction & (~at.under).replicate(width))
    return value, at.under & at.named("lost_if_below_normals", lost | moved[0])


def _lacking_and_depth(at: Position, deepest: int) -> Value:
    """The number of bits that the binade lacks; below the normals, plus the distance from the bottom exponent."""
    order = at.order
    lacking = order.fraction_bits - order.bottom_fraction_bits
    width = max((lacking + order.bottom_exponent - deepest).bit_length(), len(at.lacking))
    # lacking + bottom - exponent, where -x = ~x + 1
    complement = at.named("not_exponent", ~at.exponent[:width])
    depth = plus(at.m, "depth", complement, order.bottom_exponent + at.parts.offset + lacking + 1)
    return at.named("shift_below_normals", Mux(at.under, at.named("depth", depth), at.lacking))


def _ordinal(at: Position, kept: Value, extends: bool) -> Value:
    """Ordinal of the lower neighbour: the exponent in front of the kept bits.

    ::

        | bits that a segment's ordinals share | bits that its exponents change | fraction |
    """
    order, segments, width = at.order, at.segments, at.order.width
    if not segments:
        return Const(order.zero, width) | kept
    shared: Value = Const(0, width)
    changing: dict[int, Value] = {}  # by the number of bits that a segment lacks
    places: dict[int, tuple[int, int]] = {}
    for segment in segments:
        common, bits, constant = _place(at, segment)
        shared = Mux(at.at_least(segment.low), Const(common, width), shared) if changing else Const(common, width)
        lacking = order.fraction_bits - segment.fraction_bits
        if places.get(lacking) != (bits, constant):
            place = _changing(at, segment, bits, constant)
            if lacking in changing:
                place = Mux(at.at_least(segment.low), place, changing[lacking])
            changing[lacking], places[lacking] = place, (bits, constant)
    shared = at.named("shared_bits", shared) if len(segments) > 1 else shared
    selected = _select(at.lacking, changing)
    selected = at.named("changing_bits", selected) if len(changing) > 1 else selected
    field = at.named("power_ordinal", shared | selected)
    present = at.at_least(segments[0].low - extends) & ~at.parts.is_zero
    if at.parts.may_lack_hidden:
        present = present & at.parts.hidden
    lower = at.named("binade_ordinal", Mux(present, field, Const(order.zero, width)))
    if any(segment.offset % (1 << segment.fraction_bits) for segment in segments):
        return (lower + kept)[:width]
    return lower | kept


def _place(at: Position, segment: Segment) -> tuple[int, int, int]:
    """The leading bits that a segment's ordinals share, the number of exponent bits after them, and their offset."""
    k, width = segment.fraction_bits, at.order.width
    low, high = at.order.ends(segment)
    bits = max((low ^ high).bit_length() - k, 0)
    if segment.offset % (1 << k):  # the offset overlaps the fraction: all bits are a sum of exponent and offset
        return 0, width, segment.offset - (at.count_offset << k)
    return low >> (k + bits) << (k + bits), bits, (segment.offset >> k) - at.count_offset & (1 << bits) - 1


def _changing(at: Position, segment: Segment, bits: int, constant: int) -> Value:
    """The exponent bits of a segment's ordinals, in place."""
    order, k = at.order, segment.fraction_bits
    if segment.offset % (1 << k):
        return ((at.count << k) + constant)[:bits]
    count = at.count[:bits]
    low, high = order.count(segment.low), order.count(segment.high)
    if order.ones_complement and low < 0 <= high:  # digits, and copies of the sign in front of them
        digits = min(max((~low).bit_length(), high.bit_length()), bits)
        low_bits = plus(at.m, "count", count[:digits], -at.count_offset)
        count = Cat(low_bits, (~at.at_least(1)).replicate(bits - digits))
        constant += at.count_offset
    return Cat(Const(0, k), plus(at.m, "power_ordinal", count, constant))


def _select(index: Value, table: dict[int, Value]) -> Value:
    """The entry of a table at an index; anything if it has none there."""
    if len(table) == 1:
        return next(iter(table.values()))
    half = 1 << (len(index) - 1)
    low, high = ({i % half: value for i, value in table.items() if i // half == which} for which in (0, 1))
    if low and high:
        return Mux(index[-1], _select(index[:-1], high), _select(index[:-1], low))
    return _select(index[:-1], low or high)
