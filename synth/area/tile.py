"""Area jobs of tiles: besides the figure, the registers, multipliers and memories of the netlist."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hwgen.netlist.emit import CLOCK, Port
from synth.area.digest import fingerprint, sha256
from synth.area.jobs import Job
from synth.area.recipes import STOCK
from synth.area.targets import Target

RESOURCES = {
    "ff": r"TRELLIS_FF|SB_DFF\w*|FD[RSCP]E(_1)?|MISTRAL_FF|\$_S?DFFE?_\w+|DFF\w*",
    "dsp": r"MULT18X18D|SB_MAC16|DSP48E1|MISTRAL_MUL\w+",
    "memory": r"TRELLIS_DPR16X4|DP16KD|SB_RAM40_4K\w*|RAM\w+|MISTRAL_(MLAB|M10K)",
}
"""Names of cells by resource: registers, multipliers, memories."""

_PINS = (Port(CLOCK, "input", 1), Port("bit_in", "input", 1), Port("bit_out", "output", 1))


@dataclass(frozen=True)
class TileJob(Job):
    """A tile measured on one target; its metrics have the numbers of cells of each of :data:`RESOURCES`.

    Its elements and readouts are mapped by themselves, unless it is placed and routed as a whole.

    A device has too few pins for the streams: where it is placed and routed, its inputs are bits of a shift register,
    and its outputs are added to a register, bit by bit. The registers and LUTs of these are not counted.
    """

    around: tuple[int, int] = (0, 0)
    """Registers, and LUTs, that are not counted."""

    @classmethod
    def of(cls, *, verilog: str, top: str, **fields: Any) -> "TileJob":
        """The job for the text of a tile and its parts."""
        return cls(verilog=_kept(verilog, top), top=top, **fields)

    @classmethod
    def around_parts(cls, *, verilog: str, top: str, **fields: Any) -> "TileJob":
        """The job for what is around the parts, whose modules are left empty."""
        head, *_ = re.split(rf"^module {top}_", verilog, maxsplit=1, flags=re.M)
        parts = re.findall(rf"^module {top}_.*?\);$", verilog, re.M | re.S)
        return cls(
            verilog="\n".join([head, *(f"(* blackbox *)\n{part}\nendmodule" for part in parts)]), top=top, **fields
        )

    @classmethod
    def routed(cls, *, verilog: str, top: str, ports: tuple[Port, ...], **fields: Any) -> "TileJob":
        """The job that places and routes a tile by Yosys's own recipe."""
        widths = {way: sum(port.width for port in ports if port.direction == way) for way in ("input", "output")}
        inputs, outputs = widths["input"] - 1, widths["output"]  # without the clock
        text = f"{_kept(verilog, top)}\n{_pins(top, ports, inputs, outputs)}"
        around = inputs + outputs + 2, outputs  # and those of the two pins
        return cls(verilog=text, top=f"{top}_pins", ports=_PINS, recipe=STOCK, around=around, **fields)

    @cached_property
    def script(self) -> str:
        """See :class:`synth.area.jobs.Job`; what is placed and routed has no hierarchy, and no cells without a load."""
        flat = "setattr -mod -unset keep_hierarchy *\nflatten\nopt_clean"
        return re.sub("^flatten$", lambda _: flat, super().script, flags=re.M)

    @property
    def _place(self) -> Target:
        target = super()._place

        def measure(counts: Mapping[str, int], area: float) -> dict[str, float]:
            counts = {cell: count for cell, count in counts.items() if not cell.startswith(f"{self.top}_")}
            found = {
                name: sum(count for cell, count in counts.items() if re.fullmatch(cells, cell))
                for name, cells in RESOURCES.items()
            }
            metrics = {**target.measure(counts, area), **found}
            registers, luts = self.around
            return metrics | {"ff": found["ff"] - registers, target.metric: metrics[target.metric] - luts}

        return replace(target, measure=measure)

    @property
    def key(self) -> str:
        """See :class:`synth.area.jobs.Job`; other metrics need another key."""
        return sha256(super().key, fingerprint(__name__))


def _kept(verilog: str, top: str) -> str:
    """The text of a tile whose parts are mapped by themselves."""
    return re.sub(rf"^module {top}_", r"(* keep_hierarchy *)\n\g<0>", verilog, flags=re.M)


def _pins(top: str, ports: Sequence[Port], inputs: int, outputs: int) -> str:
    """The module with few pins around a tile."""
    low = {"input": 0, "output": 0}
    links = []
    for port in ports:
        if port.name == CLOCK:
            continue
        bus, start = f"{port.direction}s", low[port.direction]
        links.append(f".{port.name}({bus}[{start + port.width - 1}:{start}])")
        low[port.direction] += port.width
    return f"""\
module {top}_pins (input wire clk, input wire bit_in, output wire bit_out);
  reg [{inputs - 1}:0] inputs;
  reg [{outputs - 1}:0] sums;
  wire [{outputs - 1}:0] outputs;
  always @(posedge clk) begin
    inputs <= {{inputs[{inputs - 2}:0], bit_in}};
    sums <= {{sums[{outputs - 2}:0], sums[{outputs - 1}]}} ^ outputs;
  end
  assign bit_out = sums[{outputs - 1}];
  {top} tile (.clk(clk), {", ".join(links)});
endmodule
"""
