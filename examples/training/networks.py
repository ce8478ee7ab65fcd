"""The networks: a transformer for characters, a convolutional one for digits, one with gradients of many sizes."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from examples.training.products import Numbers, Products
from synth.report.training.policy import ACTIVATION

Weights = dict[str, Numbers]


def _normal(rng: np.random.Generator, *shape: int, deviation: float | None = None) -> Numbers:
    """Weights of a layer; by default the variance of its results is that of its inputs."""
    deviation = shape[0] ** -0.5 if deviation is None else deviation
    return (rng.normal(size=shape) * deviation).astype(np.float32)


@jax.jit
def normalized(x: Any, gain: Any) -> Any:
    """Layer normalization of the last axis without its offset: mean 0, variance 1, times ``gain``."""
    centered = x - x.mean(axis=-1, keepdims=True)
    return centered / jnp.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-5) * gain


@partial(jax.jit, static_argnums=1)
def heads(three: Any, count: int) -> list[Any]:
    """Queries, keys and values, each of shape (texts * heads, length, size), of shape (texts, length, 3 * width)."""
    texts, length, width = three.shape
    parts = three.reshape(texts, length, 3, count, width // 3 // count).transpose(2, 0, 3, 1, 4)
    return [part.reshape(texts * count, length, -1) for part in parts]


@jax.jit
def shares(scores: Any) -> Any:
    """The softmax of the last axis of (stack, length, length), of the places up to the row's own."""
    later = np.triu(np.ones(scores.shape[1:], np.bool_), 1)
    return jax.nn.softmax(jnp.where(later, -jnp.inf, scores), axis=-1)


@jax.jit
def windows(x: Any) -> Any:
    """The numbers under a window of 3 by 3 that moves by 2 over images of shape (images, rows, columns, channels)."""
    padded, (_, rows, columns, _) = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), x.shape
    places = [(row, column) for row in range(3) for column in range(3)]
    parts = [padded[:, row : row + rows : 2, column : column + columns : 2] for row, column in places]
    return jnp.concatenate(parts, axis=-1)


@dataclass(frozen=True)
class Transformer:
    """A language model: ``layers`` blocks of causal attention and of a layer of ``4 * width`` units.

    There are ``symbols`` different characters, texts of ``length`` of them, and vectors of size ``width``.
    """

    symbols: int
    length: int = 64
    width: int = 64
    heads: int = 2
    layers: int = 2

    def weights(self, rng: np.random.Generator) -> Weights:
        """First weights."""
        w = self.width
        weights = {"symbols": _normal(rng, self.symbols, w, deviation=0.5), "places": _normal(rng, self.length, w)}
        for layer in range(self.layers):
            weights |= {
                f"{layer}.attention_gain": np.ones(w, np.float32),
                f"{layer}.attention": _normal(rng, w, 3 * w),
                f"{layer}.joined": _normal(rng, w, w),
                f"{layer}.inner_gain": np.ones(w, np.float32),
                f"{layer}.inner": _normal(rng, w, 4 * w),
                f"{layer}.outer": _normal(rng, 4 * w, w),
            }
        return weights | {"gain": np.ones(w, np.float32), "logits": _normal(rng, w, self.symbols)}

    def outputs(self, weights: dict[str, Any], inputs: NDArray[np.int64], products: Products) -> Any:
        """Logits, shape (texts * length, symbols), of characters, shape (texts, length)."""

        def layer_of(x: Any, name: str) -> Any:
            return products.matmul(x, weights[name], name)

        x = jnp.asarray(weights["symbols"])[inputs] + weights["places"]
        for layer in range(self.layers):
            three = layer_of(normalized(x, weights[f"{layer}.attention_gain"]), f"{layer}.attention")
            x = x + layer_of(self._attention(three, layer, products), f"{layer}.joined")
            inner = jax.nn.relu(layer_of(normalized(x, weights[f"{layer}.inner_gain"]), f"{layer}.inner"))
            x = x + layer_of(inner, f"{layer}.outer")
        return layer_of(normalized(x, weights["gain"]), "logits").reshape(-1, self.symbols)

    def _attention(self, three: Any, layer: int, products: Products) -> Any:
        """The heads' mixed values, joined, from queries, keys and values of shape (texts, length, 3 * width)."""
        texts, length, size = *three.shape[:2], self.width // self.heads
        query, key, value = heads(three, self.heads)
        scores = products.matmul(query, key.swapaxes(1, 2), f"{layer}.scores", ACTIVATION) * size**-0.5
        mixed = products.matmul(shares(scores), value, f"{layer}.mixed", ACTIVATION)
        return mixed.reshape(texts, self.heads, length, size).transpose(0, 2, 1, 3).reshape(texts, length, self.width)


@dataclass(frozen=True)
class Convolutional:
    """A classifier of square images: two convolutions of 3 by 3 with a stride of 2, and one layer behind them."""

    size: int = 8
    channels: tuple[int, int] = (16, 32)
    classes: int = 10

    def weights(self, rng: np.random.Generator) -> Weights:
        """First weights; those of a window are in the order row, column, channel."""
        first, second = self.channels
        places = (self.size // 4) ** 2
        return {
            "first": _normal(rng, 9, first, deviation=(2 / 9) ** 0.5),
            "second": _normal(rng, 9 * first, second, deviation=(2 / (9 * first)) ** 0.5),
            "last": _normal(rng, places * second, self.classes),
            "first_bias": np.zeros(first, np.float32),
            "second_bias": np.zeros(second, np.float32),
            "last_bias": np.zeros(self.classes, np.float32),
        }

    def outputs(self, weights: dict[str, Any], inputs: Numbers, products: Products) -> Any:
        """Logits, shape (images, classes), of images, shape (images, size * size)."""
        x = inputs.reshape(-1, self.size, self.size, 1)
        for name in ("first", "second"):
            x = jax.nn.relu(products.matmul(windows(x), weights[name], name) + weights[f"{name}_bias"])
        return products.matmul(x.reshape(len(inputs), -1), weights["last"], "last") + weights["last_bias"]


@dataclass(frozen=True)
class Wide:
    """A network of one hidden layer with several outputs."""

    inputs: int = 16
    hidden: int = 64
    count: int = 5

    def weights(self, rng: np.random.Generator) -> Weights:
        """First weights."""
        return {"hidden": _normal(rng, self.inputs, self.hidden), "last": _normal(rng, self.hidden, self.count)}

    def outputs(self, weights: dict[str, Any], inputs: Numbers, products: Products) -> Any:
        """Outputs, shape (samples, outputs)."""
        hidden = jax.nn.relu(products.matmul(inputs, weights["hidden"], "hidden"))
        return products.matmul(hidden, weights["last"], "last")
