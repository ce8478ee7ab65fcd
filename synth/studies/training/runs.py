"""Runs: a task under a policy from a seed, trained in parts that survive an interrupt, and finished runs by content."""

import json
import time
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import golden
from golden.refusal import BadValue, check_integer
from hwgen.tools.files import write_whole
from synth.area.digest import fingerprint, sha256
from synth.studies.training import tape
from synth.studies.training.calibration import quantized
from synth.studies.training.networks import Weights
from synth.studies.training.policy import GRADIENT, Policy
from synth.studies.training.products import Products
from synth.studies.training.scaling import LossScale
from synth.studies.training.tasks import TASKS, Task

FIRST_DECAY, SECOND_DECAY = 0.9, 0.99
TINY = np.float32(1e-30)
"""Added to the root of Adam's second moment: small enough for gradients of 2**-40."""
REPORTS = 20
"""Points of a run's history."""


@dataclass(frozen=True)
class Run:
    """A task by name, a policy, a seed, and the number of iterations."""

    task: str
    policy: Policy
    seed: int
    iterations: int

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise BadValue("task", f"must be one of {', '.join(TASKS)}, not {self.task!r}")
        check_integer("seed", self.seed, 0, 1 << 30)
        check_integer("iterations", self.iterations, 1, 1 << 20)

    @property
    def cost(self) -> float:
        """Time of an iteration, relative to other tasks."""
        return _task(self.task).cost

    def key(self) -> str:
        """SHA-256 of everything that the result depends on: the choices, the data, the code."""
        choices = {"task": self.task, "seed": self.seed, "iterations": self.iterations, **self.policy.described()}
        return sha256(json.dumps(choices, sort_keys=True), _task(self.task).digest(), code_hash())


@cache
def _task(name: str) -> Task:
    return TASKS[name]()


@cache
def code_hash() -> str:
    """SHA-256 of the code that results depend on, and of NumPy's version."""
    return sha256(fingerprint(__name__), np.__version__)


