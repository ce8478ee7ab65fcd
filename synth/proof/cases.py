"""All inputs of a block with the outputs of the reference model, in groups for :mod:`synth.proof.bitslice`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.encode import by_upper_half
from hwgen.blocks.block import Design
from hwgen.blocks.dot import Dot
from hwgen.blocks.encoder import Encoder
from hwgen.blocks.mac import Mac
from hwgen.blocks.pe import Pe
from hwgen.datapath.random import Random
from hwgen.reference import reference
from synth.proof.bitslice import CASES, Batch, Planes, all_words, to_planes

RUNNING_BITS = 16
"""Largest number of running bits, which are the lowest bits of one port."""

MAX_BITS = 24
"""Largest number of input bits of a block whose inputs are enumerated."""

MAX_CLASSED_BITS = 40
"""The same if the reference model is evaluated once for many groups."""


class Sweep:
    """Every input of a block, in chunks.

    The port with the running bits is the widest one by default. With ``keys``, which have one entry for each group, the
    reference model is evaluated once per class of groups with equal keys, whose outputs are equal.
    """

    BATCH = 64
    """Groups that the reference model evaluates at a time; chunks of classes."""

    def __init__(self, design: Design, running_port: str | None = None, keys: Sequence[NDArray[Any]] = ()):
        self.model = reference(design)
        self.inputs, self.outputs = self.model.arguments, self.model.results
        self.running_port = running_port or max(self.inputs, key=self.inputs.__getitem__)
        self.running_bits = min(self.inputs[self.running_port], RUNNING_BITS)
        self.cases = 1 << sum(self.inputs.values())
        count, self._has_classes = self.cases >> self.running_bits, bool(keys)
        if keys:
            order = np.lexsort(keys)
            changes = np.logical_or.reduce([np.diff(key[order]) != 0 for key in keys])
            self._groups, starts = order.astype(np.uint64), [0, *(np.flatnonzero(changes) + 1).tolist(), count]
            self.chunks = min(self.BATCH, len(starts) - 1)
        else:
            self._groups, starts = np.arange(count, dtype=np.uint64), [*range(0, count, self.BATCH), count]
            self.chunks = max(1, count // (4 * self.BATCH))
        self._starts = starts

    @property
    def running(self) -> Planes:
        return all_words(self.running_bits)

    def _parts(self, chunk: int) -> list[NDArray[np.uint64]]:
        """The classes, or batches, of a chunk."""
        first, last = ((len(self._starts) - 1) * place // self.chunks for place in (chunk, chunk + 1))
        return [self._groups[start:stop] for start, stop in pairwise(self._starts[first : last + 1])]

    def groups(self, chunk: int) -> NDArray[np.uint64]:
        """Held bits of all groups in a chunk."""
        return np.concatenate(self._parts(chunk))

    def batches(self, chunk: int) -> Iterator[Batch]:
        """The groups of a chunk with their expected outputs."""
        for held in self._parts(chunk):
            yield Batch(held, self.answers(held[:1])[0] if self._has_classes else self.answers(held))

    def answers(self, held: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Planes of the expected outputs, shape (groups, bits, words)."""
        inputs, first = {}, 0
        running = np.resize(np.arange(1 << self.running_bits, dtype=np.uint64), max(CASES, 1 << self.running_bits))
        for name, width in self.inputs.items():
            own = width - (self.running_bits if name == self.running_port else 0)
            column = held[:, np.newaxis] >> np.uint64(first) & np.uint64((1 << own) - 1)
            first += own
            if name == self.running_port:
                column = column << np.uint64(self.running_bits) | running
            inputs[name] = column.astype(np.min_scalar_type((1 << width) - 1))
        columns = self.model.columns(inputs)
        return np.concatenate([to_planes(columns[name], width) for name, width in self.outputs.items()], axis=-2)


