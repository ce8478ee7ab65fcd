"""The examples do what they say: the design that instantiates generated Verilog, the digits, the blocks in README and docs."""

import re
import subprocess
from pathlib import Path

import numpy as np

import golden
from hwgen import build
from rtl_tests.blocks import generator, texts
from rtl_tests.lint import lint
from rtl_tests.optional import NEEDS_ICARUS

ROOT = Path(__file__).resolve().parent.parent

BENCH = """
module bench;
  reg clk = 0, clear, enable = 1; reg [7:0] a, b; wire [15:0] sum; wire [7:0] code;
  reg [16:0] stimuli [0:{last}];
  integer i;
  dot_product dut (.clk(clk), .clear(clear), .enable(enable), .a(a), .b(b), .sum(sum), .code(code));
  initial begin
    $readmemh("stimuli.hex", stimuli);
    for (i = 0; i <= {last}; i = i + 1) begin
      {{clear, a, b}} = stimuli[i];
      #1 clk = 1;
      #1 clk = 0;
      $display("%h %h", sum, code);
    end
  end
endmodule
"""


@NEEDS_ICARUS
def test_simulation_of_the_dot_product_example(tmp_path):
    hif8, length, count = golden.get("hif8"), 16, 40
    rng = generator("dot_product")
    a, b = rng.integers(0, 256, (2, count, length)).astype(np.uint8)
    modules = texts([build.mac("hif8"), build.encoder("hif8", "binary16")])
    modules["dot_product"] = (ROOT / "examples/dot_product.v").read_text()
    for name, text in modules.items():
        (tmp_path / f"{name}.v").write_text(text)
    clear = np.arange(length) == 0
    rows = [f"{word:05x}" for word in (clear << 16 | a.astype(int) << 8 | b).reshape(-1).tolist()]
    (tmp_path / "stimuli.hex").write_text("\n".join(rows) + "\n")
    (tmp_path / "bench.v").write_text(BENCH.format(last=count * length - 1))
    subprocess.run(["iverilog", "-g2005", "-o", "t.vvp", "bench.v", *(f"{name}.v" for name in modules)], cwd=tmp_path, check=True)
    said = subprocess.run(["vvp", "t.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()
    sums = np.array([int(word, 16) for word in said[0::2]], np.uint16).reshape(count, length)
    codes = np.array([int(word, 16) for word in said[1::2]], np.uint8).reshape(count, length)
    assert np.array_equal(sums[:, -1], golden.dot(a, b, "hif8"))
    assert np.array_equal(codes, hif8.encode(sums, "binary16"))


def test_the_example_design_is_clean(tmp_path):
    modules = texts([build.mac("hif8"), build.encoder("hif8", "binary16")])
    wrapped = "\n".join([*modules.values(), (ROOT / "examples/dot_product.v").read_text()])
    modules_named = re.findall(r"^module (\w+)", wrapped, re.M)
    assert len(modules_named) == 3
    for name, text in modules.items():
        (tmp_path / f"{name}.v").write_text(text)
    lint({**modules, "dot_product": (ROOT / "examples/dot_product.v").read_text()}, tmp_path)
