"""Constructs of SystemVerilog that only slang and Verilator read: each one in Icarus and in `hwgen verify`."""

import re

import pytest

from rtl_tests.support.optional import NEEDS_ICARUS
from rtl_tests.synth.proof.test_constructs import message, module, refuted
from rtl_tests.synth.proof.test_peers import NEEDS_VERILATOR
from synth.proof.elaborated import preprocess

UNREAD = "function automatic logic [15:0] same(input logic [15:0] value); return value; endfunction"
"""What Yosys's own reader cannot read."""
INNER = (
    "endmodule module inner #(parameter N = 3) (input logic [7:0] a, output logic [7:0] y);"
    " assign y = N == 3 ? a : 8'd0;"
)
SHORT = "localparam logic [3:0] A = 15, B = 1;"
SIGN, SIGNS = "have a signed member of a structure", "have a signed array of several dimensions"
REPORT, LONGER = (
    "have an assertion that does more than report",
    "connect a to an expression of fewer bits (use a signal)",
)
PATH = "use a signal of another module or block by its path"

# Columns: construct, body, what verify says. In each body, r is the right result, q is a register for it.
DOWN = "go by foreach through a range that descends, where simulators go upwards"
LISTED = "foreach (s[i]) e = e * 16 + s[i];"
IN_AN_ASSERTION = (
    "logic [15:0] k, m; {}always_comb begin k = r; assert ({}) else $error(0); m = k; end assign bits = same(m);",
    "{} in an assertion",
)
INDEX = "logic [3:0] m [0:3]; logic [1:0] i, j; assign i = code[1:0]; assign j = 2'd3 - i;"
FILLED = "masked m (.mask('1), .in(r), .out(bits)); endmodule module masked (input logic [15:0] mask, in,"
DIFFERENT = [
    (
        "assertion that calls a system function",
        IN_AN_ASSERTION[0].format("", '$sscanf("1234", "%h", k) == 1'),
        IN_AN_ASSERTION[1].format("call $sscanf"),
    ),
    (
        "assertion that calls an escaped name",
        IN_AN_ASSERTION[0].format(
            "function automatic logic \\f (input x); k = 16'h1234; return 1; endfunction ", "\\f (1)"
        ),
        IN_AN_ASSERTION[1].format("have a name that begins with a backslash"),
    ),
    (
        "assertion that calls a function by its path",
        IN_AN_ASSERTION[0].format(
            "if (1) begin : g function automatic logic f(input x); k = 16'h1234; return 1; endfunction end ", "g.f(1)"
        ),
        IN_AN_ASSERTION[1].format("call the function f"),
    ),
    (
        "bounds of a word",
        "logic [7:0] m [0:1]; always_comb begin m[0] = r[7:0]; m[1] = r[15:8]; end"
        " assign bits = $left(m[0]) == 7 ? same({m[1], m[0]}) : ~r;",
        "take the size of a part or an expression by $left",
    ),
    (
        "word of an array by a sum",
        f"{INDEX} always_comb begin m[0] = ~r[3:0]; m[1] = r[7:4]; m[2] = r[11:8]; m[3] = r[15:12];"
        " m[i + j + 2'd1] = r[3:0]; end assign bits = same({m[3], m[2], m[1], m[0]});",
        "select from an unpacked array by a sum of fewer than 32 bits",
    ),
    (
        "filled input",
        f"{FILLED} output logic [15:0] out); assign out = same(in & mask); {UNREAD}",
        "connect '1 to an input",
    ),
    (
        "constant with a sign but without a size",
        "logic signed [3:0] n; assign n = code; assign bits = ('shf >>> 1) == 7 ? same(r) : ~r;",
        "have a constant with a sign but without its size",
    ),
    (
        "size of a signal",
        "localparam int W = $bits({code, r}); assign bits = W == 24 ? same(r) : ~r;",
        "take the size of a signal or a list by $bits",
    ),
    (
        "size of a list",
        "logic [7:0] half [0:1]; always_comb begin half[0] = r[7:0]; half[1] = r[15:8]; end"
        " assign bits = $bits(half) == 16 ? same({half[1], half[0]}) : ~r;",
        "take the size of a signal or a list by $bits",
    ),
    (
        "byte of a function for constants",
        "function automatic int f(input byte n); return n < 0; endfunction"
        " function automatic int g(input int n); return f(n); endfunction"
        " enum {C = -3} e; localparam int K = g(int'(C)); assign bits = K == 1 ? same(r) : ~r;",
        "call g for constants alone, as it has a short word with a sign",
    ),
    (
        "foreach downwards",
        "logic [3:0][3:0] s; logic [15:0] e; assign s = {code, ~code};"
        f" always_comb begin e = 0; {LISTED} end assign bits = same(e == {{code, ~code}} ? r : 0);",
        DOWN,
    ),
    (
        "foreach downwards through a list",
        "logic [3:0] s [1:0]; logic [15:0] e; assign s[1] = code[7:4]; assign s[0] = code[3:0];"
        f" always_comb begin e = 0; {LISTED} end assign bits = same(e == code ? r : 0);",
        DOWN,
    ),
    (
        "foreach for a constant",
        f"function automatic int f(input logic [3:0][3:0] s); int e; e = 0; {LISTED} return e; endfunction"
        " localparam int P = f(16'h1234); assign bits = same(P == 16'h1234 ? r : 0);",
        "use foreach in a function for constants alone",
    ),
    (
        "value of an enumeration by a choice",
        f"{SHORT} typedef enum logic [7:0] {{C = 1 ? A + B : 4'd0, D = 9}} t; assign bits = same(C == 16 ? r : 0);",
        "have the value of C as a sum of short constants",
    ),
    (
        "choice between short sums",
        f"{SHORT} localparam P = A == 15 ? A + B : B; assign bits = same(P == 0 ? r : 0);",
        "have the parameter P without a range",
    ),
    (
        "assertion that fails",
        "logic [15:0] m; always_comb begin m = r; assert (code != 5) else m = 0; end assign bits = same(m);",
        REPORT,
    ),
    (
        "assertion that passes",
        "logic [15:0] m; always_comb begin m = r; assert (code == 5) m = 0; end assign bits = same(m);",
        REPORT,
    ),
    (
        "function in an assertion",
        "logic k; logic [15:0] m; function automatic logic f(input logic a); k = 1; return 1; endfunction"
        " always_comb begin k = 0; assert (f(code[0])); m = k ? 0 : r; end assign bits = same(m);",
        "call the function f in an assertion",
    ),
    ("name of the file", 'assign bits = same(`__FILE__ == "bench.v" ? 0 : r);', "depend on the macro __FILE__"),
    (
        "ascending member",
        "struct packed {logic x; logic [0:15] y;} s; assign s = {1'b0, r}; assign bits = same({s.y[0:7], s.y[8:15]});",
        "have a member of a structure whose range ascends",
    ),
    (
        "backslash in a comment",
        "logic [15:0] k; assign k = same(r)\n`define UNUSED // 1 \\\n^ 16'd1\n; assign bits = k;",
        "continue a macro behind a comment",
    ),
    (
        "signed member",
        "typedef struct packed {logic signed [3:0] a; logic [3:0] b;} t; t s; wire [7:0] w; assign s = code;"
        " assign w = s.a; assign bits = same(w == {{4{code[7]}}, code[7:4]} ? r : 0);",
        SIGN,
    ),
    (
        "member of the type int",
        "typedef struct packed {int a; logic b;} t; t s; wire [39:0] w; assign s = {{24{code[7]}}, code, 1'b0};"
        " assign w = s.a; assign bits = same(w == {{32{code[7]}}, code} ? r : 0);",
        SIGN,
    ),
    (
        "signed array",
        "logic signed [1:0][3:0] s; wire [7:0] w; assign s = code;"
        " assign w = s[1]; assign bits = same(w == {4'd0, code[7:4]} ? r : 0);",
        SIGNS,
    ),
    (
        "sum of short parameters",
        f"{SHORT} localparam C = A + B; assign bits = same(C == 0 ? r : 0);",
        "have the parameter C without a range",
    ),
    (
        "sum of short parameters in an enumeration",
        f"{SHORT} typedef enum logic [7:0] {{C = A + B, D = 1}} t; assign bits = same(C == 16 ? r : 0);",
        "have the value of C as a sum of short constants",
    ),
    (
        "sum of short parameters for another",
        f"{SHORT} wire [7:0] k; inner #(.N(A + B + 4'd3)) w (.a(8'd1), .y(k)); assign bits = same(k ? r : 0); {INNER}",
        "give a parameter a sum of short constants",
    ),
    (
        "choice by a sum of short parameters",
        f"{SHORT} case (A + B) 16: assign bits = same(r); default: assign bits = 0; endcase",
        "choose by a sum of short constants",
    ),
    (
        "longer input",
        "wire signed [3:0] s; wire [7:0] k; assign s = code[3:0]; inner w (.a(-s), .y(k));"
        f" assign bits = same(k == -{{{{4{{s[3]}}}}, s}} ? r : 0); {INNER}",
        LONGER,
    ),
]
"""What was called equal, but is different in Icarus."""

