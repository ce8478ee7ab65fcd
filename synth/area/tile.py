"""Area jobs of tiles: besides the figure, the registers, multipliers and memories of the netlist."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from synth.area.digest import fingerprint, sha256
from synth.area.jobs import Job
from synth.area.targets import Target

RESOURCES = {
    "ff": r"TRELLIS_FF|SB_DFF\w*|FD[RSCP]E(_1)?|MISTRAL_FF|\$_S?DFFE?_\w+|DFF\w*",
    "dsp": r"MULT18X18D|SB_MAC16|DSP48E1|MISTRAL_MUL\w+",
    "memory": r"TRELLIS_DPR16X4|DP16KD|SB_RAM40_4K\w*|RAM\w+|MISTRAL_(MLAB|M10K)",
}
"""Names of cells by resource: registers, multipliers, memories."""


@dataclass(frozen=True)
class TileJob(Job):
    """A tile measured on one target; its metrics have the numbers of cells of each of :data:`RESOURCES`."""

    @property
    def _place(self) -> Target:
        target = super()._place

        def measure(counts: Mapping[str, int], area: float) -> dict[str, float]:
            found = {
                name: sum(count for cell, count in counts.items() if re.fullmatch(cells, cell))
                for name, cells in RESOURCES.items()
            }
            return {**target.measure(counts, area), **found}

        return replace(target, measure=measure)

    @property
    def key(self) -> str:
        """See :class:`synth.area.jobs.Job`; other metrics need another key."""
        return sha256(super().key, fingerprint(__name__))
