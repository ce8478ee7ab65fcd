"""Proofs of MACs with too many inputs to enumerate.

The netlist is cut where gates stop depending on the codes alone. The gates before the cut are evaluated for all pairs
of codes. Pairs with the same bits at the cut and the same product in the reference model form a *class*. The solver
sees classes and accumulators, but no multiplier.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import golden
from golden.wide import POSITIVE
from hwgen.blocks.block import Design
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
    """Pairs of codes, and scales if there are any, with the same bits ``cut`` and the same product.

    ``pins`` is one of them, ``pairs`` their number; ``undefined`` means that the product is 0 * infinity.
    """

    pins: Mapping[str, int]
    product: float
    undefined: bool
    pairs: int
    cut: tuple[bool, ...]


@dataclass(frozen=True)
class _Query:
    """A symbolic accumulator and a symbolic class of a group; ``chosen`` has a term for each class."""

    solver: Solver
    acc: "Term"
    group: Sequence[_Class]
    chosen: Sequence["Term"]

    def any(self, which: Sequence[bool]) -> "Term":
        """Whether ``which`` is true for the chosen class."""
        hit = [term for term, this in zip(self.chosen, which, strict=True) if this]
        if not hit or len(hit) == len(which):
            return self.solver.true if hit else self.solver.false
        return self.solver.either(hit)

    def select(self, values: Sequence[int], width: int) -> "Term":
        """The value of the chosen class, as a word."""
        return self.solver.join([self.any([bool(value >> place & 1) for value in values]) for place in range(width)])

    @property
    def undefined(self) -> "Term":
        """Whether the product is 0 * infinity."""
        return self.any([member.undefined for member in self.group])


class MacProof(Proof):
    """A MAC; a part covers all pairs of codes whose products have the same exponent."""

    knows = frozenset({"format", "format-b", "accumulator", "terms", "scale-bits", "flags", "zero", "optimize"})

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        nets = [net for name in self.inputs if name != "acc_in" for net in netlist.input_nets(name)]
        count = 1 << len(nets)
        pair = np.tile(np.arange(count), -(-CASES // count))
        self.cut, words = self._cut(dict(zip(nets, to_planes(pair, len(nets)), strict=True)), count)
        products = Products.of(design)
        product = products.values
        exponents = np.where(np.isfinite(product) & (product != 0), np.frexp(product)[1], _NO_EXPONENT)
        keys = np.vstack([words, product.view(np.uint64), products.undefined.astype(np.uint64)])
        _, first, pairs = np.unique(keys, axis=1, return_index=True, return_counts=True)
        groups: dict[int, list[_Class]] = {}
        for place, number in zip(first.tolist(), pairs.tolist(), strict=True):
            cut = tuple(bool(int(words[i // 64, place]) >> i % 64 & 1) for i in range(len(self.cut)))
            pins = {"a": int(products.a[place]), "b": int(products.b[place])}
            if design.scale_bits:
                pins["scale"] = int(products.scale[place]) & (1 << design.scale_bits) - 1
            member = _Class(pins, float(product[place]), bool(products.undefined[place]), number, cut)
            groups.setdefault(int(exponents[place]), []).append(member)
        self.groups = [groups[exponent] for exponent in sorted(groups)]
        self.parts = len(self.groups)

    def _cut(self, bits: Mapping[int, NDArray[np.uint64]], count: int) -> tuple[list[int], NDArray[np.uint64]]:
        """The nets at the cut, and their bits for every pair of codes: 64 nets per word."""
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
        """All accumulators with all pairs of the part."""
        return sum(member.pairs for member in self.groups[part]) << self.inputs["acc_in"]

    def prove(self, part: int) -> dict[str, int] | None:
        """Search any class of the part and any accumulator."""
        solver, group, width = Solver(), self.groups[part], self.inputs["acc_in"]
        acc = solver.variable("acc_in", width)
        size = len(group).bit_length()
        number = solver.variable("class", size)
        chosen = [solver.equal(number, solver.word(i, size)) for i in range(len(group))]
        known = dict(zip(self.netlist.input_nets("acc_in"), solver.bits(acc, width), strict=True))
        query = _Query(solver, acc, group, chosen)
        for place, net in enumerate(self.cut):
            known[net] = query.any([member.cut[place] for member in group])
        out = solver.outputs(self.netlist, known)
        claim, expected = self._claim(query, solver.extract(out, width - 1))
        expected = self.expected_flags(expected)
        flags = solver.bits(out, width + len(expected))[width:]
        claim = solver.all([claim, *(solver.equal(*pair) for pair in zip(flags, expected, strict=True))])
        values = solver.search(solver.term("IMPLIES", solver.either(chosen), claim), {"acc_in": acc, "class": number})
        return None if values is None else {**group[values["class"]].pins, "acc_in": values["acc_in"]}

    @abstractmethod
    def _claim(self, query: _Query, out: "Term") -> tuple["Term", list["Term"]]:
        """The claim about an accumulator, the chosen class and their sum ``out``; and the expected flags."""


class Binary32Proof(MacProof):
    """A MAC into binary32, compared with SMT-LIB's floating-point addition in roundNearestTiesToEven."""

    method = (
        "proof (bitwuzla): for all products and accumulators, the gates give SMT-LIB's IEEE 754 sum in binary32; "
        "the gates that depend on the codes alone are evaluated for all pairs"
    )

    def _claim(self, query: _Query, out: "Term") -> tuple["Term", list["Term"]]:
        from bitwuzla import RoundingMode

        solver, wide = query.solver, golden.get("binary32")
        assert wide.canonical_nan is not None
        products = [np.float32(member.product) for member in query.group]
        words = [wide.canonical_nan if np.isnan(product) else int(product.view(np.uint32)) for product in products]
        numbers = query.acc, query.select(words, 32), out
        first, second, result = (solver.term("FP_TO_FP_FROM_BV", number, indices=(8, 24)) for number in numbers)

        def added(mode: RoundingMode) -> "Term":
            return solver.term("FP_ADD", solver.manager.mk_rm_value(mode), first, second)

        def none(kind: str) -> "Term":
            return solver.all([solver.negate(solver.term(kind, operand)) for operand in (first, second)])

        total = added(RoundingMode.RNE)
        nan = solver.term("FP_IS_NAN", total)
        canonical = solver.equal(out, solver.word(wide.canonical_nan, 32))
        same = solver.all([solver.negate(solver.term("FP_IS_NAN", result)), solver.equal(result, total)])
        claim = solver.choose(nan, canonical, same)
        if self.design.core.zero == POSITIVE:
            claim = solver.choose(solver.term("FP_IS_ZERO", total), solver.equal(out, solver.word(0, 32)), claim)
        if len(self.outputs) == 1:
            return claim, []
        # a sum is inexact if rounding down and up give different numbers, and tiny if truncation makes it subnormal
        finite = solver.all([none("FP_IS_INF"), none("FP_IS_NAN")])
        unequal = solver.negate(solver.term("FP_EQUAL", added(RoundingMode.RTN), added(RoundingMode.RTP)))
        lost = solver.all([finite, unequal])
        tiny = solver.negate(solver.term("FP_IS_NORMAL", added(RoundingMode.RTZ)))
        overflow = solver.all([finite, solver.term("FP_IS_INF", total)])
        quiet = solver.bits(query.acc, 32)[22]
        signaling = solver.all([solver.term("FP_IS_NAN", first), solver.negate(quiet)])
        opposite = solver.all([none("FP_IS_NAN"), nan])
        return claim, [lost, solver.all([lost, tiny]), overflow, solver.either([query.undefined, opposite, signaling])]


