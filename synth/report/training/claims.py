"""What the papers say about training, as pairs of policies whose losses are compared, and the verdicts."""

import math
from dataclasses import dataclass
from enum import StrEnum

from synth.report.training.plan import BASE
from synth.report.training.results import Task

REPRODUCED, NOT_REPRODUCED, UNDECIDED = "reproduced", "not reproduced", "undecided"
ONE_SEED, BOTH_DIVERGED = "no verdict from one seed", "no verdict, both diverged"

MARGIN = 0.02
"""The share of a loss within which another one is the same, or no higher; beyond it, it is lower."""

CAST, CALIBRATED = "cast", "calibrated"
CAST_NAME, CALIBRATED_NAME = (f"{BASE}, then hif8 {kind}" for kind in (CAST, CALIBRATED))
"""Networks that are trained in binary32 and quantized afterwards."""


class Relation(StrEnum):
    """What a claim says about the losses of two policies."""

    LOWER = "lower than"
    NO_HIGHER = "no higher than"
    ALIKE = "the same as"


@dataclass(frozen=True)
class Claim:
    """A claim, its source, and the two policies of a task whose losses it compares.

    ``here`` is what is compared if that is not the claim itself: something that would follow from it.
    """

    text: str
    source: str
    task: str
    first: str
    relation: Relation
    second: str
    here: str = ""


@dataclass(frozen=True)
class Verdict:
    """A verdict, and by which share the first loss is above the second: the mean over the seeds, and its bounds."""

    text: str
    mean: float = math.nan
    low: float = math.nan
    high: float = math.nan


def verdict(claim: Claim, task: Task) -> Verdict | None:
    """The verdict on a claim; None if the task lacks one of its policies.

    The bounds are those of :meth:`Task.excess`. ``NO_HIGHER`` and ``ALIKE`` are reproduced if both are within
    :data:`MARGIN`, and not if both are beyond it; ``LOWER`` is reproduced if both are lower by more than the margin,
    and not if both are higher.
    """
    if not {claim.first, claim.second} <= task.policies.keys():
        return None
    pairs = [*zip(task.policies[claim.first].losses(), task.policies[claim.second].losses(), strict=True)]
    if len(pairs) < 2:
        return Verdict(ONE_SEED)
    diverged = [any(math.isinf(pair[place]) for pair in pairs) for place in range(2)]
    if all(diverged):
        return Verdict(BOTH_DIVERGED)
    if any(diverged):
        holds = diverged[1] and claim.relation is not Relation.ALIKE
        return Verdict(REPRODUCED if holds else NOT_REPRODUCED)
    excess = task.excess(claim.first, claim.second)
    low, high, most, least = excess.low, excess.high, MARGIN, 1 / (1 + MARGIN) - 1
    match claim.relation:
        case Relation.LOWER:
            holds, fails = high < least, low > 0
        case Relation.NO_HIGHER:
            holds, fails = high <= most, low > most
        case Relation.ALIKE:
            holds, fails = least <= low and high <= most, low > most or high < least
    text = REPRODUCED if holds else NOT_REPRODUCED if fails else UNDECIDED
    return Verdict(text, excess.median, low, high)


_HIF8 = "HiFloat8 paper"
_GRAPHCORE = "Graphcore paper"
_IBM = "Hybrid 8-bit Floating Point paper"
_SUPERNORMAL = "Supernormals paper"
OWN = "This study's own"
_LOWER, _NO_HIGHER, _ALIKE = Relation

