"""Gate netlists, and their evaluation with 64 cases per word."""

import itertools

import numpy as np
import pytest

from hwgen.tools.yosys import YosysError
from synth.proof import bitslice
from synth.proof.bitslice import CASES, Evaluator, from_planes, to_planes
from synth.proof.gates import GATES, Gate, Netlist, NetlistError, arrange
from synth.proof.mapping import read

TRUTH = {
    "NOT": lambda a: not a, "AND": lambda a, b: a and b, "OR": lambda a, b: a or b, "XOR": lambda a, b: a != b,
    "NAND": lambda a, b: not (a and b), "NOR": lambda a, b: not (a or b), "XNOR": lambda a, b: a == b,
    "ANDNOT": lambda a, b: a and not b, "ORNOT": lambda a, b: a or not b, "MUX": lambda a, b, s: b if s else a,
}  # fmt: skip
ADDER = """
module adder (input [3:0] a, input [8:0] b, output [9:0] sum, output odd);
  assign sum = a + b;
  assign odd = sum[0];
endmodule
"""


def random_netlist(rng, gates=60):
    """Gates of every kind; some depend on ``a`` alone."""
    nets, netlist = 2 + 4 + 9, []
    for _ in range(gates):
        kind = GATES[rng.integers(len(GATES))]
        count = {"NOT": 1, "MUX": 3}.get(kind, 2)
        netlist.append(Gate(kind, tuple(int(net) for net in rng.integers(0, nets, count))))
        nets += 1
    driven = (*(int(net) for net in rng.integers(0, nets, 8)), 0, 1, 3)
    return Netlist("random", {"a": 4, "b": 9}, {"x": 8, "y": 3}, tuple(netlist), driven)


@pytest.mark.parametrize("kind", GATES)
def test_gates_do_what_their_names_say(kind):
    pins = {"NOT": 1, "MUX": 3}.get(kind, 2)
    netlist = Netlist("one", {"a": pins}, {"x": 1}, (Gate(kind, tuple(range(2, 2 + pins))),), (2 + pins,))
    for row in itertools.product((0, 1), repeat=pins):
        word = sum(bit << place for place, bit in enumerate(row))
        assert netlist.evaluate({"a": word}) == {"x": int(TRUTH[kind](*row))}


