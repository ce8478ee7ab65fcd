"""Every block by name, and the function that makes designs of them."""

from typing import Any

from golden import Format
from golden.refusal import check_choice
from hwgen.blocks.amax import AMAX
from hwgen.blocks.block import Block, Design
from hwgen.blocks.compressor import COMPRESSOR
from hwgen.blocks.decoder import DECODER
from hwgen.blocks.dot import DOT
from hwgen.blocks.encoder import ENCODER
from hwgen.blocks.mac import MAC
from hwgen.blocks.parts import ADDER, MULTIPLIER
from hwgen.blocks.pe import PE
from hwgen.blocks.quantizer import QUANTIZER
from hwgen.blocks.random import RANDOM_WORDS
from hwgen.blocks.readout import READOUT

_ALL = (
    DECODER, ENCODER, QUANTIZER, MAC, DOT, PE, READOUT, AMAX, RANDOM_WORDS,
    MULTIPLIER, ADDER, COMPRESSOR,
)  # fmt: skip
BLOCKS: dict[str, Block] = {block.name: block for block in _ALL}


def build(kind: str, *formats: Format | str, name: str | None = None, **options: Any) -> Design:
    """Return a design: a block with its options chosen, ready for ``verilog()``.

    Parameters
    ----------
    kind : str
        A name in :data:`BLOCKS`, e.g. ``mac``.
    formats, name, options
        See :meth:`hwgen.blocks.block.Block.design`; options by their Python names, e.g. ``scale_bits``.
    """
    return BLOCKS[check_choice("kind", kind, tuple(BLOCKS))].design(*formats, name=name, **options)
