"""The areas in README: MACs and multipliers of the report's formats. A report shows them until it has its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from synth.area.targets import TARGETS
from synth.report.plan import BESIDE, FORMATS, REPORT_ACCUMULATOR, WIDTH_STUDY, registered
from synth.studies.family import Family
from synth.studies.study import Study


@dataclass(frozen=True)
class Areas(Study):
    """The best row of each design and target, from a report; the file is part of the clone alone."""

    file: ClassVar[Path] = Path(__file__).resolve().parents[2] / "docs" / "results.json"
    families: ClassVar[Sequence[Family]] = (
        Family("mac", FORMATS, {"accumulator": REPORT_ACCUMULATOR}, tuple(TARGETS)),
        Family("multiplier", FORMATS, targets=tuple(TARGETS)),
        *registered(WIDTH_STUDY),
        *BESIDE,
    )
