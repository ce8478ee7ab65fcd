"""Names of the formats in other projects: OCP, PyTorch, ml_dtypes, ONNX and IEEE 754."""

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
    **dict.fromkeys(("float4_e2m1fn", "float4_e2m1fn_x2", "fp4_e2m1", "float4e2m1"), "e2m1"),
    **dict.fromkeys(("float6_e2m3fn", "fp6_e2m3"), "e2m3"),
    **dict.fromkeys(("float6_e3m2fn", "fp6_e3m2"), "e3m2"),
    **dict.fromkeys(("float8_e8m0fnu", "float8e8m0"), "e8m0"),
    **dict.fromkeys(("fp16", "float16", "half"), "binary16"),
    "bf16": "bfloat16",
    **dict.fromkeys(("fp32", "float32", "single"), "binary32"),
}
"""The catalogue's names by other names, which are in lower case and without PyTorch's prefix ``torch.``."""

AMBIGUOUS = {
    "float8_e4m3": "ieee_e4m3 (ml_dtypes' type of this name, with infinities) or ocp_e4m3 (without infinities)",
    "e3m4": "ieee_e3m4 (with infinities) or gc_1_3_4_b3 (without infinities)",
    **dict.fromkeys(("fp8", "float8"), "ocp_e4m3 or ocp_e5m2"),
}
"""Names that could mean more than one format, in lower case, with the sentence that offers the choice."""

DIFFERENCES = (
    "ml_dtypes' and PyTorch's fnuz types overflow to NaN; the gc_* formats saturate unless overflow nan is chosen",
    "ONNX's Cast saturates by default; ocp_e4m3 overflows to NaN and ocp_e5m2 to infinity, as in ml_dtypes and PyTorch",
)
"""Libraries whose default overflow differs from the format's; an alias changes no default."""

_C = TypeVar("_C", bound=str)


def canonical(name: str) -> str:
    """The catalogue's name for any name of a format.

    Other names only lose the prefix ``torch.`` and become lower case.
    """
    lower = name.lower().removeprefix("torch.")
    return ALIASES.get(lower, lower)


def check_name(argument: str, name: object, allowed: tuple[_C, ...], others: str = "") -> _C:
    """Return the name in ``allowed`` that ``name`` stands for; refuse any other value.

    The message also offers ``others``, names that the caller has accepted before.
    """
    if isinstance(name, str) and (catalogue_name := canonical(name)) in allowed:
        return allowed[allowed.index(catalogue_name)]
    return check_choice(argument, name, allowed, others)
