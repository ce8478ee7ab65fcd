"""The papers' definitions, typed a second time: equations of the values, special codes, and printed tables.

Nothing here comes from golden. The equations, one function per family, are those of the specification's sections 1 to 6
in exact fractions; the tables are printed in the papers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

Equation = Callable[[int], Fraction]
"""Value of a magnitude code (without sign), also of special codes and of the pattern past the last code."""

HIF8_DOT = {"11": 4, "10": 3, "01": 2, "001": 1, "0001": 0, "0000": None}
"""HiF8 paper, Table 2: bits of the exponent by the code of the dot field; None for denormals."""


def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def hif8(code: int) -> Fraction:
    """HiF8 paper, Table 3 and equations (1) and (2)."""
    bits = f"{code:07b}"
    dot, d = next((dot, d) for dot, d in HIF8_DOT.items() if bits.startswith(dot))
    rest = bits[len(dot) :]
    if d is None:
        return power(int(rest, 2) - 23) if int(rest, 2) else Fraction(0)
    em, fraction = rest[:d], rest[d:]
    magnitude = int("1" + em[1:], 2) if d else 0
    exponent = -magnitude if em.startswith("1") else magnitude
    return power(exponent) * (1 + Fraction(int(fraction, 2), 1 << len(fraction)))


def floating(fraction_bits: int, bias: int, *, subnormals: bool = True) -> Equation:
    """2^(field - bias) (1 + m / 2^p); for field 0, if there are subnormals, 2^(1 - bias) m / 2^p."""

    def value(code: int) -> Fraction:
        field, m = code >> fraction_bits, Fraction(code & ((1 << fraction_bits) - 1), 1 << fraction_bits)
        return power(1 - bias) * m if subnormals and field == 0 else power(field - bias) * (1 + m)

    return value


def supernormal(x: int, y: int, low: int, high: int) -> Equation:
    """Values between ``low`` and ``high`` binades of powers of two (specification, section 2)."""
    bias, start, end = 1 << (x - 1), low << y, ((1 << x) - high) << y

    def value(c: int) -> Fraction:
        if c < start:
            return power(low - bias - (start - c))
        if c >= end:
            return power((1 << x) - high - bias + (c - end))
        return power((c >> y) - bias) * (1 + Fraction(c & ((1 << y) - 1), 1 << y))

    return value


@dataclass(frozen=True)
class Definition:
    """A format as the specification defines it.

    ``overflows`` begins with the default, ``infinity`` is its magnitude code.
    """

    width: int
    equation: Equation
    infinity: int | None
    nans: frozenset[int]
    zeros: frozenset[int]
    canonical_nan: int | None
    overflows: tuple[str, ...]
    default_rounding: str = "ties_to_even"
    extra_rounding: str | None = None
    flush: bool = False
    twos_complement: bool = False
    signed: bool = True

    @property
    def sign(self) -> int:
        """Mask of the sign; 0 for formats without a sign."""
        return 1 << (self.width - 1) if self.signed else 0

    @property
    def magnitudes(self) -> int:
        """How many codes have no sign, or a sign of 0."""
        return 1 << (self.width - self.signed)

    def value(self, code: int) -> float:
        """The exact value of a code as a float."""
        if code in self.nans:
            return np.nan
        sign = -1.0 if code & self.sign else 1.0
        magnitude = code & (self.magnitudes - 1)
        if self.twos_complement and sign < 0:
            magnitude = (1 << self.width) - code
        if magnitude == self.infinity:
            return sign * np.inf
        if code in self.zeros:
            return sign * 0.0
        value = float(self.equation(magnitude))
        assert Fraction(value) == self.equation(magnitude)
        return sign * value


def _one_nan(width: int, equation: Equation, *, infinity: bool, **choices: Any) -> Definition:
    """A format with one zero and one NaN, the code with only the sign bit set."""
    code = 1 << (width - 1)
    overflows = WITH_INFINITY if infinity else ("saturate", "nan")
    inf = code - 1 if infinity else None
    return Definition(width, equation, inf, frozenset([code]), frozenset([0]), code, overflows, **choices)


def _ibm(width: int, fraction_bits: int, bias: int) -> Definition:
    equation = floating(fraction_bits, bias, subnormals=False)
    return Definition(
        width, equation, None, frozenset(), frozenset([0, 1 << (width - 1)]), None, ("saturate",), flush=True
    )


def _ieee(fraction_bits: int, bias: int, infinity: int, nan: int) -> Definition:
    nans = frozenset(sign | code for sign in (0, 0x80) for code in range(infinity + 1, 0x80))
    return Definition(8, floating(fraction_bits, bias), infinity, nans, frozenset([0, 0x80]), nan, WITH_INFINITY)


def _element(width: int, fraction_bits: int, bias: int) -> Definition:
    """An element of OCP's Microscaling formats: no infinity, no NaN."""
    zeros = frozenset([0, 1 << (width - 1)])
    return Definition(width, floating(fraction_bits, bias), None, frozenset(), zeros, None, ("saturate",))


