"""The proof of MACs whose product, between multiplier and adder, is a floating-point number of named nets."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from synth.proof.bits import Bits, Bool
from synth.proof.bitslice import Planes, all_words, evaluated, from_planes
from synth.proof.cases import Products
from synth.proof.floating import Query
from synth.proof.gates import NotShownError
from synth.proof.lanes import LaneClass
from synth.proof.normalized import NEAR, SPECIAL, ZERO, NormalizedProof, Number, Part
from synth.proof.solver import Pins, Solver


class _Numbers(NamedTuple):
    """The nets for all pairs of codes, and scales, whose products are finite and not 0; ``places`` has their indices.

    ``products`` are those of all pairs. A product is ``significands * 2**weights``; ``exponents`` are unsigned words.
    """

    products: Products
    places: NDArray[np.int64]
    significands: NDArray[np.int64]
    exponents: NDArray[np.int64]
    weights: NDArray[np.int64]


class SplitMacProof(NormalizedProof):
    """A MAC with the nets ``product__significand`` and ``product__exponent``.

    They are evaluated for all pairs of codes and scales, as the product's factors if it is finite and not 0. Signs,
    zeros, infinities and NaN are classes of pairs: see :class:`synth.proof.dot.SumProof`.
    """

    method = (
        "proof by decomposition: the product's significand and exponent are evaluated for all pairs of codes, and the "
        "solver (bitwuzla) rounds the sums of all such products and accumulators, by their distance"
    )
    knows = frozenset({"format", "format-b", "accumulator", "terms", "scale-bits", "flags", "zero"})
    significand, exponent = "product__significand", "product__exponent"

    def word(self, name: str) -> tuple[int, ...]:
        """The same; products of powers of two have no net for their significand, which is 1."""
        powers_of_two = all(fmt.precision == 1 for fmt in self.design.codes.values())
        return (1,) if name == self.significand and powers_of_two else super().word(name)

    @cached_property
    def _numbers(self) -> _Numbers:
        products = Products.of(self.design)
        places = np.flatnonzero(np.isfinite(products.values) & (products.values != 0))
        significands, exponents = (self._evaluated(name, {})[places] for name in (self.significand, self.exponent))
        weights = np.frexp(products.values[places])[1] - np.frexp(significands)[1]
        return _Numbers(products, places, significands, exponents, weights.astype(np.int64))

    @cached_property
    def _codes(self) -> dict[int, Planes]:
        """Bit planes of all pairs of codes, and scales, by input net."""
        nets = [net for name in (*self.design.codes, *self.scales.nets) for net in self.netlist.input_nets(name)]
        return dict(zip(nets, all_words(len(nets)), strict=True))

    def _evaluated(self, name: str, known: Mapping[int, np.uint64]) -> NDArray[np.int64]:
        """The word on a net for all products; ``known`` are other inputs."""
        words = next(iter(self._codes.values())).size
        return from_planes(evaluated(self.netlist, self.word(name), {**self._codes, **known}, words)).astype(np.int64)

    def show(self) -> None:
        """The significand times a power of two is the product; the exponent is that of this power, and a constant."""
        products, places, significands, exponents, weights = self._numbers
        size = 1 << len(self.word(self.exponent))
        wrong = np.ldexp(significands.astype(np.float64), weights) != np.abs(products.values[places])
        wrong |= (weights - self.number.origin - exponents) % size != 0
        if wrong.any():
            raise NotShownError("significand and exponent are not the product of some codes", [self._pins(wrong)])

    @cached_property
    def number(self) -> Number:
        weights, exponents, significands = self._numbers.weights, self._numbers.exponents, self._numbers.significands
        origin = int(weights[0] - exponents[0])
        integer_bits = len(self.word(self.significand)) + 1 - int(significands.min()).bit_length()

        def is_not_zero(query: Query) -> Bool:
            first = query.words[self.significand][-integer_bits:]
            return query.any(lambda member: member.product != 0) & (first != 0)

        return Number(
            origin,
            (int(weights.min()) - origin, int(weights.max()) - origin),
            lambda query: query.any(lambda member: member.negative),
            lambda query: query.any(lambda member: member.product == 0),
            is_not_zero,
            integer_bits,
        )

    def example(self, values: Pins, members: Sequence[LaneClass]) -> Pins:
        """The same; or codes that have the product that the solver has found, if these do not differ."""
        products, places, significands, exponents, _ = self._numbers
        own = super().example(values, members)
        hits = (significands == values[self.significand]) & (exponents == values[self.exponent])
        hits &= np.signbit(products.values[places]) == members[0].negative
        return self._pins(hits) | {"acc_in": values["acc_in"]} if hits.any() and not self.differs(own) else own

    def _pins(self, which: NDArray[np.bool_]) -> Pins:
        """Inputs of the first of some products."""
        pins = self._numbers.products.pins(int(self._numbers.places[np.flatnonzero(which)[0]]))
        return self.lanes.pins({}, pins)


class TwoPathMacProof(SplitMacProof):
    """A MAC built for speed, with the nets ``product_significand``, ``product_exponent`` and ``places``.

    The last one is the product's exponent minus the accumulator's, plus a constant. It is computed beside
    ``product_exponent``, not from it, and evaluated for all pairs of codes and scales with all exponent fields of the
    accumulator.
    """

    method = (
        "proof by decomposition: the product's significand and exponent, and the latter's difference from the "
        "accumulator's, are evaluated for all pairs of codes and all exponents of accumulators, and the solver "
        "(bitwuzla) rounds the sums of all such products and accumulators, by their distance"
    )
    knows = SplitMacProof.knows | {"optimize"}
    significand, exponent, places = "product_significand", "product_exponent", "places"

    def show(self) -> None:
        """The same; and the difference is what queries take it for."""
        super().show()
        target, size = self.target, 1 << len(self.word(self.places))
        last = (1 << target.exponent_bits) - int(not target.flush)  # the field of infinities is not among them
        for field in range(last):
            wrong = (self._places(field) - self._numbers.weights + self._field_weight(field) - self._offset) % size != 0
            if wrong.any():
                pins = self._pins(wrong) | {"acc_in": field << target.fraction_bits}
                raise NotShownError("places is not the difference of the exponents of some inputs", [pins])

    @cached_property
    def _offset(self) -> int:
        """``places`` plus the weight of the accumulator's last bit minus that of the product's."""
        return int(self._places(1)[0] - self._numbers.weights[0]) + self._field_weight(1)

    def _field_weight(self, field: int) -> int:
        """Exponent of the last bit of accumulators with an exponent field."""
        target = self.target
        return max(field, int(not target.flush)) - target.bias - target.fraction_bits

    def _places(self, field: int) -> NDArray[np.int64]:
        """The net for all products and an exponent field of the accumulator."""
        nets = self.acc_nets[self.target.fraction_bits : -1]
        known = {net: ~np.uint64(0) if field >> place & 1 else np.uint64(0) for place, net in enumerate(nets)}
        return self._evaluated(self.places, known)[self._numbers.places]

    def derived(self, solver: Solver, part: Part, exponent: Bits, acc: Bits) -> Mapping[str, Bits]:
        """The difference; any one if it does not matter."""
        bits = len(self.word(self.places))
        if part.kind in (SPECIAL, ZERO):
            return {self.places: solver.variable(self.places, bits)}
        if part.kind == NEAR:
            return {self.places: solver.number(self._offset - part.distance, bits)}
        return {self.places: (exponent - self.acc_weight(acc) + (self.number.origin + self._offset))[:bits]}
