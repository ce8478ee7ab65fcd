"""Chapters of emitted Verilog: their order, what stands in them, and that the docs explain each."""

import re
from functools import cache

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.blocks.catalog import build
from hwgen.netlist.book import attributes, chapter
from hwgen.netlist.emit import emit
from rtl_tests.support.modules import modules
from rtl_tests.support.paths import ROOT
from rtl_tests.support.toys import Toy

MAC = ["Decode a", "Decode b", "Product", "Accumulator", "Exponent difference", "Align", "Add", "Normalize", "Round"]
FAST = [
    "Decode a", "Decode b", "Product", "Accumulator", "Specials", "Exponent difference",
    "Far exponents", "Far align", "Far add", "Far round", "Far result", "Close subtract", "Close normalize",
]  # fmt: skip
DESIGNS = {
    "mac": ("mac", "hif8", {}),
    "mac with flags": ("mac", "ocp_e4m3", {"flags": True, "accumulator": "bfloat16"}),
    "mac into dlfloat16": ("mac", "ibm_1_4_3", {"accumulator": "dlfloat16"}),
    "fast mac": ("mac", "ocp_e5m2", {"optimize": "speed", "flags": True}),
    "fast mac of long products": ("mac", "gc_1_2_5_b1", {"optimize": "speed"}),
    "exact mac": ("mac", "hif8", {"accumulator": "exact"}),
    "pipelined mac": ("mac", "ocp_e5m2", {"stages": 2}),
    "processing element": ("pe", "ocp_e4m3", {}),
    "processing element with flags": ("pe", "hif8", {"flags": True}),
    "processing element in carry-save form": ("pe", "ocp_e4m3", {"accumulator": "exact", "carry_save": True}),
    "dot": ("dot", "ocp_e4m3", {"lanes": 2}),
    "aligned dot": ("dot", "ocp_e4m3", {"lanes": 2, "accumulator": "aligned13", "flags": True}),
    "aligned dot in a frame": ("dot", "e2m1", {"lanes": 2, "accumulator": "aligned13", "block_scale": "e8m0"}),
    "bulk dot": ("dot", "hif8", {"lanes": 2, "accumulator": "rvbna", "flags": True, "block_scale": "e8m0"}),
    "stochastic mac": ("mac", "hif8", {"accumulator": "dlfloat16", "accumulator_rounding": "stochastic"}),
    "dot without accumulator": ("dot", "ocp_e4m3", {"accumulator": "none", "target": "binary16"}),
    "fast dot": ("dot", "ocp_e4m3", {"lanes": 2, "optimize": "speed"}),
    "fast aligned dot": ("dot", "ocp_e4m3", {"lanes": 2, "accumulator": "aligned13", "optimize": "speed"}),
    "fast dot with a scale": ("dot", "e2m1", {"lanes": 2, "block_scale": "ue4m3", "optimize": "speed"}),
    "fast readout": ("readout", "ocp_e4m3", {"optimize": "speed"}),
    "encoder": ("encoder", "ocp_e4m3", {"flags": True}),
    "hybrid encoder": ("encoder", "hif8", {"rounding": "hybrid"}),
    "encoder of subnormals": ("encoder", "ocp_e5m2", {"source": "binary16"}),
    "quantizer": ("quantizer", "ocp_e4m3", {"lanes": 2}),
    "largest magnitude": ("amax", "ocp_e4m3", {"lanes": 2}),
    "decoder": ("decoder", "hif8", {"target": "binary16"}),
    "readout": ("readout", "hif8", {}),
    "random words": ("random", "", {"lanes": 3}),
    "encoder with random words": ("encoder", "hif8", {"rounding": "stochastic", "random": "lfsr"}),
}


@cache
def verilog(name: str) -> str:
    block, fmt, options = DESIGNS[name]
    return build(block, *filter(None, [fmt]), **options).verilog()


def chapters(text: str) -> dict[str, str]:
    """The text below each heading, by the step that the heading names."""
    parts = re.split(r"\n\n  // ", text)[1:]
    return {re.split(r"[:\n]", part)[0]: part.partition("\n")[2] for part in parts}


