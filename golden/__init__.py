"""Golden model: what every format, rounding and fused multiply-accumulate means, in NumPy.

Nothing here knows of hardware. Formats are data (:mod:`golden.formats`, :mod:`golden.catalog`); values are decoded by the papers'
equations and rounded by definition.
"""

from golden.accuracy import DISTRIBUTIONS, best_scale, calibrate, dynamic_range, model_snr, quantization_snr, significand_bits
from golden.catalog import WIDE, get, names
from golden.exact import ExactAccumulator
from golden.flags import Flag
from golden.formats import Format
from golden.mac import ACCUMULATORS, dot, fused_dot, fused_dot_with_flags, mac, mac_with_flags
from golden.rows import Biased, Fixed, Kind, Overflow, Rounding, Row, SignMagnitude, Special

__all__ = [
    "ACCUMULATORS", "DISTRIBUTIONS", "WIDE", "Biased", "ExactAccumulator", "Fixed", "Flag", "Format", "Kind", "Overflow",
    "Rounding", "Row", "SignMagnitude", "Special", "best_scale", "calibrate", "dot", "dynamic_range", "fused_dot",
    "fused_dot_with_flags", "get", "mac", "mac_with_flags", "model_snr", "names", "quantization_snr",
    "significand_bits",
]  # fmt: skip
