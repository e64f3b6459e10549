"""What a source of live video has captured by a time. A sender knows no more of its source than that.

The rate of the source is its bytes so far, divided by the time that they took:

    bytes(t) / (last - first) * (n - 1) / n

n is the number of capture times so far, and first and last are the least and the greatest of them. The n chunks took n
intervals, of which n - 1 lie between first and last. One capture time alone gives no rate. A stored source, which is
captured as a whole at the start, gives none either.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dstcc.engine import Objects, _engine

NS_PER_S = 1e9


class Source(Protocol):
    """What a sender knows of the data that it is to send."""

    def by(self, time_s: float) -> tuple[float, float]:
        """Payload bytes captured by then, and payload bytes per second; 0 while the rate is unknown."""


class Captured(_engine.Captured):
    """A source over time: capture times, rising, and all payload bytes captured by each of these times."""

    @classmethod
    def of(cls, objects: Objects) -> Captured:
        """The source of a trial."""
        times, first = np.unique(objects.release_ns, return_index=True)
        sums = np.concatenate([[0], np.cumsum(objects.payload_bytes)])
        return cls(times / NS_PER_S, sums[np.append(first[1:], len(objects.release_ns))].astype(np.float64))


NOTHING = Captured(np.zeros(0), np.zeros(0))
"""The source of an episode that has not begun."""
