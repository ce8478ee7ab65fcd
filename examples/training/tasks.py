"""The tasks: data, batches, and what is measured.

Every batch depends on nothing but the seed and the iteration, so that a run can be resumed, and all policies see the
same ones.
"""

import ast
import hashlib
from abc import ABC, abstractmethod
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from examples.training.networks import Convolutional, Transformer, Wide
from examples.training.products import Numbers
from golden.refusal import BadValue

CHARACTERS = 400_000
"""Length of the text; the last tenth is not trained on."""
TEXT = "3662ecdc35cc"
"""Beginning of the text's SHA-256."""

Samples = tuple[NDArray[Any], NDArray[Any]]


class Task(ABC):
    """A network, its data, and its loss.

    Attributes
    ----------
    batch, rate, cost
        Samples of an iteration, learning rate, and time of an iteration relative to other tasks.
    network
        It has ``weights(rng)`` and ``outputs(weights, inputs, products)``.
    tests : tuple of arrays
        Inputs and labels that are not trained on, always the same.
    digest : str
        SHA-256 of the data.
    """

    name: str
    batch: int
    rate: float
    cost: float
    network: Any
    tests: Samples
    digest: str

    @abstractmethod
    def samples(self, rng: np.random.Generator, count: int) -> Samples:
        """Random inputs and labels of training."""

    @abstractmethod
    def loss(self, outputs: Any, labels: NDArray[Any]) -> Any:
        """The loss of outputs, which JAX can differentiate."""

    @abstractmethod
    def figures(self, outputs: Numbers, labels: NDArray[Any]) -> dict[str, float]:
        """What is reported of outputs for the tests."""

    @cached_property
    def loss_and_gradient(self) -> Any:
        """The compiled loss, with its gradient by the outputs."""
        return jax.jit(jax.value_and_grad(self.loss))


class Classification(Task):
    """A task whose outputs are logits of classes."""

    def loss(self, outputs: Any, labels: NDArray[Any]) -> Any:
        """The mean cross entropy, in nats."""
        return -jnp.take_along_axis(jax.nn.log_softmax(outputs), labels[:, None], axis=1).mean()

    def figures(self, outputs: Numbers, labels: NDArray[Any]) -> dict[str, float]:
        """Cross entropy in nats, and the share of right guesses."""
        right = outputs.argmax(axis=1) == labels
        return {"loss": float(self.loss(outputs, labels)), "accuracy": float(right.mean())}


class Characters(Classification):
    """The next character of a text, the docstrings of scikit-learn: English, formulas and code."""

    name, batch, rate, cost = "characters", 16, 0.006, 50.0

    length, width, heads, layers = 64, 64, 2, 2

    def __init__(self) -> None:
        text = _docstrings()
        symbols, places = np.unique(np.frombuffer(text.encode(), np.uint8), return_inverse=True)
        self.text = places.astype(np.int64)
        self.network = Transformer(len(symbols), self.length, self.width, self.heads, self.layers)
        self.digest = hashlib.sha256(self.text.tobytes()).hexdigest()
        self.trained = self.text.size * 9 // 10
        starts = np.linspace(self.trained, self.text.size - self.length - 1, 128)
        self.tests = self._parts(starts.astype(np.int64))

    def samples(self, rng: np.random.Generator, count: int) -> Samples:
        """Random parts of the first nine tenths."""
        return self._parts(rng.integers(0, self.trained - self.length - 1, count))

    def _parts(self, starts: NDArray[np.int64]) -> Samples:
        whole = self.text[starts[:, None] + np.arange(self.length + 1)]
        return whole[:, :-1], whole[:, 1:].reshape(-1)


class Letters(Characters):
    """The same with a network that is small enough for tests, and too small to learn much."""

    name, batch, cost = "letters", 4, 4.0
    length, width, heads, layers = 32, 32, 1, 1


