"""What a source of live video has captured by a time. A sender knows no more of its source than that.

The rate of the source is its bytes so far, divided by the time that they took:

    bytes(t) / (last - first) * (n - 1) / n

n is the number of capture times so far, and first and last are the least and the greatest of them. The n chunks took n
intervals, of which n - 1 lie between first and last. One capture time alone gives no rate. A stored source, which is
captured as a whole at the start, gives none either.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import Objects

    FloatArray = NDArray[np.float64]

NS_PER_S = 1e9


class Source(Protocol):
    """What a sender knows of the data that it is to send."""

    def by(self, time_s: float) -> tuple[float, float]:
        """Payload bytes captured by then, and payload bytes per second; 0 while the rate is unknown."""


@dataclass(frozen=True)
class Captured:
    """A source over time."""

    times_s: FloatArray
    """Capture times, rising."""
    payload_bytes: FloatArray
    """All bytes captured by each of these times."""

    @classmethod
    def of(cls, objects: Objects) -> Captured:
        """The source of a trial."""
        times, first = np.unique(objects.release_ns, return_index=True)
        sums = np.concatenate([[0], np.cumsum(objects.payload_bytes)])
        return cls(times / NS_PER_S, sums[np.append(first[1:], len(objects.release_ns))].astype(np.float64))

    def by(self, time_s: float) -> tuple[float, float]:
        """Payload bytes captured, and payload bytes per second; 0 before the second capture time."""
        times, sums = self._views
        count = bisect_right(times, time_s)
        if count == 0:
            return 0.0, 0.0
        captured = sums[count - 1]
        span_s = times[count - 1] - times[0]
        return captured, captured * (count - 1) / (span_s * count) if count > 1 else 0.0

    @cached_property
    def _views(self) -> tuple[memoryview, memoryview]:
        """Both arrays as views, whose items are Python's numbers: an item costs a tenth of an array's."""
        times, sums = self.times_s.data, self.payload_bytes.data
        return times, sums


NOTHING = Captured(np.zeros(0), np.zeros(0))
"""The source of an episode that has not begun."""
