"""Queries to an SMT solver, which searches for an input on which gates and specification differ."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from golden import Flag
from hwgen.blocks.block import Design
from hwgen.reference import reference
from synth.proof.gates import Netlist, NotShownError

if TYPE_CHECKING:
    from bitwuzla import Term


Item = TypeVar("Item")


class Solver:
    """A query: bits as Boolean terms, words as bit vectors."""

    def __init__(self) -> None:
        from bitwuzla import Bitwuzla, Kind, Option, Options, TermManager

        self.kind = Kind
        self.manager: TermManager = TermManager()
        settings = Options()
        settings.set(Option.PRODUCE_MODELS, True)
        self.solver: Bitwuzla = Bitwuzla(self.manager, settings)
        self.true, self.false = self.manager.mk_true(), self.manager.mk_false()

    def term(self, kind: str, *arguments: "Term", indices: Sequence[int] = ()) -> "Term":
        """A term of bitwuzla's kind ``kind``."""
        return self.manager.mk_term(getattr(self.kind, kind), list(arguments), list(indices))

    def word(self, value: int, width: int) -> "Term":
        """A constant word."""
        return self.manager.mk_bv_value(self.manager.mk_bv_sort(width), value)

    def number(self, value: int, width: int) -> "Term":
        """A constant number in two's complement."""
        return self.word(value % (1 << width), width)

    def variable(self, name: str, width: int) -> "Term":
        """An unknown word."""
        return self.manager.mk_const(self.manager.mk_bv_sort(width), name)

    def extract(self, word: "Term", last: int, first: int = 0) -> "Term":
        """The bits of a word from place ``first`` to ``last``, as a word."""
        return self.term("BV_EXTRACT", word, indices=(last, first))

    def bits(self, word: "Term", width: int) -> list["Term"]:
        """The bits of a word, least significant first."""
        return [self.equal(self.extract(word, place, place), self.word(1, 1)) for place in range(width)]

    def join(self, bits: Sequence["Term"]) -> "Term":
        """The word with these bits, least significant first."""
        digits = [self.choose(bit, self.word(1, 1), self.word(0, 1)) for bit in reversed(bits)]
        return self.term("BV_CONCAT", *digits) if len(digits) > 1 else digits[0]

    def choose(self, condition: "Term", then: "Term", otherwise: "Term") -> "Term":
        """``then`` if the condition is true, else ``otherwise``."""
        return self.term("ITE", condition, then, otherwise)

    def either(self, terms: Sequence["Term"]) -> "Term":
        """Whether at least one of the terms is true."""
        return self.term("OR", *terms) if len(terms) > 1 else terms[0]

    def all(self, terms: Sequence["Term"]) -> "Term":
        """Whether all terms are true."""
        return self.term("AND", *terms) if len(terms) > 1 else terms[0]

    def negate(self, term: "Term") -> "Term":
        """Whether a term is false."""
        return self.term("NOT", term)

    def equal(self, left: "Term", right: "Term") -> "Term":
        """Whether two terms are equal."""
        return self.term("EQUAL", left, right)

    def outputs(self, netlist: Netlist, known: Mapping[int, "Term"]) -> "Term":
        """The outputs of a netlist as one word; ``known`` has the terms of its input nets, or of nets inside."""
        return self.join(self.nets(netlist, known, netlist.driven))

    def nets(self, netlist: Netlist, known: Mapping[int, "Term"], nets: Sequence[int]) -> list["Term"]:
        """The terms of some nets."""
        terms: dict[int, Term] = {0: self.false, 1: self.true, **known}
        for net, gate in enumerate(netlist.gates, netlist.first_gate):
            if net not in terms and all(pin in terms for pin in gate.pins):
                terms[net] = self._gate(gate.kind, [terms[pin] for pin in gate.pins])
        if any(net not in terms for net in nets):
            raise NotShownError("a net depends on other inputs than it should")
        return [terms[net] for net in nets]

    def _gate(self, kind: str, pins: Sequence["Term"]) -> "Term":
        match kind:
            case "NOT" | "AND" | "OR" | "XOR":
                return self.term(kind, *pins)
            case "NAND" | "NOR" | "XNOR":
                return self.negate(self.term({"NAND": "AND", "NOR": "OR", "XNOR": "XOR"}[kind], *pins))
            case "ANDNOT" | "ORNOT":
                return self.term(kind[:-3], pins[0], self.negate(pins[1]))
            case "MUX":
                return self.choose(pins[2], pins[1], pins[0])
            case "SUM":
                return self.term("XOR", *pins)
            case "CARRY":
                first, second, third = pins
                pair = self.term("AND", third, self.term("OR", first, second))
                return self.term("OR", self.term("AND", first, second), pair)
        raise ValueError(f"Unknown gate {kind!r}")

    def search(self, claim: "Term", names: Mapping[str, "Term"]) -> dict[str, int] | None:
        """None if a claim is always true, else values for which it is false; a RuntimeError if the solver gives up."""
        from bitwuzla import Result

        self.solver.assert_formula(self.negate(claim))
        result = self.solver.check_sat()
        if result == Result.UNSAT:
            return None
        if result != Result.SAT:
            raise RuntimeError(f"the solver found neither a proof nor a counterexample: {result}")
        return {name: int(self.solver.get_value(word).value(10)) for name, word in names.items()}


class Proof(ABC):
    """A claim about all inputs of a block, in parts that are proved separately.

    Attributes
    ----------
    method : str
        The claim as a sentence, for the evidence.
    parts : int
    quick : bool
        Whether proving all parts takes less time than starting processes for them.
    keeps_adders : bool
        Whether the netlist must have full adders.
    knows : frozenset of str
        Options of blocks that the claim supports.
    """

    method: str
    parts: int
    quick = False
    keeps_adders = False
    knows: frozenset[str]

    def __init__(self, design: Design, netlist: Netlist):
        self.design, self.netlist = design, netlist
        model = reference(design)
        self.inputs, self.outputs = model.arguments, model.results

    def expected_flags(self, word: Sequence[Item]) -> list[Item]:
        """The outputs after the first one: those of the flag word, and overflow alone, that the block has."""
        flags = list(word) if "flags" in self.outputs else []
        return flags + ([word[Flag.OVERFLOW.bit_length() - 1]] if "overflow" in self.outputs else [])

    @abstractmethod
    def cases(self, part: int) -> int:
        """Number of inputs that a part covers."""

    @abstractmethod
    def prove(self, part: int) -> dict[str, int] | None:
        """An input of the part on which netlist and specification differ; None if there is none."""
