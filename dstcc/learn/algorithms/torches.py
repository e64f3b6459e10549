"""What the learners share of torch: layers from a generator of one's own, and everything an update changes, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dstcc.arrays import Arrays
from dstcc.errors import InputError

from .learner import Kept, Weights, fill
from .streams import generator


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


def run(
    layers: nn.ModuleList, values: torch.Tensor, activate: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """``activate`` between the layers, nothing after the last, whose one output is the result."""
    for layer in layers[:-1]:
        values = activate(layer(values))
    last: torch.Tensor = layers[-1](values)[..., 0]
    return last


def to_layers(layers: nn.ModuleList) -> dict[str, NDArray[np.float32]]:
    """As a policy's file names them."""
    return {
        f"layers.{k}.{part}": to_numpy(layer.get_parameter(part)).copy()
        for k, layer in enumerate(layers)
        for part in ("weight", "bias")
    }


def torch_draws(seed: int, name: str) -> torch.Generator:
    """As :func:`~dstcc.learn.algorithms.streams.generator`, of torch."""
    return torch.Generator().manual_seed(int(generator(seed, name).integers(1 << 62)))


def draw(layer: nn.Module, width: int, draws: torch.Generator) -> None:
    """All parameters from U(±1/√width)."""
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -(width**-0.5), width**-0.5, generator=draws)


def to_numpy(tensor: torch.Tensor) -> NDArray[Any]:
    """The values, on the CPU; they may be shared."""
    array: NDArray[np.generic] = tensor.detach().cpu().numpy()
    return array


@dataclass(frozen=True)
class Changed:
    """A network that updates change, and its optimiser; a copy of another has none."""

    name: str
    """Of its tensors."""
    network: nn.Module
    optimiser: torch.optim.Optimizer | None = None
    moments: str = "adam"
    """Of the optimiser's tensors."""

    def tensors(self) -> dict[str, torch.Tensor]:
        """The network's and the optimiser's."""
        tensors = {f"{self.name}.{key}": tensor for key, tensor in self.network.state_dict().items()}
        for key, parameter in self.network.named_parameters() if self.optimiser else ():
            assert self.optimiser is not None
            for part, tensor in self.optimiser.state[parameter].items():
                tensors[f"{self.moments}.{key}.{part}"] = tensor
        return tensors

    def begin(self) -> None:
        """Make Adam's moments exist (it makes them with the first update)."""
        if self.optimiser is None:
            return
        for parameter in self.network.parameters():
            parameter.grad = torch.zeros_like(parameter)
        self.optimiser.step()


class TorchKept(Kept, ABC):
    """With networks."""

    COUNTS: ClassVar[tuple[str, ...]] = ("updates",)
    updates = 0

    @abstractmethod
    def changed(self) -> Sequence[Changed]:
        """Its networks."""

    def arrays(self) -> Arrays:
        """See :class:`Kept`."""
        return super().arrays() | {name: to_numpy(tensor) for name, tensor in self._tensors().items()}

    def restore(self, arrays: Arrays, document: dict[str, Any]) -> None:
        """See :class:`Kept`."""
        super().restore(arrays, document)
        if self.updates:
            for one in self.changed():
                one.begin()
        load_tensors(self._tensors(), arrays)

    def _tensors(self) -> dict[str, torch.Tensor]:
        return {name: tensor for one in self.changed() for name, tensor in one.tensors().items()}


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