def _scale(width: int, equation: Equation, *zeros: int, **choices: Any) -> Definition:
    """A scale of blocks: no sign, and the last code is NaN (specification, section 9)."""
    nan, overflows = (1 << width) - 1, ("nan", "saturate")
    return Definition(
        width, equation, None, frozenset([nan]), frozenset(zeros), nan, overflows, signed=False, **choices
    )


WITH_INFINITY = ("infinity", "saturate", "propagate")


_SINGLE = {
    "hif8": Definition(
        width=8,
        equation=hif8,
        infinity=0x6F,
        nans=frozenset([0x80]),
        zeros=frozenset([0]),
        canonical_nan=0x80,
        overflows=WITH_INFINITY,
        default_rounding="ties_to_away",
        extra_rounding="hybrid",
    ),
    "binary8p3": _one_nan(8, floating(2, 16), infinity=True),
    "binary8p4": _one_nan(8, floating(3, 8), infinity=True),
    "e5m2_nosub": _one_nan(8, floating(2, 16, subnormals=False), infinity=True),
    "e4m3_nosub": _one_nan(8, floating(3, 8, subnormals=False), infinity=True),
    "e5m3": _one_nan(9, floating(3, 16), infinity=True),
    "e5m3_nosub": _one_nan(9, floating(3, 16, subnormals=False), infinity=True),
    "ocp_e4m3": Definition(
        width=8,
        equation=floating(3, 7),
        infinity=None,
        nans=frozenset([0x7F, 0xFF]),
        zeros=frozenset([0, 0x80]),
        canonical_nan=0x7F,
        overflows=("nan", "saturate", "ocp_paper"),
    ),
    "ocp_e5m2": Definition(
        width=8,
        equation=floating(2, 15),
        infinity=0x7C,
        nans=frozenset([0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF]),
        zeros=frozenset([0, 0x80]),
        canonical_nan=0x7E,
        overflows=("infinity", "saturate", "ocp_paper", "propagate"),
    ),
    "ieee_e4m3": _ieee(3, 7, 0x78, 0x7C),
    "ieee_e3m4": _ieee(4, 3, 0x70, 0x78),
    "ibm_1_4_3": _ibm(8, 3, 11),
    "ibm_1_5_2": _ibm(8, 2, 15),
    "ibm_fp9_1_5_3": _ibm(9, 3, 15),
    "e2m1": _element(4, 1, 1),
    "e2m3": _element(6, 3, 1),
    "e3m2": _element(6, 2, 3),
    "e8m0": _scale(8, lambda code: power(code - 127), default_rounding="ties_to_away"),
    "ue4m3": _scale(7, floating(3, 7), 0),
    "ue5m3": _scale(8, floating(3, 15), 0),
    "dlfloat16": Definition(
        width=16,
        equation=floating(9, 31, subnormals=False),
        infinity=None,
        nans=frozenset([0x7FFF, 0xFFFF]),
        zeros=frozenset([0, 0x8000]),
        canonical_nan=0x7FFF,
        overflows=("nan", "saturate"),
        default_rounding="ties_to_away",
        flush=True,
    ),
}