ACCEPTED = [
    (
        "functions and sizes for constants",
        "typedef struct packed {logic [3:0] a; logic b;} t; function automatic int f(input int n); return n < 0;"
        " endfunction function automatic logic [7:0] g(input byte n); return n; endfunction"
        " localparam int K = f(-3), W = $bits(t); logic [7:0] m; always_comb begin m = g(code);"
        " assert ($onehot0(K)); end assign bits = same(K == 1 && W == 5 && m == code ? r : 0);",
        None,
    ),
    (
        "foreach upwards",
        "logic [0:3][3:0] s; logic [3:0] m [4]; logic [15:0] e; assign s = {code, ~code}; always_comb begin e = 0;"
        f" {LISTED} foreach (m[i]) m[i] = s[i]; end assign bits = same(e == {{code, m[2], m[3]}} ? r : 0);",
        None,
    ),
    (
        "variable of a function",
        "function logic [15:0] f(input logic [15:0] a); logic [15:0] t; t = ~a; f = ~t; endfunction"
        " assign bits = same(f(r));",
        None,
    ),
    (
        "variable of a branch",
        "logic [15:0] m; always_comb begin m = r; if (code[0]) begin logic [15:0] t; t = ~r; m = ~t; end end"
        " assign bits = same(m);",
        None,
    ),
    (
        "automatic variable of a branch",
        "logic [15:0] m; always_comb begin m = r; if (code[0]) begin automatic logic [15:0] t = ~r; m = ~t; end end"
        " assign bits = same(m);",
        None,
    ),
    (
        "variable of a clocked block",
        "logic [15:0] m; always_ff @(posedge clk) begin logic [15:0] t; t = ~r; m <= ~t; end assign bits = same(m);",
        None,
    ),
    (
        "loop in a loop",
        "logic [3:0] n; always_comb begin n = 0; for (int i = 0; i < 2; i++) begin for (int j = 0; j < 4; j++) begin"
        " if (code[j]) break; n = n + 1; end if (code[7]) break; end end"
        " assign bits = same(n == 8 ? (code[3:0] == 0 && !code[7] ? r : 0) : r);",
        None,
    ),
    (
        "path to a generate block",
        "for (genvar i = 0; i < 2; i++) begin : g wire k; assign k = r[i]; end"
        " assign bits = same({r[15:2], g[1].k, g[0].k});",
        None,
    ),
    (
        "names that are keywords elsewhere",
        r"logic \wire , block, go, a$b; assign \wire = code[0]; assign block = \wire ; assign a$b = block;"
        " assign go = a$b; assign bits = same(go == code[0] ? r : 0);",
        None,
    ),
    (
        "type as a parameter",
        "inner #(logic [15:0]) w (.a(r), .y(bits)); endmodule"
        " module inner #(parameter type T = logic) (input T a, output T y); assign y = a;",
        None,
    ),
    ("usual delay", "logic [15:0] m; always_ff @(posedge clk) m <= #1 r; assign bits = same(m);", None),
    (
        "comments for Verilator",
        "logic [15:0] m /* verilator public_flat */; /* verilator lint_off WIDTH */ assign m = r;"
        " assign bits = same(m);",
        None,
    ),
    (
        "cast to a longer input",
        "wire signed [3:0] s; wire [7:0] k; assign s = code[3:0]; inner w (.a(8'(s)), .y(k));"
        f" assign bits = same(k == {{{{4{{code[3]}}}}, code[3:0]}} ? r : 0); {INNER}",
        None,
    ),
    (
        "signed shift for an input",
        "wire signed [7:0] s; wire [7:0] k; assign s = code; inner w (.a(s >>> 1), .y(k));"
        f" assign bits = same(k == {{code[7], code[7:1]}} ? r : 0); {INNER}",
        None,
    ),
    (
        "function of constants that calls itself",
        "function automatic int f(int n); return n <= 0 ? 0 : 1 + f(n - 1); endfunction localparam int K = f(5);"
        " assign bits = same(K == 5 ? r : 0);",
        None,
    ),
    (
        "automatic module with parameters",
        "inner #(.W(16)) w (.a(r), .y(bits)); endmodule"
        " module automatic inner #(parameter W = 3) (input logic [W-1:0] a, output logic [W-1:0] y);"
        " function automatic logic [W-1:0] g(input logic [W-1:0] x); return x; endfunction assign y = g(a);",
        None,
    ),
    ("wildcards", "assign bits = same((code ==? 8'b1?_?0_????) == (code[7] && !code[4]) ? r : 0);", None),
    (
        "delay in an assertion",
        "logic [15:0] m; always_comb begin m = r; assert #0 (code == code) else $error(1); end assign bits = same(m);",
        None,
    ),
    (
        "short words in a long sum",
        f"{SHORT} localparam W = 8; localparam C = A + B + W, D = W + W; parameter int F = A + B;"
        " assign bits = same(C == 24 && D == 16 && F == 16 ? r : 0);",
        None,
    ),
]
"""What was refused or ended in an error of ours; the last one is a twin of the sums above."""

