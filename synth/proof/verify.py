"""From a block to its evidence: map its Verilog to gates, then check all inputs by evaluation or by a proof."""

import hashlib
import multiprocessing
import os
import platform
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property
from importlib.metadata import version

import numpy as np

from hwgen.blocks.block import Design
from hwgen.blocks.pe import Pe
from hwgen.reference import reference
from hwgen.reference.sums import SumReference
from hwgen.tools import yosys
from synth.area.digest import sha256
from synth.area.jobs import mapped_netlist
from synth.area.liberty import Library
from synth.proof import exhaustive
from synth.proof.bitslice import evaluator_version
from synth.proof.cases import input_sweep, is_enumerated
from synth.proof.choose import proof
from synth.proof.evidence import (
    DIFFERENT,
    EMITTED,
    INCOMPLETE,
    PROVED,
    SWEPT,
    UNPROVED,
    Evidence,
    EvidenceStore,
    program_hashes,
)
from synth.proof.gates import Netlist, NotShownError, arrange
from synth.proof.mapping import read, read_adders, read_cells, read_mapped, read_rows, read_step
from synth.proof.parts import Check, Counterexamples, Save, require
from synth.proof.solver import Proof
from synth.proof.twofold import RowsNetlist

STIMULI = 2000
"""Cases in which a module that is not proved is compared with the reference model."""

Report = Callable[[Evidence], None]
"""Called at the start and every few seconds with the record so far."""


@dataclass(frozen=True)
class Subject:
    """A module to be checked.

    Attributes
    ----------
    design : Design
        The block that the module should be.
    verilog, top : str
    source : str or None
        Name of the user's file; None for a module that ``hwgen generate`` writes.
    libraries : tuple of Library
        Libraries whose cells the module is mapped to; empty for simple gates.
    command : str
        Command that repeats the check.
    place : str
        See :class:`Evidence`; a user's file without one gets that of its name.
    placed : (str, int), optional
        Recipe and seed that map the module to the libraries: see :func:`synth.area.jobs.mapped_netlist`.
    """

    design: Design
    verilog: str
    top: str
    source: str | None
    libraries: tuple[Library, ...]
    command: str
    place: str = ""
    placed: tuple[str, int] | None = None

    def __post_init__(self) -> None:
        if self.source is not None and not self.place:
            object.__setattr__(self, "place", sha256(self.source, self.design.command())[:8])

    @property
    def is_system_verilog(self) -> bool:
        """Whether the file is SystemVerilog, by its name."""
        return self.source is not None and self.source.endswith(".sv")

    @cached_property
    def has_cells(self) -> bool:
        """Whether the module uses cells of the libraries: no emitted one does."""
        return False

    @cached_property
    def cells(self) -> str:
        """The mapped netlist of a ``placed`` module, as Verilog."""
        assert self.placed is not None
        return mapped_netlist(self.verilog, self.top, self.libraries, *self.placed)

    def netlist(self) -> Netlist:
        """The gates of the module, with the ports of the reference model."""
        top, libraries, pipeline = self.top, self.libraries, self.design.pipeline
        has_cells, system_verilog = self.has_cells, self.is_system_verilog
        core = self.design.core
        if isinstance(core, Pe) and core.carry_save:
            return self._rows(core)
        if isinstance(core, Pe):
            netlist = read_step(self.verilog, top, system_verilog, core.stages, core.interleave)
        elif self._keeps_adders:
            netlist = read_adders(self.verilog, top, system_verilog, pipeline)
        elif self.placed is not None:
            netlist = read_cells(self.cells, top, libraries, pipeline=pipeline)
        elif has_cells:
            netlist = read_cells(self.verilog, top, libraries, system_verilog, pipeline)
        elif libraries:
            netlist = read_mapped(self.verilog, top, libraries, system_verilog, pipeline)
        else:
            netlist = read(self.verilog, top, system_verilog, pipeline)
        model = reference(self.design)
        return arrange(netlist, model.arguments, model.results, model.made_of)

    def _rows(self, core: Pe) -> RowsNetlist:
        step, now = read_rows(self.verilog, self.top, self.is_system_verilog, core.stages, core.interleave)
        model = reference(self.design)
        state = 2 * (model.arguments["acc_in"] - 2) + 3  # two rows with one bit more than the value, and sticky bits
        inputs = {**model.arguments, "acc_in": state, "enable": 1}
        step = arrange(step, inputs, model.results, model.made_of)
        return RowsNetlist(*(getattr(step, field.name) for field in fields(Netlist)), now=now)

    @property
    def prover(self) -> type[Proof] | str:
        """See :func:`synth.proof.choose.proof`."""
        return proof(self.design, self.source is None and not self.libraries)

    @property
    def _keeps_adders(self) -> bool:
        prover = self.prover
        return not is_enumerated(self.design) and not isinstance(prover, str) and prover.keeps_adders

    def method(self) -> tuple[str, str]:
        """Kind and description of the method that covers all inputs; or no kind, and the reason."""
        if is_enumerated(self.design):
            return SWEPT, "every input, evaluated on the gates"
        prover = self.prover
        if isinstance(prover, str):
            return "", prover
        if self.libraries and (prover.keeps_adders or isinstance(self.design.core, Pe)):
            return "", "there are too many inputs to enumerate, and the proof needs full adders, not a library's cells"
        return PROVED, prover.method

    def evidence(self, kind: str = "", method: str = "") -> Evidence:
        """A new record without any checked inputs."""
        formats = sha256(*(hashlib.sha256(fmt.values.tobytes()).hexdigest() + str(fmt) for fmt in self.design.formats))
        hashes = {"verilog": sha256(self.verilog), "formats": formats, **program_hashes(self.source is None)}
        if self.libraries:
            hashes["libraries"] = sha256(*(library.text for library in self.libraries))
        if self.placed is not None:
            hashes["cells"] = sha256(self.cells)
        return Evidence(
            module=self.top,
            command=self.command,
            source=self.source or EMITTED,
            libraries=[library.name for library in self.libraries],
            kind=kind,
            method=method,
            inputs=1 << sum(reference(self.design).arguments.values()),
            hashes=hashes,
            tools=tools(kind),
            place=self.place,
        )


