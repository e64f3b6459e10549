"""DDPG over an LSTM that reads the subflows one after the other: one agent for all of them.

Model. An LSTM takes in the values x_1 .. x_N of the subflows that are there; its last state h stands for the whole
network. The actor gives each subflow's window factor 2^a from (h, x_i): a_i = tanh μ(h, x_i). The critic has an
LSTM of its own over (x_i, a_i) and a network Q from its last state. From random batches (s, a, r, s'):

    y = r + γ Q⁻(s', μ⁻(s'))     L = mean (Q(s, a) − y)²     actor: along the gradient of mean Q(s, μ(s))

by Adam, γ Q⁻ left out where an episode terminated; the copies ⁻ move by τ towards their networks with each update.
In training, noise N(0, σ) is added to actions and σ falls.

Sources: Xu et al., IEEE JSAC 37(6), 2019 (DRL-CC: the LSTM over active flows, the actor-critic, the reward Σ log
goodput, state and action as Ha et al., ICT Express 2023, cite them); Lillicrap et al., ICLR 2016 (DDPG); Hochreiter
and Schmidhuber, Neural Computation 1997 (LSTM).

Deviations. No public text of DRL-CC gives all of its constants; widths, rates, noise and τ are ours. The one
connection's subflows are what the LSTM reads (theirs: all flows of a host, of which one is the target). The actor
treats each subflow of the target alike, by one network, so that any number of subflows will do. Actor and critic
have a representation each. Window changes are factors, bounded to half and double a slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from .learner import Kept, Slot, Weights
from .recipe import Task
from .recipes.drl_cc import DdpgSettings
from .replay import Replay
from .streams import generator
from .torches import Changed, TorchKept, chain, draw, run, to_layers, to_numpy, torch_draws


class Reader(nn.Module):
    """An LSTM over the rows of (B, N, F) that are there; its last state, (B, H)."""

    def __init__(self, features: int, width: int, draws: torch.Generator) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(features, width)
        draw(self.cell, width, draws)

    def forward(self, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The state after the last row that is there; zeros if none is."""
        state = cell = values.new_zeros(len(values), self.cell.hidden_size)
        for row in range(values.shape[1]):
            mine = mask[:, row : row + 1]
            new_state, new_cell = self.cell(values[:, row], (state, cell))
            state, cell = torch.where(mine, new_state, state), torch.where(mine, new_cell, cell)
        return state


class Actor(nn.Module):
    """Values (B, N, F) to actions (B, N)."""

    def __init__(self, features: int, settings: DdpgSettings, draws: torch.Generator) -> None:
        super().__init__()
        self.reader = Reader(features, settings.state, draws)
        self.head = chain((settings.state + features, *settings.hidden, 1), draws)
        with torch.no_grad():
            self.head[-1].get_parameter("weight").mul_(0.01)  # windows stand still until something is known

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Actions; 0 for a subflow that is not there."""
        mask = (values != 0).any(dim=2)
        state = self.reader(values, mask)[:, None].expand(-1, values.shape[1], -1)
        return torch.tanh(run(self.head, torch.cat([state, values], dim=2), torch.relu)) * mask


class Critic(nn.Module):
    """Values (B, N, F) and actions (B, N) to Q (B,)."""

    def __init__(self, features: int, settings: DdpgSettings, draws: torch.Generator) -> None:
        super().__init__()
        self.reader = Reader(features + 1, settings.state, draws)
        self.head = chain((settings.state, *settings.hidden, 1), draws)

    def forward(self, values: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Q."""
        mask = (values != 0).any(dim=2)
        state = self.reader(torch.cat([values, actions[..., None]], dim=2), mask)
        return run(self.head, state, torch.relu)


