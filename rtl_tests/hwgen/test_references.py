"""Hardware of the formats that the papers compare with: -128, posits' rounding, and 16-bit operands."""

import pytest

import golden
from hwgen.blocks.catalog import build
from rtl_tests.support.proofs import check
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


def test_exact_sums_have_room_for_the_lowest_integer():
    evidence = check(build("mac", "int4", accumulator="exact", terms=2, flags=True))
    assert evidence.verdict == EQUAL
    assert golden.ExactAccumulator("int4", "int4", 2).value_width == 9
