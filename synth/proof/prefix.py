"""Exact sums whose last adder is a parallel prefix: the solver shows that it adds, and full adders what it adds."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from synth.proof.adders import LinearForm
from synth.proof.bits import Bits, cat
from synth.proof.dot import ExactDotProof, SumProof
from synth.proof.gates import CARRY, INVERTER, SUM, Gate, Netlist, NotShownError
from synth.proof.solver import Solver
from synth.proof.twofold import full_adders, linear_form_of_rows

_NETS = "half_sum", "generate", "propagate"
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
        if not is_by_prefix(self, "total"):
            super()._check_word(total)
            return
        netlist, word = rows_added(self, "total", total)
        _CompressedProof(self.design, netlist)._check_word(word)


class _CompressedProof(ExactDotProof):
    """The sum of two rows that full adders make of the bits of all lanes."""

    def _form(self, total: Sequence[int]) -> LinearForm:
        return linear_form_of_rows(self.netlist, total)


def without_inverses(form: LinearForm, netlist: Netlist, nets: Collection[int]) -> LinearForm:
    """The form in which 1 - x stands for the inverse of a net x; a bit that meets a constant 1 leaves it."""
    gates, terms, constant = dict(enumerate(netlist.gates, netlist.first_gate)), dict(form.terms), form.constant
    for net, weight in form.terms.items():
        if net in gates and gates[net].kind == INVERTER and gates[net].pins[0] in nets:
            (pin,) = gates[net].pins
            constant += terms.pop(net)
            terms[pin] = terms.get(pin, 0) - weight
    terms = {net: weight % form.modulus for net, weight in terms.items() if weight % form.modulus}
    return LinearForm(terms, constant % form.modulus, form.modulus)


def is_by_prefix(proof: SumProof, name: str) -> bool:
    """Whether the module has the nets of the parallel prefix of a word."""
    return all(proof.has_word(f"{name}_{part}") for part in _NETS)


def rows_added(proof: SumProof, name: str, total: Sequence[int]) -> tuple[Netlist, tuple[int, ...]]:
    """A netlist in which full adders stand for the prefix that a word is shown to be the sum of, and that word."""
    adders, (half, generate, propagate) = full_adders(proof.netlist), _places(proof, name, len(total))
    _check_apart(adders, half, generate)
    _check_passes(proof.netlist, half, generate, propagate)
    solver = Solver()
    expected, words = places_of(proof, solver, name, len(total))
    known, relations = proof.bound_words(solver, words)
    bits = cat(*solver.nets(proof.netlist, known, total))
    if solver.search(solver.all(relations).implies(bits == expected), {}) is not None:
        raise NotShownError(f"{name} is not the sum of its two rows")
    return _chained(adders, half, (0, *generate))


def places_of(
    proof: SumProof, solver: Solver, name: str, size: int | None = None
) -> tuple[Bits, list[tuple[Sequence[int], Bits]]]:
    """Any sum of half sums and carries that are not both 1 in any place, and the nets with these words."""
    half, generate, propagate = _places(proof, name, len(proof.word(name)) if size is None else size)
    choices, own = solver.variable("half", len(half)), solver.variable("generate", len(generate))
    carries = own & (-1 - choices[: len(generate)])
    passes = choices[1 : len(generate)] + carries[1:]  # where both are never 1, the same as one or the other
    return choices + cat(solver.false, *carries), [(half, choices), (generate, carries), (propagate, passes)]


def _places(proof: SumProof, name: str, size: int) -> list[tuple[int, ...]]:
    """The nets of half sums, carries, and whether carries pass."""
    words = [proof.word(f"{name}_{part}")[: size - less] for part, less in zip(_NETS, (0, 1, 2), strict=True)]
    if [len(word) for word in words] != [size, size - 1, size - 2]:
        raise NotShownError("the nets of the parallel prefix are shorter than the sum")
    return words


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
