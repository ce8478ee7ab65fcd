"""Normalization: shifts that move a number left to its first 1, or to the first bit that differs from its sign.

For area, each stage looks for the first 1 in the value that the stage before it leaves. For speed, the first 1 is found
beside the shift, or even beside the addition in front of it: it is known of every place beforehand whether a 1 is in it
or above. The last of these bits in the front half says whether a stage moves the value, and half of them remain. So a
stage takes no longer than a multiplexer. Sums that are rounded have two stages only: one chooses a group of places, the
other one of these.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import zip_longest
from operator import add, or_

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hwgen.datapath.arithmetic import any_of, extended, named
from hwgen.datapath.fast.prefix import Places
from hwgen.datapath.goal import SPEED
from hwgen.netlist.book import chapter

GROUP = 8
"""Places of a group, among which a sum's first 1 is looked for at once."""


def or_from_above(m: Module, value: Value) -> Value:
    """For each place, whether there is a 1 in it or above."""
    span = 1
    while span < len(value):
        value = named(m, f"one_in_{2 * span}_from_here", value | (value >> span))
        span *= 2
    return value


def all_below(m: Module, name: str, value: Value) -> Value:
    """For each place and for the one above all, whether all places below it have a 1."""
    span = 1
    while span < len(value):
        value = named(m, f"{name}_ones_in_{2 * span}", value & Cat(Const(-1, span), value[:-span]))
        span *= 2
    return Cat(Const(1, 1), value)


def signed_magnitude(m: Module, name: str, value: Value, negative: Value, goal: str) -> tuple[Value, Value | None]:
    """The magnitude of a number in two's complement; for speed also for each place, whether a 1 is in it or above.

    The magnitude of a negative number is its complement plus 1. That reaches a place if the complement does, or if the
    1 is carried into it, past ones only.
    """
    complement = value ^ negative.replicate(len(value))
    if goal != SPEED:
        return named(m, name, (complement + negative)[: len(value)]), None
    complement = named(m, f"{name}_or_less_1", complement)
    carries = all_below(m, name, complement)[:-1] & negative.replicate(len(value))
    carries = named(m, f"{name}_carries", carries)
    above = named(m, f"{name}_from_above", or_from_above(m, complement) | carries)
    return named(m, name, complement ^ carries), above


def normalized(
    m: Module,
    value: Value,
    steps: int | None = None,
    *,
    above: Value | None = None,
    fill: Value | None = None,
    room: Value | None = None,
    name: str = "",
) -> tuple[Value, Value]:
    """Move a value left until its first bit is 1, in stages, and return it with the number of places.

    There are as many stages as the last place needs to become the first, unless ``steps`` says how many. If ``above``
    says for each place whether there is a 1 in it or above, they need not look for it; otherwise ``room`` may be the
    largest number of places that the value may move. ``fill`` moves in from the right; default: 0. The moved value has
    the ``name``, or one by the last step.
    """
    steps = (len(value) - 1).bit_length() if steps is None else steps
    known: dict[int, Value] = {} if above is None else dict(_moves_to_first(m, above, len(value) - 1))
    incoming = Const(0, 1) if fill is None else fill
    moves: list[Value] = []
    rooms: list[Value] = []  # first the room's bits above all moves, then those that earlier moves have not used up
    if room is not None:
        rooms = [named(m, f"room_for_{1 << steps}", room[steps:].any())]
    for k in reversed(range(steps)):
        step = 1 << k
        if not known:
            front = value[-step:].any()
            move = ~(named(m, f"one_in_first_{step}", front) if k else front)
            if room is not None:
                bit = room[k] if k < len(room) else Const(0, 1)
                move &= named(m, f"room_for_{step}", any_of([*rooms, bit]))
                rooms.insert(1, named(m, f"exponent_bit_{k}_remains", bit & ~move))
            move = named(m, f"moves_left_{step}", move)
        else:
            move = known[step]
        moved = f"moved_left_{step}" if k or not name else name
        value = named(m, moved, Mux(move, Cat(incoming.replicate(step), value[:-step]), value))
        moves = [move, *moves]
    return value, Cat(*moves)


