"""Words that headers, JSON and docs share: what a block's formats are called, and by which rules it computes."""

from golden import ExactAccumulator, Format, get
from golden.explain import OVERFLOW_RULES, ROUNDING_RULES
from golden.multi import MultiFormat
from hwgen.blocks.block import Component

Rules = dict[str, str]
"""How a block rounds, what it does beyond the largest value, and with NaN."""


def label(fmt: Format) -> str:
    """A format as headers name it."""
    if isinstance(fmt, MultiFormat):
        first, second = fmt.members
        return f"{label(first)} or {label(second)}, as the select pin says (0: {first.name}, 1: {second.name})"
    return f"{fmt.name} (file with SHA-256 {fmt.source_sha256})" if fmt.source_sha256 else f"{fmt.name} ({fmt.cite})"


def operands(core: Component) -> str:
    """The formats of both operands."""
    a, b = core.a_format, core.b_format
    return label(a) if a == b else f"{label(a)} times {label(b)}"


def state(unit: ExactAccumulator) -> str:
    """The header's line on the bits of an exact accumulator."""
    return f"State: nan, neg_inf, pos_inf, value[{unit.value_width - 1}:0] in two's complement with lsb 2^{unit.lsb_exponent}"


def wide_rules(target: str, what: str) -> Rules:
    """Rules of a result in a wide format."""
    wide = get(target)
    nan = f"NaN is {wide.canonical_nan:#x}" + (", and keeps a sign" if wide.nan_keeps_sign else "")
    return {
        "rounding": f"{what}, {ROUNDING_RULES[wide.roundings[0]]}",
        "overflow": OVERFLOW_RULES[wide.overflows[0]],
        "nan": nan,
    }


def code_rules(core: Component, fmt: Format) -> Rules:
    """Rules of a result that is a code."""
    return {
        "rounding": ROUNDING_RULES[core.rounding],
        "overflow": OVERFLOW_RULES[core.overflow],
        "nan": f"NaN to {nan_rule(fmt, core.nan_to_zero)}",
    }


def sum_rules(core: Component) -> Rules:
    """Rules of what adds products."""
    if core.exact is None:
        return wide_rules(core.accumulator, "of the exact sum, once")
    overflow = "none as long as no more products are added than the options say; then it wraps"
    return {"rounding": "none: the sum is exact", "overflow": overflow, "nan": "a sticky flag"}


def sum_lines(core: Component) -> list[str]:
    """The header's lines on an accumulator."""
    if core.exact is not None:
        return [state(core.exact), f"Rounding: none; {core.terms} products of any size fit"]
    return [f"Rounding: once, of the exact sum, {ROUNDING_RULES[get(core.accumulator).roundings[0]]}"]


def nan_rule(fmt: Format, nan_to_zero: bool = False) -> str:
    """The code that NaN becomes."""
    if nan_to_zero or fmt.canonical_nan is None:
        return "code 0"
    digits = -(-fmt.width // 4)
    return f"code {fmt.canonical_nan:#0{digits + 2}x}" + (", with its sign" if fmt.nan_keeps_sign else "")
