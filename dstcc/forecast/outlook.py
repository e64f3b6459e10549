"""What a forecaster is shown: inputs of each event, and hints of each time ahead; the same in training and in use.

The inputs are those of :mod:`dstcc.forecast.inputs`, the lines of :mod:`dstcc.forecast.trends`, and of the filter of
:mod:`dstcc.coded.belief`, which knows no loss model, the mean and the deviation of the probability's logarithm and how
much it trusts each of its spans. Of a time ahead there are the time itself, where the lines lead, and the filter's
belief.
"""

from __future__ import annotations

import numpy as np

from dstcc.arrays import Float64Array
from dstcc.coded import belief
from dstcc.coded.channels import GRID, POINTS
from dstcc.frozen import dataclass

from . import inputs, trends

NAMES = (
    *inputs.NAMES,
    *trends.NAMES,
    "mean log chance of filter",
    "deviation of log chance of filter",
    *(f"trust of filter in {span:g} RTT" for span in belief.SPANS_RTTS),
)
"""Of the inputs."""
SIZE = len(NAMES)
AHEAD_NAMES = ("log time", "time", "exp of time", "exp of a third of time", *trends.AHEAD_NAMES)
"""Of the features of a time ahead, beside what the filter believes of it."""
AHEAD_SIZE = len(AHEAD_NAMES)
FLOOR = 1e-4
"""Of each point in the filter's belief, so that its logarithm is finite."""
_LOG_GRID = np.log(GRID) / 3 + 1


@dataclass(frozen=True)
class Ahead:
    """What is held of some times ahead."""

    features: Float64Array
    """(K, times, AHEAD_SIZE): by :data:`AHEAD_NAMES`."""
    held: Float64Array
    """(K, times, points): the logarithm of the filter's belief."""


def time_features(ahead_rtts: Float64Array) -> Float64Array:
    """(.., 4) of times ahead."""
    return np.stack(
        [np.log(ahead_rtts), ahead_rtts / 2 - 1, np.exp(-ahead_rtts), np.exp(-ahead_rtts / 3)], axis=-1
    )


class Outlook:
    """Of K rows."""

    def __init__(self, rows: int) -> None:
        self._sums, self._trends = inputs.Inputs(rows), trends.Trends(rows)
        self._filter = belief.Filter(rows, 1, np.ones((rows, 1)))
        self._at = np.zeros(rows)

    def hear(
        self, heard: Float64Array, lost: Float64Array, runs: Float64Array, span_rtts: Float64Array
    ) -> Float64Array:
        """(K, SIZE) after an event; arrays (K,). Rows with ``heard`` 0 keep what they have and mean nothing."""
        span = np.maximum(span_rtts, inputs.LEAST_SPAN)
        sums = self._sums.hear(heard, lost, runs, span)
        self._trends.hear(heard, lost, span)
        self._at = np.where(heard > 0, self._at + span, self._at)
        self._filter.hear(heard[:, None], lost[:, None], np.where(heard > 0, self._at, np.nan)[:, None])
        now = self._filter.now()[:, 0]
        mean = now @ _LOG_GRID
        spread = np.sqrt(np.maximum(now @ _LOG_GRID**2 - mean**2, 0))
        return np.concatenate(
            [sums, self._trends.now(), np.stack([mean, spread], axis=-1), self._filter.trust()[:, 0]], axis=-1
        )

    def ahead(self, ahead_rtts: Float64Array) -> Ahead:
        """Of times ahead of the last feedback, (K, times) in round trips."""
        features = np.concatenate([time_features(ahead_rtts), self._trends.ahead(ahead_rtts)], axis=-1)
        held = self._filter.expect(self._at[:, None] + ahead_rtts)[:, 0]
        return Ahead(features, np.log(held * (1 - FLOOR) + FLOOR / POINTS))