@cache
def _docstrings() -> str:
    """The text; refuse a version of scikit-learn that has another one."""
    parts: list[str] = []
    for path in sorted(Path(sklearn.__file__).parent.rglob("*.py")):
        if "tests" in path.parts or "externals" in path.parts:
            continue
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        parts += [ast.get_docstring(node) or "" for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    text = "\n\n".join(dict.fromkeys(part for part in parts if part.isascii() and len(part) > 400))[:CHARACTERS]
    if not hashlib.sha256(text.encode()).hexdigest().startswith(TEXT):
        raise BadValue(None, f"scikit-learn {sklearn.__version__} has other docstrings than those of the study")
    return text


class Digits(Classification):
    """Handwritten digits of 8 by 8 pixels, moved by up to one pixel, with noise."""

    name, batch, rate, cost = "digits", 64, 0.003, 2.0

    def __init__(self) -> None:
        images, labels = load_digits(return_X_y=True)
        self.images, self.labels = (images / 16).astype(np.float32), labels.astype(np.int64)
        self.network = Convolutional()
        order = np.random.default_rng(0).permutation(len(images))
        self.train, test = order[:1347], order[1347:]
        self.tests = self.images[test], self.labels[test]
        self.digest = hashlib.sha256(self.images.tobytes() + self.labels.tobytes()).hexdigest()

    def samples(self, rng: np.random.Generator, count: int) -> Samples:
        """Random images, moved, with noise."""
        chosen = rng.choice(self.train, count)
        padded = np.pad(self.images[chosen].reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
        down, right = rng.integers(0, 3, (2, count, 1, 1))
        place = np.arange(8)
        moved = padded[np.arange(count)[:, None, None], down + place[:, None], right + place]
        noisy = moved + rng.normal(size=moved.shape) * 0.05
        return noisy.reshape(count, 64).astype(np.float32), self.labels[chosen]


class Range(Task):
    """Five functions at once, whose losses have the weights 1, 2**-10 to 2**-40: so far apart are their gradients.

    The functions are of the same kind, and the optimizer divides gradients by their sizes. A function is learnt unless
    its gradients are lost. The figures do not weigh the losses.
    """

    name, batch, rate, cost = "range", 64, 0.003, 1.0
    INPUTS, HIDDEN = 16, 64
    EXPONENTS = (0, -10, -20, -30, -40)

    def __init__(self) -> None:
        self.network = Wide(self.INPUTS, self.HIDDEN, len(self.EXPONENTS))
        rng = np.random.default_rng(1)
        self.inner = rng.normal(size=(self.INPUTS, 8)) * 0.5
        self.outer = rng.normal(size=(8, len(self.EXPONENTS)))
        self.tests = self.samples(np.random.default_rng(2), 1000)
        self.digest = hashlib.sha256(self.inner.tobytes() + self.outer.tobytes()).hexdigest()

    def samples(self, rng: np.random.Generator, count: int) -> Samples:
        """Random inputs and the functions' values."""
        x = rng.normal(size=(count, self.INPUTS))
        return x.astype(np.float32), (np.tanh(x @ self.inner) @ self.outer).astype(np.float32)

    def loss(self, outputs: Any, labels: NDArray[Any]) -> Any:
        """The sum of the mean square errors, weighted."""
        weights = np.exp2(np.array(self.EXPONENTS)).astype(np.float32)
        return (((outputs - labels) ** 2).mean(axis=0) * weights).sum()

    def figures(self, outputs: Numbers, labels: NDArray[Any]) -> dict[str, float]:
        """Mean square errors relative to the variances: of all functions, and of each."""
        relative = ((outputs - labels) ** 2).mean(axis=0) / labels.var(axis=0)
        errors = {f"loss of 2**{e}": float(r) for e, r in zip(self.EXPONENTS, relative, strict=True)}
        return {"loss": float(relative.mean()), **errors}


TASKS: dict[str, type[Task]] = {task.name: task for task in (Characters, Letters, Digits, Range)}
"""The tasks by name."""
