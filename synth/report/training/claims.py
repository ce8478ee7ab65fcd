"""What the papers say about training, as pairs of policies whose losses are compared, and the verdicts."""

import math
from dataclasses import dataclass
from enum import StrEnum

from synth.report.training.plan import AFTER, BASE
from synth.report.training.results import Task

REPRODUCED, NOT_REPRODUCED, UNDECIDED = "reproduced", "not reproduced", "undecided"
ONE_SEED, BOTH_DIVERGED = "no verdict from one seed", "no verdict, both diverged"

MARGIN = 0.02
"""The share of a loss within which another one is the same, or no higher; beyond it, it is lower."""


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
_FP8 = "FP8 paper"
OWN = "This study's own"
_LOWER, _NO_HIGHER, _ALIKE = Relation
_HALF, _BOTH = "binary16, backoff", ", binary16, backoff, center"
_CENTERED = "the scales of tensors are those of their medians"
_CNN, _CNN_143 = (f"1.4.3/{backward}, CNN biases" for backward in ("1.5.2", "1.4.3"))
_P3109 = (
    ("R2", "digits", "p3109, backoff", "scaling of the loss", ""),
    ("L2", "characters", "p3109, backoff, center", "scaling of the loss and of tensors", _CENTERED),
)

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
        f"{_HIF8}, section 4.2 and Table 6", "characters", AFTER["hif8 cast"], _NO_HIGHER, BASE),
    *(
        Claim("Scales of tensors by Algorithm 1 make inference in HiF8 better than a direct cast.",
            f"{_HIF8}, Table 6", task, AFTER["hif8 calibrated"], _LOWER, AFTER["hif8 cast"])
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
    # -- formats, roundings and scales that each paper compares in its tables
    Claim("Training with half-away rounding is slightly more accurate than with ties to even.",
        f"{_HIF8}, section 3.1", "digits", "hif8, adaptive", _LOWER, "hif8, even, adaptive"),
    *(
        Claim("Training in HiF8 with backward loss scaling matches training in FP16 with it.",
            f"{_HIF8}, {place}", task, "hif8, backoff", _NO_HIGHER, _HALF)
        for task, place in (("digits", "Tables 5 and 7"), ("characters", "Tables 5 and 7"))
    ),
    Claim("The same, with operands that come from FP16 and hybrid rounding (SR2) of gradients.",
        f"{_HIF8}, section 4.1 and Table 5", "digits", "hif8, hybrid, from binary16, backoff", _NO_HIGHER, _HALF),
    Claim("With adaptive loss scaling HiF8 trains a language model almost as well as FP16 (+0.08 of the perplexity).",
        f"{_HIF8}, Table 7", "characters", "hif8, adaptive", _NO_HIGHER, _HALF),
    Claim("With adaptive loss scaling and scales of tensors HiF8 trains better than FP16 (GPT3-6.7B, GPT3-13B).",
        f"{_HIF8}, Table 7", "characters", "hif8, adaptive, tensor", _LOWER, _HALF),
    Claim("Scales of tensors besides adaptive loss scaling improve training in HiF8 (GPT3-6.7B).",
        f"{_HIF8}, Table 7", "characters", "hif8, adaptive, tensor", _LOWER, "hif8, adaptive"),
    Claim("Scales of tensors are needed in some cases.",
        f"{_HIF8}, section 5.1", "characters", "hif8, tensor", _LOWER, "hif8",
        "they train better than no scale at all"),
    Claim("The first layer in FP16 makes inference in HiF8 better (ResNet50, Inception-V3).",
        f"{_HIF8}, section 4.2", "digits", AFTER["hif8 calibrated, first layer binary16"], _LOWER,
        AFTER["hif8 calibrated"]),
    *(
        Claim(f"E4M3 with E5M2 (P3109) into binary32 trains as well as binary32, with {scales}.",
            f"{_SUPERNORMAL}, Table 3, {row}", task, first, _NO_HIGHER, BASE, here)
        for row, task, first, scales, here in _P3109
    ),
    *(
        Claim(f"E4M3 with E5M2 (P3109) into binary32 needs {scales}.",
            f"{_SUPERNORMAL}, Table 3, {row}", task, first, _LOWER, first.rpartition(", ")[0], here)
        for row, task, first, scales, here in _P3109
    ),
    Claim("E5M2 without subnormals into binary16, with scaling of the loss, trains ResNet-20 as well as E5M2.",
        f"{_SUPERNORMAL}, Table 3, R4 and R3", "digits",
        "e5m2_nosub, binary16, backoff", _NO_HIGHER, "e5m2, binary16, backoff"),
    Claim("E5M2 without subnormals into binary16 needs scaling of the loss.",
        f"{_SUPERNORMAL}, Table 3, R4", "digits", "e5m2_nosub, binary16, backoff", _LOWER, "e5m2_nosub, binary16"),
    Claim("E5M2 without subnormals diverges on a language model with both scales, where E5M2B1 converges.",
        f"{_SUPERNORMAL}, Table 3, L4 and L5", "characters",
        f"e5m2b1{_BOTH}", _LOWER, f"e5m2_nosub{_BOTH}", f"E5M2B1 trains better, and {_CENTERED}"),
    *(
        Claim(f"With both scales {name.upper()} trains a language model to within 1 to 2% of the loss in binary32.",
            f"{_SUPERNORMAL}, section 5 and Table 3, {row}", "characters", f"{name}{_BOTH}", _NO_HIGHER, BASE,
            _CENTERED)
        for name, row in (("e5m2", "L3"), ("e5m2b1", "L5"))
    ),
    Claim("E5M2B1 into binary16 with scaling of the loss trains as well as binary32.",
        f"{_SUPERNORMAL}, Table 3, R5 and R1", "digits", "e5m2b1, binary16, backoff", _NO_HIGHER, BASE),
    *(
        Claim("One binade of supernormals is best if the loss is scaled.", f"{_SUPERNORMAL}, section 4", "digits",
            "e5m2b1, binary16, backoff", _NO_HIGHER, f"e5m2b{binades}, binary16, backoff")
        for binades in (2, 4)
    ),
    Claim("Scaling should align the mode of the values with a central point, not their largest with the top.",
        f"{_SUPERNORMAL}, section 5 (future work)", "digits",
        "e5m2b1, binary16, center", _LOWER, "e5m2b1, binary16, backoff", "the median of each operand, against backoff"),
    Claim("1.4.3 forward and 1.5.2 backward, with chosen biases, reach the baseline.",
        f"{_GRAPHCORE}, Tables 2 to 4", "digits", _CNN, _NO_HIGHER, BASE),
    *(
        Claim(f"{name} for all operands does not recover the baseline of ImageNet, which 1.4.3 with 1.5.2 does.",
            f"{_GRAPHCORE}, section 3.3, Tables 3 and 4", "digits", _CNN, _LOWER, other)
        for name, other in (("1.5.2", "1.5.2, CNN biases"), ("1.4.3", _CNN_143))
    ),
    Claim("Inputs of the first layer need 3 bits of significand.",
        f"{_GRAPHCORE}, section 3.3, Figures 2 and 9", "digits",
        _CNN, _LOWER, "1.4.3/1.5.2, CNN biases, inputs 1.5.2"),
    Claim("On CIFAR-100, 1.4.3 for all operands trains as well as float-32.",
        f"{_GRAPHCORE}, Table 2", "digits", _CNN_143, _NO_HIGHER, BASE),
    *(
        Claim(f"Gradients of activations need at least 4 exponent bits; in {name} they cannot be represented.",
            f"{_GRAPHCORE}, section 3.3, Figures 3 and 12", "digits",
            _CNN_143, _LOWER, f"1.4.3/{name}, CNN biases, backoff")
        for name in ("1.3.4", "1.0.7")
    ),
    Claim("1.5.2 for all operands, with chosen biases, trains a transformer as well as float-32.",
        f"{_GRAPHCORE}, Table 8", "characters", "1.5.2, biases", _NO_HIGHER, BASE),
    Claim("For activations and weights of a transformer neither 1.4.3 nor 1.5.2 has a clear advantage.",
        f"{_GRAPHCORE}, section 3.4, Table 8", "characters", "1.4.3/1.5.2, biases", _ALIKE, "1.5.2, biases"),
    Claim("Backoff with gradients in 1.5.2 trains a transformer as well as float-32.",
        f"{_GRAPHCORE}, Table 12", "characters", "1.4.3/1.5.2, biases, backoff", _NO_HIGHER, BASE),
    Claim("Gradients of activations in 1.4.3 degrade a transformer; with backoff it diverges.",
        f"{_GRAPHCORE}, section 3.4, Figure 6 and Table 12", "characters",
        "1.4.3/1.5.2, biases, backoff", _LOWER, "1.4.3, biases, backoff"),
    *(
        Claim(f"{what} in E4M3 and E5M2 as in 16 bits{note}.",
            f"{_FP8}, {place}", task, "e4m3/e5m2, tensor", _ALIKE, base)
        for what, place, task in (
            ("Classifiers of images train", "section 4.1 and Table 2", "digits"),
            ("Language models train", "sections 4.1 and 5, Tables 3 and 4", "characters"))
        for base, note in ((_HALF, ""), (BASE, " (here: binary32)"))
    ),
    Claim("The first and the last layer need no wider format, in which earlier studies left them.",
        f"{_FP8}, section 4.1", "digits", "e4m3/e5m2, tensor", _NO_HIGHER, "e4m3/e5m2, tensor, 16-bit ends"),
    Claim("Some networks need scales of tensors; read as range: without them, gradients of 40 binades are not trained.",
        f"{_FP8}, section 3.2", "range", "e4m3/e5m2, tensor", _LOWER, "e4m3/e5m2"),
    *(
        Claim(f"Some networks train with {name} alone.",
            f"{_FP8}, section 3", "digits", f"ocp_{name.lower()}, tensor", _NO_HIGHER, BASE)
        for name in ("E4M3", "E5M2")
    ),
    *(
        Claim(f"Some networks need both formats; with {name} alone they train worse.",
            f"{_FP8}, section 3", "characters", "e4m3/e5m2, tensor", _LOWER, f"ocp_{name.lower()}, tensor")
        for name in ("E4M3", "E5M2")
    ),
    *(
        Claim("To skip updates after an overflow is not a good choice for FP8.",
            f"{_FP8}, section 2", task, "e4m3/e5m2, tensor", _LOWER, "e4m3/e5m2, backoff",
            "scales of tensors, which saturate, train better")
        for task in ("digits", "range")
    ),
    *(
        Claim(text, f"{_FP8}, {place}", task, AFTER["ocp_e4m3 scaled"], relation, other, "scales are powers of two")
        for task in ("characters", "digits")
        for text, place, relation, other in (
            ("After training, E4M3 with scales keeps the accuracy.", "Table 5", _NO_HIGHER, BASE),
            ("After training, E4M3 is better than int8, both with scales.", "Table 5", _LOWER, AFTER["int8 scaled"]),
        )
    ),
    Claim("Cast to E4M3 after training without scales, a language model loses accuracy.",
        f"{_FP8}, section 4.2", "characters", AFTER["ocp_e4m3 scaled"], _LOWER, AFTER["ocp_e4m3 cast"]),
    Claim("With a bias of 7 to 10, all inputs of products can be cast to E4M3 without scales (here: 7).",
        f"{_FP8}, section 4.3, Figure 2", "characters", AFTER["ocp_e4m3 cast"], _NO_HIGHER, BASE),
    Claim("Gradients in 1-5-2 need scaling of the loss.",
        f"{_IBM}, section 2.2", "characters", "1-4-3/1-5-2, backoff", _LOWER, "1-4-3/1-5-2"),
    *(
        Claim("Weights in 8 bits with residuals in 16 converge without stochastic rounding.",
            f"{_IBM}, section 4 and Tables 3 and 4", "characters", "1-4-3/1-5-2, residuals, backoff", _NO_HIGHER, other)
        for other in ("1-4-3/1-5-2, backoff", BASE)
    ),
    *(
        Claim(text, f"{_IBM}, {place}", task, AFTER["ibm_1_4_3 cast"], relation, other, here)
        for task in ("characters", "digits")
        for text, place, relation, other, here in (
            ("The probability of a mismatch is far lower in 1-4-3 than in 1-5-2.", "section 2.1, Figure 2", _LOWER,
                AFTER["ibm_1_5_2 cast"], "after a cast the loss is lower"),
            ("The probability of a mismatch is lowest in 1-4-3 with the bias of 4.", "section 2.1, Figure 2", _LOWER,
                AFTER["ibm_1_4_3_b7 cast"], "after a cast the loss is lower than without the bias"),
            ("Cast to 1-4-3 after training, networks keep their accuracy.", "section 3, Table 1", _NO_HIGHER, BASE,
                "networks without batch normalization"),
        )
    ),
    Claim("Cast to 1-5-2 after training, a transformer loses accuracy.",
        f"{_IBM}, section 1.1, Figure 1", "characters", BASE, _LOWER, AFTER["ibm_1_5_2 cast"]),
    Claim("HiF8 needs no 16 bits in the first and the last layer.",
        OWN, "digits", "hif8, adaptive", _NO_HIGHER, "hif8, adaptive, 16-bit ends"),
)  # fmt: skip
"""All claims. The tasks are far smaller than the papers'."""
