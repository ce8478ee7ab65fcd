"""What simulators and synthesis read differently: each construct in Icarus, in Verilator and in `hwgen verify`."""

import subprocess

import pytest

from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from rtl_tests.support.blocks import texts
from rtl_tests.support.optional import NEEDS_ICARUS

DECODER = build("decoder", "hif8")
HEADS = {
    False: "module mine (input [7:0] code, output [15:0] bits);",
    True: "module mine (input clk, input rst, input in_valid, input [7:0] code, output [15:0] bits,"
    " output reg out_valid); always @(posedge clk) out_valid <= rst ? 1'b0 : in_valid;",
}
BENCH = """\
module bench;
  reg clk = 0, rst = 1, in_valid = 1;
  reg [7:0] code;
  wire [15:0] bits, want;
  reg [15:0] last;
  wire out_valid;
  integer step, bad;
  mine dut ({ports});
  right model (.code(code), .bits(want));
  initial begin
    bad = 0;
    #10 rst = 0;
    for (step = 0; step < 1024; step = step + 1) begin
      code = step * 29 + (step >> 8) * 7;
      #5 last = want; clk = 1;
      #4 if (bits !== last) bad = bad + 1;
      #1 clk = 0; #1 ;
    end
    $display("bad %0d", bad);
    $finish;
  end
endmodule
"""
# In each body, r is the right result, q is a register for it in a pipeline of one stage.
# Columns: construct, body, what verify says; None: nothing, for verify may prove it.
INITIAL, DELAY = "give {} an initial value", "delay a signal, except by q <= #1 d"
TABLE = [
    ("reg with a value", "reg [15:0] n = r; assign bits = n;", INITIAL.format("n")),
    ("initial", "reg [15:0] n; initial n = r; assign bits = n;", INITIAL.format("n")),
    ("initial begin", "reg [15:0] n; initial begin n = r; end assign bits = n;", INITIAL.format("n")),
    ("constant value", "reg k = 1; assign bits = k ? r : 16'd0;", INITIAL.format("k")),
    ("attribute init", "(* init = 1 *) reg k; always @(posedge clk) k <= k; assign bits = q;", "use init"),
    (
        "value of a register",
        "reg k = 1; always @(posedge clk) k <= k; assign bits = k ? q : 16'd0;",
        INITIAL.format("k"),
    ),
    (
        "value in a block",
        "reg [15:0] m; always @* begin : b reg [15:0] n = r; m = n; end assign bits = m;",
        INITIAL.format("n"),
    ),
    (
        "list",
        "reg [15:0] m; reg k; always @(code[0]) m = r; assign bits = m;",
        "read r outside the list of its block always",
    ),
    (
        "list with a bit",
        "reg [15:0] m; always @(r[3] or code) m = r; assign bits = m;",
        "read r outside the list of its block always",
    ),
    ("complete list", "reg [15:0] m; always @(code or r) m = code[0] ? r : r; assign bits = m;", None),
    ("no list", "reg [15:0] m; always begin m = r; end assign bits = m;", "use always without @"),
    (
        "block without inputs",
        "reg m; always @* m = 1'b1; assign bits = m ? r : 16'd0;",
        "have a block always that reads nothing",
    ),
    (
        "list with an edge",
        "reg [15:0] m; always @(posedge clk or r) m <= r; assign bits = m;",
        "mix edges and levels in one list",
    ),
    (
        "full_case in a comment",
        "reg m; always @* case (code[0]) // synopsys full_case\n 1'b1: m = 1'b0; endcase assign bits = m ? 16'd1 : r;",
        "use full_case",
    ),
    (
        "full_case",
        "reg m; always @* (* full_case *) case (code[0]) 1'b1: m = 1'b0; endcase assign bits = m ? 16'd1 : r;",
        "use full_case",
    ),
    (
        "parallel_case",
        "reg [15:0] m; always @* (* parallel_case *) casez (code) 8'b1???????: m = r; 8'b?1??????: m = r;"
        " default: m = r; endcase assign bits = m;",
        "use parallel_case",
    ),
    (
        "x in case",
        "reg [15:0] m; always @* case (code[1:0]) 2'b0x: m = r; default: m = 16'd0; endcase assign bits = m;",
        "have x or z in an item of case",
    ),
    (
        "x in casez",
        "reg [15:0] m; always @* casez (code[1:0]) 2'b0x: m = 16'd0; default: m = r; endcase assign bits = m;",
        "have x in an item of casez",
    ),
    (
        "casex",
        "reg [15:0] m; always @* casex (code[1:0]) 2'b0x: m = r; default: m = r; endcase assign bits = m;",
        "use casex",
    ),
    ("===", "assign bits = (code[0] & 1'bx) === 1'bx ? 16'd0 : r;", "compare with ==="),
    ("!==", "assign bits = code[0] !== 1'bx ? r : 16'd0;", "compare with !=="),
    ("delay of a net", "wire [15:0] #20 n = r; assign bits = n;", DELAY),
    ("delay of a gate", "wire n; buf #20 (n, r[0]); assign bits = {r[15:1], n};", DELAY),
    ("delay in a block", "reg [15:0] m; always @* begin #20 m = r; end assign bits = m;", DELAY),
    ("delay of a value", "reg [15:0] m; always @* m = #20 r; assign bits = m;", DELAY),
    ("delay of a register", "reg [15:0] m; always @(posedge clk) m <= #20 r; assign bits = m;", DELAY),
    ("usual delay", "reg [15:0] m; always @(posedge clk) m <= #1 r; assign bits = m;", None),
    (
        "translate_off",
        "// synopsys translate_off\nassign bits = 16'd0;\n// synopsys translate_on\nassign bits = r;",
        "use translate_off",
    ),
    ("macro", "`ifdef SYNTHESIS\nassign bits = r;\n`else\nassign bits = 0;\n`endif", "depend on the macro SYNTHESIS"),
    ("macro's value", "assign bits = `YOSYS ? r : 16'd0;", "depend on the macro YOSYS"),
    ("formal function", "wire k = $anyconst; assign bits = k ? r : r;", "use $anyconst"),
    (
        "division",
        "wire [7:0] k = code / (code & 8'd0); assign bits = k[0] ? r : r ^ k ^ k;",
        "divide by code, which may be 0",
    ),
    (
        "<= without a clock",
        "reg [15:0] m, n; always @* begin m = n; n <= r; end assign bits = m;",
        "assign n by <= in a block without a clock",
    ),
    (
        "race",
        "reg [15:0] m, n; always @(posedge clk) m = r; always @(posedge clk) n <= m; assign bits = q ^ n ^ n;",
        "assign m by = in a clocked block and use it elsewhere",
    ),
    (
        "= and <=",
        "reg [15:0] m, n; always @(posedge clk) begin m <= 16'd0; m = r; n <= m; end assign bits = n;",
        "assign m by = and <=",
    ),
    (
        "read before written",
        "reg [15:0] m, n; always @* begin m = n; n = r; end assign bits = m;",
        "read n in its block before all of it is assigned there",
    ),
    (
        "bits read before written",
        "reg [15:0] n; integer i; always @* begin for (i = 15; i > 0; i = i - 1) n[i] = r[i] ^ r[i-1] ^ n[i-1];"
        " n[0] = r[0]; end assign bits = r ^ n ^ n;",
        "read n in its block before all of it is assigned there",
    ),
    (
        "function that reads a net",
        "function [15:0] f; input k; f = r; endfunction assign bits = f(code[0]);",
        "use r in f, whose argument it is not",
    ),
    ("cell of Yosys", "\\$_BUF_ b (.A(r[0]), .Y(bits[0])); assign bits[15:1] = r[15:1];", "use $_BUF_"),
    ("defparam", "defparam u.none = 1; assign bits = r;", "use defparam"),
]
FREE = [
    (
        "register that nothing writes",
        "wire we = 1'b0; reg k; always @(posedge clk) if (we) k <= 1'b1; assign bits = k ? 16'd0 : q;",
    ),
    ("register that holds", "reg k; always @(posedge clk) k <= k; assign bits = k ? 16'd0 : q;"),
    (
        "register that is only set",
        "reg k; always @(posedge clk) if (code == 8'h5a) k <= 1'b1; assign bits = k ? q : 16'd0;",
    ),
    ("select out of range", "wire [5:0] n = 6'd0; assign bits = n[code[7:4]] ? 16'd0 : r;"),
    ("part out of range", "wire [5:0] n = 6'd0; assign bits = n[code[7:4] +: 2] == 2'd0 ? r : 16'd0;"),
    ("sum out of range", "wire [5:0] n = 6'd0; assign bits = n[code[0] + 6] ? 16'd0 : r;"),
    (
        "word out of range",
        "reg k [0:5]; integer i; initial for (i = 0; i < 6; i = i + 1) k[i] = 0; assign bits = k[code[7:4]] ? 0 : r;",
    ),
    (
        "word without a value",
        "reg k [0:15]; integer i; initial for (i = 0; i < 15; i = i + 1) k[i] = 0; assign bits = k[code[7:4]] ? 0 : r;",
    ),
    (
        "local variable of a function",
        "function f; input k; reg n; begin if (k) n = k; f = n; end endfunction"
        " assign bits = f(code[0]) & ~code[0] ? 16'd0 : r;",
    ),
]


