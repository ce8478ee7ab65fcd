"""The tile as a block: its options, its streams, and the processing element and the readout that it is made of."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import Any

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import ExactAccumulator, Format
from golden.refusal import BadValue, check_integer, past_checking
from golden.rows import Rounding
from golden.wide import IEEE
from hwgen.blocks.block import Block, Design, Option
from hwgen.blocks.catalog import BLOCKS
from hwgen.blocks.pe import PE
from hwgen.blocks.pe import STAGES as PE_STAGES
from hwgen.blocks.readout import READOUT, output
from hwgen.blocks.words import operands, sum_lines, sum_rules
from hwgen.datapath.goal import AREA, ASIC
from hwgen.netlist.component import Checked
from hwgen.netlist.emit import Port
from hwgen.netlist.pipeline import MAX_STAGES
from hwgen.tile.verilog import Shape, text

MAX_SIDE = 64
"""Largest number of rows, and of columns."""

SMALL = 6
"""Largest precision of formats whose products need no multipliers of an FPGA."""

IN_LOGIC = '(* use_dsp = "no", multstyle = "logic" *)'
"""Attributes of a module, the first for Vivado, the second for Quartus: its products are not made by multipliers."""

ROUNDED = "needs --to, and accumulator 'exact'"


class Tile(Checked, wiring.Component):
    """A matrix product, output-stationary: element (r, c) adds row r of A times column c of B, a step in each beat.

    A beat of stream ``a`` has an element for each row, a beat of ``b`` one for each column, element 0 in the least
    significant bits; an element is the codes of all lanes, lane 0 lowest, then what else the processing element takes:
    the select pin of a pair of formats, the block's scale. Beats of both streams meet in order. The product ends with a
    beat that either stream marks last. Its results leave on stream ``y``, a row in each beat, the last one marked.

    A transfer is a cycle with valid and ready; without reset. From no input to a ready or to an output of ``y`` is a
    combinational path.

    Parameters
    ----------
    a_format, b_format, lanes, accumulator, terms, block_scale, zero, fabric, optimize, carry_save, stages
        See :class:`hwgen.Pe`.
    rows, columns : int
        Rows of A, and columns of B: 1 to 64.
    target, rounding, overflow
        With accumulator ``exact``: what a readout rounds the results to: see :class:`hwgen.Readout`. By default the
        results are the bits of the accumulators.
    readout_stages : int
        Ranks of registers from accumulators to results, 0 to 16: the first in front of a readout, the others in it;
        without ``target`` at most 1, in front of the queue.

    Attributes
    ----------
    pe, readout : Design
        The parts; the second is None without ``target``.
    """

    def __init__(
        self,
        a_format: Format | str,
        b_format: Format | str | None = None,
        *,
        rows: int = 4,
        columns: int = 4,
        lanes: int = 1,
        accumulator: str = "binary32",
        terms: int | None = None,
        block_scale: Format | str | None = None,
        zero: str = IEEE,
        fabric: str = ASIC,
        optimize: str = AREA,
        carry_save: bool = False,
        stages: int = 0,
        target: Format | str | None = None,
        rounding: str | None = None,
        overflow: str | None = None,
        readout_stages: int = 0,
    ):
        self.rows = check_integer("rows", rows, 1, MAX_SIDE)
        self.columns = check_integer("columns", columns, 1, MAX_SIDE)
        sums: dict[str, Any] = {"accumulator": accumulator, "terms": terms, "zero": zero, "block_scale": block_scale}
        structure: dict[str, Any] = {"fabric": fabric, "optimize": optimize, "carry_save": carry_save, "stages": stages}
        formats = (a_format,) if b_format is None else (a_format, b_format)
        self.pe = PE.design(*formats, lanes=lanes, **sums, **structure)
        core = self.pe.core
        for option in (*PE.formats, *_OF_PE):
            setattr(self, option.attribute, getattr(core, option.attribute))
        self.readout_stages = check_integer("readout_stages", readout_stages, 0, MAX_STAGES)
        self.readout = self._readout(formats, target, rounding, overflow)
        chosen = None if self.readout is None else self.readout.core
        self.target: Format | None = None if chosen is None else chosen.target
        self.rounding: Any = None if chosen is None else chosen.rounding
        self.overflow: Any = None if chosen is None else chosen.overflow
        result = self.result_width
        streams = (("a", In, self.rows * self.width("a")), ("b", In, self.columns * self.width("b")))
        members: dict[str, Any] = {}
        for name, flow, bits in (*streams, ("y", Out, self.columns * result)):
            back = Out if flow is In else In
            members |= {f"{name}_tvalid": flow(1), f"{name}_tready": back(1)}
            members |= {f"{name}_tdata": flow(bits), f"{name}_tlast": flow(1)}
        super().__init__(members)

    a_format: Format
    b_format: Format
    lanes: int
    accumulator: str
    terms: int | None
    stages: int
    block_scale: Format | None
    zero: str
    fabric: str

    def _readout(self, formats: tuple[Format | str, ...], target: Any, rounding: Any, overflow: Any) -> Design | None:
        chosen = {"rounding": rounding, "overflow": overflow}
        if target is None:
            for argument, value in chosen.items():
                if value is not None:
                    raise BadValue(argument, ROUNDED)
            if self.readout_stages > 1:
                raise BadValue("readout_stages", f"must be at most 1 without --to, not {self.readout_stages}")
            return None
        if self.accumulator != "exact":
            raise BadValue("target", f"needs accumulator 'exact', not {self.accumulator!r}: others are rounded already")
        given: dict[str, Any] = {argument: value for argument, value in chosen.items() if value is not None}
        if self.readout_stages > 1:
            given |= {"stages": self.readout_stages - 1, "reset": "none"}
        if self.zero != IEEE:
            given["zero"] = self.zero
        readout = READOUT.design(*formats, target=target, terms=self.terms, **given)
        if readout.core.random_bits is not None:
            raise BadValue("rounding", f"must need no random bits, which a tile does not have, as {rounding!r} does")
        return readout

    @property
    def exact(self) -> ExactAccumulator | None:
        """The ``exact`` accumulator; None if it is another one."""
        exact: ExactAccumulator | None = self.pe.exact
        return exact

    def pins(self, side: str) -> list[Port]:
        """The ports of a processing element that an element of stream ``a`` or ``b`` holds, lowest first."""
        return [port for port in self.pe.ports if port.name == side or port.name.startswith(f"{side}_")]

    def width(self, side: str) -> int:
        """Bits of an element of stream ``a`` or ``b``."""
        return sum(port.width for port in self.pins(side))

    @property
    def result_width(self) -> int:
        """Bits of an element of stream ``y``."""
        width: int = self.pe.core.accumulator_width if self.target is None else self.target.width
        return width

    @property
    def depth(self) -> int:
        """Rows of results that the queue has room for. One more may wait in the accumulators."""
        return self.stages + self.readout_stages + 2

    @property
    def is_in_logic(self) -> bool:
        """Whether the text tells synthesis to keep products out of an FPGA's multipliers."""
        formats = (member for fmt in (self.a_format, self.b_format) for member in fmt.members)
        return self.fabric != ASIC and all(fmt.precision <= SMALL for fmt in formats)

    @property
    def most_beats(self) -> int | None:
        """Largest number of beats of a product; None if there is no limit."""
        return None if self.terms is None else self.terms // self.lanes

    def elaborate(self, _platform: object) -> Module:
        """An instance of the Verilog module, whose file belongs to the design around it."""
        m = Module()
        name = Design(TILE, self, *_NOTHING_AROUND, None).name
        ports = [
            ("o" if member.flow is Out else "i", path[0], value) for path, member, value in self.signature.flatten(self)
        ]
        m.submodules.tile = Instance(name, ("i", "clk", ClockSignal()), ("i", "rst", ResetSignal()), *ports)
        return m


