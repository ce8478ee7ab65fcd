"""Networks that are quantized after training: a direct cast, and scales by Algorithm 1."""

import numpy as np

import golden
from synth.studies.training.calibration import CALIBRATED, CAST, SAMPLES, quantized
from synth.studies.training.policy import Policy
from synth.studies.training.products import Products
from synth.studies.training.tape import Node
from synth.studies.training.tasks import Range


def through(x, exponent):
    return np.ldexp(golden.get("hif8").quantize(np.ldexp(x, exponent)), -exponent).astype(np.float64)


def test_scales_are_those_of_algorithm_1():
    """Both layers by hand: the second is calibrated on the results of the quantized first."""
    task = Range()
    weights = task.network.weights(np.random.default_rng(3))
    weights["hidden"] *= np.float32(2**-7)
    kinds = quantized(task, weights, np.random.default_rng(4))
    inputs, _ = task.samples(np.random.default_rng(4), SAMPLES)
    first = golden.calibrate(inputs, weights["hidden"])
    exact = inputs @ weights["hidden"]
    hidden = np.maximum(through(inputs, first.activations) @ through(weights["hidden"], first.weights), 0)
    second = golden.calibrate(hidden.astype(np.float32), weights["last"], np.maximum(exact, 0) @ weights["last"])
    scales = kinds[CALIBRATED].state()
    assert scales == {
        "hidden.left": first.activations,
        "hidden.right": first.weights,
        "last.left": second.activations,
        "last.right": second.weights,
    }
    assert scales["hidden.right"] > 0
    assert not kinds[CAST].state()
    nodes = {name: Node(value, is_weight=True) for name, value in weights.items()}
    outputs = {name: task.network.outputs(nodes, inputs, products).value for name, products in kinds.items()}
    plain = task.network.outputs(nodes, inputs, Products(Policy("binary32"), 0)).value
    cast = np.maximum(through(inputs, 0) @ through(weights["hidden"], 0), 0).astype(np.float32)
    np.testing.assert_allclose(outputs[CAST], through(cast, 0) @ through(weights["last"], 0), rtol=1e-5, atol=1e-9)
    assert np.mean((outputs[CALIBRATED] - plain) ** 2) < np.mean((outputs[CAST] - plain) ** 2)
