"""The reference models of blocks: exactness, one case and many, and every input of small blocks."""

from fractions import Fraction

import numpy as np
import pytest

import golden
from hwgen.blocks.catalog import BLOCKS, build
from hwgen.reference import REFERENCES, reference
from hwgen.reference.kinds import INFINITY, LARGER, NAN, NUMBER, PAYLOAD, ULP, kinds
from hwgen.reference.reference import integers, limbs
from rtl_tests.support.blocks import generator, stimuli
from rtl_tests.support.proofs import check, inputs
from rtl_tests.support.toys import TOML_FORMAT
from synth.proof.evidence import EQUAL


def test_every_block_that_is_generated_has_one():
    assert set(REFERENCES) == {name for name, block in BLOCKS.items() if block.generated}


def test_limbs_of_one_accumulator_and_of_many():
    unit = golden.ExactAccumulator("ocp_e5m2", "ocp_e5m2", 1024)
    words = [(5 << 64) | (1 << 63) | 12345, (1 << 64) - 1, 0, 1 << unit.width - 1]
    for word in words:
        assert limbs(unit, word).tolist() == [word & (1 << 64) - 1, word >> 64]
    assert integers(limbs(unit, np.array(words, object))).tolist() == words


def test_kinds_of_mismatches_of_exact_sums():
    """Below the flags is a number in two's complement, also one with more bits than binary64 has."""
    model = reference(build("dot", "ocp_e5m2", lanes=2, accumulator="exact"))
    exact = model.core.exact
    most, infinite, nan = (1 << exact.value_width) - 1, 1 << exact.pos_inf_bit, 1 << exact.pos_inf_bit + 2
    for got, expected, kind in (
        (1, 0, ULP),
        (most, 0, ULP),
        (most >> 1, (most >> 1) - 1, ULP),
        (3, 0, LARGER),
        (nan | 1, nan, ULP),
        (nan, 0, NAN),
        (5, nan, NUMBER),
        (nan | infinite, nan, PAYLOAD),
        (infinite, 1, INFINITY),
        (infinite, infinite << 1, INFINITY),
    ):
        assert kinds(model, {"acc_out": got}, {"acc_out": expected}) == {kind}
        assert kinds(model, {"acc_out": got}, {"acc_out": got}) == set()


DESIGNS = [
    build("decoder", "hif8", target="unpacked"),
    build("encoder", "hif8", rounding="stochastic", random_bits=32),
    build("encoder", "hif8", source="binary16", rounding="hybrid", rounding_pin=True),
    build("mac", "ocp_e5m2", flags=True, scale_bits=3),
    build("dot", "e5m3", lanes=9, accumulator="exact"),
    build("quantizer", "ocp_e4m3", source="bfloat16", lanes=3),
    build("quantizer", "e2m1"),
    build("readout", "ocp_e5m2", target="hif8"),
]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_each_other_output_has_a_kind(design):
    model = reference(design)
    for expected in model.answers(stimuli(design)[:20]):
        for port, width in model.results.items():
            for place in range(width):
                assert len(kinds(model, {**expected, port: expected[port] ^ 1 << place}, expected)) == 1


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_many_cases_are_answered_as_each_is(design):
    model, cases = reference(design), stimuli(design)[:50]
    assert model.answers(cases) == [model.answer(case) for case in cases]


@pytest.mark.parametrize("name", ["e7m3b40_40", "ocp_e4m3"])
def test_an_exact_sum_overflows_where_its_integer_does(name):
    """The first format has products that exceed binary64 in units of the last place."""
    model, fmt = reference(build("pe", name, accumulator="exact", terms=1)), golden.get(name)
    unit, rng = model.core.exact, generator(name)
    some = np.flatnonzero(np.isfinite(fmt.values))[:: max(1, fmt.values.size // 9)]
    codes = [fmt.largest_code, fmt.largest_code | fmt.sign_bit, 1, *some]
    overflows = set()
    for a, b in ((int(a), int(b)) for a in codes for b in codes):
        for before in (0, (1 << unit.value_width - 1) - 1, -1 << unit.value_width - 1, int(rng.integers(-99, 99))):
            answer = model.answer({"a": a, "b": b, "acc_in": before & (1 << unit.value_width) - 1})
            product = Fraction(fmt.values[a]) * Fraction(fmt.values[b]) / Fraction(2) ** unit.lsb_exponent
            total = before + int(product)
            assert answer["acc_out"] == total & (1 << unit.value_width) - 1
            assert answer["overflow"] == (not -1 << unit.value_width - 1 <= total < 1 << unit.value_width - 1)
            overflows.add(answer["overflow"])
    assert overflows == {0, 1}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("readout", {"terms": 1, "rounding": "stochastic", "random_bits": 3}),
        ("readout", {"terms": 1, "rounding": "stochastic", "random_bits": 12}),
        ("readout", {"terms": 1}),
        ("decoder", {"target": "unpacked"}),
        ("dot", {"lanes": 1, "accumulator": "exact", "terms": 1}),
        ("encoder", {"source": "binary16", "rounding": "stochastic", "random_bits": 8}),
        ("quantizer", {"source": "bfloat16", "lanes": 1}),
    ],
)
def test_small_blocks_are_evaluated_on_every_input(kind, options, tmp_path):
    (tmp_path / "tiny.toml").write_text(TOML_FORMAT)
    tiny = golden.get(tmp_path / "tiny.toml")
    design = build(kind, tiny, **({"target": tiny} if kind == "readout" else {}), **options)
    evidence = check(design)
    assert (evidence.kind, evidence.verdict, evidence.cases) == ("swept", EQUAL, inputs(design))
