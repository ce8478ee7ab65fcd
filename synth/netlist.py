"""Bit-sliced evaluation of gate netlists: one C statement per gate, each word holding one bit of 64 cases.

Yosys maps a combinational module to simple gates; a few dozen lines turn the netlist into C on vectors of 64-bit words, which the
machine's C compiler makes a library of. Cases are *bit planes*: row i of an array holds bit i of every case, 64 to a uint64 word,
case 0 in bit 0 of word 0.
"""

import ctypes
import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen import yosys

VECTOR = 4
"""uint64 words that a C statement works on at a time."""

_SCRIPT = """\
read_verilog module.v
hierarchy -top {top}
proc; flatten; opt -full; techmap; opt; abc -g AND,OR,XOR,MUX; opt_clean -purge
write_json netlist.json
"""

_GATES = {
    "$_NOT_": "~{A}", "$_BUF_": "{A}", "$_AND_": "{A} & {B}", "$_OR_": "{A} | {B}", "$_XOR_": "{A} ^ {B}", "$_NAND_": "~({A} & {B})",
    "$_NOR_": "~({A} | {B})", "$_XNOR_": "~({A} ^ {B})", "$_ANDNOT_": "{A} & ~{B}", "$_ORNOT_": "{A} | ~{B}",
    "$_MUX_": "({B} & {S}) | ({A} & ~{S})",
}  # fmt: skip

_SOURCE = """\
#include <stddef.h>
#include <stdint.h>
typedef uint64_t V __attribute__((vector_size({bytes}), aligned(8)));
static const V zeros = {{0}};
#define ones (~zeros)

void evaluate(const V *in, V *out, size_t vectors) {{
  for (size_t v = 0; v < vectors; v++) {{
{loads}
{gates}
{stores}
  }}
}}

/* How many vectors of cases hold one that differs from what is expected, and the first of them. */
size_t compare(const V *in, const V *expected, size_t vectors, size_t *first) {{
  size_t count = 0;
  for (size_t v = 0; v < vectors; v++) {{
{loads}
{gates}
    V differs = zeros;
{compares}
    uint64_t any = 0;
    for (int word = 0; word < {words}; word++) any |= differs[word];
    if (any && !count++) *first = v;
  }}
  return count;
}}
"""


class Netlist:
    """A combinational module, compiled.

    Parameters
    ----------
    verilog, top : str
        Text and name of the module.

    Attributes
    ----------
    inputs, outputs : dict of port name to width
        In the order in which their planes stand.
    gates : int

    Raises
    ------
    YosysError, FileNotFoundError, subprocess.CalledProcessError
        If the module cannot be mapped, or there is no C compiler.
    """

    def __init__(self, verilog: str, top: str):
        found = yosys.run(_SCRIPT.format(top=top), {"module.v": verilog}, ["netlist.json"])["netlist.json"]
        module = json.loads(found)["modules"][top]
        ports = {way: {n: p for n, p in module["ports"].items() if p["direction"] == way} for way in ("input", "output")}
        self.inputs = {name: len(port["bits"]) for name, port in ports["input"].items()}
        self.outputs = {name: len(port["bits"]) for name, port in ports["output"].items()}
        source, self.gates = _translate(module, ports)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "netlist.c").write_text(source)
            command = ["cc", "-O1", "-march=native", "-shared", "-fPIC", "-o", "netlist.so", "netlist.c"]
            subprocess.run(command, cwd=folder, check=True)
            self._code = ctypes.CDLL(str(Path(folder) / "netlist.so"))
        self._code.compare.restype = ctypes.c_size_t

    def evaluate(self, planes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Output planes for input planes of shape (bits of all inputs, words); words must be a multiple of :data:`VECTOR`."""
        out = np.empty((sum(self.outputs.values()), planes.shape[1]), np.uint64)
        self._code.evaluate(_pointer(planes), _pointer(out), ctypes.c_size_t(_vectors(planes)))
        return out

    def compare(self, planes: NDArray[np.uint64], expected: NDArray[np.uint64]) -> int | None:
        """None if all outputs are as expected, else a case from which on, within 64 * VECTOR cases, one differs."""
        first = ctypes.c_size_t(0)
        count = self._code.compare(_pointer(planes), _pointer(expected), ctypes.c_size_t(_vectors(planes)), ctypes.byref(first))
        return first.value * 64 * VECTOR if count else None


def _vectors(planes: NDArray[np.uint64]) -> int:
    if planes.shape[1] % VECTOR:
        raise ValueError(f"Planes must have a multiple of {VECTOR} words, not {planes.shape[1]}")
    return planes.shape[1] // VECTOR


def _pointer(planes: NDArray[np.uint64]) -> ctypes.c_void_p:
    if planes.dtype != np.uint64 or not planes.flags.c_contiguous:
        raise TypeError(f"Planes must be a contiguous uint64 array, not {planes.dtype}")
    return ctypes.c_void_p(planes.ctypes.data)


def _translate(module: Mapping[str, Any], ports: Mapping[str, Mapping[str, Any]]) -> tuple[str, int]:
    """C text, gates in an order in which every operand comes first, and their number."""
    names: dict[int | str, str] = {"0": "zeros", "1": "ones", "x": "zeros"}
    loads: list[str] = []
    gates: list[str] = []
    stores: list[str] = []
    compares: list[str] = []
    for bit in (bit for port in ports["input"].values() for bit in port["bits"]):
        names[bit] = f"i{len(loads)}"
        loads.append(f"    const V i{len(loads)} = in[{len(loads)} * vectors + v];")
    driver = {cell["connections"]["Y"][0]: cell for cell in module["cells"].values()}
    for index, output in enumerate(bit for port in ports["output"].values() for bit in port["bits"]):
        stack = [output]
        while stack:
            bit = stack[-1]
            if bit in names:
                stack.pop()
                continue
            cell = driver[bit]
            pins = {pin: bits[0] for pin, bits in cell["connections"].items() if pin != "Y"}
            missing = [pin for pin in pins.values() if pin not in names]
            if missing:
                stack += missing
                continue
            expression = _GATES[cell["type"]].format(**{pin: names[source] for pin, source in pins.items()})
            names[bit] = f"n{len(gates)}"
            gates.append(f"    const V n{len(gates)} = {expression};")
        stores.append(f"    out[{index} * vectors + v] = {names[output]};")
        compares.append(f"    differs |= {names[output]} ^ expected[{index} * vectors + v];")
    parts = {"loads": loads, "gates": gates, "stores": stores, "compares": compares}
    text = _SOURCE.format(bytes=8 * VECTOR, words=VECTOR, **{name: "\n".join(lines) for name, lines in parts.items()})
    return text, len(gates)


def to_planes(values: NDArray[Any], width: int) -> NDArray[np.uint64]:
    """Bit planes, shape (width, words), of a 1-d array of unsigned integers; cases that fill the last vector up are 0."""
    words = -(-values.size // (64 * VECTOR)) * VECTOR
    planes = np.zeros((width, words), np.uint64)
    for bit in range(width):
        packed = np.packbits((values >> bit & 1).astype(np.uint8), bitorder="little")
        planes[bit].view(np.uint8)[: packed.size] = packed
    return planes


def from_planes(planes: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
    """The first ``count`` values of at most 64 planes."""
    values = np.zeros(count, np.uint64)
    for bit, plane in enumerate(planes):
        values |= np.unpackbits(plane.view(np.uint8), count=count, bitorder="little").astype(np.uint64) << np.uint64(bit)
    return values
