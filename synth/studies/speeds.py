"""The study of speed: MACs and other blocks that it measures from small to fast, and its rows.

``make fast`` writes them to ``synth/report/speeds.json``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from hwgen.datapath.goal import GOALS
from synth import report
from synth.area.recipes import SPEED
from synth.report.plan import PAIR, REPORT_ACCUMULATOR
from synth.studies.family import Family
from synth.studies.study import Study

FORMATS = ("hif8", "ocp_e4m3", "ocp_e5m2", PAIR, "binary8p3", "e5m2_nosub", "e5m2b1", "e5m3")
"""Formats, and the pair of formats, whose MAC is measured; ``make speed`` measures more of them, on more targets."""
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
_INTO: dict[str, Any] = {"accumulator": REPORT_ACCUMULATOR}
_BOTH: dict[str, Any] = {"optimize": GOALS}


def mac(name: str, goal: str, **options: Any) -> Design:
    """A MAC of the study, built for area or for speed."""
    return build("mac", name, **_INTO | {"optimize": goal} | options)


@dataclass(frozen=True)
class Speeds(Study):
    """The study of speed."""

    file: ClassVar[Path] = Path(report.__file__).with_name("speeds.json")
    families: ClassVar[Sequence[Family]] = (
        Family("mac", FORMATS, _INTO | _BOTH, portfolio=SPEED),
        *(Family("mac", (VARIED,), _INTO | options | _BOTH, portfolio=SPEED) for options in OTHERS),
        *(Family(block, (name,), options | _BOTH, portfolio=SPEED) for block, name, options in BLOCKS),
    )
