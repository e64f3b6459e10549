"""What an evaluation measures: each seed's whole episode, whichever end comes first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dstcc.learn.env.deep_space import DeepSpaceEnv, make_specs, to_episodes
from dstcc.learn.training.evaluate import TEST_SEEDS, evaluate, validation_seeds

ACTION = np.array([2, 2, 0, 1])


def test_seeds_that_choose_are_none_that_are_reported() -> None:
    assert validation_seeds(3) == (1001, 1002, 1003) and validation_seeds(0) == ()
    assert (len(TEST_SEEDS), TEST_SEEDS[0], TEST_SEEDS[-1]) == (20, 1, 20)


@pytest.mark.parametrize(("reward", "times"), [("weighted-layers", 0.01), ("eq6", 1.0)])
def test_an_evaluation_is_the_return_of_each_seeds_episode(short: Path, reward: str, times: float) -> None:
    """Of percent a share; other rewards as they are."""
    episodes = to_episodes(short)
    asked: list[int] = []

    def act(observations: Any) -> Any:
        asked.append(len(observations))
        return np.array([ACTION] * len(observations))

    found = evaluate(act, episodes, *make_specs(episodes), (5, 3), reward=reward)
    returns = []
    for seed in (5, 3):
        env = DeepSpaceEnv(short, reward=reward)
        env.reset(options={"scenario_seed": seed})
        ended = over = False
        while not (ended or over):
            *_, ended, over, info = env.step(ACTION)
        returns.append(info["episode_return"] * times)
    assert found.tolist() == pytest.approx(returns) and set(asked) == {2}
