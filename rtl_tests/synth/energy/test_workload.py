"""Data and operations: codes of the nearest values, natural sums, and mismatches that are found."""

import re

import numpy as np
import pytest

import golden
from golden.refusal import BadValue
from hwgen.blocks.catalog import build
from hwgen.reference import REFERENCES, reference
from synth.energy import data, workload
from synth.energy.data import RUN, Data, nearest, read, scaled
from synth.energy.workload import TERMS, bits


@pytest.mark.parametrize("name", ["hif8", "ocp_e4m3", "ocp_e5m2", "e2m1", "ue4m3", "binary16", "binary32", "ibm_1_5_2"])
def test_codes_are_those_of_an_encoder(name):
    fmt = golden.get(name)
    numbers = np.random.default_rng(1).standard_normal(4000).astype(np.float32)
    numbers *= np.float32(min(8.0, fmt.largest))
    numbers = numbers if fmt.signed else np.abs(numbers)
    if name == "binary32":
        assert np.array_equal(nearest(fmt, numbers.astype(np.float64)), numbers.view(np.uint32))
        return
    errors = np.abs(fmt.values[nearest(fmt, numbers.astype(np.float64))] - numbers)
    if name == "binary16":
        assert np.array_equal(errors, np.abs(numbers.astype(np.float16).astype(np.float64) - numbers))
        return
    finite = fmt.values[np.isfinite(fmt.values)]
    assert np.array_equal(errors, np.abs(finite[:, np.newaxis] - numbers).min(axis=0))


def test_codes_saturate_and_have_no_sign_where_there_is_none():
    assert golden.get("ocp_e4m3").values[nearest(golden.get("ocp_e4m3"), np.array([1e9, -1e9]))].tolist() == [448, -448]
    assert golden.get("ue4m3").values[nearest(golden.get("ue4m3"), np.array([-3.0]))].tolist() == [3]


def test_codes_of_a_pair_are_those_of_its_first_format():
    pair, first = golden.get("ocp_e4m3+ocp_e5m2"), golden.get("ocp_e4m3")
    numbers = np.linspace(-9, 9, 100)
    assert np.array_equal(pair.values[nearest(pair, numbers)], first.values[nearest(first, numbers)])


@pytest.mark.parametrize(("name", "kind"), [("ocp_e4m3", "gaussian"), ("hif8", "gaussian"), ("e2m1", "laplace")])
def test_the_scale_is_that_of_the_reference_model(name, kind):
    fmt, numbers = golden.get(name), Data(kind).streams(100_000)[0]
    numbers /= np.sqrt(np.mean(numbers**2))
    factor = scaled(fmt, numbers)[0] / numbers[0]
    best = golden.best_scale(fmt, kind)
    chosen = golden.quantization_snr(fmt, factor, kind)
    assert np.log2(factor) == np.round(np.log2(factor))
    assert chosen == pytest.approx(best.snr, abs=0.3)


@pytest.mark.parametrize("kind", data.KINDS)
def test_kinds_of_data(kind):
    a, b = Data(kind).streams(20_000)
    assert abs(np.mean(a)) < 0.05
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.05
    assert np.array_equal(Data(kind).streams(20_000), [a, b])
    zeros = {"sparse": 0.5}.get(kind, 0.0)
    assert np.mean(a == 0) == pytest.approx(zeros, abs=0.02)
    tails = {"uniform": 1.8, "gaussian": 3.0, "laplace": 6.0, "sparse": 6.0}[kind]
    assert np.mean(a**4) / np.mean(a**2) ** 2 == pytest.approx(tails, rel=0.15)


def test_numbers_of_a_file(tmp_path):
    path = str(tmp_path / "numbers.npy")
    np.save(path, np.array([[1, -1, 2], [0, 0, 4]]))
    pair = read(path)
    assert pair.name == "numbers.npy"
    a, b = pair.streams(7)
    assert a.tolist() == [1, -1, 2, 1, -1, 2, 1]
    assert b.tolist() == [0, 0, 4, 0, 0, 4, 0]
    np.save(path, np.arange(12, dtype=np.float16).reshape(3, 4))
    a, b = read(path).streams(12)
    assert np.all(np.diff(a) > 0)
    assert sorted(b) == sorted(a)
    assert not np.array_equal(a, b)


@pytest.mark.parametrize(("size", "count"), [(6000, 2016), (6000, 130), (300, 299), (129, 128), (1000, 1), (130, 128)])
def test_numbers_of_a_long_file_lie_evenly_in_runs(size, count, tmp_path):
    path = str(tmp_path / "numbers.npy")
    np.save(path, np.stack([np.arange(size), np.arange(size)]) + 1)
    places = read(path).streams(count)[0] - 1
    runs = np.split(places, range(RUN, count, RUN))
    assert all(np.array_equal(run, run[0] + np.arange(len(run))) for run in runs)
    assert len(places) == count
    starts = [run[0] for run in runs]
    assert starts[0] == 0
    if len(runs) > 1:
        assert starts[-1] == size - RUN
        assert np.ptp(np.diff(starts)) <= 1


