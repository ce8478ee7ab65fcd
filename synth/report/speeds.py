"""The study of speed: MACs and other blocks that it measures from small to fast, and its rows in ``speeds.json``, which
``make fast`` writes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from golden.refusal import BadValue
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from hwgen.datapath.goal import GOALS
from synth.area.keys import Keys
from synth.area.rows import Row
from synth.report.plan import REPORT_ACCUMULATOR

RESULTS = Path(__file__).with_name("speeds.json")

FORMATS = ("hif8", "ocp_e4m3", "ocp_e5m2", "binary8p3", "e5m2_nosub", "e5m2b1", "e5m3")
"""Formats whose MAC is measured; ``make speed`` measures more of them, on more targets."""
OTHERS: tuple[dict[str, Any], ...] = ({"accumulator": "binary32"}, {"stages": 2}, {"stages": 3})
"""Options with which the MAC of :data:`VARIED` is measured too."""
VARIED = "ocp_e5m2"
BLOCKS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("dot", "ocp_e4m3", {"accumulator": "binary32", "lanes": 8}),
    ("dot", "e2m1", {"accumulator": "binary32", "lanes": 8, "block_scale": "e8m0"}),
    ("readout", "ocp_e4m3", {}),
    ("readout", "hif8", {}),
    ("encoder", "ocp_e4m3", {}),
    ("encoder", "ocp_e5m2", {}),
    ("encoder", "hif8", {}),
)
"""Other blocks that are measured."""


def mac(name: str, goal: str, **options: Any) -> Design:
    """A MAC of the study, built for area or for speed."""
    return build("mac", name, **{"accumulator": REPORT_ACCUMULATOR, "optimize": goal} | options)


def designs() -> Iterator[Design]:
    """Each design of the study once."""
    for name in FORMATS:
        for goal in GOALS:
            yield mac(name, goal)
    for options in OTHERS:
        for goal in GOALS:
            yield mac(VARIED, goal, **options)
    for block, name, options in BLOCKS:
        for goal in GOALS:
            yield build(block, name, optimize=goal, **options)


@dataclass(frozen=True)
class Speeds:
    """The results of the study.

    Attributes
    ----------
    rows : tuple of Row
        Of each design the rows of all recipes of the portfolio ``speed``.
    source : mapping
        Content of the file.
    """

    rows: tuple[Row, ...]
    source: Mapping[str, Any]

    @property
    def tool(self) -> str:
        """The tool that made the netlists."""
        return ", ".join(sorted({row.tool for row in self.rows}))

    @classmethod
    def from_json(cls, data: Any) -> "Speeds":
        """Read the content of ``speeds.json``; BadValue or BadKind if it is something else."""
        rows = tuple(map(Row.from_json, Keys(data, "speeds").items("rows")))
        for row in rows:
            if row.timing is None:
                raise BadValue("portfolio", f"must be one whose netlists are timed, not {row.portfolio!r}")
        return cls(rows, data)
