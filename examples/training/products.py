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
from synth.report.training.policy import (
    ACTIVATION,
    AFTERWARDS,
    CALIBRATED,
    CAST,
    GRADIENT,
    KINDS,
    SCALED,
    TENSOR_RULES,
    WEIGHT,
    Operand,
    Policy,
)

Numbers = NDArray[np.float32]

RANDOM_BITS = 16
AMAX_EVERY = 10
"""Iterations after which scale factors of tensors are chosen again (HiFloat8 paper, section 5.1)."""


def encoded(rule: Operand, x: Numbers, random: np.random.Generator) -> tuple[NDArray[Any], Counter[str]]:
    """Codes of numbers by a rule, with random bits if it is stochastic, and counts of what was lost.

    Of the numbers other than zero, ``underflows`` became zero; ``overflows`` were out of range, or infinite before.
    """
    fmt, words, before = golden.get(rule.fmt), {}, np.uint8(0)
    if options(fmt, rule.source, rule.rounding, rule.overflow).rounding.is_stochastic:
        words = {"random": random.integers(0, 1 << RANDOM_BITS, x.shape, np.uint16), "random_bits": RANDOM_BITS}
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    if rule.source != "binary32":
        bits, before = golden.get(rule.source).encode_with_flags(bits, "binary32")
    codes, flags = fmt.encode_with_flags(bits, rule.source, rule.rounding, rule.overflow, **words)
    is_nonzero = x != 0
    vanished = is_nonzero & (fmt.decode(codes) == 0)
    # an infinity may come from an accumulator
    overflowed = ((flags | before) & golden.Flag.OVERFLOW != 0) | np.isinf(x)
    counts = {"numbers": is_nonzero, "underflows": vanished, "overflows": overflowed}
    return codes, Counter({name: int(places.sum()) for name, places in counts.items()})


@partial(jax.tree_util.register_dataclass, data_fields=["codes"], meta_fields=["fmt", "exponent"])
@dataclass(frozen=True)
class Rounded:
    """An operand of products: codes of numbers times ``2**exponent``, in a format."""

    codes: Any
    fmt: str
    exponent: Any

    @property
    def turned(self) -> "Rounded":
        """The operand with its last two axes exchanged."""
        return replace(self, codes=np.swapaxes(self.codes, -1, -2))


class Products:
    """Matrix products of float32 numbers as a policy has them, and what they lose.

    ``losses`` are sums since :meth:`begin`, by kind of operand. An operand of several products is rounded once. With
    ``tensor`` and ``center``, powers of two bring each operand into its format's range. Their ``exponents``, by name of
    the operand, are 0 at first; every :data:`AMAX_EVERY` iterations each becomes that of :func:`golden.scale_for` for
    the operand of that iteration.
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
        self._chooses = trains and iteration % AMAX_EVERY == 0 and iteration > 0
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
        x, rule = np.asarray(x), self.policy.operand(kind, name)
        if self._chooses and self.policy.tensor_rule and np.isfinite(x).all() and x.any():
            choice = TENSOR_RULES[self.policy.tensor_rule]
            numbers = np.abs(x).max() if choice == "max" else x  # the largest decides alone
            self.exponents[name] = golden.scale_for(numbers, rule.fmt, choice).item()
        exponent = self.exponents.get(name, 0)
        random = np.random.default_rng([self.seed, self._iteration, crc32(name.encode())])
        codes, losses = encoded(rule, np.ldexp(x, exponent), random)
        self.losses[kind] += losses
        return Rounded(codes, rule.fmt, exponent)

    def product(self, x: Rounded, y: Rounded) -> Numbers:
        """``x @ y``."""
        a, b, accumulator = np.asarray(x.codes), np.asarray(y.codes), self.policy.accumulator
        formats = x.fmt, y.fmt
        pairs = [(a, b)] if a.ndim == 2 else zip(a, b, strict=True)
        bits = np.stack([golden.matmul(*pair, *formats, accumulator, threads=self.threads) for pair in pairs])
        if accumulator == "exact":
            unit = golden.ExactAccumulator(*formats, max(a.shape[-1], 1))
            sums = unit.encode(bits, "binary32").view(np.float32)
        else:
            sums = state_format(accumulator).numbers(bits).astype(np.float32)
        return np.ldexp(sums, -(x.exponent + y.exponent)).reshape(*a.shape[:-1], b.shape[-1])

    def kept(self, weights: Numbers) -> Numbers:
        """Weights as they are kept between iterations (HFP8 paper, Table 3): in float32, or in two parts."""
        if self.policy.residual is None:
            return weights
        coarse = golden.get(self.policy.operand(WEIGHT).fmt).quantize(weights)
        return coarse + golden.get(self.policy.residual).quantize(weights - coarse)

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
    """Products of a network that was trained otherwise, by what was done to it: the keys of :data:`AFTERWARDS`.

    Scales are chosen on ``inputs``.
    """
    plain, kinds = _Recorded(Policy("binary32")), {}
    plain.results = {}
    network.outputs(weights, inputs, plain)
    for kind, (policy, way) in AFTERWARDS.items():
        chooser = _CHOOSERS[way](policy, threads=threads)
        chooser.expected = plain.results
        network.outputs(weights, inputs, chooser)
        kinds[kind] = Products(policy, threads=threads)
        kinds[kind].exponents = chooser.exponents
    return kinds


class _Recorded(Products):
    """Products in float32, whose results are kept by name (line 2 of the algorithm)."""

    results: dict[str, Any]

    def matmul(self, x: Any, y: Any, name: str, kind: str = WEIGHT) -> Any:
        self.results[name] = super().matmul(x, y, name, kind)
        return self.results[name]


class _Cast(Products):
    """Chooses no scales."""

    expected: dict[str, Any]


class _Calibrated(_Cast):
    """Chooses the two scales of each product with weights when it is first computed (lines 5 to 14).

    Its inputs come from quantized earlier layers. Products of activations, as in attention, are not scaled.
    """

    def matmul(self, x: Any, y: Any, name: str, kind: str = WEIGHT) -> Any:
        if kind == WEIGHT:
            rows, results = (np.asarray(z).reshape(-1, z.shape[-1]) for z in (x, self.expected[name]))
            fmt = self.policy.operand(ACTIVATION, f"{name}.left").fmt
            scales = golden.calibrate(rows, np.asarray(y), results, fmt)
            self.exponents |= {f"{name}.left": scales.activations, f"{name}.right": scales.weights}
        return super().matmul(x, y, name, kind)


class _Scaled(_Cast):
    """Chooses the scales of each channel of weights, and those of tensors of activations."""

    def rounded(self, x: Any, kind: str, name: str) -> Rounded:
        choice = ("max", 0) if kind == WEIGHT else ("mse", None)
        self.exponents[name] = golden.scale_for(np.asarray(x), self.policy.operand(kind, name).fmt, *choice)
        return super().rounded(x, kind, name)


_CHOOSERS = {CAST: _Cast, CALIBRATED: _Calibrated, SCALED: _Scaled}
