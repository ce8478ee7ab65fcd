"""The options that several blocks have, each once; an option of one block is beside its component.

Components define keyword arguments and defaults; limits come from the modules that define them.
"""

from dataclasses import replace
from typing import Any

from golden import ACCUMULATORS, DEFAULT_RANDOM_BITS, DEFAULT_TERMS, WIDE, Format, Overflow, Rounding
from golden.arithmetic.blocks import SCALES
from golden.arithmetic.exact import MAX_TERMS
from golden.arithmetic.options import DAZ, FTZ, IEEE_LIKE, OVERFLOWS, ROUNDINGS, STOCHASTIC
from golden.bits import MAX_SCALE_BITS, scale_range
from golden.names import canonical
from golden.rows import MAX_RANDOM_BITS
from golden.wide import ALIGNED, NONE, RVBNA, ZEROS
from hwgen.blocks.block import Option
from hwgen.datapath.goal import FABRICS, GOALS
from hwgen.datapath.ports import FLAG_BITS, MEANING

TARGETS = (*WIDE, "unpacked")
"""Targets of a decoder."""

MAX_LANES = 32
"""Largest number of products in a dot product."""

FORMAT = Option("format", Format, "name of a format (see `hwgen formats`), or path of a .toml file", argument="fmt")
A_FORMAT = replace(FORMAT, argument="a_format", attribute="a_format")
B_FORMAT = Option("format-b", Format, "format of the second operand (default: the first's)", argument="b_format")

# -- decoders, encoders and readouts

TO = Option(
    "to", str, "format of the result", TARGETS, argument="target", always=True, suffix="_{}", default="binary16",
    spelled=canonical,
)  # fmt: skip
ROUNDING = Option(
    "rounding",
    str,
    "rounding mode (default: the format's)",
    tuple(rounding.value for rounding in Rounding),
    suffix="_{}",
)
OVERFLOW = Option(
    "overflow",
    str,
    "result of overflow (default: the format's)",
    tuple(overflow.value for overflow in Overflow),
    suffix=lambda core: "" if core.overflow is core.fmt.overflows[0] else f"_{core.overflow}",
)
NAN_TO_ZERO = Option("nan-to-zero", bool, "encode NaN as code 0", suffix="_nan_to_zero")
RANDOM_BITS = Option(
    "random-bits",
    int,
    f"with a stochastic rounding: width of the port random (default: {DEFAULT_RANDOM_BITS})",
    range(1, MAX_RANDOM_BITS + 1),
    only_with=("rounding", tuple(rounding.value for rounding in Rounding if rounding.is_stochastic)),
    suffix=lambda core: "" if core.random_bits == DEFAULT_RANDOM_BITS else f"_r{core.random_bits}",
)
# -- blocks that add products


def scale_line(what: str, bits: int) -> str:
    """The header's line on a port ``scale``."""
    low, high = scale_range(bits)
    return f"Scale: {what} multiplied by 2^scale, from 2^{low} to 2^{high}"


ACCUMULATOR = Option(
    "accumulator",
    str,
    f"format of the accumulator; or {RVBNA}, RISC-V's bulk normalization, or {ALIGNED[0]} to {ALIGNED[-1]}, sums "
    "truncated below the largest exponent",
    (*ACCUMULATORS, RVBNA, *ALIGNED),
    always=True,
    suffix="_{}",
    spelled=canonical,
    listing=f"{', '.join((*ACCUMULATORS, RVBNA))}, or {ALIGNED[0]} to {ALIGNED[-1]}",
)
TERMS = Option(
    "terms",
    int,
    f"with --accumulator exact: number of products that fit without overflow (default: {DEFAULT_TERMS})",
    range(1, MAX_TERMS + 1),
    only_with=("accumulator", ("exact",)),
    suffix=lambda core: "" if core.terms == DEFAULT_TERMS else f"_n{core.terms}",
)
SCALE_BITS = Option(
    "scale-bits",
    int,
    "width of the port scale, the exponent of a power of two that multiplies the products; 0: no port",
    range(MAX_SCALE_BITS + 1),
    suffix="_scale{}",
    line=lambda core: scale_line("products are", core.scale_bits),
)
BLOCK_SCALE = Option(
    "block-scale",
    Format,
    f"format of the scales of two blocks, which multiply the products, with ports a_scale and b_scale: "
    f"{', '.join(SCALES[:-1])} or {SCALES[-1]}; {RVBNA} and aligned accumulators take e8m0 only, exact ones none",
    suffix="_block_{}",
    line=lambda core: f"Scale: products are multiplied by a_scale * b_scale, codes of {core.block_scale.name}",
)
FABRIC = Option(
    "fabric",
    str,
    "what sums are written for: cells, or the carry chains of FPGAs; the results are the same",
    FABRICS,
    suffix="_{}",
)
_TWO_PATHS = "Optimized for speed: two paths, one for a shift before the addition and one for a shift after it"
BESIDE = "Optimized for speed: the places that a {0} is shifted by are found beside the {0}"

