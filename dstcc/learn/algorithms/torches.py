"""What the learners share of torch: layers from a generator of one's own, and everything an update changes, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from dstcc.errors import InputError

from .replay import fill

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .learner import Weights


class ValueNetwork(nn.Module, ABC):
    """A network that values the choices of every branch, (B, Σ choices)."""

    @abstractmethod
    def weights(self) -> Weights:
        """For a policy's file."""


def chain(widths: Sequence[int], draws: torch.Generator) -> nn.ModuleList:
    """Linear layers, drawn from U(±1/√fan-in), PyTorch's own start."""
    layers = [nn.Linear(a, b) for a, b in pairwise(widths)]
    for layer in layers:
        draw(layer, layer.in_features, draws)
    return nn.ModuleList(layers)


def draw(layer: nn.Module, width: int, draws: torch.Generator) -> None:
    """All parameters from U(±1/√width)."""
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -(width**-0.5), width**-0.5, generator=draws)


def to_numpy(tensor: torch.Tensor) -> NDArray[Any]:
    """The values, on the CPU; they may be shared."""
    array: NDArray[np.generic] = tensor.detach().cpu().numpy()
    return array


def named_tensors(
    module: nn.Module, optimiser: torch.optim.Optimizer, name: str = "net"
) -> dict[str, torch.Tensor]:
    """A network's tensors and its optimiser's moments."""
    tensors = {f"{name}.{key}": tensor for key, tensor in module.state_dict().items()}
    for key, parameter in module.named_parameters():
        for part, tensor in optimiser.state[parameter].items():
            tensors[f"adam.{name}.{key}.{part}"] = tensor
    return tensors


def begin_optimiser(module: nn.Module, optimiser: torch.optim.Optimizer) -> None:
    """Make Adam's moments exist (it makes them with the first update)."""
    for parameter in module.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    optimiser.zero_grad()


def load_tensors(tensors: Mapping[str, torch.Tensor], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Fill tensors by name; raises InputError where one is missing or of another shape or type."""
    for name, tensor in tensors.items():
        values = arrays.get(name)
        if values is None:
            raise InputError(f"{name}: missing")
        copy = to_numpy(tensor).copy()
        fill(copy, values, name)
        with torch.no_grad():
            tensor.copy_(torch.from_numpy(copy))
