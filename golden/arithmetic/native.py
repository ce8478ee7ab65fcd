"""Chains of sums in compiled C++: the arguments of ``chain.cpp``, and which of its roundings are exact enough."""

from __future__ import annotations

import ctypes
import subprocess
import warnings
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.arithmetic.aligned import row_exponents
from golden.arithmetic.sums import product_cuts
from golden.compiler import compiler, kept_library
from golden.wide import POSITIVE, WideFormat, aligned_bits, state_format

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from golden.arithmetic.chain import Chains
    from golden.formats import Format

OPTIONS = ("-O3", "-std=c++17", "-ffp-contract=off", "-pthread")
FOLDER = Path(__file__).parent / "cpp"
FILES = tuple(FOLDER / name for name in ("vectors.h", "job.h", "formats.h", "fixed.h", "chain.cpp"))
"""The source, in the order in which the files include each other."""

_OF_IEEE, _DLFLOAT16, _EXACT, _ALIGNED = range(4)  # kinds of a Job
_EXACT_GROUP = 256
"""Products that are added in binary64 before they are added to an ``exact`` accumulator."""
LONGEST_ALIGNED = 128
"""Most products of an aligned sum, which are decoded together (``DEPTH`` of ``chain.cpp``)."""

_KNOWN = {"a_format", "b_format", "accumulator", "terms", "scale_bits", "zero", "block_scale"}
"""Options of sums that compiled code supports; the others must have their defaults, such as flags."""

_Integer = ctypes.c_int64


class _Operand(ctypes.Structure):
    _fields_ = (
        ("codes", ctypes.c_void_p),
        *((name, _Integer) for name in ("bytes", "row", "column", "k")),
        ("values", ctypes.c_void_p),
        ("exponents", ctypes.c_void_p),
    )


class _Factor(ctypes.Structure):
    _fields_ = (("array", ctypes.c_void_p), *((name, _Integer) for name in ("row", "block", "column")))


class _Job(ctypes.Structure):
    """``Job`` of ``chain.cpp``."""

    _fields_ = (
        *((n, _Integer) for n in ("kind", "rows", "columns", "depth", "lanes", "block", "threads", "scaled")),
        ("a", _Operand),
        ("b", _Operand),
        ("factors", _Factor * 2),
        ("sums", ctypes.c_void_p),
        *((n, _Integer) for n in ("fraction_bits", "bias", "has_subnormals", "kept_bits", "canonical_nan", "bits")),
        ("zero", ctypes.c_double),
        *((n, _Integer) for n in ("odd", "cuts")),
        ("middles", ctypes.c_void_p),
        *((n, _Integer) for n in ("lsb_exponent", "limbs", "value_bits")),
    )


def source() -> str:
    """The files as one text, without the lines by which they include each other."""
    lines = (line for file in FILES for line in file.read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if not line.startswith(('#include "', "#pragma once")))


@cache
def library() -> ctypes.CDLL | None:
    """The compiled code; None without a working compiler, which is said once."""
    path, problem = compiler(), "there is no C++ compiler (g++, clang++, or $CXX)"
    if path is not None:
        try:
            code = kept_library(path, source(), OPTIONS, "chain")
        except (OSError, subprocess.CalledProcessError) as error:
            text = getattr(error, "stderr", b"").decode(errors="replace").strip()
            problem = f"{path} cannot compile it: {text.splitlines()[0] if text else error}"
        else:
            assert code.job_bytes() == ctypes.sizeof(_Job), "Job is written differently here and in job.h"
            return code
    warnings.warn(f"golden.matmul runs in NumPy, which is slower: {problem}", RuntimeWarning, stacklevel=2)
    return None


def supports(chains: Chains) -> bool:
    """Whether compiled code adds these products: options that it knows; it does not cut the groups of aligned sums."""
    options = chains.options
    if any(getattr(options, field.name) != field.default for field in fields(options) if field.name not in _KNOWN):
        return False
    return aligned_bits(options.accumulator) is None or min(chains.lanes, chains.shape[2]) <= LONGEST_ALIGNED


def run(chains: Chains, acc: NDArray[Any], threads: int) -> NDArray[Any]:
    """The accumulators after all products; see :func:`golden.arithmetic.chain.run`."""
    code = library()
    assert code is not None
    rows, columns, depth = chains.shape
    upright = columns >= rows  # vectors run along the longer axis
    options = chains.options
    kind = _kind(options.accumulator)
    sums = np.array(acc if upright else acc.swapaxes(0, 1), order="C")
    keep: list[Any] = [sums]  # alive while the code runs
    operands = []
    for fmt, codes in ((options.a_format, chains.left), (options.b_format, chains.right)):
        operands.append(_operand(fmt, codes if upright else codes.swapaxes(0, 1), kind, keep))
    if operands[1].column == 0:
        operands.reverse()  # products commute
    job = _Job(
        kind=kind,
        rows=rows if upright else columns,
        columns=columns if upright else rows,
        depth=depth,
        lanes=max(min(chains.lanes, depth), 1),
        block=chains.block or max(depth, 1),
        threads=threads,
        a=operands[0],
        b=operands[1],
        sums=sums.ctypes.data,
        zero=0.0 if options.zero == POSITIVE else -0.0,
    )
    _add_factors(job, chains, upright, keep)
    _add_arithmetic(job, chains, keep)
    if code.run(ctypes.byref(job)):
        raise MemoryError("golden.matmul has too little memory for its threads")
    return sums if upright else np.ascontiguousarray(sums.swapaxes(0, 1))


