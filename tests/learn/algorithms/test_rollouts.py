"""Learning from rollouts: groups that differ in one choice, what it brought, and the policy that comes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dstcc.learn.algorithms.learner import Slot
from dstcc.learn.algorithms.recipes import RECIPES, Task
from dstcc.learn.algorithms.recipes.dstcc_lanes import RolloutSettings
from dstcc.learn.algorithms.rollouts import Rollouts, group_size
from dstcc.learn.env.deep_space import to_episodes
from dstcc.learn.spaces.measured_actions import MeasuredActions
from dstcc.learn.spaces.observe import ObservationSpec
from dstcc.learn.training.fleet import Fleet

ACTION = MeasuredActions(
    subflows=2, layers=2, windows=((1.0, 0.0), (1.0, 1.0)), orders=((0.0, 0.0), (0.2, 0.0))
)
OBSERVATION = ObservationSpec("measured", 2, 2, 0)
SETTINGS = RolloutSettings(
    sets=8, learning_rate=1e-2, batch=32, memory=50, kept=2, least=2, default_choices=(0, 0, 0), margin=0.1
)
SIZE = group_size(ACTION)
SLOTS = 3


def learner(groups: int = 2) -> Rollouts:
    recipe = replace(RECIPES["dstcc-lanes"], learner=SETTINGS, episodes=groups * SIZE, learn_every=SIZE)
    return Rollouts(Task(recipe, OBSERVATION, ACTION, 1))


def seen(count: int, k: int) -> Any:
    observations = np.random.default_rng(k).random((count, OBSERVATION.size)).astype(np.float32)
    for place, name in enumerate(OBSERVATION.names):
        if name.endswith("present"):
            observations[:, place] = 1
    return observations


def play(one: Rollouts, steps: int, best: tuple[int, int, int], *, still: bool = False) -> None:
    """Every slot pays 1 for the first subflow's window, the place and the order that are best."""
    count = one.recipe.episodes
    own, none = np.zeros((count, 1)), np.zeros(count, dtype=np.bool_)
    for k in range(steps):
        observations = np.tile(seen(1, 0), (count, 1)) if still else seen(count, k)
        actions = one.act(observations, own, 0)
        done = np.full(count, k % SLOTS == SLOTS - 1)
        slot = Slot(
            observations=observations,
            actions=actions,
            rewards=(actions[:, [0, 2, 3]] == best).sum(axis=1).astype(float),
            following=observations,
            terminated=none,
            done=done,
            before=own,
            after=own,
        )
        one.take(slot, (k + 1) * count)


def test_a_group_differs_in_one_choice_each() -> None:
    assert SIZE == 1 + 2 + 4 + 2
    one = learner()
    actions = one.act(seen(2 * SIZE, 0), np.zeros((2 * SIZE, 1)), 0)
    one_group = one.act(np.tile(seen(1, 0), (2 * SIZE, 1)), np.zeros((2 * SIZE, 1)), 0)[:SIZE]
    assert actions.shape == (2 * SIZE, 4)
    assert (one_group[1:3, :2] == [[0, 0], [1, 1]]).all()  # a window is all subflows'
    assert one_group[3:7, 2].tolist() == [0, 1, 2, 3] and one_group[7:, 3].tolist() == [0, 1]
    own = one_group[0]
    assert all((row != own).sum() <= 2 for row in one_group)


def test_gains_are_to_the_policy_s_own_episode() -> None:
    one = learner()
    play(one, SLOTS, (0, 2, 1), still=True)
    assert one.added == 2
    own = one._data["chosen"][0, 0]
    gain = one._data["gain"][0]
    assert gain[2:6].tolist() == [float(SLOTS * (int(k == 2) - int(own[2] == 2))) for k in range(4)]


def test_it_learns_what_is_best_in_each_branch() -> None:
    one = learner()
    play(one, 60, (1, 2, 1))
    chosen = one.act(seen(2 * SIZE, 99), np.zeros((2 * SIZE, 1)), 0)[0]
    assert chosen[[0, 2, 3]].tolist() == [1, 2, 1]


def test_an_interrupted_learner_goes_on_as_it_was() -> None:
    whole, first, second = learner(), learner(), learner()
    play(whole, 20, (1, 2, 1))
    play(first, 10, (1, 2, 1))
    second.restore({name: values.copy() for name, values in first.arrays().items()}, first.document())
    assert {name: values.tobytes() for name, values in second.arrays().items()} == {
        name: values.tobytes() for name, values in first.arrays().items()
    }


def test_groups_meet_the_same_seeds(short: Any) -> None:
    episodes = to_episodes(short)
    fleet = Fleet(episodes, 6, OBSERVATION, ACTION, reward="weighted-layers", seed=5, threads=1, group=3)
    seeds = fleet.arrays()["scenario_seeds"]
    assert len(set(seeds[:3].tolist())) == len(set(seeds[3:].tolist())) == 1 and seeds[0] != seeds[3]
    fleet._begin_next(1)
    ahead = fleet.arrays()["scenario_seeds"]
    assert ahead[1] not in seeds
    for place in (0, 2):
        fleet._begin_next(place)
    assert len(set(fleet.arrays()["scenario_seeds"][:3].tolist())) == 1


def test_episodes_must_be_whole_groups() -> None:
    recipe = replace(RECIPES["dstcc-lanes"], learner=SETTINGS, episodes=SIZE + 1)
    with pytest.raises(ValueError, match="no groups of"):
        Rollouts(Task(recipe, OBSERVATION, ACTION, 1))
