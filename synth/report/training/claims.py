"""What the papers say about training, as pairs of policies whose losses are compared, and the verdicts."""

from dataclasses import dataclass
from enum import StrEnum

from synth.report.figures import Figure
from synth.report.training.plan import BASE
from synth.report.training.results import Task
from synth.studies.training.calibration import CALIBRATED, CAST

REPRODUCED, NOT_REPRODUCED, INSIDE = "reproduced", "not reproduced", "inside the spread"
ONE_SEED = "no verdict from one seed"

CAST_NAME, CALIBRATED_NAME = (f"{BASE}, then hif8 {kind}" for kind in (CAST, CALIBRATED))
"""Networks that are trained in binary32 and quantized afterwards."""


class Relation(StrEnum):
    """What a claim says about the losses of two policies."""

    LOWER = "lower than"
    NO_HIGHER = "no higher than"
    ALIKE = "the same as"


@dataclass(frozen=True)
class Claim:
    """A claim, its source, and the two policies of a task whose losses it compares."""

    text: str
    source: str
    task: str
    first: str
    relation: Relation
    second: str


@dataclass(frozen=True)
class Verdict:
    """A verdict, and the losses above binary32's that it follows from."""

    text: str
    first: Figure
    second: Figure


def verdict(claim: Claim, task: Task) -> Verdict | None:
    """The verdict on a claim; None if the task lacks one of its policies.

    The claim is about the difference of the two losses above binary32's. For ``LOWER`` all differences that the spreads
    allow must be negative, for ``NO_HIGHER`` at most the margin, which is the share by which binary32's own losses
    differ between seeds, and for ``ALIKE`` at most the margin in both directions. If all of them contradict the claim
    it is not reproduced; otherwise the difference is inside the spread.
    """
    if not {claim.first, claim.second} <= task.policies.keys():
        return None
    first, second = task.excess(claim.first), task.excess(claim.second)
    if min(first.samples, second.samples) < 2:
        return Verdict(ONE_SEED, first, second)
    least, most = first.low - second.high, first.high - second.low  # not numbers if both diverged
    match claim.relation:
        case Relation.LOWER:
            holds, fails = most < 0, least > 0
        case Relation.NO_HIGHER:
            holds, fails = most <= task.margin, least > task.margin
        case Relation.ALIKE:
            holds = -task.margin <= least and most <= task.margin
            fails = least > task.margin or most < -task.margin
    return Verdict(REPRODUCED if holds else NOT_REPRODUCED if fails else INSIDE, first, second)


_HIF8 = "HiFloat8 paper"
_GRAPHCORE = "Graphcore paper"
_IBM = "Hybrid 8-bit Floating Point paper"
_SUPERNORMAL = "Supernormals paper"
_HERE = "This study's questions"
_LOWER, _NO_HIGHER, _ALIKE = Relation

