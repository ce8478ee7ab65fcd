"""The chapter on training: what the papers claim, losses against the area of MACs, and what operands lose."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from synth.area.targets import TARGETS
from synth.report import charts
from synth.report.chapters.accuracy import best_formats
from synth.report.figures import Figure, counted, have_spreads, listing, number
from synth.report.sections import Cell, Section, figure_cell, number_cell, spread_cell
from synth.report.training import claims
from synth.report.training.claims import NOT_REPRODUCED, OWN, REPRODUCED
from synth.report.training.plan import BASE, PLANS, SEEDS, TARGET, mac
from synth.report.training.policy import GRADIENT, KINDS, TENSOR, UNSCALED, Policy
from synth.report.training.results import ACCURACY, LOSS, Study, Task, Trained, code_hash

TITLE = "Training in these formats, and the papers' claims about it"
NO_FILE = (
    "This report has no results on training: the documentation has none yet. make study trains the networks and writes "
    "the results to build/study.json, which --study accepts."
)
_OLD = (
    "The code or the policies of the study, the reference model or NumPy have changed since these networks were "
    "trained."
)
_DIVERGED = "diverged"
_SCALED, _PAIR, _UNSCALED = "hif8, adaptive", "e4m3/e5m2, tensor", "hif8"
"""Policies that the first page names: HiF8 as its paper trains it, FP8 with scales of tensors, and HiF8 without one."""
_OWN = "this study's own questions"
_OWN_WORDS = {REPRODUCED: ("holds", "hold"), NOT_REPRODUCED: ("does not hold", "do not hold")}
"""Verdicts on questions that no paper answers: of one, and of several."""
_TITLES = {
    "characters": "characters (a transformer, next character of a text)",
    "letters": "letters (a tiny transformer, for tests)",
    "digits": "digits (a convolutional network)",
    "range": "range (losses weighted from 1 to 2^-40)",
}


def section(study: Study | None, formats: Sequence[str] = ()) -> Section:
    """Verdicts, and for each task charts and a table; a sentence if there are no results.

    The report's ``formats`` that no policy has are named.
    """
    if study is None:
        return Section("training", TITLE, NO_FILE)
    section = Section(
        "training",
        TITLE,
        "Small networks are trained with all products of their layers computed bit for bit as hardware computes them, "
        "in the formats and the accumulator of a policy; figures and verdicts are about these tasks, which are far "
        "smaller than the papers'.",
        note="A loss is that of test data, compared with training in binary32 from the same seed, which has the same "
        f"first weights and batches; its spread is that of {counted(len(study.seeds), 'seed')}. docs/study.md "
        "describes the tasks. Versions: "
        f"{listing([f'{name} {text}' for name, text in study.versions.items()])}.",
        command="make study",
    )
    if not is_current(study):
        section.warning = _OLD
        section.find(f"{_OLD} make study trains them again.")
    if _is_shorter(study):
        text = "These networks were trained from fewer seeds, or in fewer iterations, than the study has: no verdicts."
        section.find(text)
    else:
        _claims(section, study)
        _trained(section, study)
    policies = [trained.policy for task in study.tasks.values() for trained in task.policies.values()]
    used = {policy.operand(kind).fmt for policy in policies if policy and policy.is_quantized for kind in KINDS}
    names = [name for name in formats if not set(name.split("+")) <= used]
    section.name_missing(names, (), "A policy in synth/report/training/plan.py")
    for task in study.tasks.values():
        _task(section, study, task)
    return section


def is_current(study: Study) -> bool:
    """Whether the program and the plans of today would give the same results; data are fixed by the program."""
    plans = {plan.task: (plan.iterations, [*plan.policies]) for plan in PLANS}
    trained = {
        task.name: (task.iterations, [item.policy for item in task.policies.values() if item.policy])
        for task in study.tasks.values()
    }
    return trained.items() <= plans.items() and code_hash() in (None, study.program)


def _is_shorter(study: Study) -> bool:
    """Whether there are too few seeds or iterations for verdicts."""
    planned = {plan.task: plan.iterations for plan in PLANS}
    is_shorter = (task.iterations < planned.get(task.name, math.inf) for task in study.tasks.values())
    return len(study.seeds) < len(SEEDS) or any(is_shorter)


# -- claims


def _claims(section: Section, study: Study) -> None:
    """A row for each claim whose policies were trained."""
    body, counts = [], dict[str, Counter[str]]()
    for claim in claims.CLAIMS:
        task = study.tasks.get(claim.task)
        judged = None if task is None else claims.verdict(claim, task)
        if task is None or judged is None:
            continue
        form = "what would follow from claims" if claim.here else "claims as they are"
        origin = _OWN if claim.source == OWN else f"{claim.source.partition(',')[0]}, {form}"
        counts.setdefault(origin, Counter())[judged.text] += 1
        compared = f"loss of {claim.first} is {claim.relation} that of {claim.second}"
        excesses = (spread_cell(task.excess(name), _excess) for name in (claim.first, claim.second))
        statement = f"{claim.text} Checked here: {claim.here}." if claim.here else claim.text
        text = _OWN_WORDS.get(judged.text, (judged.text,))[0] if claim.source == OWN else judged.text
        bounds = f"{_excess(judged.mean)} ({_excess(judged.low)} to {_excess(judged.high)})"
        judgement = Cell(text, "" if math.isnan(judged.mean) else bounds)
        body.append((Cell(statement, claim.source), Cell(claim.task, compared), *excesses, judgement))
    for origin, texts in counts.items():
        shares = [
            f"{texts[text]} {_OWN_WORDS.get(text, (text,) * 2)[texts[text] > 1] if origin == _OWN else text}"
            for text in (REPRODUCED, NOT_REPRODUCED, claims.INSIDE, claims.ONE_SEED, claims.BOTH_DIVERGED)
            if texts[text]
        ]
        section.find(f"Training, {origin}: {listing(shares)}.")
    if not body:
        return
    note = (
        "Below a verdict is how far the first loss is above the second: the mean over the seeds and two bounds; the "
        "true mean is beyond each of them with a probability of 5%. Losses are the same, or no higher, if both bounds "
        f"are within {claims.MARGIN:.0%}, and lower if both are by more than that. “Lower” is not reproduced if both "
        "bounds are higher, the others if both are beyond the margin; otherwise a claim is inside the spread, which is "
        "no evidence for it or against it. One or two of these verdicts may be due to chance."
    )
    head = ("claim", "task, and what is compared", "first loss", "second loss", "verdict")
    section.table("The papers' claims about training, and verdicts", head, body, note)


def _trained(section: Section, study: Study) -> None:
    """Whether HiF8 and FP8 train: their losses with scales, and HiF8's without one against FP8's."""
    tasks = [(name, task) for name in (_SCALED, _PAIR) for task in study.tasks.values() if name in task.policies]
    texts = []
    for name, task in tasks:
        each = task.excess(name)
        spread = f"{_excess(each.low)} to {_excess(each.high)}"
        texts.append(f"“{name}” in {task.name} {_excess(each.median)} ({spread}; {against_base(task, name)})")
    if not texts:
        return
    seeds = counted(len(study.seeds), "seed")
    text = f"Test loss with scales above that of {BASE}, median and range of {seeds}: {listing(texts)}."
    answers: dict[str, list[str]] = {}
    for claim in claims.CLAIMS:
        where = study.tasks.get(claim.task)
        judged = claims.verdict(claim, where) if where and (claim.first, claim.second) == (_UNSCALED, _PAIR) else None
        if judged:
            words = _OWN_WORDS.get(judged.text, (judged.text,))[0]
            mean = "" if math.isnan(judged.mean) else f" ({_excess(judged.mean)})"
            answers.setdefault(claim.text.rstrip("."), []).append(f"{words} in {claim.task}{mean}")
    section.find(" ".join([text, *(f"“{claim}”: {listing(known)}." for claim, known in answers.items())]), "Training")


def against_base(task: Task, name: str) -> str:
    """Whether a policy's loss is no higher than that of binary32, in words."""
    claim = claims.Claim("", OWN, task.name, name, claims.Relation.NO_HIGHER, BASE)
    judged = claims.verdict(claim, task)
    text = judged.text if judged else ""
    return {REPRODUCED: "no higher", NOT_REPRODUCED: "higher"}.get(text, text)


