"""DQN in a training: random actions that grow rarer, n-step transitions, an update every so many steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .dqn import Dqn
from .learner import Slot, Weights
from .replay import NStep
from .settings import DqnSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .dqn import Layers
    from .observe import ObservationSpec
    from .recipes import Recipe
    from .spaces import ActionSpec


class OffPolicy:
    """A :class:`~dstcc.learn.dqn.Dqn` as a :class:`~dstcc.learn.learner.Learner`."""

    def __init__(
        self, recipe: Recipe, observation: ObservationSpec, action: ActionSpec, *, seed: int, device: str
    ) -> None:
        settings = recipe.learner
        assert isinstance(settings, DqnSettings)
        branches = (action.outputs,) if action.single else action.branches
        self.recipe = recipe
        self.dqn = Dqn(observation.size, branches, settings, seed=seed, device=device)
        self._nstep = NStep(
            settings.n_step, settings.discount, recipe.episodes, observation.size, len(branches)
        )

    def act(
        self, observations: NDArray[np.float32], _own: NDArray[np.float64], step: int
    ) -> NDArray[np.int64]:
        """See :class:`~dstcc.learn.learner.Learner`."""
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
        """A chain of layers."""
        return chain_weights(self.dqn.online.layers())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """See :class:`~dstcc.learn.learner.Learner`."""
        return self.dqn.arrays() | {f"nstep.{name}": values for name, values in self._nstep.arrays().items()}

    def document(self) -> dict[str, Any]:
        """See :class:`~dstcc.learn.learner.Learner`."""
        return self.dqn.document()

    def restore(self, arrays: dict[str, NDArray[Any]], document: dict[str, Any]) -> None:
        """See :class:`~dstcc.learn.learner.Learner`."""
        self.dqn.restore(arrays, document)
        self._nstep.restore(
            {name.removeprefix("nstep."): arrays[name] for name in arrays if name.startswith("nstep.")}
        )


def chain_weights(layers: Layers, activation: str = "relu") -> Weights:
    """Layers as the policy's ``mlp``."""
    tensors: dict[str, NDArray[np.float32]] = {}
    for k, (weight, bias) in enumerate(layers):
        tensors |= {f"layers.{k}.weight": weight, f"layers.{k}.bias": bias}
    return Weights({"kind": "mlp", "activation": activation}, tensors)
