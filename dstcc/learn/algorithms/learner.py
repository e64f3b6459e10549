"""What a training asks of a learner, and which learner a recipe's settings mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .settings import (
    DdpgSettings,
    DqnSettings,
    PpoSettings,
    QTableSettings,
    RolloutSettings,
    SchedulerSettings,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.learn.spaces.actions import ActionSpace
    from dstcc.learn.spaces.observe import ObservationSpec

    from .recipes import Recipe

    Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Slot:
    """A slot of K episodes: what was seen, done and came of it."""

    observations: NDArray[np.float32]
    """(K, features), before."""
    actions: NDArray[Any]
    rewards: NDArray[np.float64]
    following: NDArray[np.float32]
    """(K, features), after, of the same episodes, also of those that ended."""
    terminated: NDArray[np.bool_]
    done: NDArray[np.bool_]
    """Terminated, or cut off."""
    before: NDArray[np.float64]
    """(K, EPISODE_VALUES)."""
    after: NDArray[np.float64]


@dataclass(frozen=True)
class Weights:
    """A policy's ``network`` and tensors; see :mod:`dstcc.learn.policies.network`."""

    network: dict[str, Any]
    tensors: dict[str, NDArray[np.float32]]
    any_size: bool = False
    """They serve any number of subflows and layers."""


class Learner(Protocol):
    """Call :meth:`act` and :meth:`take` by turns; the same calls give the same bits on a CPU."""

    group: int
    """Episodes that are to meet the same scenario seed."""

    def act(self, observations: NDArray[np.float32], own: NDArray[np.float64], step: int) -> NDArray[Any]:
        """Actions that explore: (K, branches) whole numbers, or (K, subflows) in [−1, 1].

        ``own``: episode values (K, EPISODE_VALUES); ``step``: slots of single episodes so far.
        """

    def take(self, slot: Slot, step: int) -> float | None:
        """Learn from a slot, ``step`` counting it; the loss of the last update, if there was one."""

    def exploration(self, step: int) -> float:
        """How much actions are random: a share of them, or noise in units of the action."""

    def weights(self) -> Weights:
        """The policy as it is now."""

    def arrays(self) -> Arrays:
        """All that learning changes, for a checkpoint."""

    def document(self) -> dict[str, Any]:
        """Counters and generators, for a checkpoint."""

    def restore(self, arrays: Arrays, document: dict[str, Any]) -> None:
        """Back from both; raises InputError, KeyError or TypeError for those of another learner."""


def make_learner(
    recipe: Recipe, observation: ObservationSpec, action: ActionSpace, *, seed: int, device: str
) -> Learner:
    """The learner of a recipe's settings."""
    given = (recipe, observation, action)
    match recipe.learner:
        case DqnSettings():
            from .off_policy import OffPolicy

            return OffPolicy(*given, seed=seed, device=device)
        case RolloutSettings():
            from .rollouts import Rollouts

            return Rollouts(recipe, recipe.learner, *given[1:], seed=seed, device=device)
        case QTableSettings():
            from .qtable import QTable

            return QTable(*given, seed=seed)
        case PpoSettings():
            from .ppo import Ppo

            return Ppo(*given, seed=seed, device=device)
        case DdpgSettings():
            from .ddpg import Ddpg

            return Ddpg(*given, seed=seed, device=device)
        case SchedulerSettings():
            from .mpquic import MpquicRl

            return MpquicRl(*given, seed=seed, device=device)
