"""Runs resume with the same bytes, are kept by content, and learn; scales of the loss follow their rules."""

import json
import math

import numpy as np
import pytest

from golden.refusal import Refusal
from synth.studies.training import runs, tasks
from synth.studies.training.policy import Operand, Policy
from synth.studies.training.runs import Run, Trainer, finished, train
from synth.studies.training.scaling import FIRST_ADAPTIVE, FIRST_BACKOFF, WINDOW, WINDOWS, LossScale

HIF8 = Operand("hif8")
STOCHASTIC = Policy("stochastic", HIF8, HIF8, Operand("hif8", "stochastic"), "binary16", scaling="adaptive")
TENSOR = Policy("tensor", HIF8, HIF8, HIF8, scaling="tensor")
PLAIN = Policy("binary32")


def result(run, folder):
    train(run, folder)
    return finished(run, folder)


@pytest.mark.parametrize("task", ["range", "digits"])
@pytest.mark.parametrize("policy", [STOCHASTIC, TENSOR, PLAIN], ids=lambda policy: policy.name)
def test_a_run_in_parts_ends_with_the_same_bytes(task, policy, tmp_path):
    run = Run(task, policy, 3, 14)
    train(run, tmp_path / "whole")
    (whole,) = (tmp_path / "whole").iterdir()
    for iteration in range(13):
        assert train(run, tmp_path / "parts", limit=0) == (iteration, iteration + 1)
        (saved,) = (tmp_path / "parts").iterdir()
        again = Trainer(run)
        again.load(saved)
        assert again.iteration == iteration + 1
    assert train(run, tmp_path / "parts") == (13, 14)
    (parts,) = (tmp_path / "parts").iterdir()
    assert parts.name == whole.name
    assert parts.read_bytes() == whole.read_bytes()


def test_a_finished_run_is_not_trained_again(tmp_path, monkeypatch):
    run = Run("range", PLAIN, 0, 3)
    assert finished(run, tmp_path) is None
    assert train(run, tmp_path) == (0, 3)
    monkeypatch.setattr(Trainer, "step", lambda _: pytest.fail("trained again"))
    assert train(run, tmp_path) == (3, 3)
    assert finished(run, tmp_path)["history"][-1]["iteration"] == 3


def test_keys_contain_everything_that_results_depend_on(monkeypatch):
    run = Run("range", PLAIN, 0, 3)
    others = [
        Run("digits", PLAIN, 0, 3),
        Run("range", TENSOR, 0, 3),
        Run("range", PLAIN, 1, 3),
        Run("range", PLAIN, 0, 4),
    ]
    keys = {run.key(), *(other.key() for other in others)}
    monkeypatch.setattr(runs, "code_hash", lambda: "another program")
    keys.add(run.key())
    monkeypatch.setattr(tasks.Range, "digest", lambda _: "other data")
    assert len(keys | {run.key()}) == 7


def test_all_functions_of_the_wide_task_are_learnt_in_binary32_and_the_last_is_lost_in_e4m3(tmp_path):
    narrow = Operand("ocp_e4m3")
    plain = result(Run("range", PLAIN, 0, 150), tmp_path)["figures"]
    lost = result(Run("range", Policy("e4m3", narrow, narrow, narrow), 0, 150), tmp_path)["figures"]
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
    tasks._text.cache_clear()
    assert task.text.size == tasks.CHARACTERS >= 300_000
    assert sum(w.size for w in task.network.weights(np.random.default_rng(0)).values()) > 100_000
    first, labels = task.samples(np.random.default_rng(0), 4)
    np.testing.assert_array_equal(first[:, 1:].reshape(-1), labels.reshape(4, -1)[:, :-1].reshape(-1))
    monkeypatch.setattr(tasks, "TEXT", "0000")
    with pytest.raises(Refusal, match=r"^scikit-learn \S+ has other docstrings than those of the study$"):
        tasks._text()


def test_a_step_of_the_language_model_learns(monkeypatch):
    trainer = Trainer(Run("characters", TENSOR, 0, 20))
    monkeypatch.setattr(trainer.task, "batch", 2)
    for _ in range(3):
        trainer.step()
    assert trainer.updates == 3
    assert trainer.products.shares().keys() == {"activation", "weight", "gradient"}
    inputs, labels = trainer.task.samples(np.random.default_rng(5), 4)
    _, outputs = trainer.task.outputs(trainer.weights, inputs, trainer.products)
    assert trainer.task.figures(outputs.value, labels)["loss"] < 4.3  # 5.1 before


def test_results_are_plain_and_complete(tmp_path):
    run = result(Run("digits", STOCHASTIC, 0, 40), tmp_path)
    assert run["figures"].keys() == {"loss", "accuracy"}
    assert [point["iteration"] for point in run["history"]] == list(range(2, 41, 2))
    assert run["history"][-1]["lost"].keys() == {"activation", "weight", "gradient"}
    assert run["skipped"] > 0


def test_backoff_halves_after_an_overflow_and_doubles_after_a_window():
    scale = LossScale("backoff", 2.0**15)
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
    scale = LossScale("adaptive", 2.0**15)
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
    saved = LossScale("adaptive", 2.0**15)
    saved.restore(json.loads(json.dumps(scale.state())))
    assert saved == scale


def test_logmax_brings_the_mean_to_the_top():
    scale = LossScale("logmax", 2.0**15)
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
    scale = LossScale(rule, 1.0)
    assert scale.update(3.0, overflowed=True)
    assert not scale.update(math.nan, overflowed=False)
    assert scale.exponent == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("mnist", PLAIN, 0, 1), "task must be one of characters, letters, digits, range, not 'mnist'"),
        (("range", PLAIN, -1, 1), "seed must be an integer from 0 to .*, not -1"),
        (("range", PLAIN, 0, 0), "iterations must be an integer from 1 to .*, not 0"),
    ],
)
def test_runs_are_checked(arguments, sentence):
    with pytest.raises(Refusal, match=f"^{sentence}$"):
        Run(*arguments)
