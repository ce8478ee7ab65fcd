"""Policies: in which formats the operands of a network's products are, and in which accumulator they are added."""

from dataclasses import asdict, dataclass
from typing import Any

import golden
from golden.options import options
from golden.refusal import BadValue, about
from golden.wide import check_accumulator

ACTIVATION, WEIGHT, GRADIENT = KINDS = ("activation", "weight", "gradient")
"""Kinds of operands."""

UNSCALED, TENSOR = "none", "tensor"
RULES = (UNSCALED, "backoff", "adaptive", "logmax", TENSOR)
"""Ways of scaling. All but the first and the last scale the loss; ``tensor`` scales every operand, and not the loss."""


@dataclass(frozen=True)
class Operand:
    """How the operands of one kind are rounded: a format, and its rounding and overflow, by default the format's."""

    fmt: str
    rounding: str | None = None
    overflow: str | None = None

    def __post_init__(self) -> None:
        with about("fmt"):
            fmt = golden.get(self.fmt)
        options(fmt, "binary32", self.rounding, self.overflow)


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
        One of :data:`RULES`.
    """

    name: str
    activation: Operand | None = None
    weight: Operand | None = None
    gradient: Operand | None = None
    accumulator: str = "binary32"
    scaling: str = UNSCALED

    def __post_init__(self) -> None:
        given = [operand is not None for operand in (self.activation, self.weight, self.gradient)]
        if any(given) and not all(given):
            raise BadValue("policy", f"{self.name!r} must have formats for {', '.join(KINDS)}, or for none of them")
        check_accumulator(self.accumulator)
        if self.scaling not in RULES:
            raise BadValue("scaling", f"must be one of {', '.join(RULES)}, not {self.scaling!r}")

    @property
    def is_quantized(self) -> bool:
        """Whether operands are codes."""
        return self.activation is not None

    def operand(self, kind: str) -> Operand:
        """How operands of a kind are rounded."""
        operand: Operand = getattr(self, kind)
        return operand

    def described(self) -> dict[str, Any]:
        """All choices, as plain data."""
        return asdict(self)
