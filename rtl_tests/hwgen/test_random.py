"""Registers of random words: their words, their proofs, what the proofs find, lanes that share one, and refusals."""

import numpy as np
import pytest

from golden.lfsr import EXPONENTS, Lfsr
from golden.refusal import Refusal
from hwgen.blocks.catalog import build
from hwgen.reference import reference
from hwgen.reference.trace import RegisterState, stepped
from rtl_tests.support.bench import simulate
from rtl_tests.support.blocks import suite_case, texts
from rtl_tests.support.proofs import check, subject
from synth.proof.evidence import DIFFERENT, EQUAL, PROVED
from synth.proof.gates import NetlistError

STOCHASTIC = {"rounding": "stochastic", "random": "lfsr"}
FED = [
    ("encoder", "hif8", {"source": "bfloat16", "random_bits": 5}),
    ("encoder", "ocp_e4m3", {"source": "binary16", "random_bits": 14, "random_width": 16, "random_seed": 0xACE1}),
    ("readout", "e2m1", {"target": "e2m1", "terms": 1, "random_bits": 8}),
    ("readout", "e2m1", {"target": "e2m1", "terms": 1, "random_bits": 16}),  # few bits of its words matter, none stored
    ("quantizer", "e2m1", {"source": "bfloat16", "lanes": 3, "random_bits": 12}),
]


def fed(kind, fmt, options):
    return build(kind, fmt, **STOCHASTIC, **options)


@pytest.mark.parametrize("width", EXPONENTS)
@pytest.mark.parametrize(("random_bits", "lanes"), [(1, 1), (14, 3), (16, 8)])
def test_the_step_of_every_width_is_proved_in_all_states(width, random_bits, lanes):
    design = build("random", width=width, random_bits=random_bits, lanes=lanes, random_seed=5)
    record = check(design)
    assert (record.verdict, record.kind, record.cases) == (EQUAL, PROVED, 1 << width)


def test_the_proof_rests_on_a_linear_model():
    rng = np.random.default_rng(4)
    for width in EXPONENTS:
        unit = Lfsr(width, 13)
        a, b = rng.integers(0, 1 << min(width, 62), (2, 500)).astype(np.uint64)
        for one, other, both in zip(unit.step(a), unit.step(b), unit.step(a ^ b), strict=True):
            np.testing.assert_array_equal(one ^ other, both)


PORTS = "must have the output random of 16 bits and the inputs clk, rst and enable, and no other ports"
FAULTS = [
    ("bit_10 = state[10] ^ state[0]", "bit_10 = state[10] ^ state[1]", "the step from the state"),
    ("{bit_15, bit_14", "{bit_14, bit_15", "the step from the state"),
    ("state[30] ^ state[0]", "state[30] & state[0]", "exclusive or"),
    ("enable ? state_after : state", "state_after", "must keep its register while enable is 0"),
    ("32'h00000001 :", "32'h00000003 :", "must load the seed 0x1 while rst is 1"),
    ("output wire [15:0] random\n", "output wire [15:0] words\n", PORTS),
    ("output wire [15:0] random\n", "output wire [15:0] random, output wire more\n", PORTS),
]


@pytest.mark.parametrize(("right", "wrong", "sentence"), FAULTS)
def test_faults_of_a_register_are_found(right, wrong, sentence):
    """Alone, a wrong step has a state as a counterexample; in an encoder the module is refused."""
    design = build("random", random_bits=16)
    text = texts([design])[design.name]
    if wrong == "{bit_14, bit_15":
        right, wrong = "assign random = {bit_15, bit_14", "assign random = {bit_14, bit_15"
    assert text.count(right) == 1
    changed = text.replace(right, wrong)
    if "step" in sentence or "exclusive" in sentence:
        record = check(design, changed)
        assert record.verdict == DIFFERENT
        (case, *_) = record.counterexamples
        pins = {"state": int(case["inputs"]["state"], 16)}
        expected = reference(design).answer(pins)
        assert {name: int(word, 16) for name, word in case["golden"].items()} == expected
        assert case["got"] != case["golden"]
    else:
        with pytest.raises(NetlistError, match=sentence):
            check(design, changed)


@pytest.mark.parametrize(("kind", "fmt", "options"), FED)
def test_a_block_with_a_register_is_the_block_with_its_words(kind, fmt, options):
    """All words, and all states of the register; the inputs are those of the block with a port."""
    design = fed(kind, fmt, options)
    record = check(design)
    assert record.verdict == EQUAL
    plain = {name: value for name, value in options.items() if name not in ("random_width", "random_seed")}
    port = build(kind, fmt, rounding="stochastic", **plain)
    assert record.cases == record.inputs == 1 << sum(item.width for item in port.ports if item.direction == "input")
    assert record.method.endswith("; the register, by linearity for all states")
    names = {item.name for item in port.ports}
    assert {item.name for item in design.ports} == names - {"random"} | {"clk", "rst", "enable"}


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("bit_10 = state[10] ^ state[0]", "bit_10 = state[10] ^ state[9]", "its step from the state 0x1 is another"),
        ("enable ? state_after : state", "state_after", "must keep its register while enable is 0"),
        ("state[30] ^ state[0]", "state[30] | state[0]", "no exclusive or"),
        ("(bits[6] & state[20])", "state[20]", "must have outputs that follow from its inputs and random alone"),
    ],
)
def test_an_encoder_with_another_register_is_refused(right, wrong, sentence):
    design = fed("encoder", "hif8", {"source": "bfloat16"})
    text = texts([design])[design.name]
    if "bits[6]" in right:  # a code that depends on a bit of the state that is no bit of the word
        right, wrong = "assign code = ", "assign code = {7'b0, bits[6] & state[20]} ^ "
    assert text.count(right) == 1
    with pytest.raises(NetlistError, match=sentence):
        subject(design, text.replace(right, wrong)).netlist()


