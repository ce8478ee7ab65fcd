"""A layer of a trained transformer through the Verilog of processing elements equals golden.matmul, bit for bit."""

from functools import cache

import numpy as np
import pytest

import golden
from examples.training.products import Products, encoded
from examples.training.runs import Run, Trainer
from hwgen.blocks.catalog import build
from hwgen.reference.trace import RESET_CYCLES
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import clocked_case
from synth.report.training.policy import ACTIVATION, WEIGHT, Operand, Policy

LAYER = "0.joined"
"""The layer that joins the heads of attention."""
UNITS = (("hif8", "binary16"), ("e5m2b1", "bfloat16"), ("ocp_e4m3", "binary32"))
TRAINED = [pytest.param("letters", 2, 2, id="some"), pytest.param("characters", 30, 64, marks=pytest.mark.exhaustive)]
"""Tasks, iterations of training, and characters of a batch that are simulated."""


class Operands(Products):
    """Products that also keep the layer's operands."""

    def matmul(self, x, y, name, kind=WEIGHT):
        if name == LAYER:
            self.kept = np.asarray(x).reshape(-1, x.shape[-1]), y
        return super().matmul(x, y, name, kind)


@cache
def trained(task, iterations, fmt, accumulator):
    """Activations and weights of the layer for a batch, after training."""
    operand = Operand(fmt)
    policy = Policy(fmt, operand, operand, Operand("hif8"), accumulator)  # gradients would vanish in ocp_e4m3
    trainer = Trainer(Run(task, policy, 0, iterations))
    before = trainer.weights[LAYER].copy()
    for _ in range(iterations):
        trainer.step()
    assert (trainer.weights[LAYER] != before).mean() > 0.9
    products = Operands(trainer.run.policy)
    inputs, _ = trainer.task.samples(np.random.default_rng(1), trainer.task.batch)
    trainer.task.network.outputs(trainer.weights, inputs, products)
    return trainer.run.policy, *products.kept


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
