"""Policies: in which formats the operands of a network's products are, and in which accumulator they are added."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import golden
from golden import Flag
from golden.options import options
from golden.refusal import BadValue, about
from golden.wide import check_accumulator
from synth.studies.training.scaling import RULES, UNSCALED

Numbers = NDArray[np.float32]

ACTIVATION, WEIGHT, GRADIENT = KINDS = ("activation", "weight", "gradient")
"""Kinds of operands."""

RANDOM_BITS = 16


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

    @property
    def is_stochastic(self) -> bool:
        """Whether rounding takes random bits."""
        fmt = golden.get(self.fmt)
        return options(fmt, "binary32", self.rounding, self.overflow).rounding.is_stochastic

    def codes(self, x: Numbers, random: np.random.Generator) -> tuple[NDArray[Any], "Losses"]:
        """Codes of numbers, and which part of them was lost."""
        words: dict[str, Any] = {}
        if self.is_stochastic:
            words = {"random": random.integers(0, 1 << RANDOM_BITS, x.shape, np.uint16), "random_bits": RANDOM_BITS}
        bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
        fmt = golden.get(self.fmt)
        codes, flags = fmt.encode_with_flags(bits, "binary32", self.rounding, self.overflow, **words)
        is_nonzero = x != 0
        vanished = is_nonzero & (fmt.decode(codes) == 0)
        overflowed = (flags & Flag.OVERFLOW != 0) | np.isinf(x)  # an infinity may come from an accumulator
        return codes, Losses(int(is_nonzero.sum()), int(vanished.sum()), int(overflowed.sum()))


@dataclass(frozen=True)
class Losses:
    """Numbers other than zero; those among them that became zero, and those out of range, also infinite ones."""

    numbers: int = 0
    underflows: int = 0
    overflows: int = 0

    def __add__(self, other: "Losses") -> "Losses":
        return Losses(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))


@dataclass(frozen=True)
class Policy:
    """Formats of activations, weights and gradients, the accumulator, and how gradients are scaled.

    Parameters
    ----------
    name : str
    activation, weight, gradient : Operand, optional
        Either all or none; without them, products are NumPy's in float32.
    accumulator : str
        Of :func:`golden.matmul`. Sums of ``exact`` ones are rounded once, to binary32.
    scaling : str
        One of :data:`synth.studies.training.scaling.RULES`.
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
