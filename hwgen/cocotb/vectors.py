"""New vectors for the tests in a bundle."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from golden.refusal import check_integer
from hwgen.cli.parser import design_of_words
from hwgen.coverage.suite import MAX_SEED, MAX_VECTORS, suite


def new_vectors(
    description: Mapping[str, Any], folder: Path, count: int = 2000, seed: int = 1
) -> dict[str, list[dict[str, int]]]:
    """Return vectors of a module by class: values of its ports but the clock, one vector per case or clock cycle.

    Vectors of a clocked module also have a flag ``care_PORT`` for each output, which says whether it is compared.

    Parameters
    ----------
    description : mapping
        The content of the bundle's ``NAME.json``.
    folder : Path
        Folder with the files of users' formats.
    count : int
        Number of vectors, without bubbles and stalls.
    seed : int

    Raises
    ------
    Refusal
        If the description's command is not one of this version of the package.
    """
    rng = np.random.default_rng(check_integer("seed", seed, 0, MAX_SEED))
    words = shlex.split(description["command"])[2:]
    vectors = suite(design_of_words(words, folder), check_integer("count", count, 1, MAX_VECTORS), rng)
    rows, classes, first = vectors.rows(), {}, 0
    for name, number in vectors.classes.items():
        classes[name] = rows[first : first + number]
        first += number
    return classes
