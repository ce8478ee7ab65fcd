"""The networks: a transformer for characters, a convolutional one for digits, one with gradients of many sizes."""

import numpy as np
from numpy.typing import NDArray

from synth.studies.training import tape
from synth.studies.training.policy import Numbers
from synth.studies.training.products import Products
from synth.studies.training.tape import Node

Weights = dict[str, Numbers]


def _normal(rng: np.random.Generator, *shape: int, deviation: float | None = None) -> Numbers:
    """Weights of a layer; by default the variance of its results is that of its inputs."""
    deviation = shape[0] ** -0.5 if deviation is None else deviation
    return (rng.normal(size=shape) * deviation).astype(np.float32)


class Transformer:
    """A language model: ``layers`` blocks of causal attention and of a layer of ``4 * width`` units.

    Parameters
    ----------
    symbols, length, width, heads, layers : int
        Different characters; characters of a text; size of the vectors; heads of attention; blocks.
    """

    def __init__(self, symbols: int, length: int = 64, width: int = 64, heads: int = 2, layers: int = 2):
        self.symbols, self.length, self.width, self.heads, self.layers = symbols, length, width, heads, layers

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

    def outputs(self, weights: dict[str, Node], inputs: NDArray[np.int64], products: Products) -> Node:
        """Logits, shape (texts * length, symbols), of characters, shape (texts, length)."""
        texts, length = inputs.shape
        x = tape.add(tape.embedded(weights["symbols"], inputs), weights["places"])
        for layer in range(self.layers):
            normal = tape.normalized(x, weights[f"{layer}.attention_gain"])
            x = tape.add(x, self._attention(weights, layer, normal, products))
            normal = tape.normalized(x, weights[f"{layer}.inner_gain"])
            inner = tape.relu(tape.matmul(normal, weights[f"{layer}.inner"], products, f"{layer}.inner"))
            x = tape.add(x, tape.matmul(inner, weights[f"{layer}.outer"], products, f"{layer}.outer"))
        x = tape.normalized(x, weights["gain"])
        logits = tape.matmul(x, weights["logits"], products, "logits")
        flat = (texts * length, self.symbols)
        return tape.arranged(logits, flat, (0, 1), flat)

    def _attention(self, weights: dict[str, Node], layer: int, x: Node, products: Products) -> Node:
        texts, length, width = x.value.shape
        size, stack = width // self.heads, texts * self.heads
        three = tape.matmul(x, weights[f"{layer}.attention"], products, f"{layer}.attention")
        shape = (texts, length, 3, self.heads, size)
        whole = tape.arranged(three, shape, (2, 0, 3, 1, 4), (3 * stack, length * size))
        query, key, value = (
            tape.arranged(tape.rows(whole, part * stack, stack), (stack, length, size), order, shape_after)
            for part, order, shape_after in (
                (0, (0, 1, 2), (stack, length, size)),
                (1, (0, 2, 1), (stack, size, length)),
                (2, (0, 1, 2), (stack, length, size)),
            )
        )
        scores = tape.scaled(tape.matmul(query, key, products, f"{layer}.scores"), size**-0.5)
        mixed = tape.matmul(tape.causal_softmax(scores), value, products, f"{layer}.mixed")
        joined = tape.arranged(mixed, (texts, self.heads, length, size), (0, 2, 1, 3), (texts, length, width))
        return tape.matmul(joined, weights[f"{layer}.joined"], products, f"{layer}.joined")


class Convolutional:
    """A classifier of square images: two convolutions of 3 by 3 with a stride of 2, and one layer behind them."""

    def __init__(self, size: int = 8, channels: tuple[int, int] = (16, 32), classes: int = 10):
        self.size, self.channels, self.classes = size, channels, classes

    def weights(self, rng: np.random.Generator) -> Weights:
        """First weights."""
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

    def outputs(self, weights: dict[str, Node], inputs: Numbers, products: Products) -> Node:
        """Logits, shape (images, classes), of images, shape (images, size * size)."""
        x, size, depth = Node(inputs), self.size, 1
        for name, channels in zip(("first", "second"), self.channels, strict=True):
            index = patches(size, depth)
            size //= 2
            columns = tape.gathered(x, index, 4 * size * size * depth)
            product = tape.add(tape.matmul(columns, weights[name], products, name), weights[f"{name}_bias"])
            flat = (len(inputs), size * size * channels)
            x, depth = tape.arranged(tape.relu(product), flat, (0, 1), flat), channels
        return tape.add(tape.matmul(x, weights["last"], products, "last"), weights["last_bias"])


def patches(size: int, depth: int) -> NDArray[np.int64]:
    """Places of the numbers under a window of 3 by 3 that moves by 2: shape (windows, 9 * depth), -1 for outside.

    Numbers are in the order row, column, channel.
    """
    start = np.arange(0, size, 2)
    offset = np.arange(-1, 2)
    row = start[:, None, None, None] + offset[None, None, :, None]
    column = start[None, :, None, None] + offset[None, None, None, :]
    outside = (row < 0) | (row >= size) | (column < 0) | (column >= size)
    place = np.where(outside, -1, row * size + column)[..., None]
    index = np.where(place < 0, -1, place * depth + np.arange(depth))
    return index.reshape(start.size**2, 9 * depth)


class Wide:
    """A network of one hidden layer with several outputs."""

    def __init__(self, inputs: int = 16, hidden: int = 64, outputs: int = 5):
        self.inputs, self.hidden, self.count = inputs, hidden, outputs

    def weights(self, rng: np.random.Generator) -> Weights:
        """First weights."""
        return {"hidden": _normal(rng, self.inputs, self.hidden), "last": _normal(rng, self.hidden, self.count)}

    def outputs(self, weights: dict[str, Node], inputs: Numbers, products: Products) -> Node:
        """Outputs, shape (samples, outputs)."""
        hidden = tape.relu(tape.matmul(Node(inputs), weights["hidden"], products, "hidden"))
        return tape.matmul(hidden, weights["last"], products, "last")
