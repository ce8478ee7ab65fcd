"""The products of a network's layers, by a policy: forward, and both products of the backward pass."""

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import golden
from golden.wide import state_format
from synth.studies.training.policy import ACTIVATION, GRADIENT, KINDS, Losses, Numbers, Policy
from synth.studies.training.scaling import TENSOR

AMAX_EVERY = 10
"""Iterations after which scale factors of tensors are chosen again (HiFloat8 paper, section 5.1)."""


class TensorScales:
    """Powers of two that bring each operand into its format's range: the largest number near the format's largest.

    All are 1 at first. Every :data:`AMAX_EVERY` iterations the exponent of an operand becomes the largest for which
    its largest magnitude of that iteration is at most the format's largest value.
    """

    def __init__(self) -> None:
        self.exponents: dict[str, int] = {}
        self.due = False

    def exponent(self, name: str, x: Numbers, largest: float) -> int:
        """The exponent of the operand of this name in this iteration."""
        if self.due:
            most = float(np.abs(x).max(initial=0.0))
            if 0 < most < np.inf:
                self.exponents[name] = int(np.floor(np.log2(largest / most)))
        return self.exponents.get(name, 0)


@dataclass(frozen=True)
class Rounded:
    """An operand of products: codes of numbers times ``2**exponent``, or the numbers without a format."""

    codes: NDArray[Any]
    kind: str
    exponent: int = 0

    @property
    def turned(self) -> "Rounded":
        """The operand with its last two axes exchanged."""
        return replace(self, codes=np.swapaxes(self.codes, -1, -2))


class Products:
    """Matrix products of float32 numbers as a policy has them, and what they lose.

    ``losses`` are sums since :meth:`begin`, by kind of operand. An operand of several products is rounded once.
    """

    def __init__(self, policy: Policy, seed: int, threads: int | None = None):
        self.policy, self.seed, self.threads = policy, seed, threads
        self.scales = TensorScales()
        self.losses: dict[str, Losses] = defaultdict(Losses)
        self._random = np.random.default_rng(0)

    def begin(self, iteration: int, *, trains: bool = True) -> None:
        """Begin an iteration. Random bits depend on nothing but seed and iteration, so that a run can be resumed.

        Scales of tensors are only chosen by iterations that train.
        """
        self._random = np.random.default_rng([self.seed, iteration])
        is_due = trains and iteration % AMAX_EVERY == 0 and iteration > 0
        self.scales.due = self.policy.scaling == TENSOR and is_due
        self.losses.clear()

    def forward(self, x: Numbers, y: Numbers, kind: str, name: str) -> tuple[Rounded, Rounded, Numbers]:
        """Both operands of ``x @ y``, rounded, and the product.

        They are matrices, or stacks of matrices of the same number, shape (stack, rows, columns). ``x`` are activations
        and ``y`` is of the given kind. ``name`` identifies the product.
        """
        left, right = self.rounded(x, ACTIVATION, f"{name}.left"), self.rounded(y, kind, f"{name}.right")
        return left, right, self.product(left, right)

    def backward(self, left: Rounded, right: Rounded, gradient: Numbers, name: str) -> tuple[Numbers, Numbers]:
        """The gradients of both operands of a product, from the product's gradient."""
        rows = self.rounded(gradient, GRADIENT, f"{name}.gradient")
        return self.product(rows, right.turned), self.product(left.turned, rows)

    def rounded(self, x: Numbers, kind: str, name: str) -> Rounded:
        """An operand, rounded by the policy for its kind; what it loses is counted."""
        if not self.policy.is_quantized:
            return Rounded(x, kind)
        rule = self.policy.operand(kind)
        exponent = self.scales.exponent(name, x, golden.get(rule.fmt).largest)
        codes, losses = rule.codes(np.ldexp(x, exponent), self._random)
        self.losses[kind] += losses
        return Rounded(codes, kind, exponent)

    def product(self, x: Rounded, y: Rounded) -> Numbers:
        """``x @ y``."""
        if not self.policy.is_quantized:
            plain: Numbers = np.matmul(x.codes, y.codes)
            return plain
        formats = self.policy.operand(x.kind).fmt, self.policy.operand(y.kind).fmt
        if x.codes.ndim == 2:
            sums = self._product(x.codes, y.codes, formats)
        else:
            pairs = zip(x.codes, y.codes, strict=True)
            sums = np.stack([self._product(a, b, formats) for a, b in pairs])
        return np.ldexp(sums, -(x.exponent + y.exponent))

    def _product(self, a: NDArray[Any], b: NDArray[Any], formats: tuple[str, str]) -> Numbers:
        accumulator = self.policy.accumulator
        bits = golden.matmul(a, b, *formats, accumulator, threads=self.threads)
        if accumulator == "exact":
            unit = golden.ExactAccumulator(*formats, max(a.shape[1], 1))
            return unit.encode(bits, "binary32").view(np.float32)
        return state_format(accumulator).numbers(bits).astype(np.float32)

    def shares(self) -> dict[str, tuple[float, float]]:
        """Shares of the numbers other than zero that became zero, and that were out of range, by kind of operand."""
        rows = ((kind, self.losses[kind]) for kind in KINDS if self.losses[kind].numbers)
        return {kind: (lost.underflows / lost.numbers, lost.overflows / lost.numbers) for kind, lost in rows}

    def state(self) -> dict[str, int]:
        """What the next iteration depends on."""
        return dict(self.scales.exponents)

    def restore(self, state: dict[str, int]) -> None:
        """Continue from a :meth:`state`."""
        self.scales.exponents = dict(state)