@pytest.mark.parametrize("width", [1, 7, 8, 9, 16, 17, 33, 64])
def test_planes_have_the_bits_of_values(width):
    rng = np.random.default_rng(width)
    values = rng.integers(0, 1 << width, (3, 2 * CASES), dtype=np.uint64)
    planes = to_planes(values, width)
    assert planes.shape == (3, width, 2 * CASES // 64)
    assert planes.flags.c_contiguous
    assert all(np.array_equal(from_planes(part), row) for part, row in zip(planes, values, strict=True))
    assert planes[0, 0, 0] & np.uint64(1) == values[0, 0] & np.uint64(1)


def test_more_planes_than_a_word_has_bits():
    planes = np.zeros((70, 8), np.uint64)
    planes[69, 0] = 2
    assert from_planes(planes)[:3].tolist() == [0, 1 << 69, 0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("running_port", ["a", "b"])
def test_compiled_walked_and_single_evaluation_agree(seed, running_port):
    rng = np.random.default_rng(seed)
    netlist = random_netlist(rng)
    nets = list(netlist.input_nets(running_port))
    running = to_planes(np.tile(np.arange(1 << len(nets)), CASES // min(1 << len(nets), CASES)), len(nets))
    compiled, walked = Evaluator(netlist, nets), Evaluator(netlist, nets, compiled=False)
    groups = np.arange(1 << (13 - len(nets)), dtype=np.uint64)
    expected = np.stack([walked.evaluate(int(group), running) for group in groups])
    for group in groups.tolist():
        assert np.array_equal(compiled.evaluate(group, running), expected[group])
    for case in range(1 << len(nets)):
        out = netlist.evaluate(compiled.pins(int(groups[-1]), case))
        assert from_planes(expected[-1])[case] == out["x"] | out["y"] << 8
    for code in (compiled, walked):
        assert code.compare(groups, running, expected) is None
        wrong = expected.copy()
        wrong[3, 5, running.shape[1] - 1] ^= np.uint64(0b101)
        wrong[4, 1, 0] ^= np.uint64(1)
        mismatch = code.compare(groups, running, wrong)
        assert (mismatch.cases, mismatch.group, mismatch.start) == (3, 3, (running.shape[1] - 8) * 64)
        shared = code.compare(groups[2:3], running, expected[2])
        assert shared is None


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("running_port", ["a", "b"])
def test_groups_with_the_same_border_are_evaluated_once(seed, running_port):
    """The mismatches of groups that should all have the outputs of one of them are those of every group by itself."""
    netlist = random_netlist(np.random.default_rng(seed))
    nets = list(netlist.input_nets(running_port))
    running = to_planes(np.tile(np.arange(1 << len(nets)), CASES // min(1 << len(nets), CASES)), len(nets))
    compiled, walked = Evaluator(netlist, nets), Evaluator(netlist, nets, compiled=False)
    groups = np.arange(1 << (13 - len(nets)), dtype=np.uint64)
    for group in groups[:: max(1, len(groups) // 16)].tolist():
        expected = walked.evaluate(group, running)
        equal = [other for other in groups if np.array_equal(walked.evaluate(int(other), running), expected)]
        assert compiled.compare(np.array(equal), running, expected) is None
        mine, theirs = (code.compare(groups, running, expected) for code in (compiled, walked))
        assert mine == theirs


def test_an_output_of_held_bits_alone_is_at_the_border():
    netlist = arrange(read(ADDER, "adder"), {"a": 4, "b": 9}, {"sum": 10, "odd": 1})
    code = Evaluator(netlist, list(netlist.input_nets("b")))
    assert len(code._representatives(np.arange(16, dtype=np.uint64))) == 16
    text = "module m (input [3:0] a, input [8:0] b, output [8:0] y, output z); assign y = b ^ {9{&a}}; assign z = a[3];"
    code = Evaluator(netlist := read(f"{text} endmodule", "m"), list(netlist.input_nets("b")))
    running = to_planes(np.arange(512), 9)
    assert code._representatives(np.arange(16, dtype=np.uint64)).tolist() == [0, 8, 15]
    mismatch = code.compare(np.arange(8, 16, dtype=np.uint64), running, code.evaluate(8, running))
    assert (mismatch.cases, mismatch.group, mismatch.start) == (512, 7, 0)


def test_without_a_compiler_numpy_evaluates(monkeypatch):
    monkeypatch.setattr(bitslice, "compiler", lambda: None)
    netlist = arrange(read(ADDER, "adder"), {"a": 4, "b": 9}, {"sum": 10, "odd": 1})
    code = Evaluator(netlist, list(netlist.input_nets("b")))
    assert code._code is None
    b = np.arange(512)
    assert np.array_equal(from_planes(code.evaluate(5, to_planes(b, 9))), (b + 5) | ((b + 5) & 1) << 10)


def test_ports_are_arranged_by_name():
    netlist = read(ADDER, "adder")
    turned = arrange(netlist, {"b": 9, "a": 4}, {"odd": 1, "sum": 10})
    assert list(turned.inputs) == ["b", "a"]
    for a, b in ((0, 0), (15, 511), (7, 300)):
        assert (
            turned.evaluate({"a": a, "b": b})
            == netlist.evaluate({"a": a, "b": b})
            == {"sum": a + b, "odd": (a + b) & 1}
        )
    with pytest.raises(NetlistError, match=r"^adder must have the inputs a\[4\], c\[9\], not a\[4\], b\[9\]$"):
        arrange(netlist, {"a": 4, "c": 9}, {"sum": 10, "odd": 1})


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("reg x; always @(posedge a) x <= b; assign y = x;", NetlistError, "combinational"),
        ("wire n; assign n = ~(n & a); assign y = n;", NetlistError, "contains a loop of gates"),
        ("assign y = ;", YosysError, "syntax error"),
        ("other o (a, b, y);", YosysError, "other"),
    ],
)
def test_only_combinational_blocks_are_read(text, error, sentence):
    with pytest.raises(error, match=sentence):
        read(f"module m (input a, input b, output y); {text} endmodule", "m")


def test_planes_of_the_wrong_shape_are_refused():
    netlist = random_netlist(np.random.default_rng(0))
    code = Evaluator(netlist, list(netlist.input_nets("b")))
    running = to_planes(np.arange(512), 9)
    with pytest.raises(ValueError, match="wrong shape"):
        code.compare(np.zeros(2, np.uint64), running, np.zeros((3, 11, 8), np.uint64))
    with pytest.raises(ValueError, match="multiple of 512"):
        to_planes(np.arange(100), 9)
