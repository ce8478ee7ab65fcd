"""Measures for the report what formats cost beside int8, binary16 and bfloat16, and rounding with its random words.

Areas and energies are measured as ``hwgen energy`` measures them, on our own gates.

Usage: python -m synth.studies.references [--store FILE] [--jobs N] [--again] writes synth/report/references.json
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hwgen.blocks.catalog import build
from synth import report
from synth.energy.job import DEFAULT_DATA
from synth.studies.family import Family, Point
from synth.studies.script import parser, status
from synth.studies.study import Study

FORMATS = ("int8", "ocp_e4m3", "e5m2b1", "hif8", "bfloat16", "binary16")
ACCUMULATORS = EXACT, ROUNDED_SUM = "exact", "binary32"
LONG = "bfloat16"
"""A format whose exact accumulator is too long for several lanes."""
LANES = 8
"""Lanes of the units that are not of one."""
ROUNDED = "hif8"
"""The format whose roundings are measured."""
SOURCES = ("binary32", "binary16", "bfloat16")
PLAIN = ("ties_to_away", "ties_to_even", "hybrid")
"""Roundings without random words."""
SHARED, SHARING = (8, 32), "bfloat16"
"""Lanes of quantizers that share a register of random words, and their source."""
PORT, REGISTER = "port", "lfsr"
_RANDOM: dict[str, Any] = {"rounding": "stochastic", "random_bits": 14, "random": (PORT, REGISTER)}
_DATA = (DEFAULT_DATA,)
_FEW = 2
"""Renamings of units of several lanes, which take minutes."""


def unit(fmt: str, accumulator: str, lanes: int, *, registers: bool) -> Point:
    """The energy of a unit of products, without or with the registers of a processing element."""
    kind = "pe" if registers else "mac" if lanes == 1 else "dot"
    options: dict[str, Any] = {} if kind == "mac" else {"lanes": lanes}
    return Point(build(kind, fmt, accumulator=accumulator, **options), data=DEFAULT_DATA)


def encoder(source: str, rounding: str) -> Point:
    """The energy of an encoder without random words."""
    return Point(build("encoder", ROUNDED, source=source, rounding=rounding), data=DEFAULT_DATA)


def stochastic(source: str, place: str, lanes: int = 0) -> Point:
    """The energy of an encoder, or of a quantizer of some lanes, whose random words come from a place."""
    options = _RANDOM | {"random": place, **({"lanes": lanes} if lanes else {})}
    return Point(build("quantizer" if lanes else "encoder", ROUNDED, source=source, **options), data=DEFAULT_DATA)


@dataclass(frozen=True)
class References(Study):
    """The study of references."""

    file: ClassVar[Path] = Path(report.__file__).with_name("references.json")
    families: ClassVar[Sequence[Family]] = (
        Family("mac", FORMATS, {"accumulator": ACCUMULATORS}, data=_DATA),
        Family("pe", FORMATS, {"accumulator": ACCUMULATORS}, data=_DATA),
        *(
            Family(kind, tuple(names), {"accumulator": accumulator, "lanes": LANES}, data=_DATA, renamings=_FEW)
            for accumulator, names in ((EXACT, [name for name in FORMATS if name != LONG]), (ROUNDED_SUM, FORMATS))
            for kind in ("dot", "pe")
        ),
        Family("encoder", (ROUNDED,), {"source": SOURCES, "rounding": PLAIN}, data=_DATA),
        Family("encoder", (ROUNDED,), {"source": SOURCES, **_RANDOM}, data=_DATA),
        Family("quantizer", (ROUNDED,), {"source": SHARING, "lanes": SHARED, **_RANDOM}, data=_DATA, renamings=_FEW),
    )


if __name__ == "__main__":
    sys.exit(status("references", lambda: References.measure(parser(__doc__, files=True).parse_args())))
