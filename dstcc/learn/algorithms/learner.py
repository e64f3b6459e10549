"""What a training asks of a learner, and what of it a checkpoint keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Arrays
from dstcc.errors import InputError


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

    def transitions(self, discount: float, ended: NDArray[np.bool_]) -> Arrays:
        """One an episode, as :mod:`.replay` keeps them; what comes after an end counts nothing."""
        return {
            "observation": self.observations,
            "action": self.actions,
            "reward": self.rewards,
            "next": self.following,
            "discount": np.where(ended, 0.0, discount),
        }


@dataclass(frozen=True)
class Weights:
    """A policy's ``network`` and tensors; see :mod:`dstcc.learn.policies.network`."""

    network: dict[str, Any]
    tensors: dict[str, NDArray[np.float32]]
    any_size: bool = False
    """They serve any number of subflows and layers."""


class Learner(Protocol):
    """Call :meth:`act` and then :meth:`take`, step by step; the same calls give the same bits on a CPU."""

    group: int
    """Episodes that are to meet the same scenario seed."""

    def act(
        self, observations: NDArray[np.float32], episode_values: NDArray[np.float64], step: int
    ) -> NDArray[Any]:
        """Actions that explore: (K, branches) whole numbers, or (K, subflows) in [−1, 1].

        ``episode_values``: (K, EPISODE_VALUES); ``step``: slots of single episodes so far.
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


class Kept:
    """What learning changes: whole numbers, generators, arrays, and parts that have some of these, too."""

    COUNTS: ClassVar[tuple[str, ...]] = ()
    """Its whole numbers: attributes, and their names in a checkpoint."""

    def draws(self) -> dict[str, np.random.Generator]:
        """Its generators."""
        return {}

    def held(self) -> Arrays:
        """Its arrays, to be filled in place; their lengths may follow from the whole numbers."""
        return {}

    def parts(self) -> dict[str, Kept]:
        """By what the names of their arrays begin with; what else they have is named as if it were its own."""
        return {}

    def arrays(self) -> Arrays:
        """All arrays, for a checkpoint."""
        arrays = self.held()
        for name, part in self.parts().items():
            arrays |= {f"{name}{key}": values for key, values in part.arrays().items()}
        return arrays

    def document(self) -> dict[str, Any]:
        """Counters and generators, for a checkpoint."""
        document = {name: getattr(self, name) for name in self.COUNTS}
        document |= {name: draws.bit_generator.state for name, draws in self.draws().items()}
        for part in self.parts().values():
            document |= part.document()
        return document

    def restore(self, arrays: Arrays, document: dict[str, Any]) -> None:
        """Back from both; raises InputError, KeyError or TypeError for those of another learner."""
        for name in self.COUNTS:
            setattr(self, name, document[name])
        for name, draws in self.draws().items():
            draws.bit_generator.state = document[name]
        for name, values in self.held().items():
            fill(values, arrays[name], name)
        for name, part in self.parts().items():
            mine = {key.removeprefix(name): arrays[key] for key in arrays if key.startswith(name)}
            part.restore(mine, document)


def fill(target: NDArray[Any], values: NDArray[Any], name: str) -> None:
    """Copy ``values`` into ``target``; raises InputError for another shape or type."""
    if target.shape != values.shape or target.dtype != values.dtype:
        raise InputError(
            f"{name}: {values.dtype} of shape {values.shape}, expected {target.dtype} {target.shape}"
        )
    target[...] = values
