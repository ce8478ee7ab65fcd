"""Proofs where enumeration ends: a solver searches for an input on which gates and specification differ, and finds that there is none.

The specifications share nothing with the hardware. A MAC into binary32 is held against the addition of IEEE 754 as SMT-LIB's theory of
floating-point numbers defines it; an ``exact`` one against an addition of integers; an encoder with stochastic rounding against the
comparison that defines it, between integers. Products, values and codes in them are golden's.

A MAC is taken apart where its netlist allows it, whoever wrote it: gates that depend on the codes alone are evaluated for all pairs, and
what they hand on to the rest, together with golden's product, is a *class* of pairs. The solver then sees the classes and all
accumulators, but no multiplier.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import golden
from golden.encode import codes_of, options
from golden.mac import exact
from golden.rounding import grid
from golden.rows import Biased, Fixed, Kind
from hwgen.build import Design
from synth.proof.bitslice import CASES, from_planes, to_planes
from synth.proof.netlist import Netlist, apply
from synth.proof.questions import ports

if TYPE_CHECKING:
    from bitwuzla import Term

MAX_HELD_BITS = 20
"""Bits of both codes up to which all pairs are evaluated."""

_NO_EXPONENT = 1 << 20
"""Stands for the exponent of zeros, infinities and NaNs."""


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
        """A constant."""
        return self.manager.mk_bv_value(self.manager.mk_bv_sort(width), value)

    def variable(self, name: str, width: int) -> "Term":
        """An unknown word."""
        return self.manager.mk_const(self.manager.mk_bv_sort(width), name)

    def bits(self, word: "Term", width: int) -> list["Term"]:
        """The bits of a word, least significant first."""
        one = self.word(1, 1)
        return [self.term("EQUAL", self.term("BV_EXTRACT", word, indices=(place, place)), one) for place in range(width)]

    def join(self, bits: Sequence["Term"]) -> "Term":
        """The word of bits, least significant first."""
        digits = [self.term("ITE", bit, self.word(1, 1), self.word(0, 1)) for bit in reversed(bits)]
        return self.term("BV_CONCAT", *digits) if len(digits) > 1 else digits[0]

    def choose(self, condition: "Term", then: "Term", otherwise: "Term") -> "Term":
        """``then`` where the condition holds."""
        return self.term("ITE", condition, then, otherwise)

    def either(self, terms: Sequence["Term"]) -> "Term":
        """Whether one of the terms holds."""
        return self.term("OR", *terms) if len(terms) > 1 else terms[0]

    def all(self, terms: Sequence["Term"]) -> "Term":
        """Whether all of the terms hold."""
        return self.term("AND", *terms) if len(terms) > 1 else terms[0]

    def negate(self, term: "Term") -> "Term":
        """Whether a term does not hold."""
        return self.term("NOT", term)

    def equal(self, left: "Term", right: "Term") -> "Term":
        """Whether two terms are the same."""
        return self.term("EQUAL", left, right)

    def outputs(self, netlist: Netlist, known: Mapping[int, "Term"]) -> "Term":
        """The word of a netlist's outputs, given terms of some of its nets."""
        terms: dict[int, Term] = {0: self.false, 1: self.true, **known}

        def term(net: int) -> "Term":
            return terms[net]

        for net, gate in enumerate(netlist.gates, netlist.first_gate):
            if net not in terms and all(pin in terms for pin in gate.pins):
                terms[net] = self._gate(gate.kind, [term(pin) for pin in gate.pins])
        return self.join([term(net) for net in netlist.driven])

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
        raise ValueError(f"Unknown gate {kind!r}")

    def search(self, claim: "Term", names: Mapping[str, "Term"]) -> dict[str, int] | None:
        """None if a claim always holds, else words for which it does not.

        Raises
        ------
        RuntimeError
            If the solver gives up.
        """
        from bitwuzla import Result

        self.solver.assert_formula(self.negate(claim))
        result = self.solver.check_sat()
        if result == Result.UNSAT:
            return None
        if result != Result.SAT:
            raise RuntimeError(f"the solver found neither a proof nor a counterexample: {result}")
        return {name: int(self.solver.get_value(word).value(10)) for name, word in names.items()}


