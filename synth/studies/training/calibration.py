"""A trained network in HiFloat8: directly cast, and with the scales of the HiFloat8 paper's Algorithm 1."""

import numpy as np

import golden
from synth.studies.training.networks import Weights
from synth.studies.training.policy import WEIGHT, Numbers, Operand, Policy
from synth.studies.training.products import Products, Rounded
from synth.studies.training.scaling import TENSOR, UNSCALED
from synth.studies.training.tasks import Task

FORMAT, ACCUMULATOR = "hif8", "binary32"
SAMPLES = 16
"""Inputs with which scales are chosen."""
CAST, CALIBRATED = "cast", "calibrated"


def quantized(
    task: Task, weights: Weights, rng: np.random.Generator, threads: int | None = None
) -> dict[str, Products]:
    """Products of a network with these weights: :data:`CAST`, and :data:`CALIBRATED` on random training samples."""
    inputs, _ = task.samples(rng, SAMPLES)
    whole, calibrated = _Recorded(), _Calibrated(threads)
    task.outputs(weights, inputs, whole)
    calibrated.expected = whole.results
    task.outputs(weights, inputs, calibrated)
    kinds = {CAST: Products(_policy(UNSCALED), 0, threads), CALIBRATED: Products(_policy(TENSOR), 0, threads)}
    kinds[CALIBRATED].restore(calibrated.state())
    for products in kinds.values():
        products.begin(0)
    return kinds


def _policy(scaling: str) -> Policy:
    operand = Operand(FORMAT)
    return Policy(FORMAT, operand, operand, operand, ACCUMULATOR, scaling=scaling)


class _Recorded(Products):
    """Products in float32, whose results are kept by name (line 2 of the algorithm)."""

    def __init__(self) -> None:
        super().__init__(Policy("binary32"), 0)
        self.results: dict[str, Numbers] = {}

    def forward(self, x: Numbers, y: Numbers, kind: str, name: str) -> tuple[Rounded, Rounded, Numbers]:
        left, right, self.results[name] = super().forward(x, y, kind, name)
        return left, right, self.results[name]


class _Calibrated(Products):
    """Chooses the two scales of each product with weights when it is first computed (lines 5 to 14).

    Its inputs come from quantized earlier layers. Products of activations, as in attention, are not scaled.
    """

    def __init__(self, threads: int | None) -> None:
        super().__init__(_policy(TENSOR), 0, threads)
        self.expected: dict[str, Numbers] = {}

    def forward(self, x: Numbers, y: Numbers, kind: str, name: str) -> tuple[Rounded, Rounded, Numbers]:
        if kind == WEIGHT:
            scales = golden.calibrate(x, y, self.expected[name], FORMAT)
            self.scales.exponents |= {f"{name}.left": scales.activations, f"{name}.right": scales.weights}
        return super().forward(x, y, kind, name)