def module(body, name="mine"):
    is_clocked = "clk" in body
    register = "reg [15:0] q; always @(posedge clk) q <= r; " if is_clocked else ""
    head = HEADS[is_clocked].replace("mine", name)
    return f"{head} wire [15:0] r; right u (.code(code), .bits(r)); {register}\n{body}\nendmodule\n"


def right():
    return texts([DECODER])[DECODER.name].replace(f"module {DECODER.name} ", "module right ")


def message(tmp_path, capsys, text, stages):
    file = tmp_path / "mine.v"
    file.write_text(text + right())
    words = ["--verilog", str(file), "--top", "mine", "-o", str(tmp_path / "evidence"), "--stages", str(int(stages))]
    status = main(["verify", "decoder", "--format", "hif8", *words])
    output = capsys.readouterr()
    assert bool(output.err) == (status == 2)
    return output.err or output.out


@pytest.mark.parametrize(("body", "problem"), [pytest.param(*row[1:], id=row[0]) for row in TABLE])
def test_what_simulators_and_synthesis_read_differently_is_refused(tmp_path, capsys, body, problem):
    text = message(tmp_path, capsys, module(body), "clk" in body)
    if problem is None:
        assert text.startswith("mine: equal to the reference model on all 256 inputs")
        return
    first, last = 2, 1 + len(body.splitlines())
    for line in range(first, last + 1):
        reason = f"mine must not {problem} (line {line}): simulators and synthesis read that differently"
        if text == f"hwgen: --verilog: {reason}\n":
            return
    pytest.fail(text)


