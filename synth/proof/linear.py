"""Registers of random words: all gates are exclusive ors, so the words are linear functions of the state's bits.

A linear function is known from the states that have a single 1, and 0. What the reference model makes of these is
compared with the function that the gates are, which needs no solver. It rests on the model being linear, as its
definition is.
"""

from collections.abc import Iterator
from functools import cached_property, partial

import numpy as np

from hwgen.datapath.random import Random
from hwgen.reference.trace import stepped
from synth.proof.gates import Netlist, NetlistError, NotShownError, apply
from synth.proof.solver import Claim, Pins, Proof

_LINEAR = ("BUF", "XOR", "SUM")
_INVERTING = {"NOT": "BUF", "XNOR": "XOR"}


def forms(netlist: Netlist) -> list[int]:
    """The linear function of each output bit: bit n is 1 if it has input bit n, and the one above, if it is inverted.

    It is a NotShownError if a gate is no exclusive or.
    """
    width = netlist.first_gate - 2
    nets = [0, 1 << width, *(1 << place for place in range(width))]
    for gate in netlist.gates:
        kind = _INVERTING.get(gate.kind, gate.kind)
        if kind not in _LINEAR:
            raise NotShownError(f"a {gate.kind} gate is no exclusive or")
        nets.append(apply(kind, [nets[pin] for pin in gate.pins]) ^ (1 << width if kind != gate.kind else 0))
    return [nets[net] for net in netlist.driven]


def different(source: Random, netlist: Netlist) -> Iterator[Pins | None]:
    """For each output bit of an enabled cycle a state in which it is wrong; None if it is right in every state."""
    width = source.width
    states = [1 << place for place in range(width)] + [0]
    words, after = (column.tolist() for column in stepped(source, np.array(states, np.uint64)))
    rows = [word | state << len(source.random) for word, state in zip(words, after, strict=True)]
    for bit, form in enumerate(forms(netlist)):
        single = [form >> place & 1 ^ form >> width for place in range(width)] + [form >> width]
        wrong = (state for state, row, value in zip(states, rows, single, strict=True) if row >> bit & 1 != value)
        yield next(({"state": state} for state in wrong), None)


def check_register(source: Random, netlist: Netlist) -> None:
    """Refuse an enabled cycle, from ``state`` to ``random`` and ``state_after``, that is not golden's in some state."""
    try:
        wrong = next((pins for pins in different(source, netlist) if pins is not None), None)
    except NotShownError as problem:
        raise NetlistError(f"{netlist.top} must have a register of exclusive ors: {problem}") from problem
    if wrong is not None:
        words = f"the words of golden.lfsr.Lfsr({source.width}, {source.random_bits})"
        raise NetlistError(f"{netlist.top} must make {words}; its step from the state {wrong['state']:#x} is another")


class RandomProof(Proof):
    """A register, bit by bit; the last claim stands for all states."""

    method = "proof by linearity: each bit of the words and of the next state is the reference model's in every state"
    quick = True
    keeps_adders = True
    knows = frozenset({"width", "random-bits", "lanes", "random-seed"})

    @cached_property
    def claims(self) -> list[Claim]:
        results = list(different(self.design.core, self.netlist))
        cases = [0] * (len(results) - 1) + [1 << self.design.core.width]
        return [
            Claim(f"bit {bit}", count, partial(lambda pins: pins, pins))
            for bit, (count, pins) in enumerate(zip(cases, results, strict=True))
        ]
