"""What the reference model says of each block: stimuli, answers, explanations, properties.

The one folder of hwgen that may call golden's algorithms (rtl_tests/test_layers.py): it checks hardware, and is none.
"""

from hwgen.blocks.block import Design
from hwgen.reference.decoder import DecoderReference
from hwgen.reference.encoder import EncoderReference
from hwgen.reference.readout import ReadoutReference
from hwgen.reference.reference import Pins, Reference
from hwgen.reference.sums import DotReference, MacReference, PeReference

__all__ = ["REFERENCES", "Pins", "Reference", "reference"]

REFERENCES: dict[str, type[Reference]] = {
    "decoder": DecoderReference,
    "encoder": EncoderReference,
    "mac": MacReference,
    "dot": DotReference,
    "pe": PeReference,
    "readout": ReadoutReference,
}
"""By the names of blocks."""


def reference(design: Design) -> Reference:
    """The reference of a design."""
    return REFERENCES[design.kind](design)