def _moves_to_first(m: Module, above: Value, most: int) -> list[tuple[int, Value]]:
    """The stages that move a value left until its first 1 is in front, the largest first, and whether each does.

    ``above`` says for each place whether there is a 1 in it or above; without a 1 in the first ``most`` places, they
    move the value by that number.
    """
    steps = most.bit_length()
    window, moves = Cat(Const(-1, (1 << steps) - most), above[-most:]), []
    for step in (1 << k for k in reversed(range(steps))):
        move = named(m, f"moves_left_{step}", ~window[step])
        window = Mux(move, window[:step], window[step:])
        if step > 1:
            window = named(m, f"one_from_above_after_{step}", window)
        moves.append((step, move))
    return moves


@dataclass(frozen=True)
class Normalized:
    """A number's first bits, a half bit last, and whether there are any ones below these.

    All stages together would move it by ``most`` places. ``room`` is the number of places that the number has moved
    less.
    """

    value: Value
    below: Value
    room: Value
    most: int


def _step_by_step(
    m: Module, value: Value, negative: Value, below: Value, steps: Sequence[int], precision: int
) -> Normalized:
    """Move a sum left while its first bits equal its sign, and cut it after the half bit."""
    chapter(m, f"Normalize: {len(value)} bits, shifted left while the first bit equals the sign")
    stays: dict[int, list[Value]] = {step: [] for step in steps}
    for number, step in enumerate(steps):
        front, again = value[-step:], "_again" if step in steps[:number] else ""
        move = named(m, f"moves_left_{step}{again}", Mux(negative, front.all(), ~front.any()))
        needed = precision + 1 + sum(steps[number + 1 :])
        value, below = _moved_and_cut(m, value, below, step, move, needed, again)
        stays[step].append(~move)
    first, *others = zip_longest(*reversed(stays.values()), fillvalue=Const(0, 1))
    room = reduce(add, (Cat(*bits) for bits in others), named(m, "places_not_moved", Cat(*first)))
    return Normalized(value, below, room, sum(steps))


def moved_at_once(
    m: Module, marks: Value, total: Value, below: Value, most: int, precision: int, *, beside: bool = False
) -> tuple[Normalized, Value]:
    """The one's complement of a negative sum, or the sum, moved left by at most ``most`` places; whether once more.

    How far is found beside the sum, or one place too little: then its first bit must move once more. A first selection
    chooses a group of places, a second one a place in the group; what these choose from is there before. ``beside`` the
    move, it is found whether a sum that is not negative must move once more; otherwise behind it.
    """
    negative, value = total[-1], total[:-1]
    chapter(
        m, f"Normalize: {len(value)} bits, shifted left to the first bit that is not the sign, found beside the sum"
    )
    marks = Cat(marks[: -most - 1 : -1], Const(1, 1))  # the front first; at the limit the move ends
    groups = [marks[place : place + GROUP] for place in range(0, len(marks), GROUP)]
    some = named(m, "group_has_mark", Cat(group.any() for group in groups))
    before = or_from_above(m, some[::-1])[::-1]
    leads = named(m, "group_has_first_mark", some & ~Cat(Const(0, 1), before[:-1]))
    firsts = [_first_of(m, place, group) for place, group in enumerate(groups)]
    places = named(m, "place_in_group", _chosen(leads, firsts))
    size, kept = precision + 1 + GROUP, precision + 2
    value = Cat(Const(0, max(GROUP * (len(groups) - 1) + size - len(value), 0)), value)
    ends = [len(value) - GROUP * number for number in range(len(groups))]
    moved = named(m, "moved_by_groups", _chosen(leads, [value[end - size : end] for end in ends]))
    fronts = Cat((first & value[end - GROUP : end][::-1]).any() for first, end in zip(firsts, ends, strict=True))
    below = below | (leads & Cat(value[: end - size].any() for end in ends)).any()
    complement = named(m, "one_complement_moved_by_groups", moved ^ negative.replicate(size))
    ends = [size - place for place in range(GROUP)]
    value = named(m, "one_complement", _chosen(places, [complement[end - kept : end] for end in ends]))
    below = named(m, "below_moved", below | (places & Cat(moved[: end - kept].any() for end in ends)).any())
    once_more = ~(leads & fronts).any() if beside else ~value[-1] & ~(leads[-1] & firsts[-1][-1])
    once_more = named(m, "moves_left_again", once_more)
    room = Cat(_number_of_first(places[::-1]), _number_of_first(leads[::-1]))
    return Normalized(value, below, named(m, "places_not_moved", room), GROUP * len(groups)), once_more


