"""Write the figures in README and docs: from docs/results.json, the studies' files, and :mod:`golden.accuracy`.

Usage: python -m synth.studies.readme [REPORT.json]: with a report, copy its figures to docs/results.json first.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import inf, isfinite
from operator import itemgetter
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from jinja2 import Template
from numpy.typing import NDArray

import golden
from golden.arithmetic.blocks import MX, POLICIES, default_policy, element_exponent
from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from hwgen.datapath.goal import GOALS, SPEED
from synth.area.figures import Figure, counted, number, ranked
from synth.area.rows import Row
from synth.area.targets import TARGETS
from synth.report import load
from synth.report.chapters import blocks, energy, speed, training
from synth.report.chapters import references as beside
from synth.report.measured import Measured
from synth.report.plan import FORMATS, REPORT_ACCUMULATOR
from synth.report.sections import Table, table
from synth.report.training.results import Study
from synth.report.write import markdown
from synth.studies import fast
from synth.studies.areas import Areas
from synth.studies.dots import ACCUMULATORS, FORMAT, FORMAT_ACCUMULATORS, LANES, OPERANDS, STEP, TITLES, Dots, dot
from synth.studies.energies import Energies
from synth.studies.family import Point
from synth.studies.fast import Limit, front, limits
from synth.studies.references import EXACT, References, unit
from synth.studies.script import status
from synth.studies.speeds import BLOCKS, Speeds
from synth.studies.study import text_of

ROOT = Path(__file__).resolve().parents[2]
PICTURE = Path("docs/mac_area.svg")
README, ACCURACY, DOT = Path("README.md"), Path("docs/accuracy.md"), Path("docs/dot.md")
QUANTIZER = Path("docs/quantizer.md")
STUDY, FAST, ENERGY = Path("docs/study.md"), Path("docs/fast.md"), Path("docs/energy.md")
CHOOSE, ACCUMULATION = Path("docs/choose.md"), Path("docs/accumulation.md")
SUMS = ROOT / "docs/accumulation.json"
"""What ``examples/accumulation.py`` writes."""
_BEGIN, _END = "<!-- figures -->\n", "<!-- end of figures -->\n"

_TABLE_1 = ("binary32", "binary16", "bfloat16", "dlfloat16", "gc_1_5_2_b15", "gc_1_4_3_b7", "gc_1_3_4_b3")
"""Rows of the Graphcore paper's Table 1."""
_ACCURACY_FORMATS = (*(name for name in FORMATS if "+" not in name), "gc_1_0_7_b0")
"""The single formats of the report, and the scaled integer."""
_SCALES = range(-16, 17, 4)
_MANY = 32
"""Lanes besides those of :data:`STEP` with which rules of accumulation are compared."""
_TASK, _POLICY = "digits", "hif8, adaptive"
"""The task and the policy that was trained with several accumulators."""
_MANY = 32
"""Lanes with which rules of accumulation are compared besides :data:`STEP`."""
_TASK, _POLICY = "digits", "hif8, adaptive"
"""The policy that was trained with several accumulators."""
_CHOSEN = ("hif8", "ocp_e4m3")
"""The formats whose accumulators are compared."""
_SKY130 = """\
Sky130 (high density, typical corner), timed by OpenSTA without wires and loads: medians of four renamings, and the
netlist of the module as emitted, built for speed, by `depth_map`, whose limit `make fast` checks where it finds the
library:"""


def results(rows: Iterable[Row]) -> dict[str, Any]:
    """The part of a report that docs/results.json keeps: plain blocks into the report's accumulator."""
    best = {(row.name, row.place): [row] for row in rows if row.is_best}
    keys = {label: (point.design.name, point.target) for label, point in Areas.labelled().items()}
    return Areas.packed({label: best[key] for label, key in keys.items() if key in best})


