"""The names that other projects give the formats: OCP, PyTorch, ml_dtypes, ONNX and IEEE 754, in any case."""

from typing import TypeVar

from golden.refusal import check_choice

ALIASES = {
    "hifloat8": "hif8",
    **dict.fromkeys(("e4m3", "e4m3fn", "fp8_e4m3", "fp8_e4m3fn", "float8_e4m3fn", "float8e4m3fn"), "ocp_e4m3"),
    **dict.fromkeys(("e5m2", "fp8_e5m2", "float8_e5m2", "float8e5m2"), "ocp_e5m2"),
    "float8_e3m4": "ieee_e3m4",
    **dict.fromkeys(("e4m3fnuz", "fp8_e4m3fnuz", "float8_e4m3fnuz", "float8e4m3fnuz"), "gc_1_4_3_b8"),
    **dict.fromkeys(("e5m2fnuz", "fp8_e5m2fnuz", "float8_e5m2fnuz", "float8e5m2fnuz"), "gc_1_5_2_b16"),
    **dict.fromkeys(("e4m3b11fnuz", "float8_e4m3b11fnuz"), "gc_1_4_3_b11"),
    **dict.fromkeys(("fp16", "float16", "half"), "binary16"),
    "bf16": "bfloat16",
    **dict.fromkeys(("fp32", "float32", "single"), "binary32"),
}
"""Our names by the names of others, in lower case; PyTorch's may begin with ``torch.``."""

AMBIGUOUS = {
    "float8_e4m3": "ieee_e4m3 (ml_dtypes' type of this name, with infinities) or ocp_e4m3 (without infinities)",
    "e3m4": "ieee_e3m4 (with infinities) or gc_1_3_4_b3 (without infinities)",
    **dict.fromkeys(("fp8", "float8"), "ocp_e4m3 or ocp_e5m2"),
}
"""Names that stand for more than one format, in lower case, and the choice."""

DIFFERENCES = (
    "ml_dtypes' and PyTorch's fnuz types overflow to NaN; the gc_* formats saturate unless overflow nan is chosen",
    "ONNX's Cast saturates by default; ocp_e4m3 overflows to NaN and ocp_e5m2 to infinity, as in ml_dtypes and PyTorch",
)
"""Where a library overflows otherwise than our format by default: an alias changes no default."""

_C = TypeVar("_C", bound=str)


def canonical(name: str) -> str:
    """Our name of a format from anyone's, in any case; an unknown or ambiguous name only becomes lower case."""
    lower = name.lower().removeprefix("torch.")
    return ALIASES.get(lower, lower)


def check_name(argument: str, name: object, allowed: tuple[_C, ...]) -> _C:
    """Return the one of ``allowed`` that a name stands for; refuse any other value."""
    ours = canonical(name) if isinstance(name, str) else name
    return check_choice(argument, ours if ours in allowed else name, allowed)
