"""DQN in a training: random actions that grow rarer, and an update every so many steps."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dstcc.learn.spaces.branched import branched

from .dqn import Dqn
from .learner import Kept, Slot, Weights
from .recipe import Task
from .recipes.iodst_dqn import DqnSettings
from .replay import Transitions


class OffPolicy(Kept):
    """A :class:`~dstcc.learn.algorithms.dqn.Dqn` as a :class:`~dstcc.learn.algorithms.learner.Learner`."""

    group = 1
    KIND: ClassVar[type[Dqn]] = Dqn

    def __init__(self, task: Task) -> None:
        settings = task.recipe.learner
        assert isinstance(settings, DqnSettings)
        action = task.action
        branches = (action.outputs,) if action.single else branched(action).branches
        self.recipe, self.settings = task.recipe, settings
        self.dqn = self._dqn(task, branches)

    def act(
        self, observations: NDArray[np.float32], _episode_values: NDArray[np.float64], step: int
    ) -> NDArray[np.int64]:
        """See :class:`~dstcc.learn.algorithms.learner.Learner`."""
        return self.dqn.act(observations, self.recipe.epsilon_at(step))

    def take(self, slot: Slot, step: int) -> float | None:
        """Remember, and make the updates that are due."""
        self.dqn.remember(self._transitions(slot))
        loss = None
        for _ in range(self.recipe.updates_due(step) if len(self.dqn.replay) else 0):
            loss = self.dqn.learn()
        return loss

    def _dqn(self, task: Task, branches: tuple[int, ...]) -> Dqn:
        return self.KIND(task.observation.size, branches, self.settings, seed=task.seed, device=task.device)

    def _transitions(self, slot: Slot) -> Transitions:
        """A transition a step. An episode that was cut off counts with the value of its last observation."""
        return slot.transitions(self.settings.discount, slot.terminated)

    def exploration(self, step: int) -> float:
        """Share of random actions."""
        return self.recipe.epsilon_at(step)

    def weights(self) -> Weights:
        """A chain of layers."""
        return self.dqn.online.weights()

    def parts(self) -> dict[str, Kept]:
        """The DQN is all there is."""
        return {"": self.dqn}