@dataclass(frozen=True)
class Products:
    """The reference model's products of all pairs of codes, or of some, and all scales.

    The place of a counts the fastest in the index of a product, then that of b, then the scale.
    """

    a: NDArray[np.uint16]
    b: NDArray[np.uint16]
    scale: NDArray[np.int16]  # exponents of two
    values: NDArray[np.float64]  # all NaNs have the same bits
    signs: NDArray[np.bool_]  # the exclusive or of the codes' sign bits
    undefined: NDArray[np.bool_]  # which products are 0 * infinity
    scale_bits: int

    @classmethod
    def of(cls, design: Design, scaled: bool = True, codes: Sequence[NDArray[np.int64]] | None = None) -> "Products":
        """The products of a MAC, of all ``codes`` of both operands; without the scale if ``scaled`` is false."""
        fa, fb = design.codes.values()
        first, second = codes or [np.arange(1 << fmt.width) for fmt in (fa, fb)]
        scale_bits = design.scale_bits if scaled else 0
        held = np.arange((len(first) * len(second)) << scale_bits, dtype=np.uint32)
        a = first[held % len(first)].astype(np.uint16)
        b = second[held // len(first) % len(second)].astype(np.uint16)
        word, half = (held // (len(first) * len(second))).astype(np.int16), 1 << scale_bits >> 1
        scale = np.where(word >= half, word - 2 * half, word).astype(np.int16)
        left, right = design.core.sums.flushed(a, b)
        with np.errstate(invalid="ignore"):
            values = np.ldexp(fa.values[left] * fb.values[right], scale)
        values[np.isnan(values)] = np.nan
        undefined = np.isnan(values) & ~np.isnan(fa.values[a]) & ~np.isnan(fb.values[b])
        signs = ((a & fa.sign_bit) != 0) ^ ((b & fb.sign_bit) != 0)
        return cls(a, b, scale, values, signs, undefined, scale_bits)

    def pins(self, place: int) -> dict[str, int]:
        """The codes of a product, and its scale if there is one."""
        pins = {"a": int(self.a[place]), "b": int(self.b[place])}
        return pins | ({"scale": int(self.scale[place]) & (1 << self.scale_bits) - 1} if self.scale_bits else {})


def is_enumerated(design: Design) -> bool:
    """Whether a block has few enough inputs to evaluate all of them."""
    if isinstance(design.core, Pe) and design.core.carry_save:
        return False  # its state has more bits than the accumulator of the reference model
    if isinstance(design.core, Random):
        return False  # its proof takes no time
    bits = sum(reference(design).arguments.values())
    return bits <= (MAX_CLASSED_BITS if _is_classed(design) else MAX_BITS)


def _is_classed(design: Design) -> bool:
    match design.core:
        case Encoder(random_bits=None, scale_bits=0):  # the reference model has tables of steps
            return True
        case Mac() | Dot(lanes=1) | Pe(lanes=1) as core:  # there are fewer products than pairs of codes
            is_plain = core.block_scale is None and core.random_bits is None and "acc_in" in reference(design).arguments
            return is_plain and core.accumulator_width <= RUNNING_BITS
        case _:
            return False


def input_sweep(design: Design) -> Sweep | None:
    """The sweep over all inputs of a block; None if there are too many."""
    if not is_enumerated(design):
        return None
    match design.core:
        case Encoder(random_bits=None, rounding_pin=False, scale_bits=0) as core if core.source.name == "binary32":
            # upper halves of the input with the same steps in the reference model's table form a class
            rows = by_upper_half(core.fmt, core.rounding, core.overflow, core.nan_to_zero, core.has_flags)
            return Sweep(design) if rows is None else Sweep(design, "bits", [*rows.T])
        case Mac() | Dot(lanes=1) | Pe(lanes=1) if _is_classed(design):
            return Sweep(design, "acc_in", _products(design))
        case _:
            return Sweep(design)


def _products(design: Design) -> list[NDArray[Any]]:
    """The keys of a class of codes and scales: its product."""
    products = Products.of(design)
    # flags distinguish NaN inputs from invalid operations; some accumulators keep the sign of special products
    undefined = [products.undefined] if design.has_flags else []
    return [products.signs, *undefined, products.values.view(np.uint64)]
