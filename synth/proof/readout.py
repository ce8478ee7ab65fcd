"""The proof of readouts, which have too many accumulator bits to enumerate: one binade of the value at a time."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from golden.rows import Biased
from golden.wide import POSITIVE
from hwgen.blocks.block import Design
from hwgen.blocks.readout import Readout, output
from hwgen.reference import reference
from synth.proof.gates import Netlist
from synth.proof.solver import Proof, Solver

if TYPE_CHECKING:
    from bitwuzla import Term


class Binade(NamedTuple):
    """The accumulators of a part: whether one is among them; sign and magnitude of its value."""

    here: "Term"
    sign: "Term"
    magnitude: "Term"

    @classmethod
    def of(cls, solver: Solver, acc: "Term", width: int, part: int) -> "Binade":
        """Part 0: zero and all special values; part k + 1: magnitudes from ``2**k`` to ``2**(k + 1) - 1``."""
        value = solver.extract(acc, width - 1)
        finite = solver.equal(solver.extract(acc, width + 2, width), solver.word(0, 3))
        sign = solver.extract(acc, width - 1, width - 1)
        negative = solver.equal(sign, solver.word(1, 1))
        magnitude = solver.choose(negative, solver.term("BV_NEG", value), value)
        if part == 0:
            zero = solver.all([finite, solver.equal(value, solver.word(0, width))])
            return cls(solver.either([zero, solver.negate(finite)]), sign, magnitude)
        above = solver.extract(magnitude, width - 1, part - 1)
        return cls(solver.all([finite, solver.equal(above, solver.word(1, width - part + 1))]), sign, magnitude)


def binade_cases(part: int, width: int) -> int:
    """Both signs of all magnitudes of a part; the most negative number has no positive counterpart."""
    if part == 0:
        return (7 << width) + 1
    return 1 if part == width else 2 << (part - 1)


def special_codes(solver: Solver, acc: "Term", width: int, code_bits: int, expected: Callable[[int], int]) -> "Term":
    """The expected output for each combination of flags, and for zero."""
    code = solver.word(expected(0), code_bits)
    flags = solver.extract(acc, width + 2, width)
    for word in range(1, 8):
        special = solver.word(expected(word << width), code_bits)
        code = solver.choose(solver.equal(flags, solver.word(word, 3)), special, code)
    return code


class ReadoutProof(Proof):
    """A readout without random bits; part 0 is zero and all special values, part k + 1 magnitudes from ``2**k`` to
    ``2**(k + 1) - 1``.

    Expected codes come from the reference model: they are monotonic in a binade of one sign, so that bisection finds
    where they change. A wide format has too many steps for that; its rounding is specified in integers.
    """

    method = "proof (bitwuzla): for all accumulators, one binade at a time, the gates give the value rounded once"
    knows = frozenset(
        {"format", "format-b", "to", "terms", "scale-bits", "rounding", "overflow", "nan-to-zero", "zero", "optimize"}
    )

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        core: Readout = design.core
        self.unit, self.target, self.rounds_to_code = core.exact, core.target, core.rounding is not None
        self.width = self.unit.value_width
        self.parts = self.width + 1

    def cases(self, part: int) -> int:
        """See :func:`binade_cases`."""
        return binade_cases(part, self.width)

    def prove(self, part: int) -> dict[str, int] | None:
        """Search any accumulator of the part."""
        solver, width = Solver(), self.width
        acc = solver.variable("acc", width + 3)
        known = dict(zip(self.netlist.input_nets("acc"), solver.bits(acc, width + 3), strict=True))
        out = solver.outputs(self.netlist, known)
        here, sign, magnitude = Binade.of(solver, acc, width, part)
        if part == 0:
            expected = special_codes(solver, acc, width, self.target.width, self._expected)
        else:
            negative = solver.equal(sign, solver.word(1, 1))
            if self.rounds_to_code:
                down, up = (self._codes(solver, magnitude, part - 1, is_negative) for is_negative in (True, False))
                expected = solver.choose(negative, down, up)
            else:
                bits = self._bits(solver, magnitude, part - 1)
                expected = solver.term("BV_CONCAT", sign, bits)
                if self.design.core.zero == POSITIVE:
                    nothing = solver.equal(bits, solver.word(0, self.target.width - 1))
                    expected = solver.choose(nothing, solver.word(0, self.target.width), expected)
        return solver.search(solver.term("IMPLIES", here, solver.equal(out, expected)), {"acc": acc})

    def _expected(self, acc: int) -> int:
        return reference(self.design).answer({"acc": acc})[output(self.target)]

    def _codes(self, solver: Solver, magnitude: "Term", place: int, negative: bool) -> "Term":
        """The expected codes of the magnitudes whose most significant 1 is at ``place``."""
        last = (1 << place) if place == self.width - 1 else (2 << place) - 1
        if place == self.width - 1 and not negative:
            return solver.word(0, self.target.width)  # the accumulator has no such number

        @cache
        def code(number: int) -> int:
            return self._expected((-number if negative else number) & (1 << self.width) - 1)

        steps, ends = [], [(1 << place, last)]
        while ends:
            low, high = ends.pop()
            if code(low) != code(high):
                if high == low + 1:
                    steps.append(high)
                else:
                    middle = (low + high) // 2
                    ends += [(low, middle), (middle, high)]
        result = solver.word(code(1 << place), self.target.width)
        for start in sorted(steps):
            reached = solver.term("BV_UGE", magnitude, solver.word(start, self.width))
            result = solver.choose(reached, solver.word(code(start), self.target.width), result)
        return result

    def _bits(self, solver: Solver, magnitude: "Term", place: int) -> "Term":
        """Expected bits of a wide format without the sign: ties to even; ``dlfloat16``: ties to away, and flushing."""
        normal, flush = self.target.rows[-1], self.target.flush
        assert isinstance(normal.exponent, Biased)
        fraction_bits, bias = normal.fraction_bits, normal.exponent.bias
        exponent, lowest = self.unit.lsb_exponent + place, -bias if flush else 1 - bias
        body = self.target.width - 1
        dropped = max(exponent, lowest) - fraction_bits - self.unit.lsb_exponent
        if (flush and exponent < lowest) or dropped > place + 1:  # less than half of the smallest number
            return solver.word(0, body)
        size = max(self.width, fraction_bits + 1) + body + 2
        wide = solver.term("BV_ZERO_EXTEND", magnitude, indices=(size - self.width,))
        if dropped <= 0:
            kept = solver.term("BV_SHL", wide, solver.word(-dropped, size))
        else:
            kept = solver.term("BV_SHR", wide, solver.word(dropped, size))
            tail = solver.term("BV_AND", wide, solver.word((1 << dropped) - 1, size))
            half = solver.word(1 << (dropped - 1), size)
            odd = solver.equal(solver.extract(kept, 0), solver.word(1, 1))
            tie = solver.true if flush else odd
            up = solver.either([solver.term("BV_UGT", tail, half), solver.all([solver.equal(tail, half), tie])])
            kept = solver.term("BV_ADD", kept, solver.choose(up, solver.word(1, size), solver.word(0, size)))
        hidden = 1 << fraction_bits if exponent >= lowest else 0
        field = (exponent + bias) << fraction_bits if exponent >= lowest else 0
        code = solver.term("BV_ADD", kept, solver.word((field - hidden) % (1 << size), size))
        limit = self.target.canonical_nan if flush else self.target.infinity
        assert limit is not None
        last = solver.word(limit & (1 << body) - 1, size)
        code = solver.choose(solver.term("BV_UGE", code, last), last, code)
        return solver.extract(code, body - 1)
