"""Runs resume with the same bytes, are kept by content, and learn; scales of the loss follow their rules."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import golden
from examples.training import runs, tasks
from examples.training.runs import Run, Trainer, results, train
from examples.training.scaling import WINDOW, loss_scale
from golden.loss import FIRST_ADAPTIVE, FIRST_BACKOFF, WINDOWS
from golden.refusal import Refusal
from hwgen.tools.process import ToolError
from synth.report.training.plan import AFTER, Plan
from synth.report.training.policy import Operand, Policy
from synth.report.training.results import RESULTS, Study, unpacked

HIF8 = Operand("hif8")
STOCHASTIC = Policy("stochastic", HIF8, HIF8, Operand("hif8", "stochastic"), "binary16", scaling="adaptive")
TENSOR = Policy("tensor", HIF8, HIF8, HIF8, scaling="adaptive, tensor", residual="dlfloat16")
ENDS = Policy("ends", HIF8, HIF8, HIF8, scaling="center", exceptions=(("hidden", Operand("binary16")),))
PLAIN = Policy("binary32")


def result(run):
    return json.loads(train(run, run.key())[2])


PARTS = [
    ("range", STOCHASTIC),
    ("range", PLAIN),
    ("range", ENDS),
    ("digits", STOCHASTIC),
    ("digits", PLAIN),
    ("letters", TENSOR),
]


@pytest.mark.parametrize(("task", "policy"), PARTS)
def test_a_run_in_parts_ends_with_the_same_bytes(task, policy):
    run, state = Run(task, policy, 3, 14 if task == "range" else 11), None
    before, after, whole = train(run, run.key())
    assert (before, after) == (0, run.iterations)
    for iteration in range(run.iterations):
        before, after, state = train(run, run.key(), state, seconds=0)
        assert (before, after) == (iteration, iteration + 1)
    assert state == whole


def test_a_run_of_another_version_is_refused():
    with pytest.raises(ToolError, match=r"^a worker runs another version of the program, of NumPy or of JAX$"):
        train(Run("range", PLAIN, 0, 3), "another key")


def test_keys_contain_everything_that_results_depend_on(monkeypatch):
    run = Run("range", PLAIN, 0, 3)
    others = [
        Run("digits", PLAIN, 0, 3),
        Run("range", TENSOR, 0, 3),
        Run("range", PLAIN, 1, 3),
        Run("range", PLAIN, 0, 4),
        Run("range", replace(TENSOR, residual=None), 0, 3),
        Run("range", ENDS, 0, 3),
        Run("range", replace(ENDS, exceptions=()), 0, 3),
    ]
    keys = {run.key(), *(other.key() for other in others)}
    monkeypatch.setattr(runs, "code_hash", lambda: "another program")
    keys.add(run.key())
    monkeypatch.setattr(runs._task("range"), "digest", "other data")
    assert len(keys | {run.key()}) == 10


def test_all_functions_of_the_wide_task_are_learnt_in_binary32_and_the_last_is_lost_in_e4m3():
    narrow = Operand("ocp_e4m3")
    plain = result(Run("range", PLAIN, 0, 150))["figures"]
    lost = result(Run("range", Policy("e4m3", narrow, narrow, narrow), 0, 150))["figures"]
    assert max(plain.values()) < 0.6
    assert lost["loss of 2**0"] < 0.6
    assert min(lost[f"loss of 2**{exponent}"] for exponent in (-20, -30, -40)) > 0.8


def test_batches_depend_on_seed_and_iteration_and_not_on_the_policy():
    batches = []
    for policy, seed in ((PLAIN, 1), (TENSOR, 1), (PLAIN, 2)):
        trainer, seen = Trainer(Run("range", policy, seed, 5)), []
        samples = trainer.task.samples
        trainer.task.samples = lambda *words, samples=samples, seen=seen: seen.append(samples(*words)) or seen[-1]
        first = {name: value.copy() for name, value in trainer.weights.items()}
        for _ in range(2):
            trainer.step()
        trainer.task.samples = samples
        batches.append((first, seen))
    for name in batches[0][0]:
        np.testing.assert_array_equal(batches[0][0][name], batches[1][0][name])
    assert (batches[0][0]["last"] != batches[2][0]["last"]).any()
    for ours, theirs in zip(batches[0][1], batches[1][1], strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])
    assert (batches[0][1][0][0] != batches[0][1][1][0]).any()


def test_the_text_is_the_one_of_the_study(monkeypatch):
    task = tasks.Characters()
    tasks._docstrings.cache_clear()
    assert task.text.size == tasks.CHARACTERS >= 300_000
    assert sum(w.size for w in task.network.weights(np.random.default_rng(0)).values()) > 100_000
    first, labels = task.samples(np.random.default_rng(0), 4)
    np.testing.assert_array_equal(first[:, 1:].reshape(-1), labels.reshape(4, -1)[:, :-1].reshape(-1))
    monkeypatch.setattr(tasks, "TEXT", "0000")
    with pytest.raises(Refusal, match=r"^scikit-learn \S+ has other docstrings than those of the study$"):
        tasks._docstrings()


@pytest.mark.parametrize("task", ["range", "digits", "characters"])
def test_the_data_are_those_of_the_published_results(task):
    (published,) = (item for item in unpacked(json.loads(RESULTS.read_text()))["tasks"] if item["task"] == task)
    ours = tasks.TASKS[task]()
    assert (published["data"], published["batch"]) == (ours.digest, ours.batch)
    parameters = sum(array.size for array in ours.network.weights(np.random.default_rng(0)).values())
    assert published["parameters"] == parameters


def test_a_step_of_the_language_model_learns(monkeypatch):
    trainer = Trainer(Run("characters", replace(TENSOR, scaling="tensor"), 0, 20))
    monkeypatch.setattr(trainer.task, "batch", 2)
    for _ in range(3):
        trainer.step()
    assert trainer.updates == 3
    assert trainer.products.shares().keys() == {"activation", "weight", "gradient"}
    inputs, labels = trainer.task.samples(np.random.default_rng(5), 4)
    outputs = np.asarray(trainer.task.network.outputs(trainer.weights, inputs, trainer.products))
    assert trainer.task.figures(outputs, labels)["loss"] < 4.3  # 5.1 before


def test_results_are_plain_and_complete():
    run = result(Run("digits", STOCHASTIC, 0, 40))
    assert run["figures"].keys() == {"loss", "accuracy"}
    assert [point["iteration"] for point in run["history"]] == list(range(8, 41, 8))
    assert run["history"][-1]["lost"].keys() == {"activation", "weight", "gradient"}
    assert run["skipped"] > 0


def test_the_file_has_the_figures_of_the_runs():
    plan = Plan("range", 3, (PLAIN, Policy("hif8", HIF8, HIF8, HIF8)))
    planned = runs.planned(plan, (5, 6))
    assert [(run.policy.name, run.seed) for run in planned] == [(n, s) for n in ("binary32", "hif8") for s in (5, 6)]
    trained = [result(run) for run in planned]
    (task,) = results([plan], (5, 6), dict(zip(planned, trained, strict=True)))
    by_name = {policy["name"]: policy for policy in task["policies"]}
    assert list(by_name) == ["binary32", *AFTER.values(), "hif8"]
    for place in range(2):
        assert by_name["binary32"]["figures"][place]["loss"] == pytest.approx(trained[place]["figures"]["loss"], 1e-4)
        assert by_name["hif8"]["figures"][place]["loss"] == pytest.approx(trained[2 + place]["figures"]["loss"], 1e-4)
        for kind, name in AFTER.items():
            expected = trained[place]["quantized"][kind]["loss"]
            assert by_name[name]["figures"][place]["loss"] == pytest.approx(expected, 1e-4)
    assert by_name["hif8"]["gradient"] == {"fmt": "hif8"}
    assert (task["parameters"], task["data"]) == (16 * 64 + 64 * 5, tasks.Range().digest)
    content = {"program": "0", "versions": {"numpy": "0"}, "seeds": [5, 6], "tasks": [task], "rows": []}
    losses = Study.from_json(content).tasks["range"].policies["hif8"].losses()
    assert losses == tuple(figures["loss"] for figures in by_name["hif8"]["figures"])


def test_weights_in_8_bits_with_residuals():
    """The sum of the parts, and without residuals too coarse for the optimizer's steps."""
    kept = {}
    for residual in (None, "dlfloat16", "ocp_e5m2"):
        coarse = Operand("ibm_1_4_3")
        trainer = Trainer(Run("range", Policy("p", coarse, coarse, coarse, residual=residual), 0, 200))
        for _ in range(3):
            trainer.step()
        kept[residual] = trainer.weights["last"].copy()
    parts = golden.get("ibm_1_4_3").quantize(kept["dlfloat16"])
    rest = kept["dlfloat16"] - parts
    assert rest.any()
    np.testing.assert_array_equal(golden.get("dlfloat16").quantize(rest), rest)
    np.testing.assert_allclose(kept["dlfloat16"], kept[None], rtol=0, atol=3 * 2.0**-10 * np.abs(rest).max())
    assert (kept["dlfloat16"] != kept[None]).any()
    assert np.abs(kept["ocp_e5m2"] - kept[None]).max() > np.abs(kept["dlfloat16"] - kept[None]).max()


