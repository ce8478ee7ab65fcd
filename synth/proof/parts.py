"""A check of all inputs in parts: they are counted and saved every few seconds, and an interrupted check resumes."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor
from typing import Any, TypeVar

from hwgen.tools.ahead import completed
from synth.proof.evidence import DIFFERENT, EQUAL, Evidence

SAVE_EVERY = 2.0
"""Seconds between two saves of the evidence."""

Result = TypeVar("Result")
Save = Callable[[Evidence], None]
Counterexamples = list[dict[str, Any]]


class IncompleteError(RuntimeError):
    """The check was interrupted; its evidence has the finished parts."""


def require(condition: bool, sentence: str) -> None:
    """Raise a RuntimeError unless the condition is true; unlike an assertion also under ``python -O``."""
    if not condition:
        raise RuntimeError(sentence)


class Check:
    """The inputs of a block in parts, with their numbers of inputs; only this class changes the record of a check.

    Parts that the record has as finished are not checked again. ``stopping`` is set when no more results are needed, so
    that workers can stop.
    """

    def __init__(self, evidence: Evidence, cases: Sequence[int], save: Save):
        self.stopping = threading.Event()
        self._evidence, self._cases, self._save = evidence, cases, save
        evidence.done = [part for part in evidence.done if part < len(cases) > 1]
        evidence.cases = sum(cases[part] for part in evidence.done)

    def run(
        self, executor: Executor, work: Callable[[int], Result], judge: Callable[[int, Result], Counterexamples]
    ) -> None:
        """Check the remaining parts and set the verdict; ``judge(part, work(part))`` returns counterexamples.
        A lost worker is an IncompleteError.
        """
        evidence, before, start = self._evidence, self._evidence.seconds, time.monotonic()
        todo = sorted(set(range(len(self._cases))) - set(evidence.done))
        saved = start
        try:
            for part, future in completed(todo, lambda part: executor.submit(work, part), 2 * (os.cpu_count() or 1)):
                evidence.counterexamples = judge(part, future.result())
                evidence.seconds = before + time.monotonic() - start
                if evidence.counterexamples:
                    evidence.verdict = DIFFERENT
                    return
                evidence.done.append(part)
                evidence.cases += self._cases[part]
                if time.monotonic() - saved > SAVE_EVERY:
                    self._save(evidence)
                    saved = time.monotonic()
        except BrokenExecutor as error:
            raise IncompleteError(f"a worker was lost: {error}") from error
        finally:
            self.stopping.set()
        require(evidence.cases == evidence.inputs, f"{evidence.cases} of {evidence.inputs} cases were checked")
        evidence.verdict = EQUAL
