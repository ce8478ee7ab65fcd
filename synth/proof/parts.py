"""A check of all inputs, part by part: counted, noted every few seconds, and resumed where a run was broken off."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor
from typing import Any, TypeVar

from hwgen.tools.ahead import completed
from synth.proof.evidence import DIFFERENT, EQUAL, Evidence

SAVE_EVERY = 2.0
"""Seconds between two notes of what is done."""

Result = TypeVar("Result")
Save = Callable[[Evidence], None]
Counterexamples = list[dict[str, Any]]


class IncompleteError(RuntimeError):
    """A check that was broken off; its evidence says what is done."""


def require(condition: bool, sentence: str) -> None:
    """What a verdict rests on; unlike an assertion, under every option of Python."""
    if not condition:
        raise RuntimeError(sentence)


class Check:
    """The parts that all inputs are divided into, and the only code that changes a record of them.

    Parameters
    ----------
    evidence : Evidence
        Parts that it names as done are not done again.
    cases : sequence of int
        How many inputs each part has.
    save : callable
        Notes the record.

    Attributes
    ----------
    stopping : threading.Event
        Set once no more results are wanted, so that workers can give up.
    """

    def __init__(self, evidence: Evidence, cases: Sequence[int], save: Save):
        self.stopping = threading.Event()
        self._evidence, self._cases, self._save = evidence, cases, save
        evidence.done = [part for part in evidence.done if part < len(cases)]
        evidence.cases = sum(cases[part] for part in evidence.done)

    def run(
        self, executor: Executor, work: Callable[[int], Result], judge: Callable[[int, Result], Counterexamples]
    ) -> None:
        """Do what is left and reach the verdict: ``judge(part, work(part))`` names cases of the part that differ from
        golden, if any.

        Raises
        ------
        IncompleteError
            When a worker is lost.
        """
        evidence, before, start = self._evidence, self._evidence.seconds, time.monotonic()
        todo = sorted(set(range(len(self._cases))) - set(evidence.done))
        noted = start
        try:
            for part, future in completed(todo, lambda part: executor.submit(work, part), 2 * (os.cpu_count() or 1)):
                evidence.counterexamples = judge(part, future.result())
                evidence.seconds = before + time.monotonic() - start
                if evidence.counterexamples:
                    evidence.verdict = DIFFERENT
                    return
                evidence.done.append(part)
                evidence.cases += self._cases[part]
                if time.monotonic() - noted > SAVE_EVERY:
                    self._save(evidence)
                    noted = time.monotonic()
        except BrokenExecutor as error:
            raise IncompleteError(f"a worker was lost: {error}") from error
        finally:
            self.stopping.set()
        require(evidence.cases == evidence.inputs, f"{evidence.cases} of {evidence.inputs} cases were checked")
        evidence.verdict = EQUAL