REFUSED = [
    (
        "ascending words of a member",
        "struct packed {logic [0:1][7:0] y;} s; assign s = r; assign bits = same({s.y[0], s.y[1]});",
        "have a member of a structure whose range ascends",
    ),
    ("real number", "localparam real K = 2.5; assign bits = same(K > 2 ? r : 0);", "use real numbers"),
    (
        "defparam",
        "inner w (.a(r), .y(bits)); defparam w.N = 3; endmodule module inner #(parameter N = 2)"
        f" (input logic [15:0] a, output logic [15:0] y); {UNREAD} assign y = N == 3 ? same(a) : 0;",
        "use defparam",
    ),
    (
        "unpacked structure",
        "typedef struct {logic [7:0] a, b;} t; t s; assign s.a = r[15:8]; assign s.b = r[7:0];"
        " assign bits = same({s.a, s.b});",
        "use a type that Verilator calls STRUCTDTYPE mine.t",
    ),
    (
        "arrays of two orders",
        "logic [7:0] m [0:1], n [1:0]; assign m[0] = r[7:0]; assign m[1] = r[15:8]; assign n = m;"
        " assign bits = same({n[0], n[1]});",
        "assign or compare unpacked arrays with one range that ascends and one that descends",
    ),
    (
        "array of another order for an input",
        "logic [7:0] m [0:1]; assign m[0] = r[7:0]; assign m[1] = r[15:8]; inner w (.a(m), .y(bits)); endmodule"
        " module inner (input logic [7:0] a [1:0], output logic [15:0] y); assign y = {a[0], a[1]};"
        f" {UNREAD}",
        "assign or compare unpacked arrays with one range that ascends and one that descends",
    ),
    (
        "table that descends",
        "localparam logic [3:0] T [3:0] = '{1, 2, 3, 4}; assign bits = same(T[code[1:0]] == 4 - code[1:0] ? r : 0);",
        "list the elements of an unpacked array whose range descends",
    ),
    (
        "unique if",
        "logic [15:0] m; always_comb begin m = r; unique0 if (code[0]) m = r; else if (code[1]) m = r | 0; end"
        " assign bits = same(m);",
        "use unique if",
    ),
    (
        "path to another instance",
        "inner w1 (.a(r), .y(bits)); inner w2 (.a(16'd0), .y()); endmodule"
        " module inner (input logic [15:0] a, output logic [15:0] y);"
        " if (1) begin : g logic [15:0] k; assign k = a; end assign y = mine.w2.g.k | a;",
        PATH,
    ),
    (
        "variable that a branch keeps",
        "logic [15:0] m; always_comb begin logic k; if (code[0]) k = 1; m = k ? r : 0; end assign bits = same(m);",
        "read k in its block before all of it is assigned there",
    ),
    (
        "delay with a long unit",
        "inner w (clk, r, bits); endmodule module inner (input clk, input [15:0] a, output logic [15:0] y);"
        " timeunit 1ms; always_ff @(posedge clk) y <= #1 a;",
        "delay a signal, except by q <= #1 d",
    ),
]
"""What was refused for a wrong reason, or by an error of ours; the last one is a twin of the usual delay."""

