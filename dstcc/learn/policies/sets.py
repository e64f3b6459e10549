"""A network for any number of subflows and layers: the same weights for each subflow, sums and maxima between them.

Model. o_e are the values of the episode, o_i those of subflow i, u_m those of layer m (``present`` first in both):

    g   = (o_e, layers ÷ 8, u_0, mean_m u_m, max_m u_m)        over the layers that are there
    h_i = relu(A_own o_i + A_all g + a)      p = (mean_i h_i, max_i h_i)     over the subflows that are there
    window choices of subflow i = C relu(B_own h_i + B_all p + b) + c
    the other branches          = F relu(D (g, p) + d) + f

What comes out does not depend on how subflows are numbered, and rows of zeros, for what is not there, change nothing.

Source: Zaheer et al., Deep Sets, NeurIPS 2017. This file needs numpy only; :mod:`dstcc.learn.algorithms.sets_torch`
trains it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from dstcc.arrays import Float32Array
from dstcc.frozen import dataclass

MOST_LAYERS = 8
"""By which the number of layers is scaled."""
KIND = "sets"


@dataclass(frozen=True)
class SetsShape:
    """How many values and choices there are of each kind."""

    episode: int
    subflow: int
    """Values of a subflow."""
    layer: int
    windows: int
    """Choices of a subflow."""
    rest: int
    """Choices of all other branches."""

    @property
    def common(self) -> int:
        """The length of g."""
        return self.episode + 1 + 3 * (self.layer - 1)

    def counts(self, inputs: int, outputs: int) -> tuple[int, int]:
        """Subflows and layers of such an observation and action; ValueError for what is no whole number of them."""
        subflows, odd = divmod(outputs - self.rest, self.windows)
        layers, left = divmod(inputs - self.episode - subflows * self.subflow, self.layer)
        if odd or left or subflows < 1 or layers < 1:
            raise ValueError(f"network {KIND}: {inputs} values and {outputs} outputs are not of {self}")
        return subflows, layers

    def tensors(self, hidden: int) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor."""
        inner = {
            "encode.own": (hidden, self.subflow),
            "encode.all": (hidden, self.common),
            "window.own": (hidden, hidden),
            "window.all": (hidden, 2 * hidden),
            "window.out": (self.windows, hidden),
            "rest.in": (hidden, self.common + 2 * hidden),
            "rest.out": (self.rest, hidden),
        }
        biases = {
            "encode": hidden,
            "window": hidden,
            "window.out": self.windows,
            "rest": hidden,
            "rest.out": self.rest,
        }
        return inner | {f"{name}.bias": (size,) for name, size in biases.items()}


