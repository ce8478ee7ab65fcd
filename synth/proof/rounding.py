"""Rounding as a solver's term: whether bits of a wide format are an exact number, rounded once."""

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from golden import WideFormat
from synth.proof.scales import EXPONENT_BITS
from synth.proof.solver import Solver

if TYPE_CHECKING:
    from bitwuzla import RoundingMode, Term

_FLOAT_BITS = 12
"""Exponent bits of the floating-point numbers to which the solver rounds; wide enough for all of them."""


class Exact(NamedTuple):
    """The number ``magnitude * 2**base``: a word of ``size`` bits, and a signed word of :data:`EXPONENT_BITS`."""

    magnitude: "Term"
    size: int
    base: "Term"


class Sum(NamedTuple):
    """A sum, its sign, and whether it is 0."""

    exact: Exact
    negative: "Term"
    zero: "Term"


def summed(solver: Solver, total: "Term", size: int, base: "Term") -> Sum:
    """A sum in two's complement as a number."""
    negative = solver.bits(total, size)[-1]
    magnitude = solver.choose(negative, solver.term("BV_NEG", total), total)
    return Sum(Exact(magnitude, size, base), negative, solver.equal(total, solver.word(0, size)))


class Rounded(NamedTuple):
    """Whether the bits are the rounded number; and the flags of a finite sum."""

    claim: "Term"
    inexact: "Term"
    tiny: "Term"
    overflow: "Term"


