"""cocotb models of the blocks, for the benches of designs that contain them; and new vectors for the bundle's tests."""

from hwgen.cocotb.models import (
    DecoderModel,
    DotModel,
    EncoderModel,
    MacModel,
    Model,
    PeModel,
    QuantizerModel,
    ReadoutModel,
)
from hwgen.cocotb.vectors import new_vectors

__all__ = [
    "DecoderModel", "DotModel", "EncoderModel", "MacModel", "Model", "PeModel", "QuantizerModel", "ReadoutModel",
    "new_vectors",
]  # fmt: skip
