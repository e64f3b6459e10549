"""Probing of a path at its start: it is asked for more than its share for as long as that shows something.

What a path carries shows in the sender's queue only if the sender asks for more than the path carries, and if that
queue is deep. So a path that nothing is known of is probed in the first slots that use its pacing rate, three at most:

    first         The path has its share.
    drained       The queue drained. Then the path has 2.5 times its share. If the queue drains again, the path carries
                  that, or its queue is shallow. The acknowledgements of a round trip later tell which
                  (:mod:`dstcc.learn.paths.pacing_limit`).
    standing      The queue does not drain. Then the path has half as much again as the queue shows.
    deep          The queue held a quarter of a slot's bytes. A rate a quarter too high would stand in it, so it shows
                  from now on what the path carries, and the probing is over.

On a path with a shallow queue a probing costs what is lost in a slot or two of a sixteenth of a round trip each, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .pacing_limit import MAX_STEP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    BoolArray = NDArray[np.bool_]

SHARE_GAIN = 2.5
"""How many times its share a path may have. That shows the queue of a path that carries twice its share."""
SLOTS = 3
"""In how many slots a path is probed at most. Only slots that use its pacing rate count."""
DEEP = MAX_STEP
"""Slots of the rate that a deep queue was seen to hold. An excess of that much for a slot would stand in it."""
STANDING_GAIN = 1 + 2 * DEEP
"""How many times the rate that its queue shows a path has. At this rate the queue is deep after a slot."""


class Probing:
    """All paths, (K, subflows); :meth:`update` once a slot."""

    def __init__(self, episodes: int, subflows: int) -> None:
        shape = (episodes, subflows)
        self.deep = np.zeros(shape, dtype=np.bool_)
        """Whether the queue was seen to be deep."""
        self.probed = np.zeros(shape, dtype=np.bool_)
        """Whether the last slot probed the path."""
        self.gain = np.ones(shape)
        """How many times its rate the path has in the next slot."""
        self._left = np.full(shape, float(SLOTS))

    def begin(self, episode: int) -> None:
        """A new trial begins in this place."""
        self.deep[episode] = self.probed[episode] = False
        self.gain[episode], self._left[episode] = 1.0, SLOTS

    def share_gain(self, rows: slice) -> FloatArray:
        """How many times its share each path may have."""
        gain: FloatArray = np.where(self._left[rows] > 0, SHARE_GAIN, 1.0)
        return gain

    def stop(self, rows: slice, where: BoolArray) -> None:
        """Stop the probing of these paths: acknowledgements tell what they carry."""
        self._left[rows] = np.where(where, 0.0, self._left[rows])

    def update(
        self, rows: slice, used: BoolArray, standing: BoolArray, drained: BoolArray, slots: FloatArray
    ) -> None:
        """Take in a slot: which pacing rates were used, which queues stand or drained, and how many slots of the rate
        that it shows each queue holds."""
        left, deep = self._left[rows], self.deep[rows]
        self.probed[rows] = (left > 0) & used
        deep |= standing & (slots > DEEP)
        over = deep | (drained & (left < SLOTS))
        left[:] = np.where(over, 0.0, left - self.probed[rows])
        self.gain[rows] = np.where(standing & (left > 0), STANDING_GAIN, 1.0)
