"""Runs: a task under a policy from a seed, trained in parts whose states are bytes."""

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from io import BytesIO
from typing import Any

import jax
import numpy as np

import golden
from examples.training.products import Products, quantized
from examples.training.scaling import loss_scale
from examples.training.tasks import TASKS, Task
from hwgen.tools.process import ToolError
from synth.area.digest import sha256
from synth.report.training.plan import AFTER, Plan
from synth.report.training.policy import GRADIENT, Policy
from synth.report.training.results import code_hash, recorded

FIRST_DECAY, SECOND_DECAY = 0.9, 0.99
TINY = np.float32(1e-30)
"""Added to the root of Adam's second moment: small enough for gradients of 2**-40."""
REPORTS = 5
"""Points of a run's history."""
DIGITS = 5
"""Significant digits of the numbers of several runs."""
SAMPLES = 16
"""Inputs with which the scales of a network are chosen that is quantized after training."""
_PLAIN, _ARRAYS = ("iteration", "updates", "skipped", "history"), ("weights", "first", "second")
"""Attributes of a trainer on which the next iteration depends, besides its scales."""


@dataclass(frozen=True)
class Run:
    """A task by name, a policy, a seed, and the number of iterations."""

    task: str
    policy: Policy
    seed: int
    iterations: int

    def key(self) -> str:
        """SHA-256 of everything that the result depends on: the choices, the data, the code."""
        choices = {"task": self.task, "seed": self.seed, "iterations": self.iterations, **self.policy.described()}
        versions = (version(name) for name in ("jax", "jaxlib"))
        return sha256(json.dumps(choices, sort_keys=True), _task(self.task).digest, str(code_hash()), *versions)


@cache
def _task(name: str) -> Task:
    return TASKS[name]()


