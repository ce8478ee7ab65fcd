"""Scaling of the loss: the power of two by which the loss is multiplied, so that small gradients do not become zero.

References
----------
Ascend HiFloat8 Format for Deep Learning, section 5.1: backward loss scaling, and adaptive loss scaling.
8-bit Numerical Formats for Deep Neural Networks, section 4: backoff and LogMax, after O. Kuchaiev et al., 2018.
"""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, field

import numpy as np

from golden.refusal import check_choice, check_flag, check_integer, check_number

RULES = CONSTANT, BACKOFF, ADAPTIVE, LOGMAX = "constant", "backoff", "adaptive", "logmax"
"""Rules of :class:`LossScale`."""
WINDOWS = (1, 20, 50, 100, 200, 500, 1000)
"""Windows of ``adaptive``; it begins with the second."""
CHANGES = 3
"""Increases, or decreases in a row, after which ``adaptive`` takes the next or the previous window."""
FIRST_BACKOFF, FIRST_ADAPTIVE = 24, 32
"""Exponents of the first scales: so large that gradients overflow at first, and the rules lower them."""
DECAY = 0.9
"""Weight of the past in LogMax's mean and variance."""
LEAST_GRADIENT = 2.0**-1022
"""``logmax`` ignores smaller gradients."""
MOST_ITERATIONS = 1 << 31
"""Largest window, and most iterations since a change."""
LIMIT = 100
"""Largest magnitude of a scale's exponent."""
MOST_MEAN = MOST_DEVIATIONS = 3000
"""Largest magnitudes of ``mean`` and ``deviations``: distances of logarithms in binary64 are smaller."""


@dataclass
class LossScale:
    """The exponent of the loss's scale, by a rule.

    The loss is *multiplied* by 2**exponent, so that all gradients are; gradients of weights are *divided* by it before
    they are used. Call :meth:`update` after each iteration.

    ``constant``
        The exponent does not change.
    ``backoff``
        The scale is halved after an overflow, and doubled after ``window`` iterations without (Graphcore paper,
        section 4; the HiFloat8 paper's backward loss scaling).
    ``adaptive``
        The same with a window that changes: three increases take the next of :data:`WINDOWS`, three decreases in a row
        the previous one (HiFloat8 paper, section 5.1).
    ``logmax``
        With mean m and standard deviation s of the logarithm of the largest gradients before scaling, the exponent is
        floor(log2(largest) - m - deviations * s) (Graphcore paper, section 4). Both are running ones. Overflows are
        expected, and clipped; the paper's Table 12 has 0 to 3 deviations.

    Parameters
    ----------
    rule : str
        One of :data:`RULES`.
    largest : float
        The largest value of the gradients' format; ``logmax`` alone uses it.
    window : int
        Of ``backoff``.
    deviations : float
        Of ``logmax``.
    first : int, optional
        The first exponent; by default 24 for ``backoff``, 32 for ``adaptive`` (the paper's) and 0 for others.
    exponent, since, place, increases, decreases, mean, variance
        The exponent of the scale, and the rest of its state. ``place`` is that of ``adaptive``'s window in
        :data:`WINDOWS`.
    """

    rule: str
    largest: float
    window: int = 2000
    deviations: float = 0.0
    first: InitVar[int | None] = None
    exponent: int = field(init=False)
    since: int = 0
    place: int = 1
    increases: int = 0
    decreases: int = 0
    mean: float | None = None
    variance: float = 0.0

    def __post_init__(self, first: int | None) -> None:
        check_choice("rule", self.rule, RULES)
        self.largest = check_number("largest", self.largest, "positive and finite", lambda x: 0 < x < math.inf)
        allowed = f"a number from -{MOST_DEVIATIONS} to {MOST_DEVIATIONS}"
        self.deviations = check_number("deviations", self.deviations, allowed, lambda x: abs(x) <= MOST_DEVIATIONS)
        self.window = check_integer("window", self.window, 1, MOST_ITERATIONS)
        self.since = check_integer("since", self.since, 0, MOST_ITERATIONS)
        self.place = check_integer("place", self.place, 0, len(WINDOWS) - 1)
        self.increases = check_integer("increases", self.increases, 0, CHANGES - 1)
        self.decreases = check_integer("decreases", self.decreases, 0, CHANGES - 1)
        if self.mean is not None:
            allowed = f"a number from -{MOST_MEAN} to {MOST_MEAN}, or None"
            self.mean = check_number("mean", self.mean, allowed, lambda x: abs(x) <= MOST_MEAN)
        allowed = f"a number from 0 to {MOST_MEAN**2}"
        self.variance = check_number("variance", self.variance, allowed, lambda x: 0 <= x <= MOST_MEAN**2)
        defaults = {BACKOFF: FIRST_BACKOFF, ADAPTIVE: FIRST_ADAPTIVE}
        self.exponent = defaults.get(self.rule, 0) if first is None else check_integer("first", first, -LIMIT, LIMIT)

    def update(self, largest_gradient: float, *, overflowed: bool) -> bool:
        """Choose the next scale; return whether this iteration's gradients may be used.

        Parameters
        ----------
        largest_gradient : float
            The largest magnitude of the gradients of weights, still scaled; below 2**-1022 ``logmax`` ignores it.
        overflowed : bool
            Whether an operand of a product with gradients was out of range, even if it saturated.
        """
        largest = check_number("largest_gradient", largest_gradient, "a magnitude or NaN", lambda x: not x < 0)
        check_flag("overflowed", overflowed)
        used = finite = math.isfinite(largest)
        if self.rule == LOGMAX:
            self._logmax(largest, finite)
        elif self.rule in (BACKOFF, ADAPTIVE):
            used = finite and not overflowed
            self._count(used)
        self.exponent = min(max(self.exponent, -LIMIT), LIMIT)
        return used

    def _count(self, in_range: bool) -> None:
        """Halve the scale after an overflow, double it after a window without."""
        window = self.window if self.rule == BACKOFF else WINDOWS[self.place]
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
        if not finite:
            self.exponent -= 1
            return
        if abs(largest_gradient) < LEAST_GRADIENT:  # some processes take it for zero
            return
        logarithm = float(np.log2(largest_gradient)) - self.exponent
        if self.mean is None:
            self.mean = logarithm
        distance = logarithm - self.mean
        self.mean += (1 - DECAY) * distance
        self.variance = DECAY * (self.variance + (1 - DECAY) * distance**2)
        above = self.deviations * float(np.sqrt(self.variance))
        self.exponent = int(np.floor(np.log2(self.largest) - self.mean - above))
