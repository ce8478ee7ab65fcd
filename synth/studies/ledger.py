"""The ledger: what the papers claim, and a verdict on each claim. ``python -m synth.studies.ledger`` writes the page.

Claims are rows of ``claims.toml``. A row has a verdict with a figure of its own, which tests recompute, or the two
units whose areas it compares. The claims of :mod:`synth.report.training.claims`, which compare the losses of two
policies, are added. Areas and losses are judged here. With the argument ``measure``, areas that the data lack are
measured first.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from synth.area.figures import Figure, number, ratio
from synth.report import load
from synth.report.training.claims import (
    CLAIMS,
    NOT_REPRODUCED,
    OWN,
    REPRODUCED,
    UNDECIDED,
    Claim,
    Verdict,
    verdict,
)
from synth.studies.study import text_of

UNMEASURED, UNTESTABLE = "not measured yet", "not testable here"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, UNDECIDED, UNMEASURED, UNTESTABLE)
PAPERS = {
    "hifloat8": "Ascend HiFloat8 Format for Deep Learning",
    "supernormals": "Range Extension with Supernormals for Mixed-Precision 8-bit DNN Training",
    "graphcore": "8-bit Numerical Formats for Deep Neural Networks",
    "fp8": "FP8 Formats for Deep Learning",
    "hfp8": "Hybrid 8-bit Floating Point (HFP8) Training and Inference for Deep Neural Networks",
}
"""Titles, by the names in claims.toml."""
_OF_STUDY = {
    "HiFloat8 paper": "hifloat8",
    "Supernormals paper": "supernormals",
    "Graphcore paper": "graphcore",
    "FP8 paper": "fp8",
    "Hybrid 8-bit Floating Point paper": "hfp8",
}
"""The papers of the study's claims, by what their sources begin with."""

ROOT = Path(__file__).parents[2]
PAGE, AREAS = ROOT / "docs/claims.md", ROOT / "docs/claims.json"
GATES = "gates"
_UNKNOWN = "no figure is recorded"

INTRODUCTION = """\
# The papers' claims

What the five papers claim about numbers, hardware and training, each with a verdict and the figure behind it.
`python -m synth.studies.ledger` writes this page from `synth/studies/claims.toml` and the measured data; tests
recompute all figures of numbers.

* *reproduced*, *not reproduced*: the figure, with its spread, is on one side of the claim. A saving that is larger than
  claimed reproduces it.
* *undecided*: the spread of the figure allows both.
* *not measured yet*: it could be measured with this repository, and has not been.
* *not testable here*: it is about networks, data or tools that this repository does not have.

A claim that has several readings has a row for each. Areas are ratios of the unit's figure to the other's
([area](area.md)), with the range that their spreads allow: our Verilog and our tools, not the papers'. Losses are those
of small tasks ([study](study.md)): how much the first policy's is above the second's, with the bounds of the mean.
"""


@dataclass(frozen=True)
class Entry:
    """A row of the page."""

    paper: str
    place: str
    claim: str
    verdict: str
    ours: str
    command: str
    check: str = ""
    """The test that recomputes the figure."""


