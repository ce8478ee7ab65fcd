"""Sums as linear forms: a full adder's bits obey ``a + b + c = sum + 2 * carry``, an inverter's ``~x = 1 - x``.

A word that adders compute is traced back through them, whatever their order, to bits that are not the outputs of
adders. If every carry is cancelled by the place above, the word is a sum of these bits with weights. No solver is
needed, and the time is proportional to the number of adders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synth.proof.gates import ADDER, CARRY, INVERTER, Netlist

_Addends = tuple[int, ...]

NOWHERE = -1
"""Stands for a carry that is not in the netlist; no proof accepts a form with it."""


@dataclass(frozen=True)
class LinearForm:
    """``constant`` plus the sum of ``terms``, weights of nets, modulo ``modulus``."""

    terms: Mapping[int, int]
    constant: int
    modulus: int


def linear_form(
    netlist: Netlist, word: Sequence[int], width: int | None = None, count: Sequence[int] = ()
) -> LinearForm:
    """The unsigned word of some nets, least significant first, modulo ``2**width``; default: its length.

    A carry that no place above cancels remains as a term. If the word ``count`` is the number of ones among some bits,
    and long enough for all of them, these replace it in the form, although its last carry may not be in the netlist.
    """
    modulus = 1 << (len(word) if width is None else width)
    outputs: dict[tuple[str, _Addends], list[int]] = {}
    groups: dict[int, _Addends] = {}
    carries_of: dict[int, _Addends] = {}
    for net, gate in enumerate(netlist.gates, netlist.first_gate):
        if gate.kind in ADDER and net not in count:
            groups[net] = tuple(sorted(gate.pins))
            outputs.setdefault((gate.kind, groups[net]), []).append(net)
            if gate.kind == CARRY:
                carries_of[net] = groups[net]
        elif gate.kind == INVERTER and (gate.pins[0] in groups or gate.pins[0] in count):
            groups[net] = gate.pins
            outputs.setdefault((INVERTER, gate.pins), []).append(net)
    weights: dict[int, int] = {}
    for place, net in enumerate(word):
        weights[net] = weights.get(net, 0) + (1 << place)
    readers = _readers(groups, word)
    ready = [addends for addends, count in readers.items() if not count]
    terms: dict[int, int] = {}
    while ready:
        addends = ready.pop()
        if len(addends) == 1:  # of an inverter
            weight = -sum(weights.pop(net, 0) for net in outputs[INVERTER, addends])
            weights[1] = weights.get(1, 0) - weight
        else:
            sums, carries = (outputs.get((kind, addends), ()) for kind in ADDER)
            weight = sum(weights.pop(net, 0) for net in sums)
            rest = (sum(weights.pop(net, 0) for net in carries) - 2 * weight) % modulus
            carry = _known_carry(addends, carries_of)
            if carry != NOWHERE:
                weights[carry] = weights.get(carry, 0) + rest
            elif rest:
                terms[carries[0] if carries else NOWHERE] = rest
        for net in addends:
            weights[net] = weights.get(net, 0) + weight
            if net in groups:
                readers[groups[net]] -= 1
                if not readers[groups[net]]:
                    ready.append(groups[net])
    for net, weight in weights.items():
        if weight % modulus:
            terms[net] = (terms.get(net, 0) + weight) % modulus
    for net in [net for net in terms if net >= netlist.first_gate]:
        kind, pins = netlist.gates[net - netlist.first_gate].kind, netlist.gates[net - netlist.first_gate].pins
        if kind == INVERTER and pins[0] < netlist.first_gate:  # an inverted input: 1 - x
            weight = terms.pop(net)
            terms[1] = terms.get(1, 0) + weight
            terms[pins[0]] = (terms.get(pins[0], 0) - weight) % modulus
    if count:
        _replace_count(terms, count, linear_form(netlist, count), modulus)
    terms = {net: weight % modulus for net, weight in terms.items() if weight % modulus}
    constant = terms.pop(1, 0) % modulus
    terms.pop(0, None)
    return LinearForm(terms, constant, modulus)


def _replace_count(terms: dict[int, int], count: Sequence[int], ones: LinearForm, modulus: int) -> None:
    """In place of the bits of a count, take those that it counts; its own form is exact if it has room for them all."""
    weight, is_count = terms.get(count[0], 0), not ones.constant and {*ones.terms.values()} == {1}
    has_all = all(terms.get(net, 0) == (weight << place) % modulus for place, net in enumerate(count))
    if is_count and has_all and len(ones.terms) < ones.modulus:
        terms |= dict.fromkeys(count, 0)
        terms |= {net: terms.get(net, 0) + weight for net in ones.terms}


def _known_carry(addends: _Addends, carries: Mapping[int, _Addends]) -> int:
    """The net that a carry equals, or :data:`NOWHERE`.

    It is one of two equal addends, or the third beside 0 and 1. In the second of two places with the same addends, as
    in front of a number in two's complement, it is the carry from the first: both are then that of the number's sign.
    """
    first, second, third = addends
    if second in (first, third):
        return second
    if (first, second) == (0, 1):
        return third
    for carry in addends:
        before = list(carries.get(carry, ()))
        others = [net for net in addends if net != carry]
        for net in others:
            if net in before:
                before.remove(net)
        if len(before) == 1:
            return carry
    return NOWHERE


def _readers(groups: Mapping[int, _Addends], word: Sequence[int]) -> dict[_Addends, int]:
    """The adders and inverters that a word depends on through these alone, and how many of them read each."""
    readers = {groups[net]: 0 for net in word if net in groups}
    waiting = list(readers)
    while waiting:
        for net in waiting.pop():
            if net in groups:
                if groups[net] not in readers:
                    readers[groups[net]] = 0
                    waiting.append(groups[net])
                readers[groups[net]] += 1
    return readers
