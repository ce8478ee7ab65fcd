"""Hardware generation: Amaranth components and the Verilog made from them."""

from hwgen.blocks.amax import Amax
from hwgen.blocks.catalog import build
from hwgen.blocks.decoder import Decoder
from hwgen.blocks.dot import Dot
from hwgen.blocks.encoder import Encoder
from hwgen.blocks.mac import Mac
from hwgen.blocks.parts import Adder, Multiplier
from hwgen.blocks.pe import Pe
from hwgen.blocks.quantizer import Quantizer
from hwgen.blocks.readout import Readout
from hwgen.datapath.random import Random
from hwgen.netlist.emit import emit
from hwgen.netlist.pipeline import Pipelined

__all__ = [
    "Adder", "Amax", "Decoder", "Dot", "Encoder", "Mac", "Multiplier", "Pe", "Pipelined", "Quantizer", "Random",
    "Readout",
    "build", "emit",
]  # fmt: skip
