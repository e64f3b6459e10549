"""From feedback to a forecaster's inputs; the same in training and in use.

An event is a slot with feedback on packets, all sent about one time. Of n of them x were lost, in
``runs`` rows; ``span`` is how much later than the last event's packets they were sent. Over spans of time T, in round
trips, there are running sums that forget by e^(-span/T):

    N_T <- e^(-span/T) N_T + n        X_T <- e^(-span/T) X_T + x

and over LONG round trips how much of the time the share lost X/N (of the shortest T) was in each of a few ranges: what
the levels of a channel were so far. The inputs are logarithms of the sums, so that 3 of 300 and 30 of 3,000 look much
alike, and these shares of time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.arrays import Float64Array

SPANS_RTTS = np.array([0.1, 0.3, 1.0, 3.0, 10.0])
"""T."""
LONG_RTTS = 30.0
EDGES = np.array([0.002, 0.01, 0.03, 0.08, 0.2])
"""Of the ranges of shares lost."""
NAMES = (
    "log heard",
    "log span",
    "log share lost",
    "log row",
    *(f"log share lost over {span:g} RTT" for span in SPANS_RTTS),
    *(f"log heard over {span:g} RTT" for span in SPANS_RTTS),
    *(f"time lost to {edge:g}" for edge in EDGES),
    "time lost above",
)
"""Of the inputs."""
SIZE = len(NAMES)
FIRST_SPAN = 0.05
"""Of the first event, in round trips."""
LEAST_SPAN = 1e-3


def span_rtts(
    some: NDArray[np.bool_], sent_s: Float64Array, known_s: Float64Array, rtt_s: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Of K links, how much later than those of the last event the packets of an event were sent, and when the last
    ones were sent now (NaN before any); ``some``: which have an event."""
    sent_s = np.where(some, sent_s, known_s)
    known = ~np.isnan(known_s)
    return np.where(known & some, (sent_s - known_s) / rtt_s, FIRST_SPAN), sent_s


def log_share(lost: Float64Array, heard: Float64Array) -> Float64Array:
    """The logarithm of a share, finite for none lost."""
    return np.asarray(np.log((lost + 0.3) / (heard + 0.6)))


class Inputs:
    """Running sums of K rows."""

    def __init__(self, rows: int) -> None:
        self._heard = np.zeros((rows, len(SPANS_RTTS)))
        self._lost = np.zeros((rows, len(SPANS_RTTS)))
        self._time = np.zeros((rows, len(EDGES) + 1))
        self._rows = np.arange(rows)

    def hear(
        self, heard: Float64Array, lost: Float64Array, runs: Float64Array, span_rtts: Float64Array
    ) -> Float64Array:
        """(K, SIZE) after an event; arrays (K,). Rows with ``heard`` 0 keep their sums and mean nothing."""
        some = (heard > 0)[:, None]
        span = np.maximum(span_rtts, LEAST_SPAN)
        keep = np.exp(-span[:, None] / SPANS_RTTS)
        self._heard = np.where(some, keep * self._heard + heard[:, None], self._heard)
        self._lost = np.where(some, keep * self._lost + lost[:, None], self._lost)
        share = log_share(self._lost, self._heard)
        held = np.exp(-span / LONG_RTTS)[:, None]
        time = held * self._time
        time[self._rows, np.searchsorted(EDGES, np.exp(share[:, 0]))] += 1 - held[:, 0]
        self._time = np.where(some, time, self._time)
        of_all = self._time / np.maximum(self._time.sum(axis=1, keepdims=True), 1e-12)
        first = [
            np.log1p(heard) / 3 - 2,
            np.log(span) / 2 + 1,
            log_share(lost, heard) / 3 + 1,
            np.log(np.maximum(lost, 1) / np.maximum(runs, 1)),
        ]
        sums = [share / 3 + 1, np.log1p(self._heard) / 3 - 2, 2 * of_all]
        return np.concatenate([np.stack(first, axis=-1), *sums], axis=-1)
