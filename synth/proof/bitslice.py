"""Bit-sliced evaluation of netlists: one C statement per gate; each word has one bit of 64 cases.

The input bits of a case are of two kinds. *Held* bits are constant in a group of cases and form one word per group;
gates that depend on them alone are computed once per group. *Running* bits take all their values in every group. They
are *bit planes*: row i of an array has bit i of all cases, 64 cases per uint64 word, case 0 in bit 0 of word 0.

Of groups with the same expected outputs, those that give all other gates and outputs the same bits (those of the
*border*) are equal in all cases, and one of them is evaluated: e.g. of the pairs of codes with one product.
"""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.compiler import compiler, compiler_version, library
from hwgen.tools.process import ToolError
from synth.proof.gates import Netlist, apply

VECTOR = 8
"""uint64 words that one C statement processes."""

CASES = 64 * VECTOR
"""Cases per vector; the number of cases in a group is a multiple of it."""

Planes = NDArray[np.uint64]

_SOURCE = """\
#include <stddef.h>
#include <stdint.h>
typedef uint64_t V __attribute__((vector_size({bytes}), aligned(8)));

/* Number of cases that differ from the expected outputs, and group and vector of the first one. The expected outputs of
   group g start at expected + g * stride. */
extern "C" uint64_t compare(const uint64_t *groups, size_t count, const V *running, const V *expected, size_t stride,
                            size_t vectors, size_t *first) {{
  uint64_t wrong = 0;
  for (size_t g = 0; g < count; g++, expected += stride) {{
    const uint64_t held = groups[g];
{before}
    for (size_t v = 0; v < vectors; v++) {{
{inside}
      V differs = {{0}};
{compares}
      uint64_t any = 0;
      for (int word = 0; word < {words}; word++) any |= differs[word];
      if (any) {{
        if (!wrong) {{ first[0] = g; first[1] = v; }}
        for (int word = 0; word < {words}; word++) wrong += (uint64_t)__builtin_popcountll(differs[word]);
      }}
    }}
  }}
  return wrong;
}}

/* The bits of the border of each group. */
extern "C" void border(const uint64_t *groups, size_t count, uint64_t *bits) {{
  for (size_t g = 0; g < count; g++, bits += {border_words}) {{
    const uint64_t held = groups[g];
{before}
{border}
  }}
}}
"""


class _C(str):
    """An expression of C."""

    def __and__(self, other: str) -> "_C":
        return _C(f"({self} & {other})")

    def __or__(self, other: str) -> "_C":
        return _C(f"({self} | {other})")

    def __xor__(self, other: str) -> "_C":
        return _C(f"({self} ^ {other})")

    def __invert__(self) -> "_C":
        return _C(f"~{self}")


@dataclass(frozen=True)
class Batch:
    """Held bits of groups of cases, and the expected output planes: one set for all groups, or one for each."""

    groups: Planes
    expected: Planes


@dataclass(frozen=True)
class Mismatch:
    """Number of cases of a batch that differ; group and first case of a vector that contains one of them."""

    cases: int
    group: int
    start: int


def evaluator_version() -> str:
    """What evaluates: the compiler's version, or NumPy's without a compiler."""
    return compiler_version() or f"numpy {np.__version__}"