CLAIMS = (
    *(
        Claim("Training with half-away rounding alone and with hybrid rounding in the backward pass makes very little "
            "difference for most networks.",
            f"{_HIF8}, section 3.2", task, "hif8, hybrid, adaptive", _ALIKE, "hif8, adaptive")
        for task in ("characters", "digits")
    ),
    Claim("Hybrid rounding in the backward pass trains slightly better than stochastic rounding.",
        f"{_HIF8}, section 3.2", "digits", "hif8, hybrid, adaptive", _LOWER, "hif8, stochastic, adaptive"),
    Claim("Training in HiF8 with one scale for the loss matches training in FP16 (here: binary32).",
        f"{_HIF8}, sections 4.1 and 5.1", "characters", "hif8, adaptive", _NO_HIGHER, BASE),
    Claim("Training in HiF8 needs a scale for the loss.",
        f"{_HIF8}, section 4.1", "characters", "hif8, adaptive", _LOWER, "hif8"),
    Claim("FP8 needs scales of tensors.",
        f"{_HIF8}, section 4.1", "range", "e4m3/e5m2, tensor", _LOWER, "e4m3/e5m2",
        "FP8 trains better with scales of tensors than without any scale"),
    Claim("HiF8 needs no scales of tensors, only one for the loss.",
        f"{_HIF8}, section 4.1", "characters", "hif8, adaptive", _NO_HIGHER, "e4m3/e5m2, tensor",
        "it trains as well as FP8 with scales of tensors"),
    Claim("HiF8 has the wider range.",
        f"{_HIF8}, sections 2.2 and 4.1", "range", "hif8", _LOWER, "e4m3/e5m2",
        "unscaled, it trains better than FP8"),
    Claim("Networks of transformers can be cast to HiF8 after training, without calibration.",
        f"{_HIF8}, section 4.2 and Table 6", "characters", CAST_NAME, _NO_HIGHER, BASE),
    *(
        Claim("Scales of tensors by Algorithm 1 make inference in HiF8 better than a direct cast.",
            f"{_HIF8}, Table 6", task, CALIBRATED_NAME, _LOWER, CAST_NAME)
        for task in ("characters", "digits")
    ),
    Claim(
        "Activations and weights in 1.4.3 and gradients in 1.5.2, with chosen biases, reach the accuracy of binary32.",
        f"{_GRAPHCORE}, Table 8", "characters", "1.4.3/1.5.2, biases", _NO_HIGHER, BASE),
    Claim("Larger biases than the natural ones train better.",
        f"{_GRAPHCORE}, section 3.4", "characters", "1.4.3/1.5.2, biases", _LOWER, "1.4.3/1.5.2",
        "all three at once and without a scale of the loss, so that most gradients become zero with the natural ones"),
    Claim("For gradients, automatic scaling of the loss (LogMax with c = 0) has the effect of a larger bias.",
        f"{_GRAPHCORE}, section 4", "characters", "1.4.3/1.5.2, biases, logmax", _ALIKE, "1.4.3/1.5.2, biases"),
    Claim("With 1-4-3 forward and 1-5-2 backward, a transformer trains better than with 1-5-2 alone.",
        f"{_IBM}, sections 1.1 and 2.2", "characters", "1-4-3/1-5-2, backoff", _LOWER, "1-5-2, backoff"),
    Claim("With 1-4-3 forward and 1-5-2 backward, no significant accuracy is lost.",
        f"{_IBM}, section 2.2", "characters", "1-4-3/1-5-2, backoff", _NO_HIGHER, BASE),
    Claim("E5M2 into binary16 needs scaling of the loss.",
        f"{_SUPERNORMAL}, Table 3, R3", "digits", "e5m2, binary16, backoff", _LOWER, "e5m2, binary16"),
    Claim("E5M2B1 into binary16 with scaling of the loss trains as well as E5M2.",
        f"{_SUPERNORMAL}, Table 3, R3 and R5", "digits",
        "e5m2b1, binary16, backoff", _NO_HIGHER, "e5m2, binary16, backoff"),
    Claim("E5M2B4 into binary16 reaches baseline levels without scaling.",
        f"{_SUPERNORMAL}, Table 3, R6", "digits", "e5m2b4, binary16", _NO_HIGHER, BASE),
    *(
        Claim("Supernormals extend the range.",
            f"{_SUPERNORMAL}, sections 3 and 5", "range", f"{name}, bfloat16", _LOWER, "e5m2, bfloat16",
            "they train better than E5M2, unscaled and into bfloat16")
        for name in ("e5m2b1", "e5m2b2", "e5m2b4")
    ),
    Claim("E5M2B1 trains as well as E5M2 with scaling of the loss.",
        f"{_SUPERNORMAL}, Table 3", "range", "e5m2b1, bfloat16, backoff", _NO_HIGHER, "e5m2, bfloat16, backoff",
        "with wide gradients, into bfloat16"),
    *(
        Claim("Supernormals train better into bfloat16, which has more range, than into binary16 (the paper's future "
            "work).",
            OWN, task, first, _LOWER, second)
        for task, first, second in (
            ("digits", "e5m2b1, bfloat16, backoff", "e5m2b1, binary16, backoff"),
            ("range", "e5m2b4, bfloat16", "e5m2b4, binary16"),
        )
    ),
    *(
        Claim("Without any scale, HiF8 trains as well as FP8 with scales of tensors.",
            OWN, task, "hif8", _NO_HIGHER, "e4m3/e5m2, tensor")
        for task in ("characters", "range")
    ),
    Claim("E5M2B1, with one bit less than E5M3 and two binades more at the top, trains better without scales.",
        OWN, "range", "e5m2b1, bfloat16", _LOWER, "e5m3, bfloat16"),
    Claim("E5M2B4 needs no scaling even if gradients span 40 binades.",
        OWN, "range", "e5m2b4, bfloat16", _NO_HIGHER, BASE),
    Claim("A bfloat16 accumulator trains as well as a binary32 one.",
        OWN, "characters", "hif8, bfloat16", _NO_HIGHER, "hif8"),
    Claim("A dlfloat16 accumulator trains as well as a binary32 one.",
        OWN, "characters", "1-4-3/1-5-2, backoff", _NO_HIGHER, "1-4-3/1-5-2, binary32, backoff"),
    *(
        Claim(f"{name} accumulator trains as well as a binary32 one.",
            OWN, "digits", f"hif8, {name.split()[1]}, adaptive", _NO_HIGHER, "hif8, adaptive")
        for name in ("A binary16", "An exact", "An aligned13")
    ),
)  # fmt: skip
"""All claims. The tasks are far smaller than the papers'."""
