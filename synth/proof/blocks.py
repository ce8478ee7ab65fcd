"""Proofs of quantizers, by decomposition (docs/quantizer.md, "Verification").

The largest exponent is shown bit by bit, the scale from it, and each element for all numbers and scales. The nets
between these parts are unknown words: ``largest_level``, its bits and which lanes lead to them, which lanes round up,
``scale_rounds_up``, ``has_nonzero``, ``finite_scale`` and ``is_special``.

A level is what the hardware compares: the exponent field of a number, or its exponent. Levels, and whether a number
rounds up at its level, grow with the magnitude; so the largest level of all lanes, and whether a lane that has it
rounds up, say of the largest magnitude what the reference model's scale depends on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from hwgen.blocks.block import Design
from hwgen.blocks.quantizer import SCALE_EXPONENTS, Quantizer
from hwgen.reference import reference
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.bitslice import all_words, evaluated, words_of
from synth.proof.codes import Numbers
from synth.proof.gates import Gate, Netlist, NotShownError
from synth.proof.largest import Largest, refute
from synth.proof.solver import Claim, Pins, Proof, Search, Solver
from synth.proof.unroll import UNDEFINED

_ORDERED = ("MUX", "ANDNOT", "ORNOT")
"""Gates whose pins cannot be exchanged."""


@dataclass(frozen=True)
class Level:
    """The magnitudes of a level, as bits without the sign, and the codes of the scales that they decide on."""

    low: int
    high: int
    scale: int
    """Of the smallest magnitude, and of all below ``up_from``."""
    up_from: int
    """The first magnitude with the next scale; beyond ``high`` if there is none."""


class QuantizerProof(Proof):
    """A quantizer of several lanes."""

    method = (
        "proof by decomposition (bitwuzla): the largest exponent bit by bit, the scale for each exponent, and each "
        "element for all numbers, scales and random words"
    )
    quick = True
    keeps_adders = True
    has_free = True
    knows = frozenset({"format", "lanes", "from", "policy", "center", "rounding", "random-bits"})

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        core: Quantizer = design.core
        self.core, self.shape = core, core.shape
        self.numbers = Numbers(core.fmt, core.chosen, core.random_bits)
        self.source = self.numbers.source
        self.width = self.shape.special_level.bit_length()
        self.free = netlist.named.get(UNDEFINED, ())

    @cached_property
    def claims(self) -> list[Claim]:
        """The parts of the scale, then the elements; the last claim stands for all inputs."""
        lanes = range(self.core.lanes)
        claims = [Claim(f"lane {lane} leads", 0, partial(self._leads, lane)) for lane in lanes]
        claims += [Claim(f"bit {place} of the level", 0, partial(self._bit, place)) for place in range(self.width)]
        claims.append(Claim("what some lane has", 0, self._some_lane))
        for lane in self._different(lanes):
            claims.append(Claim(f"element {lane} of a special block", 0, partial(self._special, lane)))
            claims += [Claim(f"element {lane}, {what}", 0, search) for what, search in self._element(lane)]
        return [*claims, Claim("scale of each level", 1 << sum(self.inputs.values()), self._scale)]

    # -- nets

    def word(self, name: str) -> Sequence[int]:
        """The nets of a named word, which become unknown."""
        named = self.netlist.named
        if name == "is_special" and name not in named and self.shape.special_level == 1 << self.width - 1:
            name = f"largest_level_bit_{self.width - 1}"  # the same signal
        if name == "finite_scale" and name not in named and not (self.shape.increment or self.shape.code_of_level_0):
            name = "largest_level"  # the same signals
        nets = named.get(name) or named.get(f"block__{name}", ())  # elements may have a signal of this name, too
        if not nets or min(nets) < self.netlist.first_gate:
            raise NotShownError(f"the module has no net {name}, or it is an input or a constant")
        return nets

    def levels_of(self, solver: Solver, known: Mapping[int, Bool], nets: Sequence[int]) -> list[Bool]:
        """The values of nets; undefined values, such as that of a branch that no case chooses, are unknown, too."""
        free = {net: solver.variable(f"undefined_{net}", 1)[0] for net in self.free}
        return solver.nets(self.netlist, {**free, **known}, nets)

    def lane(self, lane: int, word: Bits) -> dict[int, Bool]:
        """The nets of a lane's number with the bits of a word."""
        width = self.source.width
        return dict(zip(self.netlist.input_nets("bits")[lane * width : (lane + 1) * width], word, strict=True))

    @cached_property
    def largest(self) -> Largest:
        """The circuit that finds the largest level."""
        items = [f"lane_{lane}" for lane in range(self.core.lanes)]
        return Largest("largest_level", self.width, items, self.word, self.levels_of)

    # -- levels and scales

    def level(self, word: Bits) -> Bits:
        """The level of a number: its exponent field, or its exponent from a lowest one on."""
        k, shape = self.source.fraction_bits, self.shape
        field = word[k:-1]
        if shape.reads_fields:
            return field
        wide = field.to(self.width + 1) - (shape.level_0 + self.source.bias)
        level = wide.constant(0)
        for place in range(k):  # subnormals by their first 1
            exponent = max(place + 1 - self.source.bias - k, shape.level_0)
            level = ite(word[place], exponent - shape.level_0, level)
        return ite(field == 0, level, wide)[: self.width]

    @cached_property
    def levels(self) -> dict[int, Level]:
        """The levels of finite numbers that occur, by the reference model's scales of blocks of one number."""
        k, infinity = self.source.fraction_bits, self.source.infinity
        assert infinity is not None
        first = {0: int(self._has_nonzero)}  # zeros have a scale of their own if another net says so
        for level in range(1, self.shape.special_level):
            field = level + self.shape.level_0 + self.source.bias  # below 1 of subnormals
            if field + k > 0:
                first[level] = field << k if field > 0 else 1 << field + k - 1
        ends = dict(zip(first, [*list(first.values())[1:], infinity], strict=True))
        numbers = [level for level, low in first.items() if low < ends[level]]
        lows, highs = (np.array([end[level] for level in numbers]) for end in (first, ends))
        highs -= 1
        scales = self.scales(lows)
        below, up = lows.copy(), highs + 1  # bisection: the scale of `below` is the first one
        while (below + 1 < up).any():
            middle = (below + up) // 2
            same = self.scales(middle) == scales
            below, up = np.where(same, middle, below), np.where(same, up, middle)
        steps = self.scales(highs) - scales
        if ((steps < 0) | (steps > 1)).any():
            raise NotShownError("the scales of a level differ by more than 1")
        return {
            number: Level(*row)
            for number, *row in zip(numbers, lows.tolist(), highs.tolist(), scales.tolist(), up.tolist(), strict=True)
        }

    def scales(self, magnitudes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The reference model's codes of the scales of blocks with these largest magnitudes, in lane 0."""
        inputs = {name: np.zeros(magnitudes.shape, np.uint64) for name in self.inputs}
        codes = reference(self.design).columns({**inputs, "bits": magnitudes.astype(np.uint64)})["scale"]
        return codes.astype(np.int64)

    @cached_property
    def limits(self) -> dict[int, int]:
        """The largest magnitude in blocks of each scale that occurs."""
        ends = [(level.scale, min(level.up_from - 1, level.high)) for level in self.levels.values()]
        ends += [(level.scale + 1, level.high) for level in self.levels.values() if level.up_from <= level.high]
        return {0: 0} | dict(sorted(ends))

    # -- the scale

    def _leads(self, lane: int) -> None:
        """A lane leads to a bit if the level of its number has the first bits of the largest one, and may round up.

        The largest level is at least that of the lane: by :meth:`_bit`, one bit after the other.
        """
        solver, width = Solver(), self.source.width
        word, largest = solver.variable("bits", width), solver.variable("level", self.width)
        level, rounds, known = self.level(word), self.shape.increment, self.lane(lane, word)
        claim = self.largest.leads_are_right(solver, known, f"lane_{lane}", level, largest, 0 if rounds else 1)
        if rounds:
            known |= zip(self.largest.bits(), largest, strict=True)
            (up,) = self.levels_of(solver, known, self.word(f"lane_{lane}_rounds_up"))
            for number, own in self.levels.items():
                if own.up_from <= own.high:
                    claim &= (largest == number).implies(up == ((level == largest) & (word[:-1] >= own.up_from)))
                elif self.tables[number, 1] != own.scale:
                    claim &= (largest == number).implies(~up)
        here = (level <= largest) & (largest <= self.shape.special_level)
        pins = solver.search(here.implies(claim), {"bits": word})
        refute(f"lane {lane} leads", pins and self._pins({lane: pins["bits"]}))

    def _bit(self, place: int) -> None:
        """A bit of the largest level is 1 if a lane that leads to the bit before has it."""
        solver, width = Solver(), self.source.width
        numbers = [solver.variable(f"bits_{lane}", width) for lane in range(self.core.lanes)]
        known = {net: bit for lane, word in enumerate(numbers) for net, bit in self.lane(lane, word).items()}
        claim = self.largest.bit_is_right(solver, known, place, [self.level(word) for word in numbers])
        words = {f"bits_{lane}": word for lane, word in enumerate(numbers)}
        found = solver.search(claim, words)
        pins = found and self._pins(dict(enumerate(found.values())))
        refute(f"bit {place} of the largest level", pins)

    def _some_lane(self) -> None:
        """The scale rounds up if a lane does; if zeros have another scale than other numbers, a number is not zero."""
        lanes = range(self.core.lanes)
        if self.shape.increment:
            solver = Solver()
            nets = [self.word(f"lane_{lane}_rounds_up")[0] for lane in lanes]
            known = {net: solver.variable(f"up_{lane}", 1)[0] for lane, net in enumerate(nets)}
            some = self.levels_of(solver, known, self.word("scale_rounds_up"))
            if solver.search(solver.same(some, [solver.any(known.values())]), {}) is not None:
                raise NotShownError("scale_rounds_up may be wrong")
        if self._has_nonzero:
            solver = Solver()
            words = [solver.variable(f"bits_{lane}", self.source.width) for lane in lanes]
            known = {net: bit for lane, word in enumerate(words) for net, bit in self.lane(lane, word).items()}
            claim = solver.any(word[:-1] != 0 for word in words)
            nonzero = self.levels_of(solver, known, self.word("has_nonzero"))
            if solver.search(solver.same(nonzero, [claim]), {}) is not None:
                raise NotShownError("has_nonzero may be wrong")

    @property
    def _has_nonzero(self) -> bool:
        return self.shape.code_of_level_0 > 0

    @cached_property
    def tables(self) -> NDArray[np.int64]:
        """``finite_scale`` by the largest level and whether it rounds up, of blocks with numbers that are not zero."""
        return self._evaluated(self.word("finite_scale"))[1]

    def _evaluated(self, nets: Sequence[int]) -> NDArray[np.int64]:
        """The word of some nets by whether a number is not zero, the largest level, and whether that rounds up."""
        unknown = [*(self.word("scale_rounds_up") if self.shape.increment else (0,)), *self.largest.bits()]
        unknown += self.word("has_nonzero") if self._has_nonzero else (0,)
        planes = all_words(len(unknown))
        known = {net: plane for net, plane in zip(unknown, planes, strict=True) if net}
        if not {*self.free}.isdisjoint(self.netlist.cone(nets, known)):
            raise NotShownError("a scale depends on an undefined value")
        (words,) = words_of(evaluated(self.netlist, nets, known, planes.shape[1]))
        return words[: 1 << len(unknown)].astype(np.int64).reshape(2, 1 << self.width, 2)

    def _scale(self) -> None:
        """The scale of each largest level, rounded up or not, is the reference model's."""
        finite, scale, special = (
            self._evaluated(nets)
            for nets in (self.word("finite_scale"), self.netlist.output_nets["scale"], self.word("is_special"))
        )
        top = self.shape.special_level
        wrong = [] if (scale[:, top] == 0xFF).all() and special[:, top].all() else ["infinities and NaNs"]
        for number, own in self.levels.items():
            steps = own.up_from <= own.high
            ends = (0, 1) if steps or self.tables[number, 1] == own.scale else (0,)
            for up in ends if self.shape.increment else (0,):
                if not finite[1, number, up] == scale[1, number, up] == own.scale + steps * up:
                    wrong.append(f"level {number}")  # noqa: PERF401
        if self._has_nonzero and (finite[0, 0].any() or scale[0, 0].any()):
            wrong.append("zeros")
        if special[:, :top].any():
            wrong.append("is_special")
        if wrong:
            suspects = [own.low for own in self.levels.values()] + [own.high for own in self.levels.values()]
            suspects += [int(self.source.infinity or 0), 0]
            raise NotShownError(f"the scale of {wrong[0]} may be wrong", [self._pins({0: bits}) for bits in suspects])

    # -- elements

    def _known(self, lane: int, words: Mapping[str, Bits]) -> dict[int, Bool]:
        """The nets that an element depends on, with the bits of the words of :meth:`_words`."""
        known = self.lane(lane, words["bits"])
        for name in ("finite_scale", "is_special"):
            known |= zip(self.word(name), words[name], strict=True)
        if self.core.random_bits:
            width = self.core.random_bits
            known |= zip(self.netlist.input_nets("random")[lane * width :][:width], words["random"], strict=True)
        return known

    def _codes(self, lane: int) -> Sequence[int]:
        width = self.core.fmt.width
        return self.netlist.output_nets["codes"][lane * width : (lane + 1) * width]

    def _different(self, lanes: Sequence[int]) -> list[int]:
        """Lanes whose elements are different circuits, the first of each; equal gates have equal functions."""
        numbers: dict[Gate, int] = {}
        found: dict[tuple[int, ...], int] = {}
        for lane in lanes:
            leaves = self._known(lane, self._words(Solver()))
            nets = {0: 0, 1: 1, **{net: -1 - place for place, net in enumerate(leaves)}}
            cone = self.netlist.cone(self._codes(lane), nets)
            nets |= {net: -1 - len(leaves) - place for place, net in enumerate(net for net in cone if net in self.free)}
            for net in (net for net in cone if net not in nets):
                gate = self.netlist.gates[net - self.netlist.first_gate]
                pins = [nets[pin] for pin in gate.pins]
                same = Gate(gate.kind, tuple(pins if gate.kind in _ORDERED else sorted(pins)))
                nets[net] = numbers.setdefault(same, len(numbers) + 2)
            found.setdefault(tuple(nets[net] for net in self._codes(lane)), lane)
        return list(found.values())

    def _words(self, solver: Solver) -> dict[str, Bits]:
        """Unknown words of what an element depends on."""
        widths = {"bits": self.source.width, "finite_scale": len(self.word("finite_scale")), "is_special": 1}
        widths |= {"random": self.core.random_bits} if self.core.random_bits else {}
        return {name: solver.variable(name, width) for name, width in widths.items()}

    def _special(self, lane: int) -> None:
        """The element of a block with an infinity or a NaN is code 0."""
        solver = Solver()
        words = {**self._words(solver), "is_special": solver.word(1, 1)}
        code = cat(*self.levels_of(solver, self._known(lane, words), self._codes(lane)))
        found = solver.search(code == 0, {"bits": words["bits"]})
        pins = found and self._pins({lane: found["bits"], lane - 1: int(self.source.infinity or 0)})
        refute(f"element {lane} of a special block", pins)

    def _element(self, lane: int) -> Iterator[tuple[str, Search]]:
        """Claims on all numbers and scales, as far as the number is not beyond the largest one of the block's scale.

        A claim covers consecutive scales, and a field with each; or subnormals with one scale.
        """
        k = self.numbers.fraction_bits
        whole, most = (1 << k) - 1, max(self.limits)
        for scale, limit in self.limits.items():
            rounded = partial(self._rounded, lane, scale, scale, min(limit, whole), 0)
            yield f"subnormal, scale {scale}", rounded
        for total in range(1 - most, self.numbers.last):
            pairs = [(scale, limit - (total + scale << k)) for scale, limit in self.limits.items()]
            pairs = [(scale, min(room, whole)) for scale, room in pairs if room >= 0 and total + scale > 0]
            # of one run, scales are consecutive and allow the same fractions
            for (_, room), run in groupby(enumerate(pairs), lambda item: (item[1][0] - item[0], item[1][1])):
                (first, _), *_, (last, _) = [pair for _, pair in run] * 2
                yield f"field {total} + scale", partial(self._rounded, lane, first, last, room, None, total)

    def _rounded(self, lane: int, low: int, high: int, room: int, field: int | None, total: int = 0) -> None:
        """An element is rounded as the definition says: numbers with fractions up to ``room``, scales from a range."""
        solver, k = Solver(), self.numbers.fraction_bits
        words = self._words(solver)
        scale, sign, fraction = words["finite_scale"], words["bits"][-1], words["bits"][:k]
        own, exponent = words["bits"][k:-1], low + SCALE_EXPONENTS[0]
        here = (scale >= low) & (scale <= high) & (fraction <= room) & (words["is_special"] == 0)
        if field is None:
            width = self.numbers.field_bits + 2
            here &= own.to(width).signed == scale.to(width).signed + total
            exponent = -total + SCALE_EXPONENTS[0]
        else:
            here &= own == field
        expected = self.numbers.code(solver, sign, fraction, -exponent, field, words.get("random"))
        code = cat(*self.levels_of(solver, self._known(lane, words), self._codes(lane)))
        found = solver.search(here.implies(code == expected), words)
        if found is None:
            return
        leaders = [level.low for level in self.levels.values() if level.scale == found["finite_scale"]]
        leaders += [level.up_from for level in self.levels.values() if level.scale + 1 == found["finite_scale"]]
        random = found.get("random", 0) << lane * (self.core.random_bits or 0)
        cases = [self._pins({lane: found["bits"], lane - 1: leader}, random) for leader in leaders]
        raise NotShownError(f"element {lane} may be wrong", cases)

    def _pins(self, numbers: Mapping[int, int], random: int = 0) -> Pins:
        """Inputs with numbers in some lanes, zeros in others."""
        lanes, width = self.core.lanes, self.source.width
        bits = sum(number << lane % lanes * width for lane, number in numbers.items())
        return {"bits": bits, **({"random": random} if self.core.random_bits else {})}
