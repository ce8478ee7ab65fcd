"""The chapter on training: what the papers claim, losses against the area of MACs, and what operands lose."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from synth.area.figures import Figure, comparable, counted, listing, number
from synth.area.rows import Row
from synth.area.targets import TARGETS
from synth.report import charts
from synth.report.chapters.accuracy import best_formats
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
_DIVERGED = "diverged"
_SCALED, _PAIR = "hif8, adaptive", "e4m3/e5m2, tensor"
"""Policies that the first page names: HiF8 as its paper trains it, and FP8 with scales of tensors."""
_OWN = "this study's own questions"
_OWN_WORDS = {REPRODUCED: ("holds", "hold"), NOT_REPRODUCED: ("does not hold", "do not hold")}
"""Verdicts on questions that no paper answers: of one, and of several."""
_TITLES = {
    "characters": "characters (a transformer, next character of a text)",
    "letters": "letters (a tiny transformer, for tests)",
    "digits": "digits (a convolutional network)",
    "range": "range (losses weighted from 1 to 2^-40)",
}


def section(study: Study | None, formats: Sequence[str] = (), rows: Iterable[Row] = ()) -> Section:
    """Verdicts, and for each task charts and a table; a sentence if there are no results.

    The report's ``formats`` that no policy has are named; where its ``rows`` have the area of a MAC, they count.
    """
    if study is None:
        return Section("training", TITLE, NO_FILE)
    fresh = {row.name: row for row in rows if row.is_best and row.place == TARGET and row.name in study.rows}
    study = replace(study, rows={**study.rows, **fresh})
    section = Section(
        "training",
        TITLE,
        "Small networks are trained with all products of their layers computed bit for bit as hardware computes them, "
        "in the formats and the accumulator of a policy; figures and verdicts are about these tasks, which are far "
        "smaller than the papers'.",
        note="A loss is that of test data, compared with training in binary32 from the same seed, which has the same "
        f"first weights and batches, as the mean over {counted(len(study.seeds), 'seed')} between two bounds; the true "
        "mean is beyond each of them with a probability of 5%. Scales: backoff is one for the loss, halved after an "
        "overflow; adaptive is the same, doubled at times that adapt; logmax sets it by the mean logarithm of the "
        "largest gradients; tensor is one for each operand. 1.4.3 and 1.5.2 are Graphcore's formats, 1-4-3 and 1-5-2 "
        "IBM's, and e5m2 is binary8p3. docs/study.md describes the tasks. Versions: "
        f"{listing([f'{name} {text}' for name, text in study.versions.items()])}.",
        command="make study",
    )
    if changes := changed(study):
        text = f"Changed since these networks were trained: {listing(changes)}. Whether results change is unknown "
        section.find(f"{text}until make study trains them again.")
    if _is_shorter(study):
        text = "These networks were trained from fewer seeds, or in fewer iterations, than the study has: no verdicts."
        section.find(text)
    else:
        _claims(section, study)
        _trained(section, study, changes)
    policies = [trained.policy for task in study.tasks.values() for trained in task.policies.values()]
    used = {policy.operand(kind).fmt for policy in policies if policy and policy.is_quantized for kind in KINDS}
    names = [name for name in formats if not set(name.split("+")) <= used]
    section.name_missing(names, (), "A policy in synth/report/training/plan.py")
    for task in study.tasks.values():
        _task(section, study, task)
    return section


def changed(study: Study) -> list[str]:
    """What is not as it was when the networks were trained; nothing if today's program would give the same results."""
    plans = {plan.task: (plan.iterations, [*plan.policies]) for plan in PLANS}
    trained = {
        task.name: (task.iterations, [item.policy for item in task.policies.values() if item.policy])
        for task in study.tasks.values()
    }
    changes = [] if trained.items() <= plans.items() else ["policies or iterations"]
    if code_hash() not in (None, study.program):
        then = study.versions.get("numpy")
        changes += [f"NumPy ({then} then)"] if then != np.__version__ else []
        changes += ["the reference model (golden) or the study's program (examples/training)"]
    return changes


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
        form = "consequences of claims" if claim.here else "claims as stated"
        origin = _OWN if claim.source == OWN else f"{claim.source.partition(',')[0]}, {form}"
        counts.setdefault(origin, Counter())[judged.text] += 1
        compared = f"loss of {claim.first} is {claim.relation} that of {claim.second}"
        excesses = (spread_cell(task.excess(name), _excess) for name in (claim.first, claim.second))
        statement = f"{claim.text} Checked here: {claim.here}." if claim.here else claim.text
        text = _OWN_WORDS.get(judged.text, (judged.text,))[0] if claim.source == OWN else judged.text
        judgement = Cell(text, "" if math.isnan(judged.mean) else _bounds(task.excess(claim.first, claim.second)))
        body.append((Cell(statement, claim.source), Cell(claim.task, compared), *excesses, judgement))
    verdicts = [f"{origin}: {_shares(texts, origin == _OWN)}" for origin, texts in counts.items()]
    section.find(f"Verdicts: {'; '.join(verdicts)}." if verdicts else "")
    if not body:
        return
    note = (
        "Below a verdict is how far the first loss is above the second: the mean and two bounds. Losses are the same, "
        f"or no higher, if both bounds are within {claims.MARGIN:.0%}, and lower if both are by more than it. “Lower” "
        "is not reproduced if both bounds are higher, the others if both are beyond the margin; otherwise a claim is "
        "undecided, and bounds within the margin then say that a difference, if there is any, is smaller than it. One "
        "or two of these verdicts may be due to chance."
    )
    head = ("claim", "task, and what is compared", "first loss", "second loss", "verdict")
    section.table("The papers' claims about training, and verdicts", head, body, note)


