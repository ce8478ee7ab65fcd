"""MACs in simulation against the reference model: all pairs of codes, with directed and random accumulators."""

import re

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

import golden
from hwgen import Adder, Multiplier
from hwgen.blocks.catalog import build
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import generator, mac_case, mac_design, texts
from rtl_tests.support.selection import exhaustive, first_of_each, kind_of_format

FORMATS = [golden.get(name) for name in golden.names()]
KINDS = [golden.get(name) for name in first_of_each(kind_of_format, golden.names())]
SOME = [golden.get(name) for name in ("hif8", "ocp_e4m3")]
MIXED = [("ocp_e4m3", "ocp_e5m2"), ("hif8", "binary8p4"), ("ibm_1_4_3", "ibm_1_5_2"), ("gc_1_0_7_b0", "e5m3_nosub")]


def run(cases, folder, **options):
    """Emit the MACs in parallel, then simulate them under one top."""
    accumulator, terms = options.get("accumulator", "binary16"), options.get("terms")
    texts([build("mac", a, b, accumulator=accumulator, terms=terms) for a, b in cases])
    simulate([mac_case(a, b, **options) for a, b in cases], folder)


EIGHT_BITS = [fmt for fmt in FORMATS if fmt.width == 8]


@pytest.mark.parametrize("formats", [SOME[:1], exhaustive(EIGHT_BITS)], ids=["one", "every"])
def test_simulation_of_all_pairs_into_binary16(formats, tmp_path):
    eight_bits = [(fmt, None) for fmt in formats]
    assert mac_case(*eight_bits[0]).vectors == 1 << 16
    run(eight_bits, tmp_path)


@pytest.mark.parametrize("formats", [KINDS, exhaustive(FORMATS)], ids=["one of each kind", "every"])
def test_simulation_of_formats_into_binary16(formats, tmp_path):
    """Some pairs of each; test_exhaustive.py checks all pairs and accumulators of each kind on the gates."""
    run([(fmt, None) for fmt in formats], tmp_path, count=4000)


@pytest.mark.exhaustive
def test_simulation_of_all_pairs_of_nine_bits(tmp_path):
    nine_bits = [(fmt, None) for fmt in FORMATS if fmt.width == 9]
    assert mac_case(*nine_bits[0]).vectors == 1 << 18
    run(nine_bits, tmp_path)