class Ddpg(TorchKept):
    """A :class:`~dstcc.learn.algorithms.learner.Learner` with a replay memory."""

    group = 1

    def __init__(self, task: Task) -> None:
        settings = task.recipe.learner
        assert isinstance(settings, DdpgSettings)
        self.recipe, self.settings, self.device = task.recipe, settings, torch.device(task.device)
        self.subflows, self.features = task.action.subflows, task.observation.size // task.action.subflows
        draws = torch_draws(task.seed, "weights")
        self.actor = Actor(self.features, settings, draws).to(self.device)
        self.critic = Critic(self.features, settings, draws).to(self.device)
        self._targets = deepcopy(self.actor), deepcopy(self.critic)
        self._optimisers = tuple(
            torch.optim.Adam(network.parameters(), lr=rate, fused=True)
            for network, rate in ((self.actor, settings.actor_rate), (self.critic, settings.critic_rate))
        )
        self.replay = Replay(settings.buffer, task.observation.size, self.subflows, np.float32)
        self._explore, self._draw = generator(task.seed, "explore"), generator(task.seed, "replay")

    def act(
        self, observations: NDArray[np.float32], _episode_values: NDArray[np.float64], step: int
    ) -> NDArray[np.float32]:
        """The actor's actions and noise, cut off at ±1."""
        with torch.no_grad():
            chosen = to_numpy(self.actor(self._tensor(observations)))
        noise = self._explore.standard_normal(chosen.shape) * self.exploration(step)
        return np.clip(chosen + noise, -1.0, 1.0).astype(np.float32)

    def take(self, slot: Slot, step: int) -> float | None:
        """Remember, and make the updates that are due; the critic's loss."""
        self.replay.add(slot.transitions(self.settings.discount, slot.terminated))
        loss = None
        for _ in range(self.recipe.updates_due(step)):
            loss = self._learn()
        return loss

    def exploration(self, step: int) -> float:
        """σ of the noise."""
        first, last = self.settings.noise
        return first + (last - first) * min(step / self.recipe.epsilon_steps, 1.0)

    def weights(self) -> Weights:
        """The actor as the policy's ``lstm-actor``."""
        tensors, cell = to_layers(self.actor.head), self.actor.reader.cell
        tensors["lstm.weight_ih"] = to_numpy(cell.weight_ih).copy()
        tensors["lstm.weight_hh"] = to_numpy(cell.weight_hh).copy()
        tensors["lstm.bias"] = to_numpy(cell.bias_ih + cell.bias_hh).copy()
        return Weights({"kind": "lstm-actor", "activation": "relu"}, tensors, True)

    def draws(self) -> dict[str, np.random.Generator]:
        """Of noise, and of batches."""
        return {"explore": self._explore, "draw": self._draw}

    def parts(self) -> dict[str, Kept]:
        """The memory."""
        return {"replay.": self.replay}

    def changed(self) -> Sequence[Changed]:
        """Actor, critic and their copies."""
        of_actor, of_critic = self._optimisers
        actor, critic = self._targets
        return (
            Changed("actor", self.actor, of_actor, "adam.actor"),
            Changed("critic", self.critic, of_critic, "adam.critic"),
            Changed("target.actor", actor),
            Changed("target.critic", critic),
        )

    def _learn(self) -> float:
        drawn = self.replay.sample(self._draw, self.settings.batch)
        batch = {name: torch.from_numpy(values).to(self.device) for name, values in drawn.items()}
        seen, following = self._tensor(drawn["observation"]), self._tensor(drawn["next"])
        actor, critic = self._targets
        with torch.no_grad():
            td_target = batch["reward"] + batch["discount"] * critic(following, actor(following))
        of_actor, of_critic = self._optimisers
        loss: Any = (self.critic(seen, batch["action"]) - td_target).square().mean()
        of_critic.zero_grad()
        loss.backward()
        of_critic.step()
        of_actor.zero_grad()
        worse: Any = -self.critic(seen, self.actor(seen)).mean()
        worse.backward()
        of_actor.step()
        self.updates += 1
        with torch.no_grad():
            for copy, network in zip(self._targets, (self.actor, self.critic), strict=True):
                for mine, other in zip(copy.parameters(), network.parameters(), strict=True):
                    mine.lerp_(other, self.settings.target_share)
        return float(loss.detach())

    def _tensor(self, observations: NDArray[np.float32]) -> torch.Tensor:
        return torch.from_numpy(observations.reshape(-1, self.subflows, self.features)).to(self.device)
