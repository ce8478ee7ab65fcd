"""Figures in README and docs: a report's, kept in a small data file, and those of golden's accuracy.

Usage: python -m synth.report.readme [REPORT.json]: with a report, take its figures over into docs/results.json first.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import golden
from synth.area.targets import TARGETS
from synth.report.data import Report
from synth.report.figures import Figure, number, ranked
from synth.report.plan import FORMATS, REPORT_ACCUMULATOR
from synth.report.render import plots
from synth.studies.script import status

ROOT = Path(__file__).resolve().parents[2]
RESULTS, PICTURE, README, ACCURACY = (
    Path(name) for name in ("docs/results.json", "docs/mac_area.svg", "README.md", "docs/accuracy.md")
)  # fmt: skip
_KEPT = (
    "component",
    "format",
    "accumulator",
    "target",
    "recipe",
    "best_recipe",
    "min",
    "median",
    "max",
    "unit",
    "tool",
    "command",
)
_BEGIN, _END = "<!-- figures -->\n", "<!-- end of figures -->\n"

_TABLE_1 = ("binary32", "binary16", "bfloat16", "dlfloat16", "gc_1_5_2_b15", "gc_1_4_3_b7", "gc_1_3_4_b3")
"""Rows of the Graphcore paper's Table 1."""
_ACCURACY_FORMATS = (*FORMATS, "gc_1_0_7_b0")
"""The report's, and the scaled integer."""
_SCALES = range(-16, 17, 4)


class Results(NamedTuple):
    """The figures that README shows: MACs and multipliers of the formats compared."""

    tool: str
    renamings: int
    figures: Mapping[tuple[str, str], Mapping[str, Figure]]
    """By component and target, then by format."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Results":
        """From docs/results.json."""
        figures: dict[tuple[str, str], dict[str, Figure]] = {}
        for row in data["rows"]:
            one = Figure(
                row["min"], row["median"], row["max"], row["unit"], row["best_recipe"], row["tool"], row["command"]
            )
            figures.setdefault((row["component"], row["target"]), {})[row["format"]] = one
        return cls(data["tool"], data["renamings"], figures)


def results(report: Report) -> dict[str, Any]:
    """The part of a report that docs/results.json keeps."""
    shown = [
        row for row in report.rows if row.is_best and row.component in ("mac", "multiplier") and row.timing is None
    ]
    shown = [row for row in shown if row.options.get("accumulator", REPORT_ACCUMULATOR) == REPORT_ACCUMULATOR]
    shown = [
        row for row in shown if row.options.keys() <= {"format", "accumulator"}
    ]  # the report has blocks with further options, too
    lines = [row.to_json() for row in shown if row.format in report.formats]
    rows = [{key: line[key] for key in _KEPT if key in line} for line in lines]
    return {"tool": report.tool, "renamings": report.renamings, "rows": rows}


def picture(shown: Results) -> str:
    """MAC area by format on NAND2-equivalent gates, as SVG."""
    macs = shown.figures["mac", "gates"]
    return plots.bars(macs, f"MAC into {REPORT_ACCUMULATOR}, area by format", "area [NAND2 equivalents]").svg


def section(shown: Results) -> str:
    """README's lines between its markers."""
    targets = [name for name in TARGETS if ("mac", name) in shown.figures]
    units = (f"{TARGETS[name].title} [{TARGETS[name].unit}]" for name in targets)
    head = ["format", *units, f"multiplier alone [{TARGETS['cyclonev'].unit}]"]
    lines = [
        f"What a fused multiply-accumulate unit into {REPORT_ACCUMULATOR} costs, by format: the lowest median over a "
        f"portfolio of recipes, of {shown.renamings} renamings each, with its spread ({shown.tool}; ALMs are "
        "estimated, nothing is placed and routed).",
        "", f"![Area of the MAC by format, in NAND2 equivalents]({PICTURE})", "",
        f"| {' | '.join(head)} |", f"|{'---|' * len(head)}",
    ]  # fmt: skip
    columns = [shown.figures[key] for key in (*(("mac", target) for target in targets), ("multiplier", "cyclonev"))]
    body = (f"| {name} | {' | '.join(_cell(column[name]) for column in columns)} |" for name in ranked(columns[0]))
    return "\n".join([*lines, *body, ""])


def _cell(value: Figure) -> str:
    return number(value.median) if value.low == value.high else f"{number(value.median)} <sub>{value.spread}</sub>"


def accuracy() -> str:
    """The lines of docs/accuracy.md between its markers: figures by :mod:`golden.accuracy` alone."""
    ranges = [(name, f"{golden.dynamic_range(name):.1f}", f"{golden.model_snr(name):.1f}") for name in _TABLE_1]
    best, scaled = [], []
    for name in _ACCURACY_FORMATS:
        scales = (golden.best_scale(name, distribution) for distribution in golden.DISTRIBUTIONS)
        words = [f"{snr:.1f} at 2^{exponent}" for exponent, snr in scales]
        best.append((name, f"{golden.dynamic_range(name):.1f}", *words))
        ratios = golden.quantization_snr(name, [2.0**e for e in _SCALES]).tolist()
        scaled.append((name, *(f"{ratio:.1f}" for ratio in ratios)))
    return "\n".join([
        "**Table 1 of the Graphcore paper, in dB: as printed, all rows.**", "",
        *_markdown(("format", "D", "SNR"), ranges), "",
        "**Dynamic range, and SNR on data at the best power-of-two scale σ, in dB.**", "",
        *_markdown(("format", "dynamic range", *golden.DISTRIBUTIONS), best), "",
        "**SNR on Gaussian data over the scale σ, in dB.**", "",
        *_markdown(("format", *(f"2^{e}" for e in _SCALES)), scaled), "",
        "**Significand bits over exponents, as in Figure 1 of the HiFloat8 paper.**", "",
        *_markdown(("format", "bits: exponents"), [(name, _bits(name)) for name in _ACCURACY_FORMATS]), "",
    ])  # fmt: skip


def _bits(name: str) -> str:
    """Runs of exponents with the same number of bits."""
    pairs = zip(*(column.tolist() for column in golden.significand_bits(name)), strict=True)
    runs = [list(run) for _, run in groupby(pairs, key=itemgetter(1))]
    return ", ".join(f"{run[0][1]}: {run[0][0]}" + (f" to {run[-1][0]}" if run[1:] else "") for run in runs)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def _insert(page: Path, text: str) -> None:
    before, _, rest = (ROOT / page).read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    (ROOT / page).write_text(f"{before}{_BEGIN}{text}{_END}{after}")


def main(arguments: Sequence[str]) -> None:
    """Rewrite the picture and the sections of README and docs; with a report's path, the data file before."""
    if arguments:
        report = Report.from_json(json.loads(Path(arguments[0]).read_text()))
        (ROOT / RESULTS).write_text(json.dumps(results(report), indent=1) + "\n")
    shown = Results.from_json(json.loads((ROOT / RESULTS).read_text()))
    (ROOT / PICTURE).write_text(picture(shown))
    _insert(README, section(shown))
    _insert(ACCURACY, accuracy())


if __name__ == "__main__":
    sys.exit(status("readme", lambda: main(sys.argv[1:])))
