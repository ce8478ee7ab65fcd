"""The reference model of a tile: matrix products by :func:`golden.matmul`, and its streams cycle by cycle."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import golden
from hwgen.blocks.block import Design
from hwgen.reference import REFERENCES
from hwgen.reference.reference import Columns, Pins, Reference, integers, parted
from hwgen.reference.trace import CARE, RESET_CYCLES, Cycle
from hwgen.tile.block import Tile

Beat = tuple[int, int]
"""Data and last of a transfer."""
Product = Callable[[Sequence[int], Sequence[int]], list[int]]
"""From the data of a product's beats on both streams to that of its results."""


def reference(design: Design) -> Reference:
    """The reference model of a design: that of a tile, or of a block of the catalogue."""
    models: dict[str, type[Reference]] = {**REFERENCES, "tile": TileReference}
    return models[design.kind](design)


@dataclass(frozen=True)
class Streams:
    """How a class of vectors drives a tile."""

    a: float = 0.7
    b: float = 0.7
    y: float = 0.7
    """Probabilities that a source has its next beat, and that the receiver is ready."""
    most: int = 12
    """Largest number of beats of a product; 0: as many as the tile can have, up to a quarter of all cycles."""
    resets: float = 0.0
    """Probability of a reset."""
    operands: str = "random"
    """Class of operands: one of those of a processing element."""


SEQUENCES = {
    "back to back": Streams(1, 1, 1),
    "one beat": Streams(1, 1, 1, most=1),
    "longest": Streams(1, 1, 1, most=0),
    "a waits": Streams(a=0.3, b=1, y=1),
    "b waits": Streams(a=1, b=0.3, y=1),
    "y waits": Streams(a=1, b=1, y=0.2, most=4),
    "y stops": Streams(a=1, b=1, y=0.02, most=3),
    "all wait": Streams(),
    "resets": Streams(resets=0.03, most=6),
    "specials": Streams(operands="specials", most=3),
    "cancellation": Streams(operands="cancellation"),
}


class TileState:
    """The streams of a tile, cycle by cycle, from a reset on; see docs/tile.md for the times.

    A row of results goes through the element, the readout and the queue. No row works while ``depth`` + 1 rows are on
    that way; the last one then waits in the element. Only the ends of products matter for the streams: the others are
    kept as the beats so far.
    """

    def __init__(self, tile: Tile, product: Product):
        self.tile, self._product = tile, product
        self.reset()

    def reset(self) -> None:
        """What a cycle with ``rst`` does."""
        self._inputs: dict[str, Beat | None] = {"a": None, "b": None}
        self._beats: list[tuple[int, int]] = []
        self._below: list[list[int] | None] = [None] * (self.tile.rows - 1)  # results of products that end in a row
        self._ending: deque[Beat | None] = deque([None] * (self.tile.stages + 1))
        self._rounding: deque[Beat | None] = deque([None] * self.tile.readout_stages)
        self._queue: deque[Beat] = deque()

    @property
    def _steps(self) -> bool:
        on_the_way = sum(row is not None for row in (*self._ending, *self._rounding))
        return len(self._queue) + on_the_way <= self.tile.depth

    @property
    def _takes(self) -> bool:
        a, b = self._inputs.values()
        if not self._steps or a is None or b is None:
            return False
        return not ((a[1] or b[1]) and any(row is not None for row in self._below))

    @property
    def outputs(self) -> dict[str, int]:
        """Values of the outputs in this cycle."""
        data, last = self._queue[0] if self._queue else (0, 0)
        ready = {f"{name}_tready": int(beat is None or self._takes) for name, beat in self._inputs.items()}
        return {**ready, "y_tvalid": int(bool(self._queue)), "y_tdata": data, "y_tlast": last}

    def clock(self, pins: Mapping[str, int]) -> None:
        """Go to the next cycle: a rising edge with these inputs."""
        if pins["rst"]:
            self.reset()
            return
        takes, steps, ready = self._takes, self._steps, self.outputs
        ends = self._take() if takes else None
        row = None if ends is None else (ends[0], int(self.tile.rows == 1))
        if steps:
            for number, results in enumerate(self._below, 1):
                if results is not None:
                    row = results[number], int(number == self.tile.rows - 1)
            self._below = [ends, *self._below][: self.tile.rows - 1]
        if self._queue and pins["y_tready"]:
            self._queue.popleft()
        self._move(row, steps)
        for name in self._inputs:
            if ready[f"{name}_tready"]:
                beat = pins[f"{name}_tdata"], pins[f"{name}_tlast"]
                self._inputs[name] = beat if pins[f"{name}_tvalid"] else None

    def _move(self, row: Beat | None, steps: bool) -> None:
        """Move the rows of results on their way, with one that ends in this cycle."""
        arrived = self._ending.pop()
        waits = not steps and not any(self._ending)
        self._ending.appendleft(row)
        if waits:
            self._ending[-1], arrived = arrived, None
        self._rounding.appendleft(arrived)
        arrived = self._rounding.pop()
        if arrived is not None:
            self._queue.append(arrived)

    def _take(self) -> list[int] | None:
        """Take a beat of both streams; return the product's results if it is the last one."""
        a, b = self._inputs.values()
        assert a is not None
        assert b is not None
        self._beats.append((a[0], b[0]))
        if not (a[1] or b[1]):
            return None
        results = self._product(*map(list, zip(*self._beats, strict=True)))
        self._beats = []
        return results


