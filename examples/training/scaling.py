"""Scaling of the loss in the study: the rules of :class:`golden.LossScale`, with a shorter window."""

import golden
from golden.loss import CONSTANT, RULES

WINDOW = 200
"""Iterations without overflow after which ``backoff`` doubles the scale; the papers have 2000, for longer runs."""


def loss_scale(rule: str, largest: float) -> golden.LossScale:
    """The scale of the loss by a rule of :data:`synth.report.training.policy.RULES`; some scale no loss.

    ``logmax`` has no deviations above the mean (c = 0).
    """
    return golden.LossScale(rule if rule in RULES else CONSTANT, largest, WINDOW)
