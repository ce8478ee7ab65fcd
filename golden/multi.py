"""Two formats in one unit, where a bit selects the format of a code: one multiplier for E4M3 and E5M2, say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from golden.bits import as_codes
from golden.formats import Format
from golden.refusal import BadValue
from golden.rows import Special
from golden.validation import MAX_WIDTH

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class MultiFormat(Format):
    """Codes of two formats and a *select* bit right below the sign: 0 is ``members[0]``, 1 is ``members[1]``.

    It decodes, and its codes can be multiplied and accumulated; there is no encoder, since a value does
    not determine which of the two formats to use. In hardware the select bit is a port of its own, ``<port>_select``.
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

        Both are unsigned integers, broadcast against each other; the result is a uint8 (up to 8 bits) or uint16 array.
        """
        bits = as_codes("codes", codes, self.width - 1, " or ".join(member.name for member in self.members)).astype(
            np.uint32
        )
        chosen = as_codes("select", select, 1).astype(np.uint32)
        return np.asarray(_join(bits, chosen, self.width - 2)).astype(self.code_dtype)

    def split(self, code: int) -> tuple[Format, int]:
        """The member that a code is of, and its code there; what is none is refused."""
        low, bits = self.width - 2, self.check_code(code)
        return self.members[bits >> low & 1], bits >> (low + 1) << low | bits & ((1 << low) - 1)


def pair(first: Format, second: Format) -> MultiFormat:
    """The unit of two formats.

    Raises
    ------
    BadValue
        About ``name``, the two names with a ``+`` between: if the formats are the same, of different widths, too wide,
        or hold negative numbers in different ways.
    """
    name = f"{first.name}+{second.name}"
    for member in (first, second):
        if len(member.members) > 1:
            raise BadValue("name", f"{name!r}: two formats can share a unit, not more")
    if first == second:
        raise BadValue("name", f"{name!r}: the two formats must be different ones")
    if first.width != second.width or first.width >= MAX_WIDTH:
        raise BadValue(
            "name",
            f"{name!r}: both must have the same width, below {MAX_WIDTH} bits, not {first.width} and {second.width}",
        )
    if first.twos_complement or second.twos_complement:
        raise BadValue(
            "name", f"{name!r}: formats whose negative codes are two's complements cannot share a unit with others"
        )
    members = (first, second)
    files = (
        [member.source_name or member.name for member in members] if first.source_name or second.source_name else None
    )
    low = first.width - 1
    nans = [_join(m.canonical_nan, number, low) for number, m in enumerate(members) if m.canonical_nan is not None]
    return MultiFormat(
        name=name,
        width=first.width + 1,
        cite="; ".join(f"{member.name}: {member.cite}" for member in members),
        rows=tuple(
            replace(row, prefix=f"{number}{row.prefix}") for number, member in enumerate(members) for row in member.rows
        ),
        specials=tuple(
            Special(_join(special.mask, 1, low), _join(special.value, number, low), special.kind)
            for number, member in enumerate(members)
            for special in member.specials
        ),
        canonical_nan=nans[0] if nans else None,
        roundings=(),
        overflows=(),
        source_name=None if files is None else "+".join(files),
        members=members,
    )


def _join(code: Any, select: Any, low: int) -> Any:
    """A code whose ``low`` bits below the sign follow the select bit."""
    return code >> low << (low + 1) | select << low | code & ((1 << low) - 1)
