"""The forecaster's network, in numpy; :mod:`dstcc.forecast.learner` has the same in torch.

    e = tanh(A x + a)                                      x: an event's inputs (outlook.py)
    h <- GRU(e, h)                                         after each event, from 0 before the first
    b(d) = softmax(l(d) + C tanh(B [h, f(d), l(d)] + b) + c)

b(d) is the belief d round trips after the packets of the last feedback were sent: a distribution over the loss
probabilities of :data:`dstcc.coded.channels.GRID`. l(d) is the logarithm of what the filter believes there, and f(d)
are the features of that time (:class:`dstcc.forecast.outlook.Ahead`): with C and c of 0 the network believes what the
filter does. The GRU is torch's (Cho et al., 2014, with the reset gate behind the product).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Float64Array
from dstcc.coded.channels import POINTS

from .outlook import AHEAD_SIZE, SIZE, Ahead


def shapes(hidden: int) -> dict[str, tuple[int, ...]]:
    """The tensors of a network of that size."""
    return {
        "embed.weight": (hidden, SIZE),
        "embed.bias": (hidden,),
        "gru.weight_ih_l0": (3 * hidden, hidden),
        "gru.weight_hh_l0": (3 * hidden, hidden),
        "gru.bias_ih_l0": (3 * hidden,),
        "gru.bias_hh_l0": (3 * hidden,),
        "ahead.weight": (hidden, hidden + AHEAD_SIZE + POINTS),
        "ahead.bias": (hidden,),
        "belief.weight": (POINTS, hidden),
        "belief.bias": (POINTS,),
    }


class Network:
    """Weights to beliefs, for K rows."""

    def __init__(self, tensors: Mapping[str, NDArray[np.float32]], hidden: int) -> None:
        """Raises ValueError for tensors of another network, or that are not finite."""
        wanted = shapes(hidden)
        if set(tensors) != set(wanted):
            odd = sorted(set(tensors) ^ set(wanted))[0]
            raise ValueError(f"tensor {odd}: a forecaster has {', '.join(wanted)}")
        for name, shape in wanted.items():
            if tensors[name].shape != shape:
                raise ValueError(f"tensor {name}: shape {tensors[name].shape}, not {shape}")
            if tensors[name].dtype != np.float32 or not np.isfinite(tensors[name]).all():
                raise ValueError(f"tensor {name}: finite float32 numbers only")
        self.hidden = hidden
        self._of = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}

    def start(self, rows: int) -> Float64Array:
        """(K, hidden): h before any feedback."""
        return np.zeros((rows, self.hidden))

    def hear(self, inputs: Float64Array, state: Float64Array) -> Float64Array:
        """(K, hidden): h after an event of (K, inputs)."""
        of, size = self._of, self.hidden
        embedded = np.tanh(inputs @ of["embed.weight"].T + of["embed.bias"])
        new = embedded @ of["gru.weight_ih_l0"].T + of["gru.bias_ih_l0"]
        old = state @ of["gru.weight_hh_l0"].T + of["gru.bias_hh_l0"]
        reset = _sigmoid(new[:, :size] + old[:, :size])
        keep = _sigmoid(new[:, size : 2 * size] + old[:, size : 2 * size])
        fresh = np.tanh(new[:, 2 * size :] + reset * old[:, 2 * size :])
        return np.asarray((1 - keep) * fresh + keep * state)

    def expect(self, state: Float64Array, ahead: Ahead) -> Float64Array:
        """(K, times, points): beliefs of times ahead, of h."""
        of, size = self._of, self.hidden
        weight = of["ahead.weight"]
        of_time = np.concatenate([ahead.features, ahead.held], axis=-1)
        both = (state @ weight[:, :size].T)[:, None, :] + of_time @ weight[:, size:].T
        logits = ahead.held + np.tanh(both + of["ahead.bias"]) @ of["belief.weight"].T + of["belief.bias"]
        chances = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=-1, keepdims=True))


def _sigmoid(value: Float64Array) -> Float64Array:
    return np.asarray(0.5 * (1 + np.tanh(value / 2)))
