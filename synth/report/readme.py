"""Figures in README and docs: those of a report, with the small data file that they are made of, and those of golden's accuracy.

Usage: python -m synth.report.readme [REPORT.json]: with a report, take its figures over into docs/results.json first.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import golden
from synth.area.recipes import SPEED
from synth.area.targets import TARGETS
from synth.report.figures import figure, number
from synth.report.plan import FORMATS, REPORT_ACCUMULATOR
from synth.report.render import plots
from synth.report.render.palette import styles
from synth.report.render.svg import standalone

ROOT = Path(__file__).resolve().parents[2]
RESULTS, PICTURE, README, ACCURACY = (
    Path(name) for name in ("docs/results.json", "docs/mac_area.svg", "README.md", "docs/accuracy.md")
)  # fmt: skip
_KEPT = ("component", "format", "accumulator", "target", "recipe", "best_recipe", "min", "median", "max", "unit", "tool", "command")

_BEGIN, _END = "<!-- figures -->\n", "<!-- end of figures -->\n"

_TABLE_1 = ("binary32", "binary16", "bfloat16", "dlfloat16", "gc_1_5_2_b15", "gc_1_4_3_b7", "gc_1_3_4_b3")
"""Rows of the Graphcore paper's Table 1."""
_ACCURACY_FORMATS = (*FORMATS, "gc_1_0_7_b0")
"""The report's, and the scaled integer."""
_SCALES = range(-16, 17, 4)


def results(report: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a report that README shows: MACs and multipliers of the formats compared."""
    shown = [row for row in report["rows"] if row["recipe"] == "best" and row["component"] in ("mac", "multiplier")]
    shown = [row for row in shown if row["portfolio"] != SPEED and row["format"] in report["formats"]]
    shown = [row for row in shown if row.get("accumulator", REPORT_ACCUMULATOR) == REPORT_ACCUMULATOR]
    rows = [{key: row[key] for key in _KEPT if key in row} for row in shown]
    return {"tool": report["tool"], "renamings": report["renamings"], "rows": rows}


def _figures(rows: Sequence[Mapping[str, Any]], component: str, target: str) -> dict[str, Any]:
    return {row["format"]: figure(dict(row)) for row in rows if row["component"] == component and row["target"] == target}


def picture(found: Mapping[str, Any]) -> str:
    """MAC area by format on NAND2-equivalent gates, as a file that stands alone."""
    macs = _figures(found["rows"], "mac", "gates")
    return standalone(plots.bars(macs, f"MAC into {REPORT_ACCUMULATOR}, area by format", "area [NAND2 equivalents]", styles(macs)))


def section(found: Mapping[str, Any]) -> str:
    """README's lines between its markers."""
    rows = found["rows"]
    macs = _figures(rows, "mac", "gates")
    head = ["format", *(f"{target.title} [{target.unit}]" for target in TARGETS.values()), "multiplier alone [ALM]"]
    lines = [
        f"What a fused multiply-accumulate unit into {REPORT_ACCUMULATOR} costs, by format: the lowest median over a portfolio of recipes, "
        f"of {found['renamings']} renamings each, with its spread ({found['tool']}; ALMs are estimated, nothing is placed and routed).",
        "", f"![Area of the MAC by format, in NAND2 equivalents]({PICTURE})", "",
        f"| {' | '.join(head)} |", f"|{'---|' * len(head)}",
    ]  # fmt: skip
    for name in sorted(macs, key=lambda name: macs[name].median):
        found_figures = [_figures(rows, "mac", target)[name] for target in TARGETS] + [_figures(rows, "multiplier", "cyclonev")[name]]
        lines.append(f"| {name} | {' | '.join(_cell(value) for value in found_figures)} |")
    return "\n".join([*lines, ""])


def _cell(value: Any) -> str:
    return number(value.median) if value.low == value.high else f"{number(value.median)} <sub>{value.spread}</sub>"


def accuracy() -> str:
    """The lines of docs/accuracy.md between its markers: figures by :mod:`golden.accuracy` alone."""
    ranges = [(name, f"{golden.dynamic_range(name):.1f}", f"{golden.model_snr(name):.1f}") for name in _TABLE_1]
    best = [
        (name, f"{golden.dynamic_range(name):.1f}", *(_best(name, distribution) for distribution in golden.DISTRIBUTIONS))
        for name in _ACCURACY_FORMATS
    ]
    scaled = [
        (name, *(f"{snr:.1f}" for snr in golden.quantization_snr(name, [2.0**e for e in _SCALES]).tolist())) for name in _ACCURACY_FORMATS
    ]
    return "\n".join([
        "**Table 1 of the Graphcore paper, in dB: as printed, all rows.**", "", *_markdown(("format", "D", "SNR"), ranges), "",
        "**Dynamic range, and SNR on data at the best power-of-two scale σ, in dB.**", "",
        *_markdown(("format", "dynamic range", *golden.DISTRIBUTIONS), best), "",
        "**SNR on Gaussian data over the scale σ, in dB.**", "", *_markdown(("format", *(f"2^{e}" for e in _SCALES)), scaled), "",
        "**Significand bits over exponents, as in Figure 1 of the HiFloat8 paper.**", "",
        *_markdown(("format", "bits: exponents"), [(name, _bits(name)) for name in _ACCURACY_FORMATS]), "",
    ])  # fmt: skip


def _best(name: str, distribution: str) -> str:
    exponent, snr = golden.best_scale(name, distribution)
    return f"{snr:.1f} at 2^{exponent}"


def _bits(name: str) -> str:
    """Runs of exponents with the same number of bits."""
    pairs = zip(*(column.tolist() for column in golden.significand_bits(name)), strict=True)
    runs = [list(run) for _, run in groupby(pairs, key=itemgetter(1))]
    return ", ".join(f"{run[0][1]}: {run[0][0]}" + (f" to {run[-1][0]}" if run[1:] else "") for run in runs)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def _insert(page: Path, text: str) -> None:
    """Between the markers of a page."""
    before, _, rest = (ROOT / page).read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    (ROOT / page).write_text(f"{before}{_BEGIN}{text}{_END}{after}")


def main(arguments: Sequence[str]) -> None:
    """Rewrite the picture and the sections of README and docs; with a report's path, the data file before."""
    if arguments:
        found = results(json.loads(Path(arguments[0]).read_text()))
        (ROOT / RESULTS).write_text(json.dumps(found, indent=1) + "\n")
    found = json.loads((ROOT / RESULTS).read_text())
    (ROOT / PICTURE).write_text(picture(found))
    _insert(README, section(found))
    _insert(ACCURACY, accuracy())


if __name__ == "__main__":
    main(sys.argv[1:])
