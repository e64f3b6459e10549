"""The DQN that ``scripts/ablation.py`` compares the shipped recipe with: its usual improvements, each an option.

It adds to :mod:`dstcc.learn.algorithms.dqn`, over a network of sets (:mod:`dstcc.learn.policies.sets`). That network
says which branches mean something; means are over those.

* ``dueling``: Q(s, b, a) = V(s) + A(s, b, a) − mean_a' A(s, b, a').
* ``n_step``: R = Σ_{i<n} γ^i r_i stands in r's place, and γ^n in that of γ.
* ``margin``: every argmax is of Q(s, b, a) + margin·[a is the default choice of b]. The learner leaves a choice that is
  known to be sensible only if it expects that much more. The best of many noisy estimates is often only noise.
* ``explore_branches``: each branch explores on its own.
* ``explore_for``: a random choice lasts. What one decision among dozens in flight changes drowns in noise, what many of
  them in a row change does not.

Sources: Wang et al., ICML 2016 (dueling); Sutton, Machine Learning 1988 (n steps); Tavakoli et al., AAAI 2018
(branches); Dabney et al., ICLR 2021 (random choices that last).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import nn

from dstcc.learn.algorithms.dqn import Dqn
from dstcc.learn.algorithms.off_policy import OffPolicy
from dstcc.learn.algorithms.recipes.iodst_dqn import DqnSettings
from dstcc.learn.algorithms.replay import fill
from dstcc.learn.algorithms.sets_torch import SetsNetwork, sets_shape, uniform
from dstcc.learn.algorithms.streams import generator
from dstcc.learn.spaces.branched import branched

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.learn.algorithms.learner import Learner, Slot
    from dstcc.learn.algorithms.recipe import Recipe
    from dstcc.learn.algorithms.replay import Transitions
    from dstcc.learn.spaces.actions import ActionSpace
    from dstcc.learn.spaces.observe import ObservationSpec

    FloatArray = NDArray[np.float32]

GREEDY = -1
"""Stands for the best choice in the place of one that lasts."""


@dataclass(frozen=True)
class BranchDqnSettings(DqnSettings):
    """What this DQN is made of."""

    RETIRED: ClassVar[dict[str, Any]] = {}

    dueling: bool = False
    n_step: int = 1
    explore_branches: bool = False
    """Each branch draws its random choices by itself, in the place of whole random actions."""
    explore_for: int = 1
    """Decisions that a random choice lasts, on average."""
    sets: int = 64
    """Hidden values of the network of sets."""
    default_choices: tuple[int, ...] = ()
    """The default choice of each branch, the first one's for all subflows; with ``margin``."""
    margin: float = 0.0
    """By how much another choice must be worth more before it is taken."""

    def make(
        self, recipe: Recipe, observation: ObservationSpec, action: ActionSpace, *, seed: int, device: str
    ) -> Learner:
        """See :meth:`~dstcc.learn.algorithms.recipe.Settings.make`."""
        return BranchOffPolicy(recipe, observation, action, seed=seed, device=device)


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


