"""The processing element: a fused MAC or dot product with one accumulator, or with several for a pipelined adder."""

from __future__ import annotations

from typing import Any, Unpack

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Flag, Format
from golden.arithmetic.options import SumKeywords
from golden.refusal import BadKind, BadValue, check_flag, check_integer
from hwgen.blocks.arguments import Accumulating
from hwgen.blocks.block import Block, Option, cycles
from hwgen.blocks.compressor import Compressor
from hwgen.blocks.dot import MEANINGS, Dot
from hwgen.blocks.mac import Mac
from hwgen.blocks.options import A_FORMAT, ACCUMULATION, B_FORMAT, BLOCK_SCALE, FABRIC, LANES, OPTIMIZE, RESULT
from hwgen.blocks.words import operands, sum_lines, sum_rules
from hwgen.datapath.arithmetic import named
from hwgen.datapath.compress import resolved
from hwgen.datapath.goal import AREA, ASIC
from hwgen.datapath.multiplier import operand_ports
from hwgen.datapath.ports import FLAG_BITS, flag_word, sum_ports
from hwgen.netlist.book import chapter
from hwgen.netlist.pipeline import MAX_STAGES, Pipelined


class Pe(Accumulating, wiring.Component):
    """In each cycle ``acc = 0`` if ``clear``, then ``acc = round(acc + a * b)`` if ``enable``; one product per lane.

    Registers in the multiplier add latency; the throughput stays one product per cycle. An adder with registers has not
    finished when the next product arrives. It therefore needs one accumulator for each sum in flight: cycle t uses
    accumulator t modulo ``interleave``. The user adds up the accumulators.

    Parameters
    ----------
    a_format, b_format : Format or str
        ``b_format`` defaults to ``a_format``.
    lanes : int
        Products per cycle, 1 to 32; :class:`hwgen.Dot` adds several.
    accumulator, terms, scale_bits, flags, zero, accumulator_rounding, random_bits, block_scale, fabric
        See :class:`hwgen.Dot`; it has no accumulator ``none``.
    optimize : str
        See :class:`hwgen.Mac` and, for several lanes or block scales, :class:`hwgen.Dot`.
    carry_save : bool
        With an ``exact`` accumulator only: whether the registers hold its value as two rows of bits, and ``acc`` is
        their sum. No carry then travels from end to end within the loop: see
        :class:`hwgen.blocks.compressor.Compressor`.
    stages : int
        Ranks of registers between inputs and accumulator, 0 to 16.
    interleave : int
        Number of accumulators, 1 to ``stages + 1``; ``interleave - 1`` ranks of registers are inside the adder.

    Members
    -------
    clear : ``In(1)``
        Set the accumulator to 0 before the addition.
    enable : ``In(1)``
        Add the product.
    a, b, scale, a_scale, b_scale : ``In``
        See :class:`hwgen.Dot`; the codes of all lanes are side by side, lane 0 in the least significant bits.
    random : ``In(random_bits)``
        See :class:`hwgen.Mac`; the words of a sum come with its codes.
    acc : ``Out``
        The accumulator that the inputs from ``stages + 1`` cycles ago were added to, after that addition.
    overflow : ``Out(1)``
        Whether a sum in this accumulator has overflowed since ``clear``: see :class:`hwgen.Mac`.
    flags : ``Out(4)``
        With ``flags`` only: the flags of all sums in this accumulator since ``clear``.
    """

    def __init__(
        self,
        a_format: Format | str,
        b_format: Format | str | None = None,
        *,
        lanes: int = 1,
        stages: int = 0,
        interleave: int = 1,
        block_scale: Format | str | None = None,
        fabric: str = ASIC,
        carry_save: bool = False,
        optimize: str = AREA,
        **sums: Unpack[SumKeywords],
    ):
        self._check(a_format, b_format, lanes=lanes, block_scale=block_scale, fabric=fabric, optimize=optimize, **sums)
        self.stages = check_integer("stages", stages, 0, MAX_STAGES)
        self.carry_save = self._check_carry_save(carry_save)
        self.interleave = _accumulators(interleave, self.stages)
        codes = operand_ports(self.a_format, self.b_format, self.scale_bits, self.lanes, self.block_scale)
        codes |= self._random_port()
        self._inputs, width = tuple(codes), self.accumulator_width
        outputs = {"acc": Out(width), **sum_ports(True, self.has_flags)}
        super().__init__({"clear": In(1), "enable": In(1), **codes, **outputs})

    @property
    def is_dot(self) -> bool:
        """Whether it contains a :class:`hwgen.Dot`, not a :class:`hwgen.Mac`."""
        return self.lanes > 1 or self.block_scale is not None or self.fabric != ASIC

    def _check_carry_save(self, carry_save: bool) -> bool:
        is_set = check_flag("carry_save", carry_save)
        if is_set and self.exact is None:
            raise BadValue("carry_save", f"needs accumulator 'exact', not {self.accumulator!r}")
        if is_set and self.fabric != ASIC:
            problem = f"needs fabric {ASIC!r}, not {self.fabric!r}: it adds without carry chains"
            raise BadValue("carry_save", problem)
        return is_set

    def elaborate(self, _platform: object) -> Module:
        """The pipelined unit that adds, and registers that delay the controls alongside it."""
        m = Module()
        entry = self.stages + 1 - self.interleave
        core = self._core(entry)
        unit = Pipelined(core, self.stages, entries={"acc_in": entry}) if self.stages else core
        m.submodules.mac = unit
        if self.stages:
            m.d.comb += unit.in_valid.eq(Const(0, 1))  # valid bits are not used: the latency is fixed
        for port in self._inputs:
            m.d.comb += getattr(unit, port).eq(getattr(self, port))
        name = "flags" if self.has_flags else "overflow"
        status = getattr(self, name)
        state, sticky, fresh = self.acc, status, getattr(unit, name, Const(0, 1))
        clear, enable = self.clear, self.enable
        if self.carry_save:
            state, sticky = Signal(len(unit.acc_in), name="state"), Signal(len(status), name=f"{name}_so_far")
            self._resolve(m, state, sticky)
            # Products are masked where they are short, unless a reset must drop those that are still in the pipeline.
            always = Const(1, 1)
            masked, enable = (always, enable) if self.stages else (enable, always)
            m.d.comb += unit.enable.eq(masked)

        def delayed(value: Value, key: str, rank: int) -> Signal:
            register = Signal(len(value), name=f"{key}_stage_{rank}")
            m.d.sync += register.eq(value)
            return register

        for rank in range(1, entry + 1):
            clear, enable = delayed(clear, "clear", rank), delayed(enable, "enable", rank)
        chapter(m, f"Sticky {name}: kept until clear, which also clears the accumulator")
        before = named(m, "acc_before", Mux(clear, 0, state))
        earlier = named(m, f"{name}_before", status & (~clear).replicate(len(status)))
        m.d.comb += unit.acc_in.eq(before)
        for rank in range(entry + 1, self.stages + 1):
            before, earlier = delayed(before, "acc_before", rank), delayed(earlier, f"{name}_before", rank)
            enable = delayed(enable, "enable", rank)
        m.d.sync += [
            state.eq(Mux(enable, unit.acc_out, before)),
            sticky.eq(earlier | (enable.replicate(len(status)) & fresh)),
        ]
        if self.has_flags:
            m.d.comb += self.overflow.eq(self.flags[Flag.OVERFLOW.bit_length() - 1])
        return m

    def _core(self, entry: int) -> Compressor | Dot | Mac:
        """The unit that adds; it reads the accumulator ``entry`` cycles after the codes."""
        formats = self.a_format, self.b_format
        if self.carry_save:
            return Compressor(
                *formats,
                lanes=self.lanes,
                terms=self.terms,
                scale_bits=self.scale_bits,
                flags=self.has_flags,
                state_last=entry > 0,
            )
        options: dict[str, Any] = {"overflow": not self.has_flags, "optimize": self.optimize, **self.sums.keywords}
        if not self.is_dot:
            return Mac(*formats, **options)
        return Dot(*formats, lanes=self.lanes, block_scale=self.block_scale, fabric=self.fabric, **options)

    def _resolve(self, m: Module, state: Signal, sticky: Signal) -> None:
        """Outputs from a state in carry-save form, which overflows in the cycle in which its value does not fit.

        After an overflow the guard bit means nothing, but then the sticky bit is set, and the value wraps as it does
        without a guard bit.
        """
        width = len(self.acc) - 3
        rows, specials = state[:-3], state[-3:]
        value, overflow = resolved(m, (rows[: width + 1], rows[width + 1 :]))
        m.d.comb += self.acc.eq(Cat(value, specials))
        if self.has_flags:
            zero = Const(0, 1)
            m.d.comb += self.flags.eq(sticky | flag_word(zero, zero, overflow, zero))
        else:
            m.d.comb += self.overflow.eq(sticky | overflow)