def picture(data: Measured) -> str:
    """MAC area by format on NAND2-equivalent gates, as SVG."""
    macs = data.part("mac", "gates")
    most = max(value.high for value in macs.values())
    rows = [(name, number(macs[name].median), *_share(macs[name], most)) for name in ranked(macs)]
    text = Path(__file__).with_name("mac_area.svg").read_text(encoding="utf-8")
    template = Template(text, trim_blocks=True, lstrip_blocks=True)
    return template.render(title=f"MAC into {REPORT_ACCUMULATOR}, area in NAND2 equivalents", rows=rows) + "\n"


def _share(value: Figure, most: float) -> tuple[float, ...]:
    """Median, smallest and largest sample as shares of the width of a picture."""
    return tuple(round(each / most, 4) for each in (value.median, value.low, value.high))


def section(data: Measured) -> str:
    """The lines of README between its markers."""
    macs, first = data.parts("mac"), data.rows[0]
    head = ("format", *(data.columns[name].head for name in macs), f"multiplier alone [{TARGETS['cyclonev'].unit}]")
    text = (
        f"Area of a fused multiply-accumulate unit (MAC) into {REPORT_ACCUMULATOR}, by format: the lowest median over "
        f"several synthesis scripts (recipes), each run {first.renamings} times with other signal names (renamings). "
        "Small figures are the spread, the smallest and the largest result of that recipe. Synthesis is by "
        f"{first.tool}; ALMs are estimated, and nothing is placed and routed."
    )
    image = f"![Area of the MAC by format, in NAND2 equivalents]({PICTURE})"
    columns = [*macs.values(), data.part("multiplier", "cyclonev")]
    rows = ((name, *(_cell(column[name]) for column in columns)) for name in ranked(columns[0]))
    return _paragraphs(fill(text, 120), image, table("", head, rows))


def references(data: References, areas: Measured) -> str:
    """The lines of README on int8, binary16 and bfloat16 beside other formats."""
    text = fill(beside.sentence(data, areas), 120)
    return "\n" + _paragraphs(text, beside.differences(data, areas), beside.units(data))


def _cell(value: Figure) -> str:
    return number(value.median) if value.low == value.high else f"{number(value.median)} <sub>{value.spread}</sub>"


def _paragraphs(*parts: str | Table) -> str:
    texts = "\n\n".join(part if isinstance(part, str) else markdown(part) for part in parts).split("\n\n")
    return "\n\n".join(text if text[0] in "|*" or "\n" in text else fill(text, 120) for text in texts) + "\n"


def accuracy() -> str:
    """The lines of docs/accuracy.md between its markers, from :mod:`golden.accuracy`."""
    ranges = [(name, f"{golden.dynamic_range(name):.1f}", f"{golden.model_snr(name):.1f}") for name in _TABLE_1]
    best, scaled = [], []
    for name in _ACCURACY_FORMATS:
        scales = (golden.best_scale(name, distribution) for distribution in golden.DISTRIBUTIONS)
        cells = (f"{snr:.1f} at 2^{exponent}" for exponent, snr in scales)
        best.append((name, f"{golden.dynamic_range(name):.1f}", *cells))
        ratios = golden.quantization_snr(name, [2.0**e for e in _SCALES]).tolist()
        scaled.append((name, *(f"{ratio:.1f}" for ratio in ratios)))
    bits = [(name, _bits(name)) for name in _ACCURACY_FORMATS]
    exponents = [f"2^{e}" for e in _SCALES]
    title = "Dynamic range, and SNR on data at the best power-of-two scale σ, in dB."
    figure_1 = "Significand bits over exponents, as in Figure 1 of the HiFloat8 paper."
    return _paragraphs(
        table("Table 1 of the Graphcore paper, in dB: as printed, all rows.", ("format", "D", "SNR"), ranges),
        table(title, ("format", "dynamic range", *golden.DISTRIBUTIONS), best),
        table("SNR on Gaussian data over the scale σ, in dB.", ("format", *exponents), scaled),
        table(figure_1, ("format", "bits: exponents"), bits),
    )


