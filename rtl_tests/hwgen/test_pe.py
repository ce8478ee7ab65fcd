"""Processing elements in simulation: random clear and enable, a product per cycle; and refusals."""

import numpy as np
import pytest

import golden
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.reference.sums import PeReference
from hwgen.reference.trace import RESET_CYCLES
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import clocked_case, generator

CYCLES = 400

DESIGNS = [
    build("pe", "e5m2b1"),
    build("pe", "ocp_e4m3", stages=2),
    build("pe", "hif8", stages=3, interleave=3),
    build("pe", "ocp_e4m3", accumulator="exact", terms=2, stages=1),
    build("pe", "e5m2b1", lanes=2),
    build("pe", "e2m1", lanes=2, stages=1, flags=True, zero="positive"),
]
MORE = [
    *(build("pe", name, stages=stages) for name in ("hif8", "e5m2b1", "ocp_e4m3") for stages in (0, 1, 2)),
    build("pe", "binary8p3", "ocp_e4m3", accumulator="bfloat16", stages=4, interleave=5),
    build("pe", "ocp_e4m3+ocp_e5m2", accumulator="binary32", stages=2, interleave=2),
    build("pe", "gc_1_5_2_b16", accumulator="dlfloat16", stages=1),
    build("pe", "hif8", accumulator="exact", terms=64, stages=4, interleave=2),
    build("pe", "hif8", stages=2, lanes=2),
    build("pe", "ocp_e4m3", lanes=4),
    build("pe", "ocp_e4m3+ocp_e5m2", "hif8", accumulator="exact", terms=4, stages=3, interleave=2, lanes=3),
]


@pytest.mark.parametrize("designs", [DESIGNS, pytest.param(MORE, marks=pytest.mark.exhaustive)], ids=["some", "more"])
def test_simulation_of_random_patterns(designs, tmp_path):
    cases = []
    for design in designs:
        cycles = PeReference(design).cycles(CYCLES, generator(design.name))
        assert {cycle["clear"] for cycle in cycles} == {cycle["enable"] for cycle in cycles} == {0, 1}
        cases.append(clocked_case(design, cycles))
    assert any(case.outputs["overflow"].any() for case in cases)
    simulate(cases, tmp_path)


@pytest.mark.parametrize(
    ("stages", "interleave", "lanes"), [(0, 1, 1), (3, 4, 2), pytest.param(2, 1, 1, marks=pytest.mark.exhaustive)]
)
def test_simulation_of_products_every_cycle(stages, interleave, lanes, tmp_path):
    """A stream of products: each accumulator sums the products of every ``interleave``-th cycle."""
    design = build("pe", "hif8", accumulator="exact", terms=128, stages=stages, interleave=interleave, lanes=lanes)
    rng, length = generator("stream", design.name), 64
    small = np.flatnonzero(np.abs(golden.get("hif8").values) < 100)
    codes = rng.choice(small, (2, length, lanes)).astype(np.uint8)
    unit = golden.ExactAccumulator(golden.get("hif8"), golden.get("hif8"), 128)
    parts = [codes[:, turn::interleave].reshape(2, -1) for turn in range(interleave)]
    sums = [golden.dot(*part, "hif8", None, "exact", 128) for part in parts]
    a, b = (sum(codes[side, :, lane].astype(int) << 8 * lane for lane in range(lanes)) for side in (0, 1))
    expected = [sum(int(word) << 64 * limb for limb, word in enumerate(total)) for total in sums]
    quiet = {"a": 0, "b": 0, "clear": 0, "enable": 0, "acc": 0, "overflow": 0, "care_acc": 0, "care_overflow": 0}
    cycles = [{**quiet, "rst": 1}] * RESET_CYCLES
    cycles += [{**quiet, "rst": 0, "enable": 1, "a": int(x), "b": int(y)} for x, y in zip(a, b, strict=True)]
    cycles += [{**quiet, "rst": 0}] * (stages + 1)
    for time in range(len(cycles) - interleave, len(cycles)):  # these show the last sum of each accumulator
        turn = (time - (stages + 1) - RESET_CYCLES) % interleave
        cycles[time] = {**cycles[time], "acc": expected[turn], "care_acc": 1}
    assert unit.limbs == len(sums[0])
    simulate([clocked_case(design, cycles)], tmp_path)


def test_a_wrong_sum_is_found(tmp_path):
    design = build("pe", "e5m2b1", stages=1)
    cycles = PeReference(design).cycles(100, generator(design.name))
    cycles[50] = {**cycles[50], "acc": cycles[50]["acc"] ^ 1}
    with pytest.raises(AssertionError, match=r"e5m2b1_pe_binary16_s1: 1 of 104 cycles differ"):
        simulate([clocked_case(design, cycles)], tmp_path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--stages", "2", "--interleave", "4"],
            "--interleave must be an integer from 1 to stages + 1, which is 3, not 4",
        ),
        (["--interleave", "0"], "--interleave must be an integer from 1 to stages + 1, which is 1, not 0"),
        (["--stages", "17"], "--stages must be an integer from 0 to 16, not 17"),
        (["--terms", "5"], "--terms needs accumulator 'exact', not 'binary16'"),
    ],
)
def test_refusals(words, sentence, tmp_path, capsys):
    assert main(["generate", "pe", "--format", "hif8", *words, "-o", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
