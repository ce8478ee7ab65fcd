"""A matrix product with scales: Scale & Cast, MatMul, Restore (HiFloat8 paper, Algorithm 1, lines 8 and 9)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.accuracy import scaled_codes, single_precision
from golden.arithmetic.exact import ExactAccumulator, operand
from golden.arithmetic.matmul import matmul
from golden.bits import as_exponents
from golden.formats import Format
from golden.refusal import BadKind, BadValue
from golden.wide import check_accumulator, state_format

_OPTIONS = "lanes", "terms", "zero", "chunk", "accumulator_rounding", "random", "random_bits", "threads"
"""Options of :func:`golden.matmul` that the product takes as well."""


def scaled_matmul(
    x: ArrayLike,
    w: ArrayLike,
    x_scale: ArrayLike = 0,
    w_scale: ArrayLike = 0,
    x_format: str | Format = "hif8",
    w_format: str | Format | None = None,
    accumulator: str = "binary32",
    overflow: str | None = None,
    **options: Any,
) -> NDArray[np.float64]:
    """Multiply matrices of numbers as hardware with scales does: scale and cast, multiply codes, restore.

    ``x`` is *multiplied* by 2**x_scale and ``w`` by 2**w_scale; both are rounded to codes as their format does by
    default. The sums of :func:`golden.matmul` are multiplied by 2**-(x_scale + w_scale), exactly.

    Parameters
    ----------
    x : (m, k) array
        Converted to float32, as is ``w``.
    w : (k, n) array
    x_scale : integers that broadcast to shape (m, 1)
        Exponents, for example of :func:`golden.scale_for`: one for the tensor, or one for each row.
    w_scale : integers that broadcast to shape (1, n)
        One for the tensor, or one for each channel of the results.
    x_format, w_format : str or Format
        ``x_format`` is that of both by default.
    overflow : str, optional
        As in :meth:`golden.Format.encode`, for both.
    options
        ``accumulator``, and of :func:`golden.matmul` ``lanes``, ``terms``, ``zero``, ``chunk``,
        ``accumulator_rounding``, ``random``, ``random_bits`` and ``threads``.

    Returns
    -------
    float64 array, shape (m, n)
    """
    for argument in options:
        if argument not in _OPTIONS:
            own = ", ".join(_OPTIONS)
            raise BadKind(argument, f"is no argument of scaled_matmul, which takes of those of matmul only {own}")
    left, right = operand("x_format", x_format), operand("w_format", x_format if w_format is None else w_format)
    chosen = check_accumulator(accumulator)
    numbers = [single_precision(name, array) for name, array in (("x", x), ("w", w))]
    shapes = [array.shape for array in numbers]
    if any(len(shape) != 2 for shape in shapes) or shapes[0][1] != shapes[1][0]:
        raise BadValue("x", f"and w must have shapes (m, k) and (k, n), not {shapes[0]} and {shapes[1]}")
    rows = as_exponents("x_scale", x_scale, (shapes[0][0], 1), -1000, 1000)
    columns = as_exponents("w_scale", w_scale, (1, shapes[1][1]), -1000, 1000)
    a, b = (
        scaled_codes(fmt, array, scale, {"overflow": overflow})
        for fmt, array, scale in zip((left, right), numbers, (rows, columns), strict=True)
    )
    sums = matmul(a, b, left, right, chosen, **options)
    terms = options.get("terms") or max(shapes[0][1], 1)
    state = ExactAccumulator(left, right, terms) if chosen == "exact" else state_format(chosen)
    with np.errstate(over="ignore", under="ignore"):
        restored: NDArray[np.float64] = np.ldexp(state.decode(sums), -(rows + columns))
    return restored