def _excess(value: float) -> str:
    return f"{value:+.1%}" if math.isfinite(value) else _DIVERGED


# -- tasks


def _task(section: Section, study: Study, task: Task) -> None:
    """Plots and a table of a task."""
    title = _TITLES.get(task.name, task.name)
    found = {name: study.area(mac(trained.policy)) for name, trained in task.policies.items()}
    areas = {name: area for name, area in found.items() if area}
    _area_charts(section, task, areas)
    _history_plot(section, task)
    body = []
    for name, trained in task.policies.items():
        row = [
            Cell(name, _choices(trained.policy)),
            _loss_cell(task.figure(name, LOSS), ".3g"),
            Cell("") if name == BASE else spread_cell(task.excess(name), _excess),
            *(_loss_cell(task.figure(name, other), ".1%" if other == ACCURACY else ".2g") for other in task.others),
            *(_lost_cell(trained, kind) for kind in KINDS),
            number_cell(max(trained.skipped), "d") if trained.history else Cell("–"),
            figure_cell(areas.get(name)),
        ]
        body.append(tuple(row))
    head = (
        "policy",
        "loss",
        "above binary32",
        *task.others,
        *(f"{kind}s lost" for kind in KINDS),
        "skipped",
        f"MAC, {TARGETS[TARGET].title} [{TARGETS[TARGET].unit}]",
    )
    note = (
        f"{task.parameters:,} parameters, {task.iterations:,} iterations of {task.batch}. Lost: the largest share of "
        "operands other than zero that became zero, and that were out of range, in one of the recorded iterations of "
        "the first seed, skipped ones included. Skipped: iterations whose gradients were not used, because they "
        "overflowed; in the seed with the most. The area is that of one MAC for all products, which selects between "
        "two formats by pins; scaling is not part of it."
    )
    section.table(f"Policies, {title}", head, body, note)


