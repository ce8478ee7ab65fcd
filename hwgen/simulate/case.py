"""A module under test with its vectors, and the files that the bench reads."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.blocks.block import Design
from hwgen.netlist.emit import CLOCK
from hwgen.reference import Pins
from hwgen.reference.kinds import kinds
from hwgen.reference.reference import Columns, parted
from hwgen.reference.tile import reference
from hwgen.reference.trace import CARE

TOP = "bench_top"

VECTOR_STEPS = 1_000_000
"""Steps of simulated time for which a vector is applied: 1 us at a precision of 1 ps, longer than most delays."""

RECORDED = 1000
"""Number of mismatches that the bench records of each module and class; the others are only counted."""

Explain = Callable[[Mapping[str, int], Mapping[str, int], Mapping[str, int]], str]
"""From (inputs, got, expected), each a mapping of ports to values, to a sentence with fields and exact values."""

Kinds = Callable[[Mapping[str, int], Mapping[str, int]], Iterable[str]]
"""From (got, expected) to the kinds of what differs."""

UNDEFINED = "undefined bits"


@dataclass(frozen=True)
class Case:
    """A module under test and its vectors."""

    name: str
    verilog: str
    ports: Mapping[str, int]
    """Width of each of its ports."""
    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]
    """Values of the inputs and expected values of the outputs: arrays of the same length. Ports of more than 64 bits
    have uint64 limbs on a last axis, little end first.
    """
    explain: Explain | None = None
    """Adds a sentence to the report of a mismatch."""
    kinds: Kinds | None = None
    """Adds the kinds of mismatches to the report of a class."""
    seed: int | None = None
    """Seed of the vectors."""
    care: Mapping[str, NDArray[Any]] | None = None
    """For clocked modules, whose vectors depend on earlier ones: whether each vector's output is compared."""
    held: NDArray[Any] | None = None
    """For modules that stall: whether a vector's outputs are still those of the vector before. They count once."""
    classes: Mapping[str, int] = field(default_factory=dict)
    """Names of consecutive vectors and their numbers, e.g. ``{"specials": 100, "random": 900}``. A class of a clocked
    module depends on no earlier one. Default: the vectors have no classes.
    """
    per_cycle: int = 1
    """Vectors in a clock cycle of a clocked module. Reports count cycles, and outputs are compared once in each."""
    suffix: str = ".v"
    """Suffix of the module's file: ``.v`` or ``.sv``."""
    folder: Path | None = None
    """Folder of files that the module includes, or reads with ``$readmemh``; the simulator runs in it."""

    def __post_init__(self) -> None:
        ports = sorted([*self.inputs, *self.outputs])
        if sorted(self.ports) != ports:
            raise ValueError(f"{self.name}: ports are {sorted(self.ports)}, vectors are for {ports}")
        lengths = {name: len(values) for name, values in {**self.inputs, **self.outputs}.items()}
        if len(set(lengths.values())) != 1 or not self.vectors:
            problem = f"must have the same number of vectors, at least one, not {lengths}"
            raise ValueError(f"{self.name}: all ports {problem}")
        if self.classes and sum(self.classes.values()) != self.vectors:
            raise ValueError(f"{self.name}: classes have {sum(self.classes.values())} of {self.vectors} vectors")

    @property
    def vectors(self) -> int:
        """The number of vectors."""
        return len(next(iter(self.inputs.values())))

    @property
    def unit(self) -> str:
        """What reports count: vectors, or cycles of a clocked module."""
        return "vector" if self.per_cycle == 1 else "cycle"

    def class_at(self, index: int) -> tuple[str, int]:
        """Name and first vector of the class of a vector; without classes an empty name and 0."""
        first = 0
        for name, count in self.classes.items():
            if index < first + count:
                return name, first
            first += count
        return "", 0

    def part(self, start: int, end: int) -> "Case":
        """The case with some of its vectors, and without classes."""
        inputs, outputs, care = (
            {port: values[start:end] for port, values in (ports or {}).items()}
            for ports in (self.inputs, self.outputs, self.care)
        )
        held = None if self.held is None else self.held[start:end]
        return replace(self, inputs=inputs, outputs=outputs, care=care or None, held=held, classes={})

    def kinds_of(self, index: int, got: Mapping[str, str]) -> Iterable[str]:
        """The kinds of a mismatch; none if the case does not know any."""
        if not _is_known(got):
            return [UNDEFINED]
        expected = {port: _value(values, index) for port, values in self.outputs.items()}
        care = {port: bool(values[index]) for port, values in (self.care or {}).items()}
        seen = {port: word if care.get(port, True) else 0 for port, word in expected.items()}
        return [] if self.kinds is None else self.kinds({port: int(text, 16) for port, text in got.items()}, seen)

    def describe(self, index: int, got: Mapping[str, str]) -> str:
        """A mismatch as text: all fields, and the sentence of ``explain``."""
        inputs = {port: _value(values, index) for port, values in self.inputs.items()}
        expected = {port: _value(values, index) for port, values in self.outputs.items()}
        fields = [f"{port}={value:#x}" for port, value in inputs.items()]
        fields += [f"{port}={got[port]} (expected {value:#x})" for port, value in expected.items()]
        line = f"  {self.unit} {index // self.per_cycle}: {', '.join(fields)}"
        if self.explain and _is_known(got):
            line += "\n    " + self.explain(inputs, {port: int(text, 16) for port, text in got.items()}, expected)
        return line


