"""Hardware generation: Amaranth components and the Verilog they become."""

from hwgen.decoder import Decoder
from hwgen.emit import emit
from hwgen.encoder import Encoder
from hwgen.mac import Mac

__all__ = ["Decoder", "Encoder", "Mac", "emit"]
