"""Training from outside: stopped, killed and resumed it is the uninterrupted one, and refuses what is not its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.errors import InputError, RunError
from dstcc.learn.algorithms.recipes import RECIPES, recipe_of
from dstcc.learn.algorithms.recipes.dstcc_lanes import RolloutSettings
from dstcc.learn.algorithms.recipes.iodst_dqn import DqnSettings
from dstcc.learn.algorithms.streams import TRAINING, training_seed
from dstcc.learn.env.deep_space import make_specs, to_episodes
from dstcc.learn.policies.policy import load_policy
from dstcc.learn.spaces.branched import branched
from dstcc.learn.training.checkpoint import load_checkpoint, save_checkpoint
from dstcc.learn.training.fleet import Fleet
from dstcc.learn.training.loop import Interrupted, train
from dstcc.learn.training.state import Training
from experiments.ablation_dqn import BranchDqnSettings

DQN = BranchDqnSettings(
    sets=8, batch=16, buffer=300, target_every=7, double=True, dueling=True, n_step=3, explore_for=4
)
TINY = replace(
    RECIPES["dstcc-lanes"],
    learner=DQN,
    episodes=4,
    learn_every=8,
    warm_up=64,
    epsilon_steps=400,
    evaluate_every=128,
    validation=4,
)
"""Its memory overflows and its episodes of about 40 slots end several times within 480 steps."""


def _state(run):
    arrays, document, wrong = load_checkpoint(run)
    assert wrong == []
    return {name: values.tobytes() for name, values in arrays.items()}, document


def _go(short, run, steps, recipe=TINY, **options):
    return train(short, run, algorithm="dstcc-lanes", steps=steps, recipe=recipe, seed=5, **options)


TINY_ROLLOUTS = replace(
    TINY,
    learner=RolloutSettings(
        sets=8, batch=16, memory=2, kept=3, least=1, default_choices=(1, 2, 0, 1), margin=0.1
    ),
    episodes=17,
    evaluate_every=510,
)
OF_THE_PAPER = replace(
    TINY,
    environment=RECIPES["iodst-dqn"].environment,
    reward=RECIPES["iodst-dqn"].reward,
    learner=DqnSettings(hidden=(16,), batch=16, buffer=300, target_every=7, double=True),
)


@pytest.mark.parametrize("recipe", [TINY, TINY_ROLLOUTS, OF_THE_PAPER])
def test_n_steps_and_n_more_are_2n_steps(tmp_path, short, recipe):
    half, whole = (200, 480) if recipe.episodes == 4 else (425, 850)
    for place, steps in (("once", (whole,)), ("twice", (half, whole))):
        for most in steps:
            done = _go(short, tmp_path / place, most, recipe, resume=True)
            assert done.steps == most
    assert _state(tmp_path / "once") == _state(tmp_path / "twice")
    learned = _state(tmp_path / "once")[1]["learner"]
    assert learned["updates"] > 0
    once, twice = ((tmp_path / place / "policy.safetensors").read_bytes() for place in ("once", "twice"))
    assert once == twice


def test_asked_to_stop_it_saves_and_goes_on(tmp_path, short):
    asked = iter([False] * 18)
    with pytest.raises(Interrupted):
        _go(short, tmp_path / "run", 140, stop=lambda: next(asked, True))
    assert _state(tmp_path / "run")[1]["steps"] == 72
    _go(short, tmp_path / "run", 140, resume=True)
    _go(short, tmp_path / "other", 140)
    assert _state(tmp_path / "run") == _state(tmp_path / "other")


def test_threads_change_nothing(tmp_path, short):
    _go(short, tmp_path / "one", 200)
    _go(short, tmp_path / "two", 200, threads=2)
    assert _state(tmp_path / "one") == _state(tmp_path / "two")


def test_what_comes_out(tmp_path, short):
    seen = []
    done = _go(short, tmp_path / "run", 300, watch=lambda step, point: seen.append((step, point)))
    document = done.document()
    assert json.loads(json.dumps(document)) == document
    assert document["steps"] == 300 and document["evaluation"]["metric"] == "weighted_layers"
    assert document["env_steps_per_s"] > 300 / document["wall_s"]  # evaluations take time of their own
    assert document["env_steps_per_s"] < 1e7
    assert (
        0
        <= document["evaluation"]["low"]
        <= document["evaluation"]["mean"]
        <= document["evaluation"]["high"]
        <= 1
    )
    assert [step for step, _ in seen] == list(range(4, 304, 4))
    assert [point.step for _, point in seen if point] == [128, 256]
    rows = (tmp_path / "run" / "curves.csv").read_text().splitlines()
    assert rows[0].startswith("step,score") and len(rows) == 3
    policy = load_policy(done.policy)
    assert (policy.algorithm, policy.seed) == ("dstcc-lanes", 5)
    assert policy.scenario_sha256 == to_episodes(short).content_hash
    assert [one.sha256 for one in policy.trained_on] == [policy.scenario_sha256]
    assert policy.observation.kind == "measured"


def test_without_a_better_evaluation_for_long_it_stops_and_says_so(tmp_path, short):
    still = replace(TINY, learner=replace(DQN, learning_rate=0.0), patience=2)
    done = _go(short, tmp_path / "run", 10_000, still)
    assert (done.reason, done.steps) == (
        "patience",
        3 * 128,
    )  # the first is the best; two more do not beat it


def test_episodes_are_put_back_where_they_were(short):
    episodes = to_episodes(short)
    specs = make_specs(episodes, **TINY.environment)
    draws = np.random.default_rng(3)
    branches = branched(specs[1]).branches

    def fleet():
        return Fleet(episodes, 5, *specs, reward="weighted-layers", seed=2, threads=1)

    def actions():
        return draws.integers(0, branches, (5, len(branches)))

    one, other = fleet(), fleet()
    other.restore(one.arrays())
    assert (other.observations == one.observations).all()
    for _ in range(90):
        one.step(actions())
    assert one.begun > 10
    other.restore(one.arrays())
    assert len(set(one.arrays()["lengths"])) > 1  # they had come differently far
    for _ in range(60):
        chosen = actions()
        assert (other.observations == one.observations).all()
        for a, b in zip(one.step(chosen), other.step(chosen), strict=True):
            assert (a == b).all()


def test_an_episode_that_has_just_begun_is_put_back_beside_others(short):
    episodes = to_episodes(short)
    specs = make_specs(episodes, **TINY.environment)
    branches = branched(specs[1]).branches
    draws = np.random.default_rng(4)
    one, other = (Fleet(episodes, 5, *specs, reward="weighted-layers", seed=2, threads=1) for _ in range(2))
    while True:
        one.step(draws.integers(0, branches, (5, len(branches))))
        lengths = one.arrays()["lengths"]
        if (lengths == 0).any() and (lengths > 0).any():
            break
    other.restore(one.arrays())
    assert (other.observations == one.observations).all()
    assert (other.runner.returns == one.runner.returns).all()
    for name, values in one.arrays().items():
        assert (other.arrays()[name] == values).all(), name
    with pytest.raises(InputError, match="a state of 5 episodes, expected 4"):
        Fleet(episodes, 4, *specs, reward="weighted-layers", seed=2, threads=1).restore(one.arrays())


def test_training_seeds_are_nobody_else_s():
    seeds = {training_seed(k, n) for k in range(20) for n in range(200)}
    assert len(seeds) == 4000
    assert all(TRAINING <= seed < 2 * TRAINING for seed in seeds)
    assert max(seeds) > 1.99 * TRAINING and min(seeds) < 1.01 * TRAINING  # all bits below are drawn


@pytest.mark.parametrize(("score", "chosen"), [(0.4, "best"), (0.5, "best"), (0.6, "last")])
def test_the_last_weights_are_the_policy_where_they_are_better_than_any_before(score, chosen):
    made: Any = SimpleNamespace(
        policy=lambda: "last",
        best=(0.5, {}),
        best_policy=lambda: "best",
        validation=(7, 8),
        scores=lambda policy, seeds: np.full(2, score) if (policy, seeds) == ("last", (7, 8)) else None,
    )
    assert Training.final_policy(made) == chosen
    made.best = None
    assert Training.final_policy(made) == "last"


@pytest.mark.parametrize(
    ("scores", "steps", "reason"),
    [
        ([], 99, ""),
        ([1.0], 100, "steps"),
        ([2.0, 1.0, 1.0], 99, ""),
        ([2.0, 1.0, 1.0, 1.0], 99, "patience"),
        ([2.0, 1.0, 2.0, 1.0], 99, "patience"),
        ([1.0, 2.0, 1.0, 1.0], 99, ""),
    ],
)
def test_a_training_ends_with_its_steps_or_three_evaluations_after_the_best(scores, steps, reason):
    points = [SimpleNamespace(score=score) for score in scores]
    made: Any = SimpleNamespace(steps=steps, points=points, recipe=SimpleNamespace(patience=3))
    assert Training.finished(made, 100) == reason


def test_an_evaluation_is_due_where_a_multiple_was_passed():
    """Of 100, with steps of 40 at once."""
    made: Any = SimpleNamespace(
        recipe=SimpleNamespace(evaluate_every=100), fleet=SimpleNamespace(count=40), _evaluate=lambda: "point"
    )
    due = []
    for steps in range(40, 401, 40):
        made.steps = steps
        due.append(Training.evaluate_if_due(made) is not None)
    assert due == [False, False, True, False, True, False, False, True, False, True]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 6}, "another seed 5, not 6"),
        ({"algorithm": "iodst-dqn"}, "another algorithm dstcc-lanes, not iodst-dqn"),
        ({"recipe": replace(TINY, warm_up=65)}, "another recipe"),
    ],
)
def test_a_run_of_another_training_is_refused_and_left(tmp_path, short, change, named):
    _go(short, tmp_path / "run", 16)
    before = _state(tmp_path / "run")
    keys = {"algorithm": "dstcc-lanes", "recipe": TINY, "seed": 5} | change
    with pytest.raises(RunError, match=named):
        train(short, tmp_path / "run", steps=32, resume=True, **keys)
    assert _state(tmp_path / "run") == before


def test_a_run_of_another_scenario_or_version_is_refused(tmp_path, short, monkeypatch):
    _go(short, tmp_path / "run", 16)
    other = tmp_path / "other.toml"
    other.write_text(short.read_text().replace("200_000", "200_001"))
    with pytest.raises(RunError, match="another scenario"):
        _go(other, tmp_path / "run", 32, resume=True)
    monkeypatch.setattr("dstcc.learn.training.trainable.__version__", "9.9.9")
    with pytest.raises(RunError, match=r"another version 0\..*, not 9\.9\.9"):
        _go(short, tmp_path / "run", 32, resume=True)


def test_a_run_in_the_way_is_refused(tmp_path, short):
    (tmp_path / "run").mkdir()
    with pytest.raises(InputError, match="already exists"):
        _go(short, tmp_path / "run", 16)
    with pytest.raises(RunError, match="no checkpoint"):
        _go(short, tmp_path / "run", 16, resume=True)


def test_an_unknown_algorithm_names_the_nearest():
    with pytest.raises(InputError, match="did you mean 'iodst-dqn'"):
        recipe_of("iodst-dqm")


KILLED = """
import sys
from pathlib import Path
from tests.learn.training.test_train import TINY, _go
_go(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), resume=True)
"""


def _killed(short, run, steps, delay_s):
    """Train in a process of its own and kill it after so long; whether it was done first."""
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(short), str(run), str(steps)], stderr=subprocess.PIPE
    )
    start = time.monotonic()
    while not run.exists() and child.poll() is None and time.monotonic() - start < 600:
        time.sleep(0.005)
    try:
        child.wait(delay_s)
    except subprocess.TimeoutExpired:
        os.kill(child.pid, signal.SIGKILL)
    _, said = child.communicate()
    assert child.returncode in (0, -signal.SIGKILL), said.decode()
    return child.returncode == 0


@pytest.mark.parametrize("kills", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_random_moments_it_always_goes_on_to_the_same_weights(tmp_path, short, kills):
    draws = np.random.default_rng(kills)
    steps = 600 * kills
    run, done = tmp_path / "run", 0
    for _ in range(kills):
        done += _killed(short, run, steps, float(draws.uniform(0.0, 4.0 if run.exists() else 0.5)))
        load_checkpoint(run)
    assert done < kills, "some were killed on the way"
    _go(short, run, steps, resume=True)
    _go(short, tmp_path / "whole", steps)
    assert _state(run) == _state(tmp_path / "whole")


def _as_of_before(run, **options):
    """Give the newest checkpoint's recipe the options that older versions wrote."""
    arrays, document, _ = load_checkpoint(run)
    document["identity"]["recipe"]["learner"] |= options
    save_checkpoint(run, document["steps"], arrays, document)


