"""Matrices of real networks: a layer of the study's transformer, and both layers of the digits' classifier."""

from collections.abc import Iterator

import numpy as np

import golden
from examples.digits import Network, calibrated, quantized_product
from examples.training.products import Products, encoded
from examples.training.runs import Run, Trainer
from synth.report.training.policy import ACTIVATION, WEIGHT, Operand, Policy

LAYER = "0.joined"
"""The layer that joins the heads of attention."""
FORMAT = "ocp_e4m3"

Matrices = tuple[str, np.ndarray, np.ndarray]
"""What they are, and codes of two operands."""


class Operands(Products):
    """Products that also keep the layer's operands."""

    def matmul(self, x, y, name, kind=WEIGHT):
        """See :meth:`examples.training.products.Products.matmul`."""
        if name == LAYER:
            self.kept = np.asarray(x).reshape(-1, x.shape[-1]), y
        return super().matmul(x, y, name, kind)


def trained(task: str, iterations: int, fmt: str, accumulator: str) -> tuple[Policy, np.ndarray, np.ndarray]:
    """Activations and weights of the layer for a batch, after training."""
    operand = Operand(fmt)
    policy = Policy(fmt, operand, operand, Operand("hif8"), accumulator)  # gradients would vanish in ocp_e4m3
    trainer = Trainer(Run(task, policy, 0, iterations))
    for _ in range(iterations):
        trainer.step()
    products = Operands(policy)
    inputs, _ = trainer.task.samples(np.random.default_rng(1), trainer.task.batch)
    trainer.task.network.outputs(trainer.weights, inputs, products)
    return policy, *products.kept


def transformer(task: str = "characters", iterations: int = 30) -> Iterator[Matrices]:
    """The layer for a batch of texts."""
    policy, *operands = trained(task, iterations, FORMAT, "binary32")
    rng = np.random.default_rng(0)
    kinds = zip((ACTIVATION, WEIGHT), operands, strict=True)
    a, b = (encoded(policy.operand(kind), operand, rng)[0] for kind, operand in kinds)
    yield f"{task}, ", a, b


def digits() -> Iterator[Matrices]:
    """The layers for all test images."""
    fmt, network = golden.get(FORMAT), Network()
    trace: list[tuple[np.ndarray, np.ndarray]] = []
    products = [quantized_product(fmt, scales, "exact", trace) for scales in calibrated(fmt, network)]
    network.logits(network.images, products)
    for number, (a, b) in enumerate(trace, 1):
        yield f"digits, layer {number}, ", a[:, 0], b[0].T


def layers() -> Iterator[Matrices]:
    """The operands of every layer that runs: those of the transformer, then those of the classifier."""
    yield from transformer()
    yield from digits()