@pytest.mark.parametrize("name", ["ocp_e4m3", "hif8", "e2m1", "ue4m3", "gc_1_5_2_b33"])
def test_values_of_a_format_stay(name):
    fmt = golden.get(name)
    codes = nearest(fmt, fmt.values[np.isfinite(fmt.values)])
    numbers = np.random.default_rng(1).permutation(fmt.values[np.repeat(codes, 3)])
    assert np.array_equal(scaled(fmt, numbers), numbers)


def test_the_scale_of_an_operand_depends_on_it_alone(tmp_path):
    numbers = np.random.default_rng(1).standard_normal(100).astype(np.float32).astype(np.float64)
    fmt = golden.get("ocp_e4m3")
    for other, expected in (
        (np.zeros(100), 0 * numbers),
        (2.0**-100 * numbers, numbers),
        (2.0**100 * numbers, numbers),
    ):
        a, b = read(_saved(tmp_path, np.stack([numbers, other]))).streams(100)
        assert np.array_equal(scaled(fmt, a), numbers)
        assert np.array_equal(scaled(fmt, b), expected)


def _saved(tmp_path, array):
    path = tmp_path / "x.npy"
    np.save(path, array, allow_pickle=True)
    return str(path)


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.array(["a"]), "must have real numbers, not <U1"),
        (np.array([1j]), "must have real numbers, not complex128"),
        (np.array([True]), "must have real numbers, not bool"),
        (np.array([1.0, np.nan]), "must have finite numbers; it has NaN or infinity"),
        (np.array([1.0, np.inf]), "must have finite numbers; it has NaN or infinity"),
        (np.array([1e300, 1.0]), "must have numbers in the range of binary32; it has larger ones"),
        (np.array([1e-300]), "must have a number other than 0; it has 1 numbers"),
        (np.zeros(3), "must have a number other than 0; it has 3 numbers"),
        (np.zeros((2, 0)), "must have a number other than 0; it has 0 numbers"),
        (np.array([{}]), "is not an array of numbers in NumPy's format"),
    ],
)
def test_files_that_are_refused(array, problem, tmp_path):
    path = _saved(tmp_path, array)
    with pytest.raises(BadValue, match=rf"^data: {re.escape(path)} {re.escape(problem)}$"):
        read(path)


@pytest.mark.parametrize(
    ("shape", "problem"),
    [
        ("(1099511627776,)", "has an array that does not fit into memory"),
        ("(99999999999999999999999,)", "is not an array of numbers in NumPy's format"),
        ("(" * 5000, "is not an array of numbers in NumPy's format"),
        ("(True, True)", "is not an array of numbers in NumPy's format"),
    ],
    ids=["8 TiB", "beyond 64 bits", "deep", "booleans"],
)
def test_a_hostile_header_is_refused(shape, problem, tmp_path):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    path = tmp_path / "hostile.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(80))
    with pytest.raises(BadValue, match=rf"^data: {re.escape(str(path))} {problem}$"):
        read(str(path))


def test_names_that_are_refused(tmp_path):
    with pytest.raises(
        BadValue, match=r"^data must be one of gaussian, laplace, uniform, sparse, or a .npy file, not 'g'"
    ):
        read("g")
    with pytest.raises(BadValue, match=r"^data: none.npy cannot be read: No such file or directory$"):
        read("none.npy")
    empty = tmp_path / "empty.npy"
    empty.write_bytes(b"")
    with pytest.raises(BadValue, match=r"is not an array of numbers in NumPy's format$"):
        read(str(empty))
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(BadValue, match=r"cannot be read: Is a directory$"):
        read(str(tmp_path / "folder.npy"))


