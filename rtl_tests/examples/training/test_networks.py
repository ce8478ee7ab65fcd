"""Unquantized networks equal plain ones, and their gradients equal differences; what is quantized after training."""

import jax
import numpy as np
import pytest

import golden
from examples.training.networks import Convolutional, Transformer, Wide, windows
from examples.training.products import Products, quantized
from examples.training.tasks import Range
from rtl_tests.support.blocks import generator
from synth.report.training.policy import AFTERWARDS, Policy

TEXTS, LENGTH, SYMBOLS = 2, 6, 7
KINDS = ("transformer", "convolutional", "wide")


def inputs(kind, rng):
    if kind == "transformer":
        return Transformer(SYMBOLS, LENGTH, width=8, heads=2, layers=2), rng.integers(0, SYMBOLS, (TEXTS, LENGTH))
    if kind == "convolutional":
        return Convolutional(channels=(3, 4)), rng.normal(size=(3, 64)).astype(np.float32)
    return Wide(4, 6, 5), rng.normal(size=(7, 4)).astype(np.float32)


def plain(kind, weights, x):
    """The networks' equations, a second time."""
    if kind == "wide":
        return np.maximum(x @ weights["hidden"], 0) @ weights["last"]
    if kind == "convolutional":
        images = x.reshape(-1, 8, 8, 1)
        for name in ("first", "second"):
            size, kernel = images.shape[1], weights[name].reshape(3, 3, images.shape[-1], -1)
            padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
            total = weights[f"{name}_bias"]
            for row in range(3):
                for column in range(3):
                    total = total + padded[:, row : row + size : 2, column : column + size : 2] @ kernel[row, column]
            images = np.maximum(total, 0)
        return images.reshape(len(x), -1) @ weights["last"] + weights["last_bias"]
    rows = []
    for text in x:
        vectors = weights["symbols"][text] + weights["places"]
        for layer in range(2):

            def normalized(v, gain):
                return (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5) * gain

            all_heads = normalized(vectors, weights[f"{layer}.attention_gain"]) @ weights[f"{layer}.attention"]
            mixed = []
            for head in range(2):
                query, key, value = (all_heads[:, 8 * part + 4 * head : 8 * part + 4 * head + 4] for part in range(3))
                scores = np.exp(query @ key.T / 2) * np.tri(LENGTH)
                mixed.append(scores / scores.sum(1, keepdims=True) @ value)
            vectors = vectors + np.concatenate(mixed, axis=1) @ weights[f"{layer}.joined"]
            inner = normalized(vectors, weights[f"{layer}.inner_gain"]) @ weights[f"{layer}.inner"]
            vectors = vectors + np.maximum(inner, 0) @ weights[f"{layer}.outer"]
        rows.append(normalized(vectors, weights["gain"]) @ weights["logits"])
    return np.concatenate(rows)


def outputs(network, weights, x):
    return network.outputs(weights, x, Products(Policy("binary32")))


@pytest.mark.parametrize("kind", KINDS)
def test_the_unquantized_network_is_a_plain_one(kind):
    rng = generator("networks", kind)
    network, x = inputs(kind, rng)
    weights = network.weights(rng)
    assert all(value.dtype == np.float32 for value in weights.values())
    ours = outputs(network, weights, x)
    assert ours.dtype == np.float32
    precise = {name: value.astype(np.float64) for name, value in weights.items()}
    expected = plain(kind, precise, x if kind == "transformer" else x.astype(np.float64))
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_differences(kind):
    """The differences, in binary64, are those at both ends of a small step along a random direction."""
    rng = generator("gradients", kind)
    network, x = inputs(kind, rng)
    weights = {name: value.astype(np.float64) for name, value in network.weights(rng).items()}
    factors = rng.normal(size=plain(kind, weights, x).shape)
    narrow = {name: value.astype(np.float32) for name, value in weights.items()}
    _, propagate = jax.vjp(lambda values: outputs(network, values, x), narrow)
    (gradients,) = propagate(factors.astype(np.float32))
    for name, value in weights.items():
        direction, step = rng.normal(size=value.shape), 1e-6
        ends = [
            (plain(kind, {**weights, name: value + sign * step * direction}, x) * factors).sum() for sign in (-1, 1)
        ]
        slope = (np.asarray(gradients[name], np.float64) * direction).sum()
        assert slope == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-3, abs=1e-3), name
        assert abs(slope) > 1e-2, name


