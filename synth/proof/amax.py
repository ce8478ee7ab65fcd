"""The proof of the block that keeps a largest magnitude, by decomposition (docs/amax.md, "Verification").

Numbers are compared by their keys, words that are ordered as the magnitudes are. What the keys of codes are is taken
from the hardware's description, and checked: evaluated for all codes, they are ordered as the reference model's ranks.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from golden import amax_scale
from golden.arithmetic.amax import IGNORE, magnitudes
from hwgen.blocks.amax import Amax
from hwgen.blocks.block import Design
from synth.proof.bits import Bits, Bool, cat, ite
from synth.proof.bitslice import all_words, evaluated, words_of
from synth.proof.gates import Netlist, NotShownError
from synth.proof.largest import Largest, Nets, refute
from synth.proof.solver import Claim, Pins, Proof, Search, Solver

_MAX_TABLE = 10
"""Largest width of codes whose keys are looked up in a table."""


_PARTS = 16
"""Number of claims on the scales of binary32."""


class AmaxProof(Proof):
    """A step of the block: from all lanes and the largest magnitude before to the one after, and its scale."""

    method = (
        "proof of a step by decomposition (bitwuzla): keys of all codes, the largest one bit by bit, its code, and its "
        "scale; clear, enable and reset by folding constants"
    )
    quick = True
    keeps_adders = True
    knows = frozenset({"format", "lanes", "from", "policy", "center", "nan", "infinity", "stages"})

    def __init__(self, design: Design, netlist: Netlist):
        super().__init__(design, netlist)
        core: Amax = design.core
        self.core, self.source, self.order, self.ranks = core, core.source, core.order, magnitudes(core.source)
        values = solver_nets(netlist)
        self.numbers = [f"number_{lane}" for lane in range(core.lanes)]
        self.of_lanes = Largest("largest_of_lanes", core.key_width, self.numbers, self.word, values)
        self.of_both = Largest("largest_key", core.key_width, ("lanes", "so_far"), self.word, values)

    @cached_property
    def claims(self) -> list[Claim]:
        """Keys, both comparisons, the code and the scale; the last claim stands for all inputs."""
        claims = [Claim("keys of all codes", 0, self._keys)]
        places = range(self.core.key_width)
        if self.core.lanes > 1:
            claims += [
                Claim(f"{item} leads", 0, partial(self._number_leads, lane)) for lane, item in enumerate(self.numbers)
            ]
            claims += [Claim(f"bit {place} of the lanes", 0, partial(self._bit_of_lanes, place)) for place in places]
        claims += [Claim(f"{item} leads", 0, partial(self._leads, item)) for item in self.of_both.items]
        claims += [Claim(f"bit {place} of the key", 0, partial(self._bit, place)) for place in places]
        claims += [Claim(what, 0, search) for what, search in self._scale()]
        return [*claims, Claim("code of each key", 1 << sum(self.inputs.values()), self._code)]

    # -- nets

    def word(self, name: str) -> Sequence[int]:
        """The nets of a named word."""
        nets = self.netlist.named.get(name, ())
        if not nets or min(nets) < self.netlist.first_gate:
            raise NotShownError(f"the module has no net {name}, or it is an input or a constant")
        return nets

    def lane(self, lane: int, word: Bits) -> dict[int, Bool]:
        """The nets of a lane's number with the bits of a word."""
        width = self.source.width
        return dict(zip(self.netlist.input_nets("bits")[lane * width : (lane + 1) * width], word, strict=True))

    def unknown(self, solver: Solver, lane: int) -> tuple[dict[int, Bool], Bits, Bits]:
        """The nets of an unknown number of a lane, its code, and its key."""
        word = solver.variable(f"bits_{lane}", self.source.width)
        return self.lane(lane, word), word, self.key(solver, word, is_before=False)

    def before(self, solver: Solver) -> tuple[dict[int, Bool], Bits, Bits]:
        """The nets of an unknown largest magnitude before the step, its word, and its key, which counts in any case."""
        word = solver.variable("amax_in", self.core.amax_width)
        return self.bound("amax_in", word), word, self.key(solver, word.to(self.source.width), is_before=True)

    # -- keys

    @cached_property
    def _is_plain(self) -> bool:
        """Whether codes without their signs are keys."""
        return not (self.source.twos_complement or self.order.rows or self.order.nan_is_minus_zero)

    def key(self, solver: Solver, word: Bits, *, is_before: bool) -> Bits:
        """The key of a code, 0 if it is ignored."""
        if not self._is_plain:
            if self.source.width > _MAX_TABLE:
                raise NotShownError(f"keys are looked up in tables for codes of up to {_MAX_TABLE} bits only")
            table, width = self._table(self._possible[0 if is_before else 1]), self.core.key_width
            return cat(*(_looked_up(solver, [*word], (table >> place & 1 == 1).tolist()) for place in range(width)))
        key, (infinity, nan) = word[: self.source.magnitude_bits], self.order.special_keys
        ignored = [key == infinity] if self.core.infinity == IGNORE and infinity is not None else []
        ignored += [key >= nan] if self.core.nan == IGNORE and nan is not None else []
        return key if is_before else ite(solver.any(ignored), 0, key)

    @cached_property
    def _possible(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which codes of a format with tables may be ``amax_in``, and which ones count in lanes."""
        ranks, core = self.ranks.ranks, self.core
        ignored = (ranks == self.ranks.nan) & (core.nan == IGNORE)
        if self.ranks.infinity < self.ranks.nan:
            ignored |= (ranks == self.ranks.infinity) & (core.infinity == IGNORE)
        return np.arange(ranks.size) >> core.amax_width == 0, ~ignored

    def _table(self, which: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The keys of all codes of a format with tables, 0 for those that do not count."""
        return np.where(which, self.order.keys, 0)

    def _keys(self) -> None:
        """Keys are ordered as ranks: of a higher one, the rank is not lower; and 0 has rank 0."""
        if not self.source.has_tables:
            return  # bits without the sign, which are the reference model's ranks, but for NaNs that are alike
        (before, counted), ranks = self._possible, self.ranks.ranks
        keys = np.concatenate([self.order.keys[before], self._table(counted)])
        own = np.concatenate([ranks[before], np.where(counted, ranks, 0)])
        order = np.lexsort((own, keys))
        keys, own = keys[order], own[order]
        same = keys[1:] == keys[:-1]
        is_short = keys[-1] >> self.core.key_width == 0
        if own[0] or not is_short or (own[1:] < own[:-1]).any() or (own[1:] != own[:-1])[same].any():
            raise NotShownError("keys are not ordered as magnitudes are")

    # -- the largest

    def _number_leads(self, lane: int) -> None:
        solver = Solver()
        known, word, key = self.unknown(solver, lane)
        largest = solver.variable("largest", self.core.key_width)
        right = self.of_lanes.leads_are_right(solver, known, self.numbers[lane], key, largest)
        pins = solver.search((key <= largest).implies(right), {"bits": word})
        refute(f"whether lane {lane} leads", pins and self._pins({lane: pins["bits"]}))

    def _bit_of_lanes(self, place: int) -> None:
        solver = Solver()
        numbers = [self.unknown(solver, lane) for lane in range(self.core.lanes)]
        known = {net: bit for nets, _, _ in numbers for net, bit in nets.items()}
        right = self.of_lanes.bit_is_right(solver, known, place, [key for _, _, key in numbers])
        found = solver.search(right, {f"{lane}": word for lane, (_, word, _) in enumerate(numbers)})
        pins = found and self._pins({int(lane): bits for lane, bits in found.items()})
        refute(f"bit {place} of the largest number", pins)

    def _both(self, solver: Solver) -> tuple[dict[int, Bool], list[Bits], dict[str, Bits]]:
        """The nets of the largest of the lanes and of the one before, both keys, and the words to search for."""
        known, before, key = self.before(solver)
        if self.core.lanes == 1:
            nets, word, lane = self.unknown(solver, 0)
            return known | nets, [lane, key], {"amax_in": before, "bits": word}
        lanes = solver.variable("lanes", self.core.key_width)
        return known | dict(zip(self.of_lanes.bits(), lanes, strict=True)), [lanes, key], {"amax_in": before}

    def _leads(self, item: str) -> None:
        solver = Solver()
        known, keys, words = self._both(solver)
        largest = solver.variable("largest", self.core.key_width)
        key = keys[self.of_both.items.index(item)]
        right = self.of_both.leads_are_right(solver, known, item, key, largest)
        self._refute(f"whether {item} leads", solver.search((key <= largest).implies(right), words))

    def _bit(self, place: int) -> None:
        solver = Solver()
        known, keys, words = self._both(solver)
        right = self.of_both.bit_is_right(solver, known, place, keys)
        self._refute(f"bit {place} of the largest key", solver.search(right, words))

    # -- code and scale

    def _code(self) -> None:
        """The code of every key that occurs is the reference model's code of its rank."""
        nets, width = self.of_both.bits(), self.core.key_width
        driven = self.netlist.output_nets["amax_out"]
        if not self.source.has_tables:
            solver = Solver()
            key = solver.variable("key", width)
            known = dict(zip(nets, key, strict=True))
            code = cat(*solver.nets(self.netlist, known, driven))
            right = code == ite(key > self.ranks.infinity, self.ranks.nan, key)
            found = solver.search(right, {"key": key})
            refute("the code", found and self._pins({0: found["key"]}))
            return
        planes = all_words(width)
        (words,) = words_of(evaluated(self.netlist, driven, dict(zip(nets, planes, strict=True)), planes.shape[1]))
        possible = np.flatnonzero(self._possible[0] | self._possible[1])
        codes = words.astype(np.int64)[self.order.keys[possible]]
        wrong = possible[codes != self.ranks.codes[self.ranks.ranks[possible]]]
        if wrong.size:
            raise NotShownError("the code may be wrong", [self._pins({0: int(code)}) for code in wrong[:99]])

    def _scale(self) -> Iterator[tuple[str, Search]]:
        """Claims on the scale of every largest magnitude: of all codes, or of a range at a time."""
        if self.source.has_tables:
            yield "scale of each code", self._scales_of_codes
        else:
            step = (1 << self.source.width - 1) // _PARTS
            for low in range(0, self.ranks.infinity, step):
                high = min(low + step, self.ranks.infinity) - 1
                yield f"scales from {low:#x}", partial(self._scales_of_numbers, low, high)
            for what, code in (("infinity", self.ranks.infinity), ("NaN", self.ranks.nan)):
                yield f"scale of {what}", partial(self._scales_of_numbers, code, code)

    def _reference(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        core = self.core
        return amax_scale(codes, core.fmt, self.source, core.policy, core.top).astype(np.int64)

    def _scales_of_codes(self) -> None:
        nets, width = self.netlist.output_nets["amax_out"], self.core.amax_width
        planes = all_words(width)
        known = {net: plane for net, plane in zip(nets, planes, strict=True) if net > 1}
        scale = self.netlist.output_nets["scale"]
        (words,) = words_of(evaluated(self.netlist, scale, known, planes.shape[1]))
        codes = np.unique(self.ranks.codes[self.ranks.ranks[self._possible[0] | self._possible[1]]])
        wrong = codes[words.astype(np.int64)[codes] != self._reference(codes)]
        if wrong.size:
            raise NotShownError("the scale may be wrong", [self._pins({0: int(code)}) for code in wrong[:99]])

    def _scales_of_numbers(self, low: int, high: int) -> None:
        """Scales of a range of magnitudes: constant between the places where the reference's change.

        That they rise with the magnitude is part of their definition, so bisection finds these places.
        """
        solver, outputs = Solver(), self.netlist.output_nets
        word = solver.variable("amax", self.core.amax_width)
        known = dict(zip(outputs["amax_out"], word, strict=True))
        scale = cat(*solver.nets(self.netlist, known, outputs["scale"]))
        expected = scale.constant(int(self._reference(np.array([low]))[0]))
        starts = self._starts(low, high)
        for start, code in zip(starts, self._reference(np.array(starts, np.int64)).tolist(), strict=True):
            expected = ite(word >= start, code, expected)
        found = solver.search(((word >= low) & (word <= high)).implies(scale == expected), {"amax": word})
        refute(f"the scale of {low:#x} to {high:#x}", found and self._pins({0: found["amax"]}))

    def _starts(self, low: int, high: int) -> list[int]:
        """The first magnitudes from ``low`` + 1 to ``high`` whose reference scale is not that of the one before."""
        lows, highs = np.array([low]), np.array([high])
        while (highs > lows + 1).any():
            middles = (lows + highs) // 2
            lows, highs = np.concatenate([lows, middles]), np.concatenate([middles, highs])
            changes = self._reference(lows) != self._reference(highs)
            lows, highs = lows[changes], highs[changes]
        return sorted(highs[self._reference(lows) != self._reference(highs)].tolist())

    # -- suspects

    def _pins(self, numbers: Mapping[int, int], before: int = 0) -> Pins:
        """Inputs with numbers in some lanes, zeros in others."""
        return {"bits": sum(bits << lane * self.source.width for lane, bits in numbers.items()), "amax_in": before}

    def _refute(self, what: str, found: Pins | None) -> None:
        refute(what, found and self._pins({0: found.get("bits", 0)}, found["amax_in"]))


def solver_nets(netlist: Netlist) -> Nets:
    """The values of nets of a netlist."""
    return lambda solver, known, nets: solver.nets(netlist, known, nets)


def _looked_up(solver: Solver, bits: list[Bool], table: list[bool]) -> Bool:
    """A bit of a table, by the bits of its index."""
    if all(table) or not any(table):
        return solver.true if table[0] else solver.false
    half = len(table) // 2
    low, high = (_looked_up(solver, bits[:-1], part) for part in (table[:half], table[half:]))
    return ite(bits[-1], high, low)