DESIGNS = {
    "decoder": build("decoder", "hif8"),
    "encoder": build("encoder", "ocp_e5m2", source="bfloat16", rounding="stochastic"),
    "hybrid": build("encoder", "hif8", rounding="hybrid"),
    "from codes": build("encoder", "e2m1", source="ocp_e4m3"),
    "quantizer": build("quantizer", "e2m1", lanes=4),
    "encoder with random words": build("encoder", "hif8", rounding="stochastic", random="lfsr"),
    "quantizer with random words": build("quantizer", "e2m1", lanes=3, rounding="stochastic", random="lfsr"),
    "stochastic quantizer": build("quantizer", "hif8", lanes=3, rounding="stochastic", center=0),
    "scaled encoder": build("encoder", "hif8", scale_bits=6),
    "mac": build("mac", "ocp_e4m3"),
    "mac of two formats": build("mac", "hif8", "ocp_e5m2", accumulator="binary32", flags=True),
    "mac of a pair": build("mac", "ocp_e4m3+ocp_e5m2"),
    "scaled mac": build("mac", "e2m1", scale_bits=4, accumulator="exact", terms=64),
    "pipeline": build("mac", "ocp_e5m2", stages=3, clock_enable=True, reset="none"),
    "dot": build("dot", "ocp_e4m3", lanes=8, accumulator="aligned25"),
    "blocks": build("dot", "e2m1", lanes=16, accumulator="binary32", block_scale="ue4m3"),
    "other scales": build("dot", "ocp_e4m3", lanes=2, accumulator="binary32", block_scale="ue5m3"),
    "pe": build("pe", "hif8", flags=True),
    "interleaved pe": build("pe", "ocp_e4m3", stages=2, interleave=2),
    "carry-save pe": build("pe", "e2m1", lanes=4, accumulator="exact", carry_save=True),
    "amax": build("amax", "ocp_e4m3", source="hif8", lanes=4, stages=1),
    "readout": build("readout", "ocp_e4m3", target="binary32"),
    "scaled readout": build("readout", "e2m1", target="hif8", result_scale_bits=4, scale_bits=2),
    "readout to codes": build("readout", "ocp_e4m3", target="ocp_e5m2", rounding="stochastic"),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_operations_fit_the_ports_and_the_reference_model(name):
    design = DESIGNS[name]
    work = workload.workload(design, Data("gaussian"), 50)
    assert work.counted == 50
    assert len(work.expected) == len(work.pins)
    ports = {port.name: port.width for port in design.ports}
    inputs = {port.name for port in design.ports if port.direction == "input"} - {"clk"}
    for pins, outputs in zip(work.pins, work.expected, strict=True):
        assert set(pins) == inputs
        assert all(0 <= value < 1 << ports[port] for port, value in (pins | outputs).items())
    if design.source is not None:
        count = design.lanes
        words = design.source.lfsr.words(design.source.random_seed, count * len(work.pins)).reshape(-1, count).tolist()
        joined = [sum(word << 16 * lane for lane, word in enumerate(row)) for row in words]
        pins = [{**pins, "random": word} for pins, word in zip(work.pins[work.first :], joined, strict=False)]
        assert list(work.expected[work.first :]) == reference(design).answers(pins)
        assert [pins["rst"] for pins in work.pins[: work.first + 1]] == [1, 1, 0]
    elif not design.latency and name != "mac of a pair":  # whose codes are split into two ports
        assert list(work.expected) == reference(design).answers(work.pins)


def test_every_block_with_a_reference_model_is_covered():
    """Random words alone are no operation on numbers."""
    assert {design.kind for design in DESIGNS.values()} == set(REFERENCES) - {"random"} == set(workload.MEASURED)


def test_sums_run_and_start_again():
    work = workload.workload(build("mac", "ocp_e4m3"), Data("gaussian"), 3 * TERMS)
    starts = [number for number, pins in enumerate(work.pins) if pins["acc_in"] == 0]
    assert {0, TERMS, 2 * TERMS} <= set(starts)
    for number in range(1, len(work.pins)):
        if number % TERMS:
            assert work.pins[number]["acc_in"] == work.expected[number - 1]["acc_out"]


@pytest.mark.parametrize("kind", ["mac", "pe"])
def test_a_sum_that_overflows_starts_again(kind, monkeypatch):
    """Products of 57344 squared leave binary16 at once."""
    monkeypatch.setattr(workload, "scaled", lambda fmt, numbers: numbers * 1e9)
    work = workload.workload(build(kind, "ocp_e5m2"), Data("uniform"), 20)
    infinity = golden.get("binary16").infinity
    for pins, outputs in zip(work.pins[work.first :], work.expected[work.first :], strict=True):
        assert outputs["acc" if kind == "pe" else "acc_out"] & 0x7FFF == infinity
        assert pins["clear"] == 1 if kind == "pe" else pins["acc_in"] == 0
        assert kind == "mac" or outputs["overflow"] == 1


def test_a_processing_element_clears_each_of_its_sums():
    work = workload.workload(build("pe", "ocp_e4m3", stages=2, interleave=2), Data("gaussian"), 2 * TERMS + 50)
    clears = [number for number, pins in enumerate(work.pins[work.first :]) if pins["clear"]]
    assert clears == [0, 1, 2 * TERMS, 2 * TERMS + 1]
    assert [pins["rst"] for pins in work.pins[:4]] == [1, 1, 0, 0]


def test_a_wrong_result_is_found_and_named():
    work = workload.workload(build("decoder", "e2m1"), Data("gaussian"), 20)
    right = bits([[outputs["bits"] for outputs in work.expected]], [16])
    assert work.mismatch({"bits": 16}, right) is None
    wrong = right.copy()
    wrong[7, 3] ^= 1
    code, value = work.pins[7]["code"], work.expected[7]["bits"]
    problem = f"1 of 36 results are wrong; in operation 7, with code {code:#x}, "
    assert work.mismatch({"bits": 16}, wrong) == problem + f"bits is {value ^ 8:#x} instead of {value:#x}"


def test_results_of_a_pipeline_are_compared_after_its_latency():
    work = workload.workload(build("decoder", "e2m1", stages=2), Data("gaussian"), 20)
    right = bits([[outputs[name] for outputs in work.expected] for name in ("bits", "out_valid")], [16, 1])
    ports = {"bits": 16, "out_valid": 1}
    assert work.mismatch(ports, np.roll(right, 2, axis=0)) is None
    assert work.mismatch(ports, right) is not None
