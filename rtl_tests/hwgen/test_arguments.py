# amaranth: UnusedElaboratable=no
"""Components: check_refusal arguments, attributes, and ``repr``."""

import json
import re

import numpy as np
import pytest

import golden
from golden import Overflow, Rounding
from golden.refusal import Refusal
from hwgen import Adder, Decoder, Dot, Encoder, Mac, Multiplier, Pe, Pipelined, Quantizer, Readout, build
from hwgen.blocks.compressor import Compressor
from rtl_tests.support.toys import TOML_FORMAT

SUMS = (Adder, Mac, Dot, Pe)
PRODUCTS = (Multiplier, *SUMS)
REFUSED = (ValueError, TypeError)
pytestmark = pytest.mark.usefixtures("silence_unelaborated")
"""The comment at the top does not apply to ``eval``."""


def check_refusal(sentence, component, *arguments, **options):
    with pytest.raises(REFUSED, match=f"^{re.escape(sentence)}"):
        component(*arguments, **options)


def argument_of(component, *arguments, **options):
    """The argument that a refusal names."""
    with pytest.raises(Refusal) as refusal:
        component(*arguments, **options)
    return refusal.value.argument


@pytest.mark.parametrize("component", SUMS)
def test_accumulators_and_terms(component):
    allowed = "accumulator must be one of binary16, bfloat16, binary32, dlfloat16, exact"
    allowed += ", rvbna" if component.takes_aligned else ""
    allowed += ", none" if component is Dot else ""
    allowed += ", or aligned6 to aligned40" if component.takes_aligned else ""
    check_refusal(f"{allowed}, not 'binary64'", component, "hif8", accumulator="binary64")
    check_refusal(f"{allowed}, not 16", component, "hif8", accumulator=16)
    check_refusal("terms needs accumulator 'exact', not 'binary16'", component, "hif8", terms=5)
    for terms in (-5, 0, 1 << 25, 2.0, True, "8"):
        problem = f"terms must be an integer from 1 to 16777216, not {terms!r}"
        check_refusal(problem, component, "hif8", accumulator="exact", terms=terms)
    assert argument_of(component, "hif8", terms=5) == "terms"
    assert argument_of(component, "hif8", accumulator="binary64") == "accumulator"


@pytest.mark.parametrize("component", PRODUCTS)
def test_scales_flags_and_formats(component):
    for scale_bits in (50, -1, "3", True, 11, 2.5):
        check_refusal(
            f"scale_bits must be an integer from 0 to 10, not {scale_bits!r}", component, "hif8", scale_bits=scale_bits
        )
    check_refusal("flags must be True or False, not 'no'", component, "hif8", flags="no")
    wide = "is a source, decoder target or accumulator, not a format of codes"
    check_refusal(f"b_format: 'binary32' {wide}", component, "hif8", "binary32")
    check_refusal(f"a_format: 'dlfloat16' {wide}", component, "dlfloat16")
    check_refusal("b_format must be a known format, not 'hif9'; the nearest is hif8", component, "hif8", "hif9")
    with pytest.raises(TypeError):
        component("hif8", "hif8", "binary16")
    assert argument_of(component, "hif8", flags=1) == "flags"
    assert argument_of(component, "hif8", "dlfloat16") == "b_format"


@pytest.mark.parametrize("component", [Adder, Mac, Dot])
def test_overflow_is_a_flag(component):
    check_refusal("overflow must be True or False, not 1", component, "hif8", overflow=1)


@pytest.mark.parametrize("component", [Dot, Pe])
def test_lanes(component):
    for lanes in (0, 33, -1, 2.0, True, "2"):
        check_refusal(f"lanes must be an integer from 1 to 32, not {lanes!r}", component, "hif8", lanes=lanes)
    check_refusal("terms must be at least the 8 lanes, not 4", component, "hif8", accumulator="exact", lanes=8, terms=4)


