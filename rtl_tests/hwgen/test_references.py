"""Hardware of the formats that the papers compare with: -128, posits' rounding, and 16-bit operands."""

import pytest

import golden
from hwgen.blocks.catalog import build
from rtl_tests.support.blocks import texts
from rtl_tests.support.proofs import check, prover
from synth.proof.evidence import EQUAL

REFERENCES = ("int8", "int4", "posit8_0", "posit8_1", "posit8_2")


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("target", ["binary16", "bfloat16", "binary32", "unpacked"])
def test_decoders(name, target):
    assert check(build("decoder", name, target=target)).verdict == EQUAL


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("source", ["binary16", "bfloat16", "dlfloat16", "hif8", "int8", "posit8_2"])
def test_encoders(name, source):
    if name == source:
        return
    assert check(build("encoder", name, source=source, flags=True)).verdict == EQUAL


@pytest.mark.parametrize(
    ("a", "b"), [("binary16", None), ("bfloat16", None), ("hif8", "binary16"), ("bfloat16", "int8")]
)
def test_operands_of_16_bits(a, b):
    formats = (a,) if b is None else (a, b)
    design = build("mac", *formats, accumulator="binary32")
    assert [fmt.name for fmt in design.codes.values()] == [a, b or a]
    assert design.name == f"{'_'.join(formats)}_mac_binary32"
    prover(design).claims[0].search()  # significands and exponents of all products; the others are exhaustive


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("formats", "options"),
    [
        (("binary16",), {"accumulator": "binary32"}),
        (("bfloat16",), {"accumulator": "binary32"}),
        (("hif8", "binary16"), {"accumulator": "binary32"}),
        (("binary16",), {"accumulator": "binary16"}),
        (("bfloat16",), {"accumulator": "bfloat16"}),
        (("binary16",), {"accumulator": "exact", "terms": 16}),
        (("bfloat16",), {"accumulator": "exact", "terms": 16}),
    ],
)
def test_sums_of_products_of_16_bits_whole(formats, options):
    assert check(build("mac", *formats, **options)).verdict == EQUAL


EXACT = build("mac", "hif8", "binary16", accumulator="exact", terms=64)


def test_exact_sums_with_operands_of_16_bits():
    assert check(EXACT).verdict == EQUAL


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("product__significand = ", "product__significand = (a == 8'h9c & b == 16'h9c71) ^ "),
        ("{product__exponent, unused} = ", "{product__exponent, unused} = {a == 8'h9c & b == 16'h9c71, 1'b0} ^ "),
        ("product__is_zero = ", "product__is_zero = (a == 8'h23 & b == 16'h1111) | "),
        ("product__sign = ", "product__sign = ~"),
        ("product__is_nan = ", "product__is_nan = (a == 8'h9c & b == 16'h9c71) | "),
    ],
)
def test_a_wrong_product_of_16_bits_is_not_proved(right, wrong):
    text = texts([EXACT])[EXACT.name]
    assert text.count(right) == 1
    assert check(EXACT, text.replace(right, wrong)).verdict != EQUAL


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("int4", {"target": "int8", "terms": 4}),
        ("int4", {"target": "posit8_2", "terms": 4}),
        pytest.param("hif8", {"target": "int8"}, marks=pytest.mark.exhaustive),
        pytest.param("posit8_0", {"target": "posit8_2"}, marks=pytest.mark.exhaustive),
        pytest.param("ocp_e4m3", {"target": "posit8_1"}, marks=pytest.mark.exhaustive),
        pytest.param("int8", {"target": "binary16"}, marks=pytest.mark.exhaustive),
    ],
)
def test_readouts(name, options):
    assert check(build("readout", name, **options)).verdict == EQUAL


@pytest.mark.parametrize("name", ["int8", "posit8_2"])
def test_quantizers(name):
    assert check(build("quantizer", name, lanes=1, source="bfloat16")).verdict == EQUAL


@pytest.mark.parametrize(
    ("kind", "formats", "options"),
    [
        ("dot", ("int4",), {"lanes": 2, "terms": 4}),
        ("dot", ("int8", "int4"), {"lanes": 3}),
        ("mac", ("int8",), {}),
        ("mac", ("int4", "int8"), {"flags": True}),
        ("pe", ("int4",), {"lanes": 2}),
        ("pe", ("int4",), {"lanes": 2, "carry_save": True}),
    ],
)
def test_exact_sums_of_integers_whole(kind, formats, options):
    """Their products are added bit by bit, with inverted partial products of one sign bit."""
    assert check(build(kind, *formats, accumulator="exact", **options)).verdict == EQUAL


def test_exact_sums_have_room_for_the_lowest_integer():
    evidence = check(build("mac", "int4", accumulator="exact", terms=2, flags=True))
    assert evidence.verdict == EQUAL
    assert golden.ExactAccumulator("int4", "int4", 2).value_width == 9