@cache
def definition(name: str) -> Definition:
    """The definition of a format of the catalogue, of ``dlfloat16``, or of a family."""
    if name in _SINGLE:
        return _SINGLE[name]
    if match := re.fullmatch(r"gc_1_(\d+)_(\d+)_b(m?\d+)", name):
        e, p, bias = (int(n.replace("m", "-")) for n in match.groups())
        if e == 0:  # n * 2^q with q = 1 - b - p
            return _one_nan(1 + p, lambda n: n * power(1 - bias - p), infinity=False, twos_complement=True)
        return _one_nan(1 + e + p, floating(p, bias), infinity=False)
    match = re.fullmatch(r"e(\d+)m(\d+)b(\d+)(?:_(\d+))?", name)
    assert match, name
    x, y, low = (int(n) for n in match.groups()[:3])
    equation = supernormal(x, y, low, low if match[4] is None else int(match[4]))
    return _one_nan(1 + x + y, equation, infinity=True, extra_rounding="mptorch")


@cache
def values(name: str) -> np.ndarray:
    """Values of all codes."""
    d = definition(name)
    return np.array([d.value(code) for code in range(1 << d.width)])


CATALOGUE = (
    "hif8",
    "binary8p3",
    "binary8p4",
    "e5m2_nosub",
    "e4m3_nosub",
    "e5m3",
    "e5m3_nosub",
    "e5m2b1",
    "e5m2b2",
    "e5m2b4",
    "e4m3b1",
    "ocp_e4m3",
    "ocp_e5m2",
    "ieee_e4m3",
    "ieee_e3m4",
    "gc_1_4_3_b7",
    "gc_1_4_3_b10",
    "gc_1_4_3_b14",
    "gc_1_5_2_b15",
    "gc_1_5_2_b33",
    "gc_1_6_1_b31",
    "gc_1_3_4_b3",
    "gc_1_2_5_b1",
    "gc_1_0_7_b0",
    "ibm_1_4_3",
    "ibm_1_5_2",
    "ibm_fp9_1_5_3",
    "e2m1",
    "e2m3",
    "e3m2",
    "e8m0",
    "ue4m3",
    "ue5m3",
)
"""Names of the catalogue's formats (specification, section 0), but for those of section 13."""

REFERENCES = ("int8", "int4", "posit8_0", "posit8_1", "posit8_2")
"""Names of the last ones, with which the papers compare; ``golden/test_references.py`` defines them."""

RANGES = {
    "hif8": (2.0**-22, 2.0**15, 252),
    "binary8p3": (2.0**-17, 49152, 252),
    "binary8p4": (2.0**-10, 224, 252),
    "e5m2_nosub": (1.25 * 2**-16, 49152, 252),
    "e4m3_nosub": (1.125 * 2**-8, 224, 252),
    "e5m3": (2.0**-18, 57344, 508),
    "e5m3_nosub": (1.125 * 2**-16, 57344, 508),
    "e5m2b1": (2.0**-18, 2.0**17, 252),
    "e5m2b2": (2.0**-21, 2.0**20, 252),
    "e5m2b4": (2.0**-27, 2.0**26, 252),
    "ocp_e4m3": (2.0**-9, 448, 252),
    "ocp_e5m2": (2.0**-16, 57344, 246),
    "ieee_e4m3": (2.0**-9, 240, 238),
    "ieee_e3m4": (2.0**-6, 15.5, 222),
    "gc_1_4_3_b7": (2.0**-9, 480, 254),
    "gc_1_5_2_b15": (2.0**-16, 1.75 * 2**16, 254),
    "gc_1_0_7_b0": (2.0**-6, 127 / 64, 254),
    "ibm_1_4_3": (1.125 * 2**-11, 30, 254),
    "ibm_1_5_2": (1.25 * 2**-15, 1.75 * 2**16, 254),
    "ibm_fp9_1_5_3": (1.125 * 2**-15, 1.875 * 2**16, 510),
    "dlfloat16": (2.0**-31 * (1 + 1 / 512), 2.0**32 * (1 + 510 / 512), 65532),
}
"""Smallest value, largest value, and number of finite nonzero codes: the tables of sections 1 to 5."""

