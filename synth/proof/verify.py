"""From a block to its evidence: emit or take its Verilog, map it to gates, and reach all its inputs by a sweep or by a proof."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version

from hwgen.blocks.design import Design
from synth.area.digest import sha256
from synth.area.jobs import mapped_netlist
from synth.area.liberty import Library
from synth.proof import exhaustive as sweep
from synth.proof.bitslice import compiler_version
from synth.proof.cases import is_enumerated
from synth.proof.cases import sweep as sweep_of
from synth.proof.choose import proof
from synth.proof.evidence import (
    DIFFERENT,
    EMITTED,
    EQUAL,
    INCOMPLETE,
    UNPROVED,
    Evidence,
    Store,
    formats_hash,
    program_hashes,
    tools,
)
from synth.proof.gates import Netlist, arrange
from synth.proof.mapping import check, read, read_cells, read_mapped
from synth.proof.questions import made_of, pipeline, ports
from synth.proof.solver import Proof

Report = Callable[[Evidence], None]
"""Called every few seconds with what is known so far."""


@dataclass(frozen=True)
class Subject:
    """A module to be checked.

    Attributes
    ----------
    design : Design
        The block that it claims to be.
    verilog, top : str
    source : str
        :data:`EMITTED`, or a file's name.
    libraries : tuple of Library
        Whose cells it is mapped to; none for simple gates.
    command : str
        That checks it again.
    place : str
        See :class:`Evidence`.
    placed : (str, int), optional
        Recipe and renaming by which it is mapped to the libraries: see :func:`synth.area.jobs.mapped_netlist`.
    """

    design: Design
    verilog: str
    top: str
    source: str
    libraries: tuple[Library, ...]
    command: str
    place: str = ""
    placed: tuple[str, int] | None = None

    @cached_property
    def cells(self) -> str:
        """Its netlist of cells, where it is ``placed``."""
        assert self.placed is not None
        return mapped_netlist(self.verilog, self.top, self.libraries, *self.placed)

    def netlist(self) -> Netlist:
        """Its gates."""
        system_verilog = self.source.endswith(".sv")
        pipelined = pipeline(self.design)
        if self.placed is not None:
            return arrange(read_cells(self.cells, self.top, self.libraries, pipeline=pipelined), *ports(self.design), made_of(self.design))
        is_netlist = self.source != EMITTED and check(self.verilog, self.top, system_verilog, pipelined is not None, self.libraries)
        if is_netlist:
            found = read_cells(self.verilog, self.top, self.libraries, system_verilog, pipelined)
        elif self.libraries:
            found = read_mapped(self.verilog, self.top, self.libraries, system_verilog, pipelined)
        else:
            found = read(self.verilog, self.top, system_verilog, pipelined)
        return arrange(found, *ports(self.design), made_of(self.design))

    def evidence(self, method: str) -> Evidence:
        """A record that knows nothing yet."""
        hashes = {"verilog": sha256(self.verilog), "formats": formats_hash(self.design.formats), **program_hashes()}
        if self.libraries:
            hashes["libraries"] = sha256(*(library.text for library in self.libraries))
        if self.placed is not None:
            hashes["cells"] = sha256(self.cells)
        extra = {"bitwuzla": version("bitwuzla")} if method.startswith("proof") else {"compiler": compiler_version()}
        return Evidence(
            module=self.top, command=self.command, source=self.source, libraries=[library.name for library in self.libraries],
            method=method, inputs=1 << sum(ports(self.design)[0].values()), hashes=hashes, tools={**tools(), **extra}, place=self.place,
        )  # fmt: skip


def emitted(design: Design, libraries: Sequence[Library] = (), words: str = "", placed: tuple[str, int] | None = None) -> Subject:
    """The module that ``hwgen generate`` writes."""
    command = f"hwgen verify {design.command()}{words}"
    return Subject(design, design.verilog(), design.name, EMITTED, tuple(libraries), command, placed=placed)


def begin(subject: Subject, store: Store | None = None) -> Evidence:
    """What is known of a module before it is checked: in the store, or nothing.

    The store's record counts where it is of the same Verilog, golden model, method and tools; an incomplete one is gone on with.
    """
    evidence = subject.evidence(_method(subject.design))
    earlier = store.load(evidence.name) if store else None
    return earlier if earlier is not None and evidence.continues(earlier) else evidence


def _method(design: Design) -> str:
    if is_enumerated(design):
        return "every input, evaluated on the gates"
    prover = proof(design)
    return prover if isinstance(prover, str) else prover.method


def verify(
    subject: Subject, netlist: Netlist, store: Store | None = None, workers: int | None = None, report: Report | None = None
) -> Evidence:
    """Check a module against golden on all its inputs; where the store holds an incomplete record, on those that are left.

    Parameters
    ----------
    netlist : Netlist
        The subject's gates.
    store : Store, optional
        Keeps the evidence.
    workers : int, optional
        Default: one per core.
    report : callable, optional
        Told of progress.

    Raises
    ------
    IncompleteError, KeyboardInterrupt
        When the check is broken off; the store knows what is done.
    """
    design = subject.design
    evidence = begin(subject, store)
    if evidence.verdict != INCOMPLETE:  # it is asked for again
        evidence = subject.evidence(_method(design))
    question, prover = sweep_of(design), proof(design)

    def save(found: Evidence) -> None:
        if store:
            store.save(found)
        if report:
            report(found)

    try:
        if question is not None:
            sweep.run(design, netlist, question, evidence, save, workers)
        elif isinstance(prover, str):
            evidence.verdict = UNPROVED
        else:
            prove(prover, subject, netlist, evidence, save, workers)
    finally:
        save(evidence)
    return evidence


def prove(
    prover: type[Proof], subject: Subject, netlist: Netlist, evidence: Evidence, save: sweep.Save, workers: int | None = None
) -> None:
    """Prove every part and complete the evidence; parts that it names as done are not proved again."""
    design = subject.design
    claim = prover(design, netlist)
    evidence.done = [part for part in evidence.done if part < claim.parts]
    evidence.cases = sum(claim.cases(part) for part in evidence.done)
    todo = [part for part in range(claim.parts) if part not in set(evidence.done)]
    executor: Executor
    if prover.quick:
        executor, work = ThreadPoolExecutor(1), claim.prove
    else:
        context = multiprocessing.get_context("spawn")  # the solver keeps Python's lock, so that threads would wait for each other
        initial = (prover, design, netlist)
        executor, work = ProcessPoolExecutor(workers or os.cpu_count(), context, initializer=_start, initargs=initial), _prove
    try:
        _submit_quietly(executor)
        for part, found in sweep.complete(work, todo, executor, evidence, save, threading.Event()):
            if found is not None:
                evidence.counterexamples = [_confirmed(subject, netlist, found)]
                evidence.verdict = DIFFERENT
                return
            evidence.done.append(part)
            evidence.cases += claim.cases(part)
    finally:
        for process in multiprocessing.active_children():
            process.terminate()
        executor.shutdown(wait=True, cancel_futures=True)
    sweep.require(evidence.cases == evidence.inputs, f"{evidence.cases} of {evidence.inputs} cases were proved")
    evidence.verdict = EQUAL


_claim: list[Proof] = []
"""In a worker process: the proof that it works on."""


def _start(prover: type[Proof], design: Design, netlist: Netlist) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _claim[:] = [prover(design, netlist)]


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _submit_quietly(executor: Executor) -> None:
    """Start the workers so that an interrupt does not reach them: it is the parent's to report, and to end them."""
    if isinstance(executor, ProcessPoolExecutor) and threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            executor.submit(os.getpid)
        finally:
            signal.signal(signal.SIGINT, before)


def _prove(part: int) -> dict[str, int] | None:
    return _claim[0].prove(part)


def _confirmed(subject: Subject, netlist: Netlist, pins: dict[str, int]) -> dict[str, object]:
    """A solver's counterexample, evaluated: the gates and golden must differ there."""
    case = sweep.counterexample(subject.design, pins, netlist.evaluate(pins))
    sweep.require(case["got"] != case["golden"], f"the proof's specification and golden differ: {case['sentence']}")
    return case
