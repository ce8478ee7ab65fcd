"""Unquantized networks equal plain ones, and their gradients equal differences."""

import numpy as np
import pytest

from rtl_tests.support.blocks import generator
from synth.studies.training import tape
from synth.studies.training.networks import Convolutional, Transformer, Wide, patches
from synth.studies.training.policy import Policy
from synth.studies.training.products import Products
from synth.studies.training.tape import Node

TEXTS, LENGTH, SYMBOLS = 2, 6, 7


def transformer():
    return Transformer(SYMBOLS, LENGTH, width=8, heads=2, layers=2)


def inputs(kind, rng):
    if kind == "transformer":
        return transformer(), rng.integers(0, SYMBOLS, (TEXTS, LENGTH)), rng.integers(0, SYMBOLS, TEXTS * LENGTH)
    if kind == "convolutional":
        return Convolutional(channels=(3, 4)), rng.normal(size=(3, 64)), rng.integers(0, 10, 3)
    return Wide(4, 6, 5), rng.normal(size=(7, 4)), rng.integers(0, 5, 7)


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
    products = Products(Policy("binary32"), 0)
    products.begin(0)
    nodes = {name: Node(value, is_weight=True) for name, value in weights.items()}
    return nodes, network.outputs(nodes, x, products)


@pytest.mark.parametrize("kind", ["transformer", "convolutional", "wide"])
def test_the_unquantized_network_is_a_plain_one(kind):
    rng = generator("networks", kind)
    network, x, _ = inputs(kind, rng)
    weights = network.weights(rng)
    assert all(value.dtype == np.float32 for value in weights.values())
    if x.dtype == np.float64:
        x = x.astype(np.float32)
    _, ours = outputs(network, weights, x)
    assert ours.value.dtype == np.float32
    precise = {name: value.astype(np.float64) for name, value in weights.items()}
    expected = plain(kind, precise, x if kind == "transformer" else x.astype(np.float64))
    np.testing.assert_allclose(ours.value, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["transformer", "convolutional", "wide"])
def test_gradients_are_differences(kind):
    """In binary64: the difference of the losses at both ends of a small step along a random direction."""
    rng = generator("gradients", kind)
    network, x, labels = inputs(kind, rng)
    weights = {name: value.astype(np.float64) for name, value in network.weights(rng).items()}
    nodes, last = outputs(network, weights, x)
    _, gradient = tape.cross_entropy(last.value, labels)
    tape.propagate(last, gradient)
    for name, value in weights.items():
        direction, step = rng.normal(size=value.shape), 1e-6
        ends = [
            tape.cross_entropy(plain(kind, {**weights, name: value + sign * step * direction}, x), labels)[0]
            for sign in (-1, 1)
        ]
        slope = (nodes[name].gradient_or_zeros() * direction).sum()
        assert slope == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-4, abs=1e-7), name
        assert slope != 0, name


def test_patches():
    index = patches(4, 2)
    assert index.shape == (4, 18)
    assert index[0].tolist() == [-1] * 8 + [0, 1, 2, 3] + [-1] * 2 + [8, 9, 10, 11]
    assert index[3].tolist() == [10, 11, 12, 13, 14, 15, 18, 19, 20, 21, 22, 23, 26, 27, 28, 29, 30, 31]


def test_a_value_that_is_used_twice_gets_both_gradients():
    x = Node(np.float32([[1, 2]]))
    total = tape.add(tape.scaled(x, 3), tape.relu(x))
    tape.propagate(total, np.float32([[1, 10]]))
    assert x.gradient.tolist() == [[4, 40]]
    assert Node(np.float32([5])).gradient_or_zeros().tolist() == [0]
