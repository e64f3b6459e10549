"""DQN with its usual improvements, each an option, for one branch of actions or several.

Model. A network Q(s, b, a) values choice a of branch b in state s; the greedy action takes the best choice of each
branch. From a random batch of transitions (s, a, R, s', γ') with R = Σ_{i<n} γ^i r_i and γ' = γ^n, 0 at an end:

    y   = R + γ' · mean_b Q⁻(s', b, a*_b)     a*_b = argmax_a Q⁻(s', b, a), or with ``double`` of Q(s', b, a)
    L   = mean over batch and branches of (Q(s, b, a_b) − y)²

by Adam; Q⁻ is a copy of Q that is renewed every ``target_every`` updates. With ``dueling``
Q(s, b, a) = V(s) + A(s, b, a) − mean_a' A(s, b, a'). With a ``margin`` every argmax is of Q(s, b, a) + margin·[a is the
usual choice of b]: the learner departs from a choice that is known to be sensible only where it expects that much more,
since the best of many noisy estimates is often one that is only noise. With ``explore_for`` a random choice lasts: what
one decision among dozens under way changes drowns in noise, what a spell of them changes does not. A network of sets
(:mod:`dstcc.learn.policies.sets`) says which branches mean something; means are over those.

Sources: Mnih et al., Nature 518, 2015 (DQN); van Hasselt et al., AAAI 2016 (double); Wang et al., ICML 2016 (dueling);
Tavakoli et al., AAAI 2018 (branches, y by the mean over branches); Sutton 1988 (n steps); Dabney et al., ICLR 2021
(random choices that last).

Deviations. Squared error without clipping of rewards or errors (Mnih: clipped); with ``max_grad_norm`` the gradient's
norm is bounded. Adam in RMSProp's place. V and A are linear in the last shared layer and have no layers of their own
(Wang, Tavakoli: one each), so that a trained network is a plain chain of layers; gradients into that layer are not
rescaled by the number of branches (Tavakoli: 1 / (1 + branches)). No frame stacking: what the state must remember is in
the observation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from dstcc.errors import InputError

from .learner import Weights
from .recipes.iodst_dqn import DqnSettings
from .replay import Replay, Transitions, fill
from .streams import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .sets_torch import SetsNetwork

    Layers = list[tuple[NDArray[np.float32], NDArray[np.float32]]]

GREEDY = -1
"""In the place of a choice that is held: whatever is best."""


class Network(nn.Module):
    """ReLU layers and one linear layer of a value per branch and choice, side by side, (B, Σ choices)."""

    def __init__(
        self, features: int, branches: Sequence[int], hidden: Sequence[int], *, dueling: bool, seed: int
    ) -> None:
        super().__init__()
        self.branches = tuple(branches)
        self.prior: torch.Tensor
        self.register_buffer("prior", torch.zeros(sum(self.branches)), persistent=False)
        widths = (features, *hidden)
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.advantage = nn.Linear(widths[-1], sum(branches))
        self.value = nn.Linear(widths[-1], 1) if dueling else None
        draws = torch.Generator().manual_seed(int(generator(seed, "weights").integers(1 << 62)))
        for layer in self.modules():
            if isinstance(
                layer, nn.Linear
            ):  # U(±1/√fan-in), PyTorch's own start, from a generator of our own
                bound = layer.in_features**-0.5
                nn.init.uniform_(layer.weight, -bound, bound, generator=draws)
                nn.init.uniform_(layer.bias, -bound, bound, generator=draws)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Q of every branch's choices."""
        last = observations
        for layer in self.hidden:
            last = torch.relu(layer(last))
        advantage: torch.Tensor = self.advantage(last)
        if self.value is None:
            return advantage
        value: torch.Tensor = self.value(last)
        parts = torch.split(advantage, list(self.branches), dim=1)
        return torch.cat([value + part - part.mean(dim=1, keepdim=True) for part in parts], dim=1)

    def favour(self, usual: Sequence[int], margin: float) -> None:
        """From now on add ``margin`` to the usual choice of each branch wherever the best is sought."""
        choices = [usual[0]] * (len(self.branches) - len(usual)) + list(usual)
        starts = np.cumsum((0, *self.branches[:-1]))
        for start, choice in zip(starts, choices, strict=True):
            self.prior[int(start) + choice] = margin

    def weights(self) -> Weights:
        """As the policy's ``mlp``."""
        tensors: dict[str, NDArray[np.float32]] = {}
        for k, (weight, bias) in enumerate(self.layers()):
            tensors |= {f"layers.{k}.weight": weight, f"layers.{k}.bias": bias}
        return Weights({"kind": "mlp", "activation": "relu"}, tensors)

    def layers(self) -> Layers:
        """The network as a chain of (weight (out, in), bias (out,)), ReLU between them.

        Dueling is linear, so it folds into the last: row a of branch b is V + A_a − mean A.
        """
        chain = [_arrays(layer) for layer in self.hidden]
        weight, bias = (part.astype(np.float64) for part in _arrays(self.advantage))
        if self.value is not None:
            value_weight, value_bias = _arrays(self.value)
            start = 0
            for choices in self.branches:
                rows = slice(start, start + choices)
                weight[rows] += value_weight - weight[rows].mean(axis=0)
                bias[rows] += value_bias - bias[rows].mean()
                start += choices
        bias += self.prior.cpu().numpy()
        return [*chain, (weight.astype(np.float32), bias.astype(np.float32))]


