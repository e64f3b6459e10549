"""Many episodes side by side: which begin, with which seeds, and what is told of those that ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dstcc.learn.env.deep_space import MAX_SEED, DeepSpaceEnv, draw_seed
from dstcc.learn.env.vector import DeepSpaceVectorEnv

STAY = np.array([2, 2, 0, 1])


def test_its_spaces_are_those_of_one_side_by_side(short: Path) -> None:
    vector, one = DeepSpaceVectorEnv(3, short), DeepSpaceEnv(short)
    assert (vector.num_envs, vector.single_observation_space) == (3, one.observation_space)
    assert vector.single_action_space == one.action_space
    assert vector.observation_space.shape == (3, *(one.observation_space.shape or ()))
    assert vector.scenario_seeds.tolist() == [-1] * 3 and DeepSpaceVectorEnv(1, short).num_envs == 1


def test_those_begin_that_are_marked_and_seeds_may_be_chosen(short: Path) -> None:
    vector = DeepSpaceVectorEnv(3, short)
    first, info = vector.reset(options={"scenario_seeds": np.array([7, 8, 9])})
    assert info["scenario_seed"].tolist() == vector.scenario_seeds.tolist() == [7, 8, 9]
    assert info["time_s"].tolist() == [0.0] * 3
    assert info["_time_s"].tolist() == info["_scenario_seed"].tolist() == [True] * 3
    vector.step(np.array([STAY] * 3))
    mask = np.array([False, True, False])
    seen, info = vector.reset(options={"scenario_seeds": np.array([1, 2, 3]), "reset_mask": mask})
    assert info["scenario_seed"].tolist() == [7, 2, 9]
    assert info["time_s"][1] == 0.0 and (info["time_s"][[0, 2]] > 0).all()
    alone = DeepSpaceEnv(short)
    assert (seen[1] == alone.reset(options={"scenario_seed": 2})[0]).all() and (seen[0] != first[0]).any()


def test_each_episode_has_a_stream_of_seeds_of_its_own(short: Path) -> None:
    vector = DeepSpaceVectorEnv(3, short)
    together = vector.reset(seed=11)[1]["scenario_seed"].tolist()
    single = [DeepSpaceEnv(short).reset(seed=seed)[1]["scenario_seed"] for seed in (11, 12, 13)]
    assert together == single and len(set(together)) == 3
    again = vector.reset(seed=[13, None, 11])[1]["scenario_seed"].tolist()
    assert again[0] == single[2] and again[2] == single[0] and again[1] not in single
    assert vector.reset()[1]["scenario_seed"].tolist() != again


def test_what_ended_is_told_once_and_begins_anew(short: Path) -> None:
    """Two episodes, of which the second has been set back to its beginning."""
    vector, alone = DeepSpaceVectorEnv(2, short), DeepSpaceEnv(short)
    vector.reset(options={"scenario_seeds": np.array([3, 4])})
    alone.reset(options={"scenario_seed": 3})
    for _ in range(5):
        vector.step(np.array([STAY] * 2))
        alone.step(STAY)
    vector.reset(options={"scenario_seeds": np.array([0, 4]), "reset_mask": np.array([False, True])})
    ended = over = False
    while not (ended or over):
        observation, reward, ended, over, info = alone.step(STAY)
        seen, rewards, ends, overs, told = vector.step(np.array([STAY] * 2))
        assert (rewards[0], ends[0], overs[0]) == (reward, ended, over)
        assert ("final_obs" in told) == (ended or over)
    assert told["_final_obs"].tolist() == told["_episode_return"].tolist() == [True, False]
    assert told["episode_return"].tolist() == [info["episode_return"], 0.0]
    assert (told["final_obs"][0] == observation).all() and told["final_obs"][1] is None
    assert (seen[0] != observation).any() and vector.scenario_seeds[0] != 3
    assert vector.runner.time_s(0) == 0.0 and vector.runner.time_s(1) > 0
    assert told["scenario_seed"].tolist() == [3, 4]


def test_a_drawn_seed_is_below_the_most_that_a_trial_may_have() -> None:
    seeds = [draw_seed(np.random.default_rng(number)) for number in range(200)]
    assert all(0 <= seed < MAX_SEED for seed in seeds) and max(seeds) > 0.97 * MAX_SEED == 0.97 * 2**62


@pytest.mark.parametrize(
    ("kind", "space"), [("joint", "Discrete(288)"), ("continuous", "Box(-1.0, 1.0, (2,), float32)")]
)
def test_an_action_space_is_of_its_kind(kind: str, space: str) -> None:
    env: Any = DeepSpaceEnv(action=kind)
    assert str(env.action_space) == space
    assert str(DeepSpaceEnv().action_space).startswith("MultiDiscrete([6 6 2 2 2]")
    box = env.observation_space
    assert (box.low.max(), box.high.min(), box.dtype) == (-1.0, 4.0, np.float32)
