"""DQN in a training: random actions that grow rarer, n-step transitions, an update every so many steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dstcc.learn.policies.sets import SetsShape
from dstcc.learn.spaces.branched import branched
from dstcc.learn.spaces.observe_measured import EPISODE, LAYER, SUBFLOW

from .dqn import Dqn
from .learner import Slot, Weights
from .recipes.iodst_dqn import DqnSettings
from .replay import NStep

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dstcc.learn.spaces.actions import ActionSpace
    from dstcc.learn.spaces.branched import BranchedActions
    from dstcc.learn.spaces.observe import ObservationSpec

    from .recipe import Recipe
    from .sets_torch import SetsNetwork


class OffPolicy:
    """A :class:`~dstcc.learn.algorithms.dqn.Dqn` as a :class:`~dstcc.learn.algorithms.learner.Learner`."""

    group = 1

    def __init__(
        self, recipe: Recipe, observation: ObservationSpec, action: ActionSpace, *, seed: int, device: str
    ) -> None:
        settings = recipe.learner
        assert isinstance(settings, DqnSettings)
        branches = (action.outputs,) if action.single else branched(action).branches
        self.recipe = recipe
        self._sets = settings.sets > 0

        def make() -> SetsNetwork:
            return sets_network(
                observation, branched(action), settings.sets, dueling=settings.dueling, seed=seed
            )

        make_network = make if settings.sets else None
        self.dqn = Dqn(observation.size, branches, settings, seed=seed, device=device, make=make_network)
        self._nstep = NStep(
            settings.n_step, settings.discount, recipe.episodes, observation.size, len(branches)
        )

    def act(
        self, observations: NDArray[np.float32], _episode_values: NDArray[np.float64], step: int
    ) -> NDArray[np.int64]:
        """See :class:`~dstcc.learn.algorithms.learner.Learner`."""
        return self.dqn.act(observations, self.recipe.epsilon_at(step))

    def take(self, slot: Slot, step: int) -> float | None:
        """Remember, and make the updates that are due."""
        self.dqn.remember(
            self._nstep.push(
                slot.observations,
                slot.actions,
                slot.rewards,
                following=slot.following,
                terminated=slot.terminated,
                done=slot.done,
            )
        )
        recipe, loss = self.recipe, None
        due = step // recipe.learn_every - (step - recipe.episodes) // recipe.learn_every
        if step >= recipe.warm_up and len(self.dqn.replay):
            for _ in range(due):
                loss = self.dqn.learn()
        return loss

    def exploration(self, step: int) -> float:
        """Share of random actions."""
        return self.recipe.epsilon_at(step)

    def weights(self) -> Weights:
        """A chain of layers, or the network of sets."""
        return self.dqn.online.weights()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See :class:`~dstcc.learn.algorithms.learner.Learner`."""
        return self.dqn.arrays() | {f"nstep.{name}": values for name, values in self._nstep.arrays().items()}

    def document(self) -> dict[str, Any]:
        """See :class:`~dstcc.learn.algorithms.learner.Learner`."""
        return self.dqn.document()

    def restore(self, arrays: dict[str, NDArray[Any]], document: dict[str, Any]) -> None:
        """See :class:`~dstcc.learn.algorithms.learner.Learner`."""
        self.dqn.restore(arrays, document)
        self._nstep.restore(
            {name.removeprefix("nstep."): arrays[name] for name in arrays if name.startswith("nstep.")}
        )


def sets_shape(action: BranchedActions) -> SetsShape:
    """What a network of sets sees of the observation ``measured`` and does with that action space."""
    rest = sum(action.branches[action.subflows :])
    return SetsShape(len(EPISODE), len(SUBFLOW), len(LAYER), windows=len(action.windows), rest=rest)


def sets_network(
    observation: ObservationSpec, action: BranchedActions, hidden: int, *, dueling: bool, seed: int
) -> SetsNetwork:
    """A network of sets for these spaces."""
    from .sets_torch import SetsNetwork

    sizes = observation.subflows, observation.layers, action.branches[action.subflows :]
    return SetsNetwork(sets_shape(action), *sizes, hidden, dueling=dueling, seed=seed)