def test_stages_and_interleave():
    for stages in (-1, 17, 1.0, True):
        check_refusal(f"stages must be an integer from 0 to 16, not {stages!r}", Pe, "hif8", stages=stages)
    for interleave in (0, 4, True, 1.5):
        problem = f"interleave must be an integer from 1 to stages + 1, which is 3, not {interleave!r}"
        check_refusal(problem, Pe, "hif8", stages=2, interleave=interleave)
    assert argument_of(Pe, "hif8", interleave=2) == "interleave"


def test_carry_save():
    check_refusal("carry_save needs accumulator 'exact', not 'binary16'", Pe, "hif8", carry_save=True)
    problem = "carry_save needs fabric 'asic', not 'fpga': it adds without carry chains"
    check_refusal(problem, Pe, "hif8", accumulator="exact", fabric="fpga", carry_save=True)
    check_refusal("carry_save must be True or False, not 1", Pe, "hif8", accumulator="exact", carry_save=1)
    check_refusal("terms must be at least the 4 lanes, not 2", Compressor, "hif8", lanes=4, terms=2)
    assert argument_of(Pe, "hif8", carry_save=True) == "carry_save"


def test_pipelines():
    for stages in (0, 17, True):
        check_refusal(f"stages must be an integer from 1 to 16, not {stages!r}", Pipelined, Mac("hif8"), stages)
    check_refusal("reset must be True or False, not 'sync'", Pipelined, Mac("hif8"), 2, reset="sync")
    check_refusal("clock_enable must be True or False, not 1", Pipelined, Mac("hif8"), 2, clock_enable=1)
    check_refusal("core must be a component, not 'hif8'", Pipelined, "hif8", 2)
    check_refusal(
        "entries must name inputs of the core, not 'acc_out'", Pipelined, Mac("hif8"), 2, entries={"acc_out": 1}
    )
    check_refusal("entries must be an integer from 0 to 2, not 3", Pipelined, Mac("hif8"), 2, entries={"acc_in": 3})


def test_a_pipeline_starts_nothing_before_it_is_elaborated(monkeypatch):
    monkeypatch.setattr("hwgen.netlist.emit.yosys.run", None)
    unit = Pipelined(Multiplier("hif8"), 2, clock_enable=True)
    assert list(unit.signature.members)[:4] == ["enable", "in_valid", "a", "b"]
    assert len(unit.product__exponent) == len(Multiplier("hif8").product.exponent)


def test_decoders():
    allowed = "target must be one of binary16, bfloat16, binary32, dlfloat16, unpacked"
    check_refusal(f"{allowed}, not 'binary64'", Decoder, "hif8", "binary64")
    check_refusal(
        "fmt: 'binary16' is a source, decoder target or accumulator, not a format of codes", Decoder, "binary16"
    )
    assert argument_of(Decoder, "hif8", "binary64") == "target"


def test_encoders():
    check_refusal("random_bits needs a stochastic rounding, not 'ties_to_away'", Encoder, "hif8", random_bits=99)
    for bits in (0, 33, True, "4"):
        problem = f"random_bits must be an integer from 1 to 32, not {bits!r}"
        check_refusal(problem, Encoder, "hif8", rounding="stochastic", random_bits=bits)
    check_refusal("rounding_pin needs rounding 'hybrid', not 'ties_to_away'", Encoder, "hif8", rounding_pin=True)
    check_refusal("rounding_pin must be True or False, not 1", Encoder, "hif8", rounding="hybrid", rounding_pin=1)
    check_refusal("nan_to_zero must be True or False, not 1", Encoder, "hif8", nan_to_zero=1)
    check_refusal("flags must be True or False, not None", Encoder, "hif8", flags=None)
    check_refusal("fmt: 'bfloat16' is a source, decoder target or accumulator", Encoder, "bfloat16")
    hybrid = {"source": "dlfloat16", "rounding": "hybrid"}
    for options in ({"source": "binary64"}, {"rounding": "up"}, {"overflow": "wrap"}, hybrid):
        assert argument_of(Encoder, "hif8", **options) == list(options)[-1]
    with pytest.raises(ValueError, match="encode to one of the two"):
        Encoder("ocp_e4m3+ocp_e5m2")


