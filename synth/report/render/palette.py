"""Colours of the report, light and dark: every format has one, the same in all plots and reports."""

from collections.abc import Iterable
from typing import NamedTuple

from synth.report.plan import FORMATS

NEUTRAL = {
    "paper": ("#fbfaf7", "#12151b"),
    "card": ("#ffffff", "#1a1f27"),
    "ink": ("#1d2430", "#e7eaf0"),
    "soft": ("#5b6472", "#9aa4b4"),
    "line": ("#dfe1e6", "#323945"),
}
"""What belongs to no format, by the name of its CSS variable: light, dark."""

SERIES = (
    ("#f356a3", "#b7487b"), ("#0c9ae8", "#3da5fd"), ("#283579", "#9dcafd"), ("#6c55e6", "#3771ff"),
    ("#821baf", "#9a46b8"), ("#289573", "#8bfeba"), ("#652800", "#fcaf4e"), ("#959a07", "#edf03e"),
    ("#3c6526", "#869d60"), ("#9a498f", "#e169be"), ("#4d4650", "#bab9aa"), ("#647f15", "#637d01"),
)  # fmt: skip
"""Formats' colours: light, dark. A search put them as far apart as twelve can be, also for eyes that lack one kind of
cones, at a contrast of 3 or more to the card they are drawn on; a test checks it."""

_MARKERS = ("o", "s", "D", "^", "v")
"""Shapes of points: where a colour comes again, after twelve formats, it does so with another shape."""


class Style(NamedTuple):
    """How a format is drawn: its light colour, which stands for the CSS variable, and the shape of its points."""

    colour: str
    marker: str


def styles(names: Iterable[str]) -> dict[str, Style]:
    """A style for each name; the formats of README have theirs whatever else there is."""
    order = dict.fromkeys((*FORMATS, *names))
    return {
        name: Style(SERIES[place % len(SERIES)][0], _MARKERS[place % len(_MARKERS)]) for place, name in enumerate(order)
    }


def _variables() -> dict[str, tuple[str, str]]:
    return {f"--{name}": pair for name, pair in NEUTRAL.items()} | {
        f"--f{place}": pair for place, pair in enumerate(SERIES)
    }


def css() -> str:
    """Rules that give each variable its light or dark value, by the theme of the reader's system."""
    light, dark = ("; ".join(f"{name}: {pair[theme]}" for name, pair in _variables().items()) for theme in (0, 1))
    return (
        f":root {{ color-scheme: light dark; {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    )


def themed(text: str) -> str:
    """A text in which light colours have become variables, the light value being what they fall back to."""
    for name, (light, _) in _variables().items():
        text = text.replace(light, f"var({name}, {light})")
    return text