def policies() -> str:
    """The lines of docs/quantizer.md between its markers: signal-to-noise ratios of blocks by policy, from samples.

    Formats with the same ratios share their rows.
    """
    rng, shape = np.random.default_rng(0), (1024, 32)
    samples = {
        "Gaussian": rng.normal(size=shape),
        "Laplace": rng.laplace(size=shape),
        "Student t3": rng.standard_t(3, shape),
    }
    names: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    signed = [fmt for fmt in map(golden.get, golden.names()) if fmt.signed]
    for fmt in sorted(signed, key=lambda fmt: fmt.name not in MX):
        rows = tuple((data, *_ratios(fmt, sample.astype(np.float32))) for data, sample in samples.items())
        names.setdefault(rows, []).append(f"`{fmt.name}`")
    lines = [(", ".join(same), *row) for rows, same in names.items() for row in rows]
    head = ("elements", "data", *(f"`{policy}`" for policy in POLICIES), "best of each block")
    title = "Signal-to-noise ratio of 1024 random blocks of 32 numbers with e8m0 scales, in dB; bold: the default."
    return _paragraphs(table(title, head, lines))


def _ratios(fmt: golden.Format, x: NDArray[np.float32]) -> Iterator[str]:
    """Signal-to-noise ratios of blocks by each policy, and by the best power of two for each block."""
    numbers, binades = x.astype(np.float64), np.frexp(np.abs(x).max(axis=-1, keepdims=True))[1]
    blocks = [golden.dequantize_block(*golden.quantize_block(x, fmt, policy=policy), fmt) for policy in POLICIES]
    noise = [float(((block - numbers) ** 2).sum()) for block in blocks]
    top = element_exponent(fmt)
    powers = [binades - exponent for exponent in range(top - 3, top + 6)]
    scaled = [(fmt.codes(np.ldexp(x, -power), overflow="saturate"), power) for power in powers]
    errors = [((np.ldexp(fmt.decode(codes), power) - numbers) ** 2).sum(axis=-1) for codes, power in scaled]
    noise.append(float(np.min(errors, axis=0).sum()))
    for policy, power in zip((*POLICIES, None), noise, strict=True):
        ratio = f"{10 * np.log10(float((numbers**2).sum()) / power):.1f}"
        yield f"**{ratio}**" if policy == default_policy(fmt) else ratio


def _bits(name: str) -> str:
    """Runs of exponents with the same number of bits."""
    pairs = zip(*(column.tolist() for column in golden.significand_bits(name)), strict=True)
    runs = [list(run) for _, run in groupby(pairs, key=itemgetter(1))]
    return ", ".join(f"{run[0][1]}: {run[0][0]}" + (f" to {run[-1][0]}" if run[1:] else "") for run in runs)


def dots(data: Dots) -> str:
    """The lines of docs/dot.md between its markers: area per product by lanes and accumulator."""
    numbers = LANES["gates"]
    head = (f"{FORMAT}, NAND2 per product", *(counted(lanes, "lane") for lanes in numbers))
    rows = ((name, *(data.area(dot(FORMAT, name, lanes), lanes).median for lanes in numbers)) for name in ACCUMULATORS)
    return _paragraphs(table("", head, rows))


def accumulators(data: Dots, areas: Measured) -> str:
    """The lines of docs/choose.md between its markers: dot products by accumulator, and units with its register."""
    head = (f"dot product of {STEP} lanes into", *(f"{name} [NAND2 per product]" for name in _CHOSEN))
    rows = ((name, *(_cell(data.area(dot(fmt, name, STEP), STEP)) for fmt in _CHOSEN)) for name in FORMAT_ACCUMULATORS)
    return _paragraphs(table("", head, rows), fill(" ".join(blocks.registered(areas)), 120))


