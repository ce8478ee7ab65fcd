"""What the study of training does: policies of each task, seeds and iterations, and the MACs whose area it measures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from hwgen.blocks.block import Design
from hwgen.blocks.catalog import build
from synth.report.plan import TERMS
from synth.report.training.policy import AFTERWARDS, CENTER, KINDS, TENSOR, UNSCALED, Operand, Policy, in_16_bits

BASE = "binary32"
"""The policy without formats, with which others are compared."""
AFTER = {kind: f"{BASE}, then {kind}" for kind in AFTERWARDS}
"""Names of networks that are quantized after training."""
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
    **choices: Any,
) -> Policy:
    """A policy whose weights have the format of activations, and gradients that of both, unless given."""
    first, second, third = (
        operand if isinstance(operand, Operand) else Operand(operand)
        for operand in (forward, weight or forward, gradient or forward)
    )
    return Policy(name, first, second, third, accumulator, scaling, **choices)


_E4M3, _E5M2 = (Operand(name, overflow="ocp_paper") for name in ("ocp_e4m3", "ocp_e5m2"))
_HYBRID, _EVEN = Operand("hif8", "hybrid"), Operand("hif8", "ties_to_even")
_FROM_HALF = (Operand("hif8", source="binary16"), Operand("hif8", "hybrid", source="binary16"))
_ENDS = in_16_bits("first", "last")
_PLAIN = Policy(BASE)
_HIF8 = _policy("hif8", "hif8")
_HIF8_ADAPTIVE = _policy("hif8, adaptive", "hif8", scaling="adaptive")
_HYBRID_ADAPTIVE = _policy("hif8, hybrid, adaptive", "hif8", _HYBRID, scaling="adaptive")
_OCP = _policy("e4m3/e5m2", _E4M3, _E5M2)
_OCP_TENSOR = _policy("e4m3/e5m2, tensor", _E4M3, _E5M2, scaling=TENSOR)
_OCP_BACKOFF = _policy("e4m3/e5m2, backoff", _E4M3, _E5M2, scaling="backoff")
_OCP_ALONE = (_policy("ocp_e4m3, tensor", _E4M3, scaling=TENSOR), _policy("ocp_e5m2, tensor", _E5M2, scaling=TENSOR))
_HALF = _policy("binary16, backoff", "binary16", scaling="backoff")
_HIF8_BACKOFF = _policy("hif8, backoff", "hif8", scaling="backoff")
_P3109_BACKOFF = _policy("p3109, backoff", "binary8p4", "binary8p3", scaling="backoff")


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
        _HALF, _HIF8_BACKOFF,
        _policy("hif8, tensor", "hif8", scaling=TENSOR),
        _policy("hif8, adaptive, tensor", "hif8", scaling=f"adaptive, {TENSOR}"),
        *(
            _policy(f"{name}, binary16, backoff, center", fmt, None, "binary16", f"backoff, {CENTER}")
            for name, fmt in (("e5m2", "binary8p3"), ("e5m2_nosub", "e5m2_nosub"), ("e5m2b1", "e5m2b1"))
        ),
        _P3109_BACKOFF,
        _policy("p3109, backoff, center", "binary8p4", "binary8p3", scaling=f"backoff, {CENTER}"),
        *_OCP_ALONE,
        _policy("1.5.2, biases", "gc_1_5_2_b24", "gc_1_5_2_b40", weight="gc_1_5_2_b28"),
        _policy("1.4.3/1.5.2, biases, backoff", "gc_1_4_3_b10", "gc_1_5_2_b15", "binary32", "backoff", "gc_1_4_3_b16"),
        _policy("1.4.3, biases, backoff", "gc_1_4_3_b10", "gc_1_4_3_b7", "binary32", "backoff", "gc_1_4_3_b16"),
        _policy("1-4-3/1-5-2", "ibm_1_4_3", "ibm_1_5_2", "dlfloat16"),
        _policy(
            "1-4-3/1-5-2, residuals, backoff", "ibm_1_4_3", "ibm_1_5_2", "dlfloat16", "backoff", residual="dlfloat16"
        ),
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
        _HALF, _HIF8_BACKOFF,
        _policy("hif8, even, adaptive", _EVEN, scaling="adaptive"),
        _policy("hif8, hybrid, from binary16, backoff", *_FROM_HALF, scaling="backoff"),
        _policy("hif8, adaptive, 16-bit ends", "hif8", scaling="adaptive", exceptions=_ENDS),
        _OCP_TENSOR, _OCP_BACKOFF, *_OCP_ALONE,
        _policy("e4m3/e5m2, tensor, 16-bit ends", _E4M3, _E5M2, scaling=TENSOR, exceptions=_ENDS),
        _policy("e5m2_nosub, binary16", "e5m2_nosub", accumulator="binary16"),
        *(
            _policy(f"{name}, binary16, backoff", name, None, "binary16", "backoff")
            for name in ("e5m2_nosub", "e5m2b2", "e5m2b4")
        ),
        _policy("e5m2b1, binary16, center", "e5m2b1", None, "binary16", CENTER),
        _policy("p3109", "binary8p4", "binary8p3"), _P3109_BACKOFF,
        *(
            _policy(f"1.4.3/{backward}, CNN biases{more}", "gc_1_4_3_b10", f"gc_{backward.replace('.', '_')}_b{bias}",
                scaling=scaling, weight="gc_1_4_3_b14", exceptions=exceptions)
            for backward, bias, scaling, more, exceptions in (
                ("1.5.2", 33, UNSCALED, "", ()),
                ("1.5.2", 33, UNSCALED, ", inputs 1.5.2", (("first.left", Operand("gc_1_5_2_b15")),)),
                ("1.4.3", 20, UNSCALED, "", ()),
                ("1.3.4", 3, "backoff", ", backoff", ()),
                ("1.0.7", 0, "backoff", ", backoff", ()),
            )
        ),
        _policy("1.5.2, CNN biases", "gc_1_5_2_b24", "gc_1_5_2_b32", weight="gc_1_5_2_b28"),
    )),
    Plan("range", 1500, (
        _PLAIN, _HIF8, _OCP, _OCP_TENSOR, _OCP_BACKOFF,
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

    Of two formats, a pin for each operand selects one. Policies with exceptions need several MACs.
    """
    if policy is None or not policy.is_quantized or policy.exceptions:
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