def _shares(verdicts: Mapping[str, int], is_own: bool) -> str:
    """How often there is each verdict, in words."""
    words = {text: _OWN_WORDS.get(text, (text, text)) if is_own else (text, text) for text in verdicts}
    order = (REPRODUCED, NOT_REPRODUCED, claims.UNDECIDED, claims.ONE_SEED, claims.BOTH_DIVERGED)
    return listing([f"{verdicts[text]} {words[text][verdicts[text] > 1]}" for text in order if verdicts.get(text)])


def _trained(section: Section, study: Study, changes: Sequence[str]) -> None:
    """Whether HiF8 and FP8 train: their losses with scales, and verdicts on all claims that compare the two."""
    losses, missing = dict[str, int](), []
    for task in study.tasks.values():
        known = [name for name in (_SCALED, _PAIR) if name in task.policies]
        texts = [f"“{name}” {_bounds(task.excess(name))}, {against_base(task, name)}" for name in known]
        missing += [f"“{name}” in {task.name}" for name in (_SCALED, _PAIR) if name not in known]
        losses |= {f"in {task.name}: {' and '.join(texts)}": len(known)} if known else {}
    if not losses:
        return
    both = (each for each in claims.CLAIMS if each.first.startswith("hif8") and each.second.startswith("e4m3/e5m2"))
    verdicts = dict[str, list[str]]()
    for claim, task in ((claim, study.tasks[claim.task]) for claim in both if claim.task in study.tasks):
        if judged := claims.verdict(claim, task):
            bounds = f"{_bounds(task.excess(claim.first, claim.second))}, " * (claim.first == _SCALED)
            words = f"“{claim.first}” {claim.relation} “{claim.second}” {bounds}"
            verdicts.setdefault(words + _OWN_WORDS.get(judged.text, (judged.text,))[0], []).append(task.name)
    first, *others = sorted(losses, key=lambda text: -losses[text])  # the tasks with both come first
    text = f"Test loss with scales above that of {BASE} {first}"
    judgements = [f"{words} in {listing(tasks)}" for words, tasks in verdicts.items()]
    text += f"; claims: {', '.join(judgements)}" if judgements else ""
    text += f"; trained before a change of {listing(changes)}" if changes else ""
    section.find(f"{text}.", "Training", section.tables[0] if section.tables else None)
    text = "; ".join([*others, *([f"not trained: {listing(missing)}"] if missing else [])])
    section.find(f"{text[0].upper()}{text[1:]}." if text else "")


def _bounds(excess: Figure) -> str:
    """The mean and its bounds."""
    ends = f" ({_excess(excess.low)} to {_excess(excess.high)})" if excess.low < excess.high else ""
    return f"{_excess(excess.median)}{ends}"


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
        "two formats by pins, measured with the training unless the report has it; scaling is not part of it."
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
    """The chart of an accumulator; none of fewer than three policies, of one seed or of one renaming."""
    finite = {name: value for name, value in excess.items() if math.isfinite(value.high)}
    if len(finite) < 3 or not comparable([*(areas[name] for name in finite), *finite.values()]):
        return
    edge = best_formats({name: areas[name] for name in finite}, {name: -value.median for name, value in finite.items()})
    unit = TARGETS[TARGET].unit
    best = [f"{name} ({_excess(finite[name].median)}, {number(areas[name].median)} {unit})" for name in edge]
    others = [name for name in excess if name not in finite]
    caption = f"No other policy has both a smaller MAC and a lower mean loss than {listing(best)}. "
    caption = caption if len({areas[name].median for name in finite}) > 1 else ""  # else that says nothing of areas
    finding = (
        f"{caption}Not in the chart, because a loss was not finite: {listing(others)}." if others else caption.strip()
    )
    points = {name: [(value.over(0.01), areas[name])] for name, value in finite.items()}
    labels = "loss above binary32's [%]", f"area of the MAC [{unit}]"
    policies = {name: task.policies[name].policy for name in points}
    scaled = [name for name, policy in policies.items() if policy and policy.scaling != UNSCALED]
    least, title = [point for name in edge for point in points[name]], f"Loss against area: {task.name}, {accumulator}"
    chart = charts.fronts(points, least, title, *labels, hollow=scaled)
    section.chart(chart, finding, note="Open marks: policies with scaling.")


def _history_plot(section: Section, task: Task) -> None:
    """Shares of gradients that became zero, over iterations."""
    series = {
        name: {
            point["iteration"]: Figure.exact(100 * point["lost"][GRADIENT][0])
            for point in trained.history
            if GRADIENT in point["lost"]
        }
        for name, trained in task.policies.items()
    }
    shown = {name: shares for name, shares in series.items() if len(shares) > 1}
    if not shown:
        return
    picture = charts.lines(shown, f"Gradients that became zero: {task.name}", "iteration", "share [%]")
    section.chart(picture, note="Of all gradients other than zero, those that became zero; first seed.")
