"""The largest magnitude of a stream of numbers, and the scale that it gives."""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden import Format, Kind, WideFormat, get
from golden.arithmetic.amax import IGNORE, PROPAGATE, SPECIALS
from golden.arithmetic.blocks import POLICIES, default_policy, element_exponent, element_options
from golden.explain import hexadecimal
from golden.refusal import BadValue, check_choice, check_integer
from golden.wide import wide
from hwgen.blocks.arguments import check_names, code_format
from hwgen.blocks.block import Block, Option, cycles
from hwgen.blocks.options import FORMAT, LANES, MAX_LANES
from hwgen.blocks.pe import STAGES
from hwgen.blocks.quantizer import (
    CENTER,
    E8M0,
    POLICY,
    SOURCES,
    ElementRounding,
    ScaleShape,
    block_scale,
    block_scale_line,
)
from hwgen.blocks.words import Rules, label
from hwgen.datapath.arithmetic import any_of, extended, largest, named, reaches
from hwgen.datapath.order import Order
from hwgen.netlist.book import chapter
from hwgen.netlist.component import Checked
from hwgen.netlist.pipeline import MAX_STAGES, Pipelined
from hwgen.rounding.position import code_parts
from hwgen.rounding.rounder import Rounder
from hwgen.rounding.source import dividend_parts