def test_numbers_keep_five_digits():
    numbers = {"a": [1.234567, math.inf, -math.inf, math.nan, 3], "b": "text", "c": 2.0, "d": None}
    assert runs._rounded(numbers) == {"a": [1.2346, None, None, None, 3], "b": "text", "c": 2.0, "d": None}


def test_backoff_halves_after_an_overflow_and_doubles_after_a_window():
    scale = loss_scale("backoff", 2.0**15)
    assert scale.exponent == FIRST_BACKOFF
    assert not scale.update(1.0, overflowed=True)
    assert not scale.update(math.inf, overflowed=False)
    assert scale.exponent == FIRST_BACKOFF - 2
    for _ in range(WINDOW - 1):
        assert scale.update(1.0, overflowed=False)
    assert scale.exponent == FIRST_BACKOFF - 2
    scale.update(1.0, overflowed=False)
    assert scale.exponent == FIRST_BACKOFF - 1


def test_the_adaptive_window_follows_the_changes():
    scale = loss_scale("adaptive", 2.0**15)
    assert (scale.exponent, WINDOWS[scale.place]) == (FIRST_ADAPTIVE, 20)
    for _ in range(3 * 20):
        scale.update(1.0, overflowed=False)
    assert (scale.exponent, WINDOWS[scale.place]) == (FIRST_ADAPTIVE + 3, 50)
    for window in (20, 1, 1):
        for _ in range(3):
            scale.update(1.0, overflowed=True)
        assert WINDOWS[scale.place] == window
    scale.update(1.0, overflowed=False)
    assert scale.exponent == FIRST_ADAPTIVE + 3 - 9 + 1
    saved = loss_scale("adaptive", 2.0**15)
    vars(saved).update(json.loads(json.dumps(vars(scale))))
    assert saved == scale


def test_logmax_brings_the_mean_to_the_top():
    scale = loss_scale("logmax", 2.0**15)
    for _ in range(300):
        assert scale.update(2.0 ** (-20 + scale.exponent), overflowed=True)
    assert scale.exponent == 35
    for turn in range(3000):
        scale.update(2.0 ** (-20 + 4 * (-1) ** turn + scale.exponent), overflowed=False)
    assert scale.mean == pytest.approx(-20, abs=0.5)
    assert abs(scale.exponent - 35) <= 1
    before = scale.exponent
    assert not scale.update(math.inf, overflowed=False)
    assert scale.exponent == before - 1


@pytest.mark.parametrize("rule", ["none", "tensor"])
def test_other_rules_scale_no_loss(rule):
    scale = loss_scale(rule, 1.0)
    assert scale.update(3.0, overflowed=True)
    assert not scale.update(math.nan, overflowed=False)
    assert scale.exponent == 0
