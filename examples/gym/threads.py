"""dstcc's environment, many episodes in C++ threads, as a ``VecEnv`` of stable-baselines3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from dstcc.learn.env.vector import DeepSpaceVectorEnv


class ThreadedVecEnv(VecEnv):
    """A :class:`~dstcc.learn.DeepSpaceVectorEnv` by the interface that stable-baselines3's algorithms take.

    Both begin an ended episode anew in the same step. Here the observation before that is
    ``infos[k]["terminal_observation"]``, and ``infos[k]["episode"]`` has return and length, as ``Monitor`` gives them.
    """

    def __init__(self, envs: DeepSpaceVectorEnv) -> None:
        """Take over the episodes of ``envs``."""
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self.steps = np.zeros(envs.num_envs, dtype=np.int64)
        self.actions: NDArray[Any] | None = None

    def reset(self) -> NDArray[np.float32]:
        """Begin all episodes, by the seeds of :meth:`seed` the first time."""
        seeds = self._seeds if any(one is not None for one in self._seeds) else None
        observations, _ = self.envs.reset(seed=seeds)
        self._reset_seeds()
        self._reset_options()
        self.steps[:] = 0
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Remember the actions; the threads run in :meth:`step_wait`."""
        self.actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Act in all episodes for one slot."""
        observations, rewards, ended, over, info = self.envs.step(self.actions)
        self.steps += 1
        done = ended | over
        infos: list[dict[str, Any]] = [
            {"time_s": info["time_s"][k], "scenario_seed": info["scenario_seed"][k]}
            for k in range(self.num_envs)
        ]
        for k in np.flatnonzero(done):
            infos[k] |= {
                "terminal_observation": info["final_obs"][k],
                "TimeLimit.truncated": bool(over[k] and not ended[k]),
                "episode": {"r": float(info["episode_return"][k]), "l": int(self.steps[k]), "t": 0.0},
            }
            self.steps[k] = 0
        return observations, rewards.astype(np.float32), done.copy(), infos

    def close(self) -> None:
        """End all episodes."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of ``envs``, once for each episode asked for."""
        return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: the episodes share one object."""
        raise AttributeError(
            f"{attr_name}: the episodes of one DeepSpaceVectorEnv have no attributes of their own"
        )

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **keywords: Any) -> list[Any]:
        """Refused, likewise."""
        raise AttributeError(
            f"{method_name}: the episodes of one DeepSpaceVectorEnv have no methods of their own"
        )

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """No wrapper is around a single episode. ``infos`` has what ``Monitor`` would add."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """There are none."""
        return [None] * self.num_envs