_PREFIX = "Optimized for speed: full adders compress all bits to two rows, which a parallel prefix adds"


def _fast(core: Any) -> str:
    if core.exact is not None:
        return _PREFIX
    if core.is_dot and not core.is_floated:
        return BESIDE.format("sum")
    return _TWO_PATHS


OPTIMIZE = Option(
    "optimize",
    str,
    "what the datapath is built for: small area, or short delay at a larger area; the results are the same",
    GOALS,
    suffix="_{}",
    line=_fast,
)
FLAGS = Option(
    "flags",
    bool,
    f"a port for status flags: {FLAG_BITS}",
    attribute="has_flags",
    suffix="_flags",
    line=lambda _: f"Flags: {MEANING}",
)
ZERO = Option(
    "zero",
    str,
    "sign of a zero result: ieee, as in IEEE 754, or positive: always +0, as in IEEE P3109",
    ZEROS,
    suffix="_zero_{}",
    line=lambda _: "Zero: a zero result is +0, as in IEEE P3109, draft 4.0, section 4.8.2",
)
EXACT_FLAGS = "; overflow: the sum did not fit and wrapped; inexact and underflow are always 0"
SUM_FLAGS = replace(FLAGS, line=lambda core: f"Flags: {MEANING}{EXACT_FLAGS if core.accumulator == 'exact' else ''}")
_STOCHASTIC = Rounding.STOCHASTIC.value
ACCUMULATOR_ROUNDING = Option(
    "accumulator-rounding",
    str,
    f"{_STOCHASTIC}: sums into {', '.join(STOCHASTIC[:-1])} or {STOCHASTIC[-1]} are rounded by the words of a port "
    "random (default: to the nearest)",
    (_STOCHASTIC,),
    suffix="_{}",
)
SUM_RANDOM_BITS = replace(
    RANDOM_BITS,
    help=f"with --accumulator-rounding: width of the port random (default: {DEFAULT_RANDOM_BITS})",
    only_with=("accumulator-rounding", (_STOCHASTIC,)),
)
ACCUMULATION = ACCUMULATOR, TERMS, SCALE_BITS
RESULT = SUM_FLAGS, ZERO, ACCUMULATOR_ROUNDING, SUM_RANDOM_BITS
"""Options of :class:`golden.arithmetic.options.SumOptions` that all blocks with sums have, in two groups."""
_THEIRS = f"with --verilog, for sums into {', '.join(IEEE_LIKE[:-1])} or {IEEE_LIKE[-1]}"
_VARIED_ROUNDING = replace(
    ACCUMULATOR_ROUNDING, help=f"{ACCUMULATOR_ROUNDING.help}; or {ROUNDINGS[1]}: {_THEIRS}", allowed=ROUNDINGS
)
VARIED_RESULT = (
    *(_VARIED_ROUNDING if option is ACCUMULATOR_ROUNDING else option for option in RESULT),
    Option(
        "accumulator-overflow",
        str,
        f"{_THEIRS}: what a finite sum becomes that overflows (default: infinity, and toward zero the largest number)",
        OVERFLOWS,
        suffix="_{}",
    ),
    Option("daz", str, f"{_THEIRS}: operands whose subnormals count as zeros", DAZ, suffix="_daz_{}"),
    Option("ftz", str, f"{_THEIRS}: tiny results are zeros; when it is found that they are", FTZ, suffix="_ftz_{}"),
)
"""The same of blocks that also describe other people's modules."""
_ALSO_NONE = f"; or {NONE}: the sum of the products alone, without the port acc_in"
DOT_ACCUMULATOR = replace(
    ACCUMULATOR,
    help=ACCUMULATOR.help + _ALSO_NONE,
    allowed=(*ACCUMULATORS, RVBNA, NONE, *ALIGNED),
    listing=f"{', '.join((*ACCUMULATORS, RVBNA, NONE))}, or {ALIGNED[0]} to {ALIGNED[-1]}",
)
SUM_TO = replace(
    TO,
    help=f"with --accumulator {NONE}: format of the sum (default: binary32)",
    allowed=WIDE,
    always=False,
    default=None,
    only_with=("accumulator", (NONE,)),
)
LANES = Option("lanes", int, "number of products added in one step", range(1, MAX_LANES + 1), suffix="{}")
