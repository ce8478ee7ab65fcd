"""Policies of training are checked."""

import pytest

from golden.refusal import Refusal
from synth.report.training.policy import Operand, Policy


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"activation": Operand("hif8")}, "policy 'p' must have formats for activation, weight, gradient, or for none"),
        ({"accumulator": "binary64"}, "accumulator must be one of"),
        ({"scaling": "always"}, "scaling must be one of none, backoff, adaptive, logmax, tensor, not 'always'"),
    ],
)
def test_policies_are_checked(choices, sentence):
    with pytest.raises(Refusal, match=f"^{sentence}"):
        Policy("p", **choices)


def test_operands_are_checked():
    with pytest.raises(Refusal, match=r"^fmt must be a known format, not 'hif9'"):
        Operand("hif9")
    with pytest.raises(Refusal, match=r"^rounding of ocp_e5m2 must be one of .*, not 'hybrid'"):
        Operand("ocp_e5m2", "hybrid")