def _is_known(got: Mapping[str, str]) -> bool:
    return all(text.startswith("0x") for text in got.values())


def _value(values: NDArray[Any], index: int) -> int:
    return int.from_bytes(np.atleast_1d(values[index]).astype("<u8").tobytes(), "little")


def _masked(values: NDArray[Any], care: NDArray[Any]) -> NDArray[Any]:
    """Values with zeros where ``care`` is 0."""
    shaped = care.reshape(-1, *(1,) * (values.ndim - 1))
    return np.where(shaped, values, 0).astype(values.dtype)


def _bytes(case: Case, port: str, width: int, values: NDArray[Any]) -> NDArray[np.uint8]:
    """One row per vector: the port's value in whole bytes, little end first."""
    limbs = np.asarray(values)
    if limbs.ndim == 1:
        limbs = limbs[:, None]
    count, size = len(limbs), (width + 7) // 8
    if not np.issubdtype(limbs.dtype, np.unsignedinteger) or limbs.shape[1] != (width + 63) // 64:
        problem = f"must be unsigned integers, in uint64 limbs above 64 bits, not {limbs.dtype}{limbs.shape}"
        raise ValueError(f"{case.name}: values of {width} bits for {port} {problem}")
    rows = np.ascontiguousarray(limbs.astype("<u8")).view(np.uint8).reshape(count, -1)
    if rows[:, size:].any() or (width % 8 and (rows[:, size - 1] >> (width % 8)).any()):
        raise ValueError(f"{case.name}: a value for {port} has more than {width} bits")
    return rows[:, :size]


def write_bench(cases: Sequence[Case], folder: Path) -> list[Path]:
    """Write the modules, their top, the vectors, and the plan that assigns slices to ports; return the sources.

    The top has one wide input and one wide output. Each port of each module has a slice of them, aligned to bytes.
    """
    steps = max(case.vectors for case in cases)
    stimuli: list[NDArray[np.uint8]] = []
    responses: list[NDArray[np.uint8]] = []
    sizes = {"stimulus": 0, "response": 0}
    slots = []
    instances = []
    for index, case in enumerate(cases):
        slot: dict[str, dict[str, list[int]]] = {"stimulus": {}, "response": {}}
        care = case.care or {}
        flags = {CARE + port: np.asarray(values, np.uint8) for port, values in care.items()}
        expected = {
            port: _masked(values, care[port]) if port in care else values for port, values in case.outputs.items()
        }
        buses = (("stimulus", {**case.inputs, **flags}, stimuli), ("response", expected, responses))
        for bus, vectors, columns in buses:
            for port, values in vectors.items():
                width = case.ports.get(port, 1)
                rows = _bytes(case, port, width, values)
                padding = np.repeat(rows[-1:], steps - len(rows), axis=0)  # a shorter case repeats its last vector
                columns.append(np.concatenate([rows, padding]))
                slot[bus][port] = [8 * sizes[bus], width]
                sizes[bus] += rows.shape[1]
        numbers = ""
        if case.held is not None:
            numbers = f"numbers_{index}.bin"
            (folder / numbers).write_bytes(np.cumsum(~case.held).astype("<u4").tobytes())
        slots.append({"name": case.name, "vectors": case.vectors, "outputs": slot["response"], "numbers": numbers})
        instances += _instance(index, case, slot)
    ports = ", ".join(
        f"{direction} wire [{8 * sizes[bus] - 1}:0] {bus}"
        for direction, bus in (("input", "stimulus"), ("output", "response"))
    )
    bench = "\n".join([f"module {TOP} ({ports});", *instances, "endmodule", ""])
    (folder / f"{TOP}.v").write_text(bench, encoding="utf-8")
    (folder / "stimuli.bin").write_bytes(np.concatenate(stimuli, axis=1).tobytes())
    (folder / "responses.bin").write_bytes(np.concatenate(responses, axis=1).tobytes())
    classes = cases[0].classes if len(cases) == 1 else {}
    plan = {
        "stimulus_bytes": sizes["stimulus"],
        "response_bytes": sizes["response"],
        "cases": slots,
        "parts": [*classes.items()] or [("all vectors", steps)],
        "vector_steps": VECTOR_STEPS,
        "recorded": RECORDED,
        "unit": [cases[0].unit, cases[0].per_cycle] if len(cases) == 1 else ["vector", 1],
    }
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    files = [folder / f"{case.name}{case.suffix}" for case in cases]
    for file, case in zip(files, cases, strict=True):
        file.write_text(case.verilog, encoding="utf-8")
    return [folder / f"{TOP}.v", *files]


