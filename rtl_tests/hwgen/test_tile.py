"""Tiles in simulation: stalls, resets and operands of all classes; throughput; refusals; faults in the bundle."""

import numpy as np
import pytest

import golden
from golden.refusal import BadValue
from hwgen.__main__ import main
from hwgen.coverage.suite import suite
from hwgen.reference.reference import integers
from hwgen.reference.tile import SEQUENCES, TileReference, TileState
from hwgen.simulate.case import case
from hwgen.tile.block import TILE
from rtl_tests.hwgen.test_bundle import SMALL_TILE, icarus, verilator, write
from rtl_tests.support.bench import seed, simulate
from rtl_tests.support.blocks import generator, texts
from rtl_tests.support.optional import NEEDS_ICARUS
from rtl_tests.support.selection import exhaustive

DESIGNS = [
    SMALL_TILE,
    TILE.design("e2m1", rows=3, columns=2, lanes=4, block_scale="e8m0", stages=1, readout_stages=1),
    TILE.design(
        "hif8",
        rows=1,
        columns=1,
        accumulator="exact",
        terms=3,
        target="hif8",
        rounding="ties_to_away",
        readout_stages=2,
    ),
]
MORE = [
    TILE.design("hif8", rows=4, columns=4),
    TILE.design("ocp_e4m3+ocp_e5m2", "ocp_e4m3", rows=3, columns=2, lanes=2, accumulator="aligned25", stages=2),
    TILE.design("e5m2b1", rows=2, columns=2, accumulator="exact", terms=40, lanes=3, carry_save=True),
    TILE.design("ocp_e5m2", rows=1, columns=4, accumulator="binary16", stages=3, zero="positive"),
    TILE.design("int8", rows=5, columns=1, accumulator="exact", target="ocp_e4m3", overflow="saturate"),
    TILE.design(
        "ocp_e4m3", rows=2, columns=2, lanes=4, fabric="fpga", accumulator="exact", target="bfloat16", readout_stages=1
    ),
    TILE.design("ocp_e4m3", rows=8, columns=8, accumulator="exact", target="binary32", stages=1),
]


@pytest.mark.parametrize("designs", [DESIGNS, pytest.param(MORE, marks=pytest.mark.exhaustive)], ids=["some", "more"])
def test_simulation_of_all_classes(designs, tmp_path):
    cases = []
    for design in designs:
        vectors = suite(design, 880, generator(design.name))
        assert list(vectors.classes) == list(SEQUENCES)
        cases.append(case(design, texts([design])[design.name], vectors.vectors, seed=seed()))
    simulate(cases, tmp_path)


def test_the_classes_cover_all_handshakes():
    assert not suite(SMALL_TILE, 4000, np.random.default_rng(1)).coverage.missing


def test_products_are_those_of_golden():
    """Beats that are made here from matrices give the matrix product, in the places that docs/tile.md says."""
    rng = generator("products")
    design = TILE.design("e2m1", "e3m2", rows=2, columns=3, lanes=2, accumulator="exact", terms=10)
    a, b = rng.integers(0, 16, (2, 10)), rng.integers(0, 64, (10, 3))
    steps = range(0, 10, 2)
    left = [sum(int(a[r, k + lane]) << 4 * (2 * r + lane) for r in range(2) for lane in range(2)) for k in steps]
    right = [sum(int(b[k + lane, c]) << 6 * (2 * c + lane) for c in range(3) for lane in range(2)) for k in steps]
    sums = integers(golden.matmul(a, b, "e2m1", "e3m2", accumulator="exact", lanes=2, terms=10))
    width = design.core.exact.width
    expected = [sum(int(value) << width * c for c, value in enumerate(row)) for row in sums]
    assert TileReference(design).product(left, right) == expected


def test_throughput():
    """A product of K beats takes K + rows + a few cycles, and products follow each other without a gap."""
    for rows, columns, stages, length in ((8, 8, 0, 64), (4, 4, 3, 64), (8, 2, 1, 8), (1, 1, 0, 1)):
        tile = TILE.design("e2m1", rows=rows, columns=columns, stages=stages).core
        state = TileState(tile, lambda a, b, rows=rows: [len(a) + len(b)] * rows)
        sent, cycles, ended = 0, 0, []
        state.clock({"rst": 1})
        while len(ended) < 100:
            last = int(sent % length == length - 1)
            pins = {"rst": 0, "y_tready": 1, "a_tvalid": 1, "b_tvalid": 1, "a_tlast": last, "b_tlast": 0}
            outputs = state.outputs
            sent += outputs["a_tready"]
            state.clock({**pins, "a_tdata": 0, "b_tdata": 0})
            cycles += 1
            if outputs["y_tvalid"]:
                assert outputs["y_tdata"] == 2 * length
                ended += [cycles] if outputs["y_tlast"] else []
        assert ended[0] == length + rows + stages + 2
        assert np.unique(np.diff(ended)).tolist() == [max(length, rows)]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--rows", "0"], "--rows must be an integer from 1 to 64, not 0"),
        (["--columns", "65"], "--columns must be an integer from 1 to 64, not 65"),
        (["--to", "hif8"], "--to needs accumulator 'exact', not 'binary32': others are rounded already"),
        (["--rounding", "ties_to_even"], "--rounding needs --to, and accumulator 'exact'"),
        (["--readout-stages", "2"], "--readout-stages must be at most 1 without --to, not 2"),
        (["--readout-stages", "17"], "--readout-stages must be an integer from 0 to 16, not 17"),
        (
            ["--accumulator", "exact", "--to", "hif8", "--rounding", "stochastic"],
            "argument --rounding: invalid choice: 'stochastic' (choose from",
        ),
        (["--stages", "17"], "--stages must be an integer from 0 to 16, not 17"),
        (["--lanes", "3", "--accumulator", "exact", "--terms", "2"], "--terms must be at least the 3 lanes, not 2"),
        (["--name", "y_tdata"], "--name must not be that of one of the module's ports, which 'y_tdata' is"),
    ],
)
def test_refusals(words, sentence, tmp_path, capsys):
    assert main(["generate", "tile", "--format", "hif8", *words, "-o", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_stochastic_rounding_is_refused():
    with pytest.raises(BadValue, match=r"^rounding must need no random bits, which a tile does not have, as"):
        TILE.design("hif8", accumulator="exact", target="hif8", rounding="stochastic")


FAULTS = {
    "": ("", ""),
    "a wrong bit": (".a(a_1[7:0])", ".a(a_1[7:0] ^ 8'h01)"),
    "a lost beat": ("      valid_1 <= enable_0;", "      valid_1 <= enable_0 & ~first_0;"),
    "a swapped pair": ("{row[1], result_2, result_1,", "{row[1], result_1, result_2,"),
}


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        *(pytest.param(icarus, fault, marks=NEEDS_ICARUS) for fault in FAULTS),
        *(exhaustive(verilator, fault) for fault in FAULTS),
    ],
)
def test_the_bench_of_the_bundle(run, fault, tmp_path):
    """It passes, and fails on each fault."""
    right, wrong = FAULTS[fault]
    files = write(SMALL_TILE, tmp_path, (lambda text: text.replace(right, wrong)) if fault else None)
    assert right in files[f"{SMALL_TILE.name}.v"]
    stdout = run(tmp_path, SMALL_TILE.name)
    assert ("PASS " in stdout, "FAIL " in stdout) == (not fault, bool(fault)), stdout
