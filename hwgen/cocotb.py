"""cocotb models of the blocks, for the benches of designs that contain them; and new vectors for the bundle's tests.

Each model drives, monitors and checks one instance of a block ::

    model = MacModel(dut.core.mac, "hif8", clock=dut.clk)
    cocotb.start_soon(model.watch())
    ...                                   # the bench of the design
    model.check()                         # raises if an output was wrong, or none was compared
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

from golden import Format
from golden.refusal import BadKind, BadValue, check_integer
from hwgen.blocks.block import Design
from hwgen.cli.parser import design_of_words
from hwgen.coverage.suite import MAX_SEED, MAX_VECTORS, suite
from hwgen.datapath.random import Random
from hwgen.netlist.emit import CLOCK
from hwgen.reference import Pins
from hwgen.reference.reference import ClockedReference, parted
from hwgen.reference.tile import TileReference, TileState, reference
from hwgen.reference.trace import CARE, PipelineState, RegisterState
from hwgen.tile.block import EVERY

__all__ = [
    "AmaxModel", "DecoderModel", "DotModel", "EncoderModel", "MacModel", "Model", "PeModel", "QuantizerModel",
    "RandomModel",
    "ReadoutModel", "TileModel", "new_vectors",
]  # fmt: skip

SHOWN = 10
"""Mismatches that :meth:`Model.check` shows."""


class Model(ABC):
    """The model of an instance of a block; use the class of the block's kind.

    It compares in each cycle of ``clock``, after the falling edge, when inputs and outputs are settled. A bench may
    change inputs at either edge, but not between the falling and the rising edge. Outputs of clocked blocks are
    compared from the first reset on, those of pipelines without reset when what was unknown has left.

    Parameters
    ----------
    dut : handle
        The instance. Its children have the names of the module's ports.
    formats : Format or str
        As for :func:`hwgen.build`.
    clock : handle
        Clock of the block; for a combinational block, the clock of the design around it.
    signals : mapping of str to handle, optional
        Handles of ports that are not children of ``dut``, by the names of the ports.
    options
        Options of the block by their Python names, as for :func:`hwgen.build`.

    Attributes
    ----------
    design : Design
    compared : int
        Outputs that were compared: one for each port and cycle.
    mismatches : list of str
        A sentence for each output that was wrong.

    Raises
    ------
    Refusal
        If a format or option is wrong.
    AttributeError
        If a port has no handle.
    """

    kind: ClassVar[str]

    def __init__(
        self, dut: Any, *formats: Format | str, clock: Any, signals: Mapping[str, Any] | None = None, **options: Any
    ):
        self.design: Design = EVERY[self.kind].design(*formats, **options)
        self.reference = reference(self.design)
        self.clock, self.compared = clock, 0
        self.mismatches: list[str] = []
        ports = [port for port in self.design.ports if port.name != CLOCK]
        unknown = set(signals or ()) - {port.name for port in ports}
        if unknown:
            names = ", ".join(port.name for port in ports)
            raise BadValue("signals", f"must be ports of {self.design.name}, {names}, not {', '.join(sorted(unknown))}")
        handles = dict(signals or {})
        self._handles = {
            port.name: handles[port.name] if port.name in handles else getattr(dut, port.name) for port in ports
        }
        self._inputs = [port.name for port in ports if port.direction == "input"]
        self._outputs = [port.name for port in ports if port.direction == "output"]

    # -- the scoreboard

    async def watch(self) -> None:
        """Compare the outputs in every cycle, for ever; start it with ``cocotb.start_soon``."""
        while True:
            await FallingEdge(self.clock)
            await ReadOnly()
            self.sample()

    def sample(self) -> None:
        """Compare the outputs of this cycle, and take its inputs; call it once in each cycle instead of ``watch``."""
        inputs = {name: _word(self._handles[name]) for name in self._inputs}
        expected = self._expected(inputs)
        for name, value in expected.items():
            if value is None:
                continue
            self.compared += 1
            got = _word(self._handles[name])
            if got != value:
                self.mismatches.append(self._sentence(name, got, value, inputs))
        self._clock(inputs)

    def _sentence(self, name: str, got: int | None, value: int, inputs: Mapping[str, int | None]) -> str:
        shown = str(self._handles[name].value) if got is None else self.reference.value(name, got)
        fields = ", ".join(f"{port}={'X' if word is None else format(word, '#x')}" for port, word in inputs.items())
        expected = self.reference.value(name, value)
        return f"{self.design.name}, comparison {self.compared}: {name} is {shown}; expected {expected} ({fields})"

    def check(self, at_least: int = 1) -> None:
        """Raise AssertionError unless at least ``at_least`` outputs were compared, and all were right."""
        if self.compared < at_least:  # no assertions here: they vanish under PYTHONOPTIMIZE
            raise AssertionError(f"{self.design.name}: {self.compared} outputs were compared, not {at_least}")
        if count := len(self.mismatches):
            title = f"{self.design.name}: {count} of {self.compared} outputs were wrong"
            raise AssertionError("\n".join([title, *self.mismatches[:SHOWN]]))

    # -- the driver

    def put(self, **values: int) -> None:
        """Drive inputs: words by the names of ports; see :meth:`codes` for numbers."""
        for name, value in values.items():
            if name not in self._inputs:
                raise BadValue(name, f"is no input of {self.design.name}, which has {', '.join(self._inputs)}")
            self._handles[name].value = value

    async def drive(self, vectors: Iterable[Mapping[str, int]]) -> None:
        """Drive inputs, a vector in each cycle, after the rising edge of the clock."""
        for vector in vectors:
            await RisingEdge(self.clock)
            self.put(**vector)

    def stimuli(self, count: int, seed: int = 1) -> list[dict[str, int]]:
        """Return inputs that exercise boundaries, specials and cancellation, without controls."""
        cases = self.reference.stimuli(count, np.random.default_rng(seed))
        return [
            {name: word for name, word in self.reference.physical(pins).items() if name in self._inputs}
            for pins in cases
        ]

    # -- numbers

    def codes(self, port: str, numbers: float | Sequence[float]) -> int:
        """Return the codes of numbers in all lanes of an input, lane 0 lowest, each rounded by the format's default.

        Numbers are rounded to float32 before.
        """
        fmt = self._format(port)
        values = np.atleast_1d(np.asarray(numbers, np.float32))
        if values.shape != (self.design.lanes,):
            raise BadValue("numbers", f"must be as many as lanes, {self.design.lanes}, not of shape {values.shape}")
        return sum(int(code) << lane * fmt.width for lane, code in enumerate(fmt.encode(values.view(np.uint32))))

    def numbers(self, port: str, word: int) -> list[float]:
        """Return the numbers of all lanes of an input, lane 0 first."""
        fmt = self._format(port)
        codes = parted(word, fmt.width, self.design.lanes).astype(np.int64)
        return fmt.decode(codes).tolist()

    def _format(self, port: str) -> Format:
        fmt = self.design.codes.get(port)
        if fmt is None or len(fmt.members) > 1:
            names = ", ".join(name for name, fmt in self.design.codes.items() if len(fmt.members) == 1)
            raise BadValue("port", f"must be an input with codes of one format, {names or 'none here'}, not {port!r}")
        return fmt

    # -- defined by the kinds of blocks

    @abstractmethod
    def _expected(self, inputs: Mapping[str, int | None]) -> dict[str, int | None]:
        """The outputs of this cycle; None where they are not compared."""

    @abstractmethod
    def _clock(self, inputs: Mapping[str, int | None]) -> None:
        """A rising edge with these inputs."""


class CaseModel(Model):
    """A block without registers of its own: combinational, or with ``stages`` a pipeline."""

    def __init__(self, dut: Any, *formats: Format | str, clock: Any, **options: Any):
        super().__init__(dut, *formats, clock=clock, **options)
        nothing = dict.fromkeys(self.reference.outputs, 0)
        self._state = PipelineState(self.design.stages, nothing) if self.design.stages else None
        self._words = _Words(self.design.source) if self.design.source is not None else None

    def expected(self, **values: int) -> dict[str, int]:
        """Return the outputs for values of the inputs, without a pipeline's controls."""
        return self.reference.answer(self.reference.logical(values))

    def _operands(self, inputs: Mapping[str, int | None]) -> Pins | None:
        """The inputs of the core; None if any has an X."""
        is_clocked = self._state is not None or self._words is not None
        controls = ("rst", "enable", "in_valid") if is_clocked else ()
        values = {name: inputs[name] for name in self._inputs if name not in controls}
        if self._words is not None:
            values["random"] = self._words.word
        return None if None in values.values() else {name: value or 0 for name, value in values.items()}

    def _expected(self, inputs: Mapping[str, int | None]) -> dict[str, int | None]:
        if self._state is None:
            operands = self._operands(inputs)
            return {} if operands is None else {**self.expected(**operands)}
        outputs = self._state.outputs
        return {name: outputs[name] if outputs[CARE + name] else None for name in self._outputs}

    def _clock(self, inputs: Mapping[str, int | None]) -> None:
        if self._words is not None:
            self._words.clock(inputs)
        if self._state is None:
            return
        rst, enable, valid = inputs.get("rst", 0), inputs.get("enable", 1), inputs["in_valid"]
        operands, results = self._operands(inputs), dict.fromkeys(self.reference.outputs, 0)
        if rst != 1 and (rst is None or enable is None or valid is None):
            self._state.forget()
            return
        if valid and operands is None and not rst and enable:
            self.mismatches.append(f"{self.design.name}: an input has an X while in_valid is 1")
        elif valid and operands is not None:
            results = self.expected(**operands)
        self._state.clock(results, rst=rst or 0, enable=enable or 0, valid=valid or 0)


