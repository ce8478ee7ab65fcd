"""All inputs of a block, in groups of which some bits are held while the others run, with golden's answers: what a sweep goes through."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.encode import by_upper_half
from hwgen.blocks.block import Design
from hwgen.blocks.decoder import Decoder
from hwgen.blocks.encoder import Encoder
from hwgen.blocks.mac import Mac
from hwgen.reference import reference
from synth.proof.bitslice import CASES, Batch, to_planes


class Sweep(ABC):
    """Every input of a block, in chunks.

    Attributes
    ----------
    inputs, outputs : dict of port name to width
    running_bits : int
        Bits that run, the first ones of ``running_port``.
    chunks : int
    """

    chunks: int

    def __init__(self, design: Design, running_port: str, running_bits: int):
        self.model = reference(design)
        self.inputs, self.outputs = self.model.inputs, self.model.outputs
        self.running_port, self.running_bits = running_port, running_bits

    @property
    def cases(self) -> int:
        """Number of all inputs."""
        return 1 << sum(self.inputs.values())

    @property
    def running(self) -> NDArray[np.uint64]:
        """Planes of the bits that run; where there are fewer cases than a vector holds, they come more than once."""
        return to_planes(self._tiled(np.arange(1 << self.running_bits)), self.running_bits)

    def answers(self, **inputs: NDArray[Any]) -> NDArray[np.uint64]:
        """Planes of golden's outputs."""
        columns = self.model.columns(inputs)
        return np.concatenate([to_planes(columns[name], width) for name, width in self.outputs.items()], axis=-2)

    def _tiled(self, cases: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.tile(cases, -(-CASES // cases.size))

    @abstractmethod
    def groups(self, chunk: int) -> NDArray[np.uint64]:
        """Held bits of all groups of a chunk."""

    @abstractmethod
    def batches(self, chunk: int) -> Iterator[Batch]:
        """The same groups with golden's answers."""


class DecoderSweep(Sweep):
    """All codes of a decoder."""

    chunks = 1

    def __init__(self, design: Design):
        super().__init__(design, "code", design.core.fmt.width)

    def groups(self, _: int) -> NDArray[np.uint64]:
        """One group: nothing is held."""
        return np.zeros(1, np.uint64)

    def batches(self, chunk: int) -> Iterator[Batch]:
        """All codes."""
        yield Batch(self.groups(chunk), self.answers(code=self._tiled(np.arange(1 << self.running_bits))))


class ClassSweep(Sweep):
    """Groups that golden answers alike stand together, so that it is asked once for each class of them."""

    CHUNKS = 64

    def _sort(self, *keys: NDArray[Any]) -> None:
        """Make classes of the groups whose keys are all equal; a key has an entry for each group."""
        self._order = np.lexsort(keys)
        changes = np.logical_or.reduce([np.diff(key[self._order]) != 0 for key in keys])
        self._starts = np.concatenate([[0], np.flatnonzero(changes) + 1, [self._order.size]])
        self.chunks = min(self.CHUNKS, self.classes)

    @property
    def classes(self) -> int:
        """How many times golden is asked."""
        return len(self._starts) - 1

    def _slices(self, chunk: int) -> list[NDArray[np.int64]]:
        first, last = (self.classes * place // self.chunks for place in (chunk, chunk + 1))
        return [self._order[start:stop] for start, stop in zip(self._starts[first:last], self._starts[first + 1 : last + 1], strict=True)]

    def groups(self, chunk: int) -> NDArray[np.uint64]:
        """All groups of the chunk's classes."""
        return np.concatenate(self._slices(chunk)).astype(np.uint64)

    def batches(self, chunk: int) -> Iterator[Batch]:
        """Class by class."""
        for held in self._slices(chunk):
            yield Batch(held.astype(np.uint64), self.answers(**self._inputs(int(held[0]))))

    @abstractmethod
    def _inputs(self, held: int) -> dict[str, NDArray[Any]]:
        """All cases of a group."""


class EncoderSweep(Sweep):
    """All inputs of an encoder: the lower 16 bits of the source run, the others and random words are held."""

    BATCH = 64
    """Groups, of 65,536 cases, that golden is asked about at a time."""

    def __init__(self, design: Design):
        super().__init__(design, "bits", 16)
        self.held_bits = sum(self.inputs.values()) - 16
        self.chunks = max(1, (1 << self.held_bits) // (4 * self.BATCH))

    def groups(self, chunk: int) -> NDArray[np.uint64]:
        """A range of what is held."""
        size = (1 << self.held_bits) // self.chunks
        return np.arange(chunk * size, (chunk + 1) * size, dtype=np.uint64)

    def batches(self, chunk: int) -> Iterator[Batch]:
        """Golden's codes."""
        groups = self.groups(chunk)
        source_bits = self.inputs["bits"] - 16  # 0 or 16
        others = [name for name in self.inputs if name != "bits"]  # random or hybrid, if any
        low = np.arange(1 << 16, dtype=np.uint32)
        for start in range(0, len(groups), self.BATCH):
            part = groups[start : start + self.BATCH]
            high = (part & np.uint64((1 << source_bits) - 1)).astype(np.uint32) << np.uint32(16)
            words = (part >> np.uint64(source_bits))[:, np.newaxis]
            yield Batch(part, self.answers(bits=high[:, np.newaxis] | low, **dict.fromkeys(others, words)))


class EncoderClassSweep(ClassSweep):
    """All binary32 inputs of an encoder: the lower half runs, and upper halves of which golden's tables say the same stand together."""

    def __init__(self, design: Design, rows: NDArray[np.int32]):
        super().__init__(design, "bits", 16)
        self._sort(*rows.T)

    def _inputs(self, held: int) -> dict[str, NDArray[Any]]:
        return {"bits": np.arange(1 << 16, dtype=np.uint32) | np.uint32(held << 16)}


@dataclass(frozen=True)
class Products:
    """Golden's product of every pair of codes with every scale, in the order of the bits: a lowest, then b, then the scale.

    Attributes
    ----------
    a, b, scale : arrays
        Codes, and exponents of powers of two.
    values : float64 array
        NaN in one pattern only.
    undefined : bool array
        Which of them are 0 * infinity.
    """

    a: NDArray[np.uint16]
    b: NDArray[np.uint16]
    scale: NDArray[np.int16]
    values: NDArray[np.float64]
    undefined: NDArray[np.bool_]

    @classmethod
    def of(cls, design: Design) -> "Products":
        """All products of a MAC."""
        fa, fb = design.formats
        bits = fa.width + fb.width
        held = np.arange(1 << (bits + design.scale_bits), dtype=np.uint32)
        a = (held & np.uint32((1 << fa.width) - 1)).astype(np.uint16)
        b = (held >> np.uint32(fa.width) & np.uint32((1 << fb.width) - 1)).astype(np.uint16)
        word, half = (held >> np.uint32(bits)).astype(np.int16), 1 << design.scale_bits >> 1
        scale = np.where(word >= half, word - 2 * half, word).astype(np.int16)
        with np.errstate(invalid="ignore"):
            values = np.ldexp(fa.values[a] * fb.values[b], scale)
        values[np.isnan(values)] = np.nan
        return cls(a, b, scale, values, np.isnan(values) & ~np.isnan(fa.values[a]) & ~np.isnan(fb.values[b]))


class MacSweep(ClassSweep):
    """All inputs of a MAC with a 16-bit accumulator: the accumulator runs, codes and scale are held.

    Codes and scales with the same product, as golden's decoded values say, stand together.
    """

    def __init__(self, design: Design):
        super().__init__(design, "acc_in", 16)
        self._all = Products.of(design)
        fa, fb = design.formats
        pattern = self._all.values.view(np.uint64)
        # the sign of special products, which some accumulators keep
        sign = (self._all.a >> np.uint16(fa.width - 1)) ^ (self._all.b >> np.uint16(fb.width - 1))
        # which NaN is an invalid operation, where there are flags
        self._sort(*((sign, self._all.undefined, pattern) if design.has_flags else (sign, pattern)))

    def _inputs(self, held: int) -> dict[str, NDArray[Any]]:
        inputs, first = {"acc_in": np.arange(1 << 16, dtype=np.uint16)}, 0
        for name, width in self.inputs.items():
            if name not in inputs:
                inputs[name] = np.array(held >> first & (1 << width) - 1)
                first += width
        return inputs


MAX_SWEPT_BITS = 40
"""Bits of all inputs up to which a block is enumerated."""

MAX_STOCHASTIC_BITS = 24
"""The same with stochastic rounding, where golden has no table to go by."""


def is_enumerated(design: Design) -> bool:
    """Whether the inputs of a block are few enough to be gone through, every one."""
    inputs = reference(design).inputs
    bits = sum(inputs.values())
    match design.core:
        case Decoder():
            return True
        case Encoder():
            return bits <= (MAX_STOCHASTIC_BITS if "random" in inputs else MAX_SWEPT_BITS)
        case Mac():
            return inputs["acc_in"] == 16 and bits <= MAX_SWEPT_BITS
        case _:
            return False


def sweep(design: Design) -> Sweep | None:
    """The sweep over all inputs of a block; None where there are too many."""
    if not is_enumerated(design):
        return None
    match design.core:
        case Decoder():
            return DecoderSweep(design)
        case Encoder() as core:
            rows = None  # what distinguishes the upper halves of the inputs, where a table of golden's says it
            if core.source.name == "binary32" and not core.rounding_pin:
                rows = by_upper_half(core.fmt, core.rounding, core.overflow, core.nan_to_zero, core.has_flags)
            return EncoderSweep(design) if rows is None else EncoderClassSweep(design, rows)
        case _:
            return MacSweep(design)