def accumulation(sums: Mapping[str, Any], areas: Dots, timed: Speeds, used: References, trained: Study | None) -> str:
    """The lines of docs/accumulation.md between its markers: what each rule costs, and ratios of sums by rule."""
    ratios = {tuple(key): [*map(_decibels, samples)] for *key, samples in sums["errors"]}
    summed = [*dict.fromkeys(rule for *_, rule in ratios)]
    rules, losses = (EXACT, *(rule for rule in summed if rule != OPERANDS)), _losses(trained)
    costs = [(rule, *_costs(rule, areas, timed, used), losses.get(rule, "–")) for rule in rules]
    lanes = [counted(each, "lane") for each in (STEP, _MANY)]
    head = [f"{name}, {each}" for name in ("NAND2", "FO4", "C·V²") for each in lanes]
    title = f"{FORMAT}: area and energy per product, shortest delay; loss in training above that in binary32."
    tables = [table(title, ("rule", *head, "loss"), costs)]
    columns = [*(f"K = {terms:,}" for terms in sums["terms"]), f"{sums['terms'][-1]:,}, {lanes[1]}"]
    for fmt, data in dict.fromkeys((fmt, data) for fmt, data, *_ in ratios):
        both = ((rule, *ratios[fmt, data, STEP, rule], ratios[fmt, data, _MANY, rule][-1]) for rule in summed)
        title = f"{fmt}, {TITLES[data]}: signal-to-noise ratio of sums of K products in dB, {lanes[0]}."
        tables.append(table(title, ("rule", *columns), both))
    return _paragraphs(*tables)


def _costs(rule: str, areas: Dots, timed: Speeds, used: References) -> list[str]:
    """Area per product, shortest delay and energy per product of a rule's dot products, where they were measured."""
    found: list[list[Figure | None]] = []
    for lanes in (STEP, _MANY) if "," not in rule else ():  # chunks and random words need more than a dot product
        design, power = dot(FORMAT, rule, lanes), unit(FORMAT, rule, lanes, registers=False)
        points = speed.points(row for row in timed.rows if row.name in (design.name, f"{design.name}_{SPEED}"))
        found.append(
            [
                areas.area(design, lanes) if areas.curve(Point(design)) else None,
                min((point.time for point in points), key=lambda time: time.median, default=None),
                used.figure(power).over(lanes) if used.curve(power) else None,
            ]
        )
    return ["–" if each is None else _cell(each) for kind in zip(*found, strict=True) for each in kind] or ["–"] * 6


def _losses(trained: Study | None) -> dict[str, str]:
    """Losses above that of binary32, by the accumulator of a policy."""
    if trained is None:
        return {}
    task = trained.tasks[_TASK]
    known = {name: each.policy for name, each in task.policies.items() if each.policy}
    base = known[_POLICY]
    same = [name for name in known if replace(known[name], name=base.name, accumulator=base.accumulator) == base]
    found = {known[name].accumulator: task.excess(name) for name in same}
    return {name: f"{each.median:+.1%} <sub>{each.low:+.1%} to {each.high:+.1%}</sub>" for name, each in found.items()}


def _decibels(ratios: Sequence[float | None]) -> str:
    """The median with its spread; sums without any error are exact."""
    figure = Figure.of([inf if ratio is None else ratio for ratio in ratios])
    values = figure.median, figure.low, figure.high
    median, low, high = (f"{round(each)}" if isfinite(each) else EXACT for each in values)
    return median if low == high else f"{median} <sub>{low} to {high}</sub>"


