"""Networks that a policy runs on, in numpy and single precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float32Array = NDArray[np.float32]
    Tensors = Mapping[str, Float32Array]


class Network(Protocol):
    """Observations (K, size) to outputs (K, outputs), a step of K episodes at a time.

    One that remembers is made anew for each trial.
    """

    def __call__(self, observations: Float32Array) -> Float32Array:
        """One step."""


def _relu(values: Float32Array) -> Float32Array:
    return np.maximum(values, np.float32(0), out=values)


def _tanh(values: Float32Array) -> Float32Array:
    return np.tanh(values, out=values)


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"relu": _relu, "tanh": _tanh}


class Mlp:
    """Layers y = W x + b with an activation between them and none after the last.

    Tensors ``layers.0.weight`` (out, in), ``layers.0.bias`` (out,), ``layers.1.weight`` and so on; the header's
    ``network`` is ``{"kind": "mlp", "activation": "relu" | "tanh"}``. torch's ``nn.Linear`` has the same layout.
    """

    def __init__(self, document: Mapping[str, Any], tensors: Tensors, inputs: int, outputs: int) -> None:
        """Raise ValueError, naming the tensor, for weights of another shape than the spaces ask for."""
        name = document.get("activation", "relu")
        if set(document) - {"kind", "activation"} or name not in ACTIVATIONS:
            raise ValueError(f"network {dict(document)}: kind and activation ({', '.join(ACTIVATIONS)}) only")
        self._activate = ACTIVATIONS[name]
        count = len(tensors) // 2
        names = [f"layers.{k}.{part}" for k in range(count) for part in ("weight", "bias")]
        if count == 0 or set(names) != set(tensors):
            raise ValueError(
                f"tensors {', '.join(sorted(tensors)) or 'none'}: an mlp has layers.K.weight and .bias"
            )
        self._layers = [
            (np.ascontiguousarray(tensors[f"layers.{k}.weight"]), tensors[f"layers.{k}.bias"])
            for k in range(count)
        ]
        width = inputs
        for k, (weight, bias) in enumerate(self._layers):
            if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
                raise ValueError(
                    f"layers.{k}: weight {weight.shape} and bias {bias.shape} do not take {width} values"
                )
            width = len(bias)
        if width != outputs:
            raise ValueError(f"layers.{count - 1} puts out {width} values, the action space takes {outputs}")

    def __call__(self, observations: Float32Array) -> Float32Array:
        """One step."""
        if len(observations) == 1:
            return self._one(observations[0])[None]
        values = observations
        for weight, bias in self._layers[:-1]:
            values = self._activate(values @ weight.T + bias)
        weight, bias = self._layers[-1]
        return values @ weight.T + bias

    def _one(self, values: Float32Array) -> Float32Array:
        """A matrix times a vector is several times cheaper than times a matrix of one column."""
        for weight, bias in self._layers[:-1]:
            values = self._activate(weight @ values + bias)
        weight, bias = self._layers[-1]
        return weight @ values + bias


NETWORKS: dict[str, Callable[[Mapping[str, Any], Tensors, int, int], Network]] = {"mlp": Mlp}
"""A header's ``network.kind`` → what builds it from the header's ``network``, tensors, inputs and outputs."""