class ExactProof(MacProof):
    """An ``exact`` MAC, compared with integer addition and the rules of the sticky flags."""

    method = (
        "proof (bitwuzla): for all products and states, the gates give the integer sum and the flags; "
        "the gates that depend on the codes alone are evaluated for all pairs"
    )

    def _claim(self, query: _Query, out: "Term") -> tuple["Term", list["Term"]]:
        solver, acc, unit = query.solver, query.acc, self.design.exact
        assert unit is not None
        width = unit.value_width
        products = [member.product for member in query.group]
        unit_in_last_place = Fraction(2) ** unit.lsb_exponent
        multiples = [Fraction(product if np.isfinite(product) else 0) / unit_in_last_place for product in products]
        if any(multiple.denominator != 1 for multiple in multiples):  # no assertion: it must hold under python -O
            raise RuntimeError("a product is not a multiple of the accumulator's last bit")
        addend = query.select([multiple.numerator % (1 << width) for multiple in multiples], width)
        before = solver.extract(acc, width - 1)

        def flag(place: int, sets: Sequence[bool]) -> "Term":
            return solver.either([solver.bits(acc, unit.width)[place], query.any(sets)])

        pos = flag(width, [product == np.inf for product in products])
        neg = flag(width + 1, [product == -np.inf for product in products])
        known_nan = flag(width + 2, [bool(np.isnan(product)) for product in products])
        both = solver.all([pos, neg])
        sticky = solver.join([pos, neg, solver.either([known_nan, both])])
        claim = solver.equal(out, solver.term("BV_CONCAT", sticky, solver.term("BV_ADD", before, addend)))
        invalid = solver.either([query.undefined, solver.all([both, solver.negate(known_nan)])])
        return claim, [solver.false, solver.false, solver.term("BV_SADD_OVERFLOW", before, addend), invalid]
