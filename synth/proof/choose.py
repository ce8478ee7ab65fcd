"""Proofs where enumeration ends, and which block has which.

The specifications share nothing with the hardware. A MAC into binary32 is checked against the addition of IEEE 754 as
SMT-LIB's theory of floating-point numbers defines it; an ``exact`` one against an addition of integers; an encoder with
stochastic rounding against the comparison that defines it, between integers. Products, values and codes in them are
golden's.
"""

import numpy as np

from golden import Rounding
from hwgen.blocks.block import PIPELINE, Design
from hwgen.blocks.catalog import BLOCKS
from hwgen.blocks.encoder import Encoder
from hwgen.blocks.mac import Mac
from hwgen.blocks.readout import Readout
from synth.proof.cases import Products
from synth.proof.mac import Binary32Proof, ExactProof
from synth.proof.readout import ReadoutProof
from synth.proof.solver import Proof
from synth.proof.stochastic import StochasticProof

MAX_HELD_BITS = 20
"""Bits of both codes up to which all pairs are evaluated."""

VERIFIED = tuple(name for name, block in BLOCKS.items() if block.generated and not block.clocked)
"""Blocks that ``hwgen verify`` takes; what holds registers by itself has sequences of inputs, not inputs."""


def proof(design: Design) -> type[Proof] | str:
    """The proof that reaches all inputs of a block; or one sentence why there is none."""
    prover = _proof(design)
    if isinstance(prover, str):
        return prover
    known = prover.knows.union(option.name for option in PIPELINE)  # a pipeline's registers are gone from the gates
    unknown = [option for option in design.options if option not in known]
    return (
        f"there are too many inputs to enumerate, and the proof does not know the option {unknown[0]}"
        if unknown
        else prover
    )


def _proof(design: Design) -> type[Proof] | str:
    match design.core:
        case Encoder(rounding=Rounding.STOCHASTIC):
            return StochasticProof
        case Encoder():
            return "there are too many inputs to enumerate, and the proof is written for stochastic rounding only"
        case Readout(random_bits=None):
            return ReadoutProof
        case Readout():
            return "there are too many inputs to enumerate, and the proof of readouts knows no random bits"
        case Mac() as core if core.a_format.width + core.b_format.width + core.scale_bits > MAX_HELD_BITS:
            return f"there are more than 2^{MAX_HELD_BITS} pairs of codes and scales, too many to evaluate one by one"
        case Mac(accumulator="exact"):
            return ExactProof
        case Mac(accumulator="binary32"):
            product = Products.of(design).values
            with np.errstate(invalid="ignore", over="ignore"):
                narrow = product.astype(np.float32)
            if np.array_equal(narrow.astype(np.float64), product, equal_nan=True):
                return Binary32Proof
            return "some products lie outside binary32, where SMT-LIB's addition cannot take them"
        case _:
            return "there are too many inputs to enumerate"
