"""The proof of dot products with an aligned accumulator, which truncates addends and sums.

The reference is :mod:`golden.arithmetic.aligned`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.aligned import row_exponents
from golden.wide import POSITIVE, aligned_bits
from hwgen.blocks.block import Design
from synth.proof.adders import NOWHERE, linear_form
from synth.proof.bitslice import CASES, from_planes, to_planes
from synth.proof.floated import FloatedDotProof
from synth.proof.floating import FloatDotProof, ProductsSumProof, Query
from synth.proof.fold import cut
from synth.proof.gates import Netlist, NotShownError
from synth.proof.lanes import LaneClass, Lanes, evaluated
from synth.proof.rounded import RoundedDotProof
from synth.proof.scales import EXPONENT_BITS, SymbolicScale
from synth.proof.solver import Solver

if TYPE_CHECKING:
    from bitwuzla import Term

_LEVEL = "largest_level"
_FLOAT_BITS = 13
"""Of the floating-point numbers to which the solver truncates sums."""


class _Form(NamedTuple):
    """The sum as weighted nets of lanes and of the accumulator, in a netlist that is cut at the largest level."""

    lanes: Lanes
    parts: Sequence[dict[int, int]]
    acc: dict[int, int]
    constant: int
    modulus: int


@dataclass(frozen=True)
class _Acc:
    """A symbolic accumulator, the scale of all products, and the accumulator's level, signed."""

    bits: "Term"
    scale: SymbolicScale
    level: "Term"