def test_quantizers():
    check_refusal("fmt must be one format with a sign, not 'ue4m3'", Quantizer, "ue4m3")
    check_refusal("fmt must be one format with a sign, not 'ocp_e4m3+ocp_e5m2'", Quantizer, "ocp_e4m3+ocp_e5m2")
    check_refusal("source must be one of binary32, bfloat16, not 'binary16'", Quantizer, "e2m1", "binary16")
    check_refusal("lanes must be an integer from 1 to 32, not 33", Quantizer, "e2m1", lanes=33)
    check_refusal("policy must be one of floor, ceil, rceil, even, nearest, not 'up'", Quantizer, "e2m1", policy="up")


def test_readouts():
    check_refusal(
        "target must be one format, not the two of 'ocp_e4m3+ocp_e5m2'", Readout, "hif8", target="ocp_e4m3+ocp_e5m2"
    )
    options = {"rounding": "ties_to_even", "overflow": "infinity", "nan_to_zero": True, "random_bits": 4}
    for option, value in options.items():
        problem = f"{option} needs a format of codes as target, not 'binary16'"
        check_refusal(problem, Readout, "hif8", target="binary16", **{option: value})
    problem = "random_bits needs a stochastic rounding, not 'ties_to_away'"
    check_refusal(problem, Readout, "hif8", target="hif8", random_bits=4)
    check_refusal("nan_to_zero must be True or False, not 'no'", Readout, "hif8", target="hif8", nan_to_zero="no")
    check_refusal("terms must be an integer from 1 to 16777216, not 0", Readout, "hif8", terms=0)
    check_refusal("rounding 'hybrid' looks at the bits of a source", Readout, "hif8", target="hif8", rounding="hybrid")
    check_refusal("target must be a known format, not 'hif9'; the nearest is hif8", Readout, "hif8", target="hif9")


def test_two_formats_of_one_name(tmp_path):
    files = []
    for folder, exponent in (("one", 0), ("other", -1)):
        (tmp_path / folder).mkdir()
        text = TOML_FORMAT.replace('"tiny"', '"mine"').replace("exponent = 0", f"exponent = {exponent}")
        files.append(tmp_path / folder / "mine.toml")
        files[-1].write_text(text.replace("bias = 1", f"bias = {1 - exponent}"))
    one, other = (golden.get(str(file)) for file in files)
    assert one != other
    sentence = "format 'mine' stands for two different formats here; give one of them another name"
    for component in PRODUCTS:
        check_refusal(f"b_format: {sentence}", component, one, other)
    check_refusal(f"target: {sentence}", Readout, one, target=other)
    check_refusal(f"target: {sentence}", Readout, "hif8", one, other)