class TileDesign(Design[Tile]):
    """A tile with its options chosen: its Verilog contains that of its parts."""

    @property
    def latency(self) -> int:
        """Cycles from the last beat of a product at the inputs to its first row at the outputs, without stalls."""
        return self.core.depth + 1

    @property
    def own_parts(self) -> tuple[Design, ...]:
        """The processing element and, if there is one, the readout, as they are without a tile."""
        return tuple(part for part in (self.core.pe, self.core.readout) if part is not None)

    @cached_property
    def parts(self) -> tuple[Design, ...]:
        """The same, named after the tile."""
        return tuple(replace(part, given_name=f"{self.name}_{part.kind}") for part in self.own_parts)

    def glue(self) -> str:
        """Text of the tile's own module."""
        core = self.core
        a, b = (tuple((port.name, port.width) for port in core.pins(side)) for side in ("a", "b"))
        result = None if core.target is None else output(core.target)
        accumulator: int = core.pe.core.accumulator_width
        cycles = core.stages + 1, core.readout_stages, core.depth
        shape = Shape(self.name, core.rows, core.columns, a, b, accumulator, core.result_width, *cycles, result)
        return text(shape, self.header)

    def verilog(self) -> str:
        """Text of the Verilog modules: the tile, its processing element, its readout."""
        with past_checking():
            others = [part.verilog() for part in self.parts]
        if self.core.is_in_logic:
            others = [re.sub("^module ", f"{IN_LOGIC}\n\\g<0>", text, flags=re.M) for text in others]
        # Verilator expects a module in a file of its name
        off, on = (f"/* verilator lint_{way} DECLFILENAME */\n" for way in ("off", "on"))
        return "\n".join([self.glue(), off + "\n".join(others) + on])


