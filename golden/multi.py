"""Two formats in one unit: a bit says which of them a code is of, as where one multiplier serves E4M3 and E5M2."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

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

    def join(self, codes: ArrayLike, select: ArrayLike) -> NDArray[np.uint64]:
        """Codes of this format from codes of a member and the number of the member.

        Parameters
        ----------
        codes, select : unsigned integers
            Broadcast against each other; ``select`` is 0 or 1.
        """
        bits, chosen = (np.asarray(array).astype(np.uint64) for array in (codes, select))
        low = np.uint64(self.width - 2)
        joined: NDArray[np.uint64] = (bits >> low) << (low + np.uint64(1)) | chosen << low | bits & np.uint64((1 << (self.width - 2)) - 1)
        return joined

    def split(self, code: int) -> tuple[Format, int]:
        """The member that a code is of, and what it is called there."""
        low = self.width - 2
        return self.members[code >> low & 1], code >> (low + 1) << low | code & ((1 << low) - 1)


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
