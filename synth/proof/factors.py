"""The products of a lane as significands and exponents, for each pair of classes of codes.

Operands of 16 bits have 2**32 pairs of codes. But of each operand the significand's gates read only a few bits, which
many codes share, and so do the exponent's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth.proof.cases import Products
from synth.proof.gates import NotShownError
from synth.proof.lanes import Lanes, Representatives

_MOST_BITS = 53
"""Bits of integers that are all numbers of binary64."""


@dataclass(frozen=True)
class Factors:
    """Words of a lane that are its product, ``significand * 2**(exponent + origin)``, wherever that is a number but 0.

    ``weights`` are these powers of two for ``products``; exponents have them modulo the size of their word.
    """

    products: Products
    weights: NDArray[np.int64]
    exponents: NDArray[np.int64]
    significands: NDArray[np.int64]  # in wide lanes, those of other products
    origin: int

    @classmethod
    def of(
        cls, lanes: Lanes, lane: int, significand: Sequence[int], exponent: Sequence[int], *, scaled: bool
    ) -> "Factors":
        """Show this for all pairs of codes; a NotShownError if the nets are not the product's.

        In wide lanes, codes with equal bits of the significand form classes, and so do those with equal bits of the
        exponent and an equal share of the weight.
        """
        values = [fmt.values for fmt in lanes.design.codes.values()]
        is_number = [np.isfinite(own) & (own != 0) for own in values]
        parts, powers = zip(*(np.frexp(np.abs(own)) for own in values), strict=True)

        def shown(products: Products, wrong: NDArray[np.bool_]) -> None:
            if wrong.any():
                pins = lanes.pins({}, products.pins(int(np.flatnonzero(wrong)[0])))
                raise NotShownError("significand and exponent are not the product of some codes", [pins])

        if lanes.wide:
            keys = [np.where(own, part, np.nan) for own, part in zip(is_number, parts, strict=True)]
            classes = lanes.representatives(lane, significand, keys)
        else:
            classes = [Representatives.of_all(own) for own in is_number]
        products = lanes.pairs_of(classes, scaled and not lanes.wide)
        if max(len(significand), len(exponent)) > _MOST_BITS:
            raise NotShownError(f"significand and exponent have more than {_MOST_BITS} bits")
        significands = lanes.word(lane, significand, products)
        (own_parts, own), (expected, places) = np.frexp(significands.astype(float)), np.frexp(np.abs(products.values))
        shown(products, own_parts != expected)
        weights = (places - own).astype(np.int64)
        if lanes.wide:
            # the weight, without the powers of two of both factors, must be a sum of a share of each
            first, second = (found.codes for found in classes)
            rest = weights.reshape(len(second), len(first)) - powers[0][first] - powers[1][second][:, np.newaxis]
            shown(products, (rest != rest[:1] + rest[:, :1] - rest[0, 0]).reshape(-1))
            extra = rest[0][classes[0].places], (rest[:, 0] - rest[0, 0])[classes[1].places]
            shares = [power + share for power, share in zip(powers, extra, strict=True)]
            keys = [np.where(own, share, np.nan) for own, share in zip(is_number, shares, strict=True)]
            products = lanes.pairs_of(lanes.representatives(lane, exponent, keys), scaled)
            weights = shares[0][products.a] + shares[1][products.b] + products.scale
        exponents = lanes.word(lane, exponent, products)
        origin = int(weights[0] - exponents[0])
        shown(products, (weights - origin - exponents) % (1 << len(exponent)) != 0)
        return cls(products, weights, exponents, significands, origin)
