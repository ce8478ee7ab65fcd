"""The proofs of blocks that round to codes with too many inputs to enumerate: readouts, and stochastic encoders."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden import Format
from golden.options import Options, options, target_options
from golden.rounding import codes_of, grid
from golden.rows import Biased, Fixed, Kind, Rounding
from golden.wide import POSITIVE
from hwgen.blocks.block import Design
from hwgen.blocks.encoder import Encoder
from hwgen.blocks.readout import Readout
from hwgen.reference import reference
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.gates import Netlist
from synth.proof.solver import Claim, Pins, Proof, Solver

_METHOD = (
    "proof (bitwuzla): for all inputs and random words, one binade at a time, the gates give the code that the "
    "definition selects"
)


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


class _Rule:
    """Numbers are rounded to codes of a format by random words.

    With R random bits, ``stochastic`` rounds a number at the fraction f of the gap between two neighbours up if the
    random word is at least ``2**R * (1 - f)``, otherwise down; see :meth:`_up` for the others.
    """

    def __init__(self, fmt: Format, options: Options, random_bits: int, has_flags: bool):
        self.fmt, self.options, self.random_bits, self.has_flags = fmt, options, random_bits, has_flags

    def codes(self, magnitudes: NDArray[np.float64]) -> NDArray[Any]:
        """Pairs of codes: of each magnitude that the format has, or of a special one, and of its negative."""
        values = np.stack([magnitudes, -magnitudes], axis=-1)
        never = np.full(values.shape, 2.0**self.random_bits)  # a threshold that is never reached
        negative = np.broadcast_to([False, True], values.shape)
        return codes_of(self.fmt, values, negative, self.options, never, self.random_bits)

    def signed(self, solver: Solver, codes: NDArray[Any], negative: Bool) -> Bits:
        """The first of two codes, or the second one."""
        positive, other = codes.tolist()
        return ite(negative, other, solver.word(positive, self.fmt.width))

    @cached_property
    def _grid(self) -> tuple[list[Fraction], NDArray[Any]]:
        """The magnitudes of the format, and their codes with both signs."""
        values = grid(self.fmt).values
        return [Fraction(value) for value in values.tolist()], self.codes(values)

    def _up(self, position: Bits, threshold: Bits, gap: int) -> Bool:
        """Whether a number ``position`` above its lower neighbour is rounded up, in integers.

        ``position * 2**R`` is compared with ``threshold * gap``, or twice the one with ``(2 threshold - 1) * gap``.
        ``stochastic_c`` rounds a tie between ``threshold`` and the integer below to the even one.
        """
        even = ~threshold[0]
        position = position << self.random_bits
        if self.options.rounding is not Rounding.STOCHASTIC:
            position, threshold = position << 1, threshold + threshold - 1
        needed = threshold * gap
        up = position >= needed
        return up & ((position != needed) | even) if self.options.rounding is Rounding.STOCHASTIC_C else up

    def rounded(
        self, solver: Solver, magnitude: Bits, ends: tuple[int, int], ulp: Fraction, random: Bits, negative: Bool
    ) -> Bits:
        """The expected code of a number, with its flags, in units that make all quantities integers.

        The number's magnitude is a multiple of ``ulp``, and between the two ``ends``.
        """
        points, pairs = self._grid
        unit = min(ulp, Fraction(2) ** self.fmt.ulp_exponent)
        places, scale = [int(point / unit) for point in points], int(ulp / unit)
        least, most = (end * scale for end in ends)
        width = max(magnitude.width, max(most, places[-1]).bit_length()) + self.random_bits + 3
        number, threshold = magnitude.to(width) * scale, (1 << self.random_bits) - random.to(width)
        code, past = self.signed(solver, pairs[-1], negative), solver.true  # overflow is certain
        for place in reversed(range(len(points) - 1)):
            low, high = places[place], places[place + 1]
            if high <= least:
                break
            if low > most:
                continue
            up = self._up(number - low, threshold, high - low)
            if place == 0 and not self.fmt.has_zero:  # all numbers but zero become the smallest value
                up = number != 0
            below, above = (self.signed(solver, pair, negative) for pair in pairs[place : place + 2])
            under = number < high
            code = ite(under, ite(up, above, below), code)
            leaves = up if place + 2 == len(points) else solver.false
            if not self.fmt.signed:  # negative numbers leave the range unless they round to zero
                leaves |= negative & (up if place == 0 else True)
            past = ite(under, leaves, past)
        if not self.has_flags:
            return code
        own = places[:-1] if self.fmt.has_zero else places[1:-1]
        lost = past | ~solver.any(number == place for place in own if place <= most)
        tiny = (number < int(Fraction(self.fmt.smallest_normal) / unit)) & (number != 0)
        return cat(code, lost, lost & tiny, past, solver.false)


class StochasticProof(Proof):
    """An encoder with a stochastic rounding; a part covers one exponent field of the source, a wide format."""

    method = _METHOD
    quick = True
    knows = frozenset({"format", "from", "rounding", "overflow", "nan-to-zero", "random-bits", "flags"})

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        core: Encoder = design.core
        own = options(core.fmt, core.source, core.rounding, core.overflow, core.nan_to_zero)
        self.source, self.rule = core.source, _Rule(core.fmt, own, self.inputs["random"], design.has_flags)
        normal = self.source.rows[-1]
        assert isinstance(normal.exponent, Biased)
        self._fraction_bits, self._field_bits = normal.fraction_bits, normal.exponent.bits
        self._bias = normal.exponent.bias

    @cached_property
    def claims(self) -> list[Claim]:
        """All signs, fractions and random words, by exponent field."""
        count = 2 << (self._fraction_bits + self.inputs["random"])
        return [Claim(f"field {part}", count, partial(self._field, part)) for part in range(1 << self._field_bits)]

    def _field(self, part: int) -> Pins | None:
        """Search any sign, fraction and random word with the exponent field ``part``."""
        solver, k = Solver(), self._fraction_bits
        sign, fraction = solver.variable("sign", 1), solver.variable("fraction", k)
        random = solver.variable("random", self.inputs["random"])
        bits = cat(fraction, solver.word(part, self._field_bits), sign)
        out = solver.outputs(self.netlist, self.bound("bits", bits) | self.bound("random", random))
        row = self.source.rows[0] if part == 0 else self.source.rows[-1]
        exponent = row.exponent.exponent if isinstance(row.exponent, Fixed) else part - self._bias
        hidden, ulp = row.hidden << k, Fraction(2) ** (exponent - k)
        magnitude, ends = cat(fraction, solver.word(row.hidden, 1)), (hidden, hidden + (1 << k) - 1)
        code = self.rule.rounded(solver, magnitude, ends, ulp, random, sign[0])
        fields, fractions = ((1 << self._field_bits) - 1) << k, (1 << k) - 1
        for special in reversed(self.source.specials):
            if special.value & fields & special.mask == (part << k) & special.mask & fields:
                hit = fraction & (special.mask & fractions) == special.value & fractions
                code = ite(hit, self._special(solver, special.kind, sign[0], fraction), code)
        return solver.search(out == code, {"bits": bits, "random": random})

    def _special(self, solver: Solver, kind: Kind, negative: Bool, fraction: Bits) -> Bits:
        """The expected code of a special value of the source, with its flags."""
        rule, never = self.rule, solver.false
        value = {Kind.ZERO: 0.0, Kind.INF: np.inf, Kind.NAN: np.nan}[kind]
        code = rule.signed(solver, rule.codes(np.array(value)), negative)
        if not rule.has_flags:
            return code
        invalid = never
        if kind is Kind.NAN:
            kept = rule.fmt.has_nan and not rule.options.nan_to_zero
            invalid = ~(fraction[-1] | self.source.nan_keeps_sign) | (not kept)
        elif kind is Kind.INF:
            lost, minus_lost = (rule.fmt.decode(rule.codes(np.array(np.inf))) != [np.inf, -np.inf]).tolist()
            invalid = negative & minus_lost | ~negative & lost
        return cat(code, never, never, never, invalid)


class StochasticReadoutProof(ReadoutProof):
    """A readout with a stochastic rounding."""

    method = _METHOD
    quick = True
    knows = ReadoutProof.knows | {"random-bits"}

    @cached_property
    def _rule(self) -> _Rule:
        core: Readout = self.design.core
        own = target_options(core.target, rounding=core.rounding, overflow=core.overflow, nan_to_zero=core.nan_to_zero)
        return _Rule(core.target, own, self.inputs["random"], self.design.has_flags)

    def expected(self, solver: Solver, value: Bits, place: int, words: Mapping[str, Bits]) -> Bits:
        ends = 1 << place, (2 << place) - 1 if place < self.width - 1 else 1 << place
        ulp, fmt = Fraction(2) ** self.unit.lsb_exponent, self._rule.fmt
        code = self._rule.rounded(solver, abs(value), ends, ulp, words["random"], value[-1])
        if self.design.core.zero == POSITIVE and fmt.has_negative_zero:
            code = ite(code == fmt.sign_bit, 0, code)
        return code
