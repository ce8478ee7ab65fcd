"""Policies: in which formats the operands of a network's products are, and in which accumulator they are added.

A network may also be quantized after it was trained in binary32; :data:`AFTERWARDS` has the ways.
"""

from dataclasses import asdict, dataclass
from typing import Any

import golden
from golden.options import options
from golden.refusal import BadValue, about
from golden.wide import check_accumulator

ACTIVATION, WEIGHT, GRADIENT = KINDS = ("activation", "weight", "gradient")
"""Kinds of operands."""

UNSCALED, TENSOR, CENTER = "none", "tensor", "center"
LOSS_RULES = (UNSCALED, "backoff", "adaptive", "logmax")
"""Ways of scaling the loss."""
TENSOR_RULES = {TENSOR: "max", CENTER: "center"}
"""Ways of scaling every operand, and the policies of :func:`golden.scale_for`."""
RULES = (*LOSS_RULES, *TENSOR_RULES)


@dataclass(frozen=True)
class Operand:
    """How operands are rounded: a format, and its rounding and overflow, by default the format's.

    With a ``source``, they are rounded to that format first, as where float-16 training casts to 8 bits.
    """

    fmt: str
    rounding: str | None = None
    overflow: str | None = None
    source: str = "binary32"

    def __post_init__(self) -> None:
        with about("fmt"):
            fmt = golden.get(self.fmt)
        options(fmt, self.source, self.rounding, self.overflow)


@dataclass(frozen=True)
class Policy:
    """Formats of activations, weights and gradients, the accumulator, and how gradients are scaled.

    Parameters
    ----------
    name : str
    activation, weight, gradient : Operand, optional
        Either all or none; without them, products are plain ones in float32.
    accumulator : str
        Of :func:`golden.matmul`. Sums of ``exact`` ones are rounded once, to binary32.
    scaling : str
        One of :data:`RULES`, or one for the loss and one for operands, as in ``"adaptive, tensor"``.
    exceptions : pairs of a name and an Operand
        Operands that are rounded otherwise, by their name or that of their layer.
    residual : str, optional
        Weights are kept in their format, and what rounding them loses in this one; by default in float32.
    """

    name: str
    activation: Operand | None = None
    weight: Operand | None = None
    gradient: Operand | None = None
    accumulator: str = "binary32"
    scaling: str = UNSCALED
    exceptions: tuple[tuple[str, Operand], ...] = ()
    residual: str | None = None

    def __post_init__(self) -> None:
        given = [operand is not None for operand in (self.activation, self.weight, self.gradient)]
        if any(given) and not all(given):
            raise BadValue("policy", f"{self.name!r} must have formats for {', '.join(KINDS)}, or for none of them")
        check_accumulator(self.accumulator)
        if self.scaling not in RULES and self.scaling != f"{self.loss_rule}, {self.tensor_rule}":
            words = f"{', '.join(RULES)}, or one for the loss and one for operands"
            raise BadValue("scaling", f"must be one of {words}, not {self.scaling!r}")
        if self.residual is not None:
            with about("residual"):
                golden.get(self.residual)

    @property
    def loss_rule(self) -> str:
        """How the loss is scaled."""
        first = self.scaling.partition(", ")[0]
        return first if first in LOSS_RULES else UNSCALED

    @property
    def tensor_rule(self) -> str | None:
        """How operands are scaled."""
        last = self.scaling.rpartition(", ")[2]
        return last if last in TENSOR_RULES else None

    @property
    def is_quantized(self) -> bool:
        """Whether operands are codes."""
        return self.activation is not None

    def operand(self, kind: str, name: str = "") -> Operand:
        """How operands of a kind are rounded, or one of them by its name."""
        exceptions, layer = dict(self.exceptions), name.rpartition(".")[0]
        operand: Operand = exceptions.get(name) or exceptions.get(layer) or getattr(self, kind)
        return operand

    def described(self) -> dict[str, Any]:
        """All choices, as plain data."""
        return asdict(self) | {"exceptions": {name: asdict(operand) for name, operand in self.exceptions}}


# -- networks that are quantized after training

CAST, CALIBRATED, SCALED = "cast", "calibrated", "scaled"
"""Without scales; with those of the HiFloat8 paper's Algorithm 1; with one for each channel of weights by its largest
number, and one for each tensor of activations by the squared error (FP8 paper, section 4.2)."""
FIRST = ("first", "0.attention", "hidden")
"""Names of the first layer of the study's networks."""


def in_16_bits(*layers: str) -> tuple[tuple[str, Operand], ...]:
    """Exceptions: layers in binary16, saturating, because scales of tensors may be too large until the next choice."""
    return tuple((name, Operand("binary16", overflow="saturate")) for name in layers)


AFTERWARDS = {
    f"{fmt} {way}{note}": (Policy(fmt, operand, operand, operand, exceptions=exceptions), way)
    for fmt, way, note, exceptions in (
        ("hif8", CAST, "", ()),
        ("hif8", CALIBRATED, "", ()),
        ("hif8", CALIBRATED, ", first layer binary16", in_16_bits(*FIRST)),
        ("ocp_e4m3", CAST, "", ()),
        ("ocp_e4m3", SCALED, "", ()),
        ("int8", SCALED, "", ()),
        *((name, CAST, "", ()) for name in ("ibm_1_4_3", "ibm_1_4_3_b7", "ibm_1_5_2")),
    )
    for operand in (Operand(fmt, overflow="saturate"),)
}
"""What is done to networks that were trained in binary32: formats, and a way to choose scales."""