class Proof(ABC):
    """All inputs of a block, in parts that are proved one by one.

    Attributes
    ----------
    method : str
        What is proved, in words.
    parts : int
    quick : bool
        Whether all parts together take less time than it takes to start processes for them.
    """

    method: str
    parts: int
    quick = False

    def __init__(self, design: Design, netlist: Netlist):
        self.design, self.netlist = design, netlist
        self.inputs, self.outputs = ports(design)

    @abstractmethod
    def cases(self, part: int) -> int:
        """Inputs that a part covers."""

    @abstractmethod
    def prove(self, part: int) -> dict[str, int] | None:
        """None, or an input of the part on which the netlist differs from the specification."""


@dataclass(frozen=True)
class _Class:
    """Pairs of codes that hand the same bits on to the rest of the netlist and have the same product."""

    a: int
    b: int
    pairs: int
    cut: tuple[bool, ...]


class MacProof(Proof):
    """A MAC; a part is all pairs of codes whose products have the same exponent."""

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        fa, fb = design.formats
        count = 1 << (fa.width + fb.width)
        pair = np.tile(np.arange(count), -(-CASES // count))
        bits = dict(zip([*netlist.input_nets("a"), *netlist.input_nets("b")], to_planes(pair, fa.width + fb.width), strict=True))
        self.cut, words = self._cut(bits, count)
        a, b = pair[:count] & ((1 << fa.width) - 1), pair[:count] >> fa.width
        with np.errstate(invalid="ignore"):
            product = fa.values[a] * fb.values[b]
        product = np.where(np.isnan(product), np.nan, product)
        exponents = np.where(np.isfinite(product) & (product != 0), np.frexp(product)[1], _NO_EXPONENT)
        keys = np.concatenate([words, product.view(np.uint64)[np.newaxis]])
        _, first, pairs = np.unique(keys, axis=1, return_index=True, return_counts=True)
        groups: dict[int, list[_Class]] = {}
        for place, number in zip(first.tolist(), pairs.tolist(), strict=True):
            cut = tuple(bool(int(words[i // 64, place]) >> i % 64 & 1) for i in range(len(self.cut)))
            groups.setdefault(int(exponents[place]), []).append(_Class(int(a[place]), int(b[place]), number, cut))
        self.groups = [groups[exponent] for exponent in sorted(groups)]
        self.parts = len(self.groups)

    def _cut(self, bits: Mapping[int, NDArray[np.uint64]], count: int) -> tuple[list[int], NDArray[np.uint64]]:
        """The nets on which gates that depend on the codes alone end, and their bits for every pair: 64 nets to a word."""
        netlist = self.netlist
        moving = netlist.reached_from(netlist.input_nets("acc_in"))
        values: dict[int, Any] = {0: np.uint64(0), 1: np.uint64(0xFFFFFFFFFFFFFFFF), **bits}
        ends = set(netlist.driven)
        for net, gate in enumerate(netlist.gates, netlist.first_gate):
            if net in moving:
                ends |= set(gate.pins)
            else:
                values[net] = apply(gate.kind, [values[pin] for pin in gate.pins])
        cut = sorted(net for net in ends if net not in moving and net > 1)
        if not cut:
            return cut, np.zeros((0, count), np.uint64)
        planes = np.array([np.broadcast_to(values[net], bits[netlist.input_nets("a")[0]].shape) for net in cut])
        words = [from_planes(np.ascontiguousarray(planes[start : start + 64])) for start in range(0, len(planes), 64)]
        return cut, np.array(words)[:, :count]

    def cases(self, part: int) -> int:
        """All accumulators with the group's pairs."""
        return sum(member.pairs for member in self.groups[part]) << self.inputs["acc_in"]

    def prove(self, part: int) -> dict[str, int] | None:
        """Any class of the group, any accumulator."""
        solver, group, width = Solver(), self.groups[part], self.inputs["acc_in"]
        acc = solver.variable("acc_in", width)
        number = solver.variable("class", max(len(group).bit_length(), 1))
        size = max(len(group).bit_length(), 1)
        chosen = [solver.equal(number, solver.word(i, size)) for i in range(len(group))]
        known = dict(zip(self.netlist.input_nets("acc_in"), solver.bits(acc, width), strict=True))
        for place, net in enumerate(self.cut):
            ones = [chosen[i] for i, member in enumerate(group) if member.cut[place]]
            known[net] = solver.false if not ones else solver.true if len(ones) == len(group) else solver.either(ones)
        out = solver.outputs(self.netlist, known)
        claim = self._claim(solver, acc, out, group, chosen)
        found = solver.search(solver.term("IMPLIES", solver.either(chosen), claim), {"acc_in": acc, "class": number})
        if found is None:
            return None
        member = group[found["class"]]
        return {"a": member.a, "b": member.b, "acc_in": found["acc_in"]}

    def _select(self, solver: Solver, chosen: Sequence["Term"], values: Sequence[int], width: int) -> "Term":
        """The word that belongs to the chosen class."""
        bits = []
        for place in range(width):
            ones = [term for term, value in zip(chosen, values, strict=True) if value >> place & 1]
            bits.append(solver.false if not ones else solver.true if len(ones) == len(values) else solver.either(ones))
        return solver.join(bits)

    @abstractmethod
    def _claim(self, solver: Solver, acc: "Term", out: "Term", group: Sequence[_Class], chosen: Sequence["Term"]) -> "Term":
        """What holds of every accumulator and the class that is chosen."""


class Binary32Proof(MacProof):
    """A MAC into binary32 against the addition of SMT-LIB's floating-point theory, roundNearestTiesToEven."""

    method = (
        "proof (bitwuzla): for all products and accumulators the gates give SMT-LIB's IEEE 754 sum in binary32; "
        "what they make of each pair of codes is evaluated"
    )

    def _claim(self, solver: Solver, acc: "Term", out: "Term", group: Sequence[_Class], chosen: Sequence["Term"]) -> "Term":
        from bitwuzla import RoundingMode

        wide = golden.get("binary32")
        assert wide.canonical_nan is not None
        fa, fb = self.design.formats
        with np.errstate(invalid="ignore"):
            products = [np.float32(fa.values[member.a] * fb.values[member.b]) for member in group]
        words = [wide.canonical_nan if np.isnan(product) else int(product.view(np.uint32)) for product in products]
        addend = self._select(solver, chosen, words, 32)
        first, second, result = (solver.term("FP_TO_FP_FROM_BV", word, indices=(8, 24)) for word in (acc, addend, out))
        total = solver.term("FP_ADD", solver.manager.mk_rm_value(RoundingMode.RNE), first, second)
        nan = solver.term("FP_IS_NAN", total)
        canonical = solver.equal(out, solver.word(wide.canonical_nan, 32))
        same = solver.all([solver.negate(solver.term("FP_IS_NAN", result)), solver.equal(result, total)])
        return solver.choose(nan, canonical, same)


class ExactProof(MacProof):
    """An ``exact`` MAC against the addition of an integer and the rules of the sticky flags."""

    method = (
        "proof (bitwuzla): for all products and states the gates give the integer sum and the flags; "
        "what they make of each pair of codes is evaluated"
    )

    def _claim(self, solver: Solver, acc: "Term", out: "Term", group: Sequence[_Class], chosen: Sequence["Term"]) -> "Term":
        fa, fb = self.design.formats
        unit = exact(fa, fb, self.design.options["terms"])
        width = unit.value_width
        with np.errstate(invalid="ignore"):
            products = [float(fa.values[member.a] * fb.values[member.b]) for member in group]
        multiples = [Fraction(product) / Fraction(2) ** unit.lsb_exponent if np.isfinite(product) else Fraction(0) for product in products]
        if any(multiple.denominator != 1 for multiple in multiples):  # the proof rests on it, under every option of Python
            raise RuntimeError("a product is no multiple of the accumulator's last bit")
        addend = self._select(solver, chosen, [multiple.numerator % (1 << width) for multiple in multiples], width)
        value = solver.term("BV_ADD", solver.term("BV_EXTRACT", acc, indices=(width - 1, 0)), addend)

        def flag(place: int, sets: Sequence[bool]) -> "Term":
            old = solver.bits(acc, unit.width)[place]
            return solver.either([old, *(term for term, this in zip(chosen, sets, strict=True) if this)])

        pos = flag(width, [product == np.inf for product in products])
        neg = flag(width + 1, [product == -np.inf for product in products])
        nan = solver.either([flag(width + 2, [bool(np.isnan(product)) for product in products]), solver.all([pos, neg])])
        return solver.equal(out, solver.term("BV_CONCAT", solver.join([pos, neg, nan]), value))


class StochasticProof(Proof):
    """An encoder with stochastic rounding; a part is one exponent field of the source, with all signs, fractions and random words.

    Up to ``2**R`` times its place between two neighbours, in golden's grid, plus the random word, a number goes down, from there on up.
    """

    method = "proof (bitwuzla): for all inputs and random words the gates give the code that the definition picks, one binade at a time"
    quick = True

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        self.fmt = design.formats[0]
        self.options = options(
            self.fmt, design.options["from"], design.options["rounding"], design.options["overflow"], "nan-to-zero" in design.options
        )
        self.source = self.options.source
        normal = self.source.rows[-1]
        assert isinstance(normal.exponent, Biased)
        self.fraction_bits, self.field_bits = normal.fraction_bits, normal.exponent.bits
        self.random_bits = self.inputs["random"]
        self.parts = 1 << self.field_bits

    def cases(self, part: int) -> int:
        """All signs, fractions and random words."""
        del part
        return 2 << (self.fraction_bits + self.random_bits)

    def prove(self, part: int) -> dict[str, int] | None:
        """Any sign, fraction and random word with the exponent field ``part``."""
        solver, k = Solver(), self.fraction_bits
        sign, fraction = solver.variable("sign", 1), solver.variable("fraction", k)
        random = solver.variable("random", self.random_bits)
        bits = solver.term("BV_CONCAT", sign, solver.word(part, self.field_bits), fraction)
        known = dict(zip(self.netlist.input_nets("bits"), solver.bits(bits, self.source.width), strict=True))
        known |= dict(zip(self.netlist.input_nets("random"), solver.bits(random, self.random_bits), strict=True))
        out = solver.outputs(self.netlist, known)
        code = self._finite(solver, part, fraction, random, sign)
        for special in reversed(self.source.specials):
            if special.value & self._field_mask & special.mask == (part << k) & special.mask & self._field_mask:
                hit = solver.equal(
                    solver.term("BV_AND", fraction, solver.word(special.mask & ((1 << k) - 1), k)),
                    solver.word(special.value & ((1 << k) - 1), k),
                )
                code = solver.choose(hit, self._special(solver, special.kind, sign), code)
        return solver.search(solver.equal(out, code), {"bits": bits, "random": random})

    @property
    def _field_mask(self) -> int:
        return ((1 << self.field_bits) - 1) << self.fraction_bits

    def _special(self, solver: Solver, kind: Kind, sign: "Term") -> "Term":
        """Golden's code of a special of the source, with either sign."""
        value = {Kind.ZERO: 0.0, Kind.INF: np.inf, Kind.NAN: np.nan}[kind]
        return self._signed(solver, np.copysign(value, [1.0, -1.0]), sign)

    def _signed(self, solver: Solver, values: NDArray[np.float64], sign: "Term") -> "Term":
        """Golden's codes of a value and its negative."""
        below = np.full(2, 2.0**self.random_bits)  # stays with the lower neighbour
        positive, negative = codes_of(self.fmt, values, np.array([False, True]), self.options, below, self.random_bits).tolist()
        width = self.fmt.width
        return solver.choose(solver.equal(sign, solver.word(1, 1)), solver.word(negative, width), solver.word(positive, width))

    def _finite(self, solver: Solver, field: int, fraction: "Term", random: "Term", sign: "Term") -> "Term":
        """The code of a finite number: in units small enough for everything to be an integer."""
        k, r = self.fraction_bits, self.random_bits
        row = self.source.rows[0] if field == 0 else self.source.rows[-1]
        exponent = row.exponent.exponent if isinstance(row.exponent, Fixed) else field - self._bias
        hidden = row.hidden << k
        ulp = Fraction(2) ** (exponent - k)
        points = [Fraction(value) for value in grid(self.fmt).values.tolist()]
        unit = min(ulp, Fraction(2) ** self.fmt.ulp_exponent)
        places = [int(point / unit) for point in points]
        scale = int(ulp / unit)
        least, most = hidden * scale, (hidden + (1 << k) - 1) * scale
        width = max(most, places[-1]).bit_length() + r + 2
        number = solver.term("BV_ADD", solver.term("BV_ZERO_EXTEND", fraction, indices=(width - k,)), solver.word(hidden, width))
        number = solver.term("BV_MUL", number, solver.word(scale, width))
        threshold = solver.term("BV_SUB", solver.word(1 << r, width), solver.term("BV_ZERO_EXTEND", random, indices=(width - r,)))
        codes = [self._signed(solver, np.array([float(point), -float(point)]), sign) for point in points]
        code = codes[-1]  # overflow is certain
        for place in reversed(range(len(points) - 1)):
            low, high = places[place], places[place + 1]
            if high <= least:
                break
            if low > most:
                continue
            gap = high - low
            # up where (number - low) * 2**r reaches threshold * gap
            position = solver.term("BV_SHL", solver.term("BV_SUB", number, solver.word(low, width)), solver.word(r, width))
            up = solver.term("BV_UGE", position, solver.term("BV_MUL", threshold, solver.word(gap, width)))
            here = solver.choose(up, codes[place + 1], codes[place])
            code = solver.choose(solver.term("BV_ULT", number, solver.word(high, width)), here, code)
        return code

    @property
    def _bias(self) -> int:
        normal = self.source.rows[-1].exponent
        assert isinstance(normal, Biased)
        return normal.bias


def proof(design: Design) -> type[Proof] | str:
    """The proof that reaches all inputs of a block; or one sentence why there is none."""
    if design.kind == "encoder":
        if design.options["rounding"] == "stochastic":
            return StochasticProof
        return "there are too many inputs to enumerate, and the proof is written for stochastic rounding only"
    if design.kind != "mac":
        return "there are too many inputs to enumerate"
    fa, fb = design.formats
    if fa.width + fb.width > MAX_HELD_BITS:
        return f"there are more than 2^{MAX_HELD_BITS} pairs of codes, too many to evaluate one by one"
    if design.options["accumulator"] == "exact":
        return ExactProof
    if design.options["accumulator"] == "binary32":
        with np.errstate(invalid="ignore", over="ignore"):
            product = np.multiply.outer(fa.values, fb.values)
            narrow = product.astype(np.float32)
        if np.array_equal(narrow.astype(np.float64), product, equal_nan=True):
            return Binary32Proof
        return "some products lie outside binary32, where SMT-LIB's addition cannot take them"
    return "there are too many inputs to enumerate"
