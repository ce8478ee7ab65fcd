"""Exact sums whose last adder is a parallel prefix: the solver shows that it adds, and full adders what it adds."""

from collections.abc import Sequence
from dataclasses import replace

from synth.proof.adders import LinearForm
from synth.proof.bits import cat
from synth.proof.dot import ExactDotProof
from synth.proof.gates import CARRY, INVERTER, SUM, Gate, Netlist, NotShownError
from synth.proof.solver import Solver
from synth.proof.twofold import full_adders, linear_form_of_rows

_NETS = "total_half_sum", "total_generate", "total_propagate"
"""Of a parallel prefix: sums without carries, carries, and from place 1 on whether a carry passes, of each place."""


class PrefixDotProof(ExactDotProof):
    """A dot product into ``exact`` built for speed: two rows, added by parallel prefix.

    The sum of two rows is that of their half sums and of twice the carries that places generate. Once the solver has
    shown that the prefix adds these, whatever they are, full adders place by place stand for it. A module without nets
    of their names must have full adders to begin with.
    """

    method = (
        "proof by decomposition: the full adders add, every lane adds its product for all pairs of codes, and the "
        "solver (bitwuzla) shows that the parallel prefix adds all rows, and the flags for all states"
    )

    def _check_word(self, total: Sequence[int]) -> None:
        if not all(map(self.has_word, _NETS)):
            super()._check_word(total)
            return
        size = len(total)
        half, generate, propagate = (
            self.word(name)[: size - less] for name, less in zip(_NETS, (0, 1, 2), strict=True)
        )
        if not len(half) == len(generate) + 1 == len(propagate) + 2 == size:
            raise NotShownError("the nets of the parallel prefix are shorter than the sum")
        adders = full_adders(self.netlist)
        _check_apart(adders, half, generate)
        _check_passes(self.netlist, half, generate, propagate)
        self._check_prefix(total, half, generate, propagate)
        netlist, word = _chained(adders, half, (0, *generate))
        _CompressedProof(self.design, netlist)._check_word(word)

    def _check_prefix(
        self, total: Sequence[int], half: Sequence[int], generate: Sequence[int], propagate: Sequence[int]
    ) -> None:
        """Show that a word is the sum of half sums and carries, if these are not both 1 in any place."""
        solver = Solver()
        halves, carries = solver.variable("half", len(half)), solver.variable("generate", len(generate))
        passes = halves[1 : len(generate)] + carries[1:]  # where both are never 1, the same as one or the other
        known, relations = self.bound_words(solver, [(half, halves), (generate, carries), (propagate, passes)])
        relations.append((halves[: len(generate)] & carries) == 0)
        bits = cat(*solver.nets(self.netlist, known, total))
        claim = bits == halves + cat(solver.false, *carries)
        if solver.search(solver.all(relations).implies(claim), {}) is not None:
            raise NotShownError("the total is not the sum of its two rows")


class _CompressedProof(ExactDotProof):
    """The sum of two rows that full adders make of the bits of all lanes."""

    def _form(self, total: Sequence[int]) -> LinearForm:
        return linear_form_of_rows(self.netlist, total)


def _check_apart(netlist: Netlist, half: Sequence[int], generate: Sequence[int]) -> None:
    """Show that the half sum and the carry of a place are never both 1, as those of a full adder can be."""
    gates = dict(enumerate(netlist.gates, netlist.first_gate))
    for place, (bit, carry) in enumerate(zip(half, generate, strict=False)):
        gate, other = gates.get(bit), gates.get(carry)
        pins = gate.pins if gate is not None else ()
        is_half_adder = 0 in pins and (gate, other) == (Gate(SUM, pins), Gate(CARRY, pins))
        if not (0 in (bit, carry) or is_half_adder or gate == Gate("NOT", (carry,))):
            raise NotShownError(f"the half sum and the carry of place {place} may both be 1")


def _check_passes(netlist: Netlist, half: Sequence[int], generate: Sequence[int], propagate: Sequence[int]) -> None:
    """Show that a carry passes, from place 1 on, if and only if the half sum or the carry of the place is 1."""
    gates = dict(enumerate(netlist.gates, netlist.first_gate))
    for place, (bit, carry, passes) in enumerate(zip(half[1:], generate[1:], propagate, strict=False), 1):
        pins = gates[bit].pins if bit in gates else ()
        kinds = [(gates[net].kind, {*gates[net].pins}) for net in (bit, carry, passes) if net in gates]
        is_either = kinds == [(kind, {*pins}) for kind in ("XOR", "AND", "OR")]
        is_inverse = passes == 1 and bit in gates and gates[bit] == Gate(INVERTER, (carry,))
        if not (is_either or is_inverse or (passes == bit and carry == 0) or (passes == carry and bit == 0)):
            raise NotShownError(f"place {place} may pass another carry than its half sum and its carry say")


def _chained(netlist: Netlist, first: Sequence[int], second: Sequence[int]) -> tuple[Netlist, tuple[int, ...]]:
    """The netlist with full adders behind its gates, and the sum of two rows that they make."""
    gates, word, carry = list(netlist.gates), list[int](), 0
    for pair in zip(first, second, strict=True):
        addends = *pair, carry
        word.append(netlist.first_gate + len(gates))
        carry = word[-1] + 1
        gates += [Gate(kind, addends) for kind in (SUM, CARRY)]
    return replace(netlist, gates=tuple(gates)), tuple(word)
