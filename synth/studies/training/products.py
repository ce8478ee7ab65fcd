"""The products of a network's layers, by a policy: forward, and both products of the backward pass."""

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

import golden
from golden.wide import state_format
from synth.studies.training.policy import GRADIENT, KINDS, Losses, Numbers, Policy

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


class Products:
    """Matrix products of float32 numbers as a policy has them, and what they lose.

    ``losses`` are sums since :meth:`begin`, by kind of operand.
    """

    def __init__(self, policy: Policy, seed: int, threads: int | None = None):
        self.policy, self.seed, self.threads = policy, seed, threads
        self.scales = TensorScales()
        self.losses: dict[str, Losses] = defaultdict(Losses)
        self._random = np.random.default_rng(0)

    def begin(self, iteration: int) -> None:
        """Begin an iteration. Random bits depend on nothing but seed and iteration, so that a run can be resumed."""
        self._random = np.random.default_rng([self.seed, iteration])
        self.scales.due = self.policy.scaling == "tensor" and iteration % AMAX_EVERY == 0 and iteration > 0
        self.losses.clear()

    def __call__(self, x: Numbers, y: Numbers, kinds: tuple[str, str], name: str) -> Numbers:
        """``x @ y`` for matrices, or stacks of matrices of the same number, shape (stack, rows, columns)."""
        if not self.policy.is_quantized:
            plain: Numbers = np.matmul(x, y)
            return plain
        backward = GRADIENT in kinds
        accumulator = (self.policy.backward_accumulator if backward else None) or self.policy.accumulator
        codes, exponents = [], []
        for operand, kind, place in ((x, kinds[0], "left"), (y, kinds[1], "right")):
            rule = self.policy.operand(kind)
            largest = golden.get(rule.fmt).largest
            exponent = self.scales.exponent(f"{name}.{place}", operand, largest)
            encoded, losses = rule.codes(np.ldexp(operand, exponent), self._random)
            self.losses[kind] += losses
            codes.append(encoded)
            exponents.append(exponent)
        formats = self.policy.operand(kinds[0]).fmt, self.policy.operand(kinds[1]).fmt
        if x.ndim == 2:
            sums = self._product(codes[0], codes[1], formats, accumulator)
        else:
            pairs = zip(codes[0], codes[1], strict=True)
            sums = np.stack([self._product(a, b, formats, accumulator) for a, b in pairs])
        return np.ldexp(sums, -sum(exponents))

    def _product(self, a: NDArray[Any], b: NDArray[Any], formats: tuple[str, str], accumulator: str) -> Numbers:
        bits = golden.matmul(a, b, *formats, accumulator, lanes=self.policy.lanes, threads=self.threads)
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
