"""The proofs of blocks that round to codes with too many inputs to enumerate: encoders and readouts."""

from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden import Format, WideFormat
from golden.bits import scale_range
from golden.options import Options
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


class ReadoutProof(Proof):
    """A readout; part 0 is zero and all special values, part k + 1 magnitudes from ``2**k`` to ``2**(k + 1) - 1``."""

    method = (
        "proof (bitwuzla): for all accumulators, scales and random words, one binade at a time, the gates give the "
        "value, rounded once by the definition"
    )
    knows = frozenset(
        {"format", "format-b", "to", "terms", "scale-bits", "rounding", "overflow", "nan-to-zero", "zero", "optimize"}
        | {"random-bits", "result-scale-bits"}
    )

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        core: Readout = design.core
        self.unit, self.target, self.width = core.exact, core.target, core.exact.value_width
        (self.code_bits,) = self.outputs.values()

    @cached_property
    def claims(self) -> list[Claim]:
        """Both signs of all magnitudes of a binade; the most negative number has no positive counterpart."""
        counts = [*(2 << place for place in range(self.width - 1)), 1]
        scales, drawn = self.design.scale_bits, self.inputs.get("random", 0)
        low, high = scale_range(scales)
        claims = [Claim("specials", (7 << self.width) + 1 << scales + drawn, partial(self._binade, 0, None))]
        for part, count in enumerate(counts, 1):
            for scale in range(low, high + 1):
                what = f"binade {part - 1}, scale {scale}"
                claims.append(Claim(what, count << drawn, partial(self._binade, part, scale)))
        return claims

    def _binade(self, part: int, scale: int | None) -> Pins | None:
        """Search any accumulator of a part, with one scale or any."""
        solver, width = Solver(), self.width
        words = {name: solver.variable(name, bits) for name, bits in self.inputs.items()}
        if "scale" in words and scale is not None:
            words["scale"] = solver.number(scale, words["scale"].width)
        known = {net: bit for name, word in words.items() for net, bit in self.bound(name, word).items()}
        value, flags = words["acc"][:width].signed, words["acc"][width:]
        if part == 0:
            here = (flags != 0) | (value == 0)
            expected = solver.word(self._answer(0), self.code_bits)
            for special in range(1, 8):
                expected = ite(flags == special, self._answer(special << width), expected)
        else:
            here = (flags == 0) & (abs(value)[part - 1 :] == 1)
            expected = self.expected(solver, value, part - 1, scale or 0, words.get("random"))
        return solver.search(here.implies(solver.outputs(self.netlist, known) == expected), words)

    def _answer(self, acc: int) -> int:
        (answer,) = reference(self.design).answer({**dict.fromkeys(self.inputs, 0), "acc": acc}).values()
        return answer

    def expected(self, solver: Solver, value: Bits, place: int, scale: int, random: Bits | None) -> Bits:
        """The expected output for values whose magnitude has its most significant 1 at ``place``."""
        lsb_exponent = self.unit.lsb_exponent + scale
        if self.design.core.rounding is None:
            bits = self._bits(solver, abs(value), place, lsb_exponent)
            code = cat(bits, value[-1])
            return ite(bits == 0, 0, code) if self.design.core.zero == POSITIVE else code
        ends = 1 << place, (2 << place) - 1 if place < self.width - 1 else 1 << place
        rule = Rule(self.target, self.design.core.chosen, self.inputs.get("random", 0), False)
        code = rule.rounded(solver, abs(value), ends, Fraction(2) ** lsb_exponent, random, value[-1])
        if self.design.core.zero == POSITIVE and self.target.has_negative_zero:
            code = ite(code == self.target.sign_bit, 0, code)
        return code

    def _bits(self, solver: Solver, magnitude: Bits, place: int, lsb_exponent: int) -> Bits:
        """Expected bits of a wide format without the sign: ties to even; ``dlfloat16``: ties to away, and flushing."""
        normal, flush, body = self.target.rows[-1], self.target.flush, self.code_bits - 1
        assert isinstance(normal.exponent, Biased)
        fraction_bits, bias = normal.fraction_bits, normal.exponent.bias
        exponent, lowest = lsb_exponent + place, -bias if flush else 1 - bias
        dropped = max(exponent, lowest) - fraction_bits - lsb_exponent
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