def tools(kind: str) -> dict[str, str]:
    """Versions of the tools that a verdict of this kind rests on."""
    names = {"yosys": yosys.version(), "numpy": np.__version__, "python": platform.python_version()}
    names |= {"bitwuzla": version("bitwuzla")} if kind == PROVED else {"compiler": evaluator_version()}
    return names | {"amaranth": version("amaranth")}


def is_current(record: Evidence) -> bool:
    """Whether a record was made by this version of the program, with the tools of this machine.

    Its module is then the one that this program writes, or the user's file.
    """
    return record.hashes.items() >= program_hashes(record.is_emitted).items() and record.tools == tools(record.kind)


def emitted(
    design: Design, libraries: Sequence[Library] = (), words: str = "", placed: tuple[str, int] | None = None
) -> Subject:
    """The module that ``hwgen generate`` writes; ``words`` are options to add to its command."""
    command = f"hwgen verify {design.command()}{words}"
    return Subject(design, design.verilog(), design.name, None, tuple(libraries), command, placed=placed)


def begin(subject: Subject, store: EvidenceStore | None = None) -> Evidence:
    """The record to start or resume a check with.

    It comes from the store if that has one of the same Verilog, reference model, method and tools; else it is new.
    """
    evidence = subject.evidence(*subject.method())
    earlier = store.load(evidence.name) if store else None
    return earlier if earlier is not None and evidence.continues(earlier) else evidence


