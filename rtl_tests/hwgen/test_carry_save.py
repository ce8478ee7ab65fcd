"""Accumulators in carry-save form: processing elements cycle by cycle, their loop alone, injected faults, refusals."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

import golden
from golden import Format
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.blocks.compressor import Compressor
from hwgen.netlist.emit import emit
from hwgen.reference.reference import codes_word
from hwgen.reference.sums import PeReference
from hwgen.reference.trace import Cycle
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import clocked_case, generator, texts
from rtl_tests.support.selection import exhaustive
from synth.proof.gates import Netlist
from synth.proof.mapping import read

CYCLES = 500
EXACT = {"accumulator": "exact", "carry_save": True}
DESIGNS = [
    build("pe", "ocp_e4m3", terms=2, **EXACT),
    build("pe", "ocp_e4m3", lanes=4, terms=4, flags=True, **EXACT),
    build("pe", "hif8", lanes=3, terms=3, flags=True, stages=2, **EXACT),
    build("pe", "e2m1", lanes=7, terms=8, scale_bits=2, stages=1, interleave=2, **EXACT),
]
MORE = [
    build("pe", "e8m0", lanes=2, terms=2, **EXACT),
    *(build("pe", name, lanes=lanes, terms=lanes, **EXACT) for name in ("ocp_e5m2", "e2m1") for lanes in (1, 2, 5, 16)),
    *(build("pe", "ocp_e4m3", lanes=4, terms=4, stages=stages, interleave=2, **EXACT) for stages in (1, 3, 5)),
    build("pe", "ocp_e5m2", "ocp_e4m3+ocp_e5m2", lanes=5, terms=5, flags=True, stages=3, interleave=3, **EXACT),
    build("pe", "gc_1_0_7_b0", lanes=2, terms=2, flags=True, stages=1, **EXACT),
]


def large(fmt: Format) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes of large positive and negative values; in a format without a sign, positive ones twice."""
    codes = np.flatnonzero(np.isfinite(fmt.values) & (np.abs(fmt.values) > fmt.largest / 2))
    positive, negative = (codes[np.signbit(fmt.values[codes]) == sign] for sign in (False, True))
    return positive, negative if negative.size else positive


class LargeProducts(PeReference):
    """Runs of large products of one sign, so that sums overflow again and again, and return; a few of any operands."""

    def stimuli(self, count: int, rng: np.random.Generator) -> list[dict[str, int]]:
        sides, everything = [large(fmt) for fmt in self.formats], [np.arange(1 << fmt.width) for fmt in self.formats]
        cases, sign = [], 0
        for _ in range(count):
            sign ^= int(rng.integers(0, 8) == 0)
            first = int(rng.integers(0, 2))
            choices = [sides[0][first], sides[1][first ^ sign]] if rng.integers(0, 16) else everything
            words = zip("ab", self.formats, choices, strict=True)
            cases.append(
                {name: codes_word(fmt, rng.choice(codes, self.core.lanes).tolist()) for name, fmt, codes in words}
            )
        return self.scaled(cases, self.factors(count, rng))


def cycles(design, reference=LargeProducts) -> list[Cycle]:
    return reference(design).cycles(CYCLES, generator(design.name))


@pytest.mark.parametrize("designs", [DESIGNS[1::2], exhaustive([*DESIGNS, *MORE])], ids=["some", "more"])
def test_simulation_of_sums_that_overflow(designs, tmp_path):
    """A sum that has overflowed wraps, and fits again later; the port remains set until ``clear``."""
    cases = [clocked_case(design, cycles(design)) for design in designs]
    for case in cases:
        share = case.outputs["overflow"].mean()
        assert 0.1 < share < 0.95, (case.name, share)
    simulate(cases, tmp_path)


@pytest.mark.parametrize("designs", [DESIGNS[::2], exhaustive([*DESIGNS, *MORE])], ids=["some", "more"])
def test_simulation_of_random_patterns(designs, tmp_path):
    simulate([clocked_case(design, cycles(design, PeReference)) for design in designs], tmp_path)


