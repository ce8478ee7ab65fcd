"""Proofs of MACs whose inputs are too many to enumerate.

A MAC is taken apart where its netlist allows it, whoever wrote it: gates that depend on the codes alone are evaluated for all pairs, and
what they hand on to the rest, together with golden's product, is a *class* of pairs. The solver then sees the classes and all
accumulators, but no multiplier.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import golden
from golden import Flag
from golden.mac import exact
from hwgen.blocks.design import Design
from synth.proof.bitslice import CASES, from_planes, to_planes
from synth.proof.cases import Products
from synth.proof.gates import Netlist, apply
from synth.proof.solver import Proof, Solver

if TYPE_CHECKING:
    from bitwuzla import Term

_NO_EXPONENT = 1 << 20
"""Stands for the exponent of zeros, infinities and NaNs."""


@dataclass(frozen=True)
class _Class:
    """Pairs of codes, with a scale if there is one, that hand the same bits on to the rest of the netlist and have the same product.

    ``undefined`` says whether that is NaN because of 0 * infinity.
    """

    pins: Mapping[str, int]
    product: float
    undefined: bool
    pairs: int
    cut: tuple[bool, ...]


class MacProof(Proof):
    """A MAC; a part is all pairs of codes whose products have the same exponent."""

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        held = [name for name in self.inputs if name != "acc_in"]
        width = sum(self.inputs[name] for name in held)
        count = 1 << width
        pair = np.tile(np.arange(count), -(-CASES // count))
        bits = dict(zip([net for name in held for net in netlist.input_nets(name)], to_planes(pair, width), strict=True))
        self.cut, words = self._cut(bits, count)
        products = Products.of(design)
        product = products.values
        exponents = np.where(np.isfinite(product) & (product != 0), np.frexp(product)[1], _NO_EXPONENT)
        keys = np.concatenate([words, product.view(np.uint64)[np.newaxis], products.undefined.astype(np.uint64)[np.newaxis]])
        _, first, pairs = np.unique(keys, axis=1, return_index=True, return_counts=True)
        groups: dict[int, list[_Class]] = {}
        for place, number in zip(first.tolist(), pairs.tolist(), strict=True):
            cut = tuple(bool(int(words[i // 64, place]) >> i % 64 & 1) for i in range(len(self.cut)))
            pins = {"a": int(products.a[place]), "b": int(products.b[place])}
            if design.scale_bits:
                pins["scale"] = int(products.scale[place]) & (1 << design.scale_bits) - 1
            groups.setdefault(int(exponents[place]), []).append(
                _Class(pins, float(product[place]), bool(products.undefined[place]), number, cut)
            )
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
        flags = None
        if self.design.has_flags:
            flags = solver.bits(solver.term("BV_EXTRACT", out, indices=(width + len(Flag) - 1, width)), len(Flag))
            out = solver.term("BV_EXTRACT", out, indices=(width - 1, 0))
        claim = self._claim(solver, acc, out, flags, group, chosen)
        found = solver.search(solver.term("IMPLIES", solver.either(chosen), claim), {"acc_in": acc, "class": number})
        if found is None:
            return None
        member = group[found["class"]]
        return {**member.pins, "acc_in": found["acc_in"]}

    @staticmethod
    def _any(solver: Solver, chosen: Sequence["Term"], which: Sequence[bool]) -> "Term":
        """Whether the chosen class is one of these."""
        hit = [term for term, this in zip(chosen, which, strict=True) if this]
        return solver.either(hit) if hit else solver.false

    def _select(self, solver: Solver, chosen: Sequence["Term"], values: Sequence[int], width: int) -> "Term":
        """The word that belongs to the chosen class."""
        bits = []
        for place in range(width):
            ones = [term for term, value in zip(chosen, values, strict=True) if value >> place & 1]
            bits.append(solver.false if not ones else solver.true if len(ones) == len(values) else solver.either(ones))
        return solver.join(bits)

    @abstractmethod
    def _claim(
        self, solver: Solver, acc: "Term", out: "Term", flags: list["Term"] | None, group: Sequence[_Class], chosen: Sequence["Term"]
    ) -> "Term":
        """What holds of every accumulator and the class that is chosen; ``flags`` are the port's bits, if there is one."""