CLAIMS = (
    Claim(
        "Training with half-away rounding alone and with hybrid rounding in the backward pass makes very little "
        "difference for most networks.",
        f"{_HIF8}, section 3.2", "characters", "hif8, hybrid", _ALIKE, "hif8",
    ),
    Claim(
        "For one network, a convolutional one, hybrid rounding in the backward pass was needed.",
        f"{_HIF8}, section 3.2", "digits", "hif8, hybrid", _LOWER, "hif8",
    ),
    Claim(
        "Hybrid rounding in the backward pass trains slightly better than stochastic rounding.",
        f"{_HIF8}, section 3.2", "digits", "hif8, hybrid", _LOWER, "hif8, stochastic",
    ),
    Claim(
        "Training in HiF8 with one scale for the loss matches training in FP16 (here: binary32).",
        f"{_HIF8}, sections 4.1 and 5.1", "characters", "hif8, adaptive", _NO_HIGHER, BASE,
    ),
    Claim(
        "FP8 needs scales of tensors.",
        f"{_HIF8}, section 4.1", "characters", "e4m3/e5m2, tensor", _LOWER, "e4m3/e5m2",
    ),
    Claim(
        "FP8 needs scales of tensors.", f"{_HIF8}, section 4.1", "range", "e4m3/e5m2, tensor", _LOWER, "e4m3/e5m2",
    ),
    Claim(
        "HiF8 needs no scales of tensors, only one for the loss. Checked here: it trains as well as FP8 with them.",
        f"{_HIF8}, section 4.1", "characters", "hif8, adaptive", _NO_HIGHER, "e4m3/e5m2, tensor",
    ),
    Claim(
        "HiF8 has the wider range. Checked here: unscaled, it trains better than FP8.",
        f"{_HIF8}, section 4.1", "range", "hif8", _LOWER, "e4m3/e5m2",
    ),
    Claim(
        "Networks of transformers can be cast to HiF8 after training, without calibration.",
        f"{_HIF8}, section 4.2 and Table 6", "characters", CAST_NAME, _NO_HIGHER, BASE,
    ),
    Claim(
        "Scales of tensors by Algorithm 1 make inference in HiF8 better than a direct cast.",
        f"{_HIF8}, Table 6", "characters", CALIBRATED_NAME, _LOWER, CAST_NAME,
    ),
    Claim(
        "Scales of tensors by Algorithm 1 make inference in HiF8 better than a direct cast.",
        f"{_HIF8}, Table 6", "digits", CALIBRATED_NAME, _LOWER, CAST_NAME,
    ),
    Claim(
        "Activations and weights in 1.4.3 and gradients in 1.5.2, with chosen biases, reach the accuracy of binary32.",
        f"{_GRAPHCORE}, Tables 2 to 8", "characters", "1.4.3/1.5.2, biases", _NO_HIGHER, BASE,
    ),
    Claim(
        "Larger biases than the natural ones train better.",
        f"{_GRAPHCORE}, section 3", "characters", "1.4.3/1.5.2, biases", _LOWER, "1.4.3/1.5.2",
    ),
    Claim(
        "For gradients, automatic scaling of the loss (LogMax) has the effect of a larger bias.",
        f"{_GRAPHCORE}, section 4", "characters", "1.4.3/1.5.2, biases, logmax", _ALIKE, "1.4.3/1.5.2, biases",
    ),
    Claim(
        "With 1-4-3 forward and 1-5-2 backward, a transformer trains better than with 1-5-2 alone.",
        f"{_IBM}, sections 1.1 and 2", "characters", "1-4-3/1-5-2, backoff", _LOWER, "1-5-2, backoff",
    ),
    Claim(
        "With 1-4-3 forward and 1-5-2 backward, no accuracy is lost.",
        f"{_IBM}, section 2", "characters", "1-4-3/1-5-2, backoff", _NO_HIGHER, BASE,
    ),
    Claim(
        "E5M2 into binary16 needs scaling of the loss.",
        f"{_SUPERNORMAL}, Table 3, R3", "digits", "e5m2, binary16, backoff", _LOWER, "e5m2, binary16",
    ),
    Claim(
        "E5M2B1 into binary16 with scaling of the loss trains as well as E5M2.",
        f"{_SUPERNORMAL}, Table 3, R3 and R5", "digits",
        "e5m2b1, binary16, backoff", _NO_HIGHER, "e5m2, binary16, backoff",
    ),
    Claim(
        "E5M2B4 into binary16 reaches baseline levels without scaling.",
        f"{_SUPERNORMAL}, Table 3, R6", "digits", "e5m2b4, binary16", _NO_HIGHER, BASE,
    ),
    Claim(
        "Accumulators in binary16 have too little range for supernormals; bfloat16 is future work.",
        f"{_SUPERNORMAL}, section 5", "digits", "e5m2b1, bfloat16, backoff", _LOWER, "e5m2b1, binary16, backoff",
    ),
    Claim(
        "Accumulators in binary16 have too little range for supernormals; bfloat16 is future work.",
        f"{_SUPERNORMAL}, section 5", "range", "e5m2b4, bfloat16", _LOWER, "e5m2b4, binary16",
    ),
    *(
        Claim(
            "Supernormals extend the range. Checked here: they train better than E5M2, unscaled and into bfloat16.",
            f"{_SUPERNORMAL}, sections 3 and 5", "range", f"{name}, bfloat16", _LOWER, "e5m2, bfloat16",
        )
        for name in ("e5m2b1", "e5m2b2", "e5m2b4")
    ),
    Claim(
        "E5M2B1 trains as well as E5M2 with scaling of the loss. Checked here: wide gradients, into bfloat16.",
        f"{_SUPERNORMAL}, Table 3", "range", "e5m2b1, bfloat16, backoff", _NO_HIGHER, "e5m2, bfloat16, backoff",
    ),
    *(
        Claim(
            "Without any scale, HiF8 trains as well as FP8 with scales of tensors.",
            _HERE, task, "hif8", _NO_HIGHER, "e4m3/e5m2, tensor",
        )
        for task in ("characters", "range")
    ),
    Claim(
        "E5M2B1, with two binades more than the 9-bit E5M3 and one bit less, trains better without scales.",
        _HERE, "range", "e5m2b1, bfloat16", _LOWER, "e5m3, bfloat16",
    ),
    Claim(
        "E5M2B4 needs no scaling even if gradients span 40 binades.",
        _HERE, "range", "e5m2b4, bfloat16", _NO_HIGHER, BASE,
    ),
    Claim(
        "A bfloat16 accumulator trains as well as a binary32 one.",
        _HERE, "characters", "hif8, bfloat16", _NO_HIGHER, "hif8",
    ),
    *(
        Claim(
            f"An accumulator {name} trains as well as a binary32 one.",
            _HERE, "digits", f"hif8, {name}", _NO_HIGHER, "hif8",
        )
        for name in ("binary16", "exact", "aligned13")
    ),
)  # fmt: skip
"""All claims. The tasks are far smaller than the papers'."""
