"""DQN for one branch of actions or several, plain or double.

Model. A network Q(s, b, a) values choice a of branch b in state s. The greedy action takes the best choice of each
branch. A random batch has transitions (s, a, r, s', γ'), where γ' is γ, or 0 if the episode ended:

    y   = r + γ' · mean_b Q⁻(s', b, a*_b)     a*_b = argmax_a Q⁻(s', b, a), or with ``double`` of Q(s', b, a)
    L   = mean over batch and branches of (Q(s, b, a_b) − y)²

Adam minimises L. Q⁻ is a copy of Q that is renewed every ``target_every`` updates.

Sources: Mnih et al., Nature 518, 2015 (DQN); van Hasselt et al., AAAI 2016 (double); Tavakoli et al., AAAI 2018
(branches, y by the mean over branches).

Deviations. Neither rewards nor errors are clipped (Mnih: both). With ``max_grad_norm`` the gradient's norm is bounded.
Adam stands in RMSProp's place. Gradients into the last shared layer are not rescaled by the number of branches
(Tavakoli: 1 / (1 + branches)). No frames are stacked: what the state must remember is in the observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dstcc.learn.spaces.branched import branched

from .learner import Kept, Slot, Weights
from .recipe import Task
from .recipes.iodst_dqn import DqnSettings
from .replay import Replay, Transitions
from .streams import generator
from .torches import Changed, TorchKept, ValueNetwork, draw, torch_draws

Layers = list[tuple[NDArray[np.float32], NDArray[np.float32]]]


class Network(ValueNetwork):
    """ReLU layers and one linear layer of a value per branch and choice, side by side, (B, Σ choices)."""

    def __init__(self, features: int, branches: Sequence[int], hidden: Sequence[int], *, seed: int) -> None:
        super().__init__()
        self.branches = tuple(branches)
        widths = (features, *hidden)
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.advantage = nn.Linear(widths[-1], sum(branches))  # as checkpoints have named it
        draws = torch_draws(seed, "weights")
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                draw(layer, layer.in_features, draws)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Q of every branch's choices."""
        last = observations
        for layer in self.hidden:
            last = torch.relu(layer(last))
        values: torch.Tensor = self.advantage(last)
        return values

    def weights(self) -> Weights:
        """As the policy's ``mlp``."""
        tensors: dict[str, NDArray[np.float32]] = {}
        for k, (weight, bias) in enumerate(self.layers()):
            tensors |= {f"layers.{k}.weight": weight, f"layers.{k}.bias": bias}
        return Weights({"kind": "mlp", "activation": "relu"}, tensors)

    def layers(self) -> Layers:
        """The network as a chain of (weight (out, in), bias (out,)), ReLU between them."""
        return [_arrays(layer) for layer in (*self.hidden, self.advantage)]


class Dqn(TorchKept):
    """A learner: :meth:`act`, :meth:`remember`, :meth:`learn`; the same calls give the same bits on a CPU."""

    def __init__(
        self, features: int, branches: Sequence[int], settings: DqnSettings, *, seed: int, device: str = "cpu"
    ) -> None:
        self.settings, self.branches, self.device = settings, tuple(branches), torch.device(device)
        self.online, self.target = (self._network(features, seed).to(self.device) for _ in range(2))
        self.target.requires_grad_(False)
        self.optimiser = torch.optim.Adam(self.online.parameters(), lr=settings.learning_rate, fused=True)
        self.replay = Replay(settings.buffer, features, len(self.branches))
        self._explore, self._draw = generator(seed, "explore"), generator(seed, "replay")
        self._starts = torch.tensor([0, *np.cumsum(self.branches)[:-1]], device=self.device)

    def act(self, observations: NDArray[np.float32], epsilon: float) -> NDArray[np.int64]:
        """Choices (K, branches): greedy, or with probability ``epsilon`` all of an episode's at random."""
        count = len(observations)
        explores = self._explore.random((count, 1)) < epsilon
        random = self._explore.integers(0, self.branches, (count, len(self.branches)))
        return random if explores.all() else np.where(explores, random, self.greedy(observations))

    def greedy(self, observations: NDArray[np.float32]) -> NDArray[np.int64]:
        """The best choice of each branch, (K, branches)."""
        with torch.no_grad():
            values = self._preference(self.online(torch.from_numpy(observations).to(self.device)))
            best = torch.stack(
                [part.argmax(dim=1) for part in torch.split(values, list(self.branches), dim=1)], dim=1
            )
        array: NDArray[np.int64] = best.cpu().numpy()
        return array

    def remember(self, transitions: Transitions) -> None:
        """Put transitions into the replay memory."""
        self.replay.add(transitions)

    def learn(self) -> float:
        """One update from one batch; the loss."""
        drawn = self.replay.sample(self._draw, self.settings.batch)
        batch = {name: torch.from_numpy(values).to(self.device) for name, values in drawn.items()}
        td_target = self._td_target(batch)
        taken = batch["action"].long() + self._starts
        error = self._error(self.online(batch["observation"]).gather(1, taken), td_target)
        loss: Any = self._loss(error.square(), batch["observation"])
        self.optimiser.zero_grad()
        loss.backward()
        if self.settings.max_grad_norm is not None:
            nn.utils.clip_grad_norm_(self.online.parameters(), self.settings.max_grad_norm)
        self.optimiser.step()
        self.updates += 1
        if self.updates % self.settings.target_every == 0:
            self.target.load_state_dict(self.online.state_dict())
        return float(loss.detach())

    def _td_target(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """y of each transition, (batch,)."""
        with torch.no_grad():
            values = self.target(batch["next"])
            judge = self.online(batch["next"]) if self.settings.double else values
            chosen = torch.split(self._preference(judge), list(self.branches), dim=1)
            best = [
                value.gather(1, choice.argmax(dim=1, keepdim=True))
                for value, choice in zip(values.split(self.branches, dim=1), chosen, strict=True)
            ]
            each = torch.cat(best, dim=1)
            return batch["reward"] + batch["discount"] * self._branch_mean(each, batch["next"])

    def _network(self, features: int, seed: int) -> ValueNetwork:
        """The network, always the same one for a seed."""
        return Network(features, self.branches, self.settings.hidden, seed=seed)

    def _preference(self, values: torch.Tensor) -> torch.Tensor:
        """What the best choice has most of: its value."""
        return values

    def _error(self, taken: torch.Tensor, td_target: torch.Tensor) -> torch.Tensor:
        """What the values (B, branches) of the choices taken are off y, (B, branches) or (B, 1)."""
        return taken - td_target[:, None]

    def _loss(self, squares: torch.Tensor, _observations: torch.Tensor) -> torch.Tensor:
        """The mean of squared errors (B, branches)."""
        return squares.mean()

    def _branch_mean(self, values: torch.Tensor, _observations: torch.Tensor) -> torch.Tensor:
        """The mean over the branches of values (B, branches), (B,)."""
        return values.mean(dim=1)

    def draws(self) -> dict[str, np.random.Generator]:
        """Of random actions, and of batches."""
        return {"explore": self._explore, "replay": self._draw}

    def parts(self) -> dict[str, Kept]:
        """The memory."""
        return {"replay.": self.replay}

    def changed(self) -> Sequence[Changed]:
        """Q and its copy."""
        return Changed("online", self.online, self.optimiser), Changed("target", self.target)


class OffPolicy(Kept):
    """A :class:`Dqn` in a training: random actions grow rarer, and an update is due every so many steps."""

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


def _arrays(layer: nn.Module) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    weight, bias = (layer.get_parameter(name).detach().cpu().numpy().copy() for name in ("weight", "bias"))
    return weight, bias
