"""Normalization: shifts that move a number left to its first 1, or to the first bit that differs from its sign.

For area, each stage looks for the first 1 in the value that the stage before it leaves. For speed, the first 1 is found
beside the shift, or even beside the addition in front of it: it is known of every place beforehand whether a 1 is in it
or above. The last of these bits in the front half says whether a stage moves the value, and half of them remain. So a
stage takes no longer than a multiplexer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, zip_longest
from operator import add

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hwgen.datapath.arithmetic import any_of, named
from hwgen.datapath.goal import SPEED
from hwgen.netlist.book import chapter


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
    less, but for 1 more if ``late`` is 1.
    """

    value: Value
    below: Value
    room: Value
    most: int
    late: Value


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
    return Normalized(value, below, room, sum(steps), Const(0, 1))


def _at_once(
    m: Module, addends: tuple[Value, Value], total: Value, below: Value, most: int, precision: int
) -> Normalized:
    """Move a sum left by at most ``most`` places; how many it takes, or one too few, is found beside the sum."""
    negative, value = total[-1], total[:-1]
    chapter(
        m, f"Normalize: {len(value)} bits, shifted left to the first bit that is not the sign, found beside the sum"
    )
    above = or_from_above(m, _anticipated(m, *addends))
    moves = _moves_to_first(m, above, most)
    all_places = sum(step for step, _ in moves) + 1
    needed = precision + 1 + all_places
    for step, move in moves:
        needed -= step
        value, below = _moved_and_cut(m, value, below, step, move, needed)
    # The place found may be one too early, unless the move is limited: then the first bit stays below.
    once_more = named(m, "moves_left_1_again", ~(value[-1] ^ negative) & above[-most])
    value, below = _moved_and_cut(m, value, below, 1, once_more, precision + 1, "_again")
    room = named(m, "places_not_moved", Cat(~move for _, move in reversed(moves)))
    return Normalized(value, below, room, all_places, ~once_more)


def _moved_and_cut(
    m: Module, value: Value, below: Value, step: int, move: Value, needed: int, again: str = ""
) -> tuple[Value, Value]:
    """A value after a stage, without the bits after the ``needed`` ones, and whether there are ones below it."""
    value = named(m, f"moved_left_{step}{again}", Mux(move, Cat(Const(0, step), value)[: len(value)], value))
    if spare := max(len(value) - needed, 0):
        below = named(m, f"below_after_{step}{again}", below | value[:spare].any())
    return value[spare:], below


def _anticipated(m: Module, a: Value, b: Value) -> Value:
    """Marks for the sum of two numbers in two's complement, without their sign's place.

    The first mark is in the place of the first bit of ``a + b`` that differs from the sign, or one above it. No carry
    is needed: each mark follows from three neighbouring places, whose bits differ (``alternates``), are ``both`` 1, or
    ``neither``. After Schmookler and Nowka, Leading zero anticipation and detection, ARITH 2001, section 3.
    """
    alternates = named(m, "addends_differ", a ^ b)
    both, neither = named(m, "addends_both_1", a & b), named(m, "addends_both_0", ~(a | b))
    passes, here = alternates[1:], (both[:-1], neither[:-1])
    below_not_both = named(m, "below_not_both_1", ~Cat(Const(0, 1), both[:-2]))
    below_not_neither = named(m, "below_not_both_0", ~Cat(Const(1, 1), neither[:-2]))
    after = named(m, "here_if_above_differ", (here[0] & below_not_neither) | (here[1] & below_not_both))
    otherwise = named(m, "here_if_above_are_alike", (here[1] & below_not_neither) | (here[0] & below_not_both))
    marks = (passes & after) | (~passes & otherwise)
    first = ~alternates[-1] & alternates[-2]  # behind equal signs
    return named(m, "first_bit_is_here_or_below", Cat(marks[:-1], marks[-1] | first))


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
    addends: tuple[Value, Value],
    sticky: Value,
    steps: Sequence[int],
    precision: int,
    exponent_less_1: Callable[[Normalized], Value],
    bits: int,
    goal: str,
) -> RoundedTotal:
    """Normalize a sum in two's complement and round it to nearest, ties to even.

    The total is the sum of two ``addends`` of its width; ``sticky`` says whether there are any ones below. ``steps``
    are the places that the stages move: the powers of two up to one of them, each once or twice, the largest first. A
    number moves by no more than their sum. The target's significand has ``precision`` bits, its exponent field has
    ``bits``. ``exponent_less_1`` gives that field less 1 of a number that has been normalized, but for what is
    ``late``.
    """
    negative = named(m, "total_negative", total[-1])
    if goal == SPEED:
        first = _at_once(m, addends, total, sticky, min(sum(steps), len(total) - 2), precision)
    else:
        first = _step_by_step(m, total[:-1], negative, sticky, steps, precision)
    kept, up, lost = _rounded_magnitude(m, first, negative)
    field = exponent_less_1(first)
    if goal == SPEED:
        exponents = [named(m, f"exponent_less_1_plus_{more}", (field + more)[:bits]) for more in range(4)]
        body = _packed(m, kept, up, exponents, first.late)
    else:
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


def _packed(m: Module, kept: Value, up: Value, exponents: list[Value], late: Value) -> Value:
    """Fraction and exponent of a rounded number: what the carries choose is there before they are.

    ``kept`` is its significand before it is rounded, to which ``up`` adds 1 in the last place. ``exponents`` are the
    exponent less 1, and this plus 1, 2 and 3; ``late`` adds 1 to it.
    """
    fraction = kept[:-1]
    carries = named(m, "fraction_carries", all_below(m, "fraction", fraction))
    plus_1 = named(m, "fraction_plus_1", fraction ^ carries[:-1])
    by_late = [Mux(late, after, before) for before, after in pairwise(exponents)]
    low, high = (Mux(kept[-1], after, before) for before, after in pairwise(by_late))
    low, high = named(m, "exponent_if_no_carry", low), named(m, "exponent_if_carry", high)
    return Cat(Mux(up, plus_1, fraction), Mux(up & carries[-1], high, low))
