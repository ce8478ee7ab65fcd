"""The proofs of encoders and readouts with stochastic rounding, over all inputs and random words."""

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

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
from synth.proof.gates import Netlist
from synth.proof.readout import Binade, ReadoutProof, binade_cases, special_codes
from synth.proof.solver import Proof, Solver

if TYPE_CHECKING:
    from bitwuzla import Term


class _Stochastic(Proof):
    """A block whose numbers are rounded to codes by random words.

    With R random bits, ``stochastic`` rounds a number at the fraction f of the gap between two neighbours up if the
    random word is at least ``2**R * (1 - f)``, otherwise down; see :meth:`_up` for the others.
    """

    method = (
        "proof (bitwuzla): for all inputs and random words, one binade at a time, the gates give the code that the "
        "definition selects"
    )
    quick = True
    fmt: Format
    options: Options

    @property
    def random_bits(self) -> int:
        """Width of a random word."""
        return self.inputs["random"]

    def _signed(self, solver: Solver, codes: NDArray[Any], sign: "Term") -> "Term":
        """The first of two codes, or the second one if ``sign`` is 1."""
        positive, negative = (solver.word(code, self.fmt.width) for code in codes.tolist())
        return solver.choose(solver.equal(sign, solver.word(1, 1)), negative, positive)

    def _codes(self, magnitudes: NDArray[np.float64]) -> NDArray[Any]:
        """Pairs of codes: of each magnitude that the format has, or of a special one, and of its negative."""
        values = np.stack([magnitudes, -magnitudes], axis=-1)
        never = np.full(values.shape, 2.0**self.random_bits)  # a threshold that is never reached
        negative = np.broadcast_to([False, True], values.shape)
        return codes_of(self.fmt, values, negative, self.options, never, self.random_bits)

    @cached_property
    def _grid(self) -> tuple[list[Fraction], NDArray[Any]]:
        """The magnitudes of the format, and their codes with both signs."""
        values = grid(self.fmt).values
        return [Fraction(value) for value in values.tolist()], self._codes(values)

    def _up(self, solver: Solver, position: "Term", threshold: "Term", gap: int) -> "Term":
        """Whether a number ``position`` above its lower neighbour is rounded up, in integers.

        ``position * 2**R`` is compared with ``threshold * gap``, or twice the one with ``(2 threshold - 1) * gap``.
        ``stochastic_c`` rounds a tie between ``threshold`` and the integer below to the even one.
        """
        width, rounding = position.sort().bv_size(), self.options.rounding
        even = solver.negate(solver.bits(threshold, 1)[0])
        doubled = rounding is not Rounding.STOCHASTIC
        position = solver.term("BV_SHL", position, solver.word(self.random_bits + doubled, width))
        if doubled:
            threshold = solver.term("BV_SUB", solver.term("BV_ADD", threshold, threshold), solver.word(1, width))
        needed = solver.term("BV_MUL", threshold, solver.word(gap, width))
        up = solver.term("BV_UGE", position, needed)
        if rounding is not Rounding.STOCHASTIC_C:
            return up
        return solver.all([up, solver.either([solver.negate(solver.equal(position, needed)), even])])

    def rounded(
        self, solver: Solver, magnitude: "Term", ends: tuple[int, int], ulp: Fraction, random: "Term", sign: "Term"
    ) -> "Term":
        """The expected code of a number, with its flags, in units that make all quantities integers.

        The number's magnitude is a multiple of ``ulp``, and between the two ``ends``.
        """
        r, bits = self.random_bits, magnitude.sort().bv_size()
        points, pairs = self._grid
        unit = min(ulp, Fraction(2) ** self.fmt.ulp_exponent)
        places = [int(point / unit) for point in points]
        scale = int(ulp / unit)
        least, most = (end * scale for end in ends)
        width = max(bits, max(most, places[-1]).bit_length()) + r + 3
        number = solver.term("BV_ZERO_EXTEND", magnitude, indices=(width - bits,))
        number = solver.term("BV_MUL", number, solver.word(scale, width))
        threshold = solver.term("BV_ZERO_EXTEND", random, indices=(width - r,))
        threshold = solver.term("BV_SUB", solver.word(1 << r, width), threshold)
        code, past = self._signed(solver, pairs[-1], sign), solver.true  # overflow is certain
        negative = solver.equal(sign, solver.word(1, 1))
        for place in reversed(range(len(points) - 1)):
            low, high = places[place], places[place + 1]
            if high <= least:
                break
            if low > most:
                continue
            position = solver.term("BV_SUB", number, solver.word(low, width))
            up = self._up(solver, position, threshold, high - low)
            if place == 0 and not self.fmt.has_zero:  # all numbers but zero become the smallest value
                up = solver.negate(solver.equal(number, solver.word(0, width)))
            below, above = (self._signed(solver, pair, sign) for pair in pairs[place : place + 2])
            here = solver.choose(up, above, below)
            under = solver.term("BV_ULT", number, solver.word(high, width))
            code = solver.choose(under, here, code)
            leaves = up if place + 2 == len(points) else solver.false
            if not self.fmt.signed:  # negative numbers leave the range unless they round to zero
                leaves = solver.either([leaves, solver.all([negative, up if place == 0 else solver.true])])
            past = solver.choose(under, leaves, past)
        if not self.design.has_flags:
            return code
        own = places[:-1] if self.fmt.has_zero else places[1:-1]
        values = [solver.equal(number, solver.word(place, width)) for place in own if place <= most]
        lost = solver.either([past, solver.negate(solver.either(values))])
        tiny = solver.term("BV_ULT", number, solver.word(int(Fraction(self.fmt.smallest_normal) / unit), width))
        tiny = solver.all([tiny, solver.negate(solver.equal(number, solver.word(0, width)))])
        return solver.term("BV_CONCAT", solver.join([lost, solver.all([lost, tiny]), past, solver.false]), code)


