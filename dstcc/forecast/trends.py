"""Straight lines through the shares of packets lost so far, by least squares, and where they lead.

Of the events before the present one, t round trips ago with n packets of which the share y was lost, the weight is
n e^(-t/T). With sums S_i of t^i and Y_i of t^i y under these weights, the line y = a + b t has

    b = (S_0 Y_1 - S_1 Y_0) / (S_0 S_2 - S_1^2 + r S_0^2 T^2)        a = (Y_0 - b S_1) / S_0

t is 0 at the present event and falls into the past; r (:data:`RIDGE`) keeps a line through events of one time flat.
A line is as sure as its slope over the slope's deviation, were the losses binomial with the probability a:

    z = b / sqrt(a (1 - a) S_0 / (S_0 S_2 - S_1^2 + r S_0^2 T^2))
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Float64Array
from dstcc.coded.channels import LEAST, MOST

SPANS_RTTS = np.array([0.3, 1.0, 3.0])
"""T."""
RIDGE = 1e-3
NAMES = tuple(
    f"{what} over {span:g} RTT" for what in ("log level of line", "z of slope") for span in SPANS_RTTS
)
"""Of what :meth:`Trends.now` gives."""
AHEAD_NAMES = tuple(
    f"log of {line} over {span:g} RTT" for line in ("line", "log line") for span in SPANS_RTTS
)
"""Of what :meth:`Trends.ahead` gives at a time."""


class Trends:
    """The sums of K rows."""

    def __init__(self, rows: int) -> None:
        shape = (rows, len(SPANS_RTTS))
        self._s = [np.zeros(shape) for _ in range(3)]
        self._y = [np.zeros(shape) for _ in range(2)]
        self.level = np.full(shape, 1e-2)
        """(K, spans): a, between the least and the most probability of the grid."""
        self.slope = np.zeros(shape)
        """(K, spans): b, per round trip."""
        self.sure = np.zeros(shape)
        """(K, spans): z."""

    def hear(self, heard: Float64Array, lost: Float64Array, span_rtts: Float64Array) -> None:
        """Take an event in; arrays (K,). Rows with ``heard`` 0 keep their lines."""
        some = (heard > 0)[:, None]
        t = span_rtts[:, None]
        keep = np.exp(-t / SPANS_RTTS)
        (s0, s1, s2), (y0, y1) = self._s, self._y
        moved = [keep * s0, keep * (s1 - t * s0), keep * (s2 - 2 * t * s1 + t * t * s0)]
        lost_moved = [keep * y0, keep * (y1 - t * y0)]
        moved[0] = moved[0] + heard[:, None]
        lost_moved[0] = lost_moved[0] + lost[:, None]
        self._s = [np.where(some, new, old) for new, old in zip(moved, self._s, strict=True)]
        self._y = [np.where(some, new, old) for new, old in zip(lost_moved, self._y, strict=True)]
        self._fit(some)

    def _fit(self, some: NDArray[np.bool_]) -> None:
        (s0, s1, s2), (y0, y1) = self._s, self._y
        spread = np.maximum(s0 * s2 - s1 * s1, 0) + RIDGE * (s0 * SPANS_RTTS) ** 2
        slope = (s0 * y1 - s1 * y0) / np.maximum(spread, 1e-300)
        level = np.clip((y0 - slope * s1) / np.maximum(s0, 1e-300), LEAST, MOST)
        sure = slope / np.sqrt(level * (1 - level) * np.maximum(s0, 1e-300) / np.maximum(spread, 1e-300))
        self.level = np.where(some, level, self.level)
        self.slope = np.where(some, slope, self.slope)
        self.sure = np.where(some, sure, self.sure)

    def now(self) -> Float64Array:
        """(K, 2 spans): by :data:`NAMES`."""
        return np.concatenate([np.log(self.level) / 3 + 1, np.tanh(self.sure / 5)], axis=-1)

    def ahead(self, ahead_rtts: Float64Array) -> Float64Array:
        """(K, times, 2 spans): the logarithms of the probabilities to which the lines lead so far ahead, (K, times).

        First straight lines of the probability; then straight lines of its logarithm with the same level and slope.
        """
        d = ahead_rtts[..., None]
        level, slope = self.level[:, None, :], self.slope[:, None, :]
        straight = np.log(np.clip(level + slope * d, LEAST, MOST))
        bent = np.clip(np.log(level) + np.clip(slope / level, -10, 10) * d, np.log(LEAST), np.log(MOST))
        return np.concatenate([straight, bent], axis=-1) / 3 + 1
