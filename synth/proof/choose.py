"""Chooses the proof for a block with too many inputs to enumerate.

The specifications share no code with the hardware. A MAC into binary32 is checked against integers, rounded; a
pipeline, or a module of the user's, against IEEE 754 addition as defined by SMT-LIB's floating-point theory; a MAC into
``exact`` against integer addition; an encoder or a readout against comparisons of integers that define its rounding.
Products, values and codes come from the reference model.
"""

import numpy as np

from golden import WIDE, WideFormat
from golden.wide import RVBNA
from hwgen.blocks.amax import Amax
from hwgen.blocks.block import GENERATOR, PIPELINE, Design
from hwgen.blocks.catalog import BLOCKS
from hwgen.blocks.dot import Dot
from hwgen.blocks.encoder import Encoder
from hwgen.blocks.mac import Mac
from hwgen.blocks.pe import INTERLEAVE, Pe
from hwgen.blocks.quantizer import Quantizer
from hwgen.blocks.readout import Readout
from hwgen.datapath.goal import SPEED
from hwgen.datapath.random import Random
from synth.proof.amax import AmaxProof
from synth.proof.blocks import QuantizerProof
from synth.proof.bulk import BulkDotProof
from synth.proof.cases import Products
from synth.proof.codes import EncoderProof, ReadoutProof
from synth.proof.dot import ExactDotProof
from synth.proof.floated import FloatedDotProof
from synth.proof.grouped import GroupedDotProof
from synth.proof.lanes import MAX_HELD_BITS
from synth.proof.linear import RandomProof
from synth.proof.mac import Binary32Proof, ExactProof, SplitMacProof, TwoPathMacProof
from synth.proof.prefix import PrefixDotProof
from synth.proof.rounded import PrefixRoundedProof, RoundedDotProof
from synth.proof.solver import Proof
from synth.proof.truncated import AlignedDotProof
from synth.proof.twofold import CarrySaveProof

_TOO_MANY = "there are too many inputs to enumerate"

_PROOFS = [each for each in tuple(globals().values()) if isinstance(each, type) and issubclass(each, Proof)]
PROVERS = frozenset(each.__module__ for each in _PROOFS)
"""Modules of the proofs."""

VERIFIED = tuple(name for name, block in BLOCKS.items() if block.generated)
"""Blocks that ``hwgen verify`` accepts."""


def proof(design: Design, emitted: bool = True) -> type[Proof] | str:
    """The proof that covers all inputs of a block, or a sentence that says why there is none.

    ``emitted`` says whether the module is ours, with the nets that we name.
    """
    prover = _proof(design)
    if prover in (SplitMacProof, TwoPathMacProof) and (design.stages or not emitted):  # registers may split the nets
        whole = _whole_proof(design)
        prover = prover if isinstance(whole, str) or _unknown(whole, design) else whole
    if isinstance(prover, str):
        return prover
    unknown = _unknown(prover, design)
    return f"{_TOO_MANY}, and the proof does not support the option {unknown[0]}" if unknown else prover


def _unknown(prover: type[Proof], design: Design) -> list[str]:
    """The options that a proof does not know; of variants it may know the option, which has other values, too."""
    around = (*PIPELINE, *GENERATOR, INTERLEAVE)  # netlists have no registers
    known = prover.knows.union(option.name for option in around)
    variants = () if prover is Binary32Proof else getattr(design.core, "of_others", ())
    return [option for option in design.options if option not in known] + [each.replace("_", "-") for each in variants]


def _proof(design: Design) -> type[Proof] | str:
    match design.core:
        case Encoder() as core if isinstance(core.source, WideFormat):
            return EncoderProof
        case Encoder():
            return f"{_TOO_MANY}, and the proof supports sources that are wide formats only"
        case Readout():
            return ReadoutProof
        case Quantizer(lanes=1):
            return f"{_TOO_MANY}, and the proof supports blocks of two lanes or more only"
        case Quantizer():
            return QuantizerProof
        case Amax():
            return AmaxProof
        case Mac() | Dot() | Pe() as core:
            return _sum_proof(core)
        case Random():
            return RandomProof
        case _:
            return _TOO_MANY


def _sum_proof(core: Mac | Dot | Pe) -> type[Proof] | str:
    held = core.scale_bits if core.accumulator == "exact" else 0
    is_wide = core.a_format.width + core.b_format.width + held > MAX_HELD_BITS
    of_wide = core.accumulator in WIDE or core.sums.target is not None
    is_rounded = of_wide and not (core.is_floated if core.is_dot else core.optimize == SPEED)
    if is_wide and not (is_rounded or core.accumulator == "exact"):
        return f"there are more than 2^{MAX_HELD_BITS} pairs of codes and scales, too many to evaluate"
    if isinstance(core, Pe) and core.carry_save:
        return CarrySaveProof
    if core.accumulator == "exact":
        exact = PrefixDotProof if core.optimize == SPEED else ExactDotProof
        return exact if core.is_dot or is_wide else ExactProof
    if core.accumulator == RVBNA:
        return BulkDotProof
    is_aligned = not of_wide
    if not (core.is_dot or is_aligned):
        return TwoPathMacProof if core.optimize == SPEED else SplitMacProof
    if is_aligned:
        return GroupedDotProof if core.optimize == SPEED else AlignedDotProof
    rounded = PrefixRoundedProof if core.optimize == SPEED else RoundedDotProof
    return FloatedDotProof if core.is_floated else rounded


def _whole_proof(design: Design) -> type[Proof] | str:
    """The proof of a MAC into binary32 that needs no nets."""
    core: Mac | Dot | Pe = design.core
    if core.a_format.width + core.b_format.width + core.scale_bits > MAX_HELD_BITS:
        return "there are too many pairs of codes and scales to classify all of them"
    product = Products.of(design).values
    with np.errstate(invalid="ignore", over="ignore"):
        narrow = product.astype(np.float32)
    if np.array_equal(narrow.astype(np.float64), product, equal_nan=True):
        return Binary32Proof
    return "some products are not binary32 numbers, so SMT-LIB's addition does not apply to them"
