"""Layers of trained networks in Verilog, on processing elements and on a tile, equal golden.matmul, bit for bit."""

from functools import cache

import numpy as np
import pytest

import golden
from examples.tile import layers, run
from examples.tile.layers import LAYER
from examples.training.products import Products, encoded
from hwgen.blocks.catalog import build
from hwgen.reference.trace import RESET_CYCLES
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import clocked_case
from rtl_tests.support.optional import NEEDS_ICARUS
from synth.report.training.policy import ACTIVATION, WEIGHT

UNITS = (("hif8", "binary16"), ("e5m2b1", "bfloat16"), ("ocp_e4m3", "binary32"))
TRAINED = [pytest.param("letters", 2, 2, id="some"), pytest.param("characters", 30, 64, marks=pytest.mark.exhaustive)]
"""Tasks, iterations of training, and characters of a batch that are simulated."""


trained = cache(layers.trained)


def codes(policy, x, y):
    """Codes of activations and weights."""
    rng = np.random.default_rng(0)
    return (encoded(policy.operand(kind), operand, rng)[0] for kind, operand in ((ACTIVATION, x), (WEIGHT, y)))


def cycles(a, b, sums):
    """A product in each cycle, sum after sum; a sum is compared one cycle after its last product."""
    quiet = {"rst": 0, "a": 0, "b": 0, "clear": 0, "enable": 0, "acc": 0, "overflow": 0}
    quiet |= {"care_acc": 0, "care_overflow": 0}
    steps = [{**quiet, "rst": 1}] * RESET_CYCLES
    for row in range(len(a)):
        for column in range(b.shape[1]):
            pairs = zip(a[row].tolist(), b[:, column].tolist(), strict=True)
            steps += [{**quiet, "enable": 1, "clear": int(k == 0), "a": x, "b": y} for k, (x, y) in enumerate(pairs)]
    steps.append(quiet)
    for place, total in enumerate(sums.reshape(-1).tolist()):
        last = RESET_CYCLES + (place + 1) * a.shape[1]
        steps[last] = {**steps[last], "acc": total, "care_acc": 1}
    return steps


@pytest.mark.parametrize(("task", "iterations", "rows"), TRAINED)
def test_a_layer(task, iterations, rows, tmp_path):
    cases = []
    for fmt, accumulator in UNITS:
        policy, x, y = trained(task, iterations, fmt, accumulator)
        rng = np.random.default_rng(0)
        a, b = (
            encoded(policy.operand(kind), operand, rng)[0] for kind, operand in ((ACTIVATION, x[:rows]), (WEIGHT, y))
        )
        sums = golden.matmul(a, b, fmt, accumulator=accumulator)
        network = Products(policy).matmul(x, y, LAYER)[:rows]
        np.testing.assert_array_equal(golden.get(accumulator).decode(sums), network)
        assert min(np.unique(a).size, np.unique(b).size) > 20
        assert np.unique(sums).size > min(sums.size // 2, 1000)
        design = build("pe", fmt, accumulator=accumulator)
        assert design.latency == 1
        case = clocked_case(design, cycles(a, b, sums))
        assert case.care["acc"].sum() == sums.size == rows * y.shape[1]
        cases.append(case)
    simulate(cases, tmp_path)


def test_a_wrong_weight_is_found(tmp_path):
    fmt, accumulator = UNITS[0]
    policy, x, y = trained("letters", 3, fmt, accumulator)
    a, b = codes(policy, x[:1], y)
    sums = golden.matmul(a, b, fmt, accumulator=accumulator)
    b[0, 0] ^= 1
    with pytest.raises(AssertionError, match=r"hif8_pe_binary16: 1 of \d+ cycles differ"):
        simulate([clocked_case(build("pe", fmt, accumulator=accumulator), cycles(a, b, sums))], tmp_path)


@pytest.mark.parametrize(
    ("simulator", "cases"),
    [
        pytest.param("icarus", lambda: layers.transformer("letters", 2), marks=NEEDS_ICARUS, id="letters"),
        pytest.param("verilator", layers.layers, marks=pytest.mark.exhaustive, id="all"),
    ],
)
def test_layers_on_a_tile(simulator, cases, tmp_path):
    accelerator = run.Accelerator(simulator, tmp_path)
    products = [(accelerator.compare(*case), np.unique(case[1]).size) for case in cases()]
    assert products
    for errors, codes in products:
        assert errors == 0
        assert codes > 20
