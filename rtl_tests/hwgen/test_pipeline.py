"""Pipelines: balanced stages, equality with the block that they delay, and refusals."""

import re
from math import inf

import pytest

from hwgen import Mac
from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.netlist.emit import netlist
from hwgen.netlist.pipeline import MAX_STAGES, Pipelined
from hwgen.netlist.schedule import delay, schedule
from rtl_tests.support.blocks import texts
from rtl_tests.support.lint import lint
from synth.proof.evidence import EQUAL
from synth.proof.files import UserFile
from synth.proof.gates import NetlistError
from synth.proof.mapping import read
from synth.proof.verify import emitted, verify

MORE = [
    *(build("mac", name, stages=stages) for name in ("hif8", "e5m2b1", "ocp_e4m3") for stages in (2, 8)),
    build("mac", "gc_1_0_7_b0", "ocp_e5m2", accumulator="dlfloat16", stages=5, reset="none"),
]
SOME = [
    build("mac", "e5m2b1", accumulator="exact", terms=4, stages=2, clock_enable=True),
    build("encoder", "hif8", source="bfloat16", rounding="hybrid", stages=2, clock_enable=True),
    build("encoder", "ocp_e4m3", source="binary16", rounding="stochastic", random_bits=4, stages=1),
    build("decoder", "hif8+e5m2b1", target="unpacked", stages=2),
    build("decoder", "binary8p3", stages=MAX_STAGES),
]


ALL = [*SOME, *(pytest.param(design, marks=pytest.mark.exhaustive) for design in MORE)]


@pytest.mark.parametrize("design", ALL, ids=lambda design: design.name)
def test_a_pipeline_is_its_block_delayed(design, tmp_path):
    subject = emitted(design)
    lint({design.name: subject.verilog}, tmp_path)
    evidence = verify(subject, subject.netlist())
    assert evidence.verdict == EQUAL
    assert evidence.cases == evidence.inputs
    controls = re.findall(r"input wire (clk|rst|enable|in_valid)\b", subject.verilog)
    reset = [] if "reset" in design.options else ["rst"]
    enable = ["enable"] if "clock-enable" in design.options else []
    assert controls == ["clk", *reset, *enable, "in_valid"]


@pytest.mark.parametrize("name", ["hif8", "ocp_e5m2"])
@pytest.mark.parametrize("stages", [1, 3])
def test_enable_is_seen_through_logic(name, stages):
    design = build("mac", name, stages=stages, clock_enable=True)
    assert read(texts([design])[design.name], design.name, pipeline=design.pipeline)


CORRECT = """\
module p (input clk, input rst, input enable, input in_valid, input [7:0] code, output out_valid, output [15:0] bits);
  reg v1, v2; reg [7:0] r1; reg [15:0] r2; wire [15:0] f;
  ocp_e4m3_decoder_bfloat16 d (.code(r1), .bits(f));
  always @(posedge clk) begin
    if (rst) begin v1 <= 0; v2 <= 0; end else if (enable) begin v1 <= in_valid; v2 <= v1; end
    if (enable) begin r1 <= code; r2 <= f; end
  end
  assign out_valid = v2; assign bits = r2;
endmodule
"""
"""A pipeline written by a user."""