def test_windows():
    numbers = np.arange(1, 33, dtype=np.float32).reshape(1, 4, 4, 2)
    columns = np.asarray(windows(numbers)).reshape(4, 18)
    assert columns[0].tolist() == [0] * 8 + [1, 2, 3, 4] + [0] * 2 + [9, 10, 11, 12]
    assert columns[3].tolist() == [11, 12, 13, 14, 15, 16, 19, 20, 21, 22, 23, 24, 27, 28, 29, 30, 31, 32]


def through(x, exponent):
    return np.ldexp(golden.get("hif8").quantize(np.ldexp(x, exponent)), -exponent).astype(np.float64)


def test_scales_are_those_of_algorithm_1():
    """Both layers by hand: the second is calibrated on the results of the quantized first."""
    task = Range()
    weights = task.network.weights(np.random.default_rng(3))
    weights["hidden"] *= np.float32(2**-7)
    inputs, _ = task.samples(np.random.default_rng(4), 16)
    kinds = quantized(task.network, weights, inputs)
    first = golden.calibrate(inputs, weights["hidden"])
    exact = inputs @ weights["hidden"]
    hidden = np.maximum(through(inputs, first.activations) @ through(weights["hidden"], first.weights), 0)
    second = golden.calibrate(hidden.astype(np.float32), weights["last"], np.maximum(exact, 0) @ weights["last"])
    scales = kinds["hif8 calibrated"].exponents
    assert scales == {
        "hidden.left": first.activations,
        "hidden.right": first.weights,
        "last.left": second.activations,
        "last.right": second.weights,
    }
    assert scales["hidden.right"] > 0
    assert not kinds["hif8 cast"].exponents
    results = {name: np.asarray(task.network.outputs(weights, inputs, products)) for name, products in kinds.items()}
    cast = np.maximum(through(inputs, 0) @ through(weights["hidden"], 0), 0).astype(np.float32)
    np.testing.assert_allclose(
        results["hif8 cast"], through(cast, 0) @ through(weights["last"], 0), rtol=1e-5, atol=1e-9
    )
    expected = np.asarray(outputs(task.network, weights, inputs))
    assert np.mean((results["hif8 calibrated"] - expected) ** 2) < np.mean((results["hif8 cast"] - expected) ** 2)


def test_scales_after_training():
    """Channels of weights by their largest numbers, activations by the squared error; both layers by hand."""
    task, name = Range(), "int8"
    fmt, weights = golden.get(name), task.network.weights(np.random.default_rng(3))
    weights["hidden"][:, 0] *= 2**5
    inputs, _ = task.samples(np.random.default_rng(4), 16)
    kinds = quantized(task.network, weights, inputs)
    scaled = kinds[f"{name} scaled"]
    np.testing.assert_array_equal(scaled.exponents["hidden.right"], golden.scale_for(weights["hidden"], name, axis=0))
    assert len(np.unique(scaled.exponents["hidden.right"])) > 1

    def values(x, exponents):
        codes = fmt.codes(np.ldexp(x, exponents).astype(np.float32), overflow="saturate")
        return np.ldexp(fmt.decode(codes), -exponents)

    x = inputs
    for layer in ("hidden", "last"):
        left = golden.scale_for(x, name, "mse")
        np.testing.assert_array_equal(scaled.exponents[f"{layer}.left"], left)
        x = values(x, left) @ values(weights[layer], golden.scale_for(weights[layer], name, axis=0))
        x = np.maximum(x, 0).astype(np.float32) if layer == "hidden" else x
    np.testing.assert_allclose(np.asarray(task.network.outputs(weights, inputs, scaled)), x, rtol=1e-4, atol=1e-5)
    first = kinds["hif8 calibrated, first layer binary16"].policy
    assert first.operand("activation", "hidden.left").fmt == "binary16"
    assert kinds.keys() == AFTERWARDS.keys()
