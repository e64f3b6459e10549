"""What a source has captured by a time: all that a sender of live video knows of it.

What was captured a second is the bytes so far over the time that they took,

    bytes(t) / (last - first) * (n - 1) / n

with n the times so far at which something was captured, first and last of them: n chunks took n intervals. One time
alone tells no rate, nor does a source that is all there from the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import Objects

    FloatArray = NDArray[np.float64]

NS_PER_S = 1e9


class Source(Protocol):
    """What a sender knows of what it is to send."""

    def by(self, time_s: float) -> tuple[float, float]:
        """Payload bytes there by then, and a second; 0 while that is unknown."""


@dataclass(frozen=True)
class Captured:
    """A source over time."""

    times_s: FloatArray
    """When something was, rising."""
    payload_bytes: FloatArray
    """By each of these times."""

    @classmethod
    def of(cls, objects: Objects) -> Captured:
        """Of a trial."""
        times, first = np.unique(objects.release_ns, return_index=True)
        sums = np.concatenate([[0], np.cumsum(objects.payload_bytes)])
        return cls(times / NS_PER_S, sums[np.append(first[1:], len(objects.release_ns))].astype(np.float64))

    def by(self, time_s: float) -> tuple[float, float]:
        """Payload bytes captured, and a second; that is 0 before the second time that something was."""
        count = int(np.searchsorted(self.times_s, time_s, side="right"))
        if count == 0:
            return 0.0, 0.0
        captured = float(self.payload_bytes[count - 1])
        span_s = float(self.times_s[count - 1] - self.times_s[0])
        return captured, captured * (count - 1) / (span_s * count) if count > 1 else 0.0


NOTHING = Captured(np.zeros(0), np.zeros(0))
"""No source at all."""
