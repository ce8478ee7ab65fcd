"""Two formats in one unit: a bit says which of them a code is of, as where one multiplier serves E4M3 and E5M2."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.bits import as_codes
from golden.formats import Format
from golden.rows import Special
from golden.validation import MAX_WIDTH

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class MultiFormat(Format):
    """Codes of two formats, told apart by a *select* bit right below the sign: 0 is ``members[0]``, 1 is ``members[1]``.

    It decodes, and its codes can be multiplied and accumulated; there is no encoder, for which of the two to encode to is never a
    matter of the value. In hardware the select bit is a port of its own, ``<port>_select``.
    """

    members: tuple[Format, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        """The members were checked when they were made."""

    @property
    def identifier(self) -> str:
        """The name as part of a Verilog name."""
        return "_or_".join(member.identifier for member in self.members)

    @cached_property
    def magnitude_codes(self) -> NDArray[np.int64]:
        """Codes of zero and of the positive finite values, each value once."""
        codes = super().magnitude_codes
        _, first = np.unique(self.values[codes], return_index=True)
        return np.asarray(codes[first])

    def join(self, codes: ArrayLike, select: ArrayLike) -> NDArray[Any]:
        """Codes of this format from codes of a member and the number of the member.

        Parameters
        ----------
        codes, select : unsigned integers
            Broadcast against each other; ``select`` is 0 or 1.

        Returns
        -------
        uint8 (up to 8 bits) or uint16 array, in the broadcast shape.

        Raises
        ------
        TypeError
            If one of them is not of integers.
        ValueError
            If a code needs more bits than the members have, or ``select`` is neither 0 nor 1.
        """
        bits = as_codes(codes, self.width - 1, f"Codes of {' or '.join(member.name for member in self.members)}").astype(np.uint32)
        chosen = as_codes(select, 1, "Select").astype(np.uint32)
        low = self.width - 2
        joined: NDArray[Any] = np.asarray((bits >> low) << (low + 1) | chosen << low | bits & ((1 << low) - 1))
        return joined.astype(self.code_dtype)

    def split(self, code: int) -> tuple[Format, int]:
        """The member that a code is of, and its code there.

        Parameters
        ----------
        code : int

        Returns
        -------
        Format, int

        Raises
        ------
        TypeError
            If the code is no integer.
        ValueError
            If it needs more than ``width`` bits.
        """
        if isinstance(code, bool) or not isinstance(code, (int, np.integer)):
            raise TypeError(f"Code of {self.name} must be an integer, not {code!r}")
        if not 0 <= code < 1 << self.width:
            raise ValueError(f"Code of {self.name} must lie in 0 to {(1 << self.width) - 1:#x}, not {code:#x}")
        low, bits = self.width - 2, int(code)
        return self.members[bits >> low & 1], bits >> (low + 1) << low | bits & ((1 << low) - 1)


def pair(first: Format, second: Format) -> MultiFormat:
    """The unit of two formats.

    Raises
    ------
    ValueError
        If they are the same, of different widths, too wide, or hold negative numbers in different ways.
    """
    name = f"{first.name}+{second.name}"
    for member in (first, second):
        if isinstance(member, MultiFormat):
            raise ValueError(f"Format {name!r}: two formats can share a unit, not more")
    if first == second:
        raise ValueError(f"Format {name!r}: the two formats must be different ones")
    if first.width != second.width or first.width >= MAX_WIDTH:
        raise ValueError(f"Format {name!r}: both must have the same width, below {MAX_WIDTH} bits, not {first.width} and {second.width}")
    if first.twos_complement or second.twos_complement:
        raise ValueError(f"Format {name!r}: formats whose negative codes are two's complements cannot share a unit with others")
    members = (first, second)
    files = [member.source_name or member.name for member in members] if first.source_name or second.source_name else None
    low = first.sign_bit - 1
    nan = next((member.canonical_nan for member in members if member.canonical_nan is not None), None)
    found = MultiFormat(
        name=name, width=first.width + 1, cite="; ".join(f"{member.name}: {member.cite}" for member in members),
        rows=tuple(replace(row, prefix=f"{number}{row.prefix}") for number, member in enumerate(members) for row in member.rows),
        specials=tuple(
            Special(_spread(special.mask, low) | low + 1, _spread(special.value, low) | (low + 1) * number, special.kind)
            for number, member in enumerate(members) for special in member.specials
        ),
        roundings=(), overflows=(), source_name=None if files is None else "+".join(files), members=members,
    )  # fmt: skip
    if nan is None:
        return found
    number = next(number for number, member in enumerate(members) if member.canonical_nan is not None)
    return replace(found, canonical_nan=int(found.join(nan, number)))


def _spread(code: int, low: int) -> int:
    """A code with room for the select bit below its sign."""
    return (code & ~low) << 1 | code & low
