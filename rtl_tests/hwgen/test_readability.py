"""Emitted Verilog reads like a book in every format: statements in their chapters, true widths, names that say what."""

import re
from itertools import product
from operator import itemgetter

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Fragment, Value

from golden import names
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from hwgen.netlist.book import ATTRIBUTE
from rtl_tests.support.modules import modules
from rtl_tests.support.selection import in_turn, kind_of_module, one_of_each, only

PAIRS = ("ocp_e4m3+ocp_e5m2", "hif8+binary8p3", "binary8p4+binary8p3")
STEPS = [
    "Source", "Subnormals of the source", "Holes", "Decode", "Position", "Decode a", "Decode b", "Product",
    "Fixed point of row", "Compress", "Accumulator", "Exponent difference", "Align", "Lower neighbour", "Add",
    "Normalize", "Round", "Code", "Specials", "Flags", "Resolve", "Sticky overflow", "Sticky flags",
]  # fmt: skip
FAST = [
    "Decode a", "Decode b", "Product", "Accumulator", "Specials", "Exponent difference", "Far exponents", "Far align",
    "Far add", "Far round", "Far result", "Close subtract", "Close normalize", "Close round", "Select", "Flags",
    "Sticky overflow", "Sticky flags",
]  # fmt: skip
FLAGS = "Flags: inexact, underflow, overflow, invalid"
DESIGNS = [
    *(("decoder", name, {"target": target}) for name in (*names(), *PAIRS) for target in ("unpacked", "binary16")),
    *(("encoder", name, {"source": "binary16", "flags": True}) for name in names()),
    *(("mac", name, {"flags": True, "scale_bits": 4}) for name in (*names(), *PAIRS)),
    ("encoder", "hif8", {"flags": True}),
    ("encoder", "ibm_1_4_3", {"source": "bfloat16", "rounding": "toward_zero"}),
    *(("mac", name, {"stages": 3}) for name in ("hif8", "e5m2_nosub", "ibm_1_4_3", "ibm_fp9_1_5_3")),
    *(("mac", name, {"flags": True, "scale_bits": 4, "optimize": "speed"}) for name in (*names(), *PAIRS)),
    *(
        ("mac", "ocp_e4m3", {"accumulator": name, "optimize": "speed"})
        for name in ("bfloat16", "dlfloat16", "binary32")
    ),
    ("mac", "ocp_e5m2", {"stages": 3, "optimize": "speed"}),
    ("pe", "hif8", {"optimize": "speed"}),
    ("pe", "ocp_e4m3", {}),
    ("pe", "hif8+binary8p3", {"flags": True}),
    ("pe", "ocp_e5m2", {"accumulator": "exact", "carry_save": True, "flags": True}),
    ("pe", "e5m2_nosub", {"stages": 2, "interleave": 2}),
]


def chapters(text: str) -> list[tuple[str, str]]:
    """Headings, each on one line, and the statements below; those before all chapters have the heading ""."""
    body = text.partition("\n);\n")[2].replace("\n  //  ", " ")
    first, *others = re.split(r"^\n  // ", body, flags=re.M)
    return [("", first), *((part.partition("\n")[0], part.partition("\n")[2]) for part in others)]


def step(heading: str) -> str:
    return heading.partition(":")[0]


def declared(statements: str) -> dict[str, int]:
    """Widths of the nets that some statements declare."""
    nets = re.findall(r"^  (?:wire|reg) (?:\[(\d+):(\d+)\] )?(\w+)", statements, flags=re.M)
    return {name: int(high or 0) - int(low or 0) + 1 for high, low, name in nets}


def steps_by_name(design: Design) -> dict[str, set[str]]:
    """The steps in which the component creates signals, by all names that these can have."""
    component = design.component
    flat = component.signature.flatten(component)
    ports = [("__".join(map(str, path)), Value.cast(value), None) for path, _, value in flat]
    paths = rtlil.convert_fragment(Fragment.get(component, None), ports, "top", emit_src=False)[1]
    steps: dict[str, set[str]] = {}
    for signal, path in paths.items():
        for start in range(1, len(path)):
            steps.setdefault("__".join(path[start:]), set()).add(step(signal.attrs.get(ATTRIBUTE, "")))
    return steps