class Amax(Checked, wiring.Component):
    """In each cycle ``amax = 0`` if ``clear``, then ``amax = max(amax, |bits|)`` over all lanes if ``enable``.

    ::

        bits ─► keys in the order of magnitudes ─► largest of the lanes ─┬─► larger one ─► code ─► amax ─► scale
                                                         key of amax ────┘

    Parameters
    ----------
    fmt : Format or str
        Format of the elements that the scale is for: one with a sign.
    source : Format or str
        Format of the numbers: ``binary32``, ``bfloat16``, ``binary16``, or one format of codes.
    lanes : int
        Numbers in each cycle, 1 to 32.
    policy, center
        See :class:`hwgen.Quantizer`.
    nan, infinity : str
        What a NaN or an infinity does: ``propagate`` or ``ignore``, see :data:`golden.arithmetic.amax.SPECIALS`.
    stages : int
        Ranks of registers between inputs and ``amax``, 0 to 16; the throughput stays one input per cycle.

    Members
    -------
    clear : ``In(1)``
        Set the largest magnitude to the smallest, code 0, before the comparison.
    enable : ``In(1)``
        Compare the numbers.
    bits : ``In(lanes * source width)``
        Numbers of all lanes, lane 0 in the least significant bits.
    amax : ``Out``
        The largest magnitude since ``clear``, with the inputs from ``stages + 1`` cycles ago, as
        :func:`golden.amax` returns it. Its sign bit is left out if it is always 0.
    scale : ``Out(8)``
        The scale that ``amax`` gives, a code of ``e8m0``, as :func:`golden.amax_scale` returns it; NaN if ``amax`` is
        not finite.
    """

    interleave = 1

    def __init__(
        self,
        fmt: Format | str,
        source: Format | str = "binary32",
        *,
        lanes: int = MAX_LANES,
        policy: str | None = None,
        center: int | None = None,
        nan: str = PROPAGATE,
        infinity: str = PROPAGATE,
        stages: int = 0,
    ):
        self.fmt = code_format("fmt", fmt)
        element_options("fmt", self.fmt)
        self.source = get(source) if source == "binary32" else code_format("source", source, is_factor=True)
        check_names("source", self.source, self.fmt)
        self.order = Order(self.source)
        if len(self.source.members) > 1 or not self.order.is_right:
            problem = (
                "must be one format whose codes can be put in the order of their magnitudes, beginning with code 0"
            )
            raise BadValue("source", f"{problem}, not {self.source.name!r}")
        self.through = _through(self.source)
        self.lanes = check_integer("lanes", lanes, 1, MAX_LANES)
        self.policy = check_choice("policy", default_policy(self.fmt) if policy is None else policy, POLICIES)
        self.top = element_exponent(self.fmt, center)
        self.center = None if self.top == element_exponent(self.fmt) else center
        self.nan, self.infinity = check_choice("nan", nan, SPECIALS), check_choice("infinity", infinity, SPECIALS)
        self.stages = check_integer("stages", stages, 0, MAX_STAGES)
        ports = {"clear": In(1), "enable": In(1), "bits": In(self.lanes * self.source.width)}
        super().__init__({**ports, "amax": Out(self.amax_width), "scale": Out(E8M0.width)})

    @property
    def amax_width(self) -> int:
        """Bits of ``amax``: those of a code, without the sign if that is always 0."""
        return self.source.width if self._has_sign_only_nan or self.source.has_lowest else self.source.magnitude_bits

    @property
    def key_width(self) -> int:
        """Bits of the keys that are compared."""
        source = self.source
        is_spared = source.has_tables and source.kinds[source.sign_bit] is Kind.NAN and not self._has_sign_only_nan
        return self.order.width - is_spared

    @property
    def _has_sign_only_nan(self) -> bool:
        """Whether the code with only the sign bit set may be ``amax``, because it is NaN."""
        source = self.source
        return source.has_tables and source.kinds[source.sign_bit] is Kind.NAN and self.nan == PROPAGATE

    def elaborate(self, _platform: object) -> Module:
        """The largest of the lanes, in a pipeline; the register; and the scale."""
        m = Module()
        core = Largest(self)
        unit = Pipelined(core, self.stages, entries={"amax_in": self.stages}) if self.stages else core
        m.submodules.largest = unit
        if self.stages:
            m.d.comb += unit.in_valid.eq(Const(0, 1))  # valid bits are not used: the latency is fixed
        clear, enable = self.clear, self.enable
        for rank in range(1, self.stages + 1):
            controls = Signal(name=f"clear_stage_{rank}"), Signal(name=f"enable_stage_{rank}")
            m.d.sync += [controls[0].eq(clear), controls[1].eq(enable)]
            clear, enable = controls
        before = named(m, "amax_before", Mux(clear, 0, self.amax))
        m.d.comb += [unit.bits.eq(self.bits), unit.amax_in.eq(before)]
        m.d.sync += self.amax.eq(Mux(enable, unit.amax_out, before))
        m.submodules.scale_of_amax = scale = Module()
        m.d.comb += self.scale.eq(self._scale(scale))
        return m

    def _scale(self, m: Module) -> Value:
        """The scale of ``amax``, which becomes a number of a source of quantizers first."""
        word, source = Cat(self.amax, Const(0, self.source.width - self.amax_width)), self.through
        if source != self.source:
            rounder = Rounder(source, source.roundings[0], source.overflows[0])
            word = named(m, "number", rounder.code(m, code_parts(m, self.source, word)))
        rounder = ElementRounding(self.fmt, element_options("fmt", self.fmt, source)).rounder(word)
        shape = ScaleShape.of(self.fmt, self.policy, self.top, source, rounder)
        numbers = [] if shape.reads_fields else [dividend_parts(m, source, word, rounder, shape.depth)]
        scale, is_special = block_scale(m, shape, [word], numbers)
        return scale | is_special.replicate(E8M0.width)