class StochasticProof(_Stochastic):
    """An encoder with a stochastic rounding; a part covers one exponent field of the source, a wide format."""

    knows = frozenset({"format", "from", "rounding", "overflow", "nan-to-zero", "random-bits", "flags"})

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        core: Encoder = design.core
        self.fmt, self.source = core.fmt, core.source
        self.options = options(core.fmt, core.source, core.rounding, core.overflow, core.nan_to_zero)
        normal = self.source.rows[-1]
        assert isinstance(normal.exponent, Biased)
        self.fraction_bits, self.field_bits = normal.fraction_bits, normal.exponent.bits
        self._bias = normal.exponent.bias
        self.parts = 1 << self.field_bits

    def cases(self, _: int) -> int:
        """All signs, fractions and random words."""
        return 2 << (self.fraction_bits + self.random_bits)

    def prove(self, part: int) -> dict[str, int] | None:
        """Search any sign, fraction and random word with the exponent field ``part``."""
        solver, k = Solver(), self.fraction_bits
        sign, fraction = solver.variable("sign", 1), solver.variable("fraction", k)
        random = solver.variable("random", self.random_bits)
        bits = solver.term("BV_CONCAT", sign, solver.word(part, self.field_bits), fraction)
        known = dict(zip(self.netlist.input_nets("bits"), solver.bits(bits, self.source.width), strict=True))
        known |= dict(zip(self.netlist.input_nets("random"), solver.bits(random, self.random_bits), strict=True))
        out = solver.outputs(self.netlist, known)
        row = self.source.rows[0] if part == 0 else self.source.rows[-1]
        exponent = row.exponent.exponent if isinstance(row.exponent, Fixed) else part - self._bias
        hidden, ulp = row.hidden << k, Fraction(2) ** (exponent - k)
        magnitude = solver.term("BV_CONCAT", solver.word(row.hidden, 1), fraction)
        code = self.rounded(solver, magnitude, (hidden, hidden + (1 << k) - 1), ulp, random, sign)
        fields, fractions = ((1 << self.field_bits) - 1) << k, (1 << k) - 1
        for special in reversed(self.source.specials):
            if special.value & fields & special.mask == (part << k) & special.mask & fields:
                masked = solver.term("BV_AND", fraction, solver.word(special.mask & fractions, k))
                hit = solver.equal(masked, solver.word(special.value & fractions, k))
                code = solver.choose(hit, self._special(solver, special.kind, sign, fraction), code)
        return solver.search(solver.equal(out, code), {"bits": bits, "random": random})

    def _special(self, solver: Solver, kind: Kind, sign: "Term", fraction: "Term") -> "Term":
        """The expected code of a special value of the source, with its flags."""
        value = {Kind.ZERO: 0.0, Kind.INF: np.inf, Kind.NAN: np.nan}[kind]
        code = self._signed(solver, self._codes(np.array(value)), sign)
        if not self.design.has_flags:
            return code
        invalid = solver.false
        if kind is Kind.NAN:
            kept = self.fmt.has_nan and not self.options.nan_to_zero
            quiet = solver.true if self.source.nan_keeps_sign else solver.bits(fraction, self.fraction_bits)[-1]
            invalid = solver.negate(quiet) if kept else solver.true
        elif kind is Kind.INF:
            kept, minus_kept = (self.fmt.decode(self._codes(np.array(np.inf))) == [np.inf, -np.inf]).tolist()
            lost, minus_lost = (solver.false if same else solver.true for same in (kept, minus_kept))
            invalid = solver.choose(solver.equal(sign, solver.word(1, 1)), minus_lost, lost)
        return solver.term("BV_CONCAT", solver.join([solver.false, solver.false, solver.false, invalid]), code)