class Rounding:
    """The rules of a wide format: to nearest, ties to even, or away from zero if it has no subnormals.

    The solver's own floating-point theory rounds numbers of the normal range. Subnormals are rounded as multiples of
    the smallest one.
    """

    def __init__(self, solver: Solver, target: WideFormat):
        self.solver, self.target = solver, target

    def of(self, body: "Term", exact: Exact) -> Rounded:
        """Whether ``body``, bits without sign, is a rounded number."""
        from bitwuzla import RoundingMode

        solver, target, k = self.solver, self.target, self.target.fraction_bits
        width = target.width - 1
        mode = RoundingMode.RNA if target.flush else RoundingMode.RNE
        claim = solver.equal(self._number(body, exact.base), self._rounded(exact, mode))
        toward = RoundingMode.RTZ, RoundingMode.RTP
        lost = solver.negate(solver.equal(*(self._rounded(exact, mode) for mode in toward)))

        smallest = Fraction(2) ** (-target.bias if target.flush else 1 - target.bias)
        is_small = self._below(exact, smallest)
        if target.flush:
            nothing = solver.equal(body, solver.word(0, width))
            some = solver.negate(solver.equal(exact.magnitude, solver.word(0, exact.size)))
            claim = solver.choose(is_small, nothing, claim)
            lost = solver.either([lost, solver.all([nothing, some])])  # also the number of code 0 if that were normal
        else:
            code, cut = self._subnormal(exact)
            claim = solver.choose(is_small, solver.equal(body, code), claim)
            lost = solver.choose(is_small, cut, lost)
        ulp = Fraction(2) ** (target.exponent_range[1] - k)
        overflow = solver.negate(self._below(exact, Fraction(target.largest) + ulp / 2))
        last = target.canonical_nan if target.flush else target.infinity
        assert last is not None
        claim = solver.choose(overflow, solver.equal(body, solver.word(last & (1 << width) - 1, width)), claim)
        tiny = self._below(exact, Fraction(target.smallest_normal))
        return Rounded(claim, solver.either([lost, overflow]), tiny, overflow)

    def _rounded(self, exact: Exact, mode: "RoundingMode") -> "Term":
        """The magnitude as a floating-point number of the target's precision."""
        solver = self.solver
        arguments = [solver.manager.mk_rm_value(mode), exact.magnitude]
        indices = [_FLOAT_BITS, self.target.fraction_bits + 1]
        return solver.manager.mk_term(solver.kind.FP_TO_FP_FROM_UBV, arguments, indices)

    def _number(self, body: "Term", base: "Term") -> "Term":
        """The number of a normal code, over ``2**base``."""
        solver, target, k = self.solver, self.target, self.target.fraction_bits
        own_bias = (1 << (_FLOAT_BITS - 1)) - 1
        field = solver.extract(body, target.width - 2, k)
        field = solver.term("BV_ZERO_EXTEND", field, indices=(EXPONENT_BITS - target.exponent_bits,))
        exponent = solver.term("BV_ADD", field, solver.number(own_bias - target.bias, EXPONENT_BITS))
        exponent = solver.extract(solver.term("BV_SUB", exponent, base), _FLOAT_BITS - 1)
        pattern = solver.term("BV_CONCAT", solver.word(0, 1), exponent, solver.extract(body, k - 1))
        return solver.term("FP_TO_FP_FROM_BV", pattern, indices=(_FLOAT_BITS, k + 1))

    def _split(self, places: "Term", width: int) -> tuple["Term", "Term"]:
        """Whether a number of places is negative, and its magnitude as a word of ``width`` bits."""
        solver = self.solver
        minus = solver.term("BV_SLT", places, solver.number(0, EXPONENT_BITS))
        distance = solver.choose(minus, solver.term("BV_NEG", places), places)
        return minus, solver.term("BV_ZERO_EXTEND", distance, indices=(width - EXPONENT_BITS,))

    def _below(self, exact: Exact, number: Fraction) -> "Term":
        """Whether the number is less than another one, ``odd * 2**exponent``."""
        solver, (magnitude, size, base) = self.solver, exact
        exponent = 1 - number.denominator.bit_length()
        odd = number.numerator
        while not odd & 1:
            odd, exponent = odd >> 1, exponent + 1
        width = max(size + odd.bit_length() + 1, EXPONENT_BITS)
        wide = solver.term("BV_ZERO_EXTEND", magnitude, indices=(width - size,))
        limit = solver.word(odd, width)
        minus, distance = self._split(solver.term("BV_SUB", solver.number(exponent, EXPONENT_BITS), base), width)
        to_limit = solver.term("BV_ULT", wide, solver.term("BV_SHL", limit, distance))
        to_limit = solver.either([to_limit, solver.term("BV_UGE", distance, solver.word(size, width))])
        far = solver.term("BV_UGE", distance, solver.word(odd.bit_length(), width))
        to_number = solver.term("BV_ULT", solver.term("BV_SHL", wide, distance), limit)
        to_number = solver.choose(far, solver.equal(magnitude, solver.word(0, size)), to_number)
        return solver.choose(minus, to_number, to_limit)

    def _subnormal(self, exact: Exact) -> tuple["Term", "Term"]:
        """The code of a number below the smallest normal one; and whether anything is lost."""
        solver, (magnitude, size, base), code_bits = self.solver, exact, self.target.width - 1
        tail = size + 1  # places for what is cut; a number cut by more is less than half
        width = max(tail + max(size, code_bits) + 1, EXPONENT_BITS)
        wide = solver.term("BV_ZERO_EXTEND", magnitude, indices=(width - size,))
        wide = solver.term("BV_SHL", wide, solver.word(tail, width))
        places = solver.term("BV_SUB", base, solver.number(self.target.ulp_exponent, EXPONENT_BITS))
        minus, distance = self._split(places, width)
        limit = solver.word(tail, width)
        right = solver.choose(solver.term("BV_UGT", distance, limit), limit, distance)
        moved = solver.choose(minus, solver.term("BV_SHR", wide, right), solver.term("BV_SHL", wide, distance))
        kept, rest = solver.extract(moved, width - 1, tail), solver.extract(moved, tail - 1)
        half = solver.word(1 << (tail - 1), tail)
        odd = solver.equal(solver.extract(kept, 0), solver.word(1, 1))
        up = solver.either([solver.term("BV_UGT", rest, half), solver.all([solver.equal(rest, half), odd])])
        few = self.target.fraction_bits + 1  # all others are 0
        one = solver.choose(up, solver.word(1, few), solver.word(0, few))
        code = solver.term("BV_ADD", solver.extract(kept, few - 1), one)
        code = solver.term("BV_ZERO_EXTEND", code, indices=(code_bits - few,))
        return code, solver.negate(solver.equal(rest, solver.word(0, tail)))