@pytest.mark.parametrize(
    "text",
    [
        "Mac('hif8')",
        "Mac('hif8', accumulator='exact', terms=64)",
        "Mac('ocp_e4m3', 'ocp_e5m2', scale_bits=3, overflow=True, flags=True)",
        "Multiplier('hif8', accumulator='exact')",
        "Adder('hif8', 'e5m2b1', accumulator='dlfloat16', overflow=True)",
        "Dot('hif8', lanes=4)",
        "Dot('hif8')",
        "Pe('hif8', accumulator='exact', lanes=2, stages=3, interleave=2)",
        "Pe('hif8', flags=True)",
        "Pe('hif8', accumulator='exact', carry_save=True)",
        "Compressor('hif8', lanes=4, state_last=True)",
        "Decoder('hif8')",
        "Decoder('ocp_e4m3+ocp_e5m2', target='binary16')",
        "Encoder('hif8')",
        "Encoder('hif8', source='binary16', rounding='hybrid', nan_to_zero=True, rounding_pin=True, flags=True)",
        "Encoder('hif8', overflow='saturate')",
        "Encoder('hif8', rounding='stochastic', random_bits=4)",
        "Encoder('hif8', rounding='stochastic')",
        "Quantizer('e2m1')",
        "Quantizer('ocp_e4m3', 'bfloat16', lanes=16, policy='ceil')",
        "Readout('hif8')",
        "Readout('hif8', 'e5m2b1', target='ocp_e4m3', terms=4, scale_bits=2, rounding='stochastic', random_bits=3)",
        "Pipelined(Mac('hif8'), 3)",
        "Pipelined(Mac('hif8'), 3, reset=False, clock_enable=True, entries={'acc_in': 2})",
    ],
)
def test_repr_is_the_call(text):
    others = Compressor, Decoder, Encoder, Quantizer, Readout, Pipelined
    names = {component.__name__: component for component in (*PRODUCTS, *others)}
    assert repr(eval(text, names)) == text


def test_repr_omits_default_options():
    assert repr(Encoder("hif8", "binary32", rounding=None, flags=False)) == "Encoder('hif8', 'binary32')"
    assert repr(Mac(golden.get("hif8"), scale_bits=0, overflow=True)) == "Mac('hif8', overflow=True)"


def test_attributes():
    mac = Mac("hif8", "e5m2b1", accumulator="exact", scale_bits=2, overflow=True)
    assert (mac.a_format, mac.b_format, mac.accumulator) == (golden.get("hif8"), golden.get("e5m2b1"), "exact")
    assert (mac.terms, mac.scale_bits, mac.has_overflow, mac.has_flags) == (1024, 2, True, False)
    assert mac.exact.width == len(mac.acc_in)
    assert (Mac("hif8").terms, Mac("hif8").exact) == (None, None)
    pe = Pe("hif8", lanes=2, stages=3, interleave=2)
    assert (pe.lanes, pe.stages, pe.interleave, pe.has_flags, pe.carry_save) == (2, 3, 2, False, False)
    assert Dot("hif8").lanes == 2
    encoder = Encoder("hif8", "bfloat16", rounding="stochastic")
    assert (encoder.fmt.name, encoder.source.name) == ("hif8", "bfloat16")
    assert (encoder.rounding, encoder.overflow) == (Rounding.STOCHASTIC, Overflow.INFINITY)
    switches = (encoder.nan_to_zero, encoder.rounding_pin, encoder.has_flags)
    assert (encoder.random_bits, switches) == (16, (False, False, False))
    assert Encoder("hif8").random_bits is None
    readout = Readout("hif8", terms=4)
    assert readout.target.name == "binary32"
    assert (readout.rounding, readout.overflow, readout.random_bits) == (None, None, None)
    readout = Readout("hif8", target="hif8", rounding="stochastic", random_bits=4)
    assert (readout.rounding, readout.overflow, readout.random_bits) == (Rounding.STOCHASTIC, Overflow.INFINITY, 4)
    assert (Decoder("hif8").fmt.name, Decoder("hif8").target) == ("hif8", "unpacked")


def test_build_takes_options_of_blocks_and_nothing_else():
    """An option that a block lacks would be missing in the module's name."""
    for block, argument in (("mac", "overflow"), ("multiplier", "flags"), ("mac", "lanes")):
        check_refusal(
            f"{argument} is no option of the block {block}, which has ", build, block, "hif8", **{argument: True}
        )


def test_values_of_numpy_are_plain_in_json_and_on_the_command_line():
    design = build("mac", "hif8", stages=np.int64(2), clock_enable=np.True_, flags=np.True_)
    assert json.loads(json.dumps(design.options))["clock-enable"] is True
    assert design.command().endswith("--flags --stages 2 --clock-enable")
    assert build("encoder", "hif8", nan_to_zero=np.True_).command().endswith("--nan-to-zero")