class StochasticReadoutProof(_Stochastic):
    """A readout with a stochastic rounding, with the parts of :class:`ReadoutProof`."""

    knows = ReadoutProof.knows | {"random-bits"}

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        core: Readout = design.core
        self.fmt, self.width, self.unit = core.target, core.exact.value_width, core.exact
        overflow, nan_to_zero = core.overflow, core.nan_to_zero
        self.options = target_options(core.target, rounding=core.rounding, overflow=overflow, nan_to_zero=nan_to_zero)
        self.parts = self.width + 1

    def cases(self, part: int) -> int:
        """Those of a readout, with all random words."""
        return binade_cases(part, self.width) << self.random_bits

    def prove(self, part: int) -> dict[str, int] | None:
        """Search any accumulator of the part, and any random word."""
        solver, width = Solver(), self.width
        acc, random = solver.variable("acc", width + 3), solver.variable("random", self.random_bits)
        known = dict(zip(self.netlist.input_nets("acc"), solver.bits(acc, width + 3), strict=True))
        known |= dict(zip(self.netlist.input_nets("random"), solver.bits(random, self.random_bits), strict=True))
        out = solver.outputs(self.netlist, known)
        binade = Binade.of(solver, acc, width, part)
        if part == 0:
            expected = self._special(solver, acc)
        else:
            ends = 1 << part - 1, (1 << part) - 1 if part < width else 1 << part - 1
            ulp = Fraction(2) ** self.unit.lsb_exponent
            expected = self.rounded(solver, binade.magnitude, ends, ulp, random, binade.sign)
            if self.design.core.zero == POSITIVE and self.fmt.has_negative_zero:
                minus_zero = solver.equal(expected, solver.word(self.fmt.sign_bit, self.fmt.width))
                expected = solver.choose(minus_zero, solver.word(0, self.fmt.width), expected)
        claim = solver.term("IMPLIES", binade.here, solver.equal(out, expected))
        return solver.search(claim, {"acc": acc, "random": random})

    def _special(self, solver: Solver, acc: "Term") -> "Term":
        def expected(word: int) -> int:
            return reference(self.design).answer({"acc": word, "random": 0})["code"]

        return special_codes(solver, acc, self.width, self.fmt.width, expected)
