"""What simulators and synthesis read differently: each construct in Icarus, in Verilator and in `hwgen verify`."""

import os
import re
import subprocess

import pytest

from hwgen.__main__ import main
from hwgen.blocks.catalog import build
from hwgen.simulate.simulators import verilator_environment
from rtl_tests.support.blocks import texts
from rtl_tests.support.optional import NEEDS_ICARUS
from synth.area import liberty
from synth.proof import files
from synth.proof.evidence import EvidenceStore
from synth.proof.files import UserFile
from synth.proof.gates import NetlistError

DECODER = build("decoder", "hif8")
HEADS = {
    False: "module mine (input [7:0] code, output [15:0] bits);",
    True: "module mine (input clk, input rst, input in_valid, input [7:0] code, output [15:0] bits,"
    " output reg out_valid); always @(posedge clk) out_valid <= rst ? 1'b0 : in_valid;",
}
PORTS = {
    False: ".code(code), .bits(bits[{0}])",
    True: ".code(code), .bits(bits[{0}]), .clk(clk), .rst(rst), .in_valid(in_valid), .out_valid()",
}
BENCH = """\
module bench;
  reg clk = 0, rst = 1, in_valid = 1;
  reg [7:0] code;
  wire [15:0] bits [0:{last}];
  wire [15:0] want;
  reg [15:0] earlier;
  reg [{last}:0] bad;
  integer step, one;
  {instances}
  right model (.code(code), .bits(want));
  initial begin
    bad = 0;
    #10 rst = 0;
    for (step = 0; step < 1024; step = step + 1) begin
      code = step * 29 + (step >> 8) * 7;
      #5 earlier = want; clk = 1;
      #4 for (one = 0; one <= {last}; one = one + 1) if (bits[one] !== earlier) bad[one] = 1;
      #1 clk = 0; #1 ;
    end
    $display("bad %b", bad);
    $finish;
  end
endmodule
"""
# In each body, r is the right result, q is a register for it in a pipeline of one stage.
# Columns: construct, body, what verify says; None: nothing, for verify may prove it.
INITIAL, DELAY = "give {} an initial value", "delay a signal, except by q <= #1 d"
STRING = "have a letter beyond ASCII, a backslash, a ` or a line break in a string or name"
MIXED = "delay some assignments of a block, and others not or otherwise"
ALIKE = "must be understood alike by Yosys's two readers, read_verilog and read_slang"
UNDEFINED = "has outputs that may depend on the undefined value x, or on undriven nets"
NAMED = re.compile(
    r"(?<=undriven nets): bits, by (x|a select|the undriven net \w+) \(line 2\)(, .* \(line 2\))*$", re.M
)
"""What a message says of undefined values: the outputs, and where the values come from."""
OUTSIDE = "use {}, which a loop counts, outside its loops"
WORD = "use {}, a word of SystemVerilog, in a .v file"
FILLED = "integer i; always @* for (i = 0; i < 16; i = i + 1) z[i] = r[0] | ~r[0];"
COUNTED = "integer i; reg z;"
LOOPS = "if (code[0]) for (i = 0; i < 1; i = i + 1) z = code[0]; else for (i = 0; i < 2; i = i + 1) z = code[0];"
"""Behind them i is 1 if code[0] is, else 2."""
ENDLESS = "cannot be mapped: mine.v:2: ERROR: unroll limit of 4000 exhausted [--unroll-limit=]"
SHORT = "localparam [3:0] A = 15, B = 1;"
NO_RANGE = "have the parameter P without a range"
LONG = "take the size of a sum that is a parameter without a range"
ZERO = "assign bits = P == 0 ? r : 16'd0;"
BEHIND = "continue a macro behind a comment"
TABLE = [
    ("choice between short sums", f"{SHORT} localparam P = A == 15 ? A + B : B; {ZERO}", NO_RANGE),
    ("comparison in a short sum", f"{SHORT} localparam P = (3 == 3) * A + B; {ZERO}", NO_RANGE),
    ("parts in a short sum", f"{SHORT} localparam [31:0] C = 15; localparam P = C[3:0] + {{B}}; {ZERO}", NO_RANGE),
    ("short sum without a sign", f"{SHORT} localparam P = $unsigned(A) + B; {ZERO}", NO_RANGE),
    ("short power", f"{SHORT} localparam P = A ** 2; assign bits = P == 1 ? r : 16'd0;", NO_RANGE),
    ("sum of comparisons", f"{SHORT} localparam C = A == 15; localparam P = C + C; {ZERO}", NO_RANGE),
    ("long shift", f"localparam W = 4 * 8, P = 1 << W; {ZERO}", NO_RANGE),
    ("long power", "localparam P = 2 ** 32 - 1; assign bits = P == 64'hFFFF_FFFF_FFFF_FFFF ? r : 16'd0;", NO_RANGE),
    ("negative difference without a sign", f"localparam P = 32'd0 - 1; {ZERO}", NO_RANGE),
    ("negative difference of a short word", f"localparam [7:0] N = 3; localparam P = 4 - N - 2; {ZERO}", NO_RANGE),
    ("negative value of an unsigned word", f"localparam P = -32'd1; {ZERO}", NO_RANGE),
    (
        "sum in a concatenation",
        "localparam W = 4 + 1; wire [63:0] k = {W, W}; assign bits = k[34:32] == 5 ? r : 16'd0;",
        LONG,
    ),
    (
        "sum that is repeated",
        "localparam W = 4 * 2, V = W; wire [63:0] k = {2{~V}}; assign bits = k[63:32] == ~8 ? r : 16'd0;",
        LONG,
    ),
    (
        "sums that select, count and are not long",
        "localparam [7:0] N = 3; localparam W = 4 + 1, D = 5, P = 4 - N, Q = 2 - 5;"
        " wire [W-1:0] k = {W{P == 1}}; wire [63:0] n = {D, k[W-1:P], {W{1'b1}}};"
        " assign bits = n[8:0] == 511 && n[40:9] == 5 && Q == -3 ? r : 16'd0;",
        None,
    ),
    (
        "long shift by a parameter that is given",
        "wire k; inner16 #(.N(40)) s (k); assign bits = k ? r : 16'd0; endmodule"
        " module inner16 #(parameter N = 3) (output y); localparam P = 1 << N; assign y = P == 0;",
        NO_RANGE,
    ),
    (
        "number of bits from a choice",
        f"{SHORT} localparam P = A == 15 ? A + B : B; wire [P:0] k = code; assign bits = k == code[0] ? r : 16'd0;",
        NO_RANGE,
    ),
    (
        "choice for a parameter",
        "wire k; inner13 #(.N(1 ? 4'd15 + 4'd1 : 4'd0)) s (k); assign bits = k ? r : 16'd0; endmodule"
        " module inner13 #(parameter N = 3) (output y); assign y = N == 0;",
        "give a parameter a sum of short constants",
    ),
    (
        "sum of a parameter that becomes short",
        "wire k; inner14 #(.N(4'd15)) s (k); assign bits = k ? r : 16'd0; endmodule"
        " module inner14 #(parameter N = 3) (output y); localparam P = N + N; assign y = P == 14;",
        NO_RANGE,
    ),
    (
        "sum of a parameter that becomes short by its place",
        "wire k; inner15 #(2, 4'd15) s (k); assign bits = k ? r : 16'd0; endmodule"
        " module inner15 #(parameter M = 3, N = 3) (output y); localparam P = N + N; assign y = P == 14;",
        NO_RANGE,
    ),
    (
        "choice by a choice between short sums",
        f"{SHORT} generate case (1 ? A + B : A) 16: assign bits = 16'd0; default: assign bits = r; endcase endgenerate",
        "choose by a sum of short constants",
    ),
    (
        "choice of a short sum",
        f"{SHORT} generate case (16) A + B: assign bits = 16'd0; default: assign bits = r; endcase endgenerate",
        "choose by a sum of short constants",
    ),
    (
        "short sum as an argument",
        "function [15:0] f; input [7:0] a; f = a; endfunction assign bits = f(4'd15 + 4'd1) == 16 ? r : 16'd0;",
        ALIKE,
    ),
    (
        "wide sums",
        f"{SHORT} localparam C = 4 + 1, D = A == 3 ? 8 : 16, E = $clog2(D + 1), F = (1 << E) - 1, G = A & B, H = D * E;"
        " wire [C-1:0] k = ~0; assign bits = k == 31 && D == 16 && E == 5 && F == 31 && G == 1 && H == 80 ? r : 16'd0;",
        None,
    ),
    (
        "sums in parameters with a range",
        f"{SHORT} localparam [7:0] C = A + B, D = A + B > 4'd3, E = 1'b1 ? A + B : B, F = {{A + B}};"
        " assign bits = C == 16 && D == 0 && E == 16 && F == 0 ? r : 16'd0;",
        None,
    ),
    (
        "short sums in ranges and counts",
        f"{SHORT} wire [A+A:0] k = ~0; wire [63:0] n = {{(A + A){{1'b1}}}}, m = 64'h1234_5678_9abc_def0;"
        " assign bits = k == 32767 && n == 16383 && m[A+A:B] == 16'h2f78 && m[A+A+:4] == 3 ? r : 16'd0;",
        None,
    ),
    (
        "short sums in conditions and loops",
        f"{SHORT} genvar i; wire [63:0] k; generate for (i = 0; i < A + B; i = i + 1) assign k[i] = 1;"
        " for (i = 16; i < 64; i = i + 1) assign k[i] = 0;"
        " if (A + B == 4'd0 && !(A * A == 8'd1)) assign bits = k == 65535 ? r : 16'd0; endgenerate",
        None,
    ),
    (
        "case of a block by a short sum",
        f"{SHORT} reg k; always @* case (code[3:0]) A + B: k = 1; default: k = 0; endcase"
        " assign bits = k == (code[3:0] == 0) ? r : 16'd0;",
        None,
    ),
    ("reg with a value", "reg [15:0] n = r; assign bits = n;", INITIAL.format("n")),
    ("initial", "reg [15:0] n; initial n = r; assign bits = n;", INITIAL.format("n")),
    ("initial begin", "reg [15:0] n; initial begin n = r; end assign bits = n;", INITIAL.format("n")),
    (
        "sum of short parameters",
        "localparam [3:0] A = 15, B = 1; localparam C = A + B; assign bits = C == 0 ? r : 16'd0;",
        "have the parameter C without a range",
    ),
    (
        "sum of short parameters for another",
        "localparam [3:0] A = 15, B = 1; wire k; inner11 #(.N(A + B)) s (k); assign bits = k ? r : 16'd0; endmodule"
        " module inner11 #(parameter N = 3) (output y); assign y = N == 0;",
        "give a parameter a sum of short constants",
    ),
    (
        "choice by a sum of short parameters",
        "localparam [3:0] A = 15, B = 1;"
        " generate case (A + B) 16: assign bits = r; default: assign bits = 16'd0; endcase endgenerate",
        "choose by a sum of short constants",
    ),
    ("line of the file", "assign bits = `__LINE__ == 3 ? r : r;", "depend on the macro __LINE__"),
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
        "gates side by side",
        "wire [3:0] n; not g [0:3] (n, code[3:0]); assign bits = n ? r : r;",
        "have what Yosys calls CELLARRAY",
    ),
    (
        "memory that is filled",
        "reg z [0:15]; integer i; initial for (i = 0; i < 16; i = i + 1) z[i] = 1; assign bits = z[code[3:0]] ? r : 0;",
        INITIAL.format("z"),
    ),
    (
        "loop while",
        "reg [15:0] n; integer i; always @* begin i = 0; n = r; while (i < 4) begin n[i] = r[i]; i = i + 1; end end"
        " assign bits = n;",
        "use while",
    ),
    (
        "loop repeat",
        "reg [15:0] n; always @* begin n = r; repeat (2) n = ~n; end assign bits = n;",
        "use repeat",
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
    (
        "macro of one simulator",
        "`ifdef VERILATOR_TIMING\nassign bits = 0;\n`else\nassign bits = r;\n`endif",
        "depend on the macro VERILATOR_TIMING",
    ),
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
        "alias read before written",
        "reg [15:0] m, n; wire [15:0] k = n; always @* begin m = k; n = r; end assign bits = m;",
        "read k, which follows from another, in its block before all of it is assigned there",
    ),
    (
        "alias of an alias read before written",
        "reg [15:0] m, n; wire [15:0] j, k; assign k = j ^ 1; assign j = n; always @* begin m = k; n = r; end"
        " assign bits = m ^ 1;",
        "read k, which follows from another, in its block before all of it is assigned there",
    ),
    (
        "gate behind a variable",
        "reg m, n; wire k; buf (k, n); always @* begin m = k; n = r[0]; end assign bits = {r[15:1], m};",
        "read k, which follows from another, in its block before all of it is assigned there",
    ),
    (
        "alias through a module",
        "reg [15:0] m, n; wire [15:0] k; inner17 s (n, k, clk); always @* begin m = k; n = r; end assign bits = m;"
        " endmodule module inner17 (input [15:0] a, output [15:0] y, input clk); assign y = a;",
        "read k, which follows from another, in its block before all of it is assigned there",
    ),
    (
        "register between the alias and its variable",
        "reg [15:0] m, n; wire [15:0] k; inner18 s (.y(k), .a(n), .clk(clk)); always @* begin m = k; n = r; end"
        " assign bits = m; endmodule module inner18 (input [15:0] a, output [15:0] y, input clk); reg [15:0] q;"
        " always @(posedge clk) q <= a; assign y = q;",
        None,
    ),
    (
        "alias read after it is written",
        "reg [15:0] m, n; wire [15:0] k = n; always @* begin n[15:8] = r[15:8]; n[7:0] = r[7:0]; m = k; end"
        " assign bits = m;",
        None,
    ),
    (
        "another variable than that of the alias",
        "reg [15:0] l, m, n; wire [15:0] k = l; always @* l = r; always @* begin m = k; n = m; end assign bits = n;",
        None,
    ),
    (
        "bits read before written",
        "reg [15:0] n; integer i; always @* begin for (i = 15; i > 0; i = i - 1) n[i] = r[i] ^ r[i-1] ^ n[i-1];"
        " n[0] = r[0]; end assign bits = r ^ n ^ n;",
        "read n in its block before all of it is assigned there",
    ),
    (
        "all bits written before",
        "reg [15:0] n; always @* begin n[15:8] = r[15:8]; n[7:0] = r[7:0]; n = n[3] ? n : n; end assign bits = n;",
        None,
    ),
    (
        "not all bits written before",
        "reg [15:0] n; always @* begin n[15:8] = r[15:8]; n[6:0] = r[6:0]; n = n | r; end assign bits = n;",
        "read n in its block before all of it is assigned there",
    ),
    (
        "bit written in one branch",
        "reg [1:0] n; always @* begin n[1] = r[1]; if (r[2]) n[0] = 1'b1; n = n; end assign bits = n ? r : r;",
        "read n in its block before all of it is assigned there",
    ),
    (
        "function that reads a net",
        "function [15:0] f; input k; f = r; endfunction assign bits = f(code[0]);",
        "use r in f, whose argument it is not",
    ),
    ("cell of Yosys", "\\$_BUF_ b (.A(r[0]), .Y(bits[0])); assign bits[15:1] = r[15:1];", "use $_BUF_"),
    ("defparam", "defparam u.none = 1; assign bits = r;", "use defparam"),
    ("mark of a log", 'localparam N = "-- END OF DUMP --"; wire [15:0] #20 n = r; assign bits = n;', DELAY),
    ("delay behind a label", "reg [15:0] m; always @* begin : right #20 m = r; end assign bits = m;", DELAY),
    ("delay with _", "reg [15:0] m; always @(posedge clk) m <= #1_000 r; assign bits = m;", DELAY),
    ("delay with an exponent", "reg [15:0] m; always @(posedge clk) m <= #1e3 r; assign bits = m;", DELAY),
    (
        "parameter of the same name",
        "reg [15:0] m; wire k = code[0]; generate if (1) begin : g localparam r = 1; end endgenerate"
        " always @(k) m = k ? r : r; assign bits = m;",
        "read r outside the list of its block always",
    ),
    (
        "local variable of the same name",
        "reg [15:0] m; reg n; wire k = code[0]; always @(k) begin begin : g reg [15:0] r; r = {16{k}}; n = r[0]; end"
        " m = r; end assign bits = m;",
        "read r outside the list of its block always",
    ),
    (
        "counter that is assigned",
        "reg [15:0] n; integer i; reg k; always @(posedge clk) begin for (i = 0; i < 1; i = i + 1) k <= code[0];"
        " i = r; end always @(posedge clk) n <= i; assign bits = q ^ n ^ n;",
        "assign i by = in a clocked block and use it elsewhere",
    ),
    (
        "counter that its loop changes",
        "reg [15:0] m; integer i, n; always @(posedge clk) begin n = 0; for (i = 0; i < 4; i = i + 1)"
        " begin n = n + 1; i = i + 1; end m <= n == 4 ? r : 0; end assign bits = m;",
        OUTSIDE.format("i"),
    ),
    (
        "counter that overflows",
        "reg [15:0] m; reg [1:0] i; always @(posedge clk) for (i = 0; i < 4; i = i + 1) m <= r; assign bits = m;",
        ENDLESS,
    ),
    (
        "output of a task",
        "reg [15:0] m, n; task t; input [15:0] a; output [15:0] b; b = a; endtask always @(posedge clk) t(r, m);"
        " always @(posedge clk) n <= m; assign bits = q ^ n ^ n;",
        "have a task",
    ),
    (
        "counter of a function and its caller",
        "reg [15:0] m; integer i, n; function f; input a; begin for (i = 0; i < 9; i = i + 1) f = a; end endfunction"
        " always @* begin n = 0; for (i = 0; i < 4; i = i + 1) n = n + f(1'b1); m = n == 4 ? r : 0; end"
        " assign bits = m;",
        "use i in f, whose argument it is not",
    ),
    (
        "race by another name",
        "generate if (1) begin : g reg [15:0] m; always @(posedge clk) m = r; end endgenerate reg [15:0] n;"
        " always @(posedge clk) n <= g.m; assign bits = q ^ n ^ n;",
        "assign m by = in a clocked block and use it elsewhere",
    ),
    (
        "z in casez",
        "reg [15:0] m; always @* casez ({code[0], 1'bz}) 2'b01: m = 0; 2'b11: m = 0; default: m = r; endcase"
        " assign bits = m;",
        "choose by the value z",
    ),
    (
        "long constant",
        "assign bits = ('hF_FFFF_FFFF > 'hFFFF_FFFF) ? 16'd0 : r;",
        ALIKE,
    ),
    (
        "word at a sum",
        "reg k [0:31]; integer i; always @* for (i = 0; i < 32; i = i + 1) k[i] = i == 0 | (~r[0] & r[0]);"
        " assign bits = k[code[3:0] + 4'd1] == (code[3:0] == 15) ? r : 16'd0;",
        "select from k by a sum",
    ),
    (
        "default of an input",
        "inner s (.k(), .y(bits), .a(r)); endmodule module inner (input [15:0] a, (* defaultvalue = 1'b1 *) input k,"
        " output [15:0] y); assign y = k ? a : 16'd0;",
        "use defaultvalue",
    ),
    (
        "blank behind a backslash",
        "wire [15:0] k = ~r\n`define UNUSED 1 \\ \n^ 16'hffff\n; assign bits = ~k;",
        "end a line of a macro by a backslash and a blank",
    ),
    ("backslash in a comment", "wire [15:0] k = r\n`define UNUSED // 1 \\\n^ 16'd1\n; assign bits = k;", BEHIND),
    ("continued macro", "`define N 16'd0 \\\n^ 16'd0\n`define M /* a */ r\nassign bits = `M ^ `N;", None),
    (
        "macros taken back",
        "`define N\n`undefineall\n`ifdef N\nassign bits = 0;\n`else\nassign bits = r;\n`endif",
        "use `undefineall",
    ),
    ("line", '\n`line 3 "a:b" 0\nreg [15:0] n; initial n = r; assign bits = n;', "use `line"),
    (
        "tree in a string",
        "localparam N = \"\\n    AST_MODULE <a:1.1-1.1> [0x1] str='\\\\other'\"; reg [15:0] n; initial n = r;"
        " assign bits = n;",
        STRING,
    ),
    ("escapes of a string", 'assign bits = "\\v" == 8\'h0b ? r : 0;', STRING),
    ("quotes in names", 'wire \\a" ; wire [15:0] #20 n = r; wire \\b" ; assign bits = n;', DELAY),
    ("slashes in a name", "wire \\a// ; wire [15:0] #20 n = r; \nassign bits = n;", DELAY),
    (
        "macro between names with quotes",
        'wire \\a" ;`ifdef YOSYS wire \\b" ; assign bits = r;\n`else assign bits = 0;\n`endif',
        "depend on the macro YOSYS",
    ),
    (
        "string from one condition to another",
        '`ifdef NEVER\n don"t\n`endif\n`define K 16\'d0\n`ifdef NEVER\n "\n`endif\n`ifndef K\n`define K r\n`endif\n'
        "assign bits = `K;",
        STRING,
    ),
    (
        "condition in a string",
        '`ifdef NEVER\nlocalparam N = "`else assign bits = 0; // ";\n`else\nassign bits = r;\n`endif',
        STRING,
    ),
    ("__LINE__", "`ifdef __LINE__\nassign bits = 0;\n`else\nassign bits = r;\n`endif", "depend on the macro __LINE__"),
    (
        "directive as a macro",
        "`ifdef timescale\nassign bits = 0;\n`else\nassign bits = r;\n`endif",
        "depend on the macro timescale",
    ),
    (
        "argument in a string",
        '`define M(a) "a"\nassign bits = `M(b) == 8\'h61 ? r : 0;',
        "have a string in a macro with arguments",
    ),
    (
        "part of a target",
        "reg [15:0] n; always @* begin n = r; n[code[7:4] -: 3] = r[code[7:4] +: 3]; end assign bits = n;",
        UNDEFINED,
    ),
    (
        "part of a target at a sum",
        "reg [15:0] n; always @* begin n = r; n[code[7:4] - 2 +: 3] = r[code[7:4] +: 3]; end assign bits = n;",
        "assign bits of n at a place that may be negative",
    ),
    (
        "part of a target at a product",
        "reg [15:0] n; always @* begin n = r; n[code[7] * 8 +: 8] = r[code[7] * 8 +: 8]; end assign bits = n;",
        None,
    ),
    (
        "word of a target",
        "reg k [0:2]; integer i; always @* begin for (i = 0; i < 3; i = i + 1) k[i] = 0; k[code[1:0]] = 1; end"
        " assign bits = k[0] == (code[1:0] == 0) ? r : 0;",
        "assign a word of k by a variable place",
    ),
    (
        "target twice",
        "reg [2:0] n; always @* {n[1:0], n[2:1]} = {code[0], 3'd1}; assign bits = n[1] ? r : 0;",
        ALIKE,
    ),
    (
        "parts of a target",
        "reg [15:0] n; always @* {n[7:0], n[15:8]} = {r[7:0], r[15:8]}; assign bits = n;",
        None,
    ),
    ("real number", "localparam real N = 0.4; assign bits = N ? 16'd0 : r;", "use real numbers"),
    (
        "parameter with a sign",
        "inner1 #(.N(8'hFF)) s (.y(bits), .a(r)); endmodule module inner1 #(parameter signed N = 1) (input [15:0] a,"
        " output [15:0] y); wire [15:0] k = N; assign y = k == 255 ? a : 0;",
        "have the parameter N without a range",
    ),
    (
        "parameter from a sum",
        "localparam N = 4'd15 + 4'd1; assign bits = N == 0 ? r : 0;",
        "have the parameter N without a range",
    ),
    (
        "constant with a sign",
        "assign bits = 'sb11 > 0 ? r : 0;",
        "have a constant with a sign but without its size",
    ),
    (
        "short word with a sign in a function for constants",
        "function [7:0] f(input signed [7:0] n); f = n < 0; endfunction localparam [7:0] K = f(-8'sd3);"
        " assign bits = K[0] ? r : ~r;",
        "call f for constants alone, as it has a short word with a sign",
    ),
    (
        "functions for constants",
        "function integer f(input integer n); f = n < 0; endfunction"
        " function [7:0] g(input signed [7:0] n); g = n; endfunction"
        " localparam [7:0] K = f(-3); assign bits = K[0] && g(code) == code ? r : ~r;",
        None,
    ),
    (
        "long decimal",
        "assign bits = 2147483648 > 0 ? r : 16'd0;",
        ALIKE,
    ),
    (
        "wor",
        "wor [15:0] n; inner5 s (.a(r), .y(n)); inner5 t (.a(r), .y(n)); assign bits = n; endmodule"
        " module inner5 (input [15:0] a, output [15:0] y); assign y = a;",
        "use wor",
    ),
    (
        "element read before written",
        "generate genvar i; for (i = 0; i < 1; i = i + 1) begin : g reg [15:0] m; end endgenerate reg [15:0] n;"
        " always @* begin n = g[0].m; g[0].m = r; end assign bits = n;",
        "read g.m in its block before all of it is assigned there",
    ),
    (
        "element by <=",
        "generate genvar i; for (i = 0; i < 1; i = i + 1) begin : g reg [15:0] m; end endgenerate"
        " always @* g[0].m <= r; assign bits = g[0].m;",
        "assign g.m by <= in a block without a clock",
    ),
    (
        "race of an element",
        "generate genvar i; for (i = 0; i < 1; i = i + 1) begin : g reg [15:0] m; always @(posedge clk) m = r; end"
        " endgenerate reg [15:0] n; always @(posedge clk) n <= g[0].m; assign bits = q ^ n ^ n;",
        "assign m by = in a clocked block and use it elsewhere",
    ),
    (
        "elements",
        "generate genvar i; for (i = 0; i < 2; i = i + 1) begin : g reg [7:0] m; always @* m = r >> 8 * i; end"
        " endgenerate assign bits = {g[1].m, g[0].m};",
        None,
    ),
    (
        "constant function",
        "function [2:9] f; input [2:9] n; begin f = n; f[3:5] = 3'b110; end endfunction"
        " localparam [7:0] N = f(8'h37); assign bits = N == 8'h37 ? r : 0;",
        ALIKE,
    ),
    (
        "list with a word that a port drives",
        "wire [15:0] k [0:1]; reg [15:0] m; right v (.code(code), .bits(k[0]));"
        " always @(code) m = code[0] ? k[0] : k[0]; assign bits = m;",
        "read k outside the list of its block always",
    ),
    (
        "word that a port drives",
        "wire [15:0] k [0:1]; reg [15:0] m; right v (.code(code), .bits(k[0])); always @* m = k[0]; assign bits = m;",
        None,
    ),
    (
        "net of another module",
        "inner9 s (.a(r), .y(bits)); assign s.n = 1'b0; endmodule module inner9 (input [15:0] a, output [15:0] y);"
        " wire n; assign n = 1'b1; assign y = n ? a : 0;",
        "assign s.n, which is in another module",
    ),
    (
        "bits at a negative place",
        "reg [15:0] m; always @* begin m = r; m[code[3:0] - 16] = ~r[0]; end assign bits = m;",
        "assign bits of m at a place that may be negative",
    ),
    (
        "bits at a place with a sign",
        "reg [15:0] m; wire signed [3:0] k = code; always @* begin m = r; m[k] = r[k[3:0]]; end assign bits = m;",
        "assign bits of m at a place that may be negative",
    ),
    (
        "bits at a far place",
        "reg [15:0] m; always @* begin m = r; m[{1'b1, 24'd0, code}] = ~r[0]; end assign bits = m;",
        "must not select bits by an index of more than 32 bits",
    ),
    (
        "bits at a place",
        "reg [15:0] m; always @* begin m = r; m[code] = r[0] ^ r[0]; m[code[3:0]] = r[code[3:0]]; end"
        " assign bits = code < 16 ? m : r;",
        None,
    ),
    ("letter beyond ASCII", 'assign bits = "\u00e9" == 16\'hC3A9 ? r : 0;', STRING),
    (
        "two delays of a register",
        "reg [15:0] m; always @(posedge clk) begin m <= #1 16'd0; m <= r; end assign bits = m;",
        MIXED,
    ),
    (
        "delays of one and none",
        "reg [15:0] m; always @(posedge clk) begin m[3:0] <= #1 4'd0; m <= #0 r; end assign bits = m;",
        MIXED,
    ),
    (
        "usual delays",
        "reg [15:0] m, n; always @(posedge clk) n <= r; always @(posedge clk) if (code <= 9) m <= #1 r;"
        " else m <= #1 r; assign bits = m ^ n ^ n;",
        None,
    ),
    (
        "delay of a task behind a block",
        "reg [15:0] m; always @(posedge clk) begin m <= #1 16'd0; m <= r; end assign bits = m;"
        " task t; reg k; k <= #1 0; endtask",
        MIXED,
    ),
    ("delay of a path", "assign bits = r; specify (code *> bits) = 4000; endspecify", "use specify"),
    (
        "condition on the argument of a macro",
        "`define D(x) `ifdef x\n`D(A)\nassign bits = 0;\n`else\nassign bits = r;\n`endif",
        "have `ifdef in a macro",
    ),
    (
        "condition on a macro's value",
        "`define A B\n`ifdef `A\nassign bits = 0;\n`else\nassign bits = r;\n`endif",
        "have `ifdef without a plain name behind it",
    ),
    (
        "condition on a name with a backslash",
        "`ifdef \\A \nassign bits = 0;\n`else\nassign bits = r;\n`endif",
        "have `ifdef without a plain name behind it",
    ),
    (
        "comment in a string that is skipped",
        '`ifdef A\nlocalparam N = "/*";\n`else\nassign bits = r;\n`endif\n`ifdef A\n// */\n`else\n`endif',
        "have // or /* in a string",
    ),
    (
        "timescale from a macro",
        "inner7 s (.clk(clk), .a(r), .y(bits)); endmodule\n`define U ms\n`timescale 1`U/1ms\nmodule inner7 (input clk,"
        " input [15:0] a, output reg [15:0] y); always @(posedge clk) y <= #1 a;",
        DELAY,
    ),
    (
        "macro of a simulator",
        "`ifdef INCA\nassign bits = 0;\n`else\nassign bits = r;\n`endif",
        "depend on the macro INCA",
    ),
    (
        "delay in seconds",
        "inner7 s (.clk(clk), .a(r), .y(bits)); endmodule\n`timescale 1s/1ms\nmodule inner7 (input clk, input [15:0] a,"
        " output reg [15:0] y); always @(posedge clk) y <= #1 a;",
        DELAY,
    ),
    (
        "index that is longer than a memory needs",
        f"reg z [0:15]; {FILLED} assign bits = z[code] ? r : 0;",
        UNDEFINED,
    ),
    (
        "indices of memories",
        f"reg z [0:15]; {FILLED} wire [31:0] n = code[3:0]; integer k; reg m;"
        " always @* begin k = code[3:0]; m = z[k]; end assign bits = z[n] & m ? r : 0;",
        None,
    ),
    (
        "index with a sign",
        f"reg z [0:15]; {FILLED} wire signed [3:0] n = code; assign bits = z[n] ? r : 0;",
        "select from z by a number with a sign",
    ),
    (
        "index that becomes one with a sign",
        f"reg z [0:15]; {FILLED} assign bits = z[$signed(code[3:0])] ? r : 0;",
        "select from z by a number with a sign",
    ),
    (
        "index of a function with a sign",
        "function signed [3:0] f; input [3:0] a; f = a; endfunction"
        f" reg z [0:15]; {FILLED} assign bits = z[f(code[3:0])] ? r : 0;",
        "select from z by a number with a sign",
    ),
    (
        "bits of a number with a sign as an index",
        f"reg z [0:15]; {FILLED} wire signed [3:0] n = code; assign bits = z[n[3:0]] ? r : 0;",
        None,
    ),
    (
        "memory that is written by its path",
        "generate if (1) begin : g reg z [0:1]; initial begin z[0] = 0; z[1] = 1; end reg m; wire s = code[7];"
        " always @(s) m = s ? z[0] : z[0]; end endgenerate always @* g.z[0] = code[0];"
        " assign bits = g.m == code[0] ? r : 0;",
        INITIAL.format("z"),
    ),
    (
        "counter before its loop",
        f"{COUNTED} reg n; always @* begin n = i == 1; {LOOPS} end assign bits = n == z ? r : 0;",
        "read i in its block before all of it is assigned there",
    ),
    (
        "counter in its own head",
        "integer i; reg [15:0] n; always @* begin n = 0; for (i = i - i; i < 16; i = i + 1) n[i] = r[i]; end"
        " assign bits = n;",
        "read i in its block before all of it is assigned there",
    ),
    (
        "counter of another block",
        f"{COUNTED} always @* {LOOPS} wire s = code[7]; reg m; always @(s) m = s ? i == 1 : i == 1;"
        " assign bits = m == z ? r : 0;",
        OUTSIDE.format("i"),
    ),
    (
        "counter by its path",
        f"generate if (1) begin : g {COUNTED} always @* {LOOPS} end endgenerate wire s = code[7]; reg m;"
        " always @(s) m = s ? g.i == 1 : g.i == 1; assign bits = m == g.z ? r : 0;",
        OUTSIDE.format("i"),
    ),
    (
        "counter of a block in a function",
        f"{COUNTED} always @* {LOOPS} function f; input a; f = a | i == 1; endfunction"
        " assign bits = f(1'b0) == z ? r : 0;",
        OUTSIDE.format("i"),
    ),
    (
        "race of a counter",
        f"{COUNTED} always @(posedge clk) {LOOPS} reg [15:0] m; always @(posedge clk) m <= i == 1 ? r : r;"
        " assign bits = m;",
        "assign i by = in a clocked block and use it elsewhere",
    ),
    (
        "counter behind its loop",
        "integer i, j; reg [15:0] n; reg m; always @* begin for (i = 0; i < 4; i = i + 1)"
        " for (j = 0; j < 4; j = j + 1) n[4 * i + j] = r[4 * i + j]; m = i == 4; end assign bits = m ? n : 0;",
        OUTSIDE.format("i"),
    ),
    (
        "counters",
        "integer i, j, k; reg [15:0] n; always @* for (i = 0; i < 4; i = i + 1) for (j = 0; j < 4; j = j + 1)"
        " n[4 * i + j] = r[4 * i + j]; reg m;"
        " always @* for (k = 0; k < 2; k = k + 1) m = k == 1 & (r[0] | ~r[0]); assign bits = m ? n : 0;",
        None,
    ),
    (
        "sequence",
        "wire sequence, n; or #20 (n, r[1], 1'b0); wire endsequence; assign bits = {r[15:2], n, r[0]};",
        WORD.format("sequence"),
    ),
    (
        "class",
        "wire class = code[0]; reg m; always @(class or r) m = class ? r[0] : r[0]; wire n; or #20 (n, r[1], 1'b0);"
        " assign bits = {r[15:2], n, m};",
        WORD.format("class"),
    ),
    (
        "final",
        "reg final; reg [15:0] m; always @(posedge clk) begin final = 0; m <= #1 16'd0; m <= r; end assign bits = m;",
        WORD.format("final"),
    ),
    (
        "int",
        "localparam [3:0] int = 15; localparam C = int + 4'd1; assign bits = C == 0 ? r : r;",
        WORD.format("int"),
    ),
    (
        "expect",
        "reg n; task expect; input a; n = a; endtask always @* expect (code[0]); assign bits = r;",
        WORD.format("expect"),
    ),
    (
        "words of SystemVerilog",
        "wire \\class = r[0], bit = r[1], byte = r[2], do = r[3], unique = r[4], priority = r[5], type = r[6],"
        " var = r[7]; assign bits = {r[15:8], var, type, priority, unique, do, byte, bit, \\class };",
        WORD.format("bit"),
    ),
]
# The same in SystemVerilog, whose readers differ in what is signed.
ASCENDING = "have a member of a structure, or a type, whose range ascends"
SYSTEM_TABLE = [
    (
        "long value of an enumeration",
        "typedef enum logic [39:0] {C = 40'd0, D = 32'd0 - 1} t; assign bits = D == 40'hFF_FFFF_FFFF ? r : 16'd0;",
        "have the value of D as a sum of short constants",
    ),
    (
        "value of an enumeration by a choice",
        f"{SHORT} typedef enum logic [7:0] {{C = 1 ? A + B : 4'd0, D = 9}} t; assign bits = C == 16 ? r : 16'd0;",
        "have the value of C as a sum of short constants",
    ),
    (
        "short sum that Verilator reads",
        f"function automatic logic [15:0] f(input logic [15:0] a); return a; endfunction {SHORT}"
        " localparam P = A == 15 ? A + B : B; assign bits = f(P == 0 ? r : 16'd0);",
        NO_RANGE,
    ),
    (
        "short sum of casts to a size",
        f"{SHORT} localparam W = 4; localparam P = W'(A) + W'(B); {ZERO}",
        NO_RANGE,
    ),
    ("short sum in a cast", f"{SHORT} localparam P = 8'(A + B); assign bits = P == 16 ? r : 16'd0;", NO_RANGE),
    (
        "wide sums by casts",
        f"{SHORT} localparam P = int'(A) + B, Q = 32'(A) + B; assign bits = P == 16 && Q == 16 ? r : 16'd0;",
        None,
    ),
    (
        "name of a member",
        "wire [15:0] \\a.b ; assign \\a.b = r; struct packed {logic [15:0] b; logic [15:0] c;} a;"
        " assign a = 32'h01020304; assign bits = \\a.b ;",
        "have a point in a name beside structures, whose members have such names",
    ),
    (
        "part at a sum",
        "wire [31:0][1:0] n; assign n = 64'd1; wire [1:0] k = n[code[3:0] + 4'd1]; assign bits = k == 0 ? r : 16'd0;",
        "select from n by a sum",
    ),
    (
        "signed parts",
        "wire signed [1:0][7:0] n; assign n = '1; wire [15:0] k = n[0]; assign bits = k == 255 ? r : 16'd0;",
        "have a signed array of several dimensions",
    ),
    (
        "signed member",
        "struct packed {logic signed [3:0] a; logic b;} s; assign s = '1; wire [7:0] k = s.a;"
        " assign bits = k == 255 ? r : 16'd0;",
        "have a signed member of a structure",
    ),
    (
        "enumeration",
        "enum {A = -1, B} e; assign e = A; assign bits = e < 0 ? 16'd0 : r;",
        ALIKE,
    ),
    (
        "race of a member",
        "struct packed {logic [15:0] a;} s; always @(posedge clk) s.a = r; reg [15:0] n; always @(posedge clk) n <= s;"
        " assign bits = q ^ n ^ n;",
        "assign s by = in a clocked block and use it elsewhere",
    ),
    (
        "structure read before written",
        "struct packed {logic [15:0] a;} s; reg [15:0] n; always_comb begin n = s; s.a = r; end assign bits = n;",
        "read s in its block before all of it is assigned there",
    ),
    (
        "member read before written",
        "typedef struct packed {logic [7:0] a; logic [7:0] b;} t; t s; reg [15:0] n; always_comb begin n = s.b; s = r;"
        " n = n ^ n ^ s; end assign bits = n;",
        "read s in its block before all of it is assigned there",
    ),
    (
        "members",
        "typedef struct packed {logic [7:0] a; logic [7:0] b;} t; t s, v; reg [15:0] n; always_comb begin"
        " {s.b, s.a} = {r[7:0], r[15:8]}; v.a = s.a; v.b = s.b; n = v; end assign bits = n;",
        None,
    ),
    (
        "members of a union",
        "typedef struct packed {logic [3:0] a; logic [3:0] b;} t; union packed {t x; logic [7:0] y;} v; reg [15:0] n;"
        " always_comb begin v.y = code; n = v.x.b; end assign bits = n == code[3:0] ? r : 0;",
        None,
    ),
    (
        "structure and member",
        "struct packed {logic [1:0] a; logic [1:0] b;} s; always_comb {s.a, s} = {code[0], 5'd1};"
        " assign bits = s.a ? 0 : r;",
        ALIKE,
    ),
    (
        "part of a member at a sum",
        "struct packed {logic [31:0][1:0] n;} s; assign s = 64'd1; wire [1:0] k = s.n[code[3:0] + 4'd1];"
        " assign bits = k == 0 ? r : 16'd0;",
        "select from s by a sum",
    ),
    (
        "word of a member",
        "struct packed {logic [2:0][1:0] k; logic z;} s; always_comb begin s = 0; s.k[code[1:0]] = 3; end"
        " assign bits = s.k[0] == 3 ? r : 0;",
        "assign a word of s by a variable place",
    ),
    (
        "ascending member",
        "struct packed {logic x; logic [0:15] y;} s; assign s = {1'b0, r}; assign bits = {s.y[0:7], s.y[8:15]};",
        ASCENDING,
    ),
    (
        "member of an ascending type",
        "typedef logic [0:15] t; union packed {t x; logic [15:0] y;} s; assign s = r; assign bits = s.x[0+:16];",
        ASCENDING,
    ),
    (
        "member of a number of bits",
        "localparam N = 8; struct packed {logic [N-1:0] x; logic [N:1] y;} s; assign s = r;"
        " assign bits = {s.x[7:0], s.y[8:1]};",
        None,
    ),
    (
        "member of words",
        "typedef logic [7:0] t [0:1]; t k; struct packed {logic [1:0][7:0] x;} s; assign s = r;"
        " assign k[0] = s.x[0]; assign k[1] = s.x[1]; assign bits = {k[1], k[0]};",
        None,
    ),
    (
        "member of a signed type",
        "typedef logic signed [3:0] t; struct packed {t a; logic b;} s; assign s = '1; wire [7:0] k = s.a;"
        " assign bits = k == 255 ? r : 16'd0;",
        "have a signed member of a structure",
    ),
    (
        "array of a signed type",
        "typedef logic signed [3:0] t; t [1:0] n; assign n = '1; wire [7:0] k = n[0]; assign bits = k == 15 ? r : 0;",
        "have a signed array of several dimensions",
    ),
    (
        "output of a task of a signed type",
        "typedef logic signed [3:0] t; reg [15:0] m; task automatic f(input [3:0] a, output t b); b = a; endtask"
        " always_comb f(code, m); assign bits = m[15] == code[3] ? r : 0;",
        "have a task",
    ),
    (
        "type of a package",
        "p::t [1:0] n; assign n = '1; wire [7:0] k = n[0]; assign bits = k == 15 ? r : 0;",
        "have a signed array of several dimensions",
    ),
    (
        "array in a function",
        "typedef logic [1:0][3:0] t; function automatic [3:0] f(t a); f = a[1]; endfunction"
        " assign bits = f(code) == code[1] ? r : 0;",
        ALIKE,
    ),
    (
        "filled input",
        "inner8 s (.a('1), .b(r), .y(bits)); endmodule module inner8 (input [39:0] a, input [15:0] b,"
        " output [15:0] y); assign y = a[39] ? b : 0;",
        "connect '1 to an input",
    ),
    (
        "cast to byte",
        "assign bits = (byte'(code) < 0) ? 0 : r;",
        ALIKE,
    ),
    (
        "cast to a type",
        "typedef logic [11:0] t; wire signed [7:0] k = code; wire [15:0] n = t'(k);"
        " assign bits = n[15] == k[7] ? r : 0;",
        ALIKE,
    ),
    (
        "cast of a choice",
        "wire [11:0] n = 12'(code[0] ? code : -8'sd1); assign bits = n[11] ? 0 : r;",
        ALIKE,
    ),
    (
        "continue",
        "reg [15:0] n; always_comb begin n = 0; for (int i = 0; i < 16; i++) begin if (!r[i]) continue; n[i] = 1; end"
        " end assign bits = n;",
        "call a task, or use break or continue",
    ),
    ("cast to a size", "wire [11:0] n = 12'(code) + 4'(code); assign bits = n[11] ? 0 : r;", None),
    (
        "filled parameter",
        "localparam N = '1; assign bits = N == 16'hFFFF ? r : 0;",
        "have the parameter N without a range",
    ),
    (
        "race of an interface",
        "bus s(); inner10 t (.b(s), .clk(clk), .a(r)); reg [15:0] n; always @(posedge clk) n <= s.d;"
        " assign bits = q ^ n ^ n; endmodule interface bus; logic [15:0] d; endinterface"
        " module inner10 (bus b, input clk, input [15:0] a); always_ff @(posedge clk) b.d = a;",
        "have an interface",
    ),
    (
        "name of an enumeration in another scope",
        "reg [15:0] m; wire k = code[0]; generate if (1) begin : g enum logic {r, s} e; end endgenerate"
        " always @(k) m = k ? r : r; assign bits = m;",
        "read r outside the list of its block always",
    ),
    (
        "list with a member",
        "struct packed {logic a; logic [6:0] b;} s; assign s = code; reg [7:0] m; always @(s.a) m = s;"
        " assign bits = m == code ? r : 0;",
        "read s outside the list of its block always",
    ),
    (
        "list with another member",
        "struct packed {logic a; logic [6:0] b;} s; assign s = code; reg [6:0] m; always @(s.a) m = s.b;"
        " assign bits = m == code[6:0] ? r : 0;",
        "read s outside the list of its block always",
    ),
    (
        "list with members",
        "struct packed {logic a; logic [6:0] b;} s; assign s = code; reg [7:0] m; always @(s.a or s.b) m = {s.a, s.b};"
        " assign bits = m == code ? r : 0;",
        None,
    ),
    (
        "index of a type with a sign",
        "reg z [0:255]; integer i; always_comb for (i = 0; i < 256; i = i + 1) z[i] = ~r[0] | r[0]; byte n;"
        " assign n = code; assign bits = z[n] ? r : 0;",
        "select from z by a number with a sign",
    ),
    (
        "part at a number with a sign",
        "wire [3:0][1:0] n; assign n = 8'd0; wire signed [1:0] k = code; assign bits = n[k] == 0 ? r : 0;",
        "select from n by a number with a sign",
    ),
    (
        "memory that a port drives",
        "logic z [0:1]; initial begin z[0] = 0; z[1] = 1; end inner12 s (.a(code[0]), .y(z[0])); function f; input a;"
        " f = a | z[0]; endfunction assign bits = f(1'b0) == code[0] ? r : 0; endmodule"
        " module inner12 (input a, output y); assign y = a;",
        INITIAL.format("z"),
    ),
    (
        "memory at an input",
        "logic z [0:1]; assign z[0] = r[0] & ~r[0]; assign z[1] = 1; wire k; inner12 s (.a(z[code[0]]), .y(k));"
        " assign bits = k == code[0] ? r : 0; endmodule module inner12 (input a, output y); assign y = a;",
        None,
    ),
    ("typed", "typedef enum logic [1:0] {A, B} t; t e; assign e = A; assign bits = e == A ? r : 16'd0;", None),
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
        "index below a memory",
        "reg z [4:11]; integer i; always @* for (i = 4; i < 12; i = i + 1) z[i] = r[0] | ~r[0];"
        " assign bits = z[code[3:0]] ? r : 0;",
    ),
    (
        "word out of range",
        "reg k [0:5]; integer i; always @* for (i = 0; i < 6; i = i + 1) k[i] = ~code[7] & code[7];"
        " assign bits = k[code[6:4]] ? 0 : r;",
    ),
    (
        "word without a value",
        "reg k [0:15]; integer i; always @* for (i = 0; i < 15; i = i + 1) k[i] = ~code[7] & code[7];"
        " assign bits = k[code[7:4]] ? 0 : r;",
    ),
    (
        "local variable of a function",
        "function f; input k; reg n; begin if (k) n = k; f = n; end endfunction"
        " assign bits = f(code[0]) & ~code[0] ? 16'd0 : r;",
    ),
]


