"""``dstcc/DeepSpace-v1`` many times over, stepped in C++ threads."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .deep_space import Scenarios, action_space, draw_seed, make_specs, observation_space, to_episodes
from .runner import Runner


class DeepSpaceVectorEnv(VectorEnv[NDArray[np.float32], Any, NDArray[Any]]):
    """``num_envs`` episodes of :class:`~dstcc.learn.env.deep_space.DeepSpaceEnv` side by side, with its keywords.

    Episode k behaves as an environment of its own that was reset with ``seed + k`` (or the k-th of a list of
    seeds), whatever the number of ``threads``. An episode that ends begins anew in the same step
    (``AutoresetMode.SAME_STEP``): the observation is the new one's first, ``info["final_obs"][k]`` the old one's
    last, ``info["episode_return"]`` its return. A step releases the GIL.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's own declaration
        "render_modes": [],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        scenario: Scenarios = None,
        *,
        reward: str = "weighted-layers",
        threads: int = 1,
        **keywords: Any,
    ) -> None:
        """See :class:`~dstcc.learn.env.deep_space.DeepSpaceEnv`."""
        self.num_envs = num_envs
        self.episodes = to_episodes(scenario)
        self.spec_observation, self.spec_action = make_specs(self.episodes, **keywords)
        self.runner = Runner(
            num_envs, self.spec_observation, self.spec_action, reward=reward, threads=threads
        )
        self.single_observation_space = observation_space(self.spec_observation)
        self.single_action_space = action_space(self.spec_action)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.scenario_seeds = np.full(num_envs, -1, dtype=np.int64)
        self._generators = [np.random.default_rng() for _ in range(num_envs)]

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin all episodes, or with ``options["reset_mask"]`` those marked; ``options["scenario_seeds"]``
        (num_envs,) chooses them.
        """
        options = options or {}
        given = [seed + k for k in range(self.num_envs)] if isinstance(seed, int) else seed
        for k, one in enumerate(given or ()):
            if one is not None:
                self._generators[k], _ = gymnasium.utils.seeding.np_random(one)
        mask, chosen = options.get("reset_mask"), options.get("scenario_seeds")
        for k in range(self.num_envs):
            if mask is None or mask[k]:
                self._begin(k, None if chosen is None else int(chosen[k]))
        return self.runner.observations.copy(), self._info()

    def step(
        self, actions: Any
    ) -> tuple[
        NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
    ]:
        """Act in all episodes for one slot, or for ``hold`` slots where the environment was made so.

        Raises ValueError for an action outside the space, NaN included.
        """
        runner = self.runner
        runner.step(np.asarray(actions))
        rewards, ended, over = runner.rewards.copy(), runner.terminated, runner.truncated
        info = self._info()
        done = ended | over
        if done.any():
            last = np.full(self.num_envs, None, dtype=object)
            info |= {"final_obs": last, "_final_obs": done}
            info |= {"episode_return": np.where(done, runner.returns, 0.0), "_episode_return": done}
            for k in np.flatnonzero(done):
                last[k] = runner.observations[k].copy()
                self._begin(int(k), None)
        return runner.observations.copy(), rewards, ended, over, info

    def _begin(self, episode: int, scenario_seed: int | None) -> None:
        drawn = draw_seed(self._generators[episode]) if scenario_seed is None else scenario_seed
        self.scenario_seeds[episode] = drawn
        self.runner.begin(episode, self.episodes.config(drawn, self.spec_action))

    def _info(self) -> dict[str, Any]:
        every = np.ones(self.num_envs, dtype=np.bool_)
        times = np.array([self.runner.time_s(k) for k in range(self.num_envs)])
        return {
            "time_s": times,
            "_time_s": every,
            "scenario_seed": self.scenario_seeds.copy(),
            "_scenario_seed": every,
        }
