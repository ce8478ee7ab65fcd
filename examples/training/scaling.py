"""Scaling of the loss: the power of two by which all gradients are multiplied in the backward pass.

References
----------
Ascend HiFloat8 Format for Deep Learning, section 5.1: backward loss scaling, and adaptive loss scaling.
8-bit Numerical Formats for Deep Neural Networks, section 4: backoff and LogMax, after O. Kuchaiev et al., 2018.
"""

from dataclasses import dataclass

import numpy as np

WINDOW = 200
"""Iterations without overflow after which ``backoff`` doubles the scale; the papers have 2000, for longer runs."""
WINDOWS = (1, 20, 50, 100, 200, 500, 1000)
"""Windows of ``adaptive``; it begins with the second."""
CHANGES = 3
"""Increases, or decreases in a row, after which ``adaptive`` takes the next or the previous window."""
FIRST_BACKOFF, FIRST_ADAPTIVE = 24, 32
"""Exponents of the first scales: so large that gradients overflow at first, and the rules lower them."""
DECAY = 0.9
"""Weight of the past in LogMax's mean."""
LIMIT = 100
"""Largest magnitude of a scale's exponent."""


@dataclass
class LossScale:
    """The exponent of the loss's scale, by a rule.

    Parameters
    ----------
    rule : str
        One of :data:`synth.report.training.policy.RULES`.
    largest : float
        The largest value of the gradients' format.
    exponent, since, place, increases, decreases, mean
        Its state. ``place`` is that of ``adaptive``'s window in :data:`WINDOWS`.
    """

    rule: str
    largest: float
    exponent: int = 0
    since: int = 0
    place: int = 1
    increases: int = 0
    decreases: int = 0
    mean: float | None = None

    def __post_init__(self) -> None:
        self.exponent = {"backoff": FIRST_BACKOFF, "adaptive": FIRST_ADAPTIVE}.get(self.rule, 0)

    def update(self, largest_gradient: float, *, overflowed: bool) -> bool:
        """Choose the next scale; return whether this iteration's gradients may be used.

        Parameters
        ----------
        largest_gradient : float
            The largest magnitude of the gradients of weights, still scaled.
        overflowed : bool
            Whether an operand of a product with gradients was out of range, even if it saturated.
        """
        used = finite = bool(np.isfinite(largest_gradient))
        if self.rule == "logmax":
            self._logmax(largest_gradient, finite)
        elif self.rule in ("backoff", "adaptive"):
            used = finite and not overflowed
            self._count(used)
        self.exponent = min(max(self.exponent, -LIMIT), LIMIT)
        return used

    def _count(self, in_range: bool) -> None:
        """Halve the scale after an overflow, double it after a window without."""
        window = WINDOW if self.rule == "backoff" else WINDOWS[self.place]
        self.since = self.since + 1 if in_range else 0
        if in_range and self.since < window:
            return
        self.exponent += 1 if in_range else -1
        self.since = 0
        if in_range:
            self.increases, self.decreases = self.increases + 1, 0
        else:
            self.decreases += 1
        if self.increases == CHANGES:
            self.place, self.increases = min(self.place + 1, len(WINDOWS) - 1), 0
        elif self.decreases == CHANGES:
            self.place, self.decreases = max(self.place - 1, 0), 0

    def _logmax(self, largest_gradient: float, finite: bool) -> None:
        """The scale for which the mean of the largest gradients' logarithms is that of the format's largest value.

        That is the paper's rule without deviations above the mean (c = 0), which trains best in its Table 12.
        """
        if not finite:
            self.exponent -= 1
            return
        if largest_gradient == 0:
            return
        logarithm = float(np.log2(largest_gradient)) - self.exponent
        if self.mean is None:
            self.mean = logarithm
        self.mean += (1 - DECAY) * (logarithm - self.mean)
        self.exponent = int(np.floor(np.log2(self.largest) - self.mean))