STOPPED = {
    "two counters": (
        "logic [15:0] m; always_comb for (int i = 0, j = 9; i < 16; i++, j--) m[i] = r[9 - j]; assign bits = same(m);",
        "mine cannot be mapped: mine.sv:3: ERROR: 2nd expression of procedural for-loop is not constant!",
    ),
    "latch": (
        "logic [15:0] m;\nalways_comb if (code[0]) m = r;\nassign bits = same(m);",
        r"mine cannot be mapped: ERROR: Latch inferred for signal `\mine.\m' from always_comb process"
        r" `\mine.$proc$mine.sv:4'.",
    ),
    "function that calls itself": (
        "function automatic int f(int n); return n <= 0 ? 0 : 1 + f(n - 1); endfunction"
        " assign bits = same(f(code) < 500 ? r : 0);",
        "mine must be readable by slang, one of its two readers, which stops without naming a line",
    ),
    "alias": (
        "wire [15:0] k; alias k = r; assign bits = same(k);",
        "mine must be readable by slang, one of its two readers: it stops at line 3",
    ),
}
"""Where a reader of ours stops."""


BY = "mine has outputs that may depend on the undefined value x, or on undriven nets: bits, by"
WRONG = {
    "x in a choice": ("assign bits = same(code == 5 ? 'x : r);", f"{BY} x (line 3)"),
    "select out of range": (
        "logic [6:0] k; assign k = code[6:0]; assign bits = same(r ^ {15'd0, k[code[2:0]] ^ k[code[2:0]]});",
        f"{BY} a select (line 3)",
    ),
    "undriven net": ("logic [15:0] k; assign bits = same(code == 5 ? k : r);", "is used but has no driver."),
    "initial value": ("logic [15:0] k = r; assign bits = same(k);", "mine.sv:3: ERROR: reading net state during"),
    "carry of a longer sum": (
        "wire c = (code + 1) == 256; assign bits = same(c ? 0 : r);",
        "differs from the reference model",
    ),
}
"""What Icarus refutes for its undefined values, initial values, or widths: each with a part of what verify says."""


