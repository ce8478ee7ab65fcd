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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.blocks.block import Design
from synth.proof.bitslice import Planes, all_words, evaluated, words_of
from synth.proof.cases import Products
from synth.proof.gates import Netlist, NotShownError


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


class Lanes:
    """The lanes of a netlist, which has the ports of the reference model.

    With ``scaled`` the scale multiplies each product, as in exact sums; others are multiplied as a whole.
    """

    def __init__(self, design: Design, netlist: Netlist, scaled: bool):
        self.design, self.netlist, self.count = design, netlist, design.lanes
        self.codes = {name: (netlist.input_nets(name), fmt.width) for name, fmt in design.codes.items()}
        self.scale = list(netlist.input_nets("scale")) if design.scale_bits and scaled else []

    def nets_of(self, lane: int) -> list[int]:
        """The input nets of a lane: a, b, scale, as in the index of a product."""
        nets = [net for bits, width in self.codes.values() for net in bits[lane * width : (lane + 1) * width]]
        return nets + self.scale

    @cached_property
    def products(self) -> Products:
        """The reference model's products of all pairs, and of all scales if the sum is exact."""
        return Products.of(self.design, scaled=bool(self.scale))

    @cached_property
    def negative(self) -> NDArray[np.bool_]:
        """Signs of all products; of those that are not finite, the exclusive or of the codes' sign bits."""
        values = self.products.values
        return np.where(np.isfinite(values), np.signbit(values), self.products.signs)

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

    @cached_property
    def _indices(self) -> Planes:
        return all_words(len(self.nets_of(0)))

    def classes(
        self,
        lane: int,
        nets: Sequence[int],
        known: Mapping[int, Planes | np.uint64],
        key: NDArray[Any] | None = None,
    ) -> list[LaneClass]:
        """The classes of a lane by the bits of some nets, which may depend on ``known`` ones, and by a key."""
        products = self.products
        keys = [products.values.view(np.uint64), products.undefined, self.negative]
        keys += [] if key is None else [key.astype(np.int64).view(np.uint64)]
        known = {**known, **dict(zip(self.nets_of(lane), self._indices, strict=True))}
        planes = evaluated(self.netlist, nets, known, self._indices.shape[1])
        words = [word[: products.values.size] for word in words_of(planes)]
        _, first, counts = np.unique(np.vstack([*words, *keys]), axis=1, return_index=True, return_counts=True)
        classes = []
        for place, pairs in zip(first.tolist(), counts.tolist(), strict=True):
            bits = tuple(bool(int(words[number // 64][place]) >> number % 64 & 1) for number in range(len(nets)))
            negative, undefined = bool(self.negative[place]), bool(products.undefined[place])
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