class Largest(wiring.Component):
    """The largest magnitude of the lanes and ``amax_in``; combinational."""

    def __init__(self, core: Amax):
        self.core = core
        width = core.amax_width
        super().__init__({"bits": In(len(core.bits)), "amax_in": In(width), "amax_out": Out(width)})

    def elaborate(self, _platform: object) -> Module:
        """Keys of the lanes, the largest, and the larger one of it and the key so far."""
        m, order = Module(), self.core.order
        source, lanes = order.fmt, range(self.core.lanes)
        chapter(m, f"Keys: words in the order of the magnitudes of {source.name}")
        keys = {}
        for lane in lanes:
            key = self._counted(order.key(self.bits.word_select(lane, source.width)))
            keys[f"number_{lane}"] = named(m, f"number_{lane}_key", key[: self.core.key_width])
        before = Cat(self.amax_in, Const(0, source.width - len(self.amax_in)))
        chapter(m, "Largest magnitude: a word that lacks a bit which another one has is out")
        of_lanes, _ = largest(m, "largest_of_lanes", keys)
        so_far = named(m, "key_so_far", order.key(before)[: self.core.key_width])
        key, _ = largest(m, "largest_key", {"lanes": of_lanes, "so_far": so_far})
        m.d.comb += self.amax_out.eq(order.code(m, extended(key, order.width))[: len(self.amax_out)])
        return m

    def _counted(self, key: Value) -> Value:
        """A lane's key, 0 if it is ignored."""
        infinity, nan = self.core.order.special_keys
        ignored: list[Value] = []
        if self.core.infinity == IGNORE and infinity is not None:
            ignored.append(key == infinity)
        if self.core.nan == IGNORE and nan is not None:
            ignored.append(reaches(key, nan))
        return key & ~any_of(ignored).replicate(len(key)) if ignored else key


def _through(source: Format) -> WideFormat:
    """The source of a quantizer that has all values of a format: the format itself, or the shortest one."""
    if source.name in SOURCES:
        return wide(source.name)
    for target in map(wide, reversed(SOURCES)):
        fits = source.precision <= target.precision and source.ulp_exponent >= target.ulp_exponent
        if fits and source.exponent_range[1] <= target.bias:
            return target
    problem = f"must be a format whose values {' or '.join(SOURCES)} has, to choose a scale, not {source.name!r}"
    raise BadValue("source", problem)


def _policy(policy: str, what: str) -> str:
    return f"{what} {'count as the smallest magnitude' if policy == IGNORE else 'propagate'}"


def _rules(core: Amax) -> Rules:
    assert E8M0.canonical_nan is not None
    specials = f"{_policy(core.nan, 'NaNs')}, {_policy(core.infinity, 'infinities')}"
    nan = hexadecimal(E8M0, E8M0.canonical_nan)
    return {"rounding": "none: amax is exact", "overflow": "none", "nan": f"{specials}; of both, the scale is {nan}"}


_FROM = Option(
    "from",
    Format,
    "format of the numbers: binary32, bfloat16, binary16, or a format of codes",
    argument="source",
    always=True,
    suffix="_{}",
)
_NAN = Option(
    "nan",
    str,
    "what a NaN does: it makes amax NaN, or is ignored",
    SPECIALS,
    suffix="_nan_{}",
)
_INFINITY = replace(
    _NAN, name="infinity", argument="infinity", attribute="infinity", suffix="_infinity_{}",
    help="what an infinity does: it is larger than all numbers, or is ignored",
)  # fmt: skip
AMAX = Block(
    "amax",
    "keep the largest magnitude of a stream of numbers, and the scale of a block that it gives",
    Amax,
    (replace(FORMAT, help="format of the elements that the scale is for: name (see `hwgen formats`), or .toml file"),),
    (
        replace(LANES, help="numbers compared in one step", always=True),
        _FROM,
        POLICY,
        CENTER,
        _NAN,
        _INFINITY,
        STAGES,
    ),
    clocked=True,
    title=lambda core: f"Largest magnitude of {core.lanes} x {core.source.name}, and scale for {label(core.fmt)}",
    lines=lambda core: [
        block_scale_line(core.policy, core.top),
        f"Specials: {_rules(core)['nan']}",
        f"Latency: {cycles(core.stages + 1)}, one input per cycle",
    ],
    rules=_rules,
    meanings={
        "rst": "synchronous reset of amax, active high",
        "clear": "sets amax to code 0, the smallest magnitude, before the comparison",
        "enable": "compares the numbers",
        "bits": "numbers of all lanes, lane 0 lowest",
        "amax": "largest magnitude since clear, with the inputs from latency cycles ago",
        "scale": "scale that amax gives, a code of e8m0",
    },
)
