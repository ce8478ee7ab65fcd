"""Chains of sums in compiled C++: the arguments of ``chain.cpp``, and which of its roundings are exact enough."""

from __future__ import annotations

import ctypes
import re
import subprocess
import warnings
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.aligned import row_exponents
from golden.arithmetic.chain import Chains
from golden.arithmetic.sums import product_cuts
from golden.compiler import compiler, kept_library
from golden.formats import Format
from golden.wide import ACCUMULATORS, POSITIVE, RVBNA, WideFormat, aligned_bits, bulk_bits, state_format

OPTIONS = ("-O3", "-std=c++17", "-ffp-contract=off", "-pthread")
FOLDER = Path(__file__).parent / "cpp"
FILES = tuple(FOLDER / name for name in ("vectors.h", "job.h", "formats.h", "fixed.h", "chain.cpp"))
"""The source, in the order in which the files include each other."""

_OF_IEEE, _DLFLOAT16, _EXACT, _ALIGNED, _BULK = range(5)  # kinds of a Job
_EXACT_GROUP = 256
"""Products that are added in binary64 before they are added to an ``exact`` accumulator."""
LONGEST_ALIGNED = 128
"""Most products of an aligned or bulk-normalized sum, which are decoded together (``DEPTH`` of ``chain.cpp``)."""

_KNOWN = {"a_format", "b_format", "accumulator", "terms", "scale_bits", "zero", "block_scale", "unit_lanes"}
"""Options of sums that compiled code supports; the others must have their defaults, such as flags."""

_NUMBERS = {"int64_t": ctypes.c_int64, "double": ctypes.c_double}


@cache
def _structure(name: str) -> Any:
    """The type of a member of a struct in ``job.h``: a number's, or a struct with the members declared there."""
    if name in _NUMBERS:
        return _NUMBERS[name]
    text = re.sub("//.*", "", (FOLDER / "job.h").read_text(encoding="utf-8"))
    declared = re.search(rf"^struct {name} {{(.*?)^}};", text, re.DOTALL | re.MULTILINE)
    assert declared is not None
    members: list[tuple[str, Any]] = []
    for kind, names in re.findall(r"(?:const )?(\w+) ([^;]+);", declared[1]):
        for pointer, member, length in re.findall(r"(\*?)(\w+)(?:\[(\d+)\])?", names):
            of_one = ctypes.c_void_p if pointer else _structure(kind)
            members.append((member, of_one * int(length) if length else of_one))
    return type(name, (ctypes.Structure,), {"_fields_": members})


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
            assert code.job_bytes() == ctypes.sizeof(_structure("Job")), "Job is laid out differently in C++"
            return code
    warnings.warn(f"golden.matmul runs in NumPy, which is slower: {problem}", RuntimeWarning, stacklevel=2)
    return None


def supports(chains: Chains) -> bool:
    """Whether compiled code adds these products: options that it knows; it does not cut groups that must be aligned."""
    options = chains.options
    if any(getattr(options, field.name) != field.default for field in fields(options) if field.name not in _KNOWN):
        return False
    return options.accumulator in ACCUMULATORS or min(chains.lanes, chains.shape[2]) <= LONGEST_ALIGNED


def run(chains: Chains, acc: NDArray[Any], threads: int) -> NDArray[Any]:
    """The accumulators after all products, as :func:`golden.arithmetic.chain.run_in_numpy` defines them."""
    code = library()
    assert code is not None
    rows, columns, depth = chains.shape
    if columns < rows:  # vectors run along the longer axis
        return np.ascontiguousarray(run(chains.transposed, acc.swapaxes(0, 1), threads).swapaxes(0, 1))
    options, sums = chains.options, np.array(acc, order="C")
    kind, keep = _kind(options.accumulator), [sums]  # arrays that live while the code runs
    operands = [
        _operand(options.a_format, chains.left, kind, keep),
        _operand(options.b_format, chains.right, kind, keep),
    ]
    if operands[1].column == 0:
        operands.reverse()  # products commute
    job = _structure("Job")(
        kind=kind,
        rows=rows,
        columns=columns,
        depth=depth,
        lanes=max(min(chains.lanes, depth), 1),
        block=chains.block or max(depth, 1),
        threads=threads,
        a=operands[0],
        b=operands[1],
        sums=sums.ctypes.data,
        zero=0.0 if options.zero == POSITIVE else -0.0,
    )
    _add_factors(job, chains, keep)
    _add_arithmetic(job, chains, keep)
    if code.run(ctypes.byref(job)):
        raise MemoryError("golden.matmul has too little memory for its threads")
    return sums


def _kind(accumulator: str) -> int:
    if accumulator == "exact":
        return _EXACT
    if accumulator == RVBNA or aligned_bits(accumulator) is not None:
        return _BULK if accumulator == RVBNA else _ALIGNED
    return _DLFLOAT16 if state_format(accumulator).nan_keeps_sign else _OF_IEEE


def _operand(fmt: Format, codes: NDArray[Any], kind: int, keep: list[NDArray[Any]]) -> Any:
    assert codes.dtype == fmt.code_dtype
    assert codes.flags.aligned
    values = fmt.values
    if kind == _DLFLOAT16:  # specials have the sign of their codes
        signs = np.where(np.arange(values.size) & fmt.sign_bit, -np.inf, np.inf)
        values = np.where(np.isfinite(values), values, signs)
    exponents = row_exponents(fmt).astype(np.float64) if kind >= _ALIGNED else np.empty(0)
    keep += [codes, values, exponents]
    # the stride of an axis of one element may be anything
    steps = [
        stride // codes.itemsize if size > 1 else 0 for stride, size in zip(codes.strides, codes.shape, strict=True)
    ]
    tables = values.ctypes.data, exponents.ctypes.data if exponents.size else None
    return _structure("Operand")(codes.ctypes.data, codes.itemsize, *steps, *tables)


def _add_factors(job: Any, chains: Chains, keep: list[NDArray[Any]]) -> None:
    """What products are multiplied by, per sum, or per block of products: two arrays by row, block and column."""
    factors = [np.ones((1, 1, 1)), np.ones((1, 1, 1))]
    fmt, scales = chains.options.block_scale, chains.block_scales
    if fmt is not None and scales is not None:
        of_rows, of_columns = (fmt.values.take(codes) for codes in scales)
        factors = [of_rows[:, :, np.newaxis], of_columns[np.newaxis]]
    elif chains.scale is not None:
        different = tuple(slice(None) if stride else slice(1) for stride in chains.scale.strides)
        factors[0] = np.ldexp(1.0, chains.scale[different])[:, np.newaxis]
    job.scaled = scales is not None or chains.scale is not None
    shape = np.broadcast_shapes((job.rows, 1, job.columns), *(array.shape for array in factors))
    for number, array in enumerate(factors):
        steps = [stride // array.itemsize for stride in np.broadcast_to(array, shape).strides]
        job.factors[number] = _structure("Factor")(array.ctypes.data, *steps)
    keep += factors


def _add_arithmetic(job: Any, chains: Chains, keep: list[NDArray[Any]]) -> None:
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
        job.kept_bits = bulk_bits(chains.lanes) if job.kind == _BULK else aligned_bits(options.accumulator) or 0
        most = max(most, target.exponent_range[1] + 1) + 1
        precision = fa.precision + fb.precision + options.spare_bits
        job.odd = not (most - least <= 53 or _is_harmless(precision, target))
        job.lsb_exponent, job.limbs = least, (most - least + 2) // 64 + 1
    exponents = () if job.kind >= _ALIGNED else product_cuts(fa, fb, job.lanes, options.spare_bits)
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