READERS = {
    "read": (build("decoder", "hif8", stages=1), ()),
    "read_mapped": (build("decoder", "hif8", stages=1), (liberty.read(liberty.GATES),)),
    "read_adders": (build("dot", "e2m1", lanes=4, accumulator="exact", stages=1), ()),
    "read_step": (build("pe", "e2m1", lanes=4, accumulator="exact"), ()),
    "read_rows": (build("pe", "e2m1", lanes=4, terms=4, accumulator="exact", carry_save=True), ()),
}
REGISTERS = {
    "holds": "k <= k",
    "is not enabled": "if (we) k <= 1'b1",
    "is only set": "if (rst) k <= 1'b1",
}


@pytest.mark.parametrize("register", REGISTERS.values(), ids=REGISTERS)
@pytest.mark.parametrize(("design", "libraries"), READERS.values(), ids=READERS)
def test_a_register_that_nothing_writes_is_free_for_every_reader(design, libraries, register):
    head, end, body = texts([design])[design.name].partition(");\n")
    operand = "code" if design.kind == "decoder" else "a"
    width = next(port.width for port in design.ports if port.name == operand)
    used = (
        f"wire we = 1'b0; reg k; always @(posedge clk) {register};\n"
        f"wire [{width - 1}:0] operand = k ? {width}'d0 : {operand};\n"
    )
    text = head + end + used + re.sub(rf"\b{operand}\b", "operand", body)
    subject = UserFile(design, text, design.name, "mine.v", libraries, "")
    with pytest.raises(
        NetlistError, match=r"must have a latency of|depend on rst|undefined value x|depend on a register"
    ):
        subject.netlist()


