"""Matrix products and dot products of codes: chains of fused multiply-accumulates or of fused dot products."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arithmetic import native
from golden.arithmetic.chain import Chains, run_in_numpy
from golden.arithmetic.exact import MAX_TERMS, as_scale
from golden.arithmetic.mac import added, random_words
from golden.arithmetic.options import SumOptions
from golden.bits import broadcast
from golden.formats import Format
from golden.refusal import BadValue, check_integer
from golden.rows import DEFAULT_RANDOM_BITS
from golden.wide import IEEE, check_bulk_lanes

MAX_THREADS = 256
SMALL = 1 << 17
"""Products up to which NumPy is fast enough, so that nothing needs to be compiled."""
STEP = 1 << 12
"""Products that take NumPy as long as it takes to begin a step."""


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    a_format: str | Format,
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    acc: ArrayLike | None = None,
    *,
    lanes: int = 1,
    terms: int | None = None,
    scale: ArrayLike | None = None,
    scale_bits: int = 0,
    flags: bool = False,
    zero: str = IEEE,
    a_scale: ArrayLike | None = None,
    b_scale: ArrayLike | None = None,
    scale_format: str | Format = "e8m0",
    block: int | None = None,
    chunk: int | None = None,
    accumulator_rounding: str | None = None,
    random: ArrayLike | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    threads: int | None = None,
) -> Any:
    """The matrix product of codes, as hardware with such accumulators computes it, bit for bit.

    Every sum is a chain in the order of its products: of :func:`golden.mac` for one lane, otherwise of
    :func:`golden.fused_dot` over consecutive groups of ``lanes`` products; the last group may have fewer, and with
    ``rvbna`` it has the guard bits of a whole one. ``accumulator``, ``zero``, ``scale_bits``, ``scale_format``,
    ``accumulator_rounding`` and ``random_bits`` are those of these functions.

    With ``chunk``, each chunk of that many products is a chain from +0, and the chunks' results are added to ``acc`` in
    order, each addition rounded once to the state's format (specification, section 10.2).

    It is compiled C++ if there is a compiler (g++, clang++, or that of ``$CXX``), and NumPy otherwise and for flags and
    stochastic accumulators; the bits are the same. It uses little more memory than its operands and its result.

    Parameters
    ----------
    a : unsigned integers, shape (M, K)
        Codes.
    b : unsigned integers, shape (K, N)
        Codes.
    acc : unsigned integers, shape (M, N), optional
        Bits of the accumulators before the first product, +0 by default; for ``exact``, uint64 limbs on an additional
        last axis.
    lanes : int
        Products that are added with one rounding; with ``rvbna`` a power of two.
    terms : int, optional
        Of an ``exact`` accumulator; K by default.
    scale : integers, optional
        Exponents of the powers of two that multiply all products of a sum, in two's complement of ``scale_bits`` bits;
        broadcast to (M, N).
    flags : bool
        Whether to return flags as well.
    a_scale : unsigned integers, shape (M, blocks), optional
        Codes of the scales of the blocks of ``a``; the last of ceil(K / ``block``) blocks may be shorter.
    b_scale : unsigned integers, shape (blocks, N), optional
        Codes of the scales of the blocks of ``b``.
    block : int, optional
        Products that share two scales, a multiple of ``lanes``; required with ``a_scale`` and ``b_scale``.
    chunk : int, optional
        Products of a chunk, a multiple of ``lanes`` and of ``block``; not with ``exact``, which rounds nothing.
    random : unsigned integers, shape (M, N, roundings)
        Random words of a stochastic accumulator, in the order of roundings: ceil(K / ``lanes``), and with ``chunk``
        one more behind those of each chunk, for its addition.
    threads : int, optional
        Threads of compiled code; by default as many as there are processors.

    Returns
    -------
    bits, or (bits, flags)
        Bits of the accumulators, shape (M, N), and limbs for ``exact``. Flags, shape (M, N), are those of all steps of
        a chain: uint8 words of :class:`golden.Flag`, combined by OR.
    """
    options = SumOptions.of(a_format, b_format, accumulator, terms, scale_bits, zero, flags)
    options = options.with_rounding(accumulator_rounding, random_bits).with_scales(a_scale, b_scale, scale_format)
    left, right = _codes(options.a_format, a, "a"), _codes(options.b_format, b, "b")
    for argument, codes, axes in (("a", left, "(M, K)"), ("b", right, "(K, N)")):
        if codes.ndim != 2:
            raise BadValue(argument, f"must have the two axes {axes}, not the shape {codes.shape}")
    if left.shape[1] != right.shape[0]:
        raise BadValue("a", f"and b must have shapes (M, K) and (K, N), not {left.shape} and {right.shape}")
    shape = left.shape[0], right.shape[1], left.shape[1]
    chains = Chains(
        options if terms is not None else options.with_room(shape[2]),
        left=np.broadcast_to(left[:, np.newaxis], shape),
        right=np.broadcast_to(right.T[np.newaxis], shape),
        lanes=check_integer("lanes", lanes, 1, MAX_TERMS),
    )
    check_bulk_lanes("lanes", options.accumulator, chains.lanes)
    chains = replace(chains, options=replace(chains.options, unit_lanes=chains.lanes))
    chains = replace(chains, scale=_scale(chains, scale), **_blocks(chains, a_scale, b_scale, block))
    state, count = _state(chains, acc), _threads(threads)
    products = shape[2] if chunk is None else _chunk(chains, chunk)
    roundings = -(-shape[2] // chains.lanes) + (0 if chunk is None else -(-shape[2] // products))
    words = random_words(options, random, (*shape[:2], roundings))
    chains = replace(chains, random=None if options.random_bits is None else words)
    sums, raised = _run(chains, state, count) if chunk is None else _in_chunks(chains, products, state, count)
    return (sums, raised) if options.has_flags else sums


def dot(
    a: ArrayLike,
    b: ArrayLike,
    a_format: str | Format = "hif8",
    b_format: str | Format | None = None,
    accumulator: str = "binary16",
    terms: int | None = None,
    zero: str = IEEE,
) -> NDArray[Any]:
    """Chain :func:`golden.mac` along the last axis of ``a`` and ``b``, in order, from an accumulator of +0.

    ``terms`` defaults to the length of that axis. The result, bits of the accumulator, does not have that axis. It is
    computed as :func:`golden.matmul` computes it.
    """
    options = SumOptions.of(a_format, b_format, accumulator, terms, zero=zero)
    left, right = broadcast(_codes(options.a_format, a, "a"), _codes(options.b_format, b, "b"))
    if left.ndim == 0:
        raise BadValue("a", "or b must have an axis to accumulate along")
    shape, depth = left.shape[:-1], left.shape[-1]
    options = options if terms is not None else options.with_room(depth)
    order = sorted(range(len(shape)), key=lambda axis: shape[axis])  # the two longest axes become rows and columns
    sorted_shape = tuple(shape[axis] for axis in order)
    matrices = (1,) * max(2 - len(shape), 0) + sorted_shape
    left, right = (np.transpose(codes, (*order, len(shape))).reshape((*matrices, depth)) for codes in (left, right))
    sums = _cleared(options, matrices)
    for place in np.ndindex(matrices[:-2]):
        sums[place], _ = _run(Chains(options, left[place], right[place]), sums[place], _threads(None))
    sums = sums.reshape(sorted_shape + sums.shape[len(matrices) :])
    back = np.argsort(order).tolist()
    return np.array(np.transpose(sums, (*back, *range(len(shape), sums.ndim))), order="C")


def _run(chains: Chains, acc: NDArray[Any], threads: int) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """The accumulators after all products, by compiled code if there is enough to do and a compiler; and flags."""
    work = chains.left.size + STEP * (chains.shape[2] // chains.lanes)
    if work > SMALL and native.supports(chains) and native.library() is not None:
        return native.run(chains, acc, threads), np.empty(0, np.uint8)
    return run_in_numpy(chains, acc)


def _in_chunks(
    chains: Chains, products: int, acc: NDArray[Any], threads: int
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """The accumulators after all chunks of some number of products, and the flags of all roundings, by OR."""
    zeros, flags, steps = np.zeros_like(acc), np.zeros(acc.shape, np.uint8), -(-products // chains.lanes) + 1
    for number, first in enumerate(range(0, chains.shape[2], products)):
        words = None if chains.random is None else chains.random[..., number * steps : (number + 1) * steps]
        sums, raised = _run(chains.chunk(first, products, words), zeros, threads)
        acc, further = added(chains.options, acc, sums, None if words is None else words[..., -1])
        flags = flags | raised | further if chains.options.has_flags else flags
    return acc, flags


def _chunk(chains: Chains, chunk: int) -> int:
    """A checked number of products of a chunk."""
    if chains.options.exact is not None:
        raise BadValue("chunk", "needs an accumulator that rounds, not 'exact'")
    chunk = check_integer("chunk", chunk, 1, MAX_TERMS)
    for unit, name in ((chains.lanes, "lanes"), (chains.block or 1, "products of a block")):
        if chunk % unit:
            raise BadValue("chunk", f"must be a multiple of the {unit} {name}, not {chunk}")
    return chunk


def _codes(fmt: Format, codes: ArrayLike, argument: str) -> NDArray[Any]:
    """Checked codes in the format's own type, aligned: they are not copied after they have been broadcast."""
    return np.require(fmt.as_codes(codes, argument), fmt.code_dtype, "A")


