"""Sounding a path: asking it for more than its share at first, for as long as that tells something.

What a path carries shows in the sender's queue only where more is asked of it than it carries, and where that queue is
deep. So a path of which nothing was heard is sounded in the first slots in which its pace is used, three at most:

    first         at its share
    dry           then at 2.5 times its share. Where the queue is dry again, the path carries that or its queue is
                  shallow: what is acknowledged a round trip later says which (:mod:`dstcc.learn.paths.ceiling`)
    standing      then at half as much again as the queue shows
    deep          the queue has held a quarter of a slot's bytes. A pace a quarter too fast would stand in it, so it
                  shows for good what the path carries, and the sounding is over

On a path with a shallow queue a sounding costs what is lost in a slot or two of a sixteenth of a round trip each, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .ceiling import LEAP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    BoolArray = NDArray[np.bool_]

LOUD = 2.5
"""Times its share that a path is asked for at most: shows queues of paths that carry twice their share."""
SLOTS = 3
"""In which a path is sounded at most, of those in which its pace was used."""
DEEP = LEAP
"""Slots of the rate that a queue was seen to hold, from which on it shows what a path carries: that much more than the
path carries, for a slot, would have stood in it."""
MORE = 1 + 2 * DEEP
"""Times the rate that a queue shows, at which it would be deep after a slot, and some more."""


class Soundings:
    """Of all paths, (K, subflows); :meth:`hear` once a slot."""

    def __init__(self, episodes: int, subflows: int) -> None:
        shape = (episodes, subflows)
        self.deep = np.zeros(shape, dtype=np.bool_)
        """Where a queue was seen to hold as much as shows what a path carries."""
        self.sounded = np.zeros(shape, dtype=np.bool_)
        """In the last slot."""
        self.ask = np.ones(shape)
        """Times its rate that a path is asked for in the next."""
        self._left = np.full(shape, float(SLOTS))

    def begin(self, episode: int) -> None:
        """A new trial in this place."""
        self.deep[episode] = self.sounded[episode] = False
        self.ask[episode], self._left[episode] = 1.0, SLOTS

    def room(self, rows: slice) -> FloatArray:
        """Times its share that a path may be asked for."""
        found: FloatArray = np.where(self._left[rows] > 0, LOUD, 1.0)
        return found

    def stop(self, rows: slice, where: BoolArray) -> None:
        """Of these paths something was heard."""
        self._left[rows] = np.where(where, 0.0, self._left[rows])

    def hear(
        self, rows: slice, used: BoolArray, stands: BoolArray, dry: BoolArray, slots: FloatArray
    ) -> None:
        """Take in a slot: where the pace was used, where queues stand or are dry, and how many slots of the rate that
        they show they hold."""
        left, deep = self._left[rows], self.deep[rows]
        self.sounded[rows] = (left > 0) & used
        deep |= stands & (slots > DEEP)
        over = deep | (dry & (left < SLOTS))
        left[:] = np.where(over, 0.0, left - self.sounded[rows])
        self.ask[rows] = np.where(stands & (left > 0), MORE, 1.0)
