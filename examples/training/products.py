"""The products of a network's layers, by a policy: forward, and both products of the backward pass.

JAX differentiates everything else in a network. It calls the rules of :func:`_matmul` with plain arrays, because
nothing here is compiled (``jax.jit``) around them; so they run in the caller's thread and may keep counts.
"""

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from zlib import crc32

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import golden
from golden.options import options
from golden.wide import state_format
from synth.report.training.claims import CALIBRATED, CAST
from synth.report.training.policy import ACTIVATION, GRADIENT, KINDS, TENSOR, UNSCALED, WEIGHT, Operand, Policy

Numbers = NDArray[np.float32]

RANDOM_BITS = 16
AMAX_EVERY = 10
"""Iterations after which scale factors of tensors are chosen again (HiFloat8 paper, section 5.1)."""


def encoded(rule: Operand, x: Numbers, random: np.random.Generator) -> tuple[NDArray[Any], Counter[str]]:
    """Codes of numbers by a rule, with random bits if it is stochastic, and counts of what was lost.

    Of the numbers other than zero, ``underflows`` became zero; ``overflows`` were out of range, or infinite before.
    """
    fmt, words = golden.get(rule.fmt), {}
    if options(fmt, "binary32", rule.rounding, rule.overflow).rounding.is_stochastic:
        words = {"random": random.integers(0, 1 << RANDOM_BITS, x.shape, np.uint16), "random_bits": RANDOM_BITS}
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    codes, flags = fmt.encode_with_flags(bits, "binary32", rule.rounding, rule.overflow, **words)
    is_nonzero = x != 0
    vanished = is_nonzero & (fmt.decode(codes) == 0)
    overflowed = (flags & golden.Flag.OVERFLOW != 0) | np.isinf(x)  # an infinity may come from an accumulator
    counts = {"numbers": is_nonzero, "underflows": vanished, "overflows": overflowed}
    return codes, Counter({name: int(places.sum()) for name, places in counts.items()})


@partial(jax.tree_util.register_dataclass, data_fields=["codes"], meta_fields=["kind", "exponent"])
@dataclass(frozen=True)
class Rounded:
    """An operand of products: codes of numbers times ``2**exponent``."""

    codes: Any
    kind: str
    exponent: int

    @property
    def turned(self) -> "Rounded":
        """The operand with its last two axes exchanged."""
        return replace(self, codes=np.swapaxes(self.codes, -1, -2))


class Products:
    """Matrix products of float32 numbers as a policy has them, and what they lose.

    ``losses`` are sums since :meth:`begin`, by kind of operand. An operand of several products is rounded once. With
    ``tensor``, powers of two bring each operand into its format's range. Their ``exponents``, by name of the operand,
    are 0 at first; every :data:`AMAX_EVERY` iterations each becomes the largest for which the operand's largest
    magnitude of that iteration is at most the format's largest value.
    """

    def __init__(self, policy: Policy, seed: int = 0, threads: int | None = None):
        self.policy, self.seed, self.threads = policy, seed, threads
        self.exponents: dict[str, int] = {}
        self.begin(0)

    def begin(self, iteration: int, *, trains: bool = True) -> None:
        """Begin an iteration. Random bits depend on nothing but seed, iteration and operand: a run can be resumed.

        Scales of tensors are only chosen by iterations that train.
        """
        self._iteration = iteration
        self._chooses = self.policy.scaling == TENSOR and trains and iteration % AMAX_EVERY == 0 and iteration > 0
        self.losses: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}

    def matmul(self, x: Any, y: Any, name: str, kind: str = WEIGHT) -> Any:
        """``x @ y``, which JAX can differentiate.

        ``x`` are activations, and ``y`` is of the given kind. Both are stacks of the same number of matrices, or ``y``
        is one matrix. ``name`` identifies the product.
        """
        if not self.policy.is_quantized:
            return jnp.matmul(x, y)
        flat = x.reshape(-1, x.shape[-1]) if y.ndim == 2 else x
        product = _matmul(flat, y, self, name, kind)
        return product.reshape(*x.shape[:-1], y.shape[-1])

    def rounded(self, x: Any, kind: str, name: str) -> Rounded:
        """An operand, rounded by the policy for its kind; what it loses is counted."""
        x, rule = np.asarray(x), self.policy.operand(kind)
        if self._chooses:
            most = float(np.abs(x).max(initial=0.0))
            if 0 < most < np.inf:
                self.exponents[name] = int(np.floor(np.log2(golden.get(rule.fmt).largest / most)))
        exponent = self.exponents.get(name, 0)
        random = np.random.default_rng([self.seed, self._iteration, crc32(name.encode())])
        codes, losses = encoded(rule, np.ldexp(x, exponent), random)
        self.losses[kind] += losses
        return Rounded(codes, kind, exponent)

    def product(self, x: Rounded, y: Rounded) -> Numbers:
        """``x @ y``."""
        a, b, accumulator = np.asarray(x.codes), np.asarray(y.codes), self.policy.accumulator
        formats = self.policy.operand(x.kind).fmt, self.policy.operand(y.kind).fmt
        pairs = [(a, b)] if a.ndim == 2 else zip(a, b, strict=True)
        bits = np.stack([golden.matmul(*pair, *formats, accumulator, threads=self.threads) for pair in pairs])
        if accumulator == "exact":
            unit = golden.ExactAccumulator(*formats, max(a.shape[-1], 1))
            sums = unit.encode(bits, "binary32").view(np.float32)
        else:
            sums = state_format(accumulator).numbers(bits).astype(np.float32)
        return np.ldexp(sums, -(x.exponent + y.exponent)).reshape(*a.shape[:-1], b.shape[-1])

    def shares(self) -> dict[str, tuple[float, float]]:
        """Shares of the numbers other than zero that became zero, and that were out of range, by kind of operand."""
        rows = ((kind, lost, lost["numbers"]) for kind, lost in self.losses.items() if lost["numbers"])
        return {kind: (lost["underflows"] / total, lost["overflows"] / total) for kind, lost, total in rows}