def module(body, name="mine"):
    is_clocked = "clk" in body
    register = "reg [15:0] q; always @(posedge clk) q <= r; " if is_clocked else ""
    head = HEADS[is_clocked].replace("mine", name)
    return f"{head} wire [15:0] r; right u (.code(code), .bits(r)); {register}\n{body}\nendmodule\n"


def right():
    return texts([DECODER])[DECODER.name].replace(f"module {DECODER.name} ", "module right ")


def message(tmp_path, capsys, text, stages, suffix=".v"):
    file = tmp_path / f"mine{suffix}"
    package = "package p; typedef logic signed [3:0] t; endpackage " if "p::t" in text else ""
    file.write_text(package + text + right())
    words = ["--verilog", str(file), "--top", "mine", "-o", str(tmp_path / "evidence"), "--stages", str(int(stages))]
    status = main(["verify", "decoder", "--format", "hif8", *words])
    output = capsys.readouterr()
    assert bool(output.err) == (status == 2)
    return output.err or output.out


@pytest.mark.parametrize(
    ("body", "problem", "suffix"),
    [
        pytest.param(*row[1:], suffix, id=row[0])
        for suffix, table in ((".v", TABLE), (".sv", SYSTEM_TABLE))
        for row in table
    ],
)
def test_what_simulators_and_synthesis_read_differently_is_refused(tmp_path, capsys, body, problem, suffix):
    text = message(tmp_path, capsys, module(body), "clk" in body, suffix)
    if problem is None:
        assert text.startswith("mine: equal to the reference model on all 256 inputs")
        return
    if NAMED.sub("", text) == f"hwgen: --verilog: mine {problem}\n":
        return
    first, last = 2, 1 + len(body.splitlines())
    for line in range(first, last + 1):
        reason = f"mine must not {problem} (line {line}): simulators and synthesis read that differently"
        if text == f"hwgen: --verilog: {reason}\n":
            return
    pytest.fail(text)