def test_ports_and_cycles_are_those_without_carry_save():
    design = DESIGNS[2]
    options = {**design.core._call[1], "carry_save": False}
    plain = build("pe", "hif8", **options)
    assert plain.ports == design.ports
    assert cycles(design, PeReference) == PeReference(plain).cycles(CYCLES, generator(design.name))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("borrow = ~acc_before[38]", "borrow = acc_before[38]"),
        ("total[39] ^ total[38]", "total[38] ^ total[37]"),
        ("assign flags = flags_so_far | ", "assign flags = "),
        ("flags_before = flags & {4{~clear}}", "flags_before = flags"),
        ("row_is_added = ~(product__is_nan | ~enable)", "row_is_added = ~product__is_nan"),
        ("carry_39_0 = (", "carry_39_0 = 1'b0 & ("),
    ],
)
def test_an_injected_fault_is_found(right, wrong, tmp_path):
    design = DESIGNS[1]
    text = texts([design])[design.name]
    assert text.count(right) == 1
    case = replace(clocked_case(design, cycles(design)), verilog=text.replace(right, wrong))
    with pytest.raises(AssertionError, match=f"{design.name}: [0-9]+ of [0-9]+ cycles differ"):
        simulate([case], tmp_path)


# -- the loop alone


def loop(name: str, lanes: int, state_last: bool) -> tuple[Compressor, Netlist]:
    """A compressor and its gates."""
    core = Compressor(name, lanes=lanes, terms=lanes, state_last=state_last)
    return core, read(emit(core, "top"), "top", thorough=False)


@pytest.mark.parametrize("state_last", [False, True])
@pytest.mark.parametrize(
    ("name", "lanes"), [("hif8", 3), exhaustive("ocp_e4m3", 1), exhaustive("e2m1", 32), ("ocp_e4m3", 4)]
)
def test_rows_of_any_bits_keep_their_sum(name, lanes, state_last):
    core, gates = loop(name, lanes, state_last)
    rng, fmt, unit, width = generator(name, str(lanes)), golden.get(name), core.exact, core.row_bits
    finite = np.flatnonzero(np.isfinite(fmt.values))

    def total(state: int) -> int:
        return (state + (state >> width)) % (1 << width)

    for case in range(40):
        state = int.from_bytes(rng.bytes(width), "little") % (1 << 2 * width)
        a, b = (rng.choice(finite, lanes).tolist() for _ in "ab")
        pins = {"a": codes_word(fmt, a), "b": codes_word(fmt, b), "enable": case % 4 > 0, "acc_in": state}
        after = gates.evaluate(pins)["acc_out"]
        exact = sum(Fraction(fmt.values[x]) * Fraction(fmt.values[y]) for x, y in zip(a, b, strict=True))
        added = int(exact / Fraction(2) ** unit.lsb_exponent) if pins["enable"] else 0
        assert (total(after) - total(state) - added) % (1 << width) == after >> 2 * width == 0


@pytest.mark.parametrize(("lanes", "most"), [(1, 1), (4, 3), (8, 4)])
def test_no_carry_travels_far(lanes, most):
    """An output bit depends on bits of the state at most some places to its right, and on the borrow."""
    core, gates = loop("ocp_e4m3", lanes, state_last=False)
    width, top = core.row_bits, 36 + (lanes - 1).bit_length()
    places: list[frozenset[int]] = [frozenset()] * gates.first_gate
    for number, net in enumerate(gates.input_nets("acc_in")[: 2 * width]):
        places[net] = frozenset({number % width})
    for gate in gates.gates:
        places.append(frozenset().union(*(places[net] for net in gate.pins)))
    (output,) = gates.outputs
    assert output == "acc_out"
    distances = {
        number % width - place for number, net in enumerate(gates.driven[: 2 * width]) for place in places[net] - {top}
    }
    assert distances == {*range(most + 1)}


# -- refusals


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "--carry-save needs accumulator 'exact', not 'binary16'"),
        (["--accumulator", "aligned13"], "--carry-save needs accumulator 'exact', not 'aligned13'"),
        (
            ["--accumulator", "exact", "--fabric", "fpga"],
            "--carry-save needs fabric 'asic', not 'fpga': it adds without carry chains",
        ),
    ],
)
def test_refusals(words, sentence, tmp_path, capsys):
    assert main(["generate", "pe", "--format", "hif8", "--carry-save", *words, "-o", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_verify(tmp_path, capsys):
    words = ["pe", "--format", "e2m1", "--accumulator", "exact", "--carry-save", "-o", str(tmp_path)]
    assert main(["verify", *words]) == 0
    assert "for all states in carry-save form" in capsys.readouterr().out
