"""The parts that a DQN needs where what it does shows late, each by itself.

* ``n_step``: transitions over several slots (:mod:`.n_step`).
* ``dueling``: Q(s, b, a) = V(s) + A(s, b, a) − mean_a' A(s, b, a').
* ``explore_branches``: each branch explores on its own, in the place of whole random actions.
* ``explore_for``: a random choice lasts. A window that is drawn anew in each slot goes up and down and ends where it
  began; what many slots in a row change is seen.

``double`` is in :mod:`.dqn`, the pending actions are in the observation (``history`` slots of them).

Sources: Wang et al., ICML 2016 (dueling); Tavakoli et al., AAAI 2018 (branches); Dabney et al., ICLR 2021 (random
choices that last).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dstcc.arrays import Arrays, Float32Array

from .dqn import Dqn, Layers, Network, OffPolicy
from .learner import Kept, Slot
from .n_step import NStep
from .recipe import Task
from .recipes.iodst_dqn_plus import DelayedDqnSettings
from .replay import Transitions
from .torches import ValueNetwork, draw, torch_draws

GREEDY = -1
"""Stands for the best choice in the place of one that lasts."""


class DuelingNetwork(Network):
    """Q = V + A − mean A over each branch's choices, with V from the last hidden layer."""

    def __init__(self, features: int, branches: Sequence[int], hidden: Sequence[int], *, seed: int) -> None:
        super().__init__(features, branches, hidden, seed=seed)
        self.value = nn.Linear(self.advantage.in_features, 1)
        draws = torch_draws(seed, "value")
        draw(self.value, self.value.in_features, draws)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Q of every branch's choices."""
        last = observations
        for layer in self.hidden:
            last = torch.relu(layer(last))
        value: torch.Tensor = self.value(last)
        return self._centred(self.advantage(last), dim=1) + value

    def layers(self) -> Layers:
        """See :meth:`Network.layers`. V + A − mean A is linear in the last hidden layer, so it is one layer there."""
        with torch.no_grad():
            weight = self._centred(self.advantage.weight, dim=0) + self.value.weight
            bias = self._centred(self.advantage.bias, dim=0) + self.value.bias
        return [*super().layers()[:-1], (weight.cpu().numpy(), bias.cpu().numpy())]

    def _centred(self, values: torch.Tensor, *, dim: int) -> torch.Tensor:
        parts = torch.split(values, list(self.branches), dim=dim)
        return torch.cat([part - part.mean(dim=dim, keepdim=True) for part in parts], dim=dim)


class DelayedDqn(Dqn):
    """A :class:`~dstcc.learn.algorithms.dqn.Dqn` with the options of :class:`DelayedDqnSettings`."""

    settings: DelayedDqnSettings

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._lasting = np.zeros((0, 0), dtype=np.int64)

    def act(self, observations: Float32Array, epsilon: float) -> NDArray[np.int64]:
        """Choices (K, branches). Each branch may explore on its own, and random choices may last."""
        settings, count = self.settings, len(observations)
        wide = len(self.branches) if settings.explore_branches else 1
        explores = self._explore.random((count, wide)) < epsilon
        random = self._explore.integers(0, self.branches, (count, len(self.branches)))
        if settings.explore_for > 1:
            if len(self._lasting) != count:
                self._lasting = np.full_like(random, GREEDY)
            anew = self._explore.random((count, wide)) * settings.explore_for < 1
            self._lasting = np.where(anew, np.where(explores, random, GREEDY), self._lasting)
            explores, random = self._lasting != GREEDY, self._lasting
        return random if explores.all() else np.where(explores, random, self.greedy(observations))

    def arrays(self) -> Arrays:
        """See :meth:`Dqn.arrays`."""
        return {**super().arrays(), "lasting": self._lasting}

    def restore(self, arrays: Arrays, document: dict[str, Any]) -> None:
        """See :meth:`Dqn.restore`."""
        super().restore(arrays, document)
        self._lasting = np.array(arrays["lasting"])

    def _error(self, taken: torch.Tensor, td_target: torch.Tensor) -> torch.Tensor:
        if not self.settings.additive:
            return super()._error(taken, td_target)
        return taken.sum(dim=1, keepdim=True) - td_target[:, None]

    def _branch_mean(self, values: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        if not self.settings.additive:
            return super()._branch_mean(values, observations)
        return values.sum(dim=1)

    def _network(self, features: int, seed: int) -> ValueNetwork:
        kind = DuelingNetwork if self.settings.dueling else Network
        return kind(features, self.branches, self.settings.hidden, seed=seed)


class DelayedOffPolicy(OffPolicy):
    """The learner of a :class:`DelayedDqn`, from transitions of several steps."""

    KIND = DelayedDqn

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        settings, size = self.settings, task.observation.size
        assert isinstance(settings, DelayedDqnSettings)
        branches = len(self.dqn.branches)
        self._nstep = NStep(settings.n_step, settings.discount, task.recipe.episodes, size, branches)

    def parts(self) -> dict[str, Kept]:
        """What waits for its reward, too."""
        return {**super().parts(), "nstep.": self._nstep}

    def _transitions(self, slot: Slot) -> Transitions:
        return self._nstep.push(
            slot.observations,
            slot.actions,
            slot.rewards,
            following=slot.following,
            terminated=slot.terminated,
            done=slot.done,
        )
