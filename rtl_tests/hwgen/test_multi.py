"""Two formats in one unit, selected by a pin: the meaning of the codes, and the hardware for each of them."""

import re

import numpy as np
import pytest

import golden
from golden.explain import explain
from hwgen.blocks.catalog import build
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import decoder_case, mac_case
from synth.proof.evidence import EQUAL
from synth.proof.verify import emitted, verify

OCP = "ocp_e4m3+ocp_e5m2"
IBM = "ibm_1_4_3+ibm_1_5_2"
HIF8 = "hif8+e5m2b1"


@pytest.mark.parametrize("name", [OCP, IBM, HIF8, "ocp_e5m2+gc_1_6_1_b31"])
def test_the_select_bit_picks_the_member(name):
    fmt = golden.get(name)
    codes = np.arange(256)
    for number, member in enumerate(fmt.members):
        joined = fmt.join(codes, number)
        assert (joined.dtype, joined.shape) == (np.uint16, codes.shape)
        assert np.array_equal(fmt.decode(joined), member.decode(codes), equal_nan=True)
        assert np.array_equal(np.signbit(fmt.decode(joined)), np.signbit(member.decode(codes)))
        assert [fmt.split(int(code)) for code in joined] == [(member, code) for code in range(256)]
    assert sorted(np.concatenate([fmt.join(codes, 0), fmt.join(codes, 1)]).tolist()) == list(range(512))


@pytest.mark.parametrize(
    ("call", "arguments", "error", "sentence"),
    [
        ("join", (0x40, 2), ValueError, "select must lie in 0 to 0x1, not 0x2"),
        ("join", (0x40, -1), ValueError, "select must lie in 0 to 0x1, not -0x1"),
        ("join", (0x40, 0.0), TypeError, "select must be unsigned integers, not float64"),
        ("join", ([1, 300], 0), ValueError, "codes must lie in 0 to 0xff for ocp_e4m3 or ocp_e5m2, not 0x12c"),
        ("join", (-1, 0), ValueError, "codes must lie in 0 to 0xff for ocp_e4m3 or ocp_e5m2, not -0x1"),
        ("join", (1.7, 0), TypeError, "codes must be unsigned integers, not float64"),
        ("split", (5000,), ValueError, "code must lie in 0 to 0x1ff for ocp_e4m3+ocp_e5m2, not 0x1388"),
        ("split", (-1,), ValueError, "code must lie in 0 to 0x1ff for ocp_e4m3+ocp_e5m2, not -0x1"),
        ("split", (1.0,), TypeError, "code must be an integer, not 1.0"),
    ],
)
def test_values_that_are_no_codes_are_refused(call, arguments, error, sentence):
    with pytest.raises(error, match=f"^{re.escape(sentence)}$"):
        getattr(golden.get(OCP), call)(*arguments)


def test_codes_and_selects_are_broadcast():
    joined = golden.get("gc_1_2_2_b1+gc_1_1_3_b1").join([[1], [2]], [0, 1, 1])
    assert (joined.shape, joined.dtype) == ((2, 3), np.uint8)
    assert joined.tolist() == [[1, 17, 17], [2, 18, 18]]


@pytest.mark.parametrize(
    ("select", "code", "line"),
    [
        (1, 0x05, "0x085 = sign 0, select 1, others 0000101: code 0x05 of ocp_e5m2"),
        (1, 0xC3, "0x1c3 = sign 1, select 1, others 1000011: code 0xc3 of ocp_e5m2"),
        (0, 0xC3, "0x143 = sign 1, select 0, others 1000011: code 0xc3 of ocp_e4m3"),
    ],
)
def test_codes_are_explained_as_those_of_the_member(select, code, line):
    fmt = golden.get(OCP)
    first, second, *rest = explain(fmt, int(fmt.join(code, select)))
    assert first == "ocp_e4m3+ocp_e5m2 (9 bits: the code's sign, a bit that selects the format, the code's other bits)"
    assert second == line
    assert rest == list(explain(fmt.members[select], code))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("hif8+hif8", "must be different"),
        ("hif8+e5m3", "same width"),
        ("hif8+gc_1_4_3_b7+ocp_e4m3", "not more"),
        ("hif8+", "known format, not ''"),
        ("binary16+bfloat16", "below 16 bits"),
        ("hif8+gc_1_0_7_b0", "two's complements"),
    ],
)
def test_refusals(name, sentence):
    with pytest.raises(ValueError, match=sentence):
        golden.get(name)


def test_no_encoder():
    with pytest.raises(ValueError, match="encode to one of the two"):
        build("encoder", OCP)
    with pytest.raises(ValueError, match="encode to one of the two"):
        golden.get(OCP).encode(np.zeros(1, np.uint32))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("a", "b", "bits"), [(OCP, None, 34), ("hif8", OCP, 33)])
def test_every_input_of_the_mac(a, b, bits):
    subject = emitted(build("mac", a, b))
    evidence = verify(subject, subject.netlist())
    assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << bits)


def test_every_input_of_a_small_mac(tmp_path):
    """Two formats of six bits; make exhaustive checks wider ones and other accumulators."""
    for name, bias in (("six_one", 3), ("six_two", 5)):
        rows = f'[{{ prefix = "", exponent = {{ rule = "biased", bits = 3, bias = {bias} }}, fraction_bits = 2 }}]'
        text = f'name = "{name}"\nwidth = 6\nflush = true\noverflows = ["saturate"]\nrows = {rows}\n'
        (tmp_path / f"{name}.toml").write_text(text + 'specials = [{ mask = 31, value = 0, kind = "zero" }]\n')
    subject = emitted(build("mac", f"{tmp_path}/six_one.toml+{tmp_path}/six_two.toml"))
    evidence = verify(subject, subject.netlist())
    assert (evidence.verdict, evidence.cases) == (EQUAL, 1 << 30)


@pytest.mark.parametrize("to", ["binary16", "unpacked"])
def test_every_code_of_the_decoder(to):
    for name in (OCP, IBM, HIF8):
        subject = emitted(build("decoder", name, target=to))
        evidence = verify(subject, subject.netlist())
        assert (evidence.verdict, evidence.cases) == (EQUAL, 512)


def test_in_simulation(tmp_path):
    fmt = golden.get(OCP)
    simulate([decoder_case(fmt, "binary16"), mac_case(golden.get("gc_1_6_1_b31"), fmt, count=20000)], tmp_path)