def _choices(policy: Policy | None) -> str:
    """Formats of activations, weights and gradients, accumulator and scaling."""
    if policy is None or not policy.is_quantized:
        return ""
    operands = map(policy.operand, KINDS)
    formats = " / ".join(" ".join(filter(None, (operand.fmt, operand.rounding))) for operand in operands)
    names = {UNSCALED: "unscaled", TENSOR: "scales of tensors"}
    return f"{formats}, {policy.accumulator}, {names.get(policy.scaling, f'scale of the loss: {policy.scaling}')}"


def _loss_cell(value: Figure, digits: str) -> Cell:
    return spread_cell(value, lambda loss: f"{loss:{digits}}" if math.isfinite(loss) else _DIVERGED)


def _lost_cell(trained: Trained, kind: str) -> Cell:
    lost = trained.lost(kind)
    return Cell("–") if lost is None else number_cell(lost[0], ".1%", f"{lost[1]:.1%} out of range")


def _area_charts(section: Section, task: Task, areas: Mapping[str, Figure]) -> None:
    """Loss above binary32's against area, for each accumulator, of the policies that have both."""
    by_accumulator: dict[str, dict[str, Figure]] = {}
    for name in areas:
        policy = task.policies[name].policy
        if policy is not None:
            by_accumulator.setdefault(policy.accumulator, {})[name] = task.excess(name)
    for accumulator, excess in by_accumulator.items():
        _area_chart(section, task, areas, accumulator, excess)


def _area_chart(
    section: Section, task: Task, areas: Mapping[str, Figure], accumulator: str, excess: Mapping[str, Figure]
) -> None:
    """The chart of an accumulator; none of fewer than two policies, of one seed or of one renaming."""
    finite = {name: value for name, value in excess.items() if math.isfinite(value.high)}
    if len(finite) < 2 or not have_spreads([*(areas[name] for name in finite), *finite.values()]):
        return
    edge = best_formats({name: areas[name] for name in finite}, {name: -value.median for name, value in finite.items()})
    unit = TARGETS[TARGET].unit
    best = [f"{name} ({_excess(finite[name].median)}, {number(areas[name].median)} {unit})" for name in edge]
    others = [name for name in excess if name not in finite]
    caption = f"No other policy has both a smaller MAC and a lower median loss than {listing(best)}."
    caption += f" Not in the chart, because a loss was not finite: {listing(others)}." if others else ""
    points = {name: [(value.over(0.01), areas[name])] for name, value in finite.items()}
    labels = "loss above binary32's [%]", f"area of the MAC [{unit}]"
    policies = {name: task.policies[name].policy for name in points}
    scaled = [name for name, policy in policies.items() if policy and policy.scaling != UNSCALED]
    least, title = [point for name in edge for point in points[name]], f"Loss against area: {task.name}, {accumulator}"
    chart = charts.fronts(points, least, title, *labels, hollow=scaled, are_losses=True)
    section.chart_finding(f"{caption} Open marks: policies with scaling.", chart)


def _history_plot(section: Section, task: Task) -> None:
    """Shares of gradients that became zero, over iterations."""
    series = {
        name: {
            point["iteration"]: Figure.exact(point["lost"][GRADIENT][0])
            for point in trained.history
            if GRADIENT in point["lost"]
        }
        for name, trained in task.policies.items()
    }
    shown = {name: shares for name, shares in series.items() if len(shares) > 1}
    if not shown:
        return
    picture = charts.lines(shown, f"Gradients that became zero: {task.name}", "iteration", "", are_shares=True)
    section.chart("Of all gradients other than zero, those that became zero; first seed.", picture)
