"""Made-up results of the study of training."""

import math

from synth.area.targets import TARGETS
from synth.report.training.plan import AFTER, PLANS, SEEDS, TARGET, macs
from synth.report.training.results import code_hash, recorded

BASES = (1.0, 1.02, 0.98)
"""Losses in binary32, by seed."""


def policy(name, excess=(0.0, 0.0, 0.0), choices=None):
    losses = [None if math.isinf(share) else base * (1 + share) for share, base in zip(excess, BASES, strict=True)]
    history = [
        {"iteration": place, "loss": 1.0, "scale": 0, "skipped": 0, "lost": {"gradient": [place / 100, 0.0]}}
        for place in (10, 20)
    ]
    return {
        "name": name,
        **(choices or {}),
        "figures": [{"loss": loss, "accuracy": 0.9} for loss in losses],
        "skipped": [0, 3, 0],
        "history": history if choices else [],
    }


def row(design, area):
    """A row of the file: the area of a MAC."""
    return {
        "component": design.kind,
        **{name.replace("-", "_"): value for name, value in design.options.items()},
        "accumulator_bits": 16,
        "target": TARGET,
        "recipe": "best",
        "best_recipe": "amap",
        "metric": "area",
        "min": area - 1,
        "median": area,
        "max": area + 1,
        "samples": [area - 1, area, area + 1],
        "unit": TARGETS[TARGET].unit,
        "tool": "yosys 0",
        "portfolio": "standard",
        "renamings": 3,
        "seed": 1,
        "name": design.name,
        "command": f"hwgen area {design.command()} --target {TARGET}",
        "verilog_sha256": "0",
        "script_sha256": "0",
    }


def made_up_study(names=("characters", "digits", "range"), **excess):
    """The content of a file with all policies of tasks: losses above binary32's by policy, by default 0."""
    tasks = []
    for plan in (plan for plan in PLANS if plan.task in names):
        choices = dict.fromkeys(AFTER.values()) | {item.name: recorded(item) for item in plan.policies}
        policies = [policy(name, excess.get(name, (0.0,) * 3), chosen) for name, chosen in choices.items()]
        facts = {"iterations": plan.iterations, "batch": 16, "parameters": 1000, "data": "0"}
        tasks.append({"task": plan.task, **facts, "policies": policies})
    rows = [row(design, 700 + 10 * place) for place, design in enumerate(macs())]
    return {"program": code_hash(), "versions": {"numpy": "0"}, "seeds": list(SEEDS), "tasks": tasks, "rows": rows}
