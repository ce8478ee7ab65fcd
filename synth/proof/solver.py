"""Proofs as lists of claims, and the SMT solver that searches for an input on which a claim is wrong."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from bitwuzla import Bitwuzla, Kind, Option, Options, Result, TermManager

from golden import Flag
from hwgen.blocks.block import Design
from hwgen.reference import reference
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.gates import Netlist, apply

Item = TypeVar("Item")
Pins = dict[str, int]
"""Inputs of a block."""
Search = Callable[[], Pins | None]
"""Returns inputs on which netlist and specification differ; None if there are none."""


class Solver:
    """A query: bits as truth values, words as bit vectors."""

    def __init__(self) -> None:
        self.manager = TermManager()
        settings = Options()
        settings.set(Option.PRODUCE_MODELS, True)
        self.solver = Bitwuzla(self.manager, settings)
        self.true, self.false = (Bool(self.manager, term) for term in (self.manager.mk_true(), self.manager.mk_false()))

    def word(self, value: int, width: int) -> Bits:
        return Bits(self.manager, self.manager.mk_bv_value(self.manager.mk_bv_sort(width), value), width)

    def number(self, value: int, width: int) -> Bits:
        """A constant number with a sign."""
        return self.word(value % (1 << width), width).signed

    def variable(self, name: str, width: int) -> Bits:
        """An unknown word."""
        return Bits(self.manager, self.manager.mk_const(self.manager.mk_bv_sort(width), name), width)

    def any(self, terms: Iterable[Bool]) -> Bool:
        return self._joined(Kind.OR, terms, self.false)

    def all(self, terms: Iterable[Bool]) -> Bool:
        return self._joined(Kind.AND, terms, self.true)

    def _joined(self, kind: Kind, terms: Iterable[Bool], empty: Bool) -> Bool:
        first, *others = [item.term for item in terms] or [empty.term]
        return Bool(self.manager, self.manager.mk_term(kind, [first, *others]) if others else first)

    def same(self, left: Iterable[Bool], right: Iterable[Bool]) -> Bool:
        """Whether two sequences of truth values are equal."""
        return self.all(one == other for one, other in zip(left, right, strict=True))

    def outputs(self, netlist: Netlist, known: Mapping[int, Bool]) -> Bits:
        """The outputs of a netlist as one word; ``known`` has the values of its input nets, or of nets inside."""
        return cat(*self.nets(netlist, known, netlist.driven))

    def nets(self, netlist: Netlist, known: Mapping[int, Bool], nets: Sequence[int]) -> list[Bool]:
        terms = {0: self.false, 1: self.true, **known}
        for net in netlist.cone(nets, known):
            gate = netlist.gates[net - netlist.first_gate]
            pins = [terms[pin] for pin in gate.pins]
            terms[net] = ite(*reversed(pins)) if gate.kind == "MUX" else apply(gate.kind, pins)
        return [terms[net] for net in nets]

    def search(self, claim: Bool, words: Mapping[str, Bits]) -> Pins | None:
        """None if a claim is always true, else values for which it is false; a RuntimeError if the solver gives up."""
        self.solver.assert_formula((~claim).term)
        result = self.solver.check_sat()
        if result == Result.UNSAT:
            return None
        if result != Result.SAT:
            raise RuntimeError(f"the solver found neither a proof nor a counterexample: {result}")
        return {name: int(self.solver.get_value(word.term).value(10)) for name, word in words.items()}


@dataclass(frozen=True)
class Claim:
    """One of the claims that a proof consists of; its search raises a NotShownError if it cannot be shown."""

    what: str
    cases: int  # number of inputs that it covers
    search: Search


class Proof(ABC):
    """Claims that together cover all inputs of a block; each is proved separately."""

    method: str  # all claims as a sentence, for the evidence
    quick = False  # whether proving all parts takes less time than starting processes for them
    keeps_adders = False  # whether the netlist must have full adders
    has_free = False  # whether undefined values may be any
    knows: frozenset[str]  # options of blocks that the claims support

    def __init__(self, design: Design, netlist: Netlist):
        self.design, self.netlist = design, netlist
        model = reference(design)
        self.inputs, self.outputs = model.arguments, model.results

    @cached_property
    @abstractmethod
    def claims(self) -> list[Claim]:
        """All parts."""

    def bound(self, port: str, word: Bits) -> dict[int, Bool]:
        """The input nets of a port with the bits of a word."""
        return dict(zip(self.netlist.input_nets(port), word, strict=True))

    def expected_flags(self, word: Sequence[Item]) -> list[Item]:
        """The outputs after the first one: those of the flag word, and overflow alone, that the block has."""
        flags = list(word) if "flags" in self.outputs else []
        return flags + ([word[Flag.OVERFLOW.bit_length() - 1]] if "overflow" in self.outputs else [])
