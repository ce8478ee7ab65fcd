"""What the study of training does: policies of each task, seeds and iterations, and the MACs whose area it measures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from synth.report.plan import TERMS
from synth.report.training.policy import KINDS, TENSOR, UNSCALED, Operand, Policy

BASE = "binary32"
"""The policy without formats, with which others are compared."""
SEEDS = (0, 1, 2)
TARGET = "gates"
"""Where the areas of MACs are measured."""


def _policy(
    name: str,
    forward: str | Operand,
    gradient: str | Operand | None = None,
    accumulator: str = "binary32",
    scaling: str = UNSCALED,
    weight: str | Operand | None = None,
) -> Policy:
    """A policy whose weights have the format of activations, and gradients that of both, unless given."""
    first, second, third = (
        operand if isinstance(operand, Operand) else Operand(operand)
        for operand in (forward, weight or forward, gradient or forward)
    )
    return Policy(name, first, second, third, accumulator, scaling=scaling)


_E4M3, _E5M2 = (Operand(name, overflow="ocp_paper") for name in ("ocp_e4m3", "ocp_e5m2"))
_HYBRID = Operand("hif8", "hybrid")
_PLAIN = Policy(BASE)
_HIF8 = _policy("hif8", "hif8")
_HIF8_ADAPTIVE = _policy("hif8, adaptive", "hif8", scaling="adaptive")
_HYBRID_ADAPTIVE = _policy("hif8, hybrid, adaptive", "hif8", _HYBRID, scaling="adaptive")
_OCP = _policy("e4m3/e5m2", _E4M3, _E5M2)
_OCP_TENSOR = _policy("e4m3/e5m2, tensor", _E4M3, _E5M2, scaling=TENSOR)


@dataclass(frozen=True)
class Plan:
    """A task by name, the iterations of its runs, and its policies."""

    task: str
    iterations: int
    policies: tuple[Policy, ...]


PLANS = (
    Plan("characters", 450, (
        _PLAIN, _HIF8, _HIF8_ADAPTIVE, _HYBRID_ADAPTIVE,
        _policy("hif8, bfloat16", "hif8", accumulator="bfloat16"),
        _OCP_TENSOR,
        _policy("1.4.3/1.5.2", "gc_1_4_3_b7", "gc_1_5_2_b15"),
        _policy("1.4.3/1.5.2, biases", "gc_1_4_3_b10", "gc_1_5_2_b40", weight="gc_1_4_3_b16"),
        _policy("1.4.3/1.5.2, biases, logmax", "gc_1_4_3_b10", "gc_1_5_2_b15", "binary32", "logmax", "gc_1_4_3_b16"),
        _policy("1-4-3/1-5-2, backoff", "ibm_1_4_3", "ibm_1_5_2", "dlfloat16", "backoff"),
        _policy("1-4-3/1-5-2, binary32, backoff", "ibm_1_4_3", "ibm_1_5_2", "binary32", "backoff"),
        _policy("1-5-2, backoff", "ibm_1_5_2", None, "dlfloat16", "backoff"),
    )),
    Plan("digits", 800, (
        _PLAIN, _HIF8_ADAPTIVE, _HYBRID_ADAPTIVE,
        _policy("hif8, stochastic, adaptive", "hif8", Operand("hif8", "stochastic"), scaling="adaptive"),
        *(
            _policy(f"hif8, {accumulator}, adaptive", "hif8", None, accumulator, "adaptive")
            for accumulator in ("binary16", "exact", "aligned13")
        ),
        _policy("e5m2, binary16", "binary8p3", accumulator="binary16"),
        _policy("e5m2, binary16, backoff", "binary8p3", None, "binary16", "backoff"),
        _policy("e5m2b1, binary16, backoff", "e5m2b1", None, "binary16", "backoff"),
        _policy("e5m2b1, bfloat16, backoff", "e5m2b1", None, "bfloat16", "backoff"),
        _policy("e5m2b4, binary16", "e5m2b4", accumulator="binary16"),
    )),
    Plan("range", 1500, (
        _PLAIN, _HIF8, _OCP, _OCP_TENSOR,
        _policy("e5m2, bfloat16", "binary8p3", accumulator="bfloat16"),
        _policy("e5m2, bfloat16, backoff", "binary8p3", None, "bfloat16", "backoff"),
        _policy("e5m3, bfloat16", "e5m3", accumulator="bfloat16"),
        _policy("e5m2b1, bfloat16", "e5m2b1", accumulator="bfloat16"),
        _policy("e5m2b1, bfloat16, backoff", "e5m2b1", None, "bfloat16", "backoff"),
        _policy("e5m2b2, bfloat16", "e5m2b2", accumulator="bfloat16"),
        _policy("e5m2b4, bfloat16", "e5m2b4", accumulator="bfloat16"),
        _policy("e5m2b4, binary16", "e5m2b4", accumulator="binary16"),
    )),
)  # fmt: skip
"""Each claim of :mod:`synth.report.training.claims` has its policies here."""

SMALL = tuple(
    replace(plan, task={"characters": "letters"}.get(plan.task, plan.task), iterations=iterations)
    for plan, iterations in zip(PLANS, (2, 2, 4), strict=True)
)
"""The same policies in so few iterations that nothing is learnt, to test the study itself."""
SMALL_SEEDS = (0, 1)


@cache
def mac(policy: Policy | None) -> Design | None:
    """The MAC that computes all products of a policy; None without a policy, or if it has no or three formats.

    Of two formats, a pin for each operand selects one.
    """
    if policy is None or not policy.is_quantized:
        return None
    names = tuple(dict.fromkeys(policy.operand(kind).fmt for kind in KINDS))
    if len(names) > 2:
        return None
    terms = TERMS if policy.accumulator == "exact" else None
    return build("mac", "+".join(names), accumulator=policy.accumulator, terms=terms)


def macs(plans: Sequence[Plan] = PLANS) -> list[Design]:
    """The MACs of all policies, each once."""
    designs = (mac(policy) for plan in plans for policy in plan.policies)
    return list({design.name: design for design in designs if design is not None}.values())
