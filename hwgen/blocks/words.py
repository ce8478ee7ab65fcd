"""Texts that headers, JSON and docs share: names of formats, and rules of rounding, overflow and NaN."""

from golden import ExactAccumulator, Format, Rounding, get
from golden.explain import hexadecimal, overflow_rule
from golden.multi import MultiFormat
from golden.options import Options
from golden.wide import RVBNA, aligned_bits, bulk_bits
from hwgen.blocks.arguments import Accumulating

Rules = dict[str, str]
"""Texts under the keys ``rounding``, ``overflow`` and ``nan``."""


def label(fmt: Format) -> str:
    """A format as headers name it."""
    if isinstance(fmt, MultiFormat):
        first, second = fmt.members
        return f"{label(first)} or {label(second)}, selected by a pin (0: {first.name}, 1: {second.name})"
    return f"{fmt.name} (file with SHA-256 {fmt.source_sha256})" if fmt.source_sha256 else f"{fmt.name} ({fmt.cite})"


def operands(core: Accumulating) -> str:
    """The formats of both operands."""
    a, b = core.a_format, core.b_format
    return label(a) if a == b else f"{label(a)} times {label(b)}"


def state(unit: ExactAccumulator) -> str:
    """The header's line on the bits of an exact accumulator."""
    value = f"value[{unit.value_width - 1}:0] in two's complement with lsb 2^{unit.lsb_exponent}"
    return f"State: nan, neg_inf, pos_inf, {value}"


def wide_rules(target: str, stochastic: bool = False) -> Rules:
    """Rules of a result in a wide format."""
    wide = get(target)
    nan = f"NaN is {wide.canonical_nan:#x}" + (" and keeps its sign" if wide.nan_keeps_sign else "")
    rounding = Rounding.STOCHASTIC if stochastic else wide.roundings[0]
    overflow = overflow_rule(wide, rounding, wide.overflows[0])
    return {"rounding": rounding.rule, "overflow": overflow, "nan": nan}


def code_rules(fmt: Format, chosen: Options) -> Rules:
    """Rules of a result that is a code."""
    return {
        "rounding": chosen.rounding.rule,
        "overflow": overflow_rule(fmt, chosen.rounding, chosen.overflow),
        "nan": f"NaN to {nan_rule(fmt, chosen.nan_to_zero)}",
    }


def code_lines(rules: Rules) -> list[str]:
    """The header's lines on a result that is a code."""
    overflow = rules["overflow"]
    return [f"Rounding: {rules['rounding']}", f"{overflow[0].upper()}{overflow[1:]}; {rules['nan']}"]


def sum_rules(core: Accumulating) -> Rules:
    """Rules of an accumulator."""
    fraction_bits = aligned_bits(core.accumulator)
    if fraction_bits is not None:
        cut = f"truncated {fraction_bits} bits below the largest exponent of all addends that are not 0"
        kept = min(fraction_bits, get("binary32").rows[-1].fraction_bits)
        rounding = f"products and accumulator are {cut}; their sum is truncated to {kept} fraction bits"
        return wide_rules("binary32") | {"rounding": rounding}
    if core.accumulator == RVBNA:
        bits = bulk_bits(core.lanes)
        products = f"products are rounded to odd {bits} bits below their largest exponent"
        rounding = f"{products}, their exact sum to odd in binary32, and its sum with the accumulator to odd again"
        return wide_rules("binary32") | {"rounding": rounding}
    if core.exact is None:
        rules = wide_rules(core.sums.state.name, core.random_bits is not None)
        what = "the exact sum" if core.sums.target is None else "the exact sum of the products alone"
        return rules | {"rounding": f"{what} is rounded once, {rules['rounding']}"}
    overflow = f"none for up to {core.terms} products; beyond that the sum can wrap"
    return {"rounding": "none: the sum is exact", "overflow": overflow, "nan": "sets a sticky flag"}


def sum_lines(core: Accumulating) -> list[str]:
    """The header's lines on an accumulator."""
    if core.exact is not None:
        return [state(core.exact), f"Rounding: none; {core.terms} products of any size fit"]
    return [f"Rounding: {sum_rules(core)['rounding']}"]


def nan_rule(fmt: Format, nan_to_zero: bool = False) -> str:
    """The code that NaN becomes."""
    if nan_to_zero or fmt.canonical_nan is None:
        return "code 0"
    return f"code {hexadecimal(fmt, fmt.canonical_nan)}" + (" with its sign" if fmt.nan_keeps_sign else "")