def _kind(accumulator: str) -> int:
    if accumulator == "exact":
        return _EXACT
    if aligned_bits(accumulator) is not None:
        return _ALIGNED
    return _DLFLOAT16 if state_format(accumulator).nan_keeps_sign else _OF_IEEE


def _operand(fmt: Format, codes: NDArray[Any], kind: int, keep: list[Any]) -> _Operand:
    assert codes.dtype == fmt.code_dtype
    assert codes.flags.aligned
    values = fmt.values
    if kind == _DLFLOAT16:  # specials have the sign of their codes
        signs = np.where(np.arange(values.size) & fmt.sign_bit, -np.inf, np.inf)
        values = np.where(np.isfinite(values), values, signs)
    exponents = row_exponents(fmt).astype(np.float64) if kind == _ALIGNED else None
    keep += [codes, values, exponents]
    # the stride of an axis of one element may be anything
    steps = [
        stride // codes.itemsize if size > 1 else 0 for stride, size in zip(codes.strides, codes.shape, strict=True)
    ]
    addresses = [None if array is None else array.ctypes.data for array in (codes, values, exponents)]
    return _Operand(addresses[0], codes.itemsize, *steps, *addresses[1:])


def _add_factors(job: _Job, chains: Chains, upright: bool, keep: list[Any]) -> None:
    """What products are multiplied by: per sum, or per block of products in rows and columns."""
    arrays = [np.ones(()), np.ones(())]
    axes: list[tuple[int, ...]] = [(), ()]  # 0 for rows, 1 for blocks, 2 for columns
    fmt, scales = chains.options.block_scale, chains.block_scales
    if fmt is not None and scales is not None:
        axes = [(0, 1), (1, 2)]
        arrays = [fmt.values.take(codes) for codes in scales]
    elif chains.scale is not None:
        different = tuple(slice(None) if stride else slice(1) for stride in chains.scale.strides)
        powers = np.ldexp(1.0, chains.scale[different])
        arrays[0], axes[0] = np.broadcast_to(powers, chains.scale.shape), (0, 2)
    job.scaled = scales is not None or chains.scale is not None
    for number, (array, names) in enumerate(zip(arrays, axes, strict=True)):
        strides = dict(zip(names, (stride // array.itemsize for stride in array.strides), strict=True))
        row, block, column = (strides.get(axis, 0) for axis in range(3))
        job.factors[number] = _Factor(array.ctypes.data, *((row, block, column) if upright else (column, block, row)))
        keep.append(array)


def _add_arithmetic(job: _Job, chains: Chains, keep: list[Any]) -> None:
    """Formats and ranges: constants of the accumulator, how sums are cut, and whether they are rounded to odd."""
    options = chains.options
    fa, fb, unit = options.a_format, options.b_format, options.exact
    least = options.lsb_exponent
    most = fa.exponent_range[1] + fb.exponent_range[1] + 2 + options.factor_exponents[1] + (job.lanes - 1).bit_length()
    if unit is not None:
        job.lanes = min(_EXACT_GROUP, max(job.depth, 1))
        job.lsb_exponent, job.limbs, job.value_bits = unit.lsb_exponent, unit.limbs, unit.value_width
    else:
        target = options.state
        assert target.canonical_nan is not None
        job.fraction_bits, job.bias, job.bits = target.fraction_bits, target.bias, target.width
        job.has_subnormals, job.canonical_nan = target.has_subnormals, target.canonical_nan
        job.kept_bits = aligned_bits(options.accumulator) or 0
        most = max(most, target.exponent_range[1] + 1) + 1
        precision = fa.precision + fb.precision + options.spare_bits
        job.odd = not (most - least <= 53 or _is_harmless(precision, target))
        job.lsb_exponent, job.limbs = least, (most - least + 2) // 64 + 1
    exponents = () if job.kind == _ALIGNED else product_cuts(fa, fb, job.lanes, options.spare_bits)
    middles = np.array([1.5 * 2.0 ** (exponent + 52) for exponent in exponents])
    job.cuts, job.middles = len(exponents), middles.ctypes.data
    keep.append(middles)


def _is_harmless(product_precision: int, target: WideFormat) -> bool:
    """Whether acc + product may be rounded to nearest in binary64 before it is rounded to the format.

    It may be unless the first rounding ends on a middle m between two neighbours of the format, and the sum is not m.
    Let p be the format's precision, and no more than p bits be significant in the product, so that neither addend is
    a middle: a middle of normal numbers has p + 1 significant bits, and the accumulator is a multiple of the smallest
    number.

    Let the sum be inexact and lie in [2**E, 2**(E + 1)). The smaller addend has a bit below 2**(E - 52) and at most p
    bits, so it is below 2**(E - 53 + p), and the larger addend is less than 2**(E - 53) + 2**(E - 53 + p) away from m.
    Both are multiples of 2**(E - p). So they are equal if 2 * p <= 52, and no addend is a middle. If the product is
    the larger addend, it is above 2**52 times the smallest number, where numbers are normal.
    """
    return product_precision <= target.precision and 2 * target.precision <= 52