def _scale(chains: Chains, scale: ArrayLike | None) -> NDArray[np.int64] | None:
    options, shape = chains.options, chains.shape[:2]
    if scale is None:
        return None
    if options.block_scale is not None:
        raise BadValue("scale", "must not be given with the scales of blocks")
    powers = as_scale(options.a_format, options.b_format, scale, options.scale_bits)
    try:
        return np.broadcast_to(powers, shape)
    except ValueError:
        raise BadValue("scale", f"must have a shape that broadcasts to {shape}, not {powers.shape}") from None


def _blocks(chains: Chains, a_scale: ArrayLike | None, b_scale: ArrayLike | None, block: int | None) -> dict[str, Any]:
    """Codes of the scales of blocks, and products that share two of them, as keywords of :class:`Chains`."""
    fmt, (rows, columns, depth) = chains.options.block_scale, chains.shape
    if fmt is None or a_scale is None or b_scale is None:
        if block is not None:
            raise BadValue("block", "needs the scales of blocks, a_scale and b_scale")
        return {}
    if block is None:
        raise BadValue("block", "must be given with the scales of blocks, a_scale and b_scale")
    block = check_integer("block", block, 1, MAX_TERMS)
    if block % chains.lanes:
        raise BadValue("block", f"must be a multiple of the {chains.lanes} lanes, not {block}")
    blocks = -(-depth // block)
    a, b = fmt.as_codes(a_scale, "a_scale"), fmt.as_codes(b_scale, "b_scale")
    for argument, codes, expected in (("a_scale", a, (rows, blocks)), ("b_scale", b, (blocks, columns))):
        if codes.shape != expected:
            raise BadValue(argument, f"must have the shape {expected}, not {codes.shape}")
    return {"block_scales": (a, b), "block": block}


def _cleared(options: SumOptions, shape: tuple[int, ...]) -> NDArray[Any]:
    """Accumulators of +0."""
    return np.zeros(shape, options.state.code_dtype) if options.exact is None else options.exact.zeros(shape)


def _state(chains: Chains, acc: ArrayLike | None) -> NDArray[Any]:
    """The accumulators before the first product, checked."""
    zeros = _cleared(chains.options, chains.shape[:2])
    if acc is None:
        return zeros
    if chains.options.exact is not None:
        state: NDArray[Any] = chains.options.exact.checked(acc)
    else:
        state = chains.options.state.as_codes(acc, "acc").astype(zeros.dtype, copy=False)
    if state.shape != zeros.shape:
        raise BadValue("acc", f"must have the shape {zeros.shape}, not {state.shape}")
    return state


def _threads(threads: int | None) -> int:
    if threads is None:
        own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(own, MAX_THREADS)
    return check_integer("threads", threads, 1, MAX_THREADS)