READ_OTHERWISE = (
    "counter of a function and its caller",
    "parameter with a sign",
    "part at a sum",
    "part of a member at a sum",
    "array of a signed type",
    "type of a package",
    "filled parameter",
)


@pytest.mark.parametrize("name", READ_OTHERWISE)
def test_two_readers_must_agree_on_what_no_rule_refuses(tmp_path, capsys, monkeypatch, name):
    monkeypatch.setattr(files, "refuse_misread", lambda *_: None)
    tables = ((".v", TABLE), (".sv", SYSTEM_TABLE))
    body, suffix = next((row[1], end) for end, rows in tables for row in rows if row[0] == name)
    assert message(tmp_path, capsys, module(body), False, suffix) == f"hwgen: --verilog: mine {ALIKE}\n"


@pytest.mark.parametrize("condition", ["byte'(8'hff) < 0", "byte'(8'hff) > 0"])
def test_two_readers_that_differ_on_one_input(tmp_path, capsys, monkeypatch, condition):
    """An interrupt right after a verdict does not leave that of one reader."""
    mac, file = build("mac", "e2m1"), tmp_path / "mine.sv"
    head, end, body = texts([mac])[mac.name].partition(");\n")
    width = next(port.width for port in mac.ports if port.name == "acc_out")
    one = "{a, b, acc_in} == 24'h2_3_4567"
    file.write_text(
        f"{head.replace(mac.name, 'mine')}{end}assign acc_out = ({one} && {condition}) ? {width}'d1 : right;\n"
        f"wire [{width - 1}:0] right; inner u (.*, .acc_out(right));\nendmodule\n"
        f"{head.replace(mac.name, 'inner')}{end}{body}"
    )
    evidence = tmp_path / "evidence"
    words = ["--format", "e2m1", "--verilog", str(file), "--top", "mine", "-o", str(evidence)]
    assert main(["verify", "mac", *words]) == 2
    assert capsys.readouterr().err.endswith(f"hwgen: --verilog: mine {ALIKE}\n")
    assert not list(evidence.iterdir())
    save = EvidenceStore.save

    def interrupt(store, record):
        save(store, record)
        if record.verdict == "equal":
            raise KeyboardInterrupt

    monkeypatch.setattr(EvidenceStore, "save", interrupt)
    assert main(["verify", "mac", *words]) in (2, 130)
    assert "equal" not in [record.verdict for record in EvidenceStore(evidence)]