class _Words:
    """The words of a register in a module, from its first reset on."""

    def __init__(self, source: Random):
        self._state, self._known = RegisterState(source), False

    @property
    def word(self) -> int | None:
        """The words of this cycle; None if they are unknown."""
        return self._state.word if self._known else None

    def clock(self, inputs: Mapping[str, int | None]) -> None:
        """A rising edge with these inputs."""
        rst, enable = inputs["rst"], inputs["enable"]
        self._known = rst == 1 or (self._known and rst == 0 and enable is not None)
        self._state.clock(rst=rst or 0, enable=enable or 0)


def _case_model(kind: str, text: str) -> type[CaseModel]:
    """The class of the models of a block without registers of its own."""
    members = {"kind": kind, "__doc__": f"{text}; see :class:`Model`.", "__module__": __name__}
    return type(f"{kind.capitalize()}Model", (CaseModel,), members)


DecoderModel = _case_model("decoder", "A decoder")
EncoderModel = _case_model("encoder", "An encoder")
QuantizerModel = _case_model("quantizer", "A quantizer")
MacModel = _case_model("mac", "A multiply-accumulate unit")
DotModel = _case_model("dot", "A dot product")
ReadoutModel = _case_model("readout", "A readout of exact accumulators")


class RandomModel(Model):
    """A register of random words, cycle by cycle."""

    kind = "random"

    def __init__(self, dut: Any, *, clock: Any, **options: Any):
        super().__init__(dut, clock=clock, **options)
        assert self.design.source is not None
        self._words = _Words(self.design.source)

    def _expected(self, inputs: Mapping[str, int | None]) -> dict[str, int | None]:
        del inputs
        return {"random": self._words.word}

    def _clock(self, inputs: Mapping[str, int | None]) -> None:
        self._words.clock(inputs)


