"""The reference model of each block: stimuli, expected outputs, explanations of mismatches, properties.

This folder checks hardware; it is the only one of hwgen that may call golden's algorithms (rtl_tests/test_layers.py).
"""

from hwgen.blocks.block import Design
from hwgen.reference.amax import AmaxReference
from hwgen.reference.conversions import DecoderReference, EncoderReference, QuantizerReference, ReadoutReference
from hwgen.reference.random import RandomReference
from hwgen.reference.reference import Pins, Reference
from hwgen.reference.sums import DotReference, MacReference, PeReference

__all__ = ["REFERENCES", "Pins", "Reference", "reference"]

REFERENCES: dict[str, type[Reference]] = {
    "decoder": DecoderReference,
    "encoder": EncoderReference,
    "quantizer": QuantizerReference,
    "mac": MacReference,
    "dot": DotReference,
    "pe": PeReference,
    "readout": ReadoutReference,
    "amax": AmaxReference,
    "random": RandomReference,
}
"""Reference models by the names of blocks."""


def reference(design: Design) -> Reference:
    """Return the reference model of a design."""
    return REFERENCES[design.kind](design)