def test_what_a_reader_does_not_support_is_named(tmp_path, capsys):
    body = (
        "wire \\g[0].m ; generate genvar i; for (i = 0; i < 1; i = i + 1) begin : g wire m; assign m = 1'b1; end"
        " endgenerate assign bits = \\g[0].m ? r : 0;"
    )
    sentence = "must not have a name with a point that is also the path of a signal in a block"
    assert message(tmp_path, capsys, module(body), False) == f"hwgen: --verilog: mine {sentence}\n"


def test_what_yosys_cannot_parse_is_a_syntax_error(tmp_path, capsys):
    text = message(tmp_path, capsys, module("right #(.N(1)) s (); assign bits = ;"), False)
    assert text.startswith("hwgen: --verilog: mine cannot be mapped: mine.v:2: ERROR: syntax error")


def test_a_carriage_return_alone_ends_a_comment_only_for_some_tools(tmp_path, capsys):
    text = message(tmp_path, capsys, module("assign bits = 16'd0 //\r | r\n;"), False)
    assert text.endswith("must not have a carriage return without a line feed\n")


DRIVEN = {
    "constants": "wire k; assign k = 1'b0; assign k = 1'b1; assign bits = k ? r : 0;",
    "blocks": "reg k; always @* k = code[0] & 1'b0; always @* k = code[0] | 1'b1; assign bits = k ? 0 : r;",
    "modules": "wire k; inner a (k); inner #(0) b (k); assign bits = k ? r : 0; endmodule"
    " module inner #(parameter N = 1) (output y); assign y = N;",
}


