"""The bits of golden do not depend on the processor's flushing of subnormals, nor on NumPy's error state.

:mod:`rtl_tests.golden.public` runs every public function; here its environments are compared.
"""

import json
import os
import subprocess
import sys
from functools import cache
from itertools import product

import pytest

from rtl_tests.golden import public
from rtl_tests.support.selection import exhaustive, only

FORMATS = ["", exhaustive("all")]


@cache
def digests(formats, *environments):
    """What the cases give in environments that follow each other in a process of their own."""
    command = [sys.executable, "-m", "rtl_tests.golden.public", *environments]
    variables = {**os.environ, "EVERY_FORMAT": formats}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=variables)
    assert done.stderr == ""
    return json.loads(done.stdout)


def raised(formats):
    """What the cases give where NumPy raises errors; all formats are then run in the other environment, too."""
    return digests(formats, *["raise", "flushed"][: 2 if formats else 1])["raise"]


def test_every_public_function_and_method_has_a_case():
    functions, methods, _ = public.public()
    missing = (functions | methods) - public.CASES.keys()
    assert missing == set(), f"add cases to rtl_tests/golden/public.py for {sorted(missing)}"
    assert public.CASES.keys() - functions - methods == {"explanations", "properties"}


@pytest.mark.parametrize(
    ("order", "formats"),
    only([("flushed", "")], [("flushed", ""), *product(("flushed plain", "raise flushed"), ("", "all"))]),
)
def test_flushed_subnormals_change_nothing(order, formats):
    """Tables are computed by whichever comes first, and used by both.

    Results from tables that were computed without flushing are for ``make exhaustive``: a function that flushing
    changes gives another result from its own tables, too.
    """
    if public.registers() is None:
        pytest.skip("flushing is switched by the register MXCSR: it needs a processor of x86 and a C++ compiler")
    ran, expected = digests(formats, *order.split()), raised(formats)
    for environment in order.split():
        assert ran[environment] == expected


@pytest.mark.parametrize("formats", FORMATS)
def test_no_function_depends_on_the_error_state_of_numpy(formats):
    assert [text for text in raised(formats).values() if text.startswith("raise:")] == []
