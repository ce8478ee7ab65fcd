"""From a block to its evidence: map its Verilog to gates, then check all inputs by evaluation or by a proof, in parts.

Finished parts are counted and saved every few seconds, and an interrupted check resumes.
"""

import hashlib
import multiprocessing
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any, TypeVar

import numpy as np

from hwgen.blocks.block import LFSR, Design
from hwgen.blocks.pe import Pe
from hwgen.datapath.random import Random
from hwgen.reference import reference
from hwgen.reference.reference import ClockedReference
from hwgen.tools import yosys
from hwgen.tools.ahead import completed
from synth.area.digest import sha256
from synth.area.jobs import mapped_netlist
from synth.area.liberty import Library
from synth.proof import mapping
from synth.proof.bitslice import Batch, Evaluator, Mismatch, evaluator_version
from synth.proof.cases import Sweep, input_sweep, is_enumerated
from synth.proof.choose import proof
from synth.proof.evidence import (
    DIFFERENT,
    EMITTED,
    EQUAL,
    INCOMPLETE,
    PROVED,
    SWEPT,
    UNPROVED,
    Evidence,
    EvidenceStore,
    program_hashes,
)
from synth.proof.gates import Netlist, NotShownError, arrange
from synth.proof.linear import check_register
from synth.proof.solver import Pins, Proof
from synth.proof.unroll import parse_fed, parse_register, parse_step, random_names

STIMULI = 2000
"""Cases in which the gates are compared with the reference model, besides the proof."""

SEARCHED = 200_000
"""Cases among which a counterexample is looked for, where the proof does not go through."""

SHOWN = 5
"""Largest number of counterexamples in the evidence of an evaluation."""

COMPILE_FROM = 1 << 22
"""Number of cases from which compiling a netlist saves time."""

SAVE_EVERY = 2.0
"""Seconds between two saves of the evidence."""

Result = TypeVar("Result")
Save = Callable[[Evidence], None]
Counterexamples = list[dict[str, Any]]
Report = Callable[[Evidence], None]
"""Called at the start and every few seconds with the record so far."""


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


@dataclass(frozen=True)
class Subject:
    """A module to be checked."""

    design: Design  # the block that the module should be
    verilog: str
    top: str
    source: str | None  # name of the user's file; None for a module that ``hwgen generate`` writes
    libraries: tuple[Library, ...]  # whose cells the module is mapped to; empty for simple gates
    command: str  # repeats the check
    place: str = ""  # see :class:`Evidence`; a user's file without one gets that of its name
    placed: tuple[str, int] | None = None
    """Recipe and seed that map the module to the libraries: see :func:`synth.area.jobs.mapped_netlist`."""

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
        module, libraries, pipeline = (self.verilog, self.top), self.libraries, self.design.pipeline
        core, system_verilog, has_cells = self.design.core, self.is_system_verilog, self.has_cells
        model = reference(self.design)
        inputs = model.arguments
        if isinstance(model, ClockedReference):
            text, rows = mapping.with_adders(*module, system_verilog), isinstance(core, Pe) and core.carry_save
            shape = core.stages, core.interleave, rows, model.register, model.follows
            netlist = parse_step(text, self.top, *shape)
            if rows:  # two rows with one bit more than the value, and sticky bits
                inputs = {**inputs, "acc_in": 2 * (inputs["acc_in"] - 2) + 3, "enable": 1}
        elif isinstance(core, Random):
            netlist = parse_register(mapping.with_adders(*module, system_verilog), self.top, core, True)
        elif self.design.source is not None:
            netlist = self._fed(self.design.source)
        elif self._keeps_adders:
            free = not isinstance(self.prover, str) and self.prover.has_free
            netlist = mapping.read_adders(*module, system_verilog, pipeline, free)
        elif self.placed is not None:
            netlist = mapping.read_cells(self.cells, self.top, libraries, pipeline=pipeline)
        elif libraries:
            read = mapping.read_cells if has_cells else mapping.read_mapped
            netlist = read(*module, libraries, system_verilog, pipeline)
        else:
            netlist = mapping.read(*module, system_verilog, pipeline)
        return arrange(netlist, inputs, model.results, model.made_of)

    def _fed(self, source: Random) -> Netlist:
        """The gates with the words of a register as inputs; a NetlistError if the register makes others."""
        text = mapping.with_adders(self.verilog, self.top, self.is_system_verilog)
        check_register(source, parse_register(text, self.top, source))
        cuts, adders = random_names(text, self.top, source), self._keeps_adders
        free = adders and not isinstance(self.prover, str) and self.prover.has_free
        text = mapping.with_cuts(self.verilog, self.top, self.is_system_verilog, cuts, adders=adders)
        return parse_fed(text, self.top, source, free)

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
        if self.libraries and self.design.source is not None:
            return "", "the register's words have no names among a library's cells"
        kind, method = self._method()
        is_fed = kind and self.design.generator.random == LFSR
        return kind, f"{method}; the register, by linearity for all states" if is_fed else method

    def _method(self) -> tuple[str, str]:
        if is_enumerated(self.design):
            return SWEPT, "every input, evaluated on the gates"
        prover = self.prover
        if isinstance(prover, str):
            return "", prover
        if self.libraries and (prover.keeps_adders or self.design.block.clocked):
            return "", "there are too many inputs to enumerate, and the proof needs full adders, not a library's cells"
        return PROVED, prover.method

    def evidence(self, kind: str = "", method: str = "") -> Evidence:
        """A new record without any checked inputs."""
        formats = sha256(*(hashlib.sha256(fmt.values.tobytes()).hexdigest() + str(fmt) for fmt in self.design.formats))
        prover = "" if kind != PROVED or isinstance(self.prover, str) else self.prover.__module__
        hashes = {"verilog": sha256(self.verilog), "formats": formats, **program_hashes(self.source is None, prover)}
        if self.libraries:
            hashes["libraries"] = sha256(*(library.text for library in self.libraries))
        if self.placed is not None:
            hashes["cells"] = sha256(self.cells)
        names = [library.name for library in self.libraries]
        inputs = 1 << sum(reference(self.design).arguments.values())
        arguments = self.top, self.command, self.source or EMITTED, names, kind, method, inputs, hashes, tools(kind)
        return Evidence(*arguments, prover=prover, place=self.place)