def _first_of(m: Module, number: int, group: Value) -> Value:
    """The first mark of a group alone; bit 0 is the first."""
    before = named(m, f"mark_before_in_group_{number}", Cat(group[:place].any() for place in range(len(group))))
    return named(m, f"first_mark_in_group_{number}", group & ~before)


def _chosen(which: Value, values: Sequence[Value]) -> Value:
    """The OR of the values that are chosen."""
    size = max(map(len, values))
    chosen = [extended(value, size) & bit.replicate(size) for bit, value in zip(which, values, strict=False)]
    return reduce(or_, chosen)


def _number_of_first(which: Value) -> Value:
    """The place of the only 1."""
    bits = range((len(which) - 1).bit_length())
    return Cat(any_of([bit for place, bit in enumerate(which) if place >> k & 1]) for k in bits)


def _moved_and_cut(
    m: Module, value: Value, below: Value, step: int, move: Value, needed: int, again: str = ""
) -> tuple[Value, Value]:
    """A value after a stage, without the bits after the ``needed`` ones, and whether there are ones below it."""
    value = named(m, f"moved_left_{step}{again}", Mux(move, Cat(Const(0, step), value)[: len(value)], value))
    if spare := max(len(value) - needed, 0):
        below = named(m, f"below_after_{step}{again}", below | value[:spare].any())
    return value[spare:], below


def anticipated(m: Module, places: Places, low: Value | None = None) -> Value:
    """Marks for a sum in two's complement, one for each place but the last one, which is the sign's.

    The first mark is in the place of the sum's first bit that differs from the sign, or one above it. No carry is
    needed: each mark follows from three neighbouring places of the addition, whose bits differ (``alternates``), are
    ``both`` 1, or ``neither``. After Schmookler and Nowka, Leading zero anticipation and detection, ARITH 2001, section
    3. The sum may have ``low`` bits in front of its first place, of one addend.
    """
    low = Cat() if low is None else low
    some = Cat(low, places.half[0] | places.generate[0], places.propagate)
    alternates = named(m, "addends_differ", Cat(low, places.half))
    here = named(m, "addends_both_1", Cat(Const(0, len(low)), places.generate)), named(m, "addends_both_0", ~some)
    passes = alternates[1:]
    below_not_both = named(m, "below_not_both_1", ~Cat(Const(0, 1), here[0][:-1]))
    below_not_neither = named(m, "below_not_both_0", ~Cat(Const(1, 1), here[1][:-1]))
    after = named(m, "here_if_above_differ", (here[0] & below_not_neither) | (here[1] & below_not_both))
    otherwise = (here[1] & below_not_neither) | (here[0] & below_not_both)
    otherwise = Cat(otherwise[:-1], otherwise[-1] | alternates[-2])  # behind equal signs
    otherwise = named(m, "here_if_above_are_alike", otherwise)
    return named(m, "first_bit_is_here_or_below", (passes & after) | (~passes & otherwise))


@dataclass(frozen=True)
class RoundedTotal:
    """The rounded magnitude of a sum, and whether this is negative.

    ``body`` has fraction and exponent field, ``leading_one`` is the first bit before rounding, and ``lost`` says that
    the sum is another number.
    """

    negative: Value
    body: Value
    leading_one: Value
    lost: Value