class Evaluator:
    """A netlist that is ready to be evaluated.

    ``running`` are the nets of the running input bits. The others are held, from bit 0 of a group's word. ``compiled``
    says whether to compile the netlist if there is a compiler, which takes longer than evaluating few cases.
    """

    def __init__(self, netlist: Netlist, running: Sequence[int], compiled: bool = True):
        self.netlist, self.running = netlist, tuple(running)
        self.held = tuple(net for net in range(2, netlist.first_gate) if net not in set(running))
        if len(self.held) > 64:
            raise ValueError(f"At most 64 bits can be held, not {len(self.held)}")
        self._moving = netlist.reached_from(self.running)
        gates = (netlist.gates[net - netlist.first_gate] for net in self._moving if net >= netlist.first_gate)
        read = {*netlist.driven, *(pin for gate in gates for pin in gate.pins)}
        self._border = sorted(net for net in read - self._moving if net > 1)
        path = compiler() if compiled else None
        self._code = None if path is None else library(path, self._source())
        if self._code is not None:
            self._code.compare.restype = ctypes.c_uint64
            self._check(path or "")

    def _check(self, path: str) -> None:
        """Compare random cases with NumPy's outputs, and with outputs that differ: each in another case."""
        rng = np.random.default_rng(1)
        groups, running = (rng.integers(0, 1 << 64, size, np.uint64) for size in (2, (len(self.running), 2 * VECTOR)))
        expected = np.array([self.evaluate(held, running) for held in groups.tolist()])
        right = self.compare(groups, running, expected) is None
        border = [evaluated(self.netlist, self._border, self._levels(held), 1)[:, 0] for held in groups.tolist()]
        words = np.packbits(np.array(border).astype(np.bool_), axis=-1, bitorder="little")
        right &= self._at_border(groups).view(np.uint8)[:, : words.shape[1]].tolist() == words.tolist()
        count = min(len(self.netlist.driven), CASES)
        for bit in range(count):
            place = CASES + CASES - 1 - bit
            expected[1, bit, place // 64] ^= np.uint64(1 << place % 64)
        if not right or self.compare(groups, running, expected) != Mismatch(count, 1, CASES):
            raise ToolError(f"the C++ compiler {path} makes wrong code: set CXX to another one")

    def _levels(self, held: int) -> dict[int, np.uint64]:
        levels = np.uint64(0), ~np.uint64(0)
        return {net: levels[held >> place & 1] for place, net in enumerate(self.held)}

    def _at_border(self, groups: Planes) -> Planes:
        """The bits of the border of each group, from bit 0 of its first word."""
        bits = np.zeros((len(groups), -(-len(self._border) // 64)), np.uint64)
        if self._code is not None:
            self._code.border(_pointer(groups), ctypes.c_size_t(len(groups)), _pointer(bits))
        return bits

    def evaluate(self, held: int, running: Planes) -> Planes:
        """Output planes of one group, shape (output bits, words), by NumPy."""
        known = {**self._levels(held), **dict(zip(self.running, running, strict=True))}
        return evaluated(self.netlist, self.netlist.driven, known, running.shape[1])

    def compare(self, groups: Planes, running: Planes, expected: Planes) -> Mismatch | None:
        """Compare all cases with the expected outputs; return None if they are equal.

        ``groups`` are the held bits of each group, ``running`` planes of shape (running bits, words), ``expected``
        planes of shape (output bits, words), the same for all groups, or (groups, output bits, words).
        """
        shared = expected.ndim == 2
        shape = len(self.netlist.driven), running.shape[1]
        if expected.shape != (shape if shared else (len(groups), *shape)):
            raise ValueError(f"Expected planes have the wrong shape {expected.shape}")
        if self._code is None:
            return self._compare_slowly(groups, running, expected)
        vectors, rest = divmod(running.shape[1], VECTOR)
        if rest:
            raise ValueError(f"Planes must have a multiple of {VECTOR} words, not {running.shape[1]}")
        first = (ctypes.c_size_t * 2)()
        stride = 0 if shared else expected.shape[-2] * vectors
        shapes = _pointer(running), _pointer(expected), ctypes.c_size_t(stride), ctypes.c_size_t(vectors), first
        compare = self._code.compare

        def wrong(some: Planes) -> int:
            return int(compare(_pointer(some), ctypes.c_size_t(len(some)), *shapes))

        if shared and len(groups) > 1 and not wrong(self._representatives(groups)):
            return None
        count = wrong(groups)
        return Mismatch(count, first[0], first[1] * CASES) if count else None

    def _representatives(self, groups: Planes) -> Planes:
        """One group for each value of the border."""
        bits = self._at_border(groups)
        if not bits.size:
            return groups[:1]
        return groups[np.unique(bits.view(f"V{8 * bits.shape[1]}"), return_index=True)[1]]

    def differing(self, batch: Batch, running: Planes, mismatch: Mismatch) -> list[dict[str, int]]:
        """Inputs of the differing cases in the vector of a mismatch."""
        held = int(batch.groups[mismatch.group])
        expected = batch.expected if batch.expected.ndim == 2 else batch.expected[mismatch.group]
        window = slice(mismatch.start // 64, (mismatch.start + CASES) // 64)
        differs = self.evaluate(held, running[:, window]) ^ expected[:, window]
        cases = np.unpackbits(np.bitwise_or.reduce(differs, axis=0).view(np.uint8), bitorder="little")
        return [self.pins(held, mismatch.start + place) for place in np.flatnonzero(cases).tolist()]

    def pins(self, held: int, case: int) -> dict[str, int]:
        """Inputs of a case, from the held bits of its group and its index in the group."""
        bits = {net: held >> place & 1 for place, net in enumerate(self.held)}
        bits |= {net: case >> place & 1 for place, net in enumerate(self.running)}
        return {
            port: sum(bits[net] << place for place, net in enumerate(self.netlist.input_nets(port)))
            for port in self.netlist.inputs
        }

    def _compare_slowly(self, groups: Planes, running: Planes, expected: Planes) -> Mismatch | None:
        wrong, first = 0, (0, 0)
        for group, held in enumerate(groups.tolist()):
            own = expected if expected.ndim == 2 else expected[group]
            differs = np.bitwise_or.reduce(self.evaluate(held, running) ^ own, axis=0)
            if differs.any():
                first = first if wrong else (group, int(np.flatnonzero(differs)[0]) // VECTOR * CASES)
                wrong += int(np.bitwise_count(differs).sum())
        return Mismatch(wrong, *first) if wrong else None

    def _source(self) -> str:
        netlist = self.netlist
        before = ["const uint64_t n0 = 0, n1 = ~n0;"]
        before += [f"const uint64_t n{net} = -(held >> {place} & 1);" for place, net in enumerate(self.held)]
        inside = [f"const V n{net} = running[{place} * vectors + v];" for place, net in enumerate(self.running)]
        for net, gate in enumerate(netlist.gates, netlist.first_gate):
            moving = net in self._moving
            expression = apply(gate.kind, [_C(f"n{pin}") for pin in gate.pins])
            (inside if moving else before).append(f"const {'V' if moving else 'uint64_t'} n{net} = {expression};")
        compares = [f"differs |= n{net} ^ expected[{i} * vectors + v];" for i, net in enumerate(netlist.driven)]
        chunks = [self._border[start : start + 64] for start in range(0, len(self._border), 64)]
        sums = (" | ".join(f"n{net} & 1ull << {bit}" for bit, net in enumerate(chunk)) for chunk in chunks)
        border = [f"bits[{word}] = {total};" for word, total in enumerate(sums)]
        parts = {"before": before, "inside": inside, "compares": compares, "border": border}
        texts = {name: "\n".join(lines) for name, lines in parts.items()}
        return _SOURCE.format(bytes=8 * VECTOR, words=VECTOR, border_words=len(chunks), **texts)


def _pointer(array: Planes) -> ctypes.c_void_p:
    if array.dtype != np.uint64 or not array.flags.c_contiguous:
        raise TypeError(f"Groups and planes must be contiguous uint64 arrays, not {array.dtype}")
    return ctypes.c_void_p(array.ctypes.data)


def to_planes(values: NDArray[Any], width: int) -> Planes:
    """Bit planes of unsigned integers along the last axis, shape (..., width, words).

    The length of the last axis must be a multiple of :data:`CASES`.
    """
    shape, count = values.shape[:-1], values.shape[-1]
    if count % CASES:
        raise ValueError(f"The number of cases must be a multiple of {CASES}, not {count}")
    planes = np.empty((*shape, width, count // 64), np.uint64)
    for place in np.ndindex(shape):  # row by row, so that the data stays in the cache
        planes[place] = _row_to_planes(values[place], width)
    return planes


def _row_to_planes(values: NDArray[Any], width: int) -> Planes:
    # fast path: adjacent inputs often have the same code, except for the first, an exact power of two or zero
    if (values[1:] == values[1]).all():
        first, others = (int(value) >> np.arange(width) & 1 for value in (values[0], values[1]))
        levels = others.astype(np.uint64)[:, np.newaxis] * np.uint64(0xFFFFFFFFFFFFFFFF)
        planes = np.repeat(levels, values.size // 64, axis=1)
        planes[:, 0] ^= (first ^ others).astype(np.uint64)
        return planes
    size = -(-width // 8)
    word = next(count for count in (1, 2, 4, 8) if count >= size)
    octets = np.ascontiguousarray(values).astype(f"<u{word}", copy=False).view(np.uint8)
    # eight bytes of the same weight, from eight cases, in one word; then transpose its 8 by 8 bits
    columns = octets.reshape(-1, 8, octets.size // values.size)[..., :size].swapaxes(-1, -2)
    eights = np.ascontiguousarray(columns).view("<u8")[..., 0]
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
        swap = (eights ^ (eights >> np.uint64(shift))) & np.uint64(mask)
        eights = eights ^ swap ^ (swap << np.uint64(shift))
    bits = eights[..., np.newaxis].view(np.uint8).reshape(-1, 8 * size)  # shape (cases / 8, bits of a value)
    return np.ascontiguousarray(bits[:, :width].T).view("<u8")


def from_planes(planes: Planes) -> NDArray[Any]:
    """The values of all cases; Python integers if there are more than 64 planes."""
    bits = np.unpackbits(planes.astype("<u8", copy=False).view(np.uint8), axis=-1, bitorder="little")
    if len(planes) > 64:
        return np.array([int("".join(map(str, column[::-1])), 2) for column in bits.T.tolist()], object)
    values = np.zeros(bits.shape[-1], np.uint64)
    for place, row in enumerate(bits):
        values |= row.astype(np.uint64) << np.uint64(place)
    return values


def all_words(width: int) -> Planes:
    """Bit planes of all words in their order, repeated if there are fewer than a vector has cases."""
    return to_planes(np.tile(np.arange(1 << width, dtype=np.uint64), -(-CASES >> width)), width)


def words_of(planes: Planes) -> list[NDArray[Any]]:
    """The values of all cases in words of 64 bits."""
    return [from_planes(np.ascontiguousarray(planes[first : first + 64])) for first in range(0, len(planes), 64)]


def evaluated(netlist: Netlist, nets: Sequence[int], known: Mapping[int, Planes | np.uint64], words: int) -> Planes:
    """Bit planes of nets that depend on ``known`` nets alone."""
    values: dict[int, Any] = {0: np.uint64(0), 1: ~np.uint64(0), **known}
    for net in netlist.cone(nets, known):
        gate = netlist.gates[net - netlist.first_gate]
        values[net] = apply(gate.kind, [values[pin] for pin in gate.pins])
    return np.array([np.broadcast_to(values[net], words) for net in nets], np.uint64).reshape(len(nets), words)
