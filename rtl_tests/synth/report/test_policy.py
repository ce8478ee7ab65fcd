"""Policies of training are checked."""

import pytest

from golden.refusal import Refusal
from synth.report.training.policy import Operand, Policy


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"activation": Operand("hif8")}, "policy 'p' must have formats for activation, weight, gradient, or for none"),
        ({"accumulator": "binary64"}, "accumulator must be one of"),
        *(
            (
                {"scaling": text},
                f"scaling must be one of none, .*, center, or one for the loss and one for .*, not '{text}'",
            )
            for text in ("always", "tensor, backoff", "backoff, adaptive", "backoff, ", "")
        ),
        ({"residual": "float16s"}, "residual must be a known format, not 'float16s'"),
    ],
)
def test_policies_are_checked(choices, sentence):
    with pytest.raises(Refusal, match=f"^{sentence}"):
        Policy("p", **choices)


def test_rules_are_of_the_loss_and_of_operands():
    rules = {"none": ("none", None), "backoff": ("backoff", None), "center": ("none", "center")}
    rules["adaptive, tensor"] = ("adaptive", "tensor")
    for scaling, expected in rules.items():
        policy = Policy("p", scaling=scaling)
        assert (policy.loss_rule, policy.tensor_rule) == expected


def test_exceptions_are_found_by_operand_and_layer():
    common, half, other = Operand("hif8"), Operand("binary16"), Operand("ocp_e4m3")
    policy = Policy("p", common, common, common, exceptions=(("first.left", other), ("first", half)))
    names = {"first.left": other, "first.right": half, "first.gradient": half, "last.left": common, "": common}
    assert {name: policy.operand("weight", name) for name in names} == names


def test_operands_are_checked():
    with pytest.raises(Refusal, match=r"^fmt must be a known format, not 'hif9'"):
        Operand("hif9")
    with pytest.raises(Refusal, match=r"^rounding of ocp_e5m2 must be one of .*, not 'hybrid'"):
        Operand("ocp_e5m2", "hybrid")
    with pytest.raises(Refusal, match=r"^source must be a known format, not 'binary64'"):
        Operand("hif8", source="binary64")
