"""The network of :mod:`dstcc.learn.policies.sets` in torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from dstcc.learn.policies.sets import MOST_LAYERS, SetsShape, document
from dstcc.learn.spaces.branched import BranchedActions
from dstcc.learn.spaces.observe import ObservationSpec
from dstcc.learn.spaces.observe_measured import EPISODE, LAYER, SUBFLOW

from .learner import Weights
from .torches import ValueNetwork, torch_draws


class SetsNetwork(ValueNetwork):
    """Values of every branch's choices, (B, Σ choices): N of ``shape.windows``, then those of ``rest``."""

    def __init__(
        self,
        shape: SetsShape,
        subflows: int,
        layers: int,
        rest: Sequence[int],
        hidden: int,
        *,
        seed: int,
    ) -> None:
        super().__init__()
        self.shape, self.subflows, self.layers_count = shape, subflows, layers
        self.branches = (*(shape.windows,) * subflows, *rest)
        self.rest = tuple(rest)
        self.prior: torch.Tensor
        self.register_buffer("prior", torch.zeros(sum(self.branches)), persistent=False)
        draws = torch_draws(seed, "weights")
        self.tensors = nn.ParameterDict()
        fan_in = {
            "encode": shape.subflow + shape.common,
            "window": 3 * hidden,
            "rest": shape.common + 2 * hidden,
        }
        for name, size in shape.tensors(hidden).items():
            bound = (hidden if "out" in name else fan_in[name.split(".")[0]]) ** -0.5
            self.tensors[name.replace(".", "_")] = nn.Parameter(uniform(size, bound, draws))
        self._by_name = {name: self.tensors[name.replace(".", "_")] for name in shape.tensors(1)}

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """The values of every branch's choices."""
        windows, rest, _ = self.choices(observations)
        return torch.cat([windows.flatten(1), rest], dim=1)

    def present(self, observations: torch.Tensor) -> torch.Tensor:
        """Which subflows are there, (B, N)."""
        shape = self.shape
        return (
            observations[:, shape.episode : shape.episode + self.subflows * shape.subflow : shape.subflow] > 0
        )

    def mask(self, observations: torch.Tensor) -> torch.Tensor:
        """Which branches mean something, (B, branches): not those of subflows that are not there."""
        present = self.present(observations)
        return torch.cat([present, present.new_ones(len(present), len(self.rest))], dim=1)

    def favour(self, defaults: Sequence[int], margin: float) -> None:
        """From now on add ``margin`` to the default choice of each branch wherever the best is sought."""
        choices = [defaults[0]] * (len(self.branches) - len(defaults)) + list(defaults)
        starts = np.cumsum((0, *self.branches[:-1]))
        for start, choice in zip(starts, choices, strict=True):
            self.prior[int(start) + choice] = margin

    def weights(self) -> Weights:
        """For a policy: the values, with the margin added to the default choices."""
        tensors = {name: tensor.detach().cpu().numpy().copy() for name, tensor in self._by_name.items()}
        prior = self.prior.cpu().numpy()
        tensors["window.out.bias"] += prior[: self.shape.windows]
        tensors["rest.out.bias"] += prior[self.subflows * self.shape.windows :]
        return Weights(document(self.shape), tensors, any_size=True)

    def choices(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Windows (B, N, choices), the rest (B, choices) and the hidden layer before it."""
        shape, count = self.shape, len(observations)
        t = self._by_name
        first = shape.episode + self.subflows * shape.subflow
        subflows = observations[:, shape.episode : first].view(count, self.subflows, shape.subflow)
        common_values = self._common(observations, first)
        mask = (subflows[:, :, :1] > 0).float()
        common = nn.functional.linear(common_values, t["encode.all"], t["encode.bias"])
        known = torch.relu(nn.functional.linear(subflows, t["encode.own"]) + common[:, None]) * mask
        present = mask.sum(dim=1).clamp(min=1)
        pooled = torch.cat([known.sum(dim=1) / present, known.amax(dim=1)], dim=1)
        shared = nn.functional.linear(pooled, t["window.all"], t["window.bias"])
        hidden_values = torch.relu(nn.functional.linear(known, t["window.own"]) + shared[:, None])
        windows = nn.functional.linear(hidden_values, t["window.out"], t["window.out.bias"])
        joint = torch.relu(
            nn.functional.linear(torch.cat([common_values, pooled], dim=1), t["rest.in"], t["rest.bias"])
        )
        return windows, nn.functional.linear(joint, t["rest.out"], t["rest.out.bias"]), joint

    def _common(self, observations: torch.Tensor, first: int) -> torch.Tensor:
        layers = observations[:, first:].view(len(observations), self.layers_count, self.shape.layer)
        layer_count = layers[:, :, 0].sum(dim=1, keepdim=True).clamp(min=1)
        values = layers[:, :, 1:]
        parts = [
            observations[:, : self.shape.episode],
            layer_count / MOST_LAYERS,
            values[:, 0],
            values.sum(dim=1) / layer_count,
            values.amax(dim=1),
        ]
        return torch.cat(parts, dim=1)


def sets_shape(action: BranchedActions) -> SetsShape:
    """What a network of sets sees of the observation ``measured`` and does with that action space."""
    rest = sum(action.branches[action.subflows :])
    return SetsShape(len(EPISODE), len(SUBFLOW), len(LAYER), windows=len(action.windows), rest=rest)


def sets_network(
    observation: ObservationSpec, action: BranchedActions, hidden: int, *, seed: int
) -> SetsNetwork:
    """A network of sets for these spaces."""
    sizes = observation.subflows, observation.layers, action.branches[action.subflows :]
    return SetsNetwork(sets_shape(action), *sizes, hidden, seed=seed)


def uniform(size: tuple[int, ...], bound: float, draws: torch.Generator) -> torch.Tensor:
    """U(±bound), PyTorch's own start, from a generator of our own."""
    return torch.empty(size).uniform_(-bound, bound, generator=draws)