def misplaced(parts: list[tuple[str, str]], steps: dict[str, set[str]]) -> list[str]:
    """Nets that stand neither in the chapter that creates their signal nor in an earlier one that reads them."""
    order = [step(heading) for heading, _ in parts]
    wrong = []
    for place, (_, statements) in enumerate(parts):
        for net in declared(statements):
            own, *others = steps.get(net, {order[place]})
            is_read = len(re.findall(rf"\b{net}\b", statements)) > 1
            if own in order[1:] and not others and own != order[place]:
                wrong += [] if is_read and place < order.index(own) else [net]
    return wrong


def wrong_widths(parts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Headings that state another width than the chapter declares, with the net."""
    wrong = []
    for heading, statements in parts:
        for net, width in declared(statements).items():
            stated = re.findall(rf"\b{net.rpartition('__')[2]} (?:\d+ x \d+ = )?(\d+) bits?\b", heading)
            wrong += [(heading, net) for number in stated if int(number) != width]
    return wrong


@pytest.mark.parametrize(("block", "name", "options"), one_of_each(kind_of_module, DESIGNS))
def test_modules_of_all_formats(block, name, options):
    parts = chapters(build(block, name, **options).verilog())
    assert not re.findall(r"^  (?:wire|assign)", parts[0][1], flags=re.M)
    assert all(re.search(r"^  (?:wire|reg|assign) ", statements, flags=re.M) for _, statements in parts[1:])
    steps = [step(heading) for heading, _ in parts[1:]]
    assert steps == sorted(steps, key=(FAST if "optimize" in options else STEPS).index)
    if "stages" not in options:
        assert not misplaced(parts, steps_by_name(build(block, name, **options)))
    assert {*re.findall(r"^  assign (\w+)", dict(parts).get(FLAGS, ""), flags=re.M)} <= {"flags", "overflow"}
    assert not wrong_widths(parts)
    assert not too_many_unnamed(parts)


SUM_STEPS = {
    "area": ["Lanes", "Sum", "Align", "Add", "Normalize", "Round", "Specials", "Flags"],
    "speed": ["Lanes", "Align", "Compress", "Add", "Specials", "Normalize", "Round", "Flags"],
}
SUMS = [*product(("area", "speed"), ("binary32", "bfloat16"), ("ocp_e4m3", "hif8", "e2m1"))]


@pytest.mark.parametrize(("goal", "accumulator", "name"), only(in_turn(itemgetter(0, 1), SUMS), SUMS))
def test_a_dot_product_has_the_steps_of_the_sum_and_a_module_for_its_lanes(goal, accumulator, name):
    """``make test`` has each goal with each accumulator, in which the formats take turns."""
    design = build("dot", name, accumulator=accumulator, flags=True, optimize=goal)
    top, *others = (chapters(text) for text in modules(design.verilog()).values())
    assert [step(heading) for heading, _ in top[1:]] == SUM_STEPS[goal]
    for parts in [top, *others]:
        assert not misplaced(parts, steps_by_name(design))
        assert not wrong_widths(parts)
        assert not too_many_unnamed(parts)
    assert [step(heading) for heading, _ in others[0][1:]][-2:] == ["Product", "Fixed point of row"]


def too_many_unnamed(parts: list[tuple[str, str]]) -> list[str]:
    """The nets that are named after others, if they are 5% of all or more."""
    nets = [net for _, statements in parts for net in declared(statements)]
    unnamed = [net for net in nets if re.search(r"_part(_\d+)?$", net)]
    return unnamed if len(nets) >= 20 and len(unnamed) >= 0.05 * len(nets) else []


@pytest.mark.parametrize("name", ["ocp_e5m2", "binary8p3", "e5m3", "ieee_e3m4", "ocp_e4m3+ocp_e5m2"])
def test_a_wide_decoder_has_all_steps(name):
    """Only formats with values below the smallest normal one of binary16 need rounding."""
    parts = chapters(build("decoder", name, target="binary16").verilog())
    is_normal = name == "ieee_e3m4"
    before, after = ([], []) if is_normal else (["Position", "Align"], ["Round"])
    assert [step(heading) for heading, _ in parts[1:]] == ["Decode", *before, "Lower neighbour", *after, "Code"]


def test_a_wrong_place_and_a_wrong_width_are_found():
    parts = [("Add: total 4 bits", "  wire [4:0] total = a + b;\n  wire up = c;\n"), ("Round", "  wire d = e;\n")]
    assert misplaced([("", ""), *parts], {"up": {"Round"}, "total": {"Add"}, "d": {"Add"}}) == ["up", "d"]
    assert wrong_widths(parts) == [("Add: total 4 bits", "total")]