@pytest.mark.parametrize("body", [pytest.param(row[1], id=row[0]) for row in FREE])
def test_a_value_that_nothing_defines_is_free(tmp_path, capsys, body):
    sentence = message(tmp_path, capsys, module(body), "clk" in body)
    undefined = "hwgen: --verilog: mine has outputs that may depend on the undefined value x, or on undriven nets\n"
    early = (
        "hwgen: --verilog: mine must have a latency of 1 cycles from every input to every output, as --stages says\n"
    )
    controlled = "hwgen: --verilog: mine has outputs that depend on {} in a cycle in which it must not affect them\n"
    assert sentence in (undefined, early, controlled.format("rst"), controlled.format("in_valid"))


@NEEDS_ICARUS
def test_no_simulator_refutes_what_verify_accepts(tmp_path):
    """Each construct in Icarus: where it differs from the reference model, verify must refuse the construct."""
    differ = {row[0] for row in TABLE if disagrees(tmp_path, row[1])}
    assert not differ & {row[0] for row in TABLE if row[2] is None}
    assert {"reg with a value", "initial", "list", "read before written", "delay of a net", "x in case"} <= differ
    assert all(disagrees(tmp_path, row[1]) for row in FREE)


def disagrees(folder, body):
    ports = ".code(code), .bits(bits)" + (
        ", .clk(clk), .rst(rst), .in_valid(in_valid), .out_valid(out_valid)" if "clk" in body else ""
    )
    (folder / "all.v").write_text(BENCH.replace("{ports}", ports) + module(body) + right())
    build = ["iverilog", "-g2005", "-o", "all.vvp", "all.v"]
    if subprocess.run(build, cwd=folder, capture_output=True, check=False).returncode:
        return True
    try:
        run = subprocess.run(["vvp", "all.vvp"], cwd=folder, capture_output=True, text=True, check=False, timeout=5)
    except subprocess.TimeoutExpired:
        return True
    return "bad 0\n" not in run.stdout