@pytest.mark.parametrize("body", DRIVEN.values(), ids=DRIVEN)
def test_two_constants_are_two_drivers(tmp_path, capsys, body):
    assert "multiple conflicting drivers for mine" in message(tmp_path, capsys, module(body), False)


def test_a_cell_with_a_third_state_is_refused():
    cell = (
        "cell (TBUF) { area : 1; pin (A) { direction : input; } pin (E) { direction : input; } pin (Y) {"
        ' direction : output; function : "A"; three_state : "!E"; } }'
    )
    text = liberty.GATES.read_text(encoding="utf-8").rstrip().removesuffix("}") + cell + "}\n"
    body = "wire k; TBUF t (.A(r[0]), .E(code[0]), .Y(k)); assign bits = {r[15:1], k};"
    library = liberty.parse(text, "mine.lib")
    subject = UserFile(DECODER, module(body) + right(), "mine", "mine.v", (library,), "")
    with pytest.raises(NetlistError, match="mine must not use the cell TBUF, whose output may be z"):
        subject.netlist()


CLOCKS = {
    "glitches": ("wire b = ~a, d = ~b, e = ~d; wire c = clk & (a | e); always @(posedge c) m <= r;", False),
    "two inverters": ("wire c = ~clk; always @(negedge c) m <= r;", True),
    "another name": ("wire c = clk; always @(posedge c) m <= r;", True),
}


