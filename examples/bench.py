"""Speed of the reference model, of the gate evaluator, of models in C, of simulations, and of some commands.

The first two are ratios in the same run: against ml_dtypes, en_dtypes, sums in float64 and matrix products in float32,
and against Verilator.

Usage: python examples/bench.py
"""

import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import en_dtypes
import ml_dtypes
import numpy as np

import golden
from golden.compiler import compiler, library
from hwgen.blocks.catalog import build
from hwgen.coverage.suite import suite
from hwgen.model.files import files
from hwgen.simulate.case import case
from hwgen.simulate.engine import simulate
from hwgen.simulate.simulators import available, verilator_environment
from synth.proof.bitslice import Evaluator, to_planes
from synth.proof.mapping import read
from synth.proof.verify import emitted, verify

ELEMENTS = 1 << 20
ROUNDS = 15
PEERS = {"hif8": en_dtypes.hifloat8, "ocp_e4m3": ml_dtypes.float8_e4m3fn, "ocp_e5m2": ml_dtypes.float8_e5m2}


def paired(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float, float]:
    """Run both alternately. Return the medians of their speeds, in million elements a second, and of the ratio."""
    times: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        pair = []
        for run in (ours, theirs):
            start = time.perf_counter()
            run()
            pair.append(time.perf_counter() - start)
        times.append((pair[0], pair[1]))
    mine, other = (ELEMENTS / statistics.median(column) / 1e6 for column in zip(*times, strict=True))
    return mine, other, statistics.median(b / a for a, b in times)


def against_peer(fmt: golden.Format, dtype: Any, samples: np.ndarray) -> None:
    """Print the speed of encode and decode, compared with a type of another package."""
    with np.errstate(all="ignore"):  # the other package warns of overflow
        codes, foreign = fmt.encode(samples.view(np.uint32)), samples.astype(dtype)
        encode = paired(lambda: fmt.encode(samples.view(np.uint32)), lambda: samples.astype(dtype))
        decode = paired(lambda: fmt.decode_bits(codes, "binary32"), lambda: foreign.astype(np.float32))
    peer = dtype.__module__.split(".")[0]
    for task, (mine, other, ratio) in (("encode from float32", encode), ("decode to float32", decode)):
        print(f"{fmt.name:10} {task:20} {mine:7.0f}, {peer} {other:5.0f}: {ratio:.1f} times as fast")


def roundings(fmt: golden.Format, samples: np.ndarray) -> None:
    """Print the speed of encoding in each rounding, compared with the format's default."""
    bits = samples.view(np.uint32)
    words = np.random.default_rng(2).integers(0, 1 << 16, bits.size, dtype=np.uint16)
    for rounding in fmt.roundings[1:]:
        random = {"random": words} if rounding.is_stochastic else {}
        mine, other, ratio = paired(partial(fmt.encode, bits, rounding=rounding, **random), partial(fmt.encode, bits))
        print(f"{fmt.name:10} {rounding:20} {mine:7.0f}, {fmt.roundings[0]} {other:5.0f}: {ratio:.2f} times as fast")


def blocks(fmt: golden.Format, samples: np.ndarray) -> None:
    """Print the speed of quantizing blocks of 32 numbers with e8m0 scales, compared with encoding without a scale."""
    rows = samples.reshape(-1, 32)
    mine, other, ratio = paired(partial(golden.quantize_block, rows, fmt), partial(fmt.codes, rows))
    print(f"{fmt.name:10} {'blocks of 32':20} {mine:7.0f}, single codes {other:5.0f}: {ratio:.2f} times as fast")


def dot_products(fmt: golden.Format, lanes: int) -> None:
    """Print the speed of exact sums, rounded once, compared with decoding and adding in float64, which rounds often."""
    rng, rows = np.random.default_rng(3), ELEMENTS // lanes
    a, b = rng.integers(0, 1 << fmt.width, (2, rows, lanes)).astype(np.uint8)
    values = np.where(np.isfinite(fmt.values), fmt.values, 0.0)

    def plain() -> np.ndarray:
        return (values.take(a) * values.take(b)).sum(axis=-1)

    for accumulator in ("binary32", "binary16", "aligned13"):
        acc = np.zeros(rows, np.uint16 if accumulator == "binary16" else np.uint32)
        exact = partial(golden.fused_dot, a, b, acc, fmt, accumulator=accumulator)
        mine, other, ratio = paired(exact, plain)
        task = f"{lanes} lanes, {accumulator}"
        print(f"{fmt.name:10} {task:20} {mine:7.0f}, float64 {other:5.0f}: {ratio:.2f} times as fast")


def matrix_products(fmt: golden.Format, size: int = 768) -> None:
    """Print the speed of matrix products, bit for bit, compared with NumPy's in float32, on all cores."""
    rng = np.random.default_rng(4)
    a, b = rng.choice(np.flatnonzero(np.isfinite(fmt.values)), (2, size, size)).astype(fmt.code_dtype)
    x, y = fmt.decode(a).astype(np.float32), fmt.decode(b).astype(np.float32)
    for accumulator in ("binary16", "bfloat16", "dlfloat16", "binary32", "exact", "aligned13"):
        for lanes in (1, 8):
            times = []
            for _ in range(5):
                start = time.perf_counter()
                golden.matmul(a, b, fmt, accumulator=accumulator, lanes=lanes)
                middle = time.perf_counter()
                for _ in range(10):
                    x @ y
                times.append((middle - start, (time.perf_counter() - middle) / 10))
            mine, other = (size**3 / statistics.median(column) / 1e9 for column in zip(*times, strict=True))
            ratio = statistics.median(ours / theirs for ours, theirs in times)
            task = f"matmul {accumulator}, {lanes} lane{'s' * (lanes > 1)}"
            print(f"{fmt.name:10} {task:26} {mine:5.2f} G MAC/s, float32 BLAS {other:5.1f}: 1/{ratio:.0f} of its speed")


