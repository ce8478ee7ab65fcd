"""What a tile must do, as a Verilog module that watches it: queues of beats and of results, and assertions.

The elements and readouts are cut out of the tile: what they read are outputs, and what they drive are free inputs, so
that the assertions hold for any arithmetic. The watching module has queues of its own:

* ``beat``: the last beat of each input stream that no row has worked on;
* ``slot`` r: the beat that row r - 1 has worked on, and row r has not;
* ``due``: rows that have worked on the last beat of a product, by the cycles since then; ``order`` says which rows they
  must be; the last one may wait until it is ``read``;
* ``arrives``: rows in front of the readouts and in them, by the cycles since then;
* ``result``: what the readouts made of them.

Its assertions (``require``) say that each queue gives what entered it, in order, once; that no queue overflows; that
nothing waits without reason; and that y is the last queue. The other assertions (``relate``) say which register of the
tile holds what is in the queues; they make the whole inductive.
"""

from collections.abc import Iterator

from hwgen.blocks.readout import output
from hwgen.netlist.emit import CLOCK
from hwgen.netlist.layout import span
from hwgen.tile.block import Tile, TileDesign

WATCH = "watch"
"""Name of the module."""


class Watcher:
    """The module :data:`WATCH`, which instantiates the tile; inner signals and cut pins are the tile's ports.

    ``text`` is its Verilog; ``claims`` say of each assertion what it is about, and the condition; ``inputs`` are the
    streams and ``rst``.
    """

    def __init__(self, design: TileDesign):
        self.tile: Tile = design.core
        self.design = design
        tile = self.tile
        self.rows, self.columns, self.depth = tile.rows, tile.columns, tile.depth
        self.a, self.b = tile.width("a"), tile.width("b")
        self.acc, self.result = tile.pe.core.accumulator_width, tile.result_width
        self.cycles, self.ranks = tile.stages + 1, tile.readout_stages
        self.cut_outputs: list[tuple[str, int]] = []
        """Pins that the cut parts drive."""
        self.inner: dict[str, int] = {}
        """Signals of the tile that are read: cut pins, and registers."""
        self.claims: list[tuple[str, str]] = []
        self.inputs = [port for port in design.ports if port.direction == "input" and port.name != CLOCK]
        self.text = "\n".join(self._lines())

    def require(self, what: str, condition: str) -> None:
        self.claims.append((what, condition))

    def relate(self, register: str, width: int, value: str, when: str = "1'b1") -> None:
        """A register of the tile has this value, on a condition."""
        self.require(f"register {register}", f"!({when}) || {self.read(register, width)} == {value}")

    def read(self, signal: str, width: int) -> str:
        """The net of a signal of the tile."""
        self.inner[signal] = width
        return "tile_" + signal.replace(".", "_")

    def _lines(self) -> Iterator[str]:
        body = [*self._beats(), *self._slots(), *self._dues(), *self._results()]
        free = [(CLOCK, 1), *((port.name, port.width) for port in self.inputs)]
        free += [(self._net(pin), width) for pin, width in self.cut_outputs]
        yield f"module {WATCH} ("
        yield ",\n".join(f"  input wire {span(width)}{name}" for name, width in free)
        yield ");"
        links = [f".{port.name}({port.name})" for port in self.design.ports]
        links += [f".\\{pin} ({self._net(pin)})" for pin, _ in self.cut_outputs]
        links += [f".\\{signal} ({self.read(signal, width)})" for signal, width in [*self.inner.items()]]
        outputs = [(port.name, port.width) for port in self.design.ports if port.direction == "output"]
        outputs += [(self.read(signal, width), width) for signal, width in [*self.inner.items()]]
        yield from (f"  wire {span(width)}{name};" for name, width in outputs)
        yield f"  {self.design.name} tile ({', '.join(links)});"
        yield from body
        yield "  always @* begin"
        for number, (_, condition) in enumerate(self.claims):
            yield f"    claim_{number}: assert ({condition});"
        yield "  end"
        yield "endmodule\n"

    def _net(self, pin: str) -> str:
        return "cut_" + pin.replace(".", "_")

    def _clocked(self, name: str, width: int, value: str, reset: str | None = None) -> Iterator[str]:
        """A register; without ``reset`` it has any value after a reset."""
        yield f"  reg {span(width)}{name};"
        yield f"  always @(posedge clk) {name} <= {value if reset is None else f'rst ? {reset} : {value}'};"

    def _beats(self) -> Iterator[str]:
        for stream, width in (("a", self.rows * self.a), ("b", self.columns * self.b)):
            arrives = f"{stream}_arrives"
            yield f"  wire {arrives} = {stream}_tvalid && {stream}_tready;"
            yield from self._clocked(f"{stream}_is", 1, f"{arrives} || ({stream}_is && !works_0)", "1'b0")
            yield from self._clocked(f"{stream}_beat", width, f"{arrives} ? {stream}_tdata : {stream}_beat")
            yield from self._clocked(f"{stream}_end", 1, f"{arrives} ? {stream}_tlast : {stream}_end")
            self.require(f"a beat of {stream} is lost", f"!({arrives} && {stream}_is && !works_0)")
            self.require(f"{stream}_tready is 0 without reason", f"{stream}_is && !works_0 || {stream}_tready")
            self.relate(f"{stream}_full", 1, f"{stream}_is")
            self.relate(f"{stream}_0", width, f"{stream}_beat", f"{stream}_is")
            self.relate(f"{stream}_last", 1, f"{stream}_end", f"{stream}_is")
        yield from self._clocked("slot_first_0", 1, "works_0 ? slot_last_0 : slot_first_0", "1'b1")
        self.relate("first_0", 1, "slot_first_0")
        yield "  wire slot_is_0 = a_is && b_is;"
        yield "  wire slot_last_0 = a_end || b_end;"
        yield f"  wire {span(self.rows * self.a)}slot_a_0 = a_beat;"
        yield f"  wire {span(self.columns * self.b)}slot_b_0 = b_beat;"

    def _slots(self) -> Iterator[str]:
        others = [f"slot_is_{row} && slot_last_{row}" for row in range(1, self.rows)]
        ending = " || ".join(others) or "1'b0"
        for row in range(self.rows):
            if row:
                yield from self._slot(row)
            yield f"  wire works_{row} = {self.read(f'pe_{row}_0.enable', 1)};"
            yield f"  wire ends_{row} = works_{row} && slot_last_{row};"
            self.require(f"row {row} works without a beat", f"!works_{row} || slot_is_{row}")
            free = f" && !(slot_last_0 && ({ending}))" if row == 0 else ""
            self.require(f"row {row} waits without reason", f"!(room && slot_is_{row}{free}) || works_{row}")
            for column in range(self.columns):
                self._pins(row, column)
        both = [f"({one} && {other})" for k, one in enumerate(others) for other in others[:k]]
        self.require("two products end in the rows", f"!({' || '.join(both) or '1' + chr(39) + 'b0'})")

    def _slot(self, row: int) -> Iterator[str]:
        above, width = row - 1, (self.rows - row) * self.a
        moves = f"works_{above}"
        yield from self._clocked(f"slot_is_{row}", 1, f"{moves} || (slot_is_{row} && !works_{row})", "1'b0")
        self.require(f"a beat before row {row} is lost", f"!({moves} && slot_is_{row} && !works_{row})")
        a = f"slot_a_{above}[{width + self.a - 1}:{self.a}]"
        b = self.columns * self.b
        values = {"first": (1, f"slot_first_{above}"), "last": (1, f"slot_last_{above}")}
        for name, (bits, source) in {**values, "a": (width, a), "b": (b, f"slot_b_{above}")}.items():
            yield from self._clocked(f"slot_{name}_{row}", bits, f"{moves} ? {source} : slot_{name}_{row}")
            self.relate(f"{name}_{row}", bits, f"slot_{name}_{row}", f"slot_is_{row}")
        self.relate(f"valid_{row}", 1, f"slot_is_{row}")
        self.relate(f"last_{row}", 1, "1'b0", f"!slot_is_{row}")

    def _pins(self, row: int, column: int) -> None:
        """What an element reads: the beat of its row, and clear with the first beat of a product."""
        pe = f"pe_{row}_{column}"
        for pin, value in (
            ("clk", "clk"),
            ("rst", "1'b0"),
            ("enable", f"works_{row}"),
            ("clear", f"(works_{row} && slot_first_{row})"),
        ):
            self.require(f"{pe}.{pin}", f"{self.read(f'{pe}.{pin}', 1)} == {value}")
        for side, first in (("a", 0), ("b", column * self.b)):
            low = first
            for port in self.tile.pins(side):
                place = f"slot_{side}_{row}[{low + port.width - 1}:{low}]"
                pin = self.read(f"{pe}.{port.name}", port.width)
                self.require(f"{pe}.{port.name}", f"!works_{row} || {pin} == {place}")
                low += port.width
        self.cut_outputs += [(f"{pe}.acc", self.acc), (f"{pe}.overflow", 1)]

    def _dues(self) -> Iterator[str]:
        """Rows are one-hot words, bit r for row r; ``order_k`` is the row that ``due_k`` is if it is one.

        The accumulators of a row that waits are still those after its last step: no row has worked since.
        """
        rows, cycles = self.rows, self.cycles
        yield f"  wire {span(rows)}due_0 = {{{', '.join(f'ends_{row}' for row in reversed(range(rows)))}}};"
        yield f"  wire worked_0 = {' || '.join(f'works_{row}' for row in range(rows))};"
        yield from self._clocked("order_0", rows, self._turned("order_0", "|due_0"), f"{rows}'d1")
        for age in range(1, cycles + 1):
            due, order = (f"{name}_{age - 1}" for name in ("due", "order"))
            if age == cycles:
                due, order = f"waits ? due_{age} : {due}", f"waits ? order_{age} : {order}"
            yield from self._clocked(f"due_{age}", rows, due, f"{rows}'d0")
            yield from self._clocked(f"order_{age}", rows, order, f"{rows}'d1")
            yield from self._clocked(f"worked_{age}", 1, f"worked_{age - 1}", "1'b0")
            self.require("the history of rows", f"order_{age - 1} == {self._turned(f'order_{age}', f'|due_{age}')}")
            register = self.read("ending", cycles) + self._place(age - 1, cycles)
            self.require("register ending", f"{register} == |due_{age}")
            later = " || ".join(f"(|due_{other})" for other in range(1, age + 1))
            self.require("register step", f"room || !worked_{age} || {later}")
        for age in range(cycles + 1):
            self.require("rows end in another order", f"due_{age} == {rows}'d0 || due_{age} == order_{age}")
            hot = " || ".join(f"order_{age} == {rows}'d{1 << row}" for row in range(rows))
            self.require("the order is one row", hot)
        for row in range(rows):
            ending = f"slot_is_{row} && slot_last_{row}"
            if row:
                self.require("a product ends in its row", f"!({ending}) || order_0[{row}]")
        none = " && ".join(f"!(slot_is_{row} && slot_last_{row})" for row in range(1, rows)) or "1'b1"
        self.require("row 0 ends the next product", f"!({none}) || order_0[0]")
        self.relate("row", rows, f"order_{cycles}")
        younger = "".join(f" && !(|due_{age})" for age in range(1, cycles))
        yield f"  wire {span(rows)}due = due_{cycles};"
        yield f"  wire waits = (|due) && !room{younger};"
        yield "  wire read = (|due) && !waits;"
        yield from self._clocked("waited", 1, "waits", "1'b0")
        self.require("the accumulators of a row that waits change", f"!(waited && worked_{cycles})")

    def _place(self, number: int, width: int) -> str:
        """Which bit of a register; a register of one bit has no places."""
        return f"[{number}]" if width > 1 else ""

    def _turned(self, word: str, condition: str) -> str:
        if self.rows == 1:
            return word
        return f"({condition} ? {{{word}[{self.rows - 2}:0], {word}[{self.rows - 1}]}} : {word})"

    def _results(self) -> Iterator[str]:
        width, total, columns = self.columns * self.acc, self.columns * self.result, range(self.columns)
        for row in range(self.rows):
            words = [self._net(f"pe_{row}_{column}.acc") for column in reversed(columns)]
            yield f"  wire {span(width)}acc_{row} = {{{', '.join(words)}}};"
        choice = "".join(f"due[{row}] ? acc_{row} : " for row in range(self.rows - 1)) if self.rows > 1 else ""
        yield f"  wire {span(width)}column = {choice}acc_{self.rows - 1};"
        source, reads = ("taken", "arrives_1") if self.ranks else ("column", "read")
        if self.ranks:
            yield from self._clocked("taken", width, "column")
        words = []
        for column in columns:
            part = f"{source}[{(column + 1) * self.acc - 1}:{column * self.acc}]"
            if self.tile.readout is None:
                if self.ranks:
                    self.relate(f"column_{column}", self.acc, part, reads)
                words.append(part)
                continue
            unit = f"readout_{column}"
            self.require(f"{unit}.acc", f"!{reads} || {self.read(f'{unit}.acc', self.acc)} == {part}")
            pin = f"{unit}.{output(self.tile.readout.core.target)}"
            self.cut_outputs.append((pin, self.result))
            words.append(self._net(pin))
            if self.ranks > 1:
                self.cut_outputs.append((f"{unit}.out_valid", 1))
                self.require(f"{unit}.clk", f"{self.read(f'{unit}.clk', 1)} == clk")
                self.require(f"{unit}.in_valid", f"!{reads} || {self.read(f'{unit}.in_valid', 1)}")
        yield f"  wire arrives_0 = read, arrives_last_0 = due{self._place(self.rows - 1, self.rows)};"
        for rank in range(1, self.ranks + 1):
            yield from self._clocked(f"arrives_{rank}", 1, f"arrives_{rank - 1}", "1'b0")
            yield from self._clocked(f"arrives_last_{rank}", 1, f"arrives_last_{rank - 1}")
            place = self._place(rank - 1, self.ranks)
            self.require("register rounding", f"{self.read('rounding', self.ranks)}{place} == arrives_{rank}")
            last = f"{self.read('rounding_last', self.ranks)}{place} == arrives_last_{rank}"
            self.require("register rounding_last", f"!arrives_{rank} || {last}")
        yield f"  wire arrives = arrives_{self.ranks};"
        yield f"  wire {span(total + 1)}arriving = {{arrives_last_{self.ranks}, {', '.join(reversed(words))}}};"
        yield from self._queue(total + 1)

    def _queue(self, width: int) -> Iterator[str]:
        depth, most = self.depth, self.depth + 1
        bits = (2 * most).bit_length()
        yield "  wire leaves = y_tvalid && y_tready;"
        yield f"  wire {span(bits)}after = count - leaves;"
        yield from self._clocked("count", bits, "after + arrives", f"{bits}'d0")
        for place in reversed(range(depth)):
            kept = f"(leaves ? result_{place + 1} : result_{place})" if place < depth - 1 else f"result_{place}"
            yield from self._clocked(f"result_{place}", width, f"arrives && after == {place} ? arriving : {kept}")
            self.relate(f"queue_{place}", width, f"result_{place}", f"count > {place}")
            used = self.read("used", depth)
            self.require("register used", f"{used}[{place}] == (count > {place})")
        rounding = "".join(f" + arrives_{rank}" for rank in range(1, self.ranks + 1))
        ending = "".join(f" + (|due_{age})" for age in range(1, self.cycles + 1))
        yield f"  wire {span(bits)}rounded = count{rounding};"
        yield f"  wire {span(bits)}underway = rounded{ending};"
        yield f"  wire room = underway < {most};"
        self.relate("held", most.bit_length(), "underway")
        self.relate("step", 1, "room")
        self.require("results are lost", f"count <= {depth} && rounded <= {depth} && underway <= {most}")
        self.require("y_tvalid", "y_tvalid == (count != 0)")
        self.require("y_tdata", "!y_tvalid || {y_tlast, y_tdata} == result_0")