class BranchDqn(Dqn):
    """A :class:`~dstcc.learn.algorithms.dqn.Dqn` with the options of :class:`BranchDqnSettings`."""

    settings: BranchDqnSettings

    def __init__(self, network: SetsNetwork, target: SetsNetwork, features: int, **keywords: Any) -> None:
        self._made = [target, network]
        super().__init__(features, network.branches, **keywords)
        self._network_of_sets = network
        if self.settings.default_choices:
            network.favour(self.settings.default_choices, self.settings.margin)
        self._lasting = np.zeros((0, 0), dtype=np.int64)

    def act(self, observations: FloatArray, epsilon: float) -> NDArray[np.int64]:
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

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See :meth:`Dqn.arrays`."""
        return {**super().arrays(), "lasting": self._lasting}

    def restore(self, arrays: dict[str, NDArray[Any]], document: dict[str, Any]) -> None:
        """See :meth:`Dqn.restore`."""
        super().restore(arrays, document)
        self._lasting = np.array(arrays["lasting"])

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


class BranchOffPolicy(OffPolicy):
    """The learner of a :class:`BranchDqn`, from transitions of several steps."""

    def __init__(
        self, recipe: Recipe, observation: ObservationSpec, action: ActionSpace, *, seed: int, device: str
    ) -> None:
        super().__init__(recipe, observation, action, seed=seed, device=device)
        settings, branches = self.settings, len(branched(action).branches)
        assert isinstance(settings, BranchDqnSettings)
        self._nstep = NStep(settings.n_step, settings.discount, recipe.episodes, observation.size, branches)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See :class:`~dstcc.learn.algorithms.learner.Learner`."""
        return super().arrays() | {f"nstep.{name}": values for name, values in self._nstep.arrays().items()}

    def restore(self, arrays: dict[str, NDArray[Any]], document: dict[str, Any]) -> None:
        """See :class:`~dstcc.learn.algorithms.learner.Learner`."""
        super().restore(arrays, document)
        head = "nstep."
        waiting = {
            name.removeprefix(head): values for name, values in arrays.items() if name.startswith(head)
        }
        self._nstep.restore(waiting)

    def _dqn(
        self,
        observation: ObservationSpec,
        action: ActionSpace,
        branches: tuple[int, ...],
        *,
        seed: int,
        device: str,
    ) -> Dqn:
        settings, space = self.settings, branched(action)
        assert isinstance(settings, BranchDqnSettings)
        kind = DuelingSets if settings.dueling else SetsNetwork
        sizes = observation.subflows, observation.layers, branches[space.subflows :], settings.sets
        online, target = (kind(sets_shape(space), *sizes, seed=seed) for _ in range(2))
        return BranchDqn(online, target, observation.size, settings=settings, seed=seed, device=device)

    def _transitions(self, slot: Slot) -> Transitions:
        return self._nstep.push(
            slot.observations,
            slot.actions,
            slot.rewards,
            following=slot.following,
            terminated=slot.terminated,
            done=slot.done,
        )


class NStep:
    """Turns the steps of K episodes side by side into n-step transitions (Sutton, Machine Learning 1988).

    A step's transition is whole n steps later, or when its episode ends: then over the steps that were.
    """

    def __init__(self, steps: int, discount: float, episodes: int, features: int, branches: int) -> None:
        self.steps, self.discount = steps, discount
        self._waiting: Transitions = {  # the first axis is the age in steps
            "observation": np.zeros((steps, episodes, features), dtype=np.float32),
            "action": np.zeros((steps, episodes, branches), dtype=np.int32),
            "reward": np.zeros((steps, episodes)),
            "count": np.zeros(episodes, dtype=np.int32),
        }

    def push(
        self,
        observation: FloatArray,
        action: NDArray[Any],
        reward: NDArray[np.float64],
        *,
        following: FloatArray,
        terminated: NDArray[np.bool_],
        done: NDArray[np.bool_],
    ) -> Transitions:
        """Take a step of all K episodes, ``done`` where it was the last; the transitions that are now whole.

        An episode that is done without having ``terminated`` was cut off: the value of its last observation counts.
        """
        waiting, n = self._waiting, self.steps
        for name, values in (("observation", observation), ("action", action), ("reward", reward)):
            waiting[name][1:] = waiting[name][:-1]
            waiting[name][0] = values
        waiting["count"][:] = np.minimum(waiting["count"] + 1, n)
        complete: list[Transitions] = []
        for age in range(n - 1, -1, -1):
            whole = np.flatnonzero((waiting["count"] > age) & (done | (age == n - 1)))
            powers = self.discount ** np.arange(age, -1, -1)
            complete.append(
                {
                    "observation": waiting["observation"][age, whole],
                    "action": waiting["action"][age, whole],
                    "reward": powers @ waiting["reward"][: age + 1, whole],
                    "next": following[whole],
                    "discount": np.where(terminated[whole], 0.0, self.discount ** (age + 1)),
                }
            )
        waiting["count"][done] = 0
        return {name: np.concatenate([part[name] for part in complete]) for name in complete[0]}

    def arrays(self) -> Transitions:
        """What waits, for a checkpoint."""
        return dict(self._waiting)

    def restore(self, arrays: Transitions) -> None:
        """Back from :meth:`arrays`; raises InputError for what does not fit."""
        for name, values in self._waiting.items():
            fill(values, arrays[name], f"waiting {name}")