class Trainer:
    """A run in progress: weights, the optimizer's moments (Adam), the loss's scale, and the history so far."""

    def __init__(self, run: Run, threads: int | None = None):
        self.run, self.task = run, _task(run.task)
        self.products = Products(run.policy, run.seed, threads)
        gradient = run.policy.gradient
        self.scale = LossScale(run.policy.scaling, golden.get(gradient.fmt).largest if gradient else 1.0)
        self.weights: Weights = self.task.network.weights(np.random.default_rng([run.seed, 1 << 20]))
        self.first = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self.second = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self.iteration, self.updates, self.skipped = 0, 0, 0
        self.history: list[dict[str, Any]] = []

    def step(self) -> None:
        """One iteration."""
        rng = np.random.default_rng([self.run.seed, 1 << 21, self.iteration])
        inputs, labels = self.task.samples(rng, self.task.batch)
        self.products.begin(self.iteration)
        with np.errstate(all="ignore"):  # gradients may overflow; such iterations are skipped
            nodes, outputs = self.task.outputs(self.weights, inputs, self.products)
            loss, gradient = self.task.loss(outputs.value, labels)
            exponent = self.scale.exponent
            tape.propagate(outputs, np.ldexp(gradient, exponent))
            gradients = {name: nodes[name].gradient_or_zeros() for name in self.weights}
            largest = max(float(np.abs(g).max()) if np.isfinite(g).all() else np.inf for g in gradients.values())
            if self.scale.update(largest, overflowed=self.products.losses[GRADIENT].overflows > 0):
                self._update({name: np.ldexp(g, -exponent) for name, g in gradients.items()})
            else:
                self.skipped += 1
        self.iteration += 1
        if self.iteration % max(self.run.iterations // REPORTS, 1) == 0 or self.iteration == self.run.iterations:
            point = {"iteration": self.iteration, "loss": loss, "scale": exponent, "skipped": self.skipped}
            self.history.append({**point, "lost": self.products.shares()})

    def _update(self, gradients: Weights) -> None:
        self.updates += 1
        rate = self.task.rate * min(1.0, 4 * (1 - self.iteration / self.run.iterations))  # falls in the last quarter
        first_part, second_part = 1 - FIRST_DECAY**self.updates, 1 - SECOND_DECAY**self.updates
        for name, gradient in gradients.items():
            self.first[name] += np.float32(1 - FIRST_DECAY) * (gradient - self.first[name])
            self.second[name] += np.float32(1 - SECOND_DECAY) * (gradient**2 - self.second[name])
            root = np.sqrt(self.second[name] / np.float32(second_part)) + TINY
            self.weights[name] -= np.float32(rate / first_part) * self.first[name] / root

    def result(self) -> dict[str, Any]:
        """What is reported of a finished run."""
        self.products.begin(self.run.iterations, trains=False)
        result = {"figures": self._figures(self.products), "history": self.history, "skipped": self.skipped}
        if not self.run.policy.is_quantized:
            rng = np.random.default_rng([self.run.seed, 1 << 22])
            kinds = quantized(self.task, self.weights, rng, self.products.threads)
            result["quantized"] = {name: self._figures(products) for name, products in kinds.items()}
        return result

    def _figures(self, products: Products) -> dict[str, float | None]:
        """The task's figures of its tests; None for those that are not finite."""
        inputs, labels = self.task.tests()
        with np.errstate(all="ignore"):
            _, outputs = self.task.outputs(self.weights, inputs, products)
            figures = self.task.figures(outputs.value, labels)
        return {name: value if np.isfinite(value) else None for name, value in figures.items()}

    def save(self, path: Path) -> None:
        """Write the state to a file, whole or not at all."""
        plain = {name: getattr(self, name) for name in ("iteration", "updates", "skipped", "history")}
        plain |= {"scale": self.scale.state(), "products": self.products.state()}
        arrays = {
            f"{kind}/{name}": a for kind in ("weights", "first", "second") for name, a in getattr(self, kind).items()
        }
        content = BytesIO()
        np.savez(content, plain=np.array(json.dumps(plain)), **arrays)
        write_whole(path, content.getvalue())

    def load(self, path: Path) -> None:
        """Continue from a saved state."""
        with np.load(path, allow_pickle=False) as state:
            plain = json.loads(str(state["plain"]))
            for kind in ("weights", "first", "second"):
                getattr(self, kind).update({name: state[f"{kind}/{name}"] for name in self.weights})
        for name in ("iteration", "updates", "skipped", "history"):
            setattr(self, name, plain[name])
        self.scale.restore(plain["scale"])
        self.products.restore(plain["products"])


def files(run: Run, folder: Path) -> tuple[Path, Path]:
    """The files of a run's result and of its state; a run has at most one of them."""
    return folder / f"{run.key()}.json", folder / f"{run.key()}.npz"


def finished(run: Run, folder: Path) -> dict[str, Any] | None:
    """The result of a run that is finished in a folder."""
    path, _ = files(run, folder)
    if not path.exists():
        return None
    result: dict[str, Any] = json.loads(path.read_bytes())
    return result


def train(
    run: Run,
    folder: Path,
    limit: float = float("inf"),
    threads: int | None = None,
) -> tuple[int, int]:
    """Train a run until it is finished, or for ``limit`` seconds; return the iterations before and after.

    It resumes from its last state in ``folder``, where the state is saved at the limit; a finished run leaves its
    result there, see :func:`finished`. In however many parts a run is trained, its result is the same. At least one
    iteration is made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if finished(run, folder) is not None:
        return run.iterations, run.iterations
    result, saved = files(run, folder)
    trainer = Trainer(run, threads)
    if saved.exists():
        trainer.load(saved)
    before, start = trainer.iteration, time.monotonic()
    while trainer.iteration < run.iterations:
        trainer.step()
        if time.monotonic() - start >= limit and trainer.iteration < run.iterations:
            trainer.save(saved)
            return before, trainer.iteration
    write_whole(result, json.dumps(trainer.result(), sort_keys=True).encode())
    saved.unlink(missing_ok=True)
    return before, trainer.iteration
