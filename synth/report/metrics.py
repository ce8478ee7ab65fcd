"""Metrics of rows as data: the names under which rows have them, and their units."""

from typing import NamedTuple

from synth.area.rows import FO4, PS


class Metric(NamedTuple):
    """A measured quantity of which less is better."""

    name: str
    unit: str


DELAYS = {metric.name: metric for metric in (Metric(FO4, "FO4"), Metric(PS, "ps"))}
"""Delays by name."""
WITHOUT_GLITCHES = ("glitch_free", "glitch_free_switching", "glitch_free_internal", "glitch_free_transitions")
"""What an energy and its parts are if nets change once in an operation at most."""
