"""Scales, powers of two that multiply the products: the reference model against other biases, gates against it."""

from fractions import Fraction

import numpy as np
import pytest

import golden
from golden.arithmetic.options import SumOptions
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.reference import vectors
from rtl_tests.support.blocks import generator, stimuli
from rtl_tests.support.gates import mismatches
from rtl_tests.support.proofs import check, inputs
from synth.proof.evidence import EQUAL

# -- golden


@pytest.mark.parametrize("accumulator", golden.ACCUMULATORS)
def test_a_scale_is_graphcores_programmable_bias(accumulator):
    """The formats gc_1_4_3_bN have the same codes; incrementing N halves every value."""
    rng, fmt = generator("bias", accumulator), golden.get("gc_1_4_3_b7")
    a, b = rng.integers(0, 256, (2, 5000)).astype(np.uint64)
    for scale in (-3, 0, 2):
        other = f"gc_1_4_3_b{7 - scale}"
        if accumulator == "exact":
            scaled, plain = golden.ExactAccumulator(fmt, fmt, 8, 3), golden.ExactAccumulator(fmt, golden.get(other), 8)
            result = golden.mac(a, b, scaled.zeros((5000,)), fmt.name, None, "exact", 8, scale, 3)
            expected = golden.mac(a, b, plain.zeros((5000,)), fmt.name, other, "exact", 8)
            np.testing.assert_array_equal(scaled.decode(result), plain.decode(expected))
        else:
            acc = vectors.accumulators(SumOptions.of(fmt, accumulator=accumulator), a, b, rng)
            result = golden.mac(a, b, acc, fmt.name, None, accumulator, scale=scale, scale_bits=8)
            np.testing.assert_array_equal(result, golden.mac(a, b, acc, fmt.name, other, accumulator))
            result = golden.fused_dot(
                a[:, None], b[:, None], acc, fmt.name, None, accumulator, scale=np.full(5000, scale), scale_bits=8
            )
            np.testing.assert_array_equal(result, golden.mac(a, b, acc, fmt.name, other, accumulator))


def test_an_exact_accumulator_has_room_for_every_scale():
    fmt = golden.get("hif8")
    plain, scaled = golden.ExactAccumulator(fmt, fmt, 4), golden.ExactAccumulator(fmt, fmt, 4, 8)
    assert (scaled.value_width - plain.value_width, scaled.lsb_exponent - plain.lsb_exponent) == (255, -128)
    largest = int(np.flatnonzero(fmt.values == fmt.largest)[0])
    state = scaled.zeros()
    for _ in range(4):
        state = golden.mac(largest, largest, state, "hif8", None, "exact", 4, 127, 8)
    assert Fraction(float(scaled.decode(state))) == 4 * Fraction(fmt.largest) ** 2 * 2**127


@pytest.mark.parametrize(
    ("scale", "bits", "error", "sentence"),
    [
        (8, 4, ValueError, "scale must be an integer from -8 to 7 for scale_bits 4, not 8"),
        (1, 0, ValueError, "scale must be 0 for scale_bits 0, not 1"),
        (0.5, 4, TypeError, "scale must be integers, not float64"),
        ("one", 4, TypeError, "scale must be integers, not 'one'"),
        (1 << 99, 4, ValueError, f"scale must be an integer from -8 to 7 for scale_bits 4, not {1 << 99}"),
        (0, 11, ValueError, "scale_bits must be an integer from 0 to 10, not 11"),
    ],
)
@pytest.mark.parametrize("accumulator", ["binary16", "exact"])
def test_refused_scales(scale, bits, error, sentence, accumulator):
    is_exact = accumulator == "exact" and bits < 11
    acc = golden.ExactAccumulator("hif8", "hif8", 1, bits).zeros() if is_exact else 0
    with pytest.raises(error, match=sentence):
        golden.mac(1, 1, acc, "hif8", None, accumulator, 1, scale, bits)


# -- hardware