class TileReference(Reference):
    """Tiles: products as a whole, and cycles."""

    core: Tile
    sequences = tuple(SEQUENCES)

    @cached_property
    def _pe(self) -> Any:
        return REFERENCES["pe"](self.core.pe)

    def product(self, a: Sequence[int], b: Sequence[int]) -> list[int]:
        """The data of a product's results, row by row, from that of its beats."""
        core = self.core
        operands: dict[str, NDArray[Any]] = {}
        for side, beats, count in (("a", a, core.rows), ("b", b, core.columns)):
            operands |= self._operands(side, parted(np.array(list(beats), object), core.width(side), count))
        scales: dict[str, Any] = {}
        if core.block_scale is not None:
            scales = {"a_scale": operands["a_scale"].T, "b_scale": operands["b_scale"]}
            scales |= {"scale_format": core.block_scale, "block": core.lanes}
        # from shape (beats, rows, lanes) to (rows, products), and likewise to (products, columns)
        left = operands["a"].transpose(1, 0, 2).reshape(core.rows, -1)
        right = operands["b"].transpose(0, 2, 1).reshape(-1, core.columns)
        options: dict[str, Any] = {
            "accumulator": core.accumulator,
            "lanes": core.lanes,
            "terms": core.terms,
            "zero": core.zero,
        }
        sums = golden.matmul(left, right, core.a_format, core.b_format, **options, **scales)
        words: NDArray[Any] = sums.astype(object) if core.exact is None else integers(sums)
        if core.readout is not None:
            readout = REFERENCES["readout"](core.readout)
            (name,) = readout.outputs
            cases = [{"acc": int(word)} for word in words.ravel()]
            words = np.array([row[name] for row in readout.answers(cases)], object).reshape(words.shape)
        return [sum(int(word) << core.result_width * place for place, word in enumerate(row)) for row in words]

    def _operands(self, side: str, elements: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Codes of all lanes, and scales, from elements of a stream of shape (beats, elements); lanes are an axis."""
        core, low = self.core, 0
        values: dict[str, NDArray[Any]] = {}
        for port in core.pins(side):
            values[port.name] = elements >> low & (1 << port.width) - 1
            low += port.width
        others = {port.name: 0 for port in core.pe.ports if port.name not in values}
        fmt = core.a_format if side == "a" else core.b_format
        shape, count = elements.shape, elements.size
        pins = [{**others, **{name: int(values[name].flat[k]) for name in values}} for k in range(count)]
        logical = [self._pe.logical(each) for each in pins]
        words = np.array([each[side] for each in logical], object).reshape(shape)
        codes = {side: parted(words, fmt.width, core.lanes).astype(np.int64)}
        if core.block_scale is not None:
            codes[f"{side}_scale"] = values[f"{side}_scale"].astype(np.int64)
        return codes

    def beats(self, name: str, count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        """Data of a number of beats on both streams, from a class of operands of a processing element."""
        core, side = self.core, max(self.core.rows, self.core.columns)
        pins = [self._pe.physical(each) for each in self._pe.operands(name, count * side, rng)]
        return [
            (self._joined("a", pins[k : k + core.rows]), self._joined("b", pins[k : k + core.columns]))
            for k in range(0, count * side, side)
        ]

    def _joined(self, side: str, elements: Sequence[Mapping[str, int]]) -> int:
        word = low = 0
        for pins in elements:
            for port in self.core.pins(side):
                word |= pins[port.name] << low
                low += port.width
        return word

    def cycles(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        """Values of the module's ports in a number of cycles in which all streams wait at times."""
        return self.sequence("all wait", count, rng)

    def sequence(self, name: str, count: int, rng: np.random.Generator) -> list[Cycle]:
        """Values of the ports in each of ``count`` cycles of one of :attr:`sequences`, after a reset."""
        how = SEQUENCES[name]
        limit = self.core.most_beats or count
        most = min(how.most or count // 4, limit)
        data = self.beats(how.operands, count, rng)
        ends = _ends(count, most, how.most == 0, rng)
        state = TileState(self.core, self.product)
        waiting: dict[str, int | None] = {"a": None, "b": None}  # number of the beat that a source offers
        following = {"a": 0, "b": 0}
        cycles: list[Cycle] = []
        for time in range(RESET_CYCLES + count):
            pins: dict[str, int] = {"rst": int(time < RESET_CYCLES or rng.random() < how.resets)}
            for place, side in enumerate("ab"):
                if waiting[side] is None and not pins["rst"] and rng.random() < getattr(how, side):
                    waiting[side] = following[side]
                    following[side] += 1
                beat = waiting[side]
                number = int(rng.integers(count)) if beat is None else beat % count  # any data while nothing is valid
                mark = ends[number] >> place & 1 if beat is not None else int(rng.integers(2))
                pins |= {f"{side}_tvalid": int(beat is not None), f"{side}_tdata": data[number][place]}
                pins[f"{side}_tlast"] = mark
            pins["y_tready"] = int(rng.random() < how.y)
            outputs = state.outputs
            care = {CARE + port: int(time > 0) for port in outputs}
            care |= {CARE + port: int(time > 0 and outputs["y_tvalid"]) for port in ("y_tdata", "y_tlast")}
            cycles.append({**pins, **outputs, **care})
            state.clock(pins)
            for side in "ab":
                if pins["rst"]:
                    waiting[side], following[side] = None, max(following.values())
                elif outputs[f"{side}_tready"]:
                    waiting[side] = None
        return cycles

    # -- a tile has no single steps

    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        inputs = {port.name for port in self.design.ports if port.direction == "input"} - {"clk", "rst"}
        return [{name: value for name, value in cycle.items() if name in inputs} for cycle in self.cycles(count, rng)]

    def columns(self, inputs: Columns) -> Columns:
        raise NotImplementedError("a tile has no results of single cycles")

    def explain(self, pins: Pins, got: Pins, expected: Pins) -> str:
        del pins
        ports = [port for port in expected if got[port] != expected[port]]
        return f"different: {', '.join(ports)}"

    def properties(self) -> list[str]:
        """Results wait until they are taken, as AXI4-Stream requires."""
        width = self.core.columns * self.core.result_width
        return self.asserting(
            "  reg waited, last;",
            f"  reg [{width - 1}:0] data;",
            "  initial waited = 1'b0;",
            "  always @(posedge clk) begin",
            "    waited <= y_tvalid && !y_tready && !rst;",
            "    {last, data} <= {y_tlast, y_tdata};",
            "  end",
            "  always @* if (waited) assert (y_tvalid && {y_tlast, y_tdata} == {last, data});",
        )


def _ends(count: int, most: int, is_most: bool, rng: np.random.Generator) -> list[int]:
    """For each of ``count`` beats which streams mark it last: bit 0 for ``a``, bit 1 for ``b``; the last one is marked.

    Products have any number of beats up to ``most``, or that number.
    """
    marks = [0] * count
    place = -1
    while place < count - 1:
        place = min(place + (most if is_most else int(rng.integers(1, most + 1))), count - 1)
        marks[place] = int(rng.integers(1, 4))
    return marks