GRAPHCORE_TABLE_1 = {
    "binary32": (8, 23, 1667.7, 151.9),
    "binary16": (5, 10, 240.8, 73.7),
    "bfloat16": (8, 7, 1571.3, 55.6),
    "dlfloat16": (6, 9, 385.3, 67.6),
    "gc_1_5_2_b15": (5, 2, 197.5, 25.5),
    "gc_1_4_3_b7": (4, 3, 107.8, 31.5),
    "gc_1_3_4_b3": (3, 4, 66.0, 37.5),
}
"""Graphcore paper, Table 1: bits of exponent and of stored significand, dynamic range and SNR in dB."""

GRAPHCORE_INTEGER = (42.1, {2.0**-4: 34.9, 0.031: 40.5, 2.0**-5: 40.5, 2.0**-6: 19.2})
"""Graphcore paper, section 2.2: dynamic range of the 8-bit scaled integer, and its SNR by quantization step."""

HIF8_BITS = {range(-22, -15): 1, range(-15, -7): 2, range(-7, -3): 3, range(-3, 4): 4, range(4, 8): 3, range(8, 16): 2}
"""HiF8 paper, Figure 1, by Table 3 and equation (2): significand bits with the hidden bit, by exponents."""

DO_NOT_FIT_BINARY16 = {
    "e5m2b1": 4,
    "e5m2b2": 10,
    "e5m2b4": 28,
    "ibm_1_5_2": 8,
    "ibm_fp9_1_5_3": 16,
    "gc_1_5_2_b15": 8,
    "gc_1_5_2_b33": 80,
    "gc_1_6_1_b31": 96,
    "e8m0": 215,
    "ue5m3": 7,
}
"""Number of codes that binary16 cannot represent (specification, section 0; ``gc_*`` counted by section 4)."""