DESIGNS = [
    build("mac", "hif8", scale_bits=8),
    build("mac", "ocp_e4m3", "ocp_e5m2", accumulator="binary32", scale_bits=9),
    build("mac", "ocp_e4m3+ocp_e5m2", "hif8", accumulator="exact", terms=16, scale_bits=4),
    build("dot", "ocp_e4m3", lanes=2, scale_bits=4),
]
MORE = [
    build("mac", "gc_1_0_7_b0", accumulator="dlfloat16", scale_bits=5),
    build("dot", "hif8", accumulator="exact", lanes=2, terms=64, scale_bits=3),
    build("mac", "e5m2b1", accumulator="bfloat16", scale_bits=10),
    build("mac", "ibm_fp9_1_5_3", accumulator="dlfloat16", scale_bits=7),
    build("mac", "binary8p3", scale_bits=1),
    build("dot", "e5m3", accumulator="dlfloat16", lanes=3, scale_bits=5),
    build("dot", "ocp_e5m2", accumulator="bfloat16", lanes=4, scale_bits=4),
]


@pytest.mark.parametrize(
    "design",
    [*DESIGNS, *(pytest.param(design, marks=pytest.mark.exhaustive) for design in MORE)],
    ids=lambda design: design.name,
)
def test_gates_equal_golden(design):
    cases = stimuli(design)
    assert len({case["scale"] for case in cases}) > min(100, (1 << design.scale_bits) - 1)
    assert not mismatches(design, cases)


@pytest.mark.parametrize(
    "design",
    [
        build("mac", "e3m2", scale_bits=2),
        pytest.param(build("mac", "e5m2b1", scale_bits=1), marks=pytest.mark.exhaustive),
        *(
            pytest.param(build("mac", name, scale_bits=4), marks=pytest.mark.exhaustive)
            for name in ("hif8", "ocp_e4m3")
        ),
        pytest.param(build("mac", "e5m2b1", scale_bits=8), marks=pytest.mark.exhaustive),
        pytest.param(build("mac", "hif8", accumulator="bfloat16", scale_bits=2), marks=pytest.mark.exhaustive),
        pytest.param(build("mac", "ocp_e4m3", accumulator="dlfloat16", scale_bits=2), marks=pytest.mark.exhaustive),
    ],
    ids=lambda design: design.name,
)
def test_every_case_with_every_scale(design):
    evidence = check(design)
    assert (evidence.verdict, evidence.cases) == (EQUAL, inputs(design))


PROVED = [
    pytest.param(build("mac", "e5m2_nosub", accumulator="exact", terms=4, scale_bits=1), marks=pytest.mark.exhaustive),
    pytest.param(build("mac", "e5m2b1", accumulator="exact", terms=16, scale_bits=3), marks=pytest.mark.exhaustive),
    pytest.param(build("mac", "ocp_e4m3", accumulator="binary32", scale_bits=2), marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize("design", PROVED, ids=lambda design: design.name)
def test_proof_with_every_scale(design):
    evidence = check(design)
    assert evidence.method.startswith("proof")
    assert (evidence.verdict, evidence.cases) == (EQUAL, evidence.inputs)


@pytest.mark.parametrize("block", ["mac", "dot", "pe"])
def test_refusals(block, tmp_path, capsys):
    assert main(["generate", block, "--format", "hif8", "--scale-bits", "11", "-o", str(tmp_path)]) == 2
    assert "--scale-bits must be an integer from 0 to 10, not 11" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_products_beyond_binary64_are_refused():
    """The products of the reference model are binary64 numbers."""
    sentence = "scale_bits must be fewer than 10 for products as far from 1 as those of gc_1_2_1_b390 and gc_1_2_1_b390"
    for call in (
        lambda: build("mac", "gc_1_2_1_b390", scale_bits=10),
        lambda: golden.mac(1, 1, 0, "gc_1_2_1_b390", None, "binary32", scale=0, scale_bits=10),
        lambda: golden.fused_dot([1], [1], 0, "gc_1_2_1_b390", None, "binary32", scale=0, scale_bits=10),
    ):
        with pytest.raises(ValueError, match=sentence):
            call()
    assert build("mac", "gc_1_2_1_b390", scale_bits=8).scale_bits == 8