class Binary32Proof(MacProof):
    """A MAC into binary32 against the addition of SMT-LIB's floating-point theory, roundNearestTiesToEven."""

    method = (
        "proof (bitwuzla): for all products and accumulators the gates give SMT-LIB's IEEE 754 sum in binary32; "
        "what they make of each pair of codes is evaluated"
    )

    def _claim(
        self, solver: Solver, acc: "Term", out: "Term", flags: list["Term"] | None, group: Sequence[_Class], chosen: Sequence["Term"]
    ) -> "Term":
        from bitwuzla import RoundingMode

        wide = golden.get("binary32")
        assert wide.canonical_nan is not None
        products = [np.float32(member.product) for member in group]
        words = [wide.canonical_nan if np.isnan(product) else int(product.view(np.uint32)) for product in products]
        addend = self._select(solver, chosen, words, 32)
        first, second, result = (solver.term("FP_TO_FP_FROM_BV", word, indices=(8, 24)) for word in (acc, addend, out))
        total = solver.term("FP_ADD", solver.manager.mk_rm_value(RoundingMode.RNE), first, second)
        nan = solver.term("FP_IS_NAN", total)
        canonical = solver.equal(out, solver.word(wide.canonical_nan, 32))
        same = solver.all([solver.negate(solver.term("FP_IS_NAN", result)), solver.equal(result, total)])
        claim = solver.choose(nan, canonical, same)
        if flags is None:
            return claim
        undefined = self._any(solver, chosen, [member.undefined for member in group])
        return solver.all([claim, self._flags_hold(solver, acc, first, second, total, flags, undefined)])

    @staticmethod
    def _flags_hold(
        solver: Solver, acc: "Term", first: "Term", second: "Term", total: "Term", flags: list["Term"], undefined: "Term"
    ) -> "Term":
        """A sum is inexact where rounding it down and up are two numbers; what is cut off towards zero tells its size."""
        from bitwuzla import RoundingMode

        def added(mode: RoundingMode) -> "Term":
            return solver.term("FP_ADD", solver.manager.mk_rm_value(mode), first, second)

        def none(kind: str) -> "Term":
            return solver.all([solver.negate(solver.term(kind, operand)) for operand in (first, second)])

        finite = solver.all([none("FP_IS_INF"), none("FP_IS_NAN")])
        unequal = solver.negate(solver.term("FP_EQUAL", added(RoundingMode.RTN), added(RoundingMode.RTP)))
        lost = solver.all([finite, unequal])
        tiny = solver.negate(solver.term("FP_IS_NORMAL", added(RoundingMode.RTZ)))
        overflow = solver.all([finite, solver.term("FP_IS_INF", total)])
        quiet = solver.bits(acc, 32)[22]
        signaling = solver.all([solver.term("FP_IS_NAN", first), solver.negate(quiet)])
        opposite = solver.all([none("FP_IS_NAN"), solver.term("FP_IS_NAN", total)])
        wanted = [lost, solver.all([lost, tiny]), overflow, solver.either([undefined, opposite, signaling])]
        return solver.all([solver.equal(flag, wish) for flag, wish in zip(flags, wanted, strict=True)])


class ExactProof(MacProof):
    """An ``exact`` MAC against the addition of an integer and the rules of the sticky flags."""

    method = (
        "proof (bitwuzla): for all products and states the gates give the integer sum and the flags; "
        "what they make of each pair of codes is evaluated"
    )

    def _claim(
        self, solver: Solver, acc: "Term", out: "Term", flags: list["Term"] | None, group: Sequence[_Class], chosen: Sequence["Term"]
    ) -> "Term":
        unit = exact(*self.design.formats, self.design.options["terms"], self.design.scale_bits)
        width = unit.value_width
        products = [member.product for member in group]
        multiples = [Fraction(product) / Fraction(2) ** unit.lsb_exponent if np.isfinite(product) else Fraction(0) for product in products]
        if any(multiple.denominator != 1 for multiple in multiples):  # the proof rests on it, under every option of Python
            raise RuntimeError("a product is no multiple of the accumulator's last bit")
        addend = self._select(solver, chosen, [multiple.numerator % (1 << width) for multiple in multiples], width)
        value = solver.term("BV_ADD", solver.term("BV_EXTRACT", acc, indices=(width - 1, 0)), addend)

        def flag(place: int, sets: Sequence[bool]) -> "Term":
            return solver.either([solver.bits(acc, unit.width)[place], self._any(solver, chosen, sets)])

        pos = flag(width, [product == np.inf for product in products])
        neg = flag(width + 1, [product == -np.inf for product in products])
        known_nan = flag(width + 2, [bool(np.isnan(product)) for product in products])
        both = solver.all([pos, neg])
        claim = solver.equal(out, solver.term("BV_CONCAT", solver.join([pos, neg, solver.either([known_nan, both])]), value))
        if flags is None:
            return claim
        undefined = self._any(solver, chosen, [member.undefined for member in group])
        before = solver.term("BV_EXTRACT", acc, indices=(width - 1, 0))
        wanted = [
            solver.false, solver.false, solver.term("BV_SADD_OVERFLOW", before, addend),
            solver.either([undefined, solver.all([both, solver.negate(known_nan)])]),
        ]  # fmt: skip
        return solver.all([claim, *(solver.equal(one, wish) for one, wish in zip(flags, wanted, strict=True))])
