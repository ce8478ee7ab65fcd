"""The table of options: every choice that makes a block, once.

What a block's component takes for each, and its default, stands in the component; ranges come from where the limits
are.
"""

from dataclasses import replace

from golden import ACCUMULATORS, DEFAULT_RANDOM_BITS, DEFAULT_TERMS, WIDE, Format, Overflow, Rounding
from golden.exact import MAX_SCALE_BITS, MAX_TERMS, scale_range
from golden.names import canonical
from golden.rows import MAX_RANDOM_BITS
from hwgen.blocks.block import Component, Option
from hwgen.datapath.ports import FLAG_BITS, MEANING
from hwgen.netlist.pipeline import MAX_STAGES

TARGETS = (*WIDE, "unpacked")
"""What a decoder gives."""

MAX_LANES = 16
"""Products of a dot product at most."""

FORMAT = Option("format", Format, "a format's name (see `hwgen formats`) or a path to a .toml file", argument="fmt")
A_FORMAT = replace(FORMAT, argument="a_format", attribute="a_format")
B_FORMAT = Option("format-b", Format, "format of the second operand (default: that of the first)", argument="b_format")

# -- decoders and encoders
# -------------------------------------------------------------------------------------------------

TO = Option(
    "to", str, "what comes out", TARGETS, argument="target", always=True, suffix="_{}", default="binary16",
    spelled=canonical,
)  # fmt: skip
FROM = Option("from", str, "what goes in", WIDE, argument="source", always=True, suffix="_{}", spelled=canonical)
ROUNDING = Option(
    "rounding", str, "default: the format's", tuple(rounding.value for rounding in Rounding), suffix="_{}",
)  # fmt: skip
OVERFLOW = Option(
    "overflow", str, "default: the format's", tuple(overflow.value for overflow in Overflow),
    suffix=lambda core: "" if core.overflow is core.fmt.overflows[0] else f"_{core.overflow}",
)  # fmt: skip
NAN_TO_ZERO = Option("nan-to-zero", bool, "NaN becomes code 0", suffix="_nan_to_zero")
RANDOM_BITS = Option(
    "random-bits", int, f"width of the random port, with --rounding stochastic (default: {DEFAULT_RANDOM_BITS})",
    range(1, MAX_RANDOM_BITS + 1), only_with=("rounding", Rounding.STOCHASTIC.value),
    suffix=lambda core: "" if core.random_bits == DEFAULT_RANDOM_BITS else f"_r{core.random_bits}",
)  # fmt: skip
ROUNDING_PIN = Option(
    "rounding-pin", bool, "with --rounding hybrid: a port chooses between it (1) and ties_to_away (0)", suffix="_pin",
    only_with=("rounding", Rounding.HYBRID.value),
)  # fmt: skip

# -- what adds products
# ----------------------------------------------------------------------------------------------------


def _scale(core: Component) -> str:
    low, high = scale_range(core.scale_bits)
    return f"Scale: products are multiplied by 2^scale, from 2^{low} to 2^{high}"


ACCUMULATOR = Option(
    "accumulator", str, "format of the accumulator", ACCUMULATORS, always=True, suffix="_{}", spelled=canonical,
)  # fmt: skip
TERMS = Option(
    "terms",
    int,
    f"products that an exact accumulator has room for (default: {DEFAULT_TERMS})",
    range(1, MAX_TERMS + 1),
    only_with=("accumulator", "exact"),
    suffix=lambda core: "" if core.terms == DEFAULT_TERMS else f"_n{core.terms}",
)
SCALE_BITS = Option(
    "scale-bits",
    int,
    "width of a port for the exponent of a power of two that products are multiplied by; 0: no such port",
    range(MAX_SCALE_BITS + 1),
    suffix="_scale{}",
    line=_scale,
)
FLAGS = Option(
    "flags", bool, f"a port for status flags: {FLAG_BITS}", attribute="has_flags",
    suffix="_flags", line=lambda _: f"Flags: {MEANING}",
)  # fmt: skip
EXACT_FLAGS = "; overflow: the sum had no room and wrapped; nothing is inexact"
SUM_FLAGS = replace(
    FLAGS, line=lambda core: f"Flags: {MEANING}{EXACT_FLAGS if core.accumulator == 'exact' else ''}",
)  # fmt: skip
LANES = Option("lanes", int, "products added at once", range(1, MAX_LANES + 1), suffix="{}")
PE_STAGES = Option(
    "stages", int, "ranks of registers before the accumulator", range(MAX_STAGES + 1), suffix="_s{}",
)  # fmt: skip
INTERLEAVE = Option(
    "interleave", int, "accumulators that take turns, with as many ranks but one inside the adder",
    range(1, MAX_STAGES + 2), suffix="_i{}",
)  # fmt: skip

# -- readouts
# --------------------------------------------------------------------------------------------------------------

READOUT_TO = Option(
    "to",
    Format,
    "what comes out: binary32, binary16, bfloat16, dlfloat16, or a format of codes, by name or .toml file",
    argument="target",
    always=True,
    suffix="_{}",
)
READOUT_TERMS = replace(TERMS, help=f"as given to the accumulator (default: {DEFAULT_TERMS})", only_with=None)
READOUT_SCALE_BITS = replace(SCALE_BITS, help="as given to the accumulator, which alone has the port", line=None)
_OF_CODES = "for codes only; default: that of the format in --to"
READOUT_ROUNDING = replace(ROUNDING, help=f"{_OF_CODES}; hybrid is for encoders alone")
READOUT_OVERFLOW = replace(
    OVERFLOW,
    help=_OF_CODES,
    suffix=lambda core: "" if core.overflow is core.target.overflows[0] else f"_{core.overflow}",
)
READOUT_A_FORMAT = replace(
    A_FORMAT, help="format of the first operand, as given to the accumulator: a name or a path to a .toml file"
)
READOUT_B_FORMAT = replace(
    B_FORMAT, help="format of the second operand, as given to the accumulator (default: that of the first)"
)