class TileBlock(Block[Tile]):
    """The block whose designs are hierarchical."""

    def design(self, *formats: Format | str, name: str | None = None, **arguments: Any) -> TileDesign:
        """Return the block with its options chosen: see :meth:`hwgen.blocks.block.Block.design`."""
        flat = super().design(*formats, name=name, **arguments)
        return TileDesign(self, flat.core, flat.pipeline, flat.generator, name)


_TAKEN = ("lanes", "accumulator", "terms", "block_scale", "zero", "fabric", "optimize", "carry_save")
_OF_PE = (
    *(
        replace(option, suffix="_lanes{}") if option.argument == "lanes" else option
        for option in PE.options
        if option.argument in _TAKEN
    ),
    PE_STAGES,
)
_SIDE = "{} of processing elements: {}"
ROWS, COLUMNS = (
    Option(name, int, _SIDE.format(name, what), range(1, MAX_SIDE + 1), always=True, suffix=suffix)
    for name, what, suffix in (("rows", "rows of A in a product", "_{}"), ("columns", "columns of B", "x{}"))
)
_ROUNDINGS = tuple(each.value for each in Rounding if not (each.is_stochastic or each.reads_source))
_RESULT = tuple(
    replace(
        option,
        always=False,
        help=f"with --accumulator exact: {option.help.removesuffix('; not hybrid')}",
        allowed=_ROUNDINGS if option.name == "rounding" else option.allowed,
    )
    for option in READOUT.options
    if option.name in ("to", "rounding", "overflow")
)


READOUT_STAGES = Option(
    "readout-stages",
    int,
    "ranks of registers between accumulators and results; without --to at most 1",
    range(MAX_STAGES + 1),
    suffix="_r{}",
)


def _title(core: Tile) -> str:
    return f"Tile of {core.rows} x {core.columns} processing elements: matrix products of {operands(core)}"


def _lines(core: Tile) -> list[str]:
    beats = f"at most {core.most_beats} beats" if core.most_beats else "any number of beats"
    results = f"accumulators of {core.accumulator}" if core.target is None else f"rounded to {core.target.name}"
    return [*sum_lines(core.pe.core), f"A product has {beats}; results are {results}"]


def _rules(core: Tile) -> Any:
    return sum_rules(core.pe.core) if core.readout is None else READOUT.rules(core.readout.core)


_STREAM = {
    "tvalid": "there is a beat",
    "tready": "the beat is taken in this cycle, if there is one",
    "tlast": "the beat is the last of its product",
}
_DATA = {
    "a": "an element for each row of A, row 0 lowest: the codes of all lanes, lane 0 lowest, then select and scale",
    "b": "an element for each column of B, column 0 lowest, in the same form",
    "y": "a row of results, column 0 lowest; rows leave in order",
}
TILE = TileBlock(
    "tile",
    "matrix unit: rows and columns of processing elements, with streams of operands and results",
    Tile,
    PE.formats,
    (ROWS, COLUMNS, *_OF_PE, *_RESULT, READOUT_STAGES),
    clocked=True,
    title=_title,
    lines=_lines,
    rules=_rules,
    meanings={
        "rst": "synchronous reset, active high, at any time: no transfers, and all products are dropped",
        **{f"{stream}_{name}": text for stream in "aby" for name, text in _STREAM.items()},
        **{f"{stream}_tdata": text for stream, text in _DATA.items()},
    },
)

_FLAT = PE.design("hif8")
_NOTHING_AROUND = _FLAT.pipeline, _FLAT.generator

EVERY: dict[str, Block] = {**BLOCKS, TILE.name: TILE}
"""Blocks of the command line: those of the catalogue, and the tile, which is made of them."""