def speeds(data: Speeds, timed: Sequence[Row]) -> str:
    """The lines of docs/fast.md between its markers: areas within the delays of limits, the ends of each curve, and
    delays in ns, from the rows ``timed``.
    """
    tables: list[Table] = []
    bounded = [limit for limit in limits() if max(limit.within)[1] < inf]
    for delays, group in groupby(bounded, lambda limit: tuple(delay for delay, _ in limit.within)):
        areas = [(f"`{limit.format}`", *(_within(limit, data, delay) for delay in delays)) for limit in group]
        tables.append(table("", ("NAND2", *(f"within {number(delay)} FO4" for delay in delays)), areas))
    macs = [(f"`{limit.format}`,", limit.options, limit.designs()) for limit in limits()]
    others = [
        (f"`{block} --format {name}`", options, [build(block, name, optimize=goal, **options) for goal in GOALS])
        for block, name, options in BLOCKS
    ]
    head = [f"built for {goal}: {end}" for goal in GOALS for end in ("fastest", "smallest")]
    for noun, lines in (("MAC", macs), ("block", others)):
        ends = []
        for name, options, designs in lines:
            words = (f"`--{option.replace('_', '-')} {value}`" for option, value in options.items())
            ends.append((" ".join((name, *words)).removesuffix(","), *_corners(designs, data)))
        tables.append(table("", (noun, *head), ends))
    columns, *times = fast.table_rows(timed)
    return _paragraphs(*tables, _SKY130, table("", columns, times))


def _corners(designs: Iterable[Design], data: Speeds) -> list[str]:
    """Delay and area of the fastest and of the smallest netlist of each design."""
    ends = (end for design in designs for curve in [front(design, data)] for end in (curve[0], curve[-1]))
    return [f"{number(end.delay)} FO4, {number(end.area.median)}" for end in ends]


def _within(limit: Limit, data: Speeds, delay: float) -> str:
    """The smallest area within a delay, with a star if that MAC is built for area."""
    met = fast.best(limit, data, delay)
    return f"{number(met[1].area.median)}{'' if 'optimize' in met[0].options else '*'}" if met else "–"


def energies(data: Energies) -> str:
    """The lines of docs/energy.md between its markers: energies at both ends of each curve."""
    curves = energy.curves(data, ()).items()
    rows = (speed.ends(name, curve, "FO4", curve[0].area.unit) for name, curve in curves)
    title = f"MAC into {REPORT_ACCUMULATOR}: energies at both ends, {TARGETS['gates'].title}"
    return _paragraphs(table(title, ("MAC", *speed.ENDS), rows))


def study(data: Study | None) -> str:
    """The lines of docs/study.md between its markers: verdicts, and the policies of each task."""
    chapter = training.section(data)
    findings = "\n".join(fill(f"* {finding.text}", 120) for finding in chapter.findings)
    texts = [fill(chapter.intro, 120), fill(chapter.note, 120), *([findings] if findings else [])]
    return _paragraphs(*texts, *chapter.tables)


def _insert(page: Path, text: str) -> None:
    before, _, rest = (ROOT / page).read_text(encoding="utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    (ROOT / page).write_text(f"{before}{_BEGIN}{text}{_END}{after}", encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    """Rewrite the picture and the sections of README and docs; with a report's path, the data file first."""
    if arguments:
        rows = load.sweep(arguments[0], "REPORT.json").rows
        Areas.file.write_text(text_of(results(rows)), encoding="utf-8")
    data = Measured(load.areas(), FORMATS)
    (ROOT / PICTURE).write_text(picture(data), encoding="utf-8")
    _insert(README, section(data) + references(load.references(), data))
    _insert(ACCURACY, accuracy())
    _insert(QUANTIZER, policies())
    _insert(DOT, dots(load.dots()))
    _insert(CHOOSE, accumulators(load.dots(), data))
    _insert(STUDY, study(load.study()))
    sums = json.loads(SUMS.read_bytes())
    _insert(ACCUMULATION, accumulation(sums, load.dots(), load.speeds(), load.references(), load.study()))
    _insert(FAST, speeds(load.speeds(), fast.Sky130.load().rows))
    _insert(ENERGY, energies(load.energies()))


if __name__ == "__main__":
    sys.exit(status("readme", lambda: main(sys.argv[1:])))
