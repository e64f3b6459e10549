"""The DQN that ``experiments/ablation.py`` compares the shipped recipe with: its usual improvements, each an option.

It is :mod:`dstcc.learn.algorithms.delayed_dqn` over a network of sets (:mod:`dstcc.learn.policies.sets`). That network
says which branches mean something; means are over those. One option is added:

* ``margin``: every argmax is of Q(s, b, a) + margin·[a is the default choice of b]. The learner leaves a choice that is
  known to be sensible only if it expects that much more. The best of many noisy estimates is often only noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import nn

from dstcc.learn.algorithms.delayed_dqn import DelayedDqn, DelayedOffPolicy
from dstcc.learn.algorithms.recipes.iodst_dqn_plus import DelayedDqnSettings
from dstcc.learn.algorithms.sets_torch import SetsNetwork, sets_shape, uniform
from dstcc.learn.algorithms.streams import generator
from dstcc.learn.spaces.branched import branched

if TYPE_CHECKING:
    from dstcc.learn.algorithms.dqn import Dqn
    from dstcc.learn.algorithms.recipe import Task


@dataclass(frozen=True)
class BranchDqnSettings(DelayedDqnSettings):
    """What this DQN is made of."""

    LEARNER: ClassVar[str] = f"{__name__}:BranchOffPolicy"

    sets: int = 64
    """Hidden values of the network of sets."""
    default_choices: tuple[int, ...] = ()
    """The default choice of each branch, the first one's for all subflows; with ``margin``."""
    margin: float = 0.0
    """By how much another choice must be worth more before it is taken."""


class DuelingSets(SetsNetwork):
    """Q = V + A − mean A, with V from the hidden layer that the branches of all subflows share."""

    def __init__(self, *arguments: Any, seed: int) -> None:
        super().__init__(*arguments, seed=seed)
        hidden = len(self.tensors["rest_bias"])
        draws = torch.Generator().manual_seed(int(generator(seed, "value").integers(1 << 62)))
        self.value = nn.Parameter(uniform((hidden + 1,), hidden**-0.5, draws))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Q of every branch's choices."""
        windows, rest, joint = self.choices(observations)
        parts = [part - part.mean(dim=1, keepdim=True) for part in torch.split(rest, list(self.rest), dim=1)]
        centred = torch.cat([(windows - windows.mean(dim=2, keepdim=True)).flatten(1), *parts], dim=1)
        value = joint @ self.value[:-1] + self.value[-1]
        return centred + value[:, None]


class BranchDqn(DelayedDqn):
    """A :class:`~dstcc.learn.algorithms.delayed_dqn.DelayedDqn` with the options of :class:`BranchDqnSettings`."""

    settings: BranchDqnSettings

    def __init__(self, network: SetsNetwork, target: SetsNetwork, features: int, **keywords: Any) -> None:
        self._made = [target, network]
        super().__init__(features, network.branches, **keywords)
        self._network_of_sets = network
        if self.settings.default_choices:
            network.favour(self.settings.default_choices, self.settings.margin)

    def _network(self, features: int, seed: int) -> SetsNetwork:
        return self._made.pop()

    def _preference(self, values: torch.Tensor) -> torch.Tensor:
        return values + self._network_of_sets.prior

    def _loss(self, squares: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        mask = self._network_of_sets.mask(observations)
        return (squares * mask).sum() / mask.sum()

    def _branch_mean(self, values: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        mask = self._network_of_sets.mask(observations)
        return (values * mask).sum(dim=1) / mask.sum(dim=1)


class BranchOffPolicy(DelayedOffPolicy):
    """The learner of a :class:`BranchDqn`."""

    def _dqn(self, task: Task, branches: tuple[int, ...]) -> Dqn:
        settings, space, observation = self.settings, branched(task.action), task.observation
        assert isinstance(settings, BranchDqnSettings)
        kind = DuelingSets if settings.dueling else SetsNetwork
        sizes = observation.subflows, observation.layers, branches[space.subflows :], settings.sets
        online, target = (kind(sets_shape(space), *sizes, seed=task.seed) for _ in range(2))
        return BranchDqn(
            online, target, observation.size, settings=settings, seed=task.seed, device=task.device
        )