def verify(
    subject: Subject,
    netlist: Netlist,
    store: EvidenceStore | None = None,
    workers: int | None = None,
    report: Report | None = None,
) -> Evidence:
    """Check a module with the gates ``netlist`` on all its inputs against the reference model.

    The store keeps the evidence; if it has an incomplete record, only the remaining inputs are checked. The default for
    ``workers`` is one per core; 0 starts no processes.

    Raises
    ------
    IncompleteError, KeyboardInterrupt
        If the check is interrupted; the store has the finished parts.
    """
    design = subject.design
    evidence = begin(subject, store)
    if evidence.verdict != INCOMPLETE:  # the user asks to check it again
        evidence = subject.evidence(*subject.method())
    sweep, prover = input_sweep(design), subject.prover

    def save(record: Evidence) -> None:
        if store:
            store.save(record)
        if report:
            report(record)

    try:
        if report:
            report(evidence)
        if sweep is not None:
            exhaustive.run(design, netlist, sweep, evidence, save, workers)
        elif isinstance(prover, str) or not evidence.kind:
            evidence.verdict = UNPROVED
        else:
            prove(prover, subject, netlist, evidence, save, workers)
    finally:
        save(evidence)
    return evidence


def prove(
    prover: type[Proof], subject: Subject, netlist: Netlist, evidence: Evidence, save: Save, workers: int | None = None
) -> None:
    """Prove all parts and complete the evidence; parts that it has as done are skipped."""
    try:
        claim = prover(subject.design, netlist)
    except NotShownError as problem:
        _refute(subject, netlist, evidence, problem)
        return
    executor: Executor
    if prover.quick or workers == 0:
        executor, work = ThreadPoolExecutor(1), claim.prove
    else:
        executor, work = processes(workers, (prover, subject.design, netlist)), _prove

    def judge(_: int, pins: dict[str, int] | None) -> Counterexamples:
        """Evaluate the solver's counterexample: gates and reference model must differ there."""
        if pins is None:
            return []
        case = exhaustive.counterexample(subject.design, pins, netlist.evaluate(pins))
        require(
            case["got"] != case["golden"],
            f"the proof's specification and the reference model differ: {case['sentence']}",
        )
        return [case]

    try:
        Check(evidence, [claim.cases(part) for part in range(claim.parts)], save).run(executor, work, judge)
    except NotShownError as problem:
        _refute(subject, netlist, evidence, problem)
    finally:
        for process in multiprocessing.active_children():
            process.terminate()
        executor.shutdown(wait=True, cancel_futures=True)


def _refute(subject: Subject, netlist: Netlist, evidence: Evidence, problem: NotShownError) -> None:
    """Look for a counterexample among a proof's suspects and the reference model's stimuli; else it is unproved."""
    rng = np.random.default_rng(list(subject.top.encode()))
    model = reference(subject.design)
    stimuli = model.near_stimuli(STIMULI, rng) if isinstance(model, SumReference) else ()
    suspects = [{name: pins[name] for name in model.arguments} for pins in problem.cases]  # a step also has enable
    for cases in filter(None, (suspects, stimuli)):
        for pins, got, right in zip(cases, netlist.answers(cases), model.answers(cases), strict=True):
            if got != right:
                case = exhaustive.counterexample(subject.design, pins, got)
                evidence.verdict, evidence.counterexamples = DIFFERENT, [case]
                return
    evidence.verdict, evidence.kind = UNPROVED, ""
    evidence.method = f"there are too many inputs to enumerate, and the proof does not go through: {problem}"


Claim = tuple[type[Proof], Design, Netlist]


def processes(workers: int | None, *claims: Claim) -> ProcessPoolExecutor:
    """Processes that check modules, or parts of a claim; threads would not, as the solver holds Python's lock.

    They are forks of a server that has imported this module once: importing takes longer than many proofs.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return ProcessPoolExecutor(workers or os.cpu_count(), context, initializer=_start, initargs=claims)


_claims: list[Proof] = []
"""The proof that this worker process works on, if its work is parts of one."""


def _start(*claims: Claim) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent reports an interrupt and ends its processes
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _claims[:] = [prover(design, netlist) for prover, design, netlist in claims]


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _prove(part: int) -> dict[str, int] | None:
    return _claims[0].prove(part)