def _instance(index: int, case: Case, slot: Mapping[str, Mapping[str, list[int]]]) -> list[str]:
    """The lines of a module in the top; outputs that are not compared in a step are 0 there."""
    lines, connections, care = [], [], case.care or {}
    for bus, ports in slot.items():
        for port, (low, width) in ports.items():
            if bus == "response" and port in care:
                net, flag = f"net_{index}_{port}", slot["stimulus"][CARE + port][0]
                lines.append(f"  wire [{width - 1}:0] {net};")
                lines.append(f"  assign response[{low + width - 1}:{low}] = {net} & {{{width}{{stimulus[{flag}]}}}};")
                connections.append(f".{port}({net})")
            elif port in case.ports:
                connections.append(f".{port}({bus}[{low + width - 1}:{low}])")
    unused = [(low + width, -width % 8) for low, width in slot["response"].values() if width % 8]
    lines.append(f"  {case.name} dut_{index} ({', '.join(connections)});")
    return lines + [f"  assign response[{low + width - 1}:{low}] = {width}'b0;" for low, width in unused]


# -- cases of designs


def case(
    design: Design,
    verilog: str,
    vectors: Columns,
    classes: Mapping[str, int] | None = None,
    seed: int | None = None,
    **others: Any,
) -> Case:
    """Return the case of a design's module, or of another one with the same ports.

    ``vectors`` are values of all ports but the clock, a row for each case or clock cycle; for clocked modules also the
    flags of :mod:`hwgen.reference.trace`. A cycle becomes two vectors, before and after the rising edge; outputs are
    compared before it. ``others`` are parameters of :class:`Case`; ``name`` defaults to the design's.
    """
    is_clocked = design.is_clocked
    repeats = 2 if is_clocked else 1
    widths = {port.name: port.width for port in design.ports}
    columns: dict[str, Any] = {
        name: np.repeat(_words(values, widths.get(name, 1)), repeats, axis=0) for name, values in vectors.items()
    }
    count = len(next(iter(columns.values())))
    clock = np.tile(np.array([0, 1], np.uint8), count // 2)
    if is_clocked:
        columns[CLOCK] = clock
    inputs = {port.name: columns[port.name] for port in design.ports if port.direction == "input"}
    outputs = {port.name: columns[port.name] for port in design.ports if port.direction == "output"}
    care = {name: columns[CARE + name] * (1 - clock) for name in outputs} if is_clocked else None
    counts = {name: repeats * number for name, number in (classes or {}).items()}
    held, kind = _held(vectors), partial(kinds, reference(design))
    options = {"name": design.name, "explain": _explain(design), "kinds": kind, "per_cycle": repeats, **others}
    if held is not None:  # the second vector of a cycle is of the first
        options["held"] = np.repeat(held, repeats) | (clock == 1)
    return Case(
        verilog=verilog, ports=widths, inputs=inputs, outputs=outputs, seed=seed, care=care, classes=counts, **options
    )


def _held(vectors: Columns) -> NDArray[np.bool_] | None:
    """Whether the results in each cycle are still those of the cycle before, as a pipeline or a stream is stalled.

    An accumulator with ``clear`` keeps its value also without a stall, so that none of its cycles are.
    """
    if "y_tready" in vectors:
        stalls = (vectors["y_tvalid"] == 1) & (vectors["y_tready"] == 0)
    elif "enable" in vectors and "clear" not in vectors:
        stalls = vectors["enable"] == 0
    else:
        return None
    stalls = stalls & (vectors.get("rst", np.zeros(len(stalls))) == 0)
    return np.concatenate([[False], stalls[:-1]])


def _explain(design: Design) -> Explain:
    """A function from a mismatch, in terms of the module's ports, to a sentence: the reference model's.

    Of clocked modules, it names the outputs of a cycle that differ, with their exact values.
    """
    model = reference(design)

    def of_case(inputs: Pins, got: Pins, expected: Pins) -> str:
        return model.explain(model.logical(inputs), got, expected)

    def of_cycle(_inputs: Pins, got: Pins, expected: Pins) -> str:
        wrong = [port for port in expected if got[port] != expected[port]]
        return "; ".join(
            f"{port} is {model.value(port, got[port])}; expected {model.value(port, expected[port])}" for port in wrong
        )

    return of_cycle if design.is_clocked else of_case


def _words(values: NDArray[Any], width: int) -> NDArray[np.uint64]:
    """Values of a port; more than 64 bits are split into limbs, unless they are."""
    limbs = values if width <= 64 or values.ndim == 2 else parted(values, 64, -(-width // 64))
    return limbs.astype(np.uint64)