class Trainer:
    """A run in progress: weights, the optimizer's moments (Adam), the loss's scale, and the history so far."""

    def __init__(self, run: Run, threads: int | None = None):
        self.run, self.task = run, _task(run.task)
        self.products = Products(run.policy, run.seed, threads)
        gradient = run.policy.gradient
        self.scale = loss_scale(run.policy.loss_rule, golden.get(gradient.fmt).largest if gradient else 1.0)
        self.weights = self.task.network.weights(np.random.default_rng([run.seed, 1 << 20]))
        self.first = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self.second = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self.iteration, self.updates, self.skipped = 0, 0, 0
        self.history: list[dict[str, Any]] = []

    def step(self) -> None:
        """One iteration."""
        rng = np.random.default_rng([self.run.seed, 1 << 21, self.iteration])
        inputs, labels = self.task.samples(rng, self.task.batch)
        self.products.begin(self.iteration)
        exponent = self.scale.exponent
        with np.errstate(all="ignore"):  # gradients may overflow; such iterations are skipped
            outputs, propagate = jax.vjp(
                lambda weights: self.task.network.outputs(weights, inputs, self.products), self.weights
            )
            loss, gradient = self.task.loss_and_gradient(outputs, labels)
            (found,) = propagate(np.ldexp(gradient, exponent))
            gradients = {name: np.asarray(found[name]) for name in self.weights}
            largest = max(float(np.abs(g).max()) if np.isfinite(g).all() else math.inf for g in gradients.values())
            if self.scale.update(largest, overflowed=self.products.losses[GRADIENT]["overflows"] > 0):
                self._update({name: np.ldexp(g, -exponent) for name, g in gradients.items()})
            else:
                self.skipped += 1
        self.iteration += 1
        if self.iteration % max(self.run.iterations // REPORTS, 1) == 0 or self.iteration == self.run.iterations:
            point = {"iteration": self.iteration, "loss": float(loss), "scale": exponent, "skipped": self.skipped}
            self.history.append({**point, "lost": self.products.shares()})

    def _update(self, gradients: dict[str, Any]) -> None:
        """Adam, in NumPy: its second moments would be subnormal for the smallest gradients, and JAX's zero."""
        self.updates += 1
        rate = self.task.rate * min(1.0, 4 * (1 - self.iteration / self.run.iterations))  # falls in the last quarter
        first_part, second_part = 1 - FIRST_DECAY**self.updates, 1 - SECOND_DECAY**self.updates
        for name, gradient in gradients.items():
            self.first[name] += np.float32(1 - FIRST_DECAY) * (gradient - self.first[name])
            self.second[name] += np.float32(1 - SECOND_DECAY) * (gradient**2 - self.second[name])
            root = np.sqrt(self.second[name] / np.float32(second_part)) + TINY
            updated = self.weights[name] - np.float32(rate / first_part) * self.first[name] / root
            self.weights[name] = self.products.kept(updated)

    def result(self) -> dict[str, Any]:
        """What is reported of a finished run."""
        self.products.begin(self.run.iterations, trains=False)
        result = {"figures": self._figures(self.products), "history": self.history, "skipped": self.skipped}
        if not self.run.policy.is_quantized:
            rng = np.random.default_rng([self.run.seed, 1 << 22])
            inputs, _ = self.task.samples(rng, SAMPLES)
            kinds = quantized(self.task.network, self.weights, inputs, self.products.threads)
            result["quantized"] = {name: self._figures(products) for name, products in kinds.items()}
        return result

    def _figures(self, products: Products) -> dict[str, float | None]:
        """The task's figures of its tests; None for those that are not finite."""
        inputs, labels = self.task.tests
        with np.errstate(all="ignore"):
            outputs = np.asarray(self.task.network.outputs(self.weights, inputs, products))
            figures = self.task.figures(outputs, labels)
        return {name: value if math.isfinite(value) else None for name, value in figures.items()}

    def state(self) -> bytes:
        """Everything that the next iteration depends on."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        plain |= {"scale": vars(self.scale), "exponents": self.products.exponents}
        arrays = {f"{kind}/{name}": a for kind in _ARRAYS for name, a in getattr(self, kind).items()}
        content = BytesIO()
        np.savez(content, plain=np.array(json.dumps(plain)), **arrays)
        return content.getvalue()

    def restore(self, content: bytes) -> None:
        """Continue from a :meth:`state`."""
        with np.load(BytesIO(content), allow_pickle=False) as state:
            plain = json.loads(str(state["plain"]))
            for kind in _ARRAYS:
                getattr(self, kind).update({name: state[f"{kind}/{name}"] for name in self.weights})
        for name in _PLAIN:
            setattr(self, name, plain[name])
        vars(self.scale).update(plain["scale"])
        self.products.exponents = plain["exponents"]


def train(
    run: Run, key: str, state: bytes | None = None, seconds: float = math.inf, threads: int | None = None
) -> tuple[int, int, bytes]:
    """Train a run from its first or another state until it is finished, or for some seconds; at least one iteration.

    Return the iterations before and after, and the next state, or, after all iterations, the result as JSON, which is
    the same in however many parts a run is trained. ``threads`` are those of :func:`golden.matmul`. A ToolError says
    that ``key`` is not the run's: it comes from another version of the program.
    """
    if run.key() != key:
        raise ToolError("a worker runs another version of the program, of NumPy or of JAX")
    trainer = Trainer(run, threads)
    if state is not None:
        trainer.restore(state)
    before, start = trainer.iteration, time.monotonic()
    while trainer.iteration < run.iterations:
        trainer.step()
        if time.monotonic() - start >= seconds and trainer.iteration < run.iterations:
            return before, trainer.iteration, trainer.state()
    return before, trainer.iteration, json.dumps(trainer.result(), sort_keys=True).encode()


def planned(plan: Plan, seeds: Iterable[int]) -> list[Run]:
    """The runs of a plan: of its policies, each from all seeds."""
    return [Run(plan.task, policy, seed, plan.iterations) for policy in plan.policies for seed in seeds]


def results(
    plans: Sequence[Plan], seeds: Sequence[int], trained: Mapping[Run, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The tasks' part of the file, from the results of all runs."""
    tasks = []
    for plan in plans:
        task = TASKS[plan.task]()
        policies: list[dict[str, Any]] = []
        for policy in plan.policies:
            runs = [trained[run] for run in planned(plan, seeds) if run.policy == policy]
            policies.append({**recorded(policy), **_condensed(runs)})
            for kind, name in AFTER.items():
                if not policy.is_quantized:
                    afterwards = [{"figures": run["quantized"][kind], "history": [], "skipped": 0} for run in runs]
                    policies.append({"name": name, **_condensed(afterwards)})
        facts = {"iterations": plan.iterations, "batch": task.batch, "data": task.digest}
        facts["parameters"] = sum(array.size for array in task.network.weights(np.random.default_rng(0)).values())
        tasks.append({"task": plan.task, **facts, "policies": policies})
    return tasks


def _condensed(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of all seeds, and the history of the first."""
    return {
        "figures": [_rounded(run["figures"]) for run in runs],
        "skipped": [run["skipped"] for run in runs],
        "history": _rounded(runs[0]["history"]),
    }


def _rounded(data: Any) -> Any:
    """Plain data with fewer digits; numbers that are not finite become None."""
    return json.loads(
        json.dumps(data), parse_float=lambda text: float(f"{float(text):.{DIGITS}g}"), parse_constant=lambda _: None
    )
