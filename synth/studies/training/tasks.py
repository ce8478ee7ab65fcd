"""The tasks: data, batches, and what is measured.

Every batch depends on nothing but the seed and the iteration, so that a run can be resumed, and all policies see the
same ones.
"""

import ast
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.refusal import BadValue
from synth.studies.training import tape
from synth.studies.training.networks import Convolutional, Transformer, Weights, Wide
from synth.studies.training.policy import Numbers
from synth.studies.training.products import Products
from synth.studies.training.tape import Node

CHARACTERS = 400_000
"""Length of the text; the last tenth is not trained on."""
TEXT = "3662ecdc35cc"
"""Beginning of the text's SHA-256."""


class Task(ABC):
    """A network, its data, and its loss.

    Attributes
    ----------
    name : str
    batch : int
        Samples of an iteration.
    rate : float
        Learning rate.
    cost : float
        Time of an iteration, relative to other tasks.
    network : Any
        It has ``weights(rng)`` and ``outputs(weights, inputs, products)``.
    """

    name: str
    batch: int
    rate: float
    cost: float
    network: Any

    @abstractmethod
    def samples(self, rng: np.random.Generator, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Random inputs and labels of training."""

    @abstractmethod
    def tests(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Inputs and labels that are not trained on, always the same."""

    @abstractmethod
    def loss(self, outputs: Numbers, labels: NDArray[Any]) -> tuple[float, Numbers]:
        """The loss of outputs, and its gradient."""

    @abstractmethod
    def figures(self, outputs: Numbers, labels: NDArray[Any]) -> dict[str, float]:
        """What is reported of outputs for :meth:`tests`."""

    @abstractmethod
    def digest(self) -> str:
        """SHA-256 of the data."""

    def outputs(self, weights: Weights, inputs: NDArray[Any], products: Products) -> tuple[dict[str, Node], Node]:
        """Nodes of the weights, and the network's outputs."""
        nodes = {name: Node(value, is_weight=True) for name, value in weights.items()}
        return nodes, self.network.outputs(nodes, inputs, products)


class Classification(Task):
    """A task whose outputs are logits of classes."""

    def loss(self, outputs: Numbers, labels: NDArray[Any]) -> tuple[float, Numbers]:
        """Cross entropy."""
        return tape.cross_entropy(outputs, labels)

    def figures(self, outputs: Numbers, labels: NDArray[Any]) -> dict[str, float]:
        """Cross entropy in nats, and the share of right guesses."""
        return {
            "loss": tape.cross_entropy(outputs, labels)[0],
            "accuracy": float((outputs.argmax(axis=1) == labels).mean()),
        }


class Characters(Classification):
    """The next character of a text, the docstrings of scikit-learn: English, formulas and code."""

    name, batch, rate, cost = "characters", 16, 0.006, 50.0

    length, width, heads, layers = 64, 64, 2, 2

    def __init__(self) -> None:
        self.text, self.alphabet = _text()
        self.network = Transformer(len(self.alphabet), self.length, self.width, self.heads, self.layers)

    def samples(self, rng: np.random.Generator, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Random parts of the first nine tenths."""
        return self._parts(rng.integers(0, self.text.size * 9 // 10 - self.length - 1, count))

    def tests(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Parts of the last tenth."""
        first = self.text.size * 9 // 10
        return self._parts(np.linspace(first, self.text.size - self.length - 1, 128).astype(np.int64))

    def _parts(self, starts: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
        whole = self.text[starts[:, None] + np.arange(self.length + 1)]
        return whole[:, :-1], whole[:, 1:].reshape(-1)

    def digest(self) -> str:
        """SHA-256 of the text."""
        return hashlib.sha256(self.text.tobytes()).hexdigest()


class Letters(Characters):
    """The same with a network that is small enough for tests, and too small to learn much."""

    name, batch, cost = "letters", 4, 4.0
    length, width, heads, layers = 32, 32, 1, 1


@cache
def _text() -> tuple[NDArray[np.int64], str]:
    """The text as numbers of characters, and the characters; refuse a version that has other docstrings."""
    text = _docstrings()
    digest = hashlib.sha256(text.encode()).hexdigest()
    if not digest.startswith(TEXT):
        raise BadValue(None, f"scikit-learn {version('scikit-learn')} has other docstrings than those of the study")
    alphabet = "".join(sorted(set(text)))
    numbers = {character: number for number, character in enumerate(alphabet)}
    return np.array([numbers[character] for character in text]), alphabet


def _scikit_learn() -> Any:
    try:
        import sklearn
    except ImportError:
        raise BadValue(None, "The study needs scikit-learn: pip install '.[examples]' in the clone") from None
    return sklearn


@cache
def _docstrings() -> str:
    parts: list[str] = []
    for path in sorted(Path(_scikit_learn().__file__).parent.rglob("*.py")):
        if "tests" in path.parts or "externals" in path.parts:
            continue
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        parts += [ast.get_docstring(node) or "" for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    return "\n\n".join(dict.fromkeys(part for part in parts if part.isascii() and len(part) > 400))[:CHARACTERS]


class Digits(Classification):
    """Handwritten digits of 8 by 8 pixels, moved by up to one pixel, with noise."""

    name, batch, rate, cost = "digits", 64, 0.003, 2.0

    def __init__(self) -> None:
        _scikit_learn()
        from sklearn.datasets import load_digits

        images, labels = load_digits(return_X_y=True)
        self.images, self.labels = (images / 16).astype(np.float32), labels.astype(np.int64)
        self.network = Convolutional()
        order = np.random.default_rng(0).permutation(len(images))
        self.train, self.test = order[:1347], order[1347:]

    def samples(self, rng: np.random.Generator, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Random images, moved, with noise."""
        chosen = rng.choice(self.train, count)
        padded = np.pad(self.images[chosen].reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
        down, right = rng.integers(0, 3, (2, count, 1, 1))
        place = np.arange(8)
        moved = padded[np.arange(count)[:, None, None], down + place[:, None], right + place]
        noisy = moved + rng.normal(size=moved.shape) * 0.05
        return noisy.reshape(count, 64).astype(np.float32), self.labels[chosen]

    def tests(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """A quarter of the images, as they are."""
        return self.images[self.test], self.labels[self.test]

    def digest(self) -> str:
        """SHA-256 of images and labels."""
        return hashlib.sha256(self.images.tobytes() + self.labels.tobytes()).hexdigest()


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

    def samples(self, rng: np.random.Generator, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Random inputs and the functions' values."""
        x = rng.normal(size=(count, self.INPUTS))
        return x.astype(np.float32), (np.tanh(x @ self.inner) @ self.outer).astype(np.float32)

    def tests(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """A thousand others."""
        return self.samples(np.random.default_rng(2), 1000)

    def loss(self, outputs: Numbers, labels: NDArray[Any]) -> tuple[float, Numbers]:
        """The sum of the mean square errors, weighted."""
        weights = np.exp2(np.array(self.EXPONENTS)).astype(np.float32)
        error = outputs - labels
        return float(((error**2).mean(axis=0) * weights).sum()), 2 * error * weights / np.float32(len(labels))

    def figures(self, outputs: Numbers, labels: NDArray[Any]) -> dict[str, float]:
        """Mean square errors relative to the variances: of all functions, and of each."""
        relative = ((outputs - labels) ** 2).mean(axis=0) / labels.var(axis=0)
        errors = {f"loss of 2**{e}": float(r) for e, r in zip(self.EXPONENTS, relative, strict=True)}
        return {"loss": float(relative.mean()), **errors}

    def digest(self) -> str:
        """SHA-256 of the functions."""
        return hashlib.sha256(self.inner.tobytes() + self.outer.tobytes()).hexdigest()


TASKS: Mapping[str, Callable[[], Task]] = {
    "characters": Characters,
    "letters": Letters,
    "digits": Digits,
    "range": Range,
}
"""The tasks by name."""