def wide_values(name: str, bits: np.ndarray) -> np.ndarray:
    """Values of raw bits of a source, by NumPy's types; ``dlfloat16`` by its equation."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        match name:
            case "binary32":
                return bits.astype(np.uint32).view(np.float32).astype(np.float64)
            case "binary16":
                return bits.astype(np.uint16).view(np.float16).astype(np.float64)
            case "bfloat16":
                return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
            case _:
                return values("dlfloat16")[bits]


# -- where the papers say what ----------------------------------------------------------------------------------------

HIFLOAT8 = "Ascend HiFloat8 Format for Deep Learning"
SUPERNORMALS = "Supernormals paper"
GRAPHCORE = "8-bit Numerical Formats for Deep Neural Networks"
FP8 = "FP8 Formats for Deep Learning"
HYBRID = "Hybrid 8-bit Floating Point Training and Inference"

PLACES = {
    HIFLOAT8: {
        "section 1": "Introduction",
        "section 2": "HiFloat8",
        "section 2.1": "Novel Data Format",
        "section 2.2": "Consideration and Design",
        "section 3": "Rounding Methods",
        "section 3.1": "Rounding Half",
        "section 3.2": "Hybrid Rounding",
        "section 4": "Experiments on Traditional Neural Networks",
        "section 4.1": "Training with Backward Loss-Scaling",
        "section 4.2": "Inference with Per-Tensor Scaling",
        "section 5": "Experiments on Large Language Models",
        "section 5.1": "Training",
        "section 5.2": "Inference",
        "section 6": "Conclusion and Outlook",
        "Table 1": "Fields of HiF8",
        "Table 2": "Unconventional Prefix Code for Dot Field",
        "Table 3": "HiF8 Code-Value Mapping Details",
        "Table 4": "Typical Values and Features for HiF8, FP8 and FP16",
        "Table 5": "Validation Accuracy for Traditional Neural Networks",
        "Table 6": "Validation Accuracy after HiF8 PTQ of Traditional Neural Networks",
        "Table 7": "Validation Perplexity for Large Language Models",
        "Table 8": "WikiText2 Perplexity after HiF8 PTQ of Large Language Models",
        "Table 9": "Inference Accuracy after HiF8 PTS Calibration for Large Language Models",
        "Figure 1": "Significant Precision over Exponent",
        "Figure 2": "Threshold and Fraction of Simplified Stochastic Rounding",
        "Algorithm 1": "HiF8 Calibration with Per-Tensor Scaling",
        "equation (1)": "normals",
        "equation (2)": "denormals",
        "equation (3)": "hybrid rounding",
    },
    SUPERNORMALS: {
        "section 1": "Introduction",
        "section 2": "Background",
        "section 2.1": "Mixed-Precision Training",
        "section 2.2": "Scaling Strategies",
        "section 3": "Supernormal Floating-Point Representation",
        "section 4": "Experimental Results",
        "section 5": "Conclusions",
        "Table 1": "8-bit Encodings and Values",
        "Table 2": "Fused MAC Unit Area and Breakdown",
        "Table 3": "Accuracy results for a ResNet-20 CNN and a Llama2 LLM",
        "Figure 1": "ResNet-20 training distributions",
    },
    GRAPHCORE: {
        "section 1": "Introduction",
        "section 2": "Background",
        "section 2.1": "Low-precision training of deep neural networks",
        "section 2.2": "Scaled integers vs floating-point representation",
        "section 2.3": "Alternative number formats",
        "section 2.4": "Mixed-precision floating-point design",
        "section 2.5": "Loss scaling",
        "section 3": "8-bit numerical formats for mixed precision training",
        "section 3.1": "Floating-point design",
        "section 3.2": "8-bit floating-point formats for activations, weights and gradients",
        "section 3.3": "Results for image processing",
        "section 3.4": "Results for language processing",
        "section 4": "Automatic loss scaling",
        "section 5": "Conclusions",
        "Table 1": "bits, dynamic range and SNR of floating-point formats",
        "Table 2": "ResNet-32 CIFAR-100 performance",
        "Table 3": "ResNet-18 ImageNet performance",
        "Table 4": "ResNet-50 ImageNet performance",
        "Table 8": "Transformer WMT14 English-German translation performance",
        "Table 12": "Effect of different automatic loss scaling algorithms",
        "Figure 2": "activations and weights of ResNet-32, without inputs to the first layer",
        "Figure 3": "gradients of ResNet-32",
        "Figure 6": "gradients of a transformer",
        "equation (4)": "dynamic range of a floating-point representation",
        "equation (5)": "SNR of a floating-point representation",
    },
    FP8: {
        "section 1": "Introduction",
        "section 2": "Aspects of FP8 Usage in Deep Learning",
        "section 3": "FP8 Binary Interchange Format",
        "section 3.1": "Special Value Representations",
        "section 3.2": "Exponent Bias",
        "section 4": "Empirical Results",
        "section 4.1": "Training",
        "section 4.2": "Inference",
        "section 4.3": "Per-Tensor Scaling Factors",
        "section 5": "Conclusions",
        "Table 1": "Details of FP8 Binary Formats",
        "Table 2": "Image Classification Models",
        "Table 3": "Language Translation Models",
        "Table 4": "NLP Models, Perplexity",
        "Table 5": "Post training quantization of models trained in 16-bit floating point",
        "Figure 2": "1.3B GPT3 perplexity with various exponent biases",
    },
    HYBRID: {
        "section 1": "Introduction",
        "section 1.1": "Challenges and Related Works",
        "section 1.2": "Contributions",
        "section 2": "New Hybrid FP8 (HFP8) Formats and Computations",
        "section 2.1": "Impact of FP8 formats on Trans-Precision Inference",
        "section 2.2": "Impact of FP8 Formats on Model Training Accuracy",
        "section 2.3": "Last Layer Precision and the SoftMax Function",
        "section 3": "Trans-Precision Inference in FP8",
        "section 4": "Hybrid FP8 Distributed Training Scheme and Results",
        "section 5": "Conclusions",
        "Table 1": "FP8 Trans-Precision inference for FP32 trained models",
        "Table 3": "Round-off residual based Hybrid FP8 weight update",
        "Table 4": "Baseline vs. Hybrid FP8 training",
        "Figure 1": "Challenges in the previous FP8 (1-5-2) format",
        "Figure 2": "The layer-wise decomposition of mismatch probability",
    },
}
"""Sections, tables, figures and equations of the papers that may be cited, with their titles or subjects."""

DEFINED_AT = {
    (HIFLOAT8, "section 2.1"): r"hif8",  # fields, Tables 1 to 4, equations (1) and (2)
    (HIFLOAT8, "section 1"): r"ibm_fp9_1_5_3",  # "HFP8 is therefore called FP9 in hardware implementation"
    (SUPERNORMALS, "Table 1"): r"binary8p3|e5m2b[12]",
    (SUPERNORMALS, "section 4"): r"binary8p4|e[45]m[23]_nosub|e5m3",  # binary8p4, "nosub", 9-bit row (a)
    (SUPERNORMALS, "section 3"): r"e\d+m\d+b\d+(_\d+)?",  # any B
    (SUPERNORMALS, "section 5"): r"e\d+m\d+b\d+_\d+",  # "we should configure these separately"
    (FP8, "Table 1"): r"ocp_e4m3|ocp_e5m2",
    (GRAPHCORE, "section 2.2"): r"gc_1_\d_\d_b\d+",  # 1.E.p, the bias, 1.0.7
    (GRAPHCORE, "section 3.1"): r"gc_1_\d_\d_b\d+",  # the largest exponent field holds numbers
    (GRAPHCORE, "section 3.2"): r"gc_1_\d_\d_b\d+",  # one NaN instead of -0, saturation
    (HYBRID, "section 2.1"): r"ibm_1_4_3|ibm_1_5_2",  # the range and the bias of 4; "2^-15 - 2^16"
    (HYBRID, "section 2.2"): r"ibm_1_4_3|ibm_1_5_2",  # forward and backward
    (HYBRID, "section 2.3"): r"dlfloat16",  # "(1-6-9) FP16 output precision", no more
}
"""The formats that a place of a paper defines, or names if the rest is settled elsewhere."""

UNPRINTED = {
    "ieee_e4m3": "float8_e4m3 and float8_e3m4 of ml_dtypes",
    "ieee_e3m4": "float8_e4m3 and float8_e3m4 of ml_dtypes",
    "dlfloat16": "rounding and NaN of IBM's zDNN",
    "bfloat16": "bfloat16 as in specification, section 6",
    "binary16": "IEEE 754-2019, section 3.6",
    "binary32": "IEEE 754-2019, section 3.6",
    "ue4m3": "OCP E4M3 without the sign, the scale of NVFP4",
    "ue5m3": "5 exponent and 3 fraction bits without a sign",
    **dict.fromkeys(("int8", "int4"), "integers in two's complement, the lowest one included"),
    **dict.fromkeys(("posit8_0", "posit8_1", "posit8_2"), "Standard for Posit Arithmetic (2022), sections 3 and 4"),
    **dict.fromkeys(("e2m1", "e2m3", "e3m2", "e8m0"), "OCP Microscaling Formats (MX) Specification, version 1.0"),
}
"""Sources of formats that are none of the five papers."""


def places(text: str) -> list[str]:
    """``sections 2.1 and 2.2 (x)`` as ``section 2.1`` and ``section 2.2``; also of tables and others."""
    found = []
    for kind, numbers in re.findall(
        r"(section|Table|Figure|Algorithm|equation)s? (\(?\d[\d.]*\)?(?:(?:, | and | to )\(?\d[\d.]*\)?)*)", text
    ):
        found += [f"{kind} {number.rstrip('.')}" for number in re.findall(r"\(\d\)|\d[\d.]*", numbers)]
    return found


NAMES = {
    "HiFloat8 paper": HIFLOAT8,
    "HiF8 paper": HIFLOAT8,
    HIFLOAT8: HIFLOAT8,
    "Supernormals paper": SUPERNORMALS,
    "Graphcore paper": GRAPHCORE,
    GRAPHCORE: GRAPHCORE,
    "FP8 paper": FP8,
    FP8: FP8,
    "Hybrid 8-bit Floating Point paper": HYBRID,
    "Hybrid 8-bit Floating Point": HYBRID,
}
"""What texts call the papers."""

CLAIMED_AT = {
    "only 5% larger": (HYBRID, ["section 2.2"]),
    "25% to 40% smaller without subnormal inputs": (SUPERNORMALS, ["section 1"]),
    "order of the multipliers": (SUPERNORMALS, ["Table 2"]),
    "HiFloat8 replaces the pair": (HIFLOAT8, ["section 2.2"]),
    "makes very little difference": (HIFLOAT8, ["section 3.2"]),
    "slightly better than stochastic rounding": (HIFLOAT8, ["section 3.2"]),
    "one scale for the loss matches": (HIFLOAT8, ["section 4.1", "section 5.1"]),
    "HiF8 needs a scale for the loss": (HIFLOAT8, ["section 4.1"]),
    "FP8 needs scales of tensors": (HIFLOAT8, ["section 4.1"]),
    "HiF8 needs no scales of tensors": (HIFLOAT8, ["section 4.1"]),
    "HiF8 has the wider range": (HIFLOAT8, ["section 2.2", "section 4.1"]),
    "can be cast to HiF8 after training": (HIFLOAT8, ["section 4.2", "Table 6"]),
    "better than a direct cast": (HIFLOAT8, ["Table 6"]),
    "reach the accuracy of binary32": (GRAPHCORE, ["Table 8"]),
    "Larger biases than the natural ones": (GRAPHCORE, ["section 3.4"]),
    "has the effect of a larger bias": (GRAPHCORE, ["section 4"]),
    "a transformer trains better than with 1-5-2 alone": (HYBRID, ["section 1.1", "section 2.2"]),
    "no significant accuracy is lost": (HYBRID, ["section 2.2"]),
    "E5M2 into binary16 needs scaling": (SUPERNORMALS, ["Table 3"]),
    "E5M2B1 into binary16 with scaling": (SUPERNORMALS, ["Table 3"]),
    "E5M2B4 into binary16 reaches baseline": (SUPERNORMALS, ["Table 3"]),
    "Supernormals extend the range": (SUPERNORMALS, ["section 3", "section 5"]),
    "E5M2B1 trains as well as E5M2 with": (SUPERNORMALS, ["Table 3"]),
    "Scales of tensors besides adaptive loss": (HIFLOAT8, ["Table 7"]),
    "The first layer in FP16 makes inference": (HIFLOAT8, ["section 4.2"]),
    "With both scales E5M2 trains a language": (SUPERNORMALS, ["section 5", "Table 3"]),
    "1.5.2 for all operands does not recover": (GRAPHCORE, ["section 3.3", "Table 3", "Table 4"]),
    "1.4.3 for all operands does not recover": (GRAPHCORE, ["section 3.3", "Table 3", "Table 4"]),
    "The probability of a mismatch is lowest": (HYBRID, ["section 2.1", "Figure 2"]),
    "Training with half-away rounding is slig": (HIFLOAT8, ["section 3.1"]),
    "Training in HiF8 with backward loss scal": (HIFLOAT8, ["Table 5", "Table 7"]),
    "The same, with operands that come from F": (HIFLOAT8, ["section 4.1", "Table 5"]),
    "With adaptive loss scaling HiF8 trains a": (HIFLOAT8, ["Table 7"]),
    "With adaptive loss scaling and scales of": (HIFLOAT8, ["Table 7"]),
    "Scales of tensors are needed in some cas": (HIFLOAT8, ["section 5.1"]),
    "E4M3 with E5M2 (P3109) into binary32 trains as well as binary32, with scaling of the loss": (
        SUPERNORMALS,
        ["Table 3"],
    ),
    "E4M3 with E5M2 (P3109) into binary32 needs scaling of the loss": (SUPERNORMALS, ["Table 3"]),
    "E5M2 without subnormals into binary16, w": (SUPERNORMALS, ["Table 3"]),
    "E5M2 without subnormals into binary16 ne": (SUPERNORMALS, ["Table 3"]),
    "E5M2 without subnormals diverges on a la": (SUPERNORMALS, ["Table 3"]),
    "With both scales E5M2B1 trains a languag": (SUPERNORMALS, ["section 5", "Table 3"]),
    "One binade of supernormals is best if th": (SUPERNORMALS, ["section 4"]),
    "Scaling should align the mode of the val": (SUPERNORMALS, ["section 5"]),
    "1.4.3 forward and 1.5.2 backward, with c": (GRAPHCORE, ["Table 2"]),
    "Inputs of the first layer need 3 bits of": (GRAPHCORE, ["section 3.3"]),
    "On CIFAR-100, 1.4.3 for all operands tra": (GRAPHCORE, ["Table 2"]),
    "Gradients of activations need at least 4 exponent bits; in 1.3": (GRAPHCORE, ["section 3.3"]),
    "Gradients of activations need at least 4 exponent bits; in 1.0": (GRAPHCORE, ["section 3.3"]),
    "1.5.2 for all operands, with chosen bias": (GRAPHCORE, ["Table 8"]),
    "For activations and weights of a transfo": (GRAPHCORE, ["section 3.4", "Table 8"]),
    "Backoff with gradients in 1.5.2 trains a": (GRAPHCORE, ["Table 12"]),
    "Gradients of activations in 1.4.3 degrad": (GRAPHCORE, ["section 3.4", "Figure 6", "Table 12"]),
    "Classifiers of images train in E4M3 and E5M2 as in 16 bits": (FP8, ["section 4.1", "Table 2"]),
    "Language models train in E4M3 and E5M2 as in 16 bits": (FP8, ["section 4.1", "section 5", "Table 3", "Table 4"]),
    "The first and the last layer need no wid": (FP8, ["section 4.1"]),
    "Some networks need scales of tensors; re": (FP8, ["section 3.2"]),
    "Some networks train with E4M3 alone": (FP8, ["section 3"]),
    "Some networks train with E5M2 alone": (FP8, ["section 3"]),
    "Some networks need both formats; with E4": (FP8, ["section 3"]),
    "Some networks need both formats; with E5": (FP8, ["section 3"]),
    "To skip updates after an overflow is not": (FP8, ["section 2"]),
    "After training, E4M3 with scales keeps t": (FP8, ["Table 5"]),
    "After training, E4M3 is better than int8": (FP8, ["Table 5"]),
    "Cast to E4M3 after training without scal": (FP8, ["section 4.2"]),
    "With a bias of 7 to 10, all inputs of pr": (FP8, ["section 4.3", "Figure 2"]),
    "Gradients in 1-5-2 need scaling of the l": (HYBRID, ["section 2.2"]),
    "Weights in 8 bits with residuals in 16 c": (HYBRID, ["section 4", "Table 3", "Table 4"]),
    "The probability of a mismatch is far low": (HYBRID, ["section 2.1", "Figure 2"]),
    "Cast to 1-4-3 after training, networks k": (HYBRID, ["section 3", "Table 1"]),
    "Cast to 1-5-2 after training, a transfor": (HYBRID, ["section 1.1", "Figure 1"]),
}
"""Where the papers make the claims that the report judges, by words of the report's text."""


def citations(text: str) -> list[tuple[str, list[str]]]:
    """The papers that a text cites, with the places, from all ``PAPER, section 1 and Table 2``."""
    text = re.sub(r"\s+|\"\s*f?\"", " ", text)
    known = "|".join(re.escape(name) for name in sorted(NAMES, key=len, reverse=True))
    found = re.finditer(
        rf"({known})(?:'s|,)? \(?((?:(?:and |, )?(?:sections?|Tables?|Figure|Algorithm|equation) [\d., ()and]+)+)", text
    )
    return [(NAMES[match[1]], places(match[2])) for match in found]
