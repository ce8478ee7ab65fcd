"""Formats on tensors of PyTorch, which is no dependency of this package: ``import golden.torch`` needs it.

Results are bit for bit those of :class:`golden.Format`, on the CPU; tensors of other devices are copied there and back.
Gradients pass straight through: the gradient of a quantized tensor becomes that of the tensor as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from golden.arithmetic.blocks import default_policy, element_options, quantized, scales_named
from golden.arithmetic.exact import operand
from golden.catalog import get
from golden.formats import Format
from golden.refusal import BadKind
from golden.wide import WideFormat, wide

_SOURCES = {torch.float32: "binary32", torch.float16: "binary16", torch.bfloat16: "bfloat16"}
_INTEGERS = {4: torch.int32, 2: torch.int16}


def codes(x: torch.Tensor, name: str | Format, **choices: Any) -> torch.Tensor:
    """Codes of a float32, float16 or bfloat16 tensor, without a gradient, as :meth:`golden.Format.codes`.

    Parameters
    ----------
    x : Tensor
    name : str or Format
        A single format.
    choices
        Options of :meth:`golden.Format.encode` from ``rounding`` on. Random words of stochastic roundings are an array.

    Returns
    -------
    Tensor
        uint8 (up to 8 bits), or int32, on the device of ``x``.
    """
    source, bits = _bits(x)
    found = get(name).encode(bits, source, **choices)
    return torch.from_numpy(found if found.dtype == np.uint8 else found.astype(np.int32)).to(x.device)


def values(codes: torch.Tensor, name: str | Format, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Values of codes in a floating-point type, rounded to nearest where it cannot represent them."""
    if dtype not in _SOURCES:
        raise BadKind("dtype", f"must be torch.float32, torch.float16 or torch.bfloat16, not {dtype}")
    array = codes.detach().cpu().numpy()
    return _tensor(get(name).decode_bits(array, _SOURCES[dtype]), dtype, codes.device)


def quantize(x: torch.Tensor, name: str | Format, **choices: Any) -> torch.Tensor:
    """Round a tensor to values of a format, as :meth:`golden.Format.quantize`, with a straight-through gradient."""
    with torch.no_grad():
        rounded = values(codes(x, name, **choices), name, x.dtype)
    return _StraightThrough.apply(x, rounded)


def quantize_block(
    x: torch.Tensor, element_format: str | Format, policy: str | None = None, center: int | None = None
) -> torch.Tensor:
    """Round blocks, the last axis of a tensor, to elements times scales in ``e8m0``, with a straight-through gradient.

    The codes are those of :func:`golden.quantize_block`. A block with a NaN or an infinity becomes NaN.
    """
    elements, scales = operand("element_format", element_format), scales_named("e8m0")
    source, bits = _bits(x)
    chosen = element_options("element_format", elements, source)
    found, powers = quantized(elements, bits, chosen, scales, policy or default_policy(elements), center)
    with np.errstate(invalid="ignore"):
        exact = elements.decode(found) * scales.decode(powers)[..., np.newaxis]
    return _StraightThrough.apply(x, torch.from_numpy(exact).to(x.device, x.dtype))


class _StraightThrough(torch.autograd.Function):  # type: ignore[misc]
    """The second tensor, whose gradient goes to the first."""

    @staticmethod
    def forward(_ctx: Any, _x: torch.Tensor, rounded: torch.Tensor) -> torch.Tensor:
        return rounded

    @staticmethod
    def backward(_ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradients[0], None


def _bits(x: torch.Tensor) -> tuple[WideFormat, NDArray[Any]]:
    """The format and the bits of a tensor; refuse others than of three types."""
    if not isinstance(x, torch.Tensor) or x.dtype not in _SOURCES:
        kind = x.dtype if isinstance(x, torch.Tensor) else type(x).__name__
        raise BadKind("x", f"must be a tensor of float32, float16 or bfloat16, not {kind}")
    array = x.detach().cpu().contiguous().view(_INTEGERS[x.element_size()]).numpy()
    return wide(_SOURCES[x.dtype]), array.view(f"u{x.element_size()}")


def _tensor(bits: NDArray[Any], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    signed = np.ascontiguousarray(bits).view(f"i{bits.itemsize}")
    return torch.from_numpy(signed).view(dtype).reshape(bits.shape).to(device)
