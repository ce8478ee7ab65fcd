"""Colours that everyone tells apart: contrast to the card, and distances as eyes without one kind of cones see them."""

from itertools import combinations

import numpy as np
import pytest

from synth.report.plan import FORMATS
from synth.report.render.palette import NEUTRAL, SERIES, css, styles, themed

# Machado, Oliveira and Fernandes, A physiologically-based model for simulation of color vision deficiency (2009),
# severity 1
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# Ottosson, A perceptual color space for image processing (2020): from linear sRGB to cones, and from their cube roots
# to Oklab
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def linear(colour):
    """Linear sRGB of ``#rrggbb``."""
    share = np.array(list(bytes.fromhex(colour[1:]))) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """As WCAG 2.2 defines it."""
    least, most = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (most + 0.05) / (least + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_are_seen(theme):
    card = NEUTRAL["card"][theme]
    assert all(contrast(pair[theme], card) >= 3 for pair in SERIES)
    assert all(
        contrast(NEUTRAL[name][theme], NEUTRAL[ground][theme]) >= 4.5
        for name in ("ink", "soft")
        for ground in ("card", "paper")
    )


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_are_told_apart(theme, vision):
    seen = [np.clip(np.array(VISION[vision]) @ linear(pair[theme]), 0, 1) for pair in SERIES]
    lab = [np.array(LAB) @ np.cbrt(np.array(CONES) @ colour) for colour in seen]
    assert (
        min(float(np.linalg.norm(one - other)) for one, other in combinations(lab, 2)) > 0.075
    )  # 0.02 is just noticeable


def test_a_format_keeps_its_colour():
    alone, many = styles(["hif8"]), styles([*(f"mine{number}" for number in range(40)), "hif8"])
    assert alone["hif8"] == many["hif8"]
    assert len(set(many.values())) == len(many) == len(FORMATS) + 40


def test_light_colours_become_variables():
    light, dark = SERIES[0]
    assert themed(f"fill: {light}") == f"fill: var(--f0, {light})"
    for text in (f"--f0: {light}", f"--f0: {dark}", "prefers-color-scheme: dark"):
        assert text in css()
