"""The lanes of a dot product: what the codes of one lane alone decide is evaluated for all their pairs and scales.

A net belongs to a lane if it depends on that lane's codes and on nothing else but the scale of exact products, and on
nets that the caller gives. Pairs with the same bits of such nets and the same product in the reference model form a
class.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.blocks.block import Design
from synth.proof.bitslice import CASES, Planes, all_words, evaluated, from_planes, to_planes, words_of
from synth.proof.cases import Products
from synth.proof.gates import Netlist, NotShownError

MAX_HELD_BITS = 20
"""Largest number of bits of both codes, and of the scale of an ``exact`` sum, whose combinations are all evaluated."""

_MAX_PAIRS = 1 << 24
"""Largest number of pairs of representatives, and scales, that are evaluated."""


@dataclass(frozen=True)
class LaneClass:
    """Pairs of codes, and scales, with the same ``bits`` of some nets and the same product.

    ``pins`` is one of them: codes ``a`` and ``b`` of the lane, ``scale`` if there is one; ``place`` is the index of its
    product, and ``pairs`` the number of all.
    """

    pins: Mapping[str, int]
    product: float
    negative: bool
    undefined: bool
    bits: tuple[bool, ...]
    place: int
    pairs: int

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.product)


@dataclass(frozen=True)
class Representatives:
    """A code of each class of an operand's codes; ``places`` has each code's index in ``codes``, -1 for none."""

    codes: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of_all(cls, which: NDArray[np.bool_]) -> "Representatives":
        """A class for each of some codes."""
        return cls(np.flatnonzero(which), np.where(which, np.cumsum(which) - 1, -1))


class Lanes:
    """The lanes of a netlist, which has the ports of the reference model.

    With ``scaled`` the scale multiplies each product, as in exact sums; others are multiplied as a whole. If the lanes
    are ``wide``, there are too many pairs of codes to evaluate: see :meth:`representatives`.
    """

    def __init__(self, design: Design, netlist: Netlist, scaled: bool):
        self.design, self.netlist, self.count = design, netlist, design.lanes
        self.codes = {name: (netlist.input_nets(name), fmt.width) for name, fmt in design.codes.items()}
        self.scale = list(netlist.input_nets("scale")) if design.scale_bits and scaled else []
        self.wide = sum(width for _, width in self.codes.values()) + len(self.scale) > MAX_HELD_BITS

    def nets_of(self, lane: int) -> list[int]:
        """The input nets of a lane: a, b, scale, as in the index of a product."""
        nets = [net for bits, width in self.codes.values() for net in bits[lane * width : (lane + 1) * width]]
        return nets + self.scale

    @cached_property
    def products(self) -> Products:
        """The reference model's products of all pairs, and of all scales if the sum is exact.

        In wide lanes these are only the products of the smallest and the largest number of both formats.
        """
        ends = [
            np.array([code(np.where(np.isfinite(fmt.values), fmt.values, 0)) for code in (np.argmin, np.argmax)])
            for fmt in self.design.codes.values()
        ]
        return Products.of(self.design, scaled=bool(self.scale), codes=ends if self.wide else None)

    @cached_property
    def supports(self) -> list[int]:
        """See :meth:`Netlist.supports`."""
        return self.netlist.supports()

    def lane_of(self, net: int, others: int = 0) -> int | None:
        """The lane that a net belongs to, or None; it may also depend on the inputs ``others``, a bit set."""
        support = self.supports[net] & ~others
        for lane, (own, allowed) in enumerate(self._masks):
            if support & own:
                return None if support & ~allowed else lane
        return None

    def split(self, terms: Mapping[int, int], others: int = 0) -> list[dict[int, int]]:
        """The terms of a sum by the lane that they belong to; those of no lane are last."""
        parts: list[dict[int, int]] = [{} for _ in range(self.count + 1)]
        for net, weight in terms.items():
            lane = self.lane_of(net, others) if net >= 0 else None
            parts[-1 if lane is None else lane][net] = weight
        return parts

    @cached_property
    def _masks(self) -> list[tuple[int, int]]:
        """Bit sets of each lane's codes, alone and with the scale, which a single lane has for itself."""
        scale = sum(1 << net for net in self.scale)
        whole = [sum(1 << net for net in self.nets_of(lane)) for lane in range(self.count)]
        return [(mask if self.count == 1 else mask & ~scale, mask) for mask in whole]

    def frontier(self, outputs: Iterable[int], known: Collection[int]) -> list[list[int]]:
        """For each lane the nets that belong to it and that gates of ``outputs`` read, up to ``known`` nets.

        Nets that depend on known ones belong to no lane. It is an error if an output depends on codes in another way.
        """
        found: list[set[int]] = [set() for _ in range(self.count)]
        behind = self.netlist.reached_from(set(known))
        visited = {0, 1, *known}
        waiting = [net for net in outputs if net not in visited]
        while waiting:
            net = waiting.pop()
            if net in visited:
                continue
            visited.add(net)
            lane = None if net in behind else self.lane_of(net)
            if lane is not None:
                found[lane].add(net)
            elif net < self.netlist.first_gate:
                raise NotShownError(
                    "an output depends on codes of several lanes, or on the scale, beside their products"
                )
            else:
                waiting += self.netlist.gates[net - self.netlist.first_gate].pins
        return [sorted(nets) for nets in found]

    def representatives(
        self, lane: int, nets: Iterable[int], keys: Sequence[NDArray[np.float64]]
    ) -> list[Representatives]:
        """For each operand of a lane, a code of each class.

        The codes of a class have the same key, and the same bits of those nets that depend on this operand alone and
        that gates of ``nets`` read: these therefore have the same bits for all pairs of the same two classes. A code
        whose key is NaN has no class.
        """
        found, nets = [], [*nets]
        for (bits, width), key in zip(self.codes.values(), keys, strict=True):
            own = bits[lane * width : (lane + 1) * width]
            others, read = ~sum(1 << net for net in own), set()
            visited, waiting = {0, 1}, [*nets]
            while waiting:
                net = waiting.pop()
                if net in visited:
                    continue
                visited.add(net)
                if not self.supports[net] & others:
                    read.add(net)
                elif net >= self.netlist.first_gate:
                    waiting += self.netlist.gates[net - self.netlist.first_gate].pins
            known = all_words(width)
            words = words_of(evaluated(self.netlist, sorted(read), dict(zip(own, known, strict=True)), known.shape[1]))
            kept = np.flatnonzero(~np.isnan(key))
            rows = np.vstack([*(word[: key.size].astype(np.uint64) for word in words), key.view(np.uint64)])[:, kept]
            _, first, classes = np.unique(rows, axis=1, return_index=True, return_inverse=True)
            places = np.full(key.size, -1)
            places[kept] = classes.reshape(-1)
            found.append(Representatives(kept[first], places))
        return found

    def pairs_of(self, found: Sequence[Representatives], scaled: bool) -> Products:
        """The products of all pairs of representatives."""
        count = math.prod(len(own.codes) for own in found) << (self.design.scale_bits if scaled else 0)
        if count > _MAX_PAIRS:
            raise NotShownError(f"there are more than {_MAX_PAIRS} pairs of codes that differ")
        return Products.of(self.design, scaled, [own.codes for own in found])

    def inputs(self, lane: int, products: Products) -> dict[int, Planes]:
        """Bit planes of the codes, and scales, of some products, by the input nets of a lane."""
        columns = [products.a, products.b]
        nets = [bits[lane * width : (lane + 1) * width] for bits, width in self.codes.values()]
        if products.scale_bits:
            columns.append(products.scale.astype(np.uint16) & np.uint16((1 << products.scale_bits) - 1))
            nets.append(self.netlist.input_nets("scale"))
        known: dict[int, Planes] = {}
        size = -(-products.values.size // CASES) * CASES
        for own, column in zip(nets, columns, strict=True):
            known |= dict(zip(own, to_planes(np.resize(column, size), len(own)), strict=True))
        return known

    def word(
        self, lane: int, nets: Sequence[int], products: Products, known: Mapping[int, np.uint64] = MappingProxyType({})
    ) -> NDArray[np.int64]:
        """The word on some nets for the codes of a lane, in all products; ``known`` are other inputs."""
        own = self.inputs(lane, products)
        words = next(iter(own.values())).size
        values = from_planes(evaluated(self.netlist, nets, {**own, **known}, words)).astype(np.int64)
        return values[: products.values.size]

    def classes(
        self,
        lane: int,
        nets: Sequence[int],
        known: Mapping[int, Planes | np.uint64],
        key: NDArray[Any] | None = None,
    ) -> list[LaneClass]:
        """The classes of a lane by the bits of some nets, which may depend on ``known`` ones, and by a key.

        In wide lanes all finite products but zero are alike, except for their sign, and there is no key.
        """
        products = self.products
        if self.wide:
            kinds = [
                np.where(np.isfinite(fmt.values), fmt.values != 0, np.where(np.isinf(fmt.values), 2, 3))
                + 4.0 * (np.arange(1 << fmt.width) & fmt.sign_bit != 0)
                for fmt in self.design.codes.values()
            ]
            products = self.pairs_of(self.representatives(lane, nets, kinds), scaled=bool(self.scale))
        # of products that are not finite, the sign is the exclusive or of the codes' sign bits
        negatives = np.where(np.isfinite(products.values), np.signbit(products.values), products.signs)
        keys = [products.values.view(np.uint64), products.undefined, negatives]
        keys += [] if key is None else [key.astype(np.int64).view(np.uint64)]
        own = self.inputs(lane, products)
        planes = evaluated(self.netlist, nets, {**known, **own}, next(iter(own.values())).size)
        words = [word[: products.values.size] for word in words_of(planes)]
        _, first, counts = np.unique(np.vstack([*words, *keys]), axis=1, return_index=True, return_counts=True)
        classes = []
        for place, pairs in zip(first.tolist(), counts.tolist(), strict=True):
            bits = tuple(bool(int(words[number // 64][place]) >> number % 64 & 1) for number in range(len(nets)))
            negative, undefined = bool(negatives[place]), bool(products.undefined[place])
            value = float(products.values[place])
            classes.append(LaneClass(products.pins(place), value, negative, undefined, bits, place, pairs))
        return classes

    def codes_of_sum(self, total: int, lsb_exponent: int) -> dict[int, Mapping[str, int]]:
        """Codes of lanes whose products add up to ``total * 2**lsb_exponent``; empty if none are found."""
        products, scaled = self.products, np.where(np.isfinite(self.products.values), self.products.values, 0.0)
        chosen: dict[int, Mapping[str, int]] = {}
        rest = Fraction(total) * Fraction(2) ** lsb_exponent
        order = np.argsort(scaled, kind="stable")
        for lane in range(self.count):  # the largest product that is not larger than what is left
            place = order[max(int(np.searchsorted(scaled[order], float(abs(rest)), side="right")) - 1, 0)]
            if Fraction(float(scaled[place])) > abs(rest):
                return {}
            sign = -1 if rest < 0 else 1
            place = order[int(np.searchsorted(scaled[order], sign * float(scaled[place])))]
            chosen[lane] = products.pins(int(place))
            rest -= Fraction(float(scaled[place]))
        return {} if rest else chosen

    def pins(self, chosen: Mapping[int, Mapping[str, int]], others: Mapping[str, int]) -> dict[str, int]:
        """Inputs of the block from the codes of some lanes, the codes of all others being 0, and other inputs."""
        pins = dict.fromkeys(self.netlist.inputs, 0)
        for lane, codes in chosen.items():
            for name, (_, width) in self.codes.items():
                pins[name] |= codes[name] << lane * width
            if self.scale:
                pins["scale"] = codes["scale"]
        return {**pins, **others}

    def pins_of(self, members: Sequence[LaneClass], others: Mapping[str, int]) -> dict[str, int]:
        """Inputs of the block from a class for each lane, and other inputs."""
        return self.pins({lane: member.pins for lane, member in enumerate(members)}, others)