class ClockedModel(Model):
    """A block with ``clear`` and ``enable``, cycle by cycle."""

    reference: ClockedReference

    def __init__(self, dut: Any, *formats: Format | str, clock: Any, **options: Any):
        super().__init__(dut, *formats, clock=clock, **options)
        if not isinstance(self.reference, ClockedReference):
            raise BadKind("kind", "must be that of a block with clear and enable")
        self._state = self.reference.registers(self.reference.step)
        self._known = False

    def _expected(self, inputs: Mapping[str, int | None]) -> dict[str, int | None]:
        del inputs
        return dict(self._state.outputs) if self._known else {}

    def _clock(self, inputs: Mapping[str, int | None]) -> None:
        rst, clear, enable = (inputs[name] for name in ("rst", "clear", "enable"))
        if rst != 1 and (rst is None or clear is None or enable is None):
            self._known = False
            return
        if rst:
            self._known = True
        operands = {name: value for name, value in inputs.items() if name not in ("rst", "clear", "enable")}
        if None in operands.values() and enable and not rst and self._known:
            self.mismatches.append(f"{self.design.name}: an input has an X while enable is 1")
            self._known = False
            return
        pins = self.reference.logical({name: value or 0 for name, value in operands.items()})
        self._state.clock(pins, rst=rst or 0, clear=clear or 0, enable=enable or 0)


