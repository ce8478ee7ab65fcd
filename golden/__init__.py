"""The reference model: every format, rounding and fused multiply-accumulate in NumPy.

It is independent of the hardware. Formats are data (:mod:`golden.formats`, :mod:`golden.catalog`); values are decoded
by the papers' equations and rounded by definition.
"""

from golden.accuracy import (
    DISTRIBUTIONS,
    best_scale,
    calibrate,
    dynamic_range,
    model_snr,
    quantization_snr,
    rounding_errors,
    significand_bits,
)
from golden.arithmetic.amax import amax, amax_scale
from golden.arithmetic.blocks import dequantize_block, quantize_block, quantize_nvfp4
from golden.arithmetic.exact import DEFAULT_TERMS, ExactAccumulator
from golden.arithmetic.hifloat4 import HiFloat4, dequantize_hifloat4, dot_hifloat4, quantize_hifloat4
from golden.arithmetic.mac import fused_dot, fused_dot_with_flags, mac, mac_with_flags
from golden.arithmetic.matmul import dot, matmul
from golden.arithmetic.scaled import scaled_matmul
from golden.catalog import get, names
from golden.flags import Flag
from golden.formats import Format
from golden.loss import LossScale
from golden.memory import pack
from golden.refusal import BadKind, BadValue, Refusal
from golden.rows import DEFAULT_RANDOM_BITS, Biased, Fixed, Kind, Overflow, Rounding, Row, SignMagnitude, Special
from golden.scaling import calibrate_layers, scale_for
from golden.wide import ACCUMULATORS, WIDE, WideFormat

__all__ = [
    "ACCUMULATORS", "DEFAULT_RANDOM_BITS", "DEFAULT_TERMS", "DISTRIBUTIONS", "WIDE", "BadKind", "BadValue", "Biased",
    "ExactAccumulator", "Fixed", "Flag", "Format", "HiFloat4", "Kind", "LossScale", "Overflow", "Refusal", "Rounding",
    "Row", "SignMagnitude", "Special", "WideFormat", "amax", "amax_scale", "best_scale", "calibrate",
    "calibrate_layers", "dequantize_block", "dequantize_hifloat4", "dot", "dot_hifloat4", "dynamic_range",
    "fused_dot", "fused_dot_with_flags", "get", "mac", "mac_with_flags", "matmul", "model_snr", "names", "pack",
    "quantization_snr", "quantize_block", "quantize_hifloat4", "quantize_nvfp4", "rounding_errors", "scale_for",
    "scaled_matmul", "significand_bits",
]  # fmt: skip