def test_simulation_of_other_accumulators_and_mixed_formats(tmp_path):
    """All pairs are simulated by ``make exhaustive``."""
    pairs = [(SOME[0], None, accumulator) for accumulator in golden.ACCUMULATORS[1:]]
    pairs += [(golden.get(a), golden.get(b), "binary16") for a, b in MIXED[1:3]]
    texts([mac_design(*pair) for pair in pairs])
    cases = [mac_case(*pair, count=5000) for pair in pairs]
    simulate([*cases, mac_case(*map(golden.get, MIXED[0]), accumulator="exact", terms=3)], tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("accumulator", [name for name in golden.ACCUMULATORS if name != "binary16"])
def test_simulation_of_all_pairs_into_other_accumulators(accumulator, tmp_path):
    """Each pair once; hwgen verify all checks each with all accumulators on the gates."""
    for fmt in FORMATS:
        run([(fmt, None)], tmp_path / fmt.name, accumulator=accumulator)


def test_multiplier_and_adder_make_the_mac():
    """Multiplier and adder have the ports of the MAC, and the product connects them."""
    for name in ("hif8", "ocp_e4m3"):
        ports = {}
        for kind in ("mac", "multiplier", "adder"):
            text = texts([build(kind, name)])[f"{name}_{kind}" + ("" if kind == "multiplier" else "_binary16")]
            ports[kind] = {
                flow: set(re.findall(rf"{flow} wire (?:\[\d+:0\] )?(\w+)", text)) for flow in ("input", "output")
            }
        assert ports["mac"] == {"input": {"a", "b", "acc_in"}, "output": {"acc_out"}}
        assert ports["multiplier"]["input"] == {"a", "b"}
        assert ports["adder"] == {"input": ports["multiplier"]["output"] | {"acc_in"}, "output": {"acc_out"}}


@pytest.mark.exhaustive
@pytest.mark.parametrize("accumulator", [name for name in golden.ACCUMULATORS if name != "binary16"])
def test_every_format_is_clean_with_every_accumulator(accumulator):
    """`texts` lints each module; only some of these formats are simulated."""
    assert len(texts([build("mac", fmt, accumulator=accumulator) for fmt in FORMATS])) == len(FORMATS)


@pytest.mark.exhaustive
def test_parts_of_the_mac_are_clean():
    assert len(texts([build(part, fmt) for fmt in FORMATS for part in ("multiplier", "adder")])) == 2 * len(FORMATS)


def test_parts_of_some_macs_are_clean():
    assert len(texts([build(part, fmt) for fmt in SOME for part in ("multiplier", "adder")])) == 2 * len(SOME)


def test_exact_width_stands_in_the_header():
    unit = golden.ExactAccumulator(golden.get("hif8"), golden.get("hif8"), 1024)
    assert (unit.value_width, unit.lsb_exponent) == (86, -44)
    text = texts([build("mac", "hif8", accumulator="exact")])["hif8_mac_exact"]
    assert re.search(r"value\[85:0\] in two's complement with lsb 2\^-44", text)
    assert re.search(rf"input wire \[{unit.width - 1}:0\] acc_in", text)


def test_directed_accumulators_reach_the_hard_cases():
    """The stimuli must include exact zeros of both signs, specials and subnormals."""
    case = mac_case(golden.get("hif8"))
    out, acc = case.outputs["acc_out"], case.inputs["acc_in"]
    values = golden.get("hif8").values
    with np.errstate(invalid="ignore"):
        product = values[case.inputs["a"]] * values[case.inputs["b"]]
    cancels = golden.get("binary16").decode(acc) == -product
    assert np.count_nonzero(cancels & (product != 0)) > 1000
    assert np.count_nonzero(out == 0x8000) > 0
    assert np.count_nonzero(out == 0) > 500
    assert np.count_nonzero(((out & 0x7C00) == 0) & ((out & 0x3FF) != 0)) > 500
    assert np.count_nonzero(out == 0x7E00) > 500
    assert np.count_nonzero((out & 0x7FFF) == 0x7C00) > 500


@pytest.mark.parametrize(
    ("options", "b_format", "goal"),
    [
        ({}, None, "area"),
        ({"accumulator": "dlfloat16", "scale_bits": 3, "flags": True}, "ocp_e5m2", "area"),
        ({"accumulator": "bfloat16", "scale_bits": 3, "flags": True}, "ocp_e5m2", "speed"),
        ({"accumulator": "exact"}, "e5m2b1", "area"),
    ],
    ids=["binary16", "dlfloat16", "bfloat16 for speed", "exact"],
)
def test_halves_that_are_connected_in_a_design_are_the_mac(options, b_format, goal):
    """Simulated by Amaranth, against the reference model."""
    count = 200
    formats, rng = ("hif8", b_format), generator("halves", *map(str, options))
    multiplier, adder, module = Multiplier(*formats, **options), Adder(*formats, **options, optimize=goal), Module()
    module.submodules.multiplier, module.submodules.adder = multiplier, adder
    wiring.connect(module, multiplier.product, adder.product)
    a, b = rng.integers(0, 256, (2, count)).astype(np.uint8)
    scale = rng.integers(-4, 4, count) if "scale_bits" in options else np.zeros(count, int)
    unit = adder.exact
    acc = unit.zeros((count,)) if unit else rng.integers(0, 1 << 16, count).astype(np.uint16)
    arguments = (*formats, adder.accumulator, adder.terms or 1, scale if adder.scale_bits else None, adder.scale_bits)
    if adder.has_flags:
        expected, flags = golden.mac_with_flags(a, b, acc, *arguments)
    else:
        expected, flags = golden.mac(a, b, acc, *arguments), None
    number = (lambda word: sum(int(limb) << 64 * place for place, limb in enumerate(word))) if unit else int

    async def bench(ctx):
        for k in range(count):
            ctx.set(multiplier.a, int(a[k]))
            ctx.set(multiplier.b, int(b[k]))
            ctx.set(adder.acc_in, number(acc[k]))
            if adder.scale_bits:
                ctx.set(multiplier.scale, int(scale[k]) & 7)
            await ctx.delay(1e-9)
            assert ctx.get(adder.acc_out) == number(expected[k])
            if flags is not None:
                assert ctx.get(adder.flags) == flags[k]

    simulator = Simulator(module)
    simulator.add_testbench(bench)
    simulator.run()


def test_halves_of_other_macs_do_not_fit():
    module = Module()
    module.submodules.multiplier, module.submodules.adder = multiplier, adder = Multiplier("hif8"), Adder("ocp_e4m3")
    with pytest.raises(wiring.ConnectionError):
        wiring.connect(module, multiplier.product, adder.product)
    multiplier._MustUse__silence = adder._MustUse__silence = module._MustUse__silence = True