@partial(jax.custom_vjp, nondiff_argnums=(2, 3, 4))
def _matmul(x: Any, y: Any, products: Products, name: str, kind: str) -> Any:
    return _forward(x, y, products, name, kind)[0]


def _forward(x: Any, y: Any, products: Products, name: str, kind: str) -> tuple[Any, tuple[Rounded, Rounded]]:
    left = products.rounded(x, ACTIVATION, f"{name}.left")
    right = products.rounded(y, kind, f"{name}.right")
    return jnp.asarray(products.product(left, right)), (left, right)


def _backward(
    products: Products, name: str, _: str, operands: tuple[Rounded, Rounded], gradient: Any
) -> tuple[Any, Any]:
    """The gradients of both operands, from that of the product, which is rounded once for both."""
    left, right = operands
    rows = products.rounded(gradient, GRADIENT, f"{name}.gradient")
    return products.product(rows, right.turned), products.product(left.turned, rows)


_matmul.defvjp(_forward, _backward)


# -- networks that are quantized after training


def quantized(
    network: Any, weights: dict[str, Numbers], inputs: Any, threads: int | None = None
) -> dict[str, Products]:
    """Products in HiFloat8 of a network that was trained otherwise, by what was done to it.

    ``CAST`` is directly cast. ``CALIBRATED`` has the scales that the HiFloat8 paper's Algorithm 1 finds on ``inputs``.
    """
    plain, calibrated = _Recorded(Policy("binary32")), _Calibrated(_hif8(TENSOR), threads=threads)
    plain.results = calibrated.expected = {}
    network.outputs(weights, inputs, plain)
    network.outputs(weights, inputs, calibrated)
    kinds = {CAST: Products(_hif8(UNSCALED), threads=threads), CALIBRATED: Products(_hif8(TENSOR), threads=threads)}
    kinds[CALIBRATED].exponents = calibrated.exponents
    return kinds


def _hif8(scaling: str) -> Policy:
    return Policy("hif8", *[Operand("hif8")] * 3, scaling=scaling)


class _Recorded(Products):
    """Products in float32, whose results are kept by name (line 2 of the algorithm)."""

    results: dict[str, Any]

    def matmul(self, x: Any, y: Any, name: str, kind: str = WEIGHT) -> Any:
        self.results[name] = super().matmul(x, y, name, kind)
        return self.results[name]


class _Calibrated(Products):
    """Chooses the two scales of each product with weights when it is first computed (lines 5 to 14).

    Its inputs come from quantized earlier layers. Products of activations, as in attention, are not scaled.
    """

    expected: dict[str, Any]

    def matmul(self, x: Any, y: Any, name: str, kind: str = WEIGHT) -> Any:
        if kind == WEIGHT:
            rows, results = (np.asarray(z).reshape(-1, z.shape[-1]) for z in (x, self.expected[name]))
            scales = golden.calibrate(rows, np.asarray(y), results, "hif8")
            self.exponents |= {f"{name}.left": scales.activations, f"{name}.right": scales.weights}
        return super().matmul(x, y, name, kind)