class Dqn:
    """A learner: :meth:`act`, :meth:`remember`, :meth:`learn`; the same calls give the same bits on a CPU."""

    def __init__(
        self,
        features: int,
        branches: Sequence[int],
        settings: DqnSettings,
        *,
        seed: int,
        device: str = "cpu",
        make: Callable[[], SetsNetwork] | None = None,
    ) -> None:
        """``make`` makes the network where it is not a chain of ``settings.hidden``; always the same one."""
        self.settings, self.branches, self.device = settings, tuple(branches), torch.device(device)

        def chain() -> Network:
            return Network(features, branches, settings.hidden, dueling=settings.dueling, seed=seed)

        made = [(make or chain)().to(self.device) for _ in range(2)]
        self.online, self.target = made
        self.target.requires_grad_(False)
        for network in made if settings.usual else ():
            network.favour(settings.usual, settings.margin)
        self.optimiser = torch.optim.Adam(self.online.parameters(), lr=settings.learning_rate, fused=True)
        self.replay = Replay(settings.buffer, features, len(self.branches))
        self.updates = 0
        self._explore, self._draw = generator(seed, "explore"), generator(seed, "replay")
        self._held = np.zeros((0, 0), dtype=np.int64)
        self._starts = torch.tensor([0, *np.cumsum(self.branches)[:-1]], device=self.device)

    def act(self, observations: NDArray[np.float32], epsilon: float) -> NDArray[np.int64]:
        """Choices (K, branches): greedy, or with probability ``epsilon`` all of an episode's at random.

        With ``explore_branches`` each choice is random with that probability, whatever the others are; with
        ``explore_for`` both a random choice and a greedy spell last so many decisions on average.
        """
        count = len(observations)
        wide = len(self.branches) if self.settings.explore_branches else 1
        explores = self._explore.random((count, wide)) < epsilon
        random = self._explore.integers(0, self.branches, (count, len(self.branches)))
        if self.settings.explore_for > 1:
            if len(self._held) != count:
                self._held = np.full_like(random, GREEDY)
            anew = self._explore.random((count, wide)) * self.settings.explore_for < 1
            self._held = np.where(anew, np.where(explores, random, GREEDY), self._held)
            explores, random = self._held != GREEDY, self._held
        if explores.all():
            return random
        with torch.no_grad():
            values = self.online(torch.from_numpy(observations).to(self.device)) + self.online.prior
            best = torch.stack([part.argmax(dim=1) for part in values.split(self.branches, dim=1)], dim=1)
        return np.where(explores, random, best.cpu().numpy())

    def remember(self, transitions: Transitions) -> None:
        """Put transitions into the replay memory."""
        self.replay.add(transitions)

    def learn(self) -> float:
        """One update from one batch; the loss."""
        drawn = self.replay.sample(self._draw, self.settings.batch)
        batch = {name: torch.from_numpy(values).to(self.device) for name, values in drawn.items()}
        td_target = self._td_target(batch)
        taken = batch["action"].long() + self._starts
        error = self.online(batch["observation"]).gather(1, taken) - td_target[:, None]
        if isinstance(self.online, Network):
            loss = error.square().mean()
        else:
            mask = self.online.mask(batch["observation"])
            loss = (error.square() * mask).sum() / mask.sum()
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
            chosen = (judge + self.online.prior).split(self.branches, dim=1)
            best = [
                value.gather(1, choice.argmax(dim=1, keepdim=True))
                for value, choice in zip(values.split(self.branches, dim=1), chosen, strict=True)
            ]
            each = torch.cat(best, dim=1)
            if isinstance(self.online, Network):
                return batch["reward"] + batch["discount"] * each.mean(dim=1)
            mask = self.online.mask(batch["next"])
            return batch["reward"] + batch["discount"] * (each * mask).sum(dim=1) / mask.sum(dim=1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Networks, optimiser and memory, for a checkpoint."""
        arrays = {f"replay.{name}": values for name, values in self.replay.arrays().items()}
        arrays["held"] = self._held
        for name, tensor in self._tensors().items():
            arrays[name] = tensor.detach().cpu().numpy()
        return arrays

    def document(self) -> dict[str, Any]:
        """Counters and generators, for a checkpoint."""
        return {
            "updates": self.updates,
            "added": self.replay.added,
            "explore": self._explore.bit_generator.state,
            "replay": self._draw.bit_generator.state,
        }

    def restore(self, arrays: dict[str, NDArray[Any]], document: dict[str, Any]) -> None:
        """Back from :meth:`arrays` and :meth:`document`; raises InputError for those of another learner."""
        self.updates = document["updates"]
        self._explore.bit_generator.state = document["explore"]
        self._draw.bit_generator.state = document["replay"]
        memory = {name.removeprefix("replay."): arrays[name] for name in arrays if name.startswith("replay.")}
        self.replay.restore(memory, document["added"])
        self._held = np.array(arrays["held"])
        if self.updates:
            self._begin_optimiser()
        for name, tensor in self._tensors().items():
            values = arrays.get(name)
            if values is None:
                raise InputError(f"{name}: missing")
            copy = tensor.detach().cpu().numpy().copy()
            fill(copy, values, name)
            with torch.no_grad():
                tensor.copy_(torch.from_numpy(copy))

    def _tensors(self) -> dict[str, torch.Tensor]:
        """Everything that an update changes, by name."""
        tensors = {f"online.{name}": tensor for name, tensor in self.online.state_dict().items()}
        tensors |= {f"target.{name}": tensor for name, tensor in self.target.state_dict().items()}
        for name, parameter in self.online.named_parameters():
            for part, tensor in self.optimiser.state[parameter].items():
                tensors[f"adam.{name}.{part}"] = tensor
        return tensors

    def _begin_optimiser(self) -> None:
        """Make Adam's moments exist (it makes them with the first update)."""
        for parameter in self.online.parameters():
            parameter.grad = torch.zeros_like(parameter)
        self.optimiser.step()
        self.optimiser.zero_grad()


def _arrays(layer: nn.Module) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    weight, bias = (layer.get_parameter(name).detach().cpu().numpy().copy() for name in ("weight", "bias"))
    return weight, bias