def rounded_total(
    m: Module,
    total: Value,
    marks: Value | None,
    sticky: Value,
    steps: Sequence[int],
    precision: int,
    exponent_less_1: Callable[[Normalized], Value],
    bits: int,
    keep: Value | None = None,
) -> RoundedTotal:
    """Normalize a sum in two's complement and round it to nearest, ties to even.

    For speed there are ``marks`` of its first bit, see :func:`anticipated`, and the body is 0 unless ``keep`` is 1.
    ``sticky`` says whether there are any ones below. ``steps`` are the places that the stages move: the powers of two
    up to one of them, each once or twice, the largest first. A number moves by no more than their sum. The target's
    significand has ``precision`` bits, its exponent field has ``bits``. ``exponent_less_1`` gives that field less 1 of
    a number that has been normalized and has its first 1.
    """
    negative = named(m, "total_negative", total[-1])
    if marks is not None:
        most = min(sum(steps), len(total) - 2)
        moved = moved_at_once(m, marks, total, sticky, most, precision)
        return _rounded_at_once(m, *moved, negative, exponent_less_1, bits, keep)
    first = _step_by_step(m, total[:-1], negative, sticky, steps, precision)
    kept, up, lost = _rounded_magnitude(m, first, negative)
    field = exponent_less_1(first)
    body = (Cat(kept[:-1], field) + Cat(up, Const(0, precision - 2), kept[-1]))[: precision - 1 + bits]
    return RoundedTotal(negative, body, kept[-1], lost)


def _rounded_magnitude(m: Module, number: Normalized, negative: Value) -> tuple[Value, Value, Value]:
    """The first bits of the magnitude, whether to add 1 to the last one, and whether anything is lost.

    The bits are those of the one's complement of a negative number, which lacks a unit in its last place. If nothing is
    below, that unit carries: it completes a half to a whole, or is a half. Rounding is to nearest, ties to even.
    """
    value, below = number.value, number.below
    chapter(m, f"Round: {len(value)} bits to {len(value) - 1}, to nearest, ties to even")
    complement = named(m, "one_complement", value ^ negative.replicate(len(value)))
    kept, half = complement[1:], complement[0]
    missing = named(m, "unit_missing", negative & ~below)
    up = named(m, "round_up", (half & (below | negative | kept[0])) | (missing & kept[0]))
    return kept, up, below | value[0]


def _rounded_at_once(
    m: Module,
    number: Normalized,
    once_more: Value,
    negative: Value,
    exponent_less_1: Callable[[Normalized], Value],
    bits: int,
    keep: Value | None,
) -> RoundedTotal:
    """The rounded number in both places that it may have: what comes late chooses one of four fractions.

    These are the fraction and this plus 1, moved once more or not. A carry out of the fraction is known before.
    """
    value, below = number.value, number.below
    chapter(m, f"Round: {len(value) - 1} bits to {len(value) - 2}, to nearest, ties to even, in both places")
    last = value[0] ^ negative  # without the complement, it is below a number that stays
    up, lost = {}, {}
    for moves, half, rest in ((0, value[1], below | last), (1, value[0], below)):
        kept = value[2 - moves]
        missing = negative & ~rest
        name = "if_moved_again" if moves else "if_not"
        up[moves] = named(m, f"round_up_{name}", (half & (rest | negative | kept)) | (missing & kept))
        lost[moves] = rest | (half ^ negative)
    field = exponent_less_1(number)
    exponents = [named(m, f"exponent_less_1_plus_{more}", (field + more)[:bits]) for more in range(4)]
    ones = named(m, "fraction_carries", all_below(m, "fraction", value[2:-1]))
    again = Cat(Const(1, 1), ones[:-1] & value[1].replicate(len(ones) - 1))
    bodies = []
    for moves, carries in ((0, ones), (1, again)):
        fraction = value[2 - moves : len(value) - 1 - moves]
        low, high = (Mux(value[-1 - moves], exponents[n + 1], exponents[n]) for n in (1 - moves, 2 - moves))
        bodies += [Cat(fraction, low), Cat(fraction ^ carries[:-1], Mux(carries[-1], high, low))]
    again, ups = (~once_more, once_more), [(~up[moves], up[moves]) for moves in (0, 1)]
    if keep is not None:
        again = again[0] & keep, again[1] & keep
    is_body = named(
        m, "result_is_body", Cat(place & own for place, both in zip(again, ups, strict=True) for own in both)
    )
    body = _chosen(is_body, [named(m, f"body_{place}", item) for place, item in enumerate(bodies)])
    leading_one = named(m, "leading_one", Mux(once_more, value[-2], value[-1]))
    return RoundedTotal(negative, body, leading_one, Mux(once_more, lost[1], lost[0]))