def test_an_encoder_that_reads_its_word_backwards_differs():
    design = fed("encoder", "ocp_e4m3", {"source": "bfloat16", "random_bits": 4})
    text = texts([design])[design.name]
    ends = text.index("// Source")
    used = text[ends:].replace("state[0]", "state[@]").replace("state[3]", "state[0]").replace("state[@]", "state[3]")
    assert used != text[ends:]
    record = check(design, text[:ends] + used)
    assert record.verdict == DIFFERENT


def test_modules_simulate_as_the_model_says_cycle_by_cycle(tmp_path):
    designs = [fed(*arguments) for arguments in FED]
    designs += [build("random", width=width, random_bits=11, lanes=7, random_seed=77) for width in EXPONENTS]
    simulate([suite_case(design) for design in designs], tmp_path)


def test_lanes_take_turns_in_one_sequence():
    """The words of a cycle are successive words of golden, lane 0 first; the quantizer's lanes have them, too."""
    source = build("random", width=48, random_bits=9, lanes=5, random_seed=123456).source
    state, sequence = RegisterState(source), Lfsr(48, 9).words(123456, 40).tolist()
    for cycle in range(8):
        words = [state.word >> 9 * lane & 511 for lane in range(5)]
        assert words == sequence[5 * cycle : 5 * cycle + 5]
        state.clock(rst=0, enable=cycle % 2)
        state.clock(rst=0, enable=1 - cycle % 2)
    assert state.word == stepped(source, np.array([_after(source, 8)], np.uint64))[0][0]


def _after(source, cycles):
    state = np.array([source.random_seed], np.uint64)
    for _ in range(cycles):
        state = stepped(source, state)[1]
    return int(state[0])


@pytest.mark.parametrize(("random_bits", "lanes"), [(4, 4), (2, 7), (16, 2)])
def test_lanes_are_uncorrelated_over_a_period(random_bits, lanes):
    """All states of 16 bits: two bits of the sequence have the correlation -1 / (2**16 - 1), words up to 3 times that.

    That holds for words of one cycle that share no bit, and for words of the next cycle.
    """
    source = build("random", width=16, random_bits=random_bits, lanes=lanes).source
    states = np.arange(1, 1 << 16).astype(np.uint64)
    words, after = stepped(source, states)
    later = stepped(source, after)[0]
    columns = [
        (word >> np.uint64(random_bits * lane) & np.uint64((1 << random_bits) - 1)).astype(float)
        for word in (words, later)
        for lane in range(lanes)
    ]
    correlation = np.corrcoef(columns)
    weights = 2.0 ** np.arange(random_bits)
    expected = -(weights.sum() ** 2) / (weights**2).sum() / 65535
    others = correlation[~np.eye(2 * lanes, dtype=bool)]
    np.testing.assert_allclose(others, expected, rtol=1e-3)


def test_five_bits_of_the_sequence_are_dependent():
    """What pairs do not show: a bit is the exclusive or of four others, in a lane of the same or another cycle."""
    bits = np.array([Lfsr(16, 1).words(1, 4000)]).ravel()
    assert not (bits[16:] ^ bits[5:-11] ^ bits[3:-13] ^ bits[2:-14] ^ bits[:-16]).any()


def test_the_module_says_its_period():
    for width, bits, lanes in ((16, 16, 1), (24, 12, 2), (32, 16, 32), (64, 15, 9)):
        source = build("random", width=width, random_bits=bits, lanes=lanes).source
        states, steps = (1 << width) - 1, bits * lanes
        # x ** (steps * period) is 1 and the order of x is the number of states
        assert source.period * steps % states == 0
        assert all(source.period // prime * steps % states for prime in (3, 5, 7, 13, 17) if source.period % prime == 0)
        assert (
            f"The words repeat after {source.period} enabled cycles"
            in build("random", width=width, random_bits=bits, lanes=lanes).header
        )


BAD = [
    (lambda: build("random", width=20), "width must be 16, 24, 32, 48, 64, not 20"),
    (lambda: build("random", width=16, random_bits=17), "random_bits must be an integer from 1 to 16, not 17"),
    (lambda: build("random", lanes=33), "lanes must be an integer from 1 to 32, not 33"),
    (lambda: build("random", random_seed=0), "random_seed must be an integer from 1 to 4294967295, not 0"),
    (
        lambda: build("encoder", "hif8", random="lfsr"),
        "random 'lfsr' needs a stochastic rounding, which takes random bits",
    ),
    (
        lambda: build("encoder", "hif8", random_width=24),
        "random_width needs random 'lfsr', not 'port'",
    ),
    (
        lambda: build("encoder", "hif8", **STOCHASTIC, random_width=30),
        "random_width must be 16, 24, 32, 48, 64, not 30",
    ),
    (
        lambda: build("encoder", "hif8", **STOCHASTIC, random_bits=20, random_width=16),
        "random_bits must be an integer from 1 to 16, not 20",
    ),
    (
        lambda: build("encoder", "hif8", **STOCHASTIC, stages=1),
        "random 'lfsr' needs a module without stages; a pipeline takes the words of a port",
    ),
    (lambda: build("encoder", "hif8", rounding="stochastic", random="x"), "random must be one of port, lfsr, not 'x'"),
]


@pytest.mark.parametrize(("call", "sentence"), BAD)
def test_bad_input_gets_one_sentence(call, sentence):
    with pytest.raises(Refusal) as refused:
        call()
    assert str(refused.value) == sentence