@pytest.mark.parametrize(("registers", "is_accepted"), CLOCKS.values(), ids=CLOCKS)
def test_gates_of_the_clock_may_have_glitches(tmp_path, capsys, registers, is_accepted):
    body = f"reg a; always @(posedge clk) a <= ~a & ~rst; reg [15:0] m; {registers} assign bits = m;"
    text = message(tmp_path, capsys, module(body), True)
    refusal = "hwgen: --verilog: mine must have all its registers on clk, with no gates but inverters\n"
    assert text.startswith("mine: equal") if is_accepted else text == refusal


CONNECTED = {
    "a sum": "code[3:0] + code[7:4]",
    "a sign": "-n",
    "a choice": "code[7] ? n : 4'sd0",
}


@pytest.mark.parametrize("connected", CONNECTED.values(), ids=CONNECTED)
def test_an_input_has_all_its_bits(tmp_path, capsys, connected):
    body = f"wire signed [3:0] n = code[3:0]; wire [4:0] k; inner s (.a({connected}), .y(k)); assign bits = k ? r : r;"
    inner = " endmodule module inner (input [4:0] a, output [4:0] y); assign y = a;"
    text = message(tmp_path, capsys, module(body + inner), False)
    assert text == "hwgen: --verilog: mine.s.a must not be connected to fewer bits than it has\n"


