"""Two formats in one unit, e.g. a multiplier for E4M3 and E5M2; a select bit chooses the format of each code."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.bits import as_codes
from golden.formats import Format
from golden.refusal import BadValue
from golden.rows import Special
from golden.validation import MAX_WIDTH


@dataclass(frozen=True)
class MultiFormat(Format):
    """Codes of two formats with a *select* bit above the magnitude: 0 selects ``members[0]``, 1 ``members[1]``.

    Its codes can be decoded, multiplied and accumulated. There is no encoder: a value does not determine which of the
    two formats to use. In hardware the select bit is a separate port, ``<port>_select``.
    """

    members: tuple[Format, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        """Do not check again: the members are checked."""

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
        """Combine codes of the members and select bits into codes of this format.

        Both are unsigned integers, broadcast against each other; the result is a uint8 (up to 8 bits) or uint16 array.
        """
        names = " or ".join(member.name for member in self.members)
        bits = as_codes("codes", codes, self.width - 1, names).astype(np.uint32)
        selects = as_codes("select", select, 1).astype(np.uint32)
        return np.asarray(_join(bits, selects, self.magnitude_bits - 1)).astype(self.code_dtype)

    def split(self, code: int) -> tuple[Format, int]:
        """Split a code into the selected member and the member's code; refuse what is no code."""
        low, bits = self.magnitude_bits - 1, self.check_code(code)
        return self.members[bits >> low & 1], bits >> (low + 1) << low | bits & ((1 << low) - 1)


def pair(first: Format, second: Format) -> MultiFormat:
    """The multi-format ``first+second``.

    Refuse formats that are equal, of different or too large widths, or two formats already; two's complement; and a
    sign that only one of them has.
    """
    name = f"{first.name}+{second.name}"
    for member in (first, second):
        if len(member.members) > 1:
            raise BadValue("name", f"{name!r}: two formats can share a unit, not more")
    if first == second:
        raise BadValue("name", f"{name!r}: the two formats must be different ones")
    if first.width != second.width or first.width >= MAX_WIDTH:
        widths = f"the same width, below {MAX_WIDTH} bits, not {first.width} and {second.width}"
        raise BadValue("name", f"{name!r}: both must have {widths}")
    if first.twos_complement or second.twos_complement:
        problem = "formats whose negative codes are two's complements cannot share a unit with others"
        raise BadValue("name", f"{name!r}: {problem}")
    if first.signed != second.signed:
        without = second if first.signed else first
        raise BadValue("name", f"{name!r}: both must have a sign or none, and {without.name} alone has none")
    members = (first, second)
    files = "+".join(member.source_name or member.name for member in members)
    low = first.magnitude_bits
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
        signed=first.signed,
        roundings=(),
        overflows=(),
        source_name=files if first.source_name or second.source_name else None,
        members=members,
    )


def _join(code: Any, select: Any, low: int) -> Any:
    """Insert the select bit above the ``low`` bits of a code's magnitude."""
    return code >> low << (low + 1) | select << low | code & ((1 << low) - 1)
