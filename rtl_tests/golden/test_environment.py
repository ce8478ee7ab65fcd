"""The bits of golden do not depend on the processor's flushing of subnormals, nor on NumPy's error state.

:mod:`rtl_tests.golden.public` runs every public function; here its environments are compared.
"""

import json
import subprocess
import sys
from functools import cache

import pytest

from rtl_tests.golden import public


@cache
def digests(*environments):
    """What the cases give in environments that follow each other in a process of their own."""
    command = [sys.executable, "-m", "rtl_tests.golden.public", *environments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_every_public_function_and_method_has_a_case():
    functions, methods, _ = public.public()
    missing = (functions | methods) - public.CASES.keys()
    assert missing == set(), f"add cases to rtl_tests/golden/public.py for {sorted(missing)}"
    assert public.CASES.keys() - functions - methods == {"explanations", "properties"}


@pytest.mark.parametrize("order", ["flushed plain", "plain flushed"])
def test_flushed_subnormals_change_nothing(order):
    """Tables are computed by whichever comes first, and used by both."""
    if public.registers() is None:
        pytest.skip("flushing is switched by the register MXCSR: it needs a processor of x86 and a C++ compiler")
    ran, expected = digests(*order.split()), digests("raise")["raise"]
    for environment in order.split():
        assert ran[environment] == expected


def test_no_function_depends_on_the_error_state_of_numpy():
    raised = digests("raise")["raise"]
    assert [text for text in raised.values() if text.startswith("raise:")] == []