def tools(kind: str) -> dict[str, str]:
    """Versions of the tools that a verdict of this kind rests on."""
    names = {"yosys": yosys.version(), "numpy": np.__version__, "python": platform.python_version()}
    names |= {"bitwuzla": version("bitwuzla")} if kind == PROVED else {"compiler": evaluator_version()}
    return names | {"amaranth": version("amaranth")}


def is_current(record: Evidence) -> bool:
    """Whether a record was made by this version of the program, with the tools of this machine.

    Its module is then the one that this program writes, or the user's file.
    """
    try:
        hashes = program_hashes(record.is_emitted, record.prover)
    except FileNotFoundError:  # of a version with another module
        return False
    return record.hashes.items() >= hashes.items() and record.tools == tools(record.kind)


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
    ``workers`` is one per core; 0 starts no processes. An IncompleteError or KeyboardInterrupt interrupts the check.
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
            evaluate(design, netlist, sweep, evidence, save, workers)
        elif isinstance(prover, str) or not evidence.kind:
            evidence.verdict = UNPROVED
        else:
            prove(prover, subject, netlist, evidence, save, workers)
    finally:
        save(evidence)
    return evidence


def evaluate(
    design: Design, netlist: Netlist, sweep: Sweep, evidence: Evidence, save: Save, workers: int | None = None
) -> None:
    """Evaluate all inputs and complete the evidence; parts that it has as done are skipped.

    It is an error if the chunks of the sweep do not contain every value of the held bits exactly once.
    """
    nets, running = netlist.input_nets(sweep.running_port)[: sweep.running_bits], sweep.running
    code = Evaluator(netlist, nets, compiled=sweep.cases >= COMPILE_FROM)
    groups = [sweep.groups(chunk) for chunk in range(sweep.chunks)]
    counts = np.bincount(np.concatenate(groups).astype(np.int64), minlength=sweep.cases >> sweep.running_bits)
    require(bool((counts == 1).all()), "the groups do not contain every value of the held bits exactly once")
    check = Check(evidence, [len(held) << sweep.running_bits for held in groups], save)

    def work(chunk: int) -> int | tuple[Batch, Mismatch]:
        count = 0
        for batch in sweep.batches(chunk):
            if check.stopping.is_set():
                break
            mismatch = code.compare(batch.groups, running, batch.expected)
            if mismatch:
                return batch, mismatch
            count += len(batch.groups)
        return count

    def judge(chunk: int, result: int | tuple[Batch, Mismatch]) -> Counterexamples:
        if isinstance(result, tuple):
            batch, mismatch = result
            cases = code.differing(batch, running, mismatch)[:SHOWN]
            require(bool(cases), f"compiled and evaluated gates differ in chunk {chunk}")
            return [counterexample(design, pins, netlist.evaluate(pins)) for pins in cases]
        size = len(groups[chunk])
        require(result == size, f"{result} of the {size} groups in chunk {chunk} were evaluated")
        return []

    with ThreadPoolExecutor(workers or os.cpu_count()) as executor:
        check.run(executor, work, judge)


