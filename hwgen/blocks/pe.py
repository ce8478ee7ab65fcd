"""The processing element: a fused MAC or dot product with its accumulators, of which it has several where an adder is pipelined."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Flag, Format
from hwgen.blocks.dot import Dot, check_lanes
from hwgen.blocks.mac import Mac, operands
from hwgen.datapath.code_ports import code_ports
from hwgen.datapath.flags import flag_port
from hwgen.datapath.multiplier import scale_port
from hwgen.netlist.pipeline import Pipelined, check_stages


class Pe(wiring.Component):
    """``acc = (0 if clear else acc) + (a * b if enable else nothing)``, each sum rounded once; with several lanes, all their products.

    With ranks of registers in the multiplier the products come later, and still one a cycle. An adder with registers in it is not done
    when the next product comes, so that there must be an accumulator for each of the sums on their way: cycle t is accumulator t modulo
    ``interleave``'s. Their sum is the user's to make.

    Parameters
    ----------
    a_format, b_format, accumulator, terms, scale_bits, flags
        As of :class:`hwgen.blocks.mac.Mac`.
    stages : int
        Ranks of registers between inputs and accumulator, 0 to 16.
    interleave : int
        Accumulators, 1 to ``stages + 1``: all but the last ``interleave - 1`` ranks are in front of the adder.
    lanes : int
        Products a cycle, 1 to 16; of more than one it is :class:`hwgen.blocks.dot.Dot` that adds them.

    Members
    -------
    clear : ``In(1)``
        Begin at 0.
    enable : ``In(1)``
        Whether a product is added.
    a, b, scale : ``In``
        Codes, and the exponent of a power of two if there is one.
    acc : ``Out``
        The accumulator that the inputs of ``stages + 1`` cycles ago went to, after them.
    overflow : ``Out(1)``
        Whether one of its sums since ``clear`` had no room: see :class:`hwgen.blocks.mac.Mac`.
    flags : ``Out(4)``
        If asked for: the flags of all its sums since ``clear``.
    """

    def __init__(
        self,
        a_format: Format | str,
        b_format: Format | str | None = None,
        accumulator: str = "binary16",
        terms: int = 1024,
        stages: int = 0,
        interleave: int = 1,
        lanes: int = 1,
        scale_bits: int = 0,
        flags: bool = False,
    ):
        check_stages(stages)
        check_interleave(interleave, stages)
        self.stages, self.entry = stages, stages + 1 - interleave
        self._flags = flags
        self._core: Mac | Dot = (
            Mac(a_format, b_format, accumulator, terms, not flags, scale_bits, flags)
            if check_lanes(lanes) == 1
            else Dot(a_format, b_format, accumulator, lanes, terms, not flags, scale_bits, flags)
        )
        fa, fb = operands(a_format, b_format)
        codes = code_ports("a", fa, lanes) | code_ports("b", fb, lanes) | scale_port(scale_bits)
        self._names = tuple(codes)
        width = len(self._core.acc_in)
        super().__init__({"clear": In(1), "enable": In(1), **codes, "acc": Out(width), "overflow": Out(1), **flag_port(flags)})

    def elaborate(self, _platform: object) -> Module:
        """The MAC, its pipeline, and what goes past it."""
        m = Module()
        unit = Pipelined(self._core, self.stages, entries={"acc_in": self.entry}) if self.stages else self._core
        m.submodules.mac = unit
        if self.stages:
            m.d.comb += unit.in_valid.eq(Const(0, 1))  # whoever reads the accumulators knows when
        for name in self._names:
            m.d.comb += getattr(unit, name).eq(getattr(self, name))
        clear, enable = self.clear, self.enable
        for rank in range(1, self.entry + 1):
            clear, enable = self._kept(m, "clear", rank, clear), self._kept(m, "enable", rank, enable)
        sticky, said, name = (self.flags, unit.flags, "flags") if self._flags else (self.overflow, unit.overflow, "overflow")
        before, lost = Signal(len(self.acc), name="acc_before"), Signal(len(sticky), name=f"{name}_before")
        m.d.comb += [before.eq(Mux(clear, 0, self.acc)), lost.eq(sticky & (~clear).replicate(len(sticky))), unit.acc_in.eq(before)]
        held: Value = before
        earlier: Value = lost
        for rank in range(self.entry + 1, self.stages + 1):
            held, earlier = self._kept(m, "acc_before", rank, held), self._kept(m, f"{name}_before", rank, earlier)
            enable = self._kept(m, "enable", rank, enable)
        m.d.sync += [self.acc.eq(Mux(enable, unit.acc_out, held)), sticky.eq(earlier | (enable.replicate(len(sticky)) & said))]
        if self._flags:
            m.d.comb += self.overflow.eq(self.flags[Flag.OVERFLOW.bit_length() - 1])
        return m

    @staticmethod
    def _kept(m: Module, name: str, rank: int, value: Value) -> Signal:
        register = Signal(len(value), name=f"{name}_stage_{rank}")
        m.d.sync += register.eq(value)
        return register


def check_interleave(interleave: object, stages: int) -> int:
    """Return a number of accumulators, or raise ValueError."""
    if isinstance(interleave, bool) or not isinstance(interleave, int) or not 1 <= interleave <= stages + 1:
        raise ValueError(f"interleave must be an integer from 1 to stages + 1, which is {stages + 1}, not {interleave!r}")
    return interleave