def _accumulators(interleave: object, stages: int) -> int:
    try:
        return check_integer("interleave", interleave, 1, stages + 1)
    except (BadKind, BadValue) as refusal:
        problem = f"must be an integer from 1 to stages + 1, which is {stages + 1}, not {interleave!r}"
        raise type(refusal)("interleave", problem) from None


def _title(core: Pe) -> str:
    sums = "multiply-accumulate" if core.lanes == 1 else f"dot product of {core.lanes} lanes"
    return f"Processing element, fused {sums}: {operands(core)} into {core.accumulator}"


def _lines(core: Pe) -> list[str]:
    count = f"{core.interleave} accumulator{'s, used in turn' if core.interleave > 1 else ''}"
    return [*sum_lines(core), f"Latency: {cycles(core.stages + 1)}, one input per cycle; {count}"]


_CARRY_SAVE = Option(
    "carry-save",
    bool,
    "with --accumulator exact: keep the state as two rows of bits, so that the loop has no carry from end to end; "
    "acc is their sum",
    only_with=("accumulator", ("exact",)),
    suffix="_carry_save",
    line=lambda core: f"Carry-save: the registers hold two rows of {core.exact.value_width + 1} bits; acc is their sum",
)
STAGES = Option(
    "stages", int, "ranks of pipeline registers before the accumulator", range(MAX_STAGES + 1), suffix="_s{}"
)
INTERLEAVE = Option(
    "interleave",
    int,
    "number of accumulators, used in turn; N - 1 of the ranks are inside the adder",
    range(1, MAX_STAGES + 2),
    suffix="_i{}",
)
PE = Block(
    "pe",
    "processing element: a MAC with its accumulator, clear, enable and overflow",
    Pe,
    (A_FORMAT, B_FORMAT),
    (LANES, *ACCUMULATION, BLOCK_SCALE, *RESULT, FABRIC, OPTIMIZE, _CARRY_SAVE, STAGES, INTERLEAVE),
    codes=("a", "b"),
    clocked=True,
    title=_title,
    lines=_lines,
    rules=sum_rules,
    meanings={
        **MEANINGS,
        "rst": "synchronous reset of the accumulators, active high",
        "clear": "sets the accumulator to 0 before the addition",
        "enable": "adds the product",
        "acc": "accumulator that the inputs from latency cycles ago were added to, after that addition",
        "overflow": "a sum in the accumulator at acc has overflowed since clear",
        "flags": f"status of all sums in the accumulator at acc since clear: {FLAG_BITS}",
    },
)