class AlignedDotProof(FloatDotProof):
    """A dot product into ``aligned6`` to ``aligned40``.

    Exponents are levels in the module: a product's exponent plus an offset, which part 0 finds. Part 0 shows that

    * ``largest_level`` is the largest of the levels of all products and of the accumulator, without zeros, or the
      largest number that it can hold if the accumulator's is larger still; no bit of any product is left then,
    * ``total`` is the sum of the products and the accumulator, truncated for that level, and negated if the accumulator
      is negative. Lanes are evaluated for all pairs of codes and all levels, the accumulator's addend by the solver.

    Part 1 shows specials, part 2 the truncated sum for any ``total`` and ``largest_level``.

    With flags the module also has the exact sum. The other parts show for any result, which is infinite if the overflow
    flag is 1, that the flags inexact and underflow compare it with the exact sum.
    """

    method = (
        "proof by decomposition: the full adders add, every lane adds its product, truncated for the largest exponent, "
        "for all pairs of codes and all exponents; the solver (bitwuzla) shows which is the largest, and the result"
    )
    parts = 3

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        self.fraction_bits = aligned_bits(design.core.accumulator) or 0
        self.kept = min(self.fraction_bits, self.target.fraction_bits)
        self.exact: ProductsSumProof | None = None
        if "flags" in self.outputs:
            prover = RoundedDotProof if self.scales.is_one else FloatedDotProof
            self.exact = prover(design, netlist, compares=True)
            self.parts += self.exact.parts

    def prove(self, part: int) -> dict[str, int] | None:
        """One of the claims above."""
        match part:
            case 0:
                self._check_lanes()
                self._check_acc()
                self._check_largest()
                return None
            case 1:
                query = self.query(["total", _LEVEL])
                return self.specials(query, [self._dominated(query)])
            case 2:
                return self._finite()
            case _:
                assert self.exact is not None
                return self.exact.prove(part - 3)

    # -- levels

    @property
    def _top(self) -> int:
        """The largest number that the largest level can be."""
        return (1 << len(self.word(_LEVEL))) - 1

    def _exponent(self, member: LaneClass) -> int:
        """A product's exponent: that of its codes' rows."""
        (fa, fb), pins = self.design.codes.values(), member.pins
        return int(row_exponents(fa)[pins["a"]]) + int(row_exponents(fb)[pins["b"]])

    @cached_property
    def _offset(self) -> int:
        """The level of a product less its exponent, from one example: the claims show it for all others."""
        products = self.lanes.products
        zero, some = (int(np.flatnonzero(which)[0]) for which in (products.values == 0, self._numbers))
        codes = [{"a": int(products.a[place]), "b": int(products.b[place])} for place in (some, zero)]
        pins = self.lanes.pins({lane: codes[bool(lane)] for lane in range(self.lanes.count)}, {})
        level = self.netlist.value(self.word(_LEVEL), pins)
        return level - int(self._exponents[some])

    @cached_property
    def _numbers(self) -> NDArray[np.bool_]:
        """Which products are finite and not 0."""
        values = self.lanes.products.values
        return np.isfinite(values) & (values != 0)

    @cached_property
    def _exponents(self) -> NDArray[np.int64]:
        """Exponents of all products: those of their codes' rows."""
        (fa, fb), products = self.design.codes.values(), self.lanes.products
        return row_exponents(fa)[products.a].astype(np.int64) + row_exponents(fb)[products.b]

    @cached_property
    def _levels(self) -> tuple[int, int]:
        """The smallest and the largest level of a product."""
        exponents = self._exponents[self._numbers]
        return int(exponents.min()) + self._offset, int(exponents.max()) + self._offset

    def _acc(self, solver: Solver, acc: "Term", scale: SymbolicScale) -> _Acc:
        k, bits = self.target.fraction_bits, self.target.exponent_bits
        field = solver.extract(acc, k + bits - 1, k)
        field = solver.choose(solver.equal(field, solver.word(0, bits)), solver.word(1, bits), field)
        extended = solver.term("BV_ZERO_EXTEND", field, indices=(EXPONENT_BITS - bits,))
        level = solver.term("BV_ADD", extended, self._number(solver, self._offset - self.target.bias))
        return _Acc(acc, scale, solver.term("BV_SUB", level, scale.exponent))

    @staticmethod
    def _number(solver: Solver, value: int) -> "Term":
        return solver.number(value, EXPONENT_BITS)

    def _extended(self, solver: Solver, level: "Term", width: int) -> "Term":
        return solver.term("BV_ZERO_EXTEND", level, indices=(EXPONENT_BITS - width,))

    def _is_reached(self, solver: Solver, acc: _Acc, largest: "Term") -> "Term":
        """Whether the largest level is possible with an accumulator."""
        level, top = acc.level, self._number(solver, self._top)
        above = solver.term("BV_SGT", level, top)
        reached = solver.choose(above, solver.equal(largest, top), solver.term("BV_SGE", largest, level))
        return solver.either([self._is_zero(solver, acc), reached])

    def _is_of_acc(self, solver: Solver, acc: _Acc, largest: "Term") -> "Term":
        """Whether the largest level is that of an accumulator that is not 0."""
        level, top = acc.level, self._number(solver, self._top)
        clipped = solver.choose(solver.term("BV_SGT", level, top), top, level)
        return solver.all([solver.negate(self._is_zero(solver, acc)), solver.equal(largest, clipped)])

    def _is_zero(self, solver: Solver, acc: _Acc) -> "Term":
        return solver.equal(solver.extract(acc.bits, self.target.width - 2), solver.word(0, self.target.width - 1))

    def _is_number(self, solver: Solver, acc: _Acc) -> "Term":
        return solver.negate(solver.all(solver.bits(acc.bits, self.target.width)[self.target.fraction_bits : -1]))

    def _is_added(self, solver: Solver, acc: _Acc) -> "Term":
        """Whether the accumulator is a number, or an infinity with a level above the largest one; and the scale is."""
        is_scaled = solver.negate(acc.scale.is_nan)
        if not self._acc_exceeds:
            return solver.all([is_scaled, self._is_number(solver, acc)])
        fraction = solver.bits(acc.bits, self.target.width)[: self.target.fraction_bits]
        above = solver.term("BV_SGT", acc.level, self._number(solver, self._top))
        infinite = solver.all([above, solver.negate(solver.either(fraction))])
        return solver.all([is_scaled, solver.either([self._is_number(solver, acc), infinite])])

    def _dominates(self, solver: Solver, acc: _Acc) -> "Term":
        """Whether the accumulator has a level above the largest that there is."""
        above = solver.term("BV_SGT", acc.level, self._number(solver, self._top))
        return solver.all([above, solver.negate(self._is_zero(solver, acc))])

    def _dominated(self, query: Query) -> "Term":
        """What part 0 says of ``total`` if the accumulator dominates: it is its significand, truncated."""
        solver, size = query.solver, len(self.word("total"))
        some = solver.either(query.lanes(lambda member: member.product != 0))
        numbers = solver.negate(solver.either(query.lanes(lambda member: not np.isfinite(member.product))))
        acc = self._acc(solver, query.acc, query.scale)
        condition = solver.all([some, numbers, self._is_added(solver, acc), self._dominates(solver, acc)])
        first = solver.word(1 << self.fraction_bits, size)
        infinite = solver.negate(self._is_number(solver, acc))
        hidden = solver.either(query.acc_bits[self.target.fraction_bits : -1])
        low = solver.term("BV_SGE", query.words["total"], solver.choose(hidden, first, solver.word(0, size)))
        last = solver.choose(infinite, first, solver.word((2 << self.fraction_bits) - 1, size))
        high = solver.term("BV_SLE", query.words["total"], last)
        top = solver.equal(query.words[_LEVEL], solver.word(self._top, len(self.word(_LEVEL))))
        return solver.term("IMPLIES", condition, solver.all([low, high, top]))

    # -- part 0

    @cached_property
    def _form(self) -> _Form:
        total, netlist = self.word("total"), cut(self.netlist, _LEVEL, self.word(_LEVEL))
        first, width = self.netlist.first_gate, len(self.word(_LEVEL))
        moved = [net if net < first else net + width for net in total]
        lanes, form = Lanes(self.design, netlist), linear_form(netlist, moved)
        shared = sum(1 << net for net in (*netlist.input_nets(_LEVEL), netlist.input_nets("acc_in")[-1]))
        parts: list[dict[int, int]] = [{} for _ in range(lanes.count)]
        acc: dict[int, int] = {}
        for net, weight in form.terms.items():
            lane = None if net < 0 else lanes.lane_of(net, shared)
            (acc if lane is None else parts[lane])[net] = weight
        return _Form(lanes, parts, acc, form.constant, form.modulus)

    def _check_lanes(self) -> None:
        """Each lane adds its product, truncated, for every level that is not below its own."""
        form = self._form
        netlist, (sign,) = form.lanes.netlist, form.lanes.netlist.input_nets("acc_in")[-1:]
        level_nets = list(netlist.input_nets(_LEVEL))
        constant, first = form.constant, 1 << len(level_nets)
        for lane, part in enumerate(form.parts):
            nets = form.lanes.frontier(part, [*level_nets, sign])[lane]
            classes = [
                member for member in form.lanes.classes(lane, nets, {}, self._exponents) if np.isfinite(member.product)
            ]
            index = np.arange(-(-2 * first * len(classes) // CASES) * CASES)
            largest, negative = index % first, index // first % 2
            member = np.minimum(index // (2 * first), len(classes) - 1)
            patterns = np.array([cls.bits for cls in classes], np.uint64)[member].T
            planes = [to_planes(row, 1)[0] for row in patterns]
            known = dict(zip(nets, planes, strict=True))
            known |= dict(zip(level_nets, to_planes(largest, len(level_nets)), strict=True))
            known[sign] = to_planes(negative, 1)[0]
            values = self._weighted(evaluated(netlist, list(part), known, len(index) // 64), part, form.modulus)
            products = np.array([cls.product for cls in classes])[member]
            levels = np.array([self._exponent(cls) + self._offset if cls.product else 0 for cls in classes])[member]
            products = np.where(largest >= levels, products, 0.0)
            addends = np.trunc(np.ldexp(products, self.fraction_bits + self._offset - largest)).astype(np.int64)
            rest = (values - np.where(negative, -addends, addends)) % form.modulus
            rest = rest[largest >= levels]
            if (rest != rest[0]).any():
                raise NotShownError(f"lane {lane} does not add some truncated product")
            if addends[largest == self._top].any() and self._acc_exceeds:
                raise NotShownError("the largest level is too small for some accumulators")
            constant += int(rest[0])
        if constant % form.modulus:
            raise NotShownError("the constants of all lanes do not add up to 0")

    @property
    def _acc_exceeds(self) -> bool:
        """Whether an accumulator has a level above the largest that there is."""
        highest = (1 << self.target.exponent_bits) - 2 - self.target.bias - self.scales.exponents[0]
        return highest + self._offset > self._top

    @staticmethod
    def _weighted(planes: NDArray[np.uint64], part: dict[int, int], modulus: int) -> NDArray[np.int64]:
        if modulus.bit_length() > 62:
            raise NotShownError("total is longer than 61 bits")
        values = np.zeros(planes.shape[1] * 64, np.int64)
        for row, weight in zip(planes, part.values(), strict=True):
            values = (values + from_planes(row[np.newaxis]).astype(np.int64) * weight) % modulus
        return values

    def _check_acc(self) -> None:
        """The accumulator's addend is its magnitude, truncated."""
        solver, form, target = Solver(), self._form, self.target
        netlist = form.lanes.netlist
        acc, known = self._unknown_acc(solver)
        width = len(netlist.input_nets(_LEVEL))
        largest = solver.variable(_LEVEL, width)
        known |= dict(zip(netlist.input_nets(_LEVEL), solver.bits(largest, width), strict=True))
        nets = list(form.acc)
        if NOWHERE in nets or any(form.lanes.supports[net] & ~sum(1 << net for net in known) for net in nets):
            raise NotShownError("total is not a sum of an accumulator and of words that belong to one lane each")
        size = form.modulus.bit_length() - 1
        zero = solver.word(0, size)
        total = zero
        for net, bit in zip(nets, solver.nets(netlist, known, nets), strict=True):
            total = solver.term("BV_ADD", total, solver.choose(bit, solver.word(form.acc[net], size), zero))
        k = target.fraction_bits
        wide_level = self._extended(solver, largest, width)
        bits = solver.bits(acc.bits, target.width)
        significand = solver.join([*bits[:k], solver.either(bits[k:-1])])
        whole = max(size, k + 1 + self.fraction_bits, EXPONENT_BITS) + k
        shift = solver.term("BV_SUB", wide_level, acc.level)
        shift = solver.choose(solver.term("BV_SGT", acc.level, wide_level), self._number(solver, 0), shift)
        wide_shift = solver.term("BV_ZERO_EXTEND", shift, indices=(whole - EXPONENT_BITS,))
        addend = solver.term("BV_ZERO_EXTEND", significand, indices=(whole - k - 1,))
        addend = solver.term("BV_SHL", addend, solver.word(self.fraction_bits, whole))
        distance = solver.term("BV_ADD", wide_shift, solver.word(k, whole))
        addend = solver.extract(solver.term("BV_SHR", addend, distance), size - 1)
        conditions = [self._is_added(solver, acc), self._is_reached(solver, acc, wide_level)]
        claim = solver.term("IMPLIES", solver.all(conditions), solver.equal(total, addend))
        if solver.search(claim, {"acc_in": acc.bits}) is not None:
            raise NotShownError("the accumulator's addend is not its magnitude, truncated")

    def _unknown_acc(self, solver: Solver) -> tuple[_Acc, dict[int, "Term"]]:
        """Any accumulator and scale, and their nets with their terms."""
        bits, scale = solver.variable("acc_in", self.target.width), self.scales.symbolic(solver)
        known = dict(zip(self.acc_nets, solver.bits(bits, self.target.width), strict=True))
        return self._acc(solver, bits, scale), known | self.scales.known(solver, scale)

    def _check_largest(self) -> None:
        """``largest_level`` is the largest one."""
        solver, word = Solver(), self.word(_LEVEL)
        acc, known = self._unknown_acc(solver)
        exponents = {lane: self._levels_of(lane, nets) for lane, nets in enumerate(self.lanes.frontier(word, known))}
        conditions, active, levels = [self._is_added(solver, acc)], [], []
        for lane, (nets, classes) in exponents.items():
            size = len(classes).bit_length()
            number = solver.variable(f"class_{lane}", size)
            chosen = [solver.equal(number, solver.word(place, size)) for place in range(len(classes))]
            conditions.append(solver.either(chosen))
            for place, net in enumerate(nets):
                hits = [term for term, (bits, _) in zip(chosen, classes, strict=True) if bits[place]]
                known[net] = solver.either(hits) if hits else solver.false
            level = self._number(solver, 0)
            for term, (_, value) in zip(chosen, classes, strict=True):
                level = solver.choose(term, self._number(solver, value or 0), level)
            levels.append(level)
            used = [term for term, (_, value) in zip(chosen, classes, strict=True) if value is not None]
            active.append(solver.either(used) if used else solver.false)
        conditions.append(solver.either(active))
        largest = self._extended(solver, solver.join(solver.nets(self.netlist, known, word)), len(word))
        claims = [self._is_reached(solver, acc, largest)]
        for used, level in zip(active, levels, strict=True):
            claims.append(solver.term("IMPLIES", used, solver.term("BV_SGE", largest, level)))
        lanes = [solver.all([used, solver.equal(largest, level)]) for used, level in zip(active, levels, strict=True)]
        claims.append(solver.either([self._is_of_acc(solver, acc, largest), *lanes]))
        if solver.search(solver.term("IMPLIES", solver.all(conditions), solver.all(claims)), {"acc_in": acc.bits}):
            raise NotShownError("largest_level is not the largest level")

    def _levels_of(
        self, lane: int, nets: Sequence[int]
    ) -> tuple[Sequence[int], list[tuple[tuple[bool, ...], int | None]]]:
        """Some nets of a lane, their bits for all pairs, and the product's level with each; None for a zero."""
        found = {
            (member.bits, self._exponent(member) + self._offset if member.product else None)
            for member in self.lanes.classes(lane, nets, {}, self._exponents)
            if np.isfinite(member.product)
        }
        return nets, sorted(found, key=repr)

    # -- part 2

    def _finite(self) -> dict[str, int] | None:
        """Numbers: the truncated sum, or the truncated accumulator if all products are 0."""
        query = self.query(["total", _LEVEL])
        solver, target, width = query.solver, self.target, self.target.width
        total, level_bits = query.words["total"], len(self.word(_LEVEL))
        size = len(self.word("total"))
        largest = self._extended(solver, query.words[_LEVEL], level_bits)
        negative = solver.bits(total, size)[-1]
        magnitude = solver.choose(negative, solver.term("BV_NEG", total), total)
        state = self._acc(solver, query.acc, query.scale)
        acc, code = solver.bits(query.acc, width), solver.extract(query.out, width - 2)
        sign = solver.bits(query.out, width)[-1]
        zero_code, positive = solver.equal(code, solver.word(0, width - 1)), self.design.core.zero == POSITIVE

        claim, overflow = self._truncation(query, code, magnitude, size, largest)
        no_total = solver.equal(total, solver.word(0, size))
        expected_sign = solver.all([solver.negate(no_total), solver.term("XOR", negative, acc[-1])])
        if positive:
            expected_sign = solver.all([expected_sign, solver.negate(zero_code)])
        claim = solver.all([claim, solver.equal(sign, expected_sign)])

        dropped = target.fraction_bits - self.kept
        alone = solver.join([*[solver.false] * dropped, *acc[dropped:-1]])
        alone_sign = solver.all([acc[-1], solver.negate(solver.equal(alone, solver.word(0, width - 1)))])
        claim_alone = solver.all([solver.equal(code, alone), solver.equal(sign, alone_sign)])
        some = solver.either(query.lanes(lambda member: member.product != 0))
        largest_sum = self.lanes.count * self._largest_addend + (2 << self.fraction_bits) - 1
        smallest_sum = -self.lanes.count * self._largest_addend
        if largest_sum >= 1 << size - 1:
            raise NotShownError("total is too short for the largest sum")
        low, high = self._levels
        of_lanes = solver.term("BV_SLE", largest, self._number(solver, high))
        shown = [  # in part 0, if any product is not 0
            solver.either([of_lanes, self._is_of_acc(solver, state, largest)]),
            self._is_reached(solver, state, largest),
            solver.term("BV_SGE", largest, self._number(solver, low)),
            solver.term("BV_SLE", total, solver.word(largest_sum, size)),
            solver.term("BV_SGE", total, solver.word(smallest_sum % (1 << size), size)),
            self._dominated(query),
            self._alone(query, largest),
        ]
        conditions = [
            self._is_number(solver, state),
            solver.negate(query.scale.is_nan),
            solver.negate(solver.either(query.lanes(lambda member: not np.isfinite(member.product)))),
            solver.term("IMPLIES", some, solver.all(shown)),
        ]
        flags = [None, None, solver.all([some, overflow]), solver.false]
        return self.search(query, conditions, solver.choose(some, claim, claim_alone), flags)

    def _alone(self, query: Query, largest: "Term") -> "Term":
        """What follows for ``total`` if the level is so large that no bit of any product is left."""
        solver, size = query.solver, len(self.word("total"))
        values = np.abs(self.lanes.products.values[self._numbers])
        first = int(np.floor(np.log2(values.max()))) + self.fraction_bits + self._offset + 1
        above = solver.term("BV_SGE", largest, self._number(solver, first))
        not_negative = solver.term("BV_SGE", query.words["total"], solver.word(0, size))
        last = solver.word((2 << self.fraction_bits) - 1, size)
        return solver.term(
            "IMPLIES", above, solver.all([not_negative, solver.term("BV_SLE", query.words["total"], last)])
        )

    @cached_property
    def _largest_addend(self) -> int:
        """The largest product at the level of its own exponent, truncated."""
        values = np.abs(self.lanes.products.values[self._numbers])
        return int(np.ldexp(values, self.fraction_bits - self._exponents[self._numbers]).max())

    def _truncation(
        self, query: Query, code: "Term", magnitude: "Term", size: int, largest: "Term"
    ) -> tuple["Term", "Term"]:
        """Whether ``code`` is a truncated magnitude, and whether that overflows.

        A unit of the magnitude is ``2**(e - fraction_bits)``, where e is the exponent of the largest level.
        """
        from bitwuzla import RoundingMode

        solver, target, kept = query.solver, self.target, self.kept
        k, bits, bias = target.fraction_bits, target.exponent_bits, target.bias
        # above the largest level that there is, the sum is the accumulator
        acc = self._acc(solver, query.acc, query.scale)
        level = solver.choose(self._dominates(solver, acc), acc.level, largest)
        unit = solver.term("BV_SUB", level, self._number(solver, self._offset + self.fraction_bits))  # its exponent
        unit = solver.term("BV_ADD", unit, query.scale.exponent)

        room = max(size + kept, EXPONENT_BITS) + 1
        wide = solver.term("BV_ZERO_EXTEND", magnitude, indices=(room - size,))

        def shifted(places: "Term") -> "Term":
            """The magnitude times ``2**places``, truncated, meaningless if it is larger than ``room``."""
            minus = solver.term("BV_SLT", places, self._number(solver, 0))
            distance = solver.choose(minus, solver.term("BV_NEG", places), places)
            distance = solver.term("BV_ZERO_EXTEND", distance, indices=(room - EXPONENT_BITS,))
            left, right = solver.term("BV_SHL", wide, distance), solver.term("BV_SHR", wide, distance)
            return solver.choose(minus, right, left)

        def reaches(exponent: int) -> "Term":
            """Whether the sum is at least ``2**exponent``."""
            place = solver.term("BV_SUB", self._number(solver, exponent), unit)  # of the first bit that reaches it
            below = solver.term("BV_SLE", place, self._number(solver, 0))
            above = solver.term("BV_SGE", place, self._number(solver, size))
            distance = solver.term("BV_ZERO_EXTEND", place, indices=(room - EXPONENT_BITS,))
            some = solver.negate(solver.equal(solver.term("BV_SHR", wide, distance), solver.word(0, room)))
            nonzero = solver.negate(solver.equal(wide, solver.word(0, room)))
            return solver.choose(below, nonzero, solver.choose(above, solver.false, some))

        mode = solver.manager.mk_rm_value(RoundingMode.RTZ)
        number = solver.manager.mk_term(solver.kind.FP_TO_FP_FROM_UBV, [mode, magnitude], [_FLOAT_BITS, kept + 1])
        own_bias = (1 << (_FLOAT_BITS - 1)) - 1
        field = solver.term("BV_ZERO_EXTEND", solver.extract(code, k + bits - 1, k), indices=(EXPONENT_BITS - bits,))
        exponent = solver.term("BV_SUB", solver.term("BV_ADD", field, self._number(solver, own_bias - bias)), unit)
        exponent = solver.extract(exponent, _FLOAT_BITS - 1)
        pattern = solver.term("BV_CONCAT", solver.word(0, 1), exponent, solver.extract(code, k - 1, k - kept))
        same = solver.equal(solver.term("FP_TO_FP_FROM_BV", pattern, indices=(_FLOAT_BITS, kept + 1)), number)
        no_more = solver.true
        if k > kept:
            no_more = solver.equal(solver.extract(code, k - kept - 1), solver.word(0, k - kept))
        normal = solver.all([same, no_more])

        places = solver.term("BV_ADD", unit, self._number(solver, bias - 1 + kept))
        tiny = solver.extract(shifted(places), kept - 1)
        tiny = solver.term("BV_CONCAT", solver.word(0, bits), tiny)
        if k > kept:
            tiny = solver.term("BV_CONCAT", tiny, solver.word(0, k - kept))
        overflow = reaches(bias + 1)
        assert target.infinity is not None
        infinite = solver.equal(code, solver.word(target.infinity, bits + k))
        claim = solver.choose(reaches(1 - bias), normal, solver.equal(code, tiny))
        return solver.choose(overflow, infinite, claim), overflow
