"""Speed, as ratios from one run: encode and decode against ml_dtypes and en_dtypes, and a warm ``hwgen generate`` in seconds.

Usage: python examples/bench.py
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import en_dtypes
import ml_dtypes
import numpy as np

import golden

ELEMENTS = 1 << 20
ROUNDS = 15
PEERS = {"hif8": en_dtypes.hifloat8, "ocp_e4m3": ml_dtypes.float8_e4m3fn, "ocp_e5m2": ml_dtypes.float8_e5m2}


def paired(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float, float]:
    """Medians of million elements a second of both, run by turns, and the median of their ratios."""
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
    """Print the speed of encode and decode beside a foreign type's."""
    with np.errstate(all="ignore"):  # the peer warns of overflow
        codes, foreign = fmt.encode(samples.view(np.uint32)), samples.astype(dtype)
        encode = paired(lambda: fmt.encode(samples.view(np.uint32)), lambda: samples.astype(dtype))
        decode = paired(lambda: fmt.decode_bits(codes, "binary32"), lambda: foreign.astype(np.float32))
    for what, (mine, other, ratio) in (("encode from float32", encode), ("decode to float32", decode)):
        print(f"{fmt.name:10} {what:20} {mine:7.0f} against {other:5.0f} of {dtype.__module__.split('.')[0]}: {ratio:.1f} times")


def main() -> None:
    """Print one line per measurement."""
    rng = np.random.default_rng(0)
    samples = (rng.normal(size=ELEMENTS) * np.exp2(rng.uniform(-12, 8, ELEMENTS))).astype(np.float32)
    print(f"{ELEMENTS} elements; median of {ROUNDS} rounds, by turns; million elements a second, one thread")
    for name, dtype in PEERS.items():
        against_peer(golden.get(name), dtype, samples)
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