@cache
def rows() -> tuple[Mapping[str, Any], ...]:
    """The rows of claims.toml."""
    text = files("synth.studies").joinpath("claims.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["claim"])


def entries() -> list[Entry]:
    """All claims, by paper."""
    every = [*map(_entry, rows()), *_of_study()]
    return [entry for paper in PAPERS for entry in every if entry.paper == paper]


def _entry(row: Mapping[str, Any]) -> Entry:
    head = row["paper"], row["place"], row["claim"]
    if "area" in row:
        return Entry(*head, *_area(row["area"]))
    check = row.get("check", "")
    command = f"python -m pytest rtl_tests/docs/test_claims.py -k {check}" if check else ""
    return Entry(*head, row["verdict"], row["ours"], command, check)


# -- areas


@cache
def areas() -> dict[tuple[str, str], Figure]:
    """Figures by the command of a block, without ``hwgen area``, and target: of the study, README and the ledger."""
    study, figures = load.study(), {}
    for row in (*(study.rows.values() if study else ()), *load.areas()):
        command = row.command.removeprefix("hwgen area ").removesuffix(f" --target {row.target}")
        figures[command, row.target] = Figure(row.min, row.median, row.max)
    for command, *measured in json.loads(AREAS.read_bytes())["designs"].values() if AREAS.exists() else ():
        for target, _, low, middle, high in measured:
            figures[command.removeprefix("hwgen area "), target] = Figure(low, middle, high)
    return figures


def recorded(modules: Mapping[str, str]) -> list[list[Any]]:
    """The areas in docs/claims.json of modules, given by name and SHA-256 of their Verilog, for a report without rows.

    Each is the module, the target, the command, and the smallest, median and largest sample.
    """
    data = json.loads(AREAS.read_bytes()) if AREAS.exists() else {"designs": {}}
    names = {digest: name for name, digest in modules.items()}
    return [
        [names[digest], target, f"{command} --target {target}", *samples]
        for key, (command, *measured) in data["designs"].items()
        if (digest := data["verilog"][key]) in names
        for target, _, *samples in measured
    ]


def units(area: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The keys in :func:`areas` of the unit that a claim is about, and of the one that it is compared with."""
    return [(area[side], area.get("target", GATES)) for side in ("unit", "base")]


def _area(area: Mapping[str, Any]) -> tuple[str, str, str]:
    """Verdict, figure and commands of a claim about two areas."""
    keys = units(area)
    commands = "; ".join(f"hwgen area {command} --target {target}" for command, target in keys)
    if not areas().keys() >= set(keys):
        return UNMEASURED, _UNKNOWN, commands
    unit, base = (areas()[key] for key in keys)
    least, middle, most = ratio(unit, base)
    at_least = "at_least" in area
    holds, fails = (
        (least >= area["at_least"], most < area["at_least"])
        if at_least
        else (most <= area["at_most"], least > area["at_most"])
    )
    limit = f"at least {area['at_least']:g}" if at_least else f"at most {area['at_most']:g}"
    word = "NAND2" if keys[0][1] == GATES else "ALMs, estimated"
    sizes = f"{number(unit.median)} against {number(base.median)} {word}"
    figure = f"{middle:.2f} ({least:.2f} to {most:.2f}), claimed {limit}: {sizes}"
    return REPRODUCED if holds else NOT_REPRODUCED if fails else UNDECIDED, figure, commands


# -- training


def _training(claim: Claim) -> tuple[str, str, str]:
    """Verdict, figure and command of a claim about two policies."""
    study = load.study()
    found = None if study is None or claim.task not in study.tasks else verdict(claim, study.tasks[claim.task])
    here = f"; here: {claim.here}" if claim.here else ""
    figure = f"task {claim.task}, {claim.first}, {claim.relation} {claim.second}: {_shares(found)}{here}"
    return (found.text if found and found.text in VERDICTS else UNMEASURED), figure, "make study"


def _shares(found: Verdict | None) -> str:
    if found is None:
        return "not trained yet"
    if found.mean != found.mean:  # one of both diverged
        return found.text
    return f"{found.mean:+.1%} ({found.low:+.1%} to {found.high:+.1%})"


def _of_study() -> Iterator[Entry]:
    """The claims of the study, besides its own."""
    for claim in CLAIMS:
        if claim.source == OWN:
            continue
        paper, _, place = claim.source.partition(", ")
        yield Entry(_OF_STUDY[paper], place[0].upper() + place[1:], claim.text, *_training(claim))


# -- the page


def page() -> str:
    """The page as Markdown."""
    every = entries()
    lines = [INTRODUCTION, "| paper | " + " | ".join(VERDICTS) + " |", "|---|" + "---:|" * len(VERDICTS)]
    for paper, title in PAPERS.items():
        counts = Counter(entry.verdict for entry in every if entry.paper == paper)
        lines.append(f"| {title} | " + " | ".join(str(counts[word]) for word in VERDICTS) + " |")
    total = Counter(entry.verdict for entry in every)
    lines.append("| all | " + " | ".join(str(total[word]) for word in VERDICTS) + " |")
    for paper, title in PAPERS.items():
        lines += ["", f"## {title}", "", "| place | claim | verdict | here | repeat with |", "|---|---|---|---|---|"]
        lines += [_line(entry) for entry in every if entry.paper == paper]
    return "\n".join(lines) + "\n"


def _line(entry: Entry) -> str:
    command = "; ".join(f"`{part}`" for part in entry.command.split("; ")) if entry.command else ""
    cells = entry.place, entry.claim, entry.verdict, entry.ours, command
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def measure() -> None:
    """Measure the areas that claims compare and the data lack, and add them to docs/claims.json."""
    data: dict[str, Any] = {"tool": "", "renamings": 4, "designs": {}, "verilog": {}}
    if AREAS.exists():
        data = json.loads(AREAS.read_bytes())
    known = areas().keys()
    for command, target in dict.fromkeys(key for row in rows() if "area" in row for key in units(row["area"])):
        if (command, target) in known:
            continue
        words = [sys.executable, "-m", "hwgen", "area", *command.split(), "--target", target, "--json"]
        found = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
        best = next(row for row in found if row["recipe"] == "best")
        data["tool"] = best["tool"]
        entry = data["designs"].setdefault(_key(command), [f"hwgen area {command}"])
        data["verilog"][_key(command)] = best["verilog_sha256"]
        entry.append([target, best["best_recipe"], best["min"], best["median"], best["max"]])
        AREAS.write_text(text_of(data), encoding="utf-8")


def _key(command: str) -> str:
    return re.sub(r" --[a-z-]+ ", " ", command)


def main() -> None:
    """Write the page, after measuring with the argument ``measure``."""
    if sys.argv[1:] == ["measure"]:
        measure()
        areas.cache_clear()
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
