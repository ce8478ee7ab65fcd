"""What the proofs of a normalized number and an accumulator have in common: queries by the distance of their bits."""

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from golden.wide import POSITIVE
from hwgen.blocks.block import Design
from synth.proof.floating import ProductsSumProof, Query
from synth.proof.gates import Netlist
from synth.proof.rounding import Rounded, Rounding, Sum, summed
from synth.proof.scales import EXPONENT_BITS
from synth.proof.solver import Solver

if TYPE_CHECKING:
    from bitwuzla import Term

_GUARD = 4
"""Places below the last bit of the accumulator at which a sum far below it is represented by its sign alone."""

SPECIAL, ZERO, BELOW, ABOVE, NEAR = "special", "zero", "below", "above", "near"
"""Numbers of a part: with any infinity or NaN; 0; with the accumulator far below, far above, or neither."""


class Part(NamedTuple):
    """Numbers whose accumulator's last bit weighs ``2**distance`` last bits of the significand, more or less."""

    kind: str
    distance: int = 0


class NormalizedProof(ProductsSumProof):
    """A number T times a power of two, plus the accumulator C, rounded to a wide format of precision p.

    The module must have the nets :attr:`significand`, which is T with n bits, and :attr:`exponent`. Part 0 shows what
    they are. From there on T is any number whose first 1 is among its first ``integer_bits`` bits. The distance is that
    of the last bits of C and T. The solver rounds the integer T + C for each distance: exponents that differ by a shift
    share one proof. Two kinds of accumulators need no query for each distance, because the sign of one number stands
    for the other:

    * below: numbers of the target and midpoints between them are multiples of g times T's last bit, or coarser, for
      g = min(1, 2**(n - integer_bits - p - 1)). C < g / 2 is represented by g / 4: no such number lies between T and
      T + C.
    * above: T is less than an eighth of the last place of C, and is represented by a sixteenth. Midpoints are at least
      a quarter of a place away from C, the one below a power of two; this includes C = 0, and its place.

    Attributes
    ----------
    significand, exponent : str
    """

    significand: ClassVar[str]
    exponent: ClassVar[str]

    @property
    def others(self) -> tuple[str, ...]:
        """Other nets that queries take as unknown."""
        return ()

    def __init__(self, design: Design, netlist: Netlist, compares: bool = False):
        super().__init__(design, netlist, compares)
        self.parts = 1
        if not (self.has_word(self.significand) and self.has_word(self.exponent)):  # part 0 says so
            return
        bits, precision = len(self.word(self.significand)), self.target.precision
        self.grid = min(0, bits - self.integer_bits - precision - 1)
        low, high = self.grid - precision, bits + 2
        self.queries = [Part(SPECIAL), Part(ZERO), Part(BELOW, low - 1), Part(ABOVE, high + 1)]
        self.queries += [Part(NEAR, distance) for distance in range(low, high + 1)]
        self.parts = 1 + len(self.queries)

    def prove(self, part: int) -> dict[str, int] | None:
        """Part 0 shows the number; the others add and round it."""
        if not part:
            self.show()
            return None
        this = self.queries[part - 1]
        query, exponent = self._query(this)
        if this.kind == SPECIAL:
            return self.specials(query)
        return self._zero(query) if this.kind == ZERO else self._finite(query, exponent, this)

    # -- what a subclass says of its number

    @abstractmethod
    def show(self) -> None:
        """Show that significand and exponent are the number; a NotShownError if not."""

    @property
    def integer_bits(self) -> int:
        """Bits of the significand among which is the first 1."""
        return 1

    @property
    @abstractmethod
    def origin(self) -> int:
        """Exponent of the last bit of a significand whose exponent is 0."""

    @cached_property
    @abstractmethod
    def exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a number that is not 0."""

    @abstractmethod
    def minus(self, query: Query) -> "Term":
        """Whether the number is negative."""

    @abstractmethod
    def is_zero(self, query: Query) -> list["Term"]:
        """Conditions that hold for 0."""

    @abstractmethod
    def is_not_zero(self, query: Query) -> list["Term"]:
        """Conditions that hold for other numbers; among them the place of the first 1."""

    # -- queries

    def _query(self, part: Part) -> tuple[Query, "Term"]:
        """Outputs for any number, and its exponent; of one distance, it follows from that of the accumulator."""
        exponents = []

        def made(solver: Solver, acc: "Term") -> dict[str, "Term"]:
            exponent = solver.variable("exponent", EXPONENT_BITS)
            if part.kind == NEAR:
                origin = solver.number(self.origin + part.distance, EXPONENT_BITS)
                exponent = solver.term("BV_SUB", self.acc_weight(solver, acc), origin)
            exponents.append(exponent)
            word = solver.extract(exponent, len(self.word(self.exponent)) - 1)
            return {self.exponent: word, **self.derived(solver, part, exponent, acc)}

        return self.query([self.significand, *self.others], made=made), exponents[0]

    def derived(self, _solver: Solver, _part: Part, _exponent: "Term", _acc: "Term") -> dict[str, "Term"]:
        """Terms of other named words, made from the number's exponent and the accumulator."""
        return {}

    def acc_weight(self, solver: Solver, acc: "Term") -> "Term":
        """Exponent of the last bit of the accumulator."""
        target, k = self.target, self.target.fraction_bits
        field = solver.extract(acc, target.width - 2, k)
        if not target.flush:
            one = solver.word(1, target.exponent_bits)
            field = solver.choose(solver.equal(field, solver.word(0, target.exponent_bits)), one, field)
        wide = solver.term("BV_ZERO_EXTEND", field, indices=(EXPONENT_BITS - target.exponent_bits,))
        return solver.term("BV_SUB", wide, solver.number(target.bias + k, EXPONENT_BITS))

    def _is_number(self, query: Query) -> list["Term"]:
        """Conditions for which nothing is infinite or NaN."""
        solver, acc, target = query.solver, query.acc_bits, self.target
        special = acc[:-1] if target.flush else acc[target.fraction_bits : -1]
        lanes = solver.either(query.lanes(lambda member: not np.isfinite(member.product)))
        return [solver.negate(term) for term in (solver.all(special), lanes, query.scale.is_nan)]

    def _zero(self, query: Query) -> dict[str, int] | None:
        """The sum of 0 and the accumulator is the accumulator."""
        solver, width, acc = query.solver, self.target.width, query.acc_bits
        code, acc_code = (solver.extract(word, width - 2) for word in (query.out, query.acc))
        all_negative = solver.all(query.lanes(lambda member: member.negative))
        if self.design.core.zero == POSITIVE:
            all_negative = solver.false
        sign = solver.all([acc[-1], solver.either([*acc[:-1], all_negative])])
        tiny = solver.negate(solver.either(acc[self.target.fraction_bits : -1]))
        rounded = Rounded(solver.equal(code, acc_code), solver.false, tiny, solver.false)
        return self.judged(query, [*self.is_zero(query), *self._is_number(query)], rounded, sign)

    def _finite(self, query: Query, exponent: "Term", part: Part) -> dict[str, int] | None:
        """Sums with a number that is not 0."""
        solver, width, acc = query.solver, self.target.width, query.acc_bits
        weight = solver.term("BV_ADD", exponent, solver.number(self.origin, EXPONENT_BITS))
        acc_weight = self.acc_weight(solver, query.acc)
        flip = solver.term("XOR", self.minus(query), acc[-1])
        exact, negative, zero = self._sum(query, part, weight, acc_weight, flip)
        code = solver.extract(query.out, width - 2)
        rounded = Rounding(solver, self.target).of(code, exact)
        sign = solver.all([solver.negate(zero), solver.term("XOR", negative, acc[-1])])
        if self.design.core.zero == POSITIVE:
            sign = solver.all([sign, solver.negate(solver.equal(code, solver.word(0, width - 1)))])

        low, high = (solver.number(limit, EXPONENT_BITS) for limit in self.exponents)
        distance = solver.term("BV_SUB", acc_weight, weight)
        conditions = [
            *self._is_number(query),
            *self.is_not_zero(query),
            solver.term("BV_SGE", exponent, low),
            solver.term("BV_SLE", exponent, high),
        ]
        if part.kind in (BELOW, ABOVE):
            kind = "BV_SLE" if part.kind == BELOW else "BV_SGE"
            conditions.append(solver.term(kind, distance, solver.number(part.distance, EXPONENT_BITS)))
        return self.judged(query, conditions, rounded, sign)

    def _sum(self, query: Query, part: Part, weight: "Term", acc_weight: "Term", flip: "Term") -> Sum:
        """The exact sum, in units that the last bits of both are multiples of, or of what stands for one of them."""
        solver, target, k = query.solver, self.target, self.target.fraction_bits
        acc = query.acc_bits
        some = solver.either(acc[:-1])
        significand = solver.join([*acc[:k], some if target.flush else solver.either(acc[k:-1])])
        number, bits = query.words[self.significand], len(self.word(self.significand))
        if part.kind == BELOW:
            below = 2 - self.grid
            terms, base = ((number, bits, below), (solver.join([some]), 1, 0)), (weight, below)
        elif part.kind == ABOVE:
            terms, base = ((solver.word(1, 1), 1, 0), (significand, k + 1, _GUARD)), (acc_weight, _GUARD)
        else:
            places = max(-part.distance, 0), max(part.distance, 0)
            terms, base = ((number, bits, places[0]), (significand, k + 1, places[1])), (weight, places[0])
        size = max(width + places for _, width, places in terms) + 2
        products, addend = (
            solver.term(
                "BV_SHL", solver.term("BV_ZERO_EXTEND", term, indices=(size - width,)), solver.word(places, size)
            )
            for term, width, places in terms
        )
        products = solver.choose(flip, solver.term("BV_NEG", products), products)
        return summed(
            solver,
            solver.term("BV_ADD", products, addend),
            size,
            solver.term("BV_SUB", base[0], solver.number(base[1], EXPONENT_BITS)),
        )