_MAIN = """
#include "Vmodule.h"
#include <cstdio>
#include <cstdlib>
int main(int, char **argv) {
  Vmodule top;
  unsigned long x = 1, sum = 0, count = atol(argv[1]);
  for (unsigned long i = 0; i < count; i++) {
    x = x * 6364136223846793005UL + 1442695040888963407UL;
    top.a = x >> 32; top.b = x >> 40; top.acc_in = x >> 48;
    top.eval();
    sum += top.acc_out;
  }
  printf("%lu\\n", sum);
}
"""


def evaluator_against_verilator(cases: int = 20_000_000) -> None:
    """Print how many cases of a MAC each evaluates in a second.

    The evaluator uses all cores, Verilator's model one, which is its default.
    """
    design = build("mac", "hif8")
    text = design.verilog()
    netlist = read(text, design.name)
    code = Evaluator(netlist, list(netlist.input_nets("acc_in")))
    running = to_planes(np.arange(1 << 16), 16)
    groups = np.arange(1 << 13, dtype=np.uint64)
    expected = code.evaluate(0, running)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        (Path(folder) / "module.v").write_text(
            text.replace(f"module {design.name} ", "module module_under_test "), encoding="utf-8"
        )
        (Path(folder) / "main.cpp").write_text(_MAIN, encoding="utf-8")
        command = shlex.split("verilator_bin --cc --exe --build -O3 -CFLAGS -O3 --prefix Vmodule module.v main.cpp")
        environment = os.environ | verilator_environment()
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        ratios = []
        for _ in range(3):
            start = time.perf_counter()
            list(pool.map(lambda part: code.compare(part, running, expected), np.split(groups, 16)))
            ours = groups.size * 65536 / (time.perf_counter() - start)
            start = time.perf_counter()
            subprocess.run([f"{folder}/obj_dir/Vmodule", str(cases)], check=True, stdout=subprocess.DEVNULL)
            ratios.append((ours, cases / (time.perf_counter() - start)))
    ours, theirs = (statistics.median(column) for column in zip(*ratios, strict=True))
    ratio = statistics.median(a / b for a, b in ratios)
    speeds = f"{ours / 1e6:.0f} million cases a second on gates, {theirs / 1e6:.0f} in Verilator's model"
    print(f"{design.name}: {speeds}: {ratio:.0f} times as fast")


_LOOP = """
extern "C" uint32_t loop(uint32_t count) {{
  uint32_t total = 0, word = 1;
  for (uint32_t i = 0; i < count; i++) {{
    word = word * 1664525 + 1013904223;
    total += {name}((uint8_t)(word >> 24), (uint8_t)(word >> 16), (uint16_t)(word >> 5));
  }}
  return total;
}}
"""
"""A loop over random inputs of the model in C of a MAC."""


def models(count: int = 100_000_000) -> None:
    """Print how many results a core computes in a second with the models in C of MACs."""
    command = compiler()
    for design in (build("mac", name) for name in PEERS) if command else ():
        header = files(design)[f"model/{design.name}.h"]
        code = library(command or "", header + _LOOP.format(name=design.name), ("-O2", "-std=c++17"))
        start = time.process_time()
        code.loop(count)
        print(f"{design.name}: {count / (time.process_time() - start) / 1e6:.0f} million results a second in C")


def sweeps() -> None:
    """Print how long it takes to check all inputs of some modules, including emission, mapping and compilation."""
    for design in (build("mac", "hif8"), build("encoder", "hif8"), build("encoder", "hif8", rounding="hybrid")):
        start = time.perf_counter()
        subject = emitted(design)
        evidence = verify(subject, subject.netlist())
        print(f"{design.name}: {evidence.verdict} on all {evidence.cases} cases in {time.perf_counter() - start:.1f} s")


def simulations(vectors: int = 50_000) -> None:
    """Print how many vectors of a regression a simulator takes in a second, and of as many without classes."""
    design = build("mac", "hif8")
    regression = suite(design, vectors, np.random.default_rng(1))
    whole = case(design, design.verilog(), regression.vectors, regression.classes)
    speeds: dict[str, list[float]] = {"classes": [], "one test": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):
            for name, subject in (("classes", whole), ("one test", whole.part(0, vectors))):
                outcome = simulate([subject], Path(folder), "icarus", waves=False)
                speeds[name].append(vectors / outcome.seconds)
    classes, one = (statistics.median(column) for column in speeds.values())
    print(f"{design.name}: {classes:,.0f} vectors a second in classes, {one:,.0f} in one test, as make test has them")


def main() -> None:
    """Print one line for each measurement."""
    rng = np.random.default_rng(0)
    samples = (rng.normal(size=ELEMENTS) * np.exp2(rng.uniform(-12, 8, ELEMENTS))).astype(np.float32)
    print(f"{ELEMENTS} elements; median of {ROUNDS} alternating rounds; million elements a second, one thread")
    for name in ("hif8", "ocp_e4m3", "e2m1"):
        blocks(golden.get(name), samples)
    for name, dtype in PEERS.items():
        against_peer(golden.get(name), dtype, samples)
        roundings(golden.get(name), samples)
        for lanes in (8, 32):
            dot_products(golden.get(name), lanes)
        matrix_products(golden.get(name))
    evaluator_against_verilator()
    models()
    if "icarus" in available():
        simulations()
    sweeps()
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hwgen", "generate", "mac", "--format", "hif8", "-o", folder]
        for _ in range(4):
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - start)
    print(f"hwgen generate mac --format hif8: {statistics.median(seconds[1:]):.2f} s warm")


if __name__ == "__main__":
    main()