def prove(
    prover: type[Proof], subject: Subject, netlist: Netlist, evidence: Evidence, save: Save, workers: int | None = None
) -> None:
    """Prove all parts and complete the evidence; parts that it has as done are skipped."""
    executor: Executor = ThreadPoolExecutor(1)

    def judge(_: int, pins: Pins | None) -> Counterexamples:
        """Evaluate the solver's counterexample: gates and reference model must differ there."""
        if pins is None:
            return []
        case = counterexample(subject.design, pins, netlist.evaluate(pins))
        problem = f"the proof's specification and the reference model differ: {case['sentence']}"
        require(case["got"] != case["golden"], problem)
        return [case]

    try:
        found = prover(subject.design, netlist)
        check = Check(evidence, [claim.cases for claim in found.claims], save)
        if prover.quick or workers == 0:
            check.run(executor, lambda part: found.claims[part].search(), judge)
        else:
            executor = processes(workers, (prover, subject.design, netlist))
            check.run(executor, _prove, judge)
        if evidence.verdict == EQUAL:  # a check of the proof itself
            case = _difference(subject, netlist, STIMULI)
            require(case is None, f"the proof calls a module equal that is not: {case and case['sentence']}")
    except NotShownError as problem:
        _refute(subject, netlist, evidence, problem)
    finally:
        for process in multiprocessing.active_children():
            process.terminate()
        executor.shutdown(wait=True, cancel_futures=True)


def counterexample(design: Design, pins: Pins, got: Pins) -> dict[str, Any]:
    """The record of a case that differs: hexadecimal port values, and a sentence."""
    model = reference(design)
    answer = model.answer(pins)
    columns = {"inputs": pins, "got": got, "golden": answer}
    digits = {name: {port: f"{value:#x}" for port, value in values.items()} for name, values in columns.items()}
    ins, outs, right = (", ".join(map(" ".join, values.items())) for values in digits.values())
    return {**digits, "sentence": f"{ins}: {outs}, expected {right} ({model.explain(pins, got, answer)})"}


def _refute(subject: Subject, netlist: Netlist, evidence: Evidence, problem: NotShownError) -> None:
    """Look for a counterexample among a proof's suspects and the reference model's stimuli; else it is unproved."""
    case = _difference(subject, netlist, SEARCHED, problem.cases)
    if case is not None:
        evidence.verdict, evidence.counterexamples = DIFFERENT, [case]
        return
    evidence.verdict, evidence.kind = UNPROVED, ""
    evidence.method = f"there are too many inputs to enumerate, and the proof does not go through: {problem}"


def _difference(subject: Subject, netlist: Netlist, count: int, suspects: Sequence[Pins] = ()) -> dict[str, Any] | None:
    """The first case, of suspects and ``count`` stimuli of the reference model, in which gates and model differ."""
    model, rng = reference(subject.design), np.random.default_rng(list(subject.top.encode()))
    known = [{name: pins[name] for name in model.arguments} for pins in suspects]  # a step also has enable
    for cases in filter(None, (known, model.near_stimuli(count, rng))):
        for pins, got, right in zip(cases, netlist.answers(cases), model.answers(cases), strict=True):
            if got != right:
                return counterexample(subject.design, pins, got)
    return None


Work = tuple[type[Proof], Design, Netlist]


def processes(workers: int | None, *proofs: Work) -> ProcessPoolExecutor:
    """Processes that check modules, or parts of a claim; threads would not, as the solver holds Python's lock.

    They are forks of a server that has imported this module once: importing takes longer than many proofs.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return ProcessPoolExecutor(workers or os.cpu_count(), context, initializer=_start, initargs=proofs)


_proofs: list[Proof] = []
"""The proof that this worker process works on, if its work is parts of one."""


def _start(*proofs: Work) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent reports an interrupt and ends its processes
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _proofs[:] = [prover(design, netlist) for prover, design, netlist in proofs]


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _prove(part: int) -> Pins | None:
    return _proofs[0].claims[part].search()