def whole(body):
    return f"{UNREAD}\n{body}"


@NEEDS_VERILATOR
@pytest.mark.parametrize(
    ("body", "problem"), [pytest.param(*row[1:], id=row[0]) for row in DIFFERENT + ACCEPTED + REFUSED]
)
def test_what_verify_says(tmp_path, capsys, body, problem):
    text = message(tmp_path, capsys, module(whole(body)), "clk" in body, ".sv")
    if problem is None:
        assert text.startswith("mine: equal to the reference model on all 256 inputs")
        assert "read by slang and by Verilator" in text
    else:
        assert re.match(rf"hwgen: --verilog: mine must not {re.escape(problem)} \(line [34]\)[:;] ", text), text


@NEEDS_VERILATOR
@pytest.mark.parametrize(("body", "sentence"), STOPPED.values(), ids=STOPPED)
def test_where_a_reader_stops(tmp_path, capsys, body, sentence):
    assert message(tmp_path, capsys, module(whole(body)), False, ".sv") == f"hwgen: --verilog: {sentence}\n"


@NEEDS_VERILATOR
@NEEDS_ICARUS
@pytest.mark.parametrize(("body", "sentence"), WRONG.values(), ids=WRONG)
def test_what_icarus_refutes_is_never_equal(tmp_path, capsys, body, sentence):
    assert refuted(tmp_path, [whole(body)], ["iverilog", "-g2012", "-o", "run", "bench.v"], ["vvp", "run"]) == "1"
    text = message(tmp_path, capsys, module(whole(body)), False, ".sv")
    assert sentence in text
    assert "equal to the reference model" not in text


@NEEDS_ICARUS
def test_icarus_refutes_nothing_that_verify_accepts(tmp_path):
    build = ["iverilog", "-g2012", "-o", "run", "bench.v"]
    rows = {row[0]: refuted(tmp_path, [whole(row[1])], build, ["vvp", "run"]) for row in DIFFERENT + ACCEPTED}
    assert {name for name, bad in rows.items() if bad == "1"} == {row[0] for row in DIFFERENT}
    read = [row[0] for row in ACCEPTED if rows[row[0]] == "0"]
    assert len(read) > len(ACCEPTED) / 2


@NEEDS_VERILATOR
def test_lines_behind_the_preprocessor():
    text = (
        "`define V wire a; \\\n  wire b;\nmodule m;\n`V // c\n/* d\n*/ `ifdef N\nwire e;\n`endif\nwire f;\nendmodule\n"
    )
    lines = [line.split() for line in preprocess(text).splitlines()]
    assert lines[2:] == [
        ["module", "m;"],
        ["wire", "a;", "wire", "b;"],
        [],
        [],
        [],
        [],
        ["wire", "f;"],
        ["endmodule"],
        [],
    ]
