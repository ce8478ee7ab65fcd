"""The proof of MACs whose product, between multiplier and adder, is a floating-point number of named nets."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from synth.proof.bitslice import CASES, from_planes, to_planes
from synth.proof.cases import Products
from synth.proof.dot import Choice
from synth.proof.floating import Query
from synth.proof.gates import NotShownError
from synth.proof.lanes import evaluated
from synth.proof.normalized import NormalizedProof

if TYPE_CHECKING:
    from bitwuzla import Term

_SIGNIFICAND, _EXPONENT = "product__significand", "product__exponent"


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
    zeros, infinities and NaN are classes of pairs: see :class:`synth.proof.dot.DotProof`.
    """

    method = (
        "proof by decomposition: the product's significand and exponent are evaluated for all pairs of codes, and the "
        "solver (bitwuzla) rounds the sums of all such products and accumulators, by their distance"
    )
    knows = frozenset({"format", "format-b", "accumulator", "terms", "scale-bits", "flags", "zero"})
    significand, exponent = _SIGNIFICAND, _EXPONENT

    def word(self, name: str) -> tuple[int, ...]:
        """The same; products of powers of two have no net for their significand, which is 1."""
        powers_of_two = all(fmt.precision == 1 for fmt in self.design.codes.values())
        return (1,) if name == _SIGNIFICAND and powers_of_two else super().word(name)

    @cached_property
    def _numbers(self) -> _Numbers:
        products, netlist = Products.of(self.design), self.netlist
        nets = [net for name in (*self.design.codes, *self.scales.nets) for net in netlist.input_nets(name)]
        count, places = products.values.size, np.flatnonzero(np.isfinite(products.values) & (products.values != 0))
        planes = to_planes(np.tile(np.arange(count), -(-CASES // count)), len(nets))
        known = dict(zip(nets, planes, strict=True))
        significands, exponents = (
            from_planes(np.ascontiguousarray(evaluated(netlist, self.word(name), known, planes.shape[1])))
            .astype(np.int64)
            .take(places)
            for name in (_SIGNIFICAND, _EXPONENT)
        )
        weights = np.frexp(products.values[places])[1] - np.frexp(significands)[1]
        return _Numbers(products, places, significands, exponents, weights.astype(np.int64))

    def show(self) -> None:
        """The significand times a power of two is the product; the exponent is that of this power, and a constant."""
        products, places, significands, exponents, weights = self._numbers
        size = 1 << len(self.word(_EXPONENT))
        wrong = np.ldexp(significands.astype(np.float64), weights) != np.abs(products.values[places])
        wrong |= (weights - self.origin - exponents) % size != 0
        if wrong.any():
            raise NotShownError("significand and exponent are not the product of some codes", [self._pins(wrong)])

    @cached_property
    def integer_bits(self) -> int:
        """See :class:`NormalizedProof`; those of all products."""
        return len(self.word(_SIGNIFICAND)) + 1 - int(self._numbers.significands.min()).bit_length()

    @cached_property
    def origin(self) -> int:
        """See :class:`NormalizedProof`."""
        return int(self._numbers.weights[0] - self._numbers.exponents[0])

    @cached_property
    def exponents(self) -> tuple[int, int]:
        """See :class:`NormalizedProof`."""
        weights = self._numbers.weights
        return int(weights.min()) - self.origin, int(weights.max()) - self.origin

    def minus(self, query: Query) -> "Term":
        """See :class:`NormalizedProof`."""
        return query.solver.either(query.lanes(lambda member: member.negative))

    def is_zero(self, query: Query) -> list["Term"]:
        """See :class:`NormalizedProof`."""
        return query.lanes(lambda member: member.product == 0)

    def is_not_zero(self, query: Query) -> list["Term"]:
        """See :class:`NormalizedProof`."""
        solver, bits = query.solver, len(self.word(_SIGNIFICAND))
        first = solver.bits(query.words[_SIGNIFICAND], bits)[bits - self.integer_bits :]
        return [*query.lanes(lambda member: member.product != 0), solver.either(first)]

    def example(self, choices: Sequence[Choice], found: Mapping[str, int]) -> dict[str, int]:
        """The same; or codes that have the product that the solver has found, if these do not differ."""
        products, places, significands, exponents, _ = self._numbers
        member, own = choices[0].classes[found["class_0"]], super().example(choices, found)
        hits = (significands == found[_SIGNIFICAND]) & (exponents == found[_EXPONENT])
        hits &= np.signbit(products.values[places]) == member.negative
        return self._pins(hits) | {"acc_in": found["acc_in"]} if hits.any() and not self.differs(own) else own

    def _pins(self, which: NDArray[np.bool_]) -> dict[str, int]:
        """Inputs of the first of some products."""
        products, place = self._numbers.products, int(self._numbers.places[np.flatnonzero(which)[0]])
        pins = {"a": int(products.a[place]), "b": int(products.b[place])}
        if self.design.scale_bits:
            pins["scale"] = int(products.scale[place]) & (1 << self.design.scale_bits) - 1
        return self.lanes.pins({}, pins)
