"""What a sender holds a link's loss to be that knows no loss model: a filter over acknowledgements.

The loss probability stays for a while and then jumps; how long it stays is one of a few spans, and where it jumps to is
what it was so far. Of each span T and each probability p on the grid there is a weight, for each trial and link:

    a while d later     w(p) <- e^(-d/T) w(p) + (1 - e^(-d/T)) m(p)      m: the mean of beliefs, and a flat prior
    n known, x lost     w(p) <- w(p) p^x (1 - p)^(n - x)                 within a slot p is taken as constant

The sums over p say how well each T has foretold; they forget, slowly. A forecast is the mean over T of the first line.
"""

from __future__ import annotations

import numpy as np

from dstcc.arrays import Float64Array

from .channels import GRID, POINTS

SPANS_RTTS = np.array([0.1, 0.3, 1.0, 3.0, 10.0, 100.0])
"""How long a loss probability may stay, in round trips."""
PRIOR_SLOTS = 5.0
"""What the flat prior weighs in the mean of what was believed, in slots with feedback."""
MEMORY = 0.995
"""Of how well each span has foretold, what is left after a slot."""


class Filter:
    """Beliefs of K trials over their links."""

    def __init__(self, trials: int, subflows: int, rtt_s: Float64Array) -> None:
        """``rtt_s``: (K, subflows)."""
        self._span_s = SPANS_RTTS * rtt_s[..., None]
        """(K, subflows, spans)."""
        shape = (trials, subflows)
        self._weight = np.full((*shape, len(SPANS_RTTS), POINTS), 1.0 / POINTS)
        self._trust = np.full((*shape, len(SPANS_RTTS)), 1.0 / len(SPANS_RTTS))
        self._sum = np.full((*shape, POINTS), PRIOR_SLOTS / POINTS)
        self._at_s = np.full(shape, np.nan)
        """When the packets of the last feedback were sent."""

    def hear(self, heard: Float64Array, lost: Float64Array, sent_s: Float64Array) -> None:
        """(K, subflows): what became known in a slot of packets sent around ``sent_s``; NaN where nothing did."""
        some = heard > 0
        if not some.any():
            return
        known = some & ~np.isnan(self._at_s)
        span = np.where(
            known, np.maximum(np.where(some, sent_s, 0.0) - np.where(known, self._at_s, 0.0), 0), 0.0
        )
        moved = self._moved(span)
        log_p, log_q = np.log(GRID), np.log1p(-GRID)
        likely = lost[..., None] * log_p + (heard - lost)[..., None] * log_q
        likely = np.exp(likely - likely.max(axis=-1, keepdims=True))
        weighed = moved * likely[:, :, None, :]
        evidence = weighed.sum(axis=-1)
        trust = self._trust**MEMORY * np.maximum(evidence, 1e-300)
        trust /= trust.sum(axis=-1, keepdims=True)
        weighed /= np.maximum(evidence, 1e-300)[..., None]
        pick = some[..., None]
        self._weight = np.where(pick[..., None], weighed, self._weight)
        self._trust = np.where(pick, trust, self._trust)
        self._sum = self._sum + np.where(pick, self.now(), 0.0)
        self._at_s = np.where(some, sent_s, self._at_s)

    def _mean(self) -> Float64Array:
        return np.asarray(self._sum / self._sum.sum(axis=-1, keepdims=True))

    def _moved(self, span_s: Float64Array) -> Float64Array:
        stays = np.exp(-span_s[..., None] / self._span_s)[..., None]
        return np.asarray(stays * self._weight + (1 - stays) * self._mean()[:, :, None, :])

    def now(self) -> Float64Array:
        """(K, subflows, points): the belief when the packets of the last feedback were sent."""
        return np.asarray(np.einsum("kst,kstp->ksp", self._trust, self._weight))

    def trust(self) -> Float64Array:
        """(K, subflows, spans): how well each span has foretold, as shares."""
        return self._trust

    def expect(self, times_s: Float64Array) -> Float64Array:
        """(K, subflows, times, points): a belief for each of the times (K, times)."""
        since = times_s[:, None, :] - np.where(np.isnan(self._at_s), np.inf, self._at_s)[..., None]
        since = np.where(np.isfinite(since), np.maximum(since, 0), 0.0)
        stays = np.exp(-since[..., None] / self._span_s[:, :, None, :])
        kept = np.einsum("kst,ksht,kstp->kshp", self._trust, stays, self._weight)
        gone = 1 - np.einsum("kst,ksht->ksh", self._trust, stays)
        return np.asarray(kept + gone[..., None] * self._mean()[:, :, None, :])
