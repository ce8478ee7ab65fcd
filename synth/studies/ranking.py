"""Measures all formats twice, under different renamings, and compares the two rankings: decode and multiply, and MACs.

Usage: python -m synth.studies.ranking [--liberty FILE]... prints Markdown. The exit status is 1 if the runs rank a pair
of formats in opposite orders or a measurement fails, and 2 for bad input. A pair that only one run ranks is counted.
"""

import sys
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise, permutations, product
from typing import NamedTuple

from golden import Format
from golden.refusal import BadValue
from hwgen.blocks.arguments import code_format
from hwgen.blocks.catalog import build
from hwgen.tools.progress import Progress
from synth.area.figures import Figure, listing, number, ranked
from synth.area.jobs import Job
from synth.area.liberty import Libraries
from synth.area.liberty import read_all as read_libraries
from synth.area.plan import area_jobs
from synth.area.recipes import DEFAULT_PORTFOLIO
from synth.area.rows import Row
from synth.area.runner import LocalPool
from synth.area.store import Store, verilog
from synth.area.targets import LIBERTY, TARGETS
from synth.report.measured import Measured
from synth.report.plan import FORMATS, PARTS
from synth.studies import study
from synth.studies.script import parser, status

MEASURED = ("multiplier", "mac")
Pair = tuple[str, str]


def ranked_pairs(figures: Mapping[str, Figure]) -> set[Pair]:
    """Pairs in which every sample of the first format is below every sample of the second."""
    return {(a, b) for a, b in permutations(figures, 2) if figures[a].below(figures[b])}


def order(figures: Mapping[str, Figure]) -> str:
    """The formats from small to large; ``=`` stands between neighbours whose spreads meet."""
    names = ranked(figures)
    signs = ["", *(" < " if figures[before].below(figures[name]) else " = " for before, name in pairwise(names))]
    return "".join(f"{sign}{name} {number(figures[name].median)}" for sign, name in zip(signs, names, strict=True))


class Agreement(NamedTuple):
    """Number of pairs: all, ranked alike in both runs, ranked in a single run, ranked in opposite orders."""

    pairs: int
    both: int
    single: int
    contradicted: int

    @property
    def text(self) -> str:
        """The counts as a phrase."""
        counts = f"{self.both} ranked in both runs, {self.single} in one only, {self.contradicted} contradicted"
        return f"of {self.pairs} pairs {counts}"


def verdict(first: Mapping[str, Figure], second: Mapping[str, Figure]) -> tuple[str, Agreement]:
    """A sentence on one target, and its counts."""
    pairs, other = ranked_pairs(first), ranked_pairs(second)
    contradicted = sorted((a, b) for a, b in pairs if (b, a) in other)
    single = len(pairs ^ other) - 2 * len(contradicted)
    agreement = Agreement(len(first) * (len(first) - 1) // 2, len(pairs & other), single, len(contradicted))
    if not contradicted:
        return f"no ranking contradicted; {agreement.text}", agreement
    return f"contradicted: {listing([f'{a} < {b}' for a, b in contradicted])}; {agreement.text}", agreement


def document(runs: Sequence[Sequence[Row]], formats: Sequence[str], renamings: int) -> tuple[str, Agreement]:
    """Markdown that compares two runs, and the counts over all targets."""
    lines = [
        "# The ranking, twice",
        "",
        f"Each module is measured twice by {runs[0][0].tool}, each time under {renamings} renamings of its own. `<`: "
        "every sample on the left is below every sample on the right; `=`: the spreads meet; no difference is claimed.",
    ]
    counts = []
    data = [Measured(rows, formats) for rows in runs]
    for part, column in product(MEASURED, data[0].columns.values()):
        figures = [run.part(part, column.key) for run in data]
        shared = [name for name in formats if all(name in run for run in figures)]
        first, second = ({name: run[name] for name in shared} for run in figures)
        sentence, agreement = verdict(first, second)
        counts.append(agreement)
        lines += ["", f"**{PARTS[part]}, {column.head}: {sentence}.**", "", f"1. {order(first)}", f"2. {order(second)}"]
    total = Agreement(*map(sum, zip(*counts, strict=True)))
    result = "One run's rankings contradict the other's" if total.contradicted else "No ranking contradicted"
    lines += ["", f"{result}: {total.text}."]
    if data[0].columns.keys() <= TARGETS.keys():
        lines.append("No cell library was given.")
    return "\n".join(lines) + "\n", total


def jobs(formats: Mapping[str, Format], libraries: Libraries, renamings: int, seed: int, store: Store) -> list[Job]:
    """Jobs for both blocks of every format on every target and library."""
    designs = [build(part, fmt) for part, fmt in product(MEASURED, formats.values())]
    choices = (*TARGETS, LIBERTY), DEFAULT_PORTFOLIO, renamings, libraries, seed
    return [job for design in designs for job in area_jobs(design, verilog(design, store), *choices)]


def main() -> int:
    """Measure and print the document; return 1 if a ranking is contradicted, else 0."""
    options = parser(__doc__)
    text = "cell library; may be repeated"
    options.add_argument("--liberty", action="append", default=[], metavar="FILE[,FILE...]", help=text)
    options.add_argument("--renamings", type=int, default=4, metavar="N", help="renamings of each run (default: 4)")
    text = "first seeds of the runs (default: 1 1001)"
    options.add_argument("--seeds", type=int, nargs=2, default=(1, 1001), metavar="N", help=text)
    text = "formats to rank (default: the report's)"
    options.add_argument("--formats", default=",".join(FORMATS), metavar="F[,F...]", help=text)
    arguments = options.parse_args()
    first, second = sorted(arguments.seeds)
    if arguments.renamings < 2:
        raise BadValue("renamings", f"must be at least 2, because one has no spread, not {arguments.renamings}")
    if second - first < (least := arguments.renamings):
        problem = f"must be at least {least} apart, so that no renaming is in both runs, not {first} and {second}"
        raise BadValue("seeds", problem)
    formats = {fmt.name: fmt for fmt in (code_format("formats", name) for name in arguments.formats.split(","))}
    libraries = read_libraries(arguments.liberty)
    store = Store(arguments.store)
    with LocalPool() as pool:
        todo = (jobs(formats, libraries, arguments.renamings, seed, store) for seed in arguments.seeds)
        runs = [[*chain(*study.measured(run, pool, store, Progress()).values())] for run in todo]
    text, total = document(runs, list(formats), arguments.renamings)
    print(text, end="")
    return 1 if total.contradicted else 0


if __name__ == "__main__":
    sys.exit(status("ranking", main))
