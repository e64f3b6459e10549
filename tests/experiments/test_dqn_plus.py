"""``experiments/dqn_plus.py``: what its table compares, and that it goes on where it was."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import pytest

from dstcc.learn.algorithms.recipe import Recipe
from dstcc.learn.env.deep_space import make_specs, to_episodes
from dstcc.learn.training.evaluate import evaluate
from dstcc.stats import interquartile_mean
from experiments import dqn_plus
from experiments.dqn_plus import (
    CONSTANTS,
    GROWS,
    MISSION,
    NAME,
    PAPER,
    TRAINED_ON,
    VARIANTS,
    WHOLE,
    Kept,
    always,
    at_random,
    by_rule,
    earned,
    middle,
    shown,
)


def changed(recipe: Recipe) -> dict[str, object]:
    """What a recipe has otherwise than the whole one, of its learner and environment entry by entry."""
    found: dict[str, object] = {}
    for one in fields(Recipe):
        mine, whole = getattr(recipe, one.name), getattr(WHOLE, one.name)
        if one.name == "learner":
            mine, whole = asdict(mine), asdict(whole)
        if isinstance(mine, dict):
            found |= {
                key: mine.get(key) for key in mine.keys() | whole.keys() if mine.get(key) != whole.get(key)
            }
        elif mine != whole:
            found[one.name] = mine
    return found


@pytest.mark.parametrize(
    ("variant", "change"),
    [
        (NAME, {}),
        ("no actions under way", {"history": 0}),
        ("the paper's state", {"observation": "paper"}),
        ("one step", {"n_step": 1}),
        ("not double", {"double": False}),
        ("not dueling", {"dueling": False, "additive": False}),
        ("random choices of a slot", {"explore_for": 1}),
        ("the paper's reward", {"reward": "eq6"}),
    ],
)
def test_a_variant_takes_back_what_it_says_and_nothing_else(variant: str, change: dict[str, object]) -> None:
    assert changed(VARIANTS[variant]) == change


def test_the_paper_s_agent_has_as_many_slots() -> None:
    paper = VARIANTS["iodst-dqn, as many slots"]
    assert (paper.learner, paper.environment, paper.reward) == (
        PAPER.learner,
        PAPER.environment,
        PAPER.reward,
    )
    assert (paper.steps, paper.evaluate_every) == (WHOLE.steps, WHOLE.evaluate_every)


def test_waiting_is_paid_by_the_papers_reward_alone() -> None:
    # Windows of two segments: what arrives is late, and nothing is played.
    episodes = to_episodes(TRAINED_ON)
    spaces = make_specs(episodes, **WHOLE.environment)
    waits = (0, 0, 1, 0, 1)
    assert evaluate(always(waits), episodes, *spaces, (1,)).tolist() == [0.0]
    assert earned(episodes, *spaces, waits, WHOLE.reward) == 0
    assert earned(episodes, *spaces, waits, PAPER.reward) > 100


def test_what_grows_too_slowly_plays_next_to_nothing() -> None:
    episodes = to_episodes(MISSION)
    spaces = make_specs(episodes, **WHOLE.environment)
    slow = (GROWS - 1, GROWS - 1, 1, 0, 1)
    assert evaluate(always(slow), episodes, *spaces, (1,))[0] < 0.1  # what doubles plays 0.7 of this seed


def test_the_rule_looks_at_queues_alone() -> None:
    names = make_specs(to_episodes(TRAINED_ON), **WHOLE.environment)[0].names
    seen = np.random.default_rng(1).random((3, len(names))).astype(np.float32)
    places = [names.index(f"subflow{subflow}.queue") for subflow in (0, 1)]
    seen[:, places] = [[0.0, 0.02], [0.03, 0.1], [0.11, 4.0]]
    assert by_rule(names)(seen).tolist() == [[5, 5, 1, 0, 1], [2, 2, 1, 0, 1], [1, 1, 1, 0, 1]]


def test_random_is_every_action_alike() -> None:
    drawn = at_random()(np.zeros((28_800, 1), dtype=np.float32))
    counts = np.unique(np.ravel_multi_index(tuple(drawn.T), (6, 6, 2, 2, 2)), return_counts=True)[1]
    assert len(counts) == len(CONSTANTS) == 288
    assert abs(counts - 100).max() < 5 * 10  # 100 each, ± 5 deviations


def test_an_interval_is_over_trainings_and_seeds() -> None:
    # Two trainings that differ by 0.4, ten seeds that do not: half of the draws have one training twice.
    apart = np.array([[0.3] * 10, [0.7] * 10])
    assert shown(apart) == "0.500 [0.300, 0.700]"
    # One training, twenty seeds spread evenly over 0 to 1: deviations of some 0.08 about the middle.
    low, high = map(float, shown(np.linspace(0, 1, 20)[None, :])[7:-1].split(", "))
    assert 0.25 < low < 0.42 and 0.58 < high < 0.75
    rows = np.random.default_rng(1).random((3, 11))
    assert middle(rows) == pytest.approx(interquartile_mean(rows, axis=1))
    assert shown(np.full((1, 4), 0.25)) == "0.250 [0.250, 0.250]"


def test_what_is_kept_is_not_made_again(tmp_path: Path) -> None:
    assert Kept(tmp_path).make("variant", "1", lambda: {"cpu_s": 3.0}) == {"cpu_s": 3.0}
    again = Kept(tmp_path)
    assert again.make("variant", "1", lambda: pytest.fail("made again")) == {"cpu_s": 3.0}
    assert again.make("variant", "2", lambda: 4) == 4
    assert set(Kept(tmp_path).rows["variant"]) == {"1", "2"}


def test_a_dash_trains_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Names have a dash: as a part of one it would train them.
    monkeypatch.setattr(dqn_plus, "trained", lambda *_: pytest.fail("trained"))
    dqn_plus.train_all(Kept(tmp_path), dqn_plus.Missions(), 1, 1, ("-",))
    assert Kept(tmp_path).rows == {}
