"""The proof of readouts, which have too many accumulator bits to enumerate: one binade of the value at a time."""

from collections.abc import Mapping
from functools import cache, cached_property, partial

from golden.rows import Biased
from golden.wide import POSITIVE
from hwgen.blocks.block import Design
from hwgen.blocks.readout import Readout
from hwgen.reference import reference
from synth.proof.bits import Bits, cat, ite
from synth.proof.gates import Netlist
from synth.proof.solver import Claim, Pins, Proof, Solver


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
        self.unit, self.target, self.width = core.exact, core.target, core.exact.value_width
        (self.code_bits,) = self.outputs.values()

    @cached_property
    def claims(self) -> list[Claim]:
        """Both signs of all magnitudes of a binade; the most negative number has no positive counterpart."""
        counts = [(7 << self.width) + 1, *(2 << place for place in range(self.width - 1)), 1]
        others = sum(self.inputs.values()) - (self.width + 3)
        return [
            Claim(f"binade {part - 1}", count << others, partial(self._binade, part))
            for part, count in enumerate(counts)
        ]

    def _binade(self, part: int) -> Pins | None:
        """Search any accumulator of a part."""
        solver, width = Solver(), self.width
        words = {name: solver.variable(name, bits) for name, bits in self.inputs.items()}
        known = {net: bit for name, word in words.items() for net, bit in self.bound(name, word).items()}
        value, flags = words["acc"][:width].signed, words["acc"][width:]
        if part == 0:
            here = (flags != 0) | (value == 0)
            expected = solver.word(self._answer(0), self.code_bits)
            for special in range(1, 8):
                expected = ite(flags == special, self._answer(special << width), expected)
        else:
            here = (flags == 0) & (abs(value)[part - 1 :] == 1)
            expected = self.expected(solver, value, part - 1, words)
        return solver.search(here.implies(solver.outputs(self.netlist, known) == expected), words)

    def _answer(self, acc: int) -> int:
        (answer,) = reference(self.design).answer({**dict.fromkeys(self.inputs, 0), "acc": acc}).values()
        return answer

    def expected(self, solver: Solver, value: Bits, place: int, _words: Mapping[str, Bits]) -> Bits:
        """The expected output for values whose magnitude has its most significant 1 at ``place``."""
        magnitude, negative = abs(value), value[-1]
        if self.design.core.rounding is not None:
            down, up = (self._codes(solver, magnitude, place, is_negative) for is_negative in (True, False))
            return ite(negative, down, up)
        bits = self._bits(solver, magnitude, place)
        code = cat(bits, negative)
        return ite(bits == 0, 0, code) if self.design.core.zero == POSITIVE else code

    def _codes(self, solver: Solver, magnitude: Bits, place: int, negative: bool) -> Bits:
        """The expected codes of the magnitudes whose most significant 1 is at ``place``."""
        last = (1 << place) if place == self.width - 1 else (2 << place) - 1
        if place == self.width - 1 and not negative:
            return solver.word(0, self.code_bits)  # the accumulator has no such number

        @cache
        def code(number: int) -> int:
            return self._answer((-number if negative else number) & (1 << self.width) - 1)

        steps, ends = [], [(1 << place, last)]
        while ends:
            low, high = ends.pop()
            if code(low) != code(high):
                if high == low + 1:
                    steps.append(high)
                else:
                    middle = (low + high) // 2
                    ends += [(low, middle), (middle, high)]
        result = solver.word(code(1 << place), self.code_bits)
        for start in sorted(steps):
            result = ite(magnitude >= start, code(start), result)
        return result

    def _bits(self, solver: Solver, magnitude: Bits, place: int) -> Bits:
        """Expected bits of a wide format without the sign: ties to even; ``dlfloat16``: ties to away, and flushing."""
        normal, flush, body = self.target.rows[-1], self.target.flush, self.code_bits - 1
        assert isinstance(normal.exponent, Biased)
        fraction_bits, bias = normal.fraction_bits, normal.exponent.bias
        exponent, lowest = self.unit.lsb_exponent + place, -bias if flush else 1 - bias
        dropped = max(exponent, lowest) - fraction_bits - self.unit.lsb_exponent
        if (flush and exponent < lowest) or dropped > place + 1:  # less than half of the smallest number
            return solver.word(0, body)
        size = max(self.width, fraction_bits + 1) + body + 2
        kept = magnitude.to(size) << max(-dropped, 0)
        if dropped > 0:
            tail, half = kept & (1 << dropped) - 1, 1 << (dropped - 1)
            kept = kept >> dropped
            up = (tail > half) | (tail == half) & (kept[0] | flush)
            kept = kept + cat(up).to(size)
        code = kept + ((exponent + bias - 1 << fraction_bits) if exponent >= lowest else 0)
        limit = self.target.canonical_nan if flush else self.target.infinity
        assert limit is not None
        last = limit & (1 << body) - 1
        return ite(code >= last, last, code)[:body]