BEFORE = {
    "dueling": False,
    "n_step": 1,
    "explore_branches": False,
    "explore_for": 1,
    "sets": 0,
    "usual": [],
    "margin": 0.0,
}


def test_a_checkpoint_from_before_options_went_goes_on_alike(tmp_path, short):
    for place in ("new", "old"):
        _go(short, tmp_path / place, 200, OF_THE_PAPER)
    _as_of_before(tmp_path / "old", **BEFORE)
    for place in ("new", "old"):
        _go(short, tmp_path / place, 480, OF_THE_PAPER, resume=True)
    assert _state(tmp_path / "new") == _state(tmp_path / "old")


def test_a_checkpoint_that_used_an_option_which_went_is_refused(tmp_path, short):
    _go(short, tmp_path / "run", 200, OF_THE_PAPER)
    _as_of_before(tmp_path / "run", **BEFORE | {"n_step": 3})
    with pytest.raises(
        RunError, match="trained with n_step = 3, which dstcc no longer has; nothing was changed"
    ):
        _go(short, tmp_path / "run", 480, OF_THE_PAPER, resume=True)


def test_a_checkpoint_that_names_the_default_choices_usual_goes_on(tmp_path, short):
    _go(short, tmp_path / "run", 425, TINY_ROLLOUTS)
    arrays, document, _ = load_checkpoint(tmp_path / "run")
    learner = document["identity"]["recipe"]["learner"]
    learner["usual"] = learner.pop("default_choices")
    save_checkpoint(tmp_path / "run", document["steps"], arrays, document)
    _go(short, tmp_path / "run", 850, TINY_ROLLOUTS, resume=True)
