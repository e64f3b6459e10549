"""How much a policy plays on given seeds, episodes side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.learn.env.reward import PERCENT
from dstcc.learn.env.runner import Runner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.learn.env.episodes import Episodes
    from dstcc.learn.spaces.actions import ActionSpace
    from dstcc.learn.spaces.observe import ObservationSpec

METRIC_REWARD = "weighted-layers"
"""Its sum over an episode is the metric ``weighted_layers`` in percent."""
VALIDATION_SEED = 1001
"""From which on seeds choose the best policy; disjoint from training
(:data:`~dstcc.learn.algorithms.streams.TRAINING`) and from the test."""
TEST_SEEDS = tuple(range(1, 21))
"""What is reported, and nothing is chosen by: the trials of ``dstcc emulate --seed 1 --seeds 20``."""


def validation_seeds(count: int) -> tuple[int, ...]:
    """So many seeds that choose the best policy."""
    return tuple(range(VALIDATION_SEED, VALIDATION_SEED + count))


def evaluate(
    act: Callable[[NDArray[np.float32]], NDArray[Any]],
    episodes: Episodes,
    observation: ObservationSpec,
    action: ActionSpace,
    seeds: Sequence[int],
    *,
    reward: str = METRIC_REWARD,
    threads: int = 1,
) -> NDArray[np.float64]:
    """What each seed's whole episode brings under ``act``, observations (K, features) to actions.

    ``weighted_layers``, or with another ``reward`` its sum over the episode.
    """
    runner = Runner(len(seeds), observation, action, reward=reward, threads=threads)
    for place, seed in enumerate(seeds):
        runner.begin(place, episodes.config(seed, action))
    while not (runner.terminated | runner.truncated).all():
        runner.step(act(runner.observations))
    returns: NDArray[np.float64] = runner.returns.copy()
    return returns / PERCENT if reward == METRIC_REWARD else returns