class PeModel(ClockedModel):
    """A processing element, cycle by cycle: latency, ``clear``, ``enable``, interleaved accumulators, sticky flags."""

    kind = "pe"

    @property
    def accumulator(self) -> int:
        """The expected ``acc`` of the next comparison."""
        return self._state.outputs["acc"]


class AmaxModel(ClockedModel):
    """A largest magnitude, cycle by cycle: latency, ``clear``, ``enable``, and the scale."""

    kind = "amax"


class TileModel(Model):
    """A tile, cycle by cycle: the handshakes of its streams, and its results, which are those of golden.matmul.

    ``products`` is the number of results' last rows that were taken.
    """

    kind = "tile"
    reference: TileReference

    def __init__(self, dut: Any, *formats: Format | str, clock: Any, **options: Any):
        super().__init__(dut, *formats, clock=clock, **options)
        self._state = TileState(self.reference.core, self.reference.product)
        self._known, self.products = False, 0

    def _expected(self, inputs: Mapping[str, int | None]) -> dict[str, int | None]:
        del inputs
        outputs: dict[str, int | None] = {**self._state.outputs} if self._known else {}
        if not outputs.get("y_tvalid"):
            outputs |= {"y_tdata": None, "y_tlast": None}
        return outputs

    def _clock(self, inputs: Mapping[str, int | None]) -> None:
        used = {"rst", "y_tready", *(f"{side}_tvalid" for side in "ab")}
        used |= {f"{side}_{name}" for side in "ab" for name in ("tdata", "tlast") if inputs[f"{side}_tvalid"]}
        unknown = sorted(name for name in used if inputs[name] is None)
        if inputs["rst"] != 1 and (unknown or not self._known):
            if unknown and self._known:
                self.mismatches.append(f"{self.design.name}: {', '.join(unknown)} has an X")
            self._known = False
            return
        self._known = True
        outputs = self._state.outputs
        if not inputs["rst"] and inputs["y_tready"]:
            self.products += outputs["y_tvalid"] & outputs["y_tlast"]
        self._state.clock({name: value or 0 for name, value in inputs.items()})


def _word(handle: Any) -> int | None:
    """The value of a handle; None if it has an X or Z."""
    bits = str(handle.value)
    return int(bits, 2) if set(bits) <= {"0", "1"} else None


# -- vectors for the tests in a bundle


def new_vectors(
    description: Mapping[str, Any], folder: Path, count: int = 2000, seed: int = 1
) -> dict[str, list[dict[str, int]]]:
    """Return vectors of a module by class: values of its ports but the clock, one vector per case or clock cycle.

    Vectors of a clocked module also have a flag ``care_PORT`` for each output, which says whether it is compared.

    Parameters
    ----------
    description : mapping
        The content of the bundle's ``NAME.json``.
    folder : Path
        Folder with the files of users' formats.
    count : int
        Number of vectors, without bubbles and stalls.
    seed : int

    Raises
    ------
    Refusal
        If the description's command is not one of this version of the package.
    """
    rng = np.random.default_rng(check_integer("seed", seed, 0, MAX_SEED))
    words = shlex.split(description["command"])[2:]
    vectors = suite(design_of_words(words, folder), check_integer("count", count, 1, MAX_VECTORS), rng)
    rows, classes, first = vectors.rows(), {}, 0
    for name, number in vectors.classes.items():
        classes[name] = rows[first : first + number]
        first += number
    return classes
