"""All inputs of a block with the outputs of the reference model, in groups for :mod:`synth.proof.bitslice`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.encode import by_upper_half
from hwgen.blocks.block import Design
from hwgen.blocks.dot import Dot
from hwgen.blocks.encoder import Encoder
from hwgen.blocks.mac import Mac
from hwgen.blocks.pe import Pe
from hwgen.reference import reference
from synth.proof.bitslice import CASES, Batch, to_planes

RUNNING_BITS = 16
"""Largest number of running bits, which are the lowest bits of one port."""

MAX_BITS = 24
"""Largest number of input bits of a block whose inputs are enumerated."""

MAX_CLASSED_BITS = 40
"""The same if the reference model is evaluated once for many groups."""


class Sweep:
    """Every input of a block, in chunks.

    Parameters
    ----------
    design : Design
    running_port : str, optional
        The port with the running bits; default: the widest one.

    Attributes
    ----------
    inputs, outputs : dict of port name to width
    running_port : str
    running_bits : int
    chunks : int
    """

    BATCH = 64
    """Groups that the reference model evaluates at a time."""

    def __init__(self, design: Design, running_port: str | None = None):
        self.model = reference(design)
        self.inputs, self.outputs = self.model.arguments, self.model.results
        self.running_port = running_port or max(self.inputs, key=self.inputs.__getitem__)
        self.running_bits = min(self.inputs[self.running_port], RUNNING_BITS)
        self.chunks = max(1, (self.cases >> self.running_bits) // (4 * self.BATCH))

    @property
    def cases(self) -> int:
        """Number of all inputs."""
        return 1 << sum(self.inputs.values())

    @property
    def running(self) -> NDArray[np.uint64]:
        """Planes of the running bits."""
        return to_planes(self._values(), self.running_bits)

    def groups(self, chunk: int) -> NDArray[np.uint64]:
        """Held bits of all groups in a chunk."""
        size = (self.cases >> self.running_bits) // self.chunks
        return np.arange(chunk * size, (chunk + 1) * size, dtype=np.uint64)

    def batches(self, chunk: int) -> Iterator[Batch]:
        """The groups of a chunk with their expected outputs."""
        groups = self.groups(chunk)
        for start in range(0, len(groups), self.BATCH):
            part = groups[start : start + self.BATCH]
            yield Batch(part, self.answers(part))

    def answers(self, held: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Planes of the expected outputs, shape (groups, bits, words)."""
        inputs, first = {}, 0
        for name, width in self.inputs.items():
            own = width - (self.running_bits if name == self.running_port else 0)
            column = held[:, np.newaxis] >> np.uint64(first) & np.uint64((1 << own) - 1)
            first += own
            if name == self.running_port:
                column = column << np.uint64(self.running_bits) | self._values()
            inputs[name] = column.astype(np.min_scalar_type((1 << width) - 1))
        columns = self.model.columns(inputs)
        return np.concatenate([to_planes(columns[name], width) for name, width in self.outputs.items()], axis=-2)

    def _values(self) -> NDArray[np.uint64]:
        """The running bits of all cases, repeated if there are fewer cases than a vector has."""
        values = np.arange(1 << self.running_bits, dtype=np.uint64)
        return np.tile(values, -(-CASES // values.size))


class ClassSweep(Sweep):
    """A sweep that evaluates the reference model once per class of groups with equal outputs.

    Parameters
    ----------
    design, running_port
        See :class:`Sweep`.
    keys : arrays
        One entry for each group; groups with equal keys form a class.
    """

    CHUNKS = 64

    def __init__(self, design: Design, running_port: str, *keys: NDArray[Any]):
        super().__init__(design, running_port)
        self._order = np.lexsort(keys)
        changes = np.logical_or.reduce([np.diff(key[self._order]) != 0 for key in keys])
        self._starts = np.concatenate([[0], np.flatnonzero(changes) + 1, [self._order.size]])
        self.chunks = min(self.CHUNKS, self.classes)

    @property
    def classes(self) -> int:
        """Number of classes: evaluations of the reference model."""
        return len(self._starts) - 1

    def _slices(self, chunk: int) -> list[NDArray[np.uint64]]:
        first, last = (self.classes * place // self.chunks for place in (chunk, chunk + 1))
        limits = zip(self._starts[first:last], self._starts[first + 1 : last + 1], strict=True)
        return [self._order[start:stop].astype(np.uint64) for start, stop in limits]

    def groups(self, chunk: int) -> NDArray[np.uint64]:
        """Held bits of all groups in the chunk's classes."""
        return np.concatenate(self._slices(chunk))

    def batches(self, chunk: int) -> Iterator[Batch]:
        """A batch for each class in the chunk."""
        for held in self._slices(chunk):
            yield Batch(held, self.answers(held[:1])[0])


@dataclass(frozen=True)
class Products:
    """The reference model's products of all pairs of codes and all scales.

    The index of a product has the bits of a lowest, then those of b, then those of the scale.

    Attributes
    ----------
    a, b, scale : arrays
        Codes, and scales as exponents of two.
    values : float64 array
        Products; all NaNs have the same bits.
    undefined : bool array
        Which products are 0 * infinity.
    scale_bits : int
    """

    a: NDArray[np.uint16]
    b: NDArray[np.uint16]
    scale: NDArray[np.int16]
    values: NDArray[np.float64]
    undefined: NDArray[np.bool_]
    scale_bits: int

    @classmethod
    def of(cls, design: Design, scaled: bool = True) -> "Products":
        """All products of a MAC; without the scale if ``scaled`` is false."""
        fa, fb = design.codes.values()
        bits, scale_bits = fa.width + fb.width, design.scale_bits if scaled else 0
        held = np.arange(1 << (bits + scale_bits), dtype=np.uint32)
        a = (held & np.uint32((1 << fa.width) - 1)).astype(np.uint16)
        b = (held >> np.uint32(fa.width) & np.uint32((1 << fb.width) - 1)).astype(np.uint16)
        word, half = (held >> np.uint32(bits)).astype(np.int16), 1 << scale_bits >> 1
        scale = np.where(word >= half, word - 2 * half, word).astype(np.int16)
        with np.errstate(invalid="ignore"):
            values = np.ldexp(fa.values[a] * fb.values[b], scale)
        values[np.isnan(values)] = np.nan
        undefined = np.isnan(values) & ~np.isnan(fa.values[a]) & ~np.isnan(fb.values[b])
        return cls(a, b, scale, values, undefined, scale_bits)

    def pins(self, place: int) -> dict[str, int]:
        """The codes of a product, and its scale if there is one."""
        pins = {"a": int(self.a[place]), "b": int(self.b[place])}
        return pins | ({"scale": int(self.scale[place]) & (1 << self.scale_bits) - 1} if self.scale_bits else {})


def is_enumerated(design: Design) -> bool:
    """Whether a block has few enough inputs to evaluate all of them."""
    if isinstance(design.core, Pe) and design.core.carry_save:
        return False  # its state has more bits than the accumulator of the reference model
    bits = sum(reference(design).arguments.values())
    return bits <= (MAX_CLASSED_BITS if _is_classed(design) else MAX_BITS)


def _is_classed(design: Design) -> bool:
    match design.core:
        case Encoder(random_bits=None):  # the reference model has tables of steps
            return True
        case Mac() | Dot(lanes=1) | Pe(lanes=1) as core:  # there are fewer products than pairs of codes
            return core.block_scale is None and core.accumulator_width <= RUNNING_BITS
        case _:
            return False


def input_sweep(design: Design) -> Sweep | None:
    """The sweep over all inputs of a block; None if there are too many."""
    if not is_enumerated(design):
        return None
    match design.core:
        case Encoder(random_bits=None, rounding_pin=False) as core if core.source.name == "binary32":
            # upper halves of the input with the same steps in the reference model's table form a class
            rows = by_upper_half(core.fmt, core.rounding, core.overflow, core.nan_to_zero, core.has_flags)
            return Sweep(design) if rows is None else ClassSweep(design, "bits", *rows.T)
        case Mac() | Dot(lanes=1) | Pe(lanes=1) if _is_classed(design):
            return ClassSweep(design, "acc_in", *_products(design))
        case _:
            return Sweep(design)


def _products(design: Design) -> list[NDArray[Any]]:
    """The keys of a class of codes and scales: its product."""
    products = Products.of(design)
    fa, fb = design.codes.values()
    # some accumulators keep the sign of special products
    sign = ((products.a & fa.sign_bit) != 0) ^ ((products.b & fb.sign_bit) != 0)
    # flags distinguish NaN inputs from invalid operations
    undefined = [products.undefined] if design.has_flags else []
    return [sign, *undefined, products.values.view(np.uint64)]
