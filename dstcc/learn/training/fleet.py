"""K training episodes side by side that begin anew as they end, and can be put back where they were."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dstcc.arrays import Arrays
from dstcc.errors import InputError
from dstcc.learn.algorithms.streams import training_seed
from dstcc.learn.env.runner import Runner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.learn.env.episodes import Episodes
    from dstcc.learn.spaces.actions import ActionSpace
    from dstcc.learn.spaces.observe import ObservationSpec


CONFIGS = 8
"""Configurations kept: the episodes of a group begin the same trial, each in its turn."""


class StepResult(NamedTuple):
    """The result of a step, also for the episodes that ended with it."""

    observations: NDArray[np.float32]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    done: NDArray[np.bool_]
    episode_values: NDArray[np.float64]
    subflow_values: NDArray[np.float64]


class Fleet:
    """What a learner steps. ``observations`` (K, features) is what it acts on next.

    A trial follows from its scenario seed and its actions, so :meth:`arrays` holds those only, and :meth:`restore`
    plays them again: trials that had come less far begin later, so that all arrive together.
    """

    def __init__(
        self,
        episodes: Episodes,
        count: int,
        observation: ObservationSpec,
        action: ActionSpace,
        *,
        reward: str,
        seed: int,
        threads: int,
        group: int = 1,
    ) -> None:
        """Of ``group`` episodes side by side each meets the same scenario seeds, one after the other."""
        self.episodes, self.count, self.seed = episodes, count, seed
        self.runner = Runner(count, observation, action, reward=reward, threads=threads)
        self.begun = 0
        self.returns: list[float] = []
        """Sum of rewards of each episode that ended, in the order of the ends; no part of :meth:`arrays`."""
        self.group = group
        self._config = lru_cache(CONFIGS)(partial(episodes.config, action=action))
        self._turns = np.zeros(count, dtype=np.int64)
        self._scenario_seeds = np.zeros(count, dtype=np.int64)
        self._actions: list[list[NDArray[Any]]] = [[] for _ in range(count)]
        for place in range(count):
            self._begin_next(place)

    @property
    def observations(self) -> NDArray[np.float32]:
        """A copy, (K, features)."""
        return self.runner.observations.copy()

    @property
    def episode_values(self) -> NDArray[np.float64]:
        """The episodes' own values, a copy, (K, EPISODE_VALUES)."""
        return self.runner.stepper.episode_values.copy()

    def step(self, actions: NDArray[Any]) -> StepResult:
        """Act: choices (K, branches), or with continuous actions numbers (K, subflows).

        The observations are the episodes' own, also of those that are done; :attr:`observations` are then
        those of new ones.
        """
        self._go(actions)
        for place in range(self.count):
            self._actions[place].append(actions[place])
        runner = self.runner
        terminated = runner.terminated
        done = terminated | runner.truncated
        result = StepResult(
            runner.observations.copy(),
            runner.rewards.copy(),
            terminated,
            done,
            self.episode_values,
            runner.stepper.subflow_values.copy(),
        )
        for place in np.flatnonzero(done).tolist():
            self.returns.append(float(runner.returns[place]))
            self._begin_next(place)
        return result

    def arrays(self) -> Arrays:
        """Scenario seeds and actions of the running trials, for a checkpoint."""
        arrays = [np.array(actions) for actions in self._actions if actions]
        return {
            "begun": np.array([self.begun]),
            "turns": self._turns.copy(),
            "scenario_seeds": self._scenario_seeds.copy(),
            "lengths": np.array([len(episode_actions) for episode_actions in self._actions]),
            "actions": np.concatenate(arrays) if arrays else np.zeros((0, 0)),
        }

    def restore(self, arrays: Arrays) -> None:
        """Back from :meth:`arrays`; raises InputError for those of another fleet."""
        seeds, lengths, actions = (arrays[name] for name in ("scenario_seeds", "lengths", "actions"))
        if seeds.shape != (self.count,) or lengths.sum() != len(actions):
            raise InputError(f"a state of {len(seeds)} episodes, expected {self.count}")
        self.begun = int(arrays["begun"][0])
        self._turns = arrays["turns"].copy()
        self._scenario_seeds[:] = seeds
        self._actions = [
            list(episode_actions) for episode_actions in np.split(actions, np.cumsum(lengths)[:-1])
        ]
        most = int(lengths.max())
        for place in range(self.count):
            self._begin(place)
        for now in range(most):
            for place in np.flatnonzero(most - lengths == now).tolist():
                self._begin(place)
            since = now - (most - lengths)
            chosen = [
                episode_actions[max(k, 0)] if episode_actions else actions[0]
                for episode_actions, k in zip(self._actions, since.tolist(), strict=True)
            ]
            self._go(np.array(chosen))
        for place in np.flatnonzero(lengths == 0).tolist():
            self._begin(place)

    def _go(self, actions: NDArray[Any]) -> None:
        self.runner.step(actions[:, 0] if self.runner.action.single else actions)

    def _begin_next(self, place: int) -> None:
        alike = place // self.group + self._turns[place] * (self.count // self.group)
        self._scenario_seeds[place] = training_seed(self.seed, int(alike) if self.group > 1 else self.begun)
        self.begun += 1
        self._turns[place] += 1
        self._actions[place] = []
        self._begin(place)

    def _begin(self, place: int) -> None:
        seed = int(self._scenario_seeds[place])
        self.runner.begin(place, self._config(seed))
