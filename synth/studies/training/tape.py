"""Gradients of small networks: operations on float32 arrays that remember how to propagate gradients back.

Products go through :class:`synth.studies.training.products.Products`. Everything else is float32.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from synth.studies.training.policy import ACTIVATION, WEIGHT, Numbers
from synth.studies.training.products import Products


@dataclass(eq=False)
class Node:
    """A value, and how the gradient of a later value becomes gradients of the values that it was computed from."""

    value: Numbers
    parents: tuple["Node", ...] = ()
    backward: Callable[[Numbers], Sequence[Numbers]] | None = None
    is_weight: bool = False
    gradient: Numbers | None = field(default=None, repr=False)

    def gradient_or_zeros(self) -> Numbers:
        """The gradient; zeros if nothing depends on the value."""
        return np.zeros_like(self.value) if self.gradient is None else self.gradient


def propagate(last: Node, gradient: Numbers) -> None:
    """Set the gradients of all nodes that ``last`` depends on, from the gradient of ``last``."""
    order: list[Node] = []
    seen: set[int] = set()
    stack = [(last, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((parent, False) for parent in node.parents)
    last.gradient = gradient
    for node in reversed(order):
        if node.backward is not None and node.gradient is not None:
            for parent, part in zip(node.parents, node.backward(node.gradient), strict=True):
                parent.gradient = part if parent.gradient is None else parent.gradient + part


def matmul(x: Node, y: Node, products: Products, name: str) -> Node:
    """``x @ y`` of two or three dimensions; ``name`` identifies the product and its operands."""
    kind = WEIGHT if y.is_weight else ACTIVATION
    shape = x.value.shape
    flat = x.value.reshape(-1, shape[-1]) if y.value.ndim == 2 else x.value
    left, right, value = products.forward(flat, y.value, kind, name)

    def backward(gradient: Numbers) -> tuple[Numbers, Numbers]:
        of_x, of_y = products.backward(left, right, gradient.reshape(value.shape), name)
        return of_x.reshape(shape), of_y

    return Node(value.reshape(*shape[:-1], value.shape[-1]), (x, y), backward)


def add(x: Node, y: Node) -> Node:
    """``x + y``; ``y`` may be broadcast over the first axes of ``x``."""
    axes = tuple(range(x.value.ndim - y.value.ndim))
    return Node(x.value + y.value, (x, y), lambda gradient: (gradient, gradient.sum(axis=axes)))


def relu(x: Node) -> Node:
    """The larger of x and 0."""
    return Node(np.maximum(x.value, 0), (x,), lambda gradient: (gradient * (x.value > 0),))


def scaled(x: Node, factor: float) -> Node:
    """``factor * x``."""
    number = x.value.dtype.type(factor)
    return Node(x.value * number, (x,), lambda gradient: (gradient * number,))


def arranged(x: Node, shape: tuple[int, ...], order: tuple[int, ...], then: tuple[int, ...]) -> Node:
    """``x`` in another shape, with its axes in another order, and in another shape again."""
    middle = x.value.reshape(shape).transpose(order)
    back = np.argsort(order)

    def backward(gradient: Numbers) -> tuple[Numbers]:
        return (np.ascontiguousarray(gradient.reshape(middle.shape).transpose(back)).reshape(x.value.shape),)

    return Node(np.ascontiguousarray(middle).reshape(then), (x,), backward)


def rows(x: Node, start: int, count: int) -> Node:
    """``x[start : start + count]``."""

    def backward(gradient: Numbers) -> tuple[Numbers]:
        whole = np.zeros_like(x.value)
        whole[start : start + count] = gradient
        return (whole,)

    return Node(x.value[start : start + count], (x,), backward)


def gathered(x: Node, index: NDArray[np.int64], axis_size: int) -> Node:
    """``x[:, index]`` for ``x`` of shape (rows, axis_size); an index of -1 is a zero."""
    padded = np.concatenate((x.value, np.zeros_like(x.value[:, :1])), axis=1)

    def backward(gradient: Numbers) -> tuple[Numbers]:
        sums = np.zeros((axis_size + 1, len(x.value)), gradient.dtype)
        np.add.at(sums, index.reshape(-1), gradient.reshape(len(x.value), -1).T)
        return (np.ascontiguousarray(sums[:-1].T),)

    return Node(padded[:, index], (x,), backward)


def embedded(table: Node, index: NDArray[np.int64]) -> Node:
    """Rows of a table."""

    def backward(gradient: Numbers) -> tuple[Numbers]:
        sums = np.zeros_like(table.value)
        np.add.at(sums, index, gradient)
        return (sums,)

    return Node(table.value[index], (table,), backward)


def normalized(x: Node, gain: Node, epsilon: float = 1e-5) -> Node:
    """Layer normalization of the last axis without its offset: mean 0, variance 1, times ``gain``."""
    centered = x.value - x.value.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + x.value.dtype.type(epsilon))
    unit = centered * inverse

    def backward(gradient: Numbers) -> tuple[Numbers, Numbers]:
        of_unit = gradient * gain.value
        mean = of_unit.mean(axis=-1, keepdims=True)
        along = (of_unit * unit).mean(axis=-1, keepdims=True)
        return inverse * (of_unit - mean - unit * along), (gradient * unit).reshape(-1, unit.shape[-1]).sum(axis=0)

    return Node(unit * gain.value, (x, gain), backward)


def causal_softmax(x: Node) -> Node:
    """The softmax of the last axis of (stack, length, length), of the places up to the row's own."""
    length = x.value.shape[-1]
    later = np.triu(np.ones((length, length), np.bool_), 1)
    powers = np.exp(np.where(later, -np.inf, x.value - np.where(later, -np.inf, x.value).max(axis=-1, keepdims=True)))
    shares = (powers / powers.sum(axis=-1, keepdims=True)).astype(x.value.dtype)

    def backward(gradient: Numbers) -> tuple[Numbers]:
        return (shares * (gradient - (gradient * shares).sum(axis=-1, keepdims=True)),)

    return Node(shares, (x,), backward)


def cross_entropy(logits: Numbers, labels: NDArray[np.int64]) -> tuple[float, Numbers]:
    """The mean cross entropy of rows, in nats, and its gradient."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    logarithms = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    rows = np.arange(len(labels))
    gradient = np.exp(logarithms)
    gradient[rows, labels] -= 1
    return float(-logarithms[rows, labels].mean()), gradient / logits.dtype.type(len(labels))