@pytest.mark.parametrize("body", [pytest.param(row[1], id=row[0]) for row in FREE])
def test_a_value_that_nothing_defines_is_free(tmp_path, capsys, body):
    sentence = message(tmp_path, capsys, module(body), "clk" in body)
    undefined = f"hwgen: --verilog: mine {UNDEFINED}\n"
    if UNDEFINED in sentence:
        assert NAMED.search(sentence)
        sentence = NAMED.sub("", sentence)
    early = "hwgen: --verilog: mine must have a latency of 1 cycle from every input to every output, as --stages says\n"
    controlled = "hwgen: --verilog: mine has outputs that depend on {} in a cycle in which it must not affect them\n"
    undriven = re.search(
        r"mine cannot be mapped: Warning: Wire mine\.\\\w+\[\d+\] is used but has no driver\.$", sentence
    )
    assert undriven or sentence in (undefined, early, controlled.format("rst"), controlled.format("in_valid"))


@NEEDS_ICARUS
def test_icarus_refutes_nothing_that_verify_accepts(tmp_path):
    build = ["iverilog", "-g2005", "-o", "run", "bench.v"]
    rows = {row[0]: refuted(tmp_path, [row[1]], build, ["vvp", "run"]) != "0" for row in TABLE + FREE}
    differ = {name for name, bad in rows.items() if bad}
    assert not differ & {row[0] for row in TABLE if row[2] is None}
    assert differ > {row[0] for row in FREE}
    assert differ > {"reg with a value", "initial", "list", "read before written", "delay of a net", "x in case"}


@pytest.mark.exhaustive
def test_verilator_refutes_nothing_that_verify_accepts(tmp_path):
    """One build of all constructs that Verilator reads, and whose simulation ends; its values are 0 and 1."""
    unread = {"formal function", "macro's value", "cell of Yosys", "defparam", "no list", "line", "delay in seconds"}
    unread |= {"string from one condition to another", "condition in a string", "z in casez"}
    unread |= {"counter that overflows", "gates side by side"}
    unread |= {"sequence", "class", "final", "int", "expect", "words of SystemVerilog"}
    rows = [row for row in TABLE if row[0] not in unread]
    options = [
        "--binary",
        "--timing",
        "--no-assert",
        "-Wno-fatal",
        "-Wno-lint",
        "--quiet",
        "-CFLAGS",
        "-std=c++20 -O0",
        "--top",
        "bench",
    ]
    build = ["verilator", *options, "bench.v"]
    bad = refuted(tmp_path, [row[1] for row in rows], build, ["obj_dir/Vbench"])
    differ = {row[0] for row, bit in zip(rows, reversed(bad), strict=True) if bit == "1"}
    assert not differ & {row[0] for row in rows if row[2] is None}
    assert differ > {"reg with a value", "list", "x in case", "delay of a net"}


def refuted(folder, bodies, build, run):
    """A bit for each body, the last one first: whether its module differs from the reference model."""
    instances = "\n  ".join(
        f"mine{place} u{place} ({PORTS['clk' in body].format(place)});" for place, body in enumerate(bodies)
    )
    bench = BENCH.replace("{last}", str(len(bodies) - 1)).replace("{instances}", instances)
    modules = [module(body, f"mine{place}") for place, body in enumerate(bodies)]
    (folder / "bench.v").write_text("".join([bench, *modules, right()]))
    environment = os.environ | (verilator_environment() if build[0] == "verilator" else {})
    options = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    if subprocess.run(build, check=False, **options).returncode:
        return "rejected"
    try:
        return subprocess.run(run, check=False, timeout=5, **options).stdout.partition("bad ")[2].split()[0]
    except subprocess.TimeoutExpired:
        return "endless"
