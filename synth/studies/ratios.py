"""Signal-to-noise ratios and ranges of formats and pairs of formats, computed with the reference model."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter

import golden
from golden import Format, Refusal
from synth.report.plan import FORMATS

SCALES = range(-16, 17)
"""Exponents of the standard deviations over which the mean and the lowest ratio are taken."""


@dataclass(frozen=True)
class Ratio:
    """Signal-to-noise ratio of a format on Gaussian data at its best power-of-two scale, 2**``exponent``."""

    snr_db: float
    exponent: int
    by_scale: tuple[float, ...] = ()
    """Ratios at the standard deviations of :data:`SCALES`; empty if unknown."""
    binades: int | None = None
    """Binades from the smallest positive value to the largest one."""
    bits: int | None = None
    """Bits of a code."""


def ratios(formats: Iterable[Format | str]) -> dict[str, Ratio]:
    """Signal-to-noise ratios and binades by format, without unknown names; of a pair the better format counts."""
    known = {}
    for fmt in formats:
        name = fmt if isinstance(fmt, str) else fmt.name
        try:
            each = [_ratio(part) for part in (name.split("+") if "+" in name else [fmt])]
        except Refusal:
            continue
        by_scale = tuple(map(max, zip(*(ratio.by_scale for ratio in each), strict=True)))
        binades = max(ratio.binades or 0 for ratio in each)
        known[name] = replace(max(each, key=attrgetter("snr_db")), by_scale=by_scale, binades=binades)
    return known


@cache  # two seconds of a format of 16 bits
def _ratio(name: Format | str) -> Ratio:
    fmt = golden.get(name)
    best = golden.best_scale(fmt)
    by_scale = golden.quantization_snr(fmt, [2.0**exponent for exponent in SCALES]).round(2).tolist()
    (_, most), (_, least) = map(math.frexp, (fmt.largest, fmt.smallest))
    return Ratio(round(best.snr, 4), best.exponent, tuple(by_scale), most - least + 1, fmt.width)


def widths(ratios: Mapping[str, Ratio]) -> dict[str, int]:
    """Bits of the codes of the formats that have ratios, and of those that a report compares by default."""
    usual = {name: golden.get(name.partition("+")[0]).width for name in FORMATS}
    return usual | {name: ratio.bits for name, ratio in ratios.items() if ratio.bits}
