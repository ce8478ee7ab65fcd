"""Checks of emitted modules on all inputs, also of changed texts."""

from hwgen.reference import reference
from rtl_tests.support.blocks import texts
from synth.proof.choose import proof
from synth.proof.verify import Subject, verify


def subject(design, text=None):
    """An emitted module, or a changed text of it."""
    return Subject(design, texts([design])[design.name] if text is None else text, design.name, None, (), "")


def check(design, text=None, workers=0, **options):
    """The evidence for a module; parts of a proof are checked in this process, as other tests run beside it."""
    module = subject(design, text)
    return verify(module, module.netlist(), workers=workers, **options)


def prover(design, text=None):
    """The proof of a design, for its own text or a changed one."""
    return proof(design)(design, subject(design, text).netlist())


def inputs(design):
    """Number of all inputs, from the widths of the ports."""
    return 1 << sum(reference(design).inputs.values())