class Rule:
    """Numbers are rounded to codes of a format, by the definition of each rounding in integers.

    The random word of a stochastic rounding, or the threshold of hybrid rounding, has ``tail_bits``.
    """

    def __init__(self, fmt: Format, options: Options, tail_bits: int, has_flags: bool):
        self.fmt, self.options, self.tail_bits, self.has_flags = fmt, options, tail_bits, has_flags

    def codes(self, magnitudes: NDArray[np.float64]) -> NDArray[Any]:
        """Pairs of codes: of each magnitude that the format has, or of a special one, and of its negative."""
        values = np.stack([magnitudes, -magnitudes], axis=-1)
        never = np.full(values.shape, 2.0**self.tail_bits)  # a threshold that is never reached
        negative = np.broadcast_to([False, True], values.shape)
        return codes_of(self.fmt, values, negative, self.options, never, self.tail_bits)

    def signed(self, solver: Solver, codes: NDArray[Any], negative: Bool) -> Bits:
        """The first of two codes, or the second one."""
        positive, other = codes.tolist()
        return ite(negative, other, solver.word(positive, self.fmt.width))

    @cached_property
    def _grid(self) -> tuple[list[Fraction], NDArray[Any]]:
        """The magnitudes of the format, and their codes with both signs."""
        values = grid(self.fmt).values
        return [Fraction(value) for value in values.tolist()], self.codes(values)

    def _up(
        self, number: Bits, place: int, ends: tuple[int, int], unit: Fraction, word: Bits | None, negative: Bool
    ) -> Bool:
        """Whether a number between two neighbours, ``ends``, is rounded up, all in integers.

        ``place`` is that of the lower neighbour among all values.
        """
        low, high = ends
        table, never = grid(self.fmt), number < 0
        odd = bool(table.codes[place] & 1)
        if place == 0 and table.flush_below and not self.options.rounding.is_stochastic:
            low = int(Fraction(table.flush_below) / unit)
        twice = int(2 * Fraction(table.middles[place]) / unit) if self.fmt.posit_rounding else low + high
        above, past, half = number > low, number + number > twice, number + number >= twice
        match self.options.rounding:
            case Rounding.TOWARD_ZERO:
                return never
            case Rounding.TIES_TO_EVEN:
                return half if odd else past
            case Rounding.TIES_TO_AWAY:
                return half
            case Rounding.TOWARD_POSITIVE:
                return above & ~negative
            case Rounding.TOWARD_NEGATIVE:
                return above & negative
            case Rounding.TO_ODD:
                return never if odd else above
            case Rounding.MPTORCH:
                ties_up = odd or bool(table.power_of_two_row[place])
                nearest = half if ties_up else past
                return never if place == 0 else above if place + 1 == len(table.codes) else nearest
        assert word is not None
        if self.options.rounding is not Rounding.HYBRID:
            return self._stochastic(number - low, (1 << self.tail_bits) - word, high - low)
        powers = {power: int(Fraction(2) ** power / unit) for power in (-22, -3, 4, 15)}
        near_one = (number >= powers[-3]) & (number < powers[4])
        reached = (number - low << self.tail_bits) >= word * (high - low)
        up = ite(near_one, half, reached) | (number >= powers[15] * 5 // 4)
        return up & (number + number >= powers[-22])

    def _stochastic(self, position: Bits, threshold: Bits, gap: int) -> Bool:
        """Whether a number ``position`` above its lower neighbour is rounded up.

        ``position * 2**R`` is compared with ``threshold * gap``, or twice the one with ``(2 threshold - 1) * gap``.
        ``stochastic_c`` rounds a tie between ``threshold`` and the integer below to the even one.
        """
        even = ~threshold[0]
        position = position << self.tail_bits
        if self.options.rounding is not Rounding.STOCHASTIC:
            position, threshold = position << 1, threshold + threshold - 1
        needed = threshold * gap
        up = position >= needed
        return up & ((position != needed) | even) if self.options.rounding is Rounding.STOCHASTIC_C else up

    def rounded(
        self, solver: Solver, magnitude: Bits, ends: tuple[int, int], ulp: Fraction, word: Bits | None, negative: Bool
    ) -> Bits:
        """The expected code of a number, with its flags, in units that make all quantities integers.

        The number's magnitude is a multiple of ``ulp``, and between the two ``ends``.
        """
        points, pairs = self._grid
        unit = min(ulp, Fraction(2) ** self.fmt.ulp_exponent)
        places, scale = [int(point / unit) for point in points], int(ulp / unit)
        least, most = (end * scale for end in ends)
        width = max(magnitude.width, max(most, places[-1]).bit_length()) + self.tail_bits + 3
        number, word = magnitude.to(width) * scale, None if word is None else word.to(width)
        code, past = self.signed(solver, pairs[-1], negative), solver.true  # overflow is certain
        moved = solver.false
        for place in reversed(range(len(points) - 1)):
            low, high = places[place], places[place + 1]
            if high <= least:
                break
            if low > most:
                continue
            up = self._up(number, place, (low, high), unit, word, negative)
            if place == 0 and (not self.fmt.has_zero or self.fmt.posit_rounding):  # all but 0 become the smallest value
                up = number != 0
            below, above = (self.signed(solver, pair, negative) for pair in pairs[place : place + 2])
            under = number < high
            code = ite(under, ite(up, above, below), code)
            leaves = up if place + 2 == len(points) else solver.false
            if not self.fmt.signed:  # negative numbers leave the range unless they round to zero
                leaves |= negative & (up if place == 0 else True)
            past, moved = ite(under, leaves, past), ite(under, up, moved)
        if not self.has_flags:
            return code
        own = places[:-1] if self.fmt.has_zero else places[1:-1]
        lost = past | moved | ~solver.any(number == place for place in own if place <= most)
        tiny = (number < int(Fraction(self.fmt.smallest_normal) / unit)) & (number != 0)
        return cat(code, lost, lost & tiny, past, solver.false)


class Numbers:
    """Numbers of a wide format, times a power of two, rounded once to codes of a format."""

    def __init__(self, fmt: Format, options: Options, random_bits: int | None, has_flags: bool = False):
        source = options.source
        assert isinstance(source, WideFormat)
        hybrid = (14 if source.width == 32 else 2) if options.rounding is Rounding.HYBRID else 0
        self.source, self.rule = source, Rule(fmt, options, random_bits or hybrid, has_flags)
        self.fraction_bits, self.field_bits = source.fraction_bits, source.exponent_bits
        self.last = (1 << self.field_bits) - 1

    def code(
        self, solver: Solver, sign: Bool, fraction: Bits, total: int, first: int | None, random: Bits | None
    ) -> Bits:
        """The expected code, with its flags, of the fraction with an exponent field ``first``, times 2**total.

        Without a field, ``total`` is that of a normal number plus the exponent of the power of two.
        """
        k, own = self.fraction_bits, first or 0
        row = self.source.rows[0] if first == 0 else self.source.rows[-1]
        exponent = row.exponent.exponent if isinstance(row.exponent, Fixed) else own - self.source.bias
        hidden, ulp = row.hidden << k, Fraction(2) ** (exponent + total - k)
        magnitude, ends = cat(fraction, solver.word(row.hidden, 1)), (hidden, hidden + (1 << k) - 1)
        if self.rule.options.rounding is Rounding.HYBRID:  # its threshold, bits of the source
            random = fraction[:14] if self.source.width == 32 else cat(solver.true, fraction[0])
        code = self.rule.rounded(solver, magnitude, ends, ulp, random, sign)
        fields, fractions = self.last << k, (1 << k) - 1
        for special in reversed(self.source.specials if first is not None else ()):
            if special.value & fields & special.mask == (own << k) & special.mask & fields:
                hit = fraction & (special.mask & fractions) == special.value & fractions
                code = ite(hit, self._special(solver, special.kind, sign, fraction), code)
        return code

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


class EncoderProof(Proof):
    """An encoder from a wide format.

    A claim covers all numbers with the same exponent after scaling, but those of the first and the last exponent field
    by field and scale.
    """

    method = (
        "proof (bitwuzla): for all inputs, scales and random words, one binade at a time, the gates give the code that "
        "the definition selects"
    )
    quick = True
    knows = frozenset({"format", "from", "rounding", "overflow", "nan-to-zero", "random-bits", "flags", "scale-bits"})

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        core: Encoder = design.core
        self.numbers = Numbers(core.fmt, core.chosen, core.random_bits, design.has_flags)

    @cached_property
    def claims(self) -> list[Claim]:
        """All signs, fractions and random words, by exponent."""
        low, high = scale_range(self.design.scale_bits)
        count = 2 << (self.numbers.fraction_bits + self.inputs.get("random", 0))
        claims = [
            Claim(f"field {field}, scale {scale}", count, partial(self._search, scale, field))
            for field in (0, self.numbers.last)
            for scale in range(low, high + 1)
        ]
        for total in range(1 + low, self.numbers.last + high):
            fields = min(total - low, self.numbers.last - 1) - max(total - high, 1) + 1
            claims.append(Claim(f"field and scale {total}", fields * count, partial(self._search, total)))
        return claims

    def _search(self, total: int, first: int | None = None) -> Pins | None:
        """Search any sign, fraction and random word, with fields and scales of a sum; or with a field and a scale."""
        solver, k, scale_bits = Solver(), self.numbers.fraction_bits, self.design.scale_bits
        sign, fraction = solver.variable("sign", 1), solver.variable("fraction", k)
        words = {"random": solver.variable("random", self.inputs["random"])} if "random" in self.inputs else {}
        here, own = solver.true, total & self.numbers.last if first is None else first
        field = solver.word(own, self.numbers.field_bits)
        if scale_bits and first is None:
            words["scale"], width = solver.variable("scale", scale_bits), self.numbers.field_bits + scale_bits + 1
            rest = solver.number(total, width) - words["scale"].signed.to(width)
            here, field = (rest >= 1) & (rest < self.numbers.last), rest[: self.numbers.field_bits]
        elif scale_bits:
            words["scale"] = solver.number(total, scale_bits)
        words["bits"] = cat(fraction, field, sign)
        known = {net: bit for name, word in words.items() for net, bit in self.bound(name, word).items()}
        out = solver.outputs(self.netlist, known)
        code = self.numbers.code(solver, sign[0], fraction, total, first, words.get("random"))
        return solver.search(here.implies(out == code), words)