IGNORED = "has outputs that depend on {} in a cycle in which it must not affect them"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("", "", None),
        ("r2 <= f;", "if (v1) r2 <= f;", None),
        ("assign out_valid = v2;", "assign out_valid = v2 & enable;", IGNORED.format("enable")),
        ("assign out_valid = v2;", "assign out_valid = v2 | rst;", IGNORED.format("rst")),
        ("r2 <= f;", "if (in_valid) r2 <= f;", IGNORED.format("in_valid")),
        ("assign bits = r2;", "assign bits = in_valid ? r2 : 0;", IGNORED.format("in_valid")),
        ("if (enable) begin r1", "if (enable | ~in_valid) begin r1", "while enable is 0; it changes (r1|bits|d.code)"),
        (
            "else if (enable)",
            "else if (enable | ~in_valid)",
            "while enable is 0; it changes out_valid|while enable is 0; it changes v",
        ),
        ("if (rst)", "if (rst & in_valid)", "must clear its valid bits while rst is 1"),
        ("if (rst)", "if (rst & enable)", "must clear its valid bits while rst is 1"),
        ("v2 <= 0;", "", "must clear its valid bits while rst is 1"),
    ],
)
def test_controls_matter_only_where_they_may(old, new, sentence):
    inner = build("decoder", "ocp_e4m3", target="bfloat16")
    design = build("decoder", "ocp_e4m3", target="bfloat16", stages=2, clock_enable=True)
    subject = UserFile(design, texts([inner])[inner.name] + CORRECT.replace(old, new, 1), "p", "p.v", (), "")
    if sentence is None:
        assert verify(subject, subject.netlist()).verdict == EQUAL
    else:
        with pytest.raises(NetlistError, match=sentence):
            subject.netlist()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("<= product__sign;", "<= ~product__sign;"), None),
        (
            ("product__sign_stage_2 <= product__sign_stage_1", "product__sign_stage_2 <= product__sign"),
            "must have a latency of 3 cycles from every input to every output",
        ),
        (
            ("valid_2 <= rst ? 1'b0 : valid_1", "valid_2 <= rst ? 1'b0 : in_valid"),
            "must have a latency of 3 cycles from every input",
        ),
        (
            ("out_valid <= rst ? 1'b0 : valid_2", "out_valid <= rst ? 1'b0 : ~valid_2"),
            "must repeat on out_valid the value of in_valid from 3 cycles before",
        ),
        (("input wire in_valid,", ""), "must have the 1-bit port in_valid among its inputs, like every pipeline"),
        (("always @(posedge clk) begin", "always @(posedge a[0]) begin"), "must have all its registers on clk"),
        (("sign_stage_2 <= enable ?", "sign_stage_2 <= 1'b1 ?"), "while enable is 0; it changes product__sign_stage_2"),
        (
            ("valid_2 <= rst ? 1'b0 : ", "valid_2 <= "),
            "must clear its valid bits while rst is 1; out_valid may be 1 in cycle 2 after that",
        ),
    ],
)
def test_a_fault_is_found(change, sentence):
    design = build("mac", "hif8", stages=3, clock_enable="enable" in change[0])
    text = texts([design])[design.name]
    assert change[0] in text
    if "in_valid" in change[0]:
        text = text.replace("valid_1 <= rst ? 1'b0 : in_valid", "valid_1 <= rst")
    text = text.replace(*change, 1)
    if sentence is None:
        subject = emitted(design)
        wrong = type(subject)(design, text, design.name, "mine.v", (), "")
        assert verify(wrong, wrong.netlist()).verdict != EQUAL
        return
    with pytest.raises(NetlistError, match=sentence):
        read(text, design.name, pipeline=design.pipeline)


def test_what_comes_in_beside_a_reset_must_not_leave_after_it():
    """Also if what comes in next could let it through."""
    design = build("decoder", "e2m1", stages=2)
    text = texts([design])[design.name]
    for old, new in (
        ("valid_1 <= rst ? 1'b0 : in_valid;", "valid_1 <= in_valid; late <= rst;"),
        ("out_valid <= rst ? 1'b0 : valid_1;", "out_valid <= rst ? 1'b0 : valid_1 & ~(late & ~in_valid);"),
        (");\n", ");\n  reg late;\n"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    with pytest.raises(NetlistError, match="out_valid may be 1 in cycle 2 after that"):
        read(text, design.name, pipeline=design.pipeline)


def test_ranks_shorten_the_slowest_stage_until_an_operation_is_left():
    parts = netlist(Mac("hif8"), "core")
    periods = [schedule(parts, ranks).period for ranks in range(0, 13, 3)]
    assert periods == sorted(periods, reverse=True)
    longest = max(map(delay, parts.operations))
    assert periods[-1] < periods[0] / 4
    assert longest <= schedule(parts, MAX_STAGES).period < inf
    for ranks in (1, 2, 3, 4):  # balanced: at most one operation longer than equal parts, which are a lower bound
        assert periods[0] / (ranks + 1) <= schedule(parts, ranks).period <= periods[0] / (ranks + 1) + longest


def test_a_late_input_has_less_time():
    parts = netlist(Mac("hif8"), "core")
    periods = [schedule(parts, 4, {"acc_in": stage}).period for stage in range(5)]
    assert periods == sorted(periods)
    assert schedule(parts, 4, {"acc_in": 3}).entries == {"a": 0, "b": 0, "acc_in": 3}
    assert schedule(parts, 4).period == periods[0]


def test_registers_are_counted():
    unit = Pipelined(Mac("e5m2b1"), 2)
    text = build("mac", "e5m2b1", stages=2).verilog()
    declared = re.findall(r"^  (?:output )?reg (?:\[(\d+):(\d+)\] )?\w+[;,]", text, re.M)
    tables = len(re.findall(r"always @\*", text))
    assert tables == 0
    assert unit.registers == sum(int(high or 0) - int(low or 0) + 1 for high, low in declared)
    unit._MustUse__silence = True  # it is never elaborated


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--stages", "17"], "--stages must be an integer from 0 to 16, not 17"),
        (["--stages", "-1"], "--stages must be an integer from 0 to 16, not -1"),
        (["--clock-enable"], "--clock-enable needs stages: without them there is no clock"),
        (["--reset", "none"], "--reset needs stages: without them there is no clock"),
        (["--stages", "two"], "argument --stages: invalid int value: 'two'"),
    ],
)
def test_refusals(words, sentence, tmp_path, capsys):
    assert main(["generate", "mac", "--format", "hif8", *words, "-o", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
