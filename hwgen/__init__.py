"""Hardware generation: Amaranth components and the Verilog they become."""

from hwgen.decoder import Decoder
from hwgen.dot import Dot
from hwgen.emit import emit
from hwgen.encoder import Encoder
from hwgen.mac import Mac
from hwgen.pe import Pe
from hwgen.pipeline import Pipelined
from hwgen.readout import Readout

__all__ = ["Decoder", "Dot", "Encoder", "Mac", "Pe", "Pipelined", "Readout", "emit"]
