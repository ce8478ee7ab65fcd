"""The factor of all products of a sum that is rounded or truncated: a power of two, or the scales of two blocks."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from golden import Format
from golden.arithmetic.aligned import row_exponents
from golden.arithmetic.exact import scale_range
from hwgen.blocks.block import Design
from synth.proof.bits import Bits, Bool, ite
from synth.proof.gates import Netlist
from synth.proof.solver import Solver

EXPONENT_BITS = 14
"""Of exponents in claims, with their sign; wide enough for all of them."""


@dataclass(frozen=True)
class SymbolicScale:
    """Unknown ports of a scale; its exponent in :data:`EXPONENT_BITS`; whether it is 0, or a NaN.

    The exponent is meaningless for 0 and NaN.
    """

    ports: Mapping[str, Bits]
    exponent: Bits
    is_zero: Bool
    is_nan: Bool


class Scales:
    """What the ports ``scale``, or ``a_scale`` and ``b_scale``, mean; without any, the factor is 1.

    A factor is ``significand * 2**(exponent - fraction_bits)``. The code of a block's scale has the significand and the
    exponent of its row, as :func:`golden.arithmetic.aligned.row_exponents` has it.
    """

    def __init__(self, design: Design, netlist: Netlist):
        self.fmt: Format | None = design.core.block_scale
        self.bits = design.scale_bits
        names = ("a_scale", "b_scale") if self.fmt else ("scale",) if self.bits else ()
        self.nets = {name: list(netlist.input_nets(name)) for name in names}

    @cached_property
    def fraction_bits(self) -> int:
        """Bits after the point of the product of two significands."""
        return 2 * max(row.fraction_bits for row in self.fmt.rows) if self.fmt else 0

    @cached_property
    def _row_exponents(self) -> NDArray[np.int64]:
        assert self.fmt is not None
        return row_exponents(self.fmt).astype(np.int64)

    @cached_property
    def significands(self) -> NDArray[np.int64]:
        """The significand of each code, an integer, which is 0 for NaN; or of the only factor that there is."""
        if self.fmt is None:
            return np.ones(1, np.int64)
        values = np.ldexp(self.fmt.values, self.fraction_bits // 2 - self._row_exponents)
        return np.where(np.isnan(values), 0, values).astype(np.int64)

    @cached_property
    def exponents(self) -> tuple[int, int]:
        """Smallest and largest exponent of a factor that is neither 0 nor NaN."""
        if self.fmt is None:
            return scale_range(self.bits)
        own = self._row_exponents[self.significands != 0]
        return 2 * int(own.min()), 2 * int(own.max())

    def symbolic(self, solver: Solver) -> SymbolicScale:
        """All factors at once."""
        ports = {name: solver.variable(name, len(nets)) for name, nets in self.nets.items()}
        exponent = solver.word(0, EXPONENT_BITS).signed
        if self.fmt is None:
            for word in ports.values():
                exponent = word.signed.to(EXPONENT_BITS)
            return SymbolicScale(ports, exponent, solver.false, solver.false)
        zero, nan = self.fmt.values == 0, np.isnan(self.fmt.values)
        for word in ports.values():
            level = [exponent.constant(number) for number in np.where(zero | nan, 0, self._row_exponents).tolist()]
            for bit in word:  # a tree of choices
                pairs = zip(level[::2], level[1::2], strict=True)
                level = [ite(bit, high, low) for low, high in pairs]
            exponent = exponent + level[0]
        is_zero, is_nan = (
            solver.any(word == code for word in ports.values() for code in np.flatnonzero(codes).tolist())
            for codes in (zero, nan)
        )
        return SymbolicScale(ports, exponent, is_zero & ~is_nan, is_nan)

    def known(self, scale: SymbolicScale) -> dict[int, Bool]:
        """The nets of the ports with their values."""
        return {net: bit for name, nets in self.nets.items() for net, bit in zip(nets, scale.ports[name], strict=True)}

    def pins_of(self, exponent: int) -> dict[str, int] | None:
        """Ports with the factor ``2**exponent``; None if there are none."""
        if self.fmt is None:
            low, high = scale_range(self.bits)
            if not low <= exponent <= high:
                return None
            return {"scale": exponent % (1 << self.bits)} if self.bits else {}
        values = self.fmt.values
        with np.errstate(invalid="ignore"):
            pairs = np.argwhere(np.outer(values, values) == 2.0**exponent)
        return dict(zip(self.nets, pairs[0].tolist(), strict=True)) if len(pairs) else None
