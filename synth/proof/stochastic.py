"""The proofs of encoders and readouts with stochastic rounding, over all inputs and random words."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, partial
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
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.gates import Netlist
from synth.proof.readout import ReadoutProof
from synth.proof.solver import Claim, Pins, Proof, Solver

_METHOD = (
    "proof (bitwuzla): for all inputs and random words, one binade at a time, the gates give the code that the "
    "definition selects"
)


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
