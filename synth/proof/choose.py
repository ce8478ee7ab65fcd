"""Proofs where enumeration ends, and which block has which.

The specifications share nothing with the hardware. A MAC into binary32 is held against the addition of IEEE 754 as SMT-LIB's theory of
floating-point numbers defines it; an ``exact`` one against an addition of integers; an encoder with stochastic rounding against the
comparison that defines it, between integers. Products, values and codes in them are golden's.
"""

import numpy as np

from hwgen.blocks.design import Design
from synth.proof.cases import Products
from synth.proof.mac import Binary32Proof, ExactProof
from synth.proof.readout import ReadoutProof
from synth.proof.solver import Proof
from synth.proof.stochastic import StochasticProof

MAX_HELD_BITS = 20
"""Bits of both codes up to which all pairs are evaluated."""


def proof(design: Design) -> type[Proof] | str:
    """The proof that reaches all inputs of a block; or one sentence why there is none."""
    if design.kind == "encoder":
        if design.options["rounding"] == "stochastic":
            return StochasticProof
        return "there are too many inputs to enumerate, and the proof is written for stochastic rounding only"
    if design.kind == "readout" and "random-bits" in design.options:
        return "there are too many inputs to enumerate, and the proof of readouts knows no random bits"
    if design.kind == "readout":
        return ReadoutProof
    if design.kind != "mac":
        return "there are too many inputs to enumerate"
    fa, fb = design.formats
    if fa.width + fb.width + design.scale_bits > MAX_HELD_BITS:
        return f"there are more than 2^{MAX_HELD_BITS} pairs of codes and scales, too many to evaluate one by one"
    if design.options["accumulator"] == "exact":
        return ExactProof
    if design.options["accumulator"] == "binary32":
        product = Products.of(design).values
        with np.errstate(invalid="ignore", over="ignore"):
            narrow = product.astype(np.float32)
        if np.array_equal(narrow.astype(np.float64), product, equal_nan=True):
            return Binary32Proof
        return "some products lie outside binary32, where SMT-LIB's addition cannot take them"
    return "there are too many inputs to enumerate"
