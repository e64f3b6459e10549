"""The forecaster in torch, and how it learns.

Model. Of a loss model with the probability p(t), the feedback has events 0..k; the network says b_k(d), a belief of p
at d round trips after event k was sent. The loss is the cross entropy with where the probability then was, as a
distribution over the grid:

    L = - mean over histories, events and d of  sum_i on_grid(p(t_k + d))_i log b_k(d)_i

whose least value is reached by the posterior predictive distribution under the families that loss models are drawn from
(a proper score: Gneiting and Raftery, JASA 2007). By Adam, its rate rising over the first updates and falling with a
half cosine to the last one; gradients are clipped by their norm. The state of a history starts at zero and runs
through all of its events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from dstcc.coded.channels import POINTS, on_grid

from .outlook import AHEAD_SIZE, SIZE

if TYPE_CHECKING:
    from .histories import Batch
    from .recipe import Recipe


class Forecaster(nn.Module):
    """As :class:`dstcc.forecast.network.Network`, for whole histories."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.embed = nn.Linear(SIZE, hidden)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)
        self.ahead = nn.Linear(hidden + AHEAD_SIZE + POINTS, hidden)
        self.belief = nn.Linear(hidden, POINTS)
        nn.init.zeros_(self.belief.weight)
        nn.init.zeros_(self.belief.bias)

    def forward(
        self, inputs: torch.Tensor, features: torch.Tensor, held: torch.Tensor, every: int = 1
    ) -> torch.Tensor:
        """(B, states, A, points): logits; ``inputs`` (B, T, inputs), the others as a :class:`Batch` has them.

        The states are that before any feedback, and those after each ``every``-th event.
        """
        states, _ = self.gru(torch.tanh(self.embed(inputs)))
        states = torch.cat([torch.zeros_like(states[:, :1]), states], dim=1)[:, ::every]
        weight = self.ahead.weight
        of_time = torch.cat([features, held], dim=-1)
        both = (states @ weight[:, : self.hidden].T)[:, :, None] + of_time @ weight[:, self.hidden :].T
        logits: torch.Tensor = held + self.belief(torch.tanh(both + self.ahead.bias))
        return logits

    def loss(self, batch: Batch, device: torch.device) -> torch.Tensor:
        """L of some histories."""

        def tensor(values: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(values.astype(np.float32)).to(device)

        logits = self(tensor(batch.inputs), tensor(batch.features), tensor(batch.held), batch.every)
        truth = tensor(on_grid(batch.chance))
        return -(truth * torch.log_softmax(logits, dim=-1)).sum(dim=-1).mean()

    def tensors(self) -> dict[str, np.ndarray]:
        """By their names in a policy's file."""
        return {name: value.detach().cpu().numpy().copy() for name, value in self.state_dict().items()}


def rate(recipe: Recipe, update: int, updates: int) -> float:
    """Adam's rate at an update."""
    rising = min(1.0, (update + 1) / recipe.rising)
    falling = 0.5 * (1 + np.cos(np.pi * min(update / updates, 1.0)))
    return float(recipe.learning_rate * rising * (0.02 + 0.98 * falling))
