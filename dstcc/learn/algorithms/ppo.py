"""PPO with the clipped objective, for window factors: one network that each subflow passes through by itself.

Model. A subflow with values x moves its window by 2^a, a ~ N(μ(x), σ), σ learned and the same for all. All subflows
act at once, so log π sums over them; V is the mean of v(x) over them. After every ``slots`` slots of K episodes,
with δ_t = r_t + γ V(s_t+1) − V(s_t) and the generalised advantage Â_t = δ_t + γλ Â_t+1 (0 beyond an episode's end):

    L = mean[ −min(ρ Â, clip(ρ, 1 ± ε) Â) + ½ (V − R)² − c·H ]     ρ = π(a|s) / π_old(a|s),  R = Â + V_old

in ``epochs`` passes over random batches, by Adam; Â is normalised within a batch.

Sources: Schulman et al., arXiv:1707.06347, 2017 (PPO) and ICLR 2016 (generalised advantage); Zhang et al., Entropy
2023 (PBQ: a continuous action that scales the window, tanh, 64 hidden units; the pace is BBR's,
``engine/src/congestion/agent.cpp``).

Deviations. Zhang et al. do not print their constants (α, β, γ, η of the reward, PPO's own): all are ours. Their
flows learn from a reward each, here the subflows of a connection share one (the mean), so that an episode has one
reward. Actions beyond ±1 are cut off on the way to the window, not in log π. A value's weight is ½ and never
clipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dstcc.arrays import Arrays

from .learner import Slot, Weights
from .recipe import Task
from .recipes.pbq import PpoSettings
from .streams import generator
from .torches import Changed, TorchKept, chain, run, to_layers, to_numpy, torch_draws


class Networks(nn.Module):
    """μ, v and log σ."""

    def __init__(self, features: int, settings: PpoSettings, draws: torch.Generator) -> None:
        super().__init__()
        widths = (features, *settings.hidden, 1)
        self.actor, self.critic = chain(widths, draws), chain(widths, draws)
        with torch.no_grad():
            self.actor[-1].get_parameter("weight").mul_(0.01)  # windows stand still until something is known
        self.log_std = nn.Parameter(torch.tensor(settings.log_std))

    def mean_and_value(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """μ (B, N), V (B,) and which subflows are there (B, N), from values (B, N, F)."""
        mask = (observations != 0).any(dim=2).float()
        value = (run(self.critic, observations, torch.tanh) * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        return run(self.actor, observations, torch.tanh), value, mask


class Ppo(TorchKept):
    """A :class:`~dstcc.learn.algorithms.learner.Learner` that learns from what its present policy did."""

    group = 1

    def __init__(self, task: Task) -> None:
        settings = task.recipe.learner
        assert isinstance(settings, PpoSettings)
        self.settings, self.device = settings, torch.device(task.device)
        size, self.subflows = task.observation.size, task.action.subflows
        self.features = size // self.subflows
        draws = torch_draws(task.seed, "weights")
        self.networks = Networks(self.features, settings, draws).to(self.device)
        self.optimiser = torch.optim.Adam(self.networks.parameters(), lr=settings.learning_rate, fused=True)
        self._explore, self._draw = generator(task.seed, "explore"), generator(task.seed, "batches")
        shape = settings.slots, task.recipe.episodes
        self._filled = np.zeros(1, dtype=np.int64)
        self._rollout: Arrays = {
            "observations": np.zeros((*shape, size), dtype=np.float32),
            "following": np.zeros((*shape, size), dtype=np.float32),
            "actions": np.zeros((*shape, self.subflows), dtype=np.float32),
            "rewards": np.zeros(shape, dtype=np.float32),
            "goes_on": np.zeros(shape, dtype=np.float32),
            "terminated": np.zeros(shape, dtype=np.float32),
        }
        self._drawn = np.zeros((task.recipe.episodes, self.subflows), dtype=np.float32)

    def act(
        self, observations: NDArray[np.float32], _episode_values: NDArray[np.float64], _step: int
    ) -> NDArray[np.float32]:
        """Draw from the policy; cut off at ±1."""
        with torch.no_grad():
            mean, _, _ = self.networks.mean_and_value(self._tensor(observations))
            noise = self._explore.standard_normal(mean.shape).astype(np.float32)
            self._drawn[:] = to_numpy(mean) + noise * float(self.networks.log_std.exp())
        return np.clip(self._drawn, -1.0, 1.0)

    def take(self, slot: Slot, _step: int) -> float | None:
        """Keep the slot; when the rollout is full, learn from it and begin anew."""
        place = int(self._filled[0])
        for name, values in (
            ("observations", slot.observations),
            ("following", slot.following),
            ("actions", self._drawn),
            ("rewards", slot.rewards),
            ("goes_on", ~slot.done),
            ("terminated", slot.terminated),
        ):
            self._rollout[name][place] = values
        self._filled[0] = (place + 1) % self.settings.slots
        return self._learn() if self._filled[0] == 0 else None

    def exploration(self, _step: int) -> float:
        """σ."""
        return float(self.networks.log_std.detach().exp())

    def weights(self) -> Weights:
        """μ as the policy's ``per-subflow``."""
        return Weights({"kind": "per-subflow", "activation": "tanh"}, to_layers(self.networks.actor), True)

    def held(self) -> Arrays:
        """The rollout so far."""
        rollout = {f"rollout.{name}": values for name, values in self._rollout.items()}
        return {**rollout, "filled": self._filled, "drawn": self._drawn}

    def draws(self) -> dict[str, np.random.Generator]:
        """Of actions, and of batches."""
        return {"explore": self._explore, "draw": self._draw}

    def changed(self) -> Sequence[Changed]:
        """One network of both parts."""
        return (Changed("net", self.networks, self.optimiser, "adam.net"),)

    def advantages(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Â and V of the rollout, both (slots, K)."""
        rollout, settings = self._rollout, self.settings
        with torch.no_grad():
            values, after = (
                to_numpy(self.networks.mean_and_value(self._tensor(rollout[name]))[1]).reshape(
                    rollout["rewards"].shape
                )
                for name in ("observations", "following")
            )
        delta = rollout["rewards"] + settings.discount * after * (1 - rollout["terminated"]) - values
        advantages = np.zeros_like(delta)
        running = np.zeros(delta.shape[1], dtype=np.float32)
        for t in range(len(delta) - 1, -1, -1):
            running = delta[t] + settings.discount * settings.gae * rollout["goes_on"][t] * running
            advantages[t] = running
        return advantages, values

    def _learn(self) -> float:
        settings = self.settings
        advantage, value = self.advantages()
        flat = {
            "seen": self._tensor(self._rollout["observations"]),
            "action": torch.from_numpy(self._rollout["actions"].reshape(-1, self.subflows)).to(self.device),
            "advantage": torch.from_numpy(advantage.ravel()).to(self.device),
            "value_target": torch.from_numpy((advantage + value).ravel()).to(self.device),
        }
        with torch.no_grad():
            flat["before"], _, _ = self._log_probability(flat["seen"], flat["action"])
        loss: Any = None
        for _ in range(settings.epochs):
            order = self._draw.permutation(len(flat["value_target"]))
            for start in range(0, len(order), settings.batch):
                rows = torch.from_numpy(order[start : start + settings.batch]).to(self.device)
                loss = self._update({name: values[rows] for name, values in flat.items()})
        self.updates += 1
        return float(loss.detach())

    def _update(self, batch: dict[str, torch.Tensor]) -> Any:
        settings, advantage = self.settings, batch["advantage"]
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        now, value, entropy = self._log_probability(batch["seen"], batch["action"])
        ratio = (now - batch["before"]).exp()
        clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
        gain = torch.minimum(ratio * advantage, clipped * advantage).mean()
        loss: Any = (
            -gain + 0.5 * (value - batch["value_target"]).square().mean() - settings.entropy * entropy.mean()
        )
        self.optimiser.zero_grad()
        loss.backward()
        networks = self.networks  # bounded apart: a value's error is in units of the return
        for part in ((*networks.actor.parameters(), networks.log_std), networks.critic.parameters()):
            nn.utils.clip_grad_norm_(part, settings.max_grad_norm)
        self.optimiser.step()
        return loss

    def _log_probability(
        self, seen: torch.Tensor, action: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        mean, value, mask = self.networks.mean_and_value(seen)
        normal: Any = torch.distributions.Normal(mean, self.networks.log_std.exp())
        return (normal.log_prob(action) * mask).sum(dim=1), value, (normal.entropy() * mask).sum(dim=1)

    def _tensor(self, observations: NDArray[np.float32]) -> torch.Tensor:
        values = observations.reshape(-1, self.subflows, self.features)
        return torch.from_numpy(values).to(self.device)
