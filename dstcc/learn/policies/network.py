"""Networks that a policy runs on, in numpy and single precision."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Float32Array

from .sets import KIND, Sets

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


class PerSubflow:
    """An :class:`Mlp` with one output that every subflow's values pass through by themselves.

    Observations are N blocks of the same length, outputs N numbers; the header's ``network`` is ``{"kind":
    "per-subflow", "activation": ...}``.
    """

    def __init__(self, document: Mapping[str, Any], tensors: Tensors, inputs: int, outputs: int) -> None:
        """Raise ValueError, naming the tensor, for weights of another shape than the spaces ask for."""
        if inputs % outputs:
            raise ValueError(f"{inputs} values are not as many for each of {outputs} subflows")
        self._subflows = outputs
        self._one = Mlp(document, tensors, inputs // outputs, 1)

    def __call__(self, observations: Float32Array) -> Float32Array:
        """One step."""
        each = observations.reshape(len(observations) * self._subflows, -1)
        return self._one(each).reshape(len(observations), self._subflows)


class ActionValues:
    """A row of outputs for each combination of ranges that an observation's values fall into.

    The header's ``network`` is ``{"kind": "table", "edges": [[..], ..]}``: for each value the rising places where it
    is cut; the tensor ``table`` has (product of ranges, outputs), the first value the most significant digit. A value
    on an edge belongs above it.
    """

    def __init__(self, document: Mapping[str, Any], tensors: Tensors, inputs: int, outputs: int) -> None:
        """Raise ValueError for edges or a table of another shape than the spaces ask for."""
        edges = document.get("edges")
        if set(document) != {"kind", "edges"} or not isinstance(edges, list) or len(edges) != inputs:
            raise ValueError(f"network table: kind, and edges for {inputs} values")
        self._edges = [[float(cut) for cut in cuts] for cuts in edges]
        if any(cuts != sorted(cuts) for cuts in self._edges):
            raise ValueError("network table: edges rise")
        shape = prod(len(cuts) + 1 for cuts in self._edges), outputs
        if set(tensors) != {"table"} or tensors["table"].shape != shape:
            actual = tensors["table"].shape if "table" in tensors else "missing"
            raise ValueError(f"tensor table: {actual}, its edges and the action space ask for {shape}")
        self._table = tensors["table"]

    def __call__(self, observations: Float32Array) -> Float32Array:
        """One step."""
        if len(observations) == 1:
            row = 0
            for cuts, value in zip(self._edges, observations[0].tolist(), strict=True):
                row = row * (len(cuts) + 1) + bisect_right(cuts, value)
            return self._table[row : row + 1]
        return self._table[self.rows(self._edges, observations)]

    @staticmethod
    def rows(edges: Sequence[Sequence[float]], observations: Float32Array) -> NDArray[np.int64]:
        """The rows (K,) of K observations."""
        row = np.zeros(len(observations), dtype=np.int64)
        for cuts, values in zip(edges, observations.T, strict=True):
            row = row * (len(cuts) + 1) + np.searchsorted(cuts, values.astype(np.float64), side="right")
        return row


class LstmActor:
    """An LSTM over the subflows, one after the other, and a network from its last state and a subflow's own values.

    A subflow whose values are all 0 is not there and passed over. Tensors ``lstm.weight_ih`` (4H, F),
    ``lstm.weight_hh`` (4H, H) and ``lstm.bias`` (4H,) with torch's order of gates (input, forget, cell, output), and
    ``layers.K.weight`` and ``.bias`` of an :class:`Mlp` from H + F values to 1; tanh at the end.
    """

    def __init__(self, document: Mapping[str, Any], tensors: Tensors, inputs: int, outputs: int) -> None:
        """Raise ValueError, naming the tensor, for weights of another shape than the spaces ask for."""
        lstm = {name: tensor for name, tensor in tensors.items() if name.startswith("lstm.")}
        if set(lstm) != {"lstm.weight_ih", "lstm.weight_hh", "lstm.bias"} or inputs % outputs:
            raise ValueError(
                "lstm-actor: lstm.weight_ih, lstm.weight_hh and lstm.bias, and as many values a subflow"
            )
        self._features = inputs // outputs
        weight_ih, self._hidden, self._bias = (lstm[f"lstm.{k}"] for k in ("weight_ih", "weight_hh", "bias"))
        width = len(self._bias) // 4
        shapes = (4 * width, self._features), (4 * width, width)
        if (weight_ih.shape, self._hidden.shape) != shapes:
            raise ValueError(
                f"lstm.weight_ih {weight_ih.shape} and lstm.weight_hh {self._hidden.shape}: not {shapes}"
            )
        self._weight, self._width = np.ascontiguousarray(weight_ih.T), width
        rest = {name: tensor for name, tensor in tensors.items() if name not in lstm}
        self._head = Mlp(document, rest, width + self._features, 1)
        # sigmoid(x) = (1 + tanh(x / 2)) / 2: one tanh serves all four gates
        self._half = half = np.full(4 * width, 0.5, dtype=np.float32)
        half[2 * width : 3 * width] = 1.0
        self._rest = 1 - half
        self._weight, self._hidden, self._bias = (
            self._weight * half,
            self._hidden * half[:, None],
            self._bias * half,
        )

    def __call__(self, observations: Float32Array) -> Float32Array:
        """One step."""
        if len(observations) == 1:
            return self._decide(observations.reshape(-1, self._features))[None]
        return np.stack([self._decide(row.reshape(-1, self._features)) for row in observations])

    def _decide(self, subflows: Float32Array) -> Float32Array:
        width, half = self._width, self._half
        mask = subflows.any(axis=1)
        seen = subflows[mask]
        state = cell = np.zeros(width, dtype=np.float32)
        for gates_in in seen @ self._weight + self._bias:
            gates = self._hidden @ state
            gates += gates_in
            np.tanh(gates, out=gates)
            gates *= half
            gates += self._rest
            cell = gates[width : 2 * width] * cell + gates[:width] * gates[2 * width : 3 * width]
            state = gates[3 * width :] * np.tanh(cell)
        actions = np.zeros(len(subflows), dtype=np.float32)
        values = np.empty((len(seen), width + self._features), dtype=np.float32)
        values[:, :width], values[:, width:] = state, seen
        actions[mask] = np.tanh(self._head(values)[:, 0])
        return actions


class Recorded:
    """What was put out in another trial, a row a step whatever is observed; the last row stays.

    So that two backends meet the same decisions. The header's ``network`` is ``{"kind": "recorded"}``; the tensor
    ``outputs`` has (steps, outputs).
    """

    def __init__(self, document: Mapping[str, Any], tensors: Tensors, inputs: int, outputs: int) -> None:
        """Raise ValueError for rows of another length than the action space asks for, or none."""
        rows = tensors.get("outputs")
        fits = rows is not None and rows.ndim == 2 and len(rows) > 0 and rows.shape[1] == outputs
        if set(document) != {"kind"} or set(tensors) != {"outputs"} or not fits:
            shapes = ", ".join(f"{name} {tensor.shape}" for name, tensor in tensors.items()) or "none"
            raise ValueError(f"network recorded: kind, and a tensor outputs (steps, {outputs}), not {shapes}")
        self._rows, self._step = tensors["outputs"], 0

    def __call__(self, observations: Float32Array) -> Float32Array:
        """One step."""
        row = self._rows[min(self._step, len(self._rows) - 1)]
        self._step += 1
        return np.tile(row, (len(observations), 1))


NETWORKS: dict[str, Callable[[Mapping[str, Any], Tensors, int, int], Network]] = {
    "mlp": Mlp,
    "per-subflow": PerSubflow,
    "table": ActionValues,
    "lstm-actor": LstmActor,
    "recorded": Recorded,
    KIND: Sets,
}
"""A header's ``network.kind`` → what builds it from the header's ``network``, tensors, inputs and outputs."""
