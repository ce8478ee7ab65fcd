"""What README shows of a report: a picture and a table, and the small data file that both are made of.

Usage: python -m synth.readme [REPORT.json]: with a report, take its figures over into docs/results.json first.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from synth import plots
from synth.figures import figure, number
from synth.plan import REPORT_ACCUMULATOR
from synth.recipes import SPEED
from synth.targets import TARGETS

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PICTURE, README = (Path(name) for name in ("docs/results.json", "docs/mac_area.svg", "README.md"))
_KEPT = ("component", "format", "accumulator", "target", "recipe", "best_recipe", "min", "median", "max", "unit", "tool", "command")
_COLOURS = {"--ink": "#5b6472", "--line": "#c9ced6", "--c1": "#c2410c", "--c2": "#0f766e", "--c3": "#7e92b0"}
"""For a page that is light or dark and has no variables."""

_BEGIN, _END = "<!-- figures -->\n", "<!-- end of figures -->\n"


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
    svg = plots.bars(_figures(found["rows"], "mac", "gates"), f"MAC into {REPORT_ACCUMULATOR}, area by format", "NAND2 equivalents")
    for variable, colour in _COLOURS.items():
        svg = svg.replace(f"var({variable})", colour)
    return svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="640" ', 1) + "\n"


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


def main(arguments: Sequence[str]) -> None:
    """Rewrite the picture and README's section; with a report's path, the data file before."""
    if arguments:
        found = results(json.loads(Path(arguments[0]).read_text()))
        (ROOT / RESULTS).write_text(json.dumps(found, indent=1) + "\n")
    found = json.loads((ROOT / RESULTS).read_text())
    (ROOT / PICTURE).write_text(picture(found))
    before, _, rest = (ROOT / README).read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    (ROOT / README).write_text(f"{before}{_BEGIN}{section(found)}{_END}{after}")


if __name__ == "__main__":
    main(sys.argv[1:])