class Sets:
    """The network in numpy; the header's ``network`` is ``{"kind": "sets", "episode": .., "subflow": .., ...}``."""

    def __init__(
        self, document: Mapping[str, Any], tensors: Mapping[str, Float32Array], inputs: int, outputs: int
    ) -> None:
        """Raise ValueError, naming the tensor, for weights of another shape than the spaces ask for."""
        wanted = {"kind", *SetsShape.__dataclass_fields__}
        if set(document) != wanted or not all(type(document[key]) is int for key in wanted - {"kind"}):
            raise ValueError(f"network {dict(document)}: {', '.join(sorted(wanted))}")
        self.shape = shape = SetsShape(**{key: value for key, value in document.items() if key != "kind"})
        self._subflows, self._layers = shape.counts(inputs, outputs)
        hidden = len(tensors["encode.bias"]) if "encode.bias" in tensors else 0
        for name, size in shape.tensors(hidden).items():
            if name not in tensors or tensors[name].shape != size:
                actual = tensors[name].shape if name in tensors else "missing"
                raise ValueError(f"tensor {name}: {actual}, its spaces ask for {size}")
        if extra := set(tensors) - set(shape.tensors(hidden)):
            raise ValueError(f"tensors {', '.join(sorted(extra))}: not of a network {KIND}")
        self._t = {name: np.ascontiguousarray(tensor.T) for name, tensor in tensors.items()}

    def __call__(self, observations: Float32Array) -> Float32Array:
        """One step, observations (K, size) to outputs (K, outputs)."""
        if len(observations) == 1:
            return self._one(observations[0])[None]
        shape, t, count = self.shape, self._t, len(observations)
        first = shape.episode + self._subflows * shape.subflow
        subflows = observations[:, shape.episode : first].reshape(count, self._subflows, shape.subflow)
        common = self._common(observations, first)
        present = subflows[:, :, :1] > 0
        known = subflows @ t["encode.own"]
        known += (common @ t["encode.all"] + t["encode.bias"])[:, None]
        np.maximum(known, np.float32(0), out=known)
        known *= present
        present_count = np.maximum(present.sum(axis=1), 1).astype(np.float32)
        pooled = np.concatenate([known.sum(axis=1) / present_count, known.max(axis=1)], axis=1)
        hidden = known @ t["window.own"]
        hidden += (pooled @ t["window.all"] + t["window.bias"])[:, None]
        windows = np.maximum(hidden, np.float32(0), out=hidden) @ t["window.out"] + t["window.out.bias"]
        joint = np.concatenate([common, pooled], axis=1) @ t["rest.in"] + t["rest.bias"]
        rest = np.maximum(joint, np.float32(0), out=joint) @ t["rest.out"] + t["rest.out.bias"]
        return np.concatenate([windows.reshape(count, -1), rest], axis=1)

    def _one(self, seen: Float32Array) -> Float32Array:
        """The same for one episode, without what is not there."""
        shape, t = self.shape, self._t
        first, last = shape.episode + self._subflows * shape.subflow, self._subflows * shape.windows
        width = len(t["encode.bias"])
        rows = seen[shape.episode : first].reshape(self._subflows, shape.subflow)
        present = rows[:, 0].nonzero()[0]
        layers = seen[first:].reshape(self._layers, shape.layer)
        sums = layers.sum(axis=0)
        layer_count = max(sums[0], np.float32(1))
        joint = np.zeros(shape.common + 2 * width, dtype=np.float32)
        common, pooled = joint[: shape.common], joint[shape.common :]
        summary = common[shape.episode + 1 :].reshape(3, shape.layer - 1)
        common[: shape.episode] = seen[: shape.episode]
        common[shape.episode] = layer_count / MOST_LAYERS
        summary[0], summary[1], summary[2] = layers[0, 1:], sums[1:] / layer_count, layers[:, 1:].max(axis=0)
        known = rows[present] @ t["encode.own"]
        known += common @ t["encode.all"] + t["encode.bias"]
        np.maximum(known, 0, out=known)
        if len(present):
            np.divide(known.sum(axis=0), np.float32(len(present)), out=pooled[:width])
            known.max(axis=0, out=pooled[width:])
        hidden = known @ t["window.own"]
        hidden += pooled @ t["window.all"] + t["window.bias"]
        out = np.zeros(last + shape.rest, dtype=np.float32)
        out[:last].reshape(self._subflows, shape.windows)[present] = (
            np.maximum(hidden, 0, out=hidden) @ t["window.out"] + t["window.out.bias"]
        )
        joint_hidden = joint @ t["rest.in"]
        joint_hidden += t["rest.bias"]
        np.maximum(joint_hidden, 0, out=joint_hidden)
        np.add(joint_hidden @ t["rest.out"], t["rest.out.bias"], out=out[last:])
        return out

    def _common(self, observations: Float32Array, first: int) -> Float32Array:
        """g."""
        layers = observations[:, first:].reshape(len(observations), self._layers, self.shape.layer)
        layer_count = np.maximum(layers[:, :, 0].sum(axis=1, keepdims=True), np.float32(1))
        values = layers[:, :, 1:]
        parts = [
            observations[:, : self.shape.episode],
            layer_count / np.float32(MOST_LAYERS),
            values[:, 0],
            values.sum(axis=1) / layer_count,
            values.max(axis=1),
        ]
        return np.concatenate(parts, axis=1)


def document(shape: SetsShape) -> dict[str, Any]:
    """The header's ``network``."""
    return {"kind": KIND, **asdict(shape)}
