"""Whether a link's loss probability is one for ever, or changes: sequential evidence from feedback.

Of n packets that were sent about one time x were lost, in y rows. Each packet but those that continue a row may begin
one: y of n - x + y did. So a burst, or an outage, counts once. Under a memory of T round trips, with counts Y and N of
such packets that forget by e^(-span/T), y is beta-binomial:

    P_T(y) ~ B(a + Y + y, b + N - Y + n - x) / B(a + Y, b + N - Y)

and a probability that never changes is the memory that forgets nothing. Losses in clusters vary more than that without
any change: under a dispersion c both arguments of B keep their ratio, and their sum is c at most. Each memory weighs
its dispersions by how likely each has made what was heard. Each T gathers evidence against the memory that forgets
nothing,

    S_T <- min(max(S_T + ln P_T(y) - ln P_inf(y), 0), :data:`MOST`)

A link changes once an S_T is above :data:`CHANGES`, until all are back at 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.arrays import Float64Array

SPANS_RTTS = np.array([0.3, 1.0, 3.0, 10.0])
"""T."""
PRIOR_BEGUN, PRIOR_COULD = 0.5, 10.0
"""a, and a + b."""
DISPERSIONS = np.array([np.inf, 300.0, 30.0, 3.0])
"""c, in packets."""
CHANGES, MOST = 10.0, 30.0
"""Nats."""
LEAST = 1e-5
"""A dispersion's weight."""


class Evidence:
    """Of K links."""

    def __init__(self, rows: int) -> None:
        self._begun, self._could = np.zeros((2, rows, len(SPANS_RTTS) + 1))
        self._weights = np.full((rows, len(SPANS_RTTS) + 1, len(DISPERSIONS)), 1 / len(DISPERSIONS))
        """Of the dispersions."""
        self.against_steady = np.zeros((rows, len(SPANS_RTTS)))
        """S_T."""
        self.changes: NDArray[np.bool_] = np.zeros(rows, dtype=bool)

    def hear(
        self, heard: Float64Array, lost: Float64Array, runs: Float64Array, span_rtts: Float64Array
    ) -> None:
        """An event; arrays (K,): n, x, y, and how much later than the last its packets were sent. Links with
        ``heard`` 0 keep what they have."""
        from scipy.special import betaln

        some = heard > 0
        begins, could_begin = runs[:, None], (heard - lost + runs)[:, None]
        keep = np.ones_like(self._begun)
        keep[:, :-1] = np.exp(-np.maximum(span_rtts, 0.0)[:, None] / SPANS_RTTS)
        begun, could = keep * self._begun, keep * self._could
        all_of = PRIOR_COULD + could
        c = np.minimum(all_of[:, :, None], DISPERSIONS)
        a = c * ((PRIOR_BEGUN + begun) / all_of)[:, :, None]
        x, n = begins[:, :, None], could_begin[:, :, None]
        each = betaln(a + x, c - a + n - x) - betaln(a, c - a)
        highest = each.max(axis=2, keepdims=True)
        weights = self._weights * np.exp(each - highest)
        sums = weights.sum(axis=2, keepdims=True)
        likely = (np.log(sums) + highest)[:, :, 0]
        weights = np.maximum(weights / sums, LEAST)
        weights /= weights.sum(axis=2, keepdims=True)
        self._weights = np.where(some[:, None, None], weights, self._weights)
        gathered = np.clip(self.against_steady + likely[:, :-1] - likely[:, -1:], 0.0, MOST)
        self.against_steady = np.where(some[:, None], gathered, self.against_steady)
        self._begun = np.where(some[:, None], begun + begins, self._begun)
        self._could = np.where(some[:, None], could + could_begin, self._could)
        most = self.against_steady.max(axis=1)
        self.changes = np.where(self.changes, most > 0, most > CHANGES)