def nets(text: str) -> list[str]:
    return re.findall(r"^  (?:wire|reg) (?:\[\d+:\d+\] )?(\w+)", text, flags=re.M)


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("mac", [*MAC, "Specials"]),
        ("mac with flags", [*MAC, "Specials", "Flags"]),
        ("pipelined mac", [*MAC, "Specials"]),
        ("processing element", [*MAC, "Specials", "Sticky overflow"]),
        (
            "processing element in carry-save form",
            [*MAC[:3], "Fixed point of row", "Compress", "Specials", "Resolve", "Sticky overflow"],
        ),
        ("fast mac", [*FAST, "Select", "Flags"]),
        ("fast mac of long products", [*FAST, "Close round", "Select"]),
        ("exact mac", ["Decode a", "Decode b", "Product", "Fixed point of product", "Add", "Specials"]),
        ("random words", ["Sequence", "Register"]),
        ("encoder", ["Source", "Position", "Align", "Lower neighbour", "Round", "Code", "Flags"]),
        ("hybrid encoder", ["Source", "Position", "Align", "Lower neighbour", "Round", "Code"]),
        ("decoder", ["Decode", "Position", "Align", "Lower neighbour", "Round", "Code"]),
    ],
)
def test_chapters_follow_the_computation(name, steps):
    assert list(chapters(verilog(name))) == steps


def test_a_dot_product_has_its_lanes_in_one_chapter_and_their_steps_in_a_module_below():
    text = verilog("dot")
    top, lane = modules(text)
    assert lane == f"{top}_lane"
    assert [*chapters(modules(text)[top])][:2] == ["Lanes", "Sum"]
    assert [*chapters(modules(text)[lane])] == [*MAC[:3], "Fixed point of row"]
    assert len(re.findall(rf"^  {lane} lane_\d \(", text, flags=re.M)) == 2


def test_a_pipeline_has_no_modules_of_lanes():
    text = build("dot", "ocp_e4m3", stages=2).verilog()
    assert len(modules(text)) == 1
    assert [step for step in chapters(text) if "lane" in step][:3] == [f"{step} of lane_0" for step in MAC[:3]]


def test_nets_stand_in_the_chapter_of_their_name():
    parts = chapters(verilog("mac"))
    for step, prefix in (("Decode a", "operand_a__"), ("Decode b", "operand_b__"), ("Product", "product__")):
        assert nets(parts[step])
        assert {net for net in nets(verilog("mac")) if net.startswith(prefix)} <= {*nets(parts[step])}
    for step, net in (
        ("Exponent difference", "difference"),
        ("Align", "trailing"),
        ("Add", "total"),
        ("Round", "round_up"),
    ):
        assert net in nets(parts[step])


def test_headings_say_the_widths():
    for name in ("mac", "encoder", "decoder"):
        headings = re.findall(r"\n\n  // (.*)", verilog(name))
        assert sum("bits" in heading for heading in headings) > 0.5 * len(headings)
    assert "significand 4 x 4 = 8 bits" in verilog("mac")


def test_nets_have_names_of_their_own():
    names = [net for name in DESIGNS for net in nets(verilog(name))]
    assert len([net for net in names if re.search(r"_part(_\d+)?$", net)]) < 0.1 * len(names)


def test_every_step_is_in_the_docs():
    page = (ROOT / "docs/verilog.md").read_text()
    documented_steps = {
        step for row in re.findall(r"^\| ([A-Z][\w ,]*) \|", page, flags=re.M) for step in row.split(", ")
    }
    steps = {
        re.sub(r"( of)? ((lane|element)_\d|block|product|row|the accumulator)$", "", step)
        for name in DESIGNS
        for step in chapters(verilog(name))
    }
    assert documented_steps <= steps
    others = {step for step in steps - documented_steps if f"*{step}*" not in page}
    assert not others


class Inverter(wiring.Component):
    """``y = ~x`` in a chapter, and the inverters of ``parts`` in front of it."""

    def __init__(self, title: str, parts: dict[str, wiring.Component] | None = None):
        super().__init__({"x": In(4), "y": Out(4)})
        self.title, self.parts = title, parts or {}

    def elaborate(self, platform: object) -> Module:
        m, value = Module(), self.x
        for name, part in self.parts.items():
            m.submodules[name] = part
            m.d.comb += part.x.eq(value)
            value = part.y ^ self.x
        chapter(m, self.title)
        result = Signal(4, name="result", attrs=attributes(m))
        m.d.comb += [result.eq(~value & self.x), self.y.eq(result + 1)]
        return m


@pytest.mark.parametrize(
    ("title", "steps"),
    [
        ("Round: 4 bits", ["Round of outer.inner: 4 bits", "Round of outer: 4 bits", "Round of top: 4 bits"]),
        ("Round", ["Round of outer.inner", "Round of outer", "Round of top"]),
    ],
)
def test_chapters_of_one_title_name_their_instance(title, steps):
    """Also if one instance is within the other."""
    text = emit(Inverter(title, {"outer": Inverter(title, {"inner": Inverter(title)})}), "top")
    assert re.findall(r"\n\n  // (.*)", text) == steps


def test_a_component_without_chapters_has_none():
    assert not chapters(emit(Toy(), "toy"))
