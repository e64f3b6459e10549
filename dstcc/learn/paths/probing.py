"""Probing of a path at its start: it is asked for more than its share for as long as that shows something.

What a path carries shows in the sender's queue only if the sender asks for more than the path carries, and if that
queue is deep. So a path that nothing is known of is probed in the first slots that use its pacing rate, three at most:

    first         The path has its share.
    drained       The queue drained. Then the path has 2.5 times its share. If the queue drains again, the path carries
                  that, or its queue is shallow. The acknowledgements of a round trip later tell which
                  (``engine/src/paths/pacing_limit.hpp``).
    standing      The queue does not drain. Then the path has half as much again as the queue shows.
    deep          The queue held a quarter of a slot's bytes. A rate a quarter too high would stand in it, so it shows
                  from now on what the path carries, and the probing is over.

On a path with a shallow queue a probing costs what is lost in a slot or two of a sixteenth of a round trip each, once.
The arithmetic is the engine's (``engine/src/paths/probing.hpp``).
"""

from __future__ import annotations

import numpy as np

from dstcc.arrays import BoolArray, Float64Array
from dstcc.engine import _engine

SLOTS = _engine.PROBING[1]
"""In how many slots a path is probed at most."""


class Probing:
    """All paths, (K, subflows)."""

    def __init__(self, episodes: int, subflows: int) -> None:
        self.state = np.zeros((episodes, subflows), dtype=_engine.PATH_STATES[1])
        """What the engine brings up to date; the arrays below are its columns."""
        self.deep: BoolArray = self.state["deep"]
        """Whether the queue was seen to be deep."""
        self.probed: BoolArray = self.state["probed"]
        """Whether the last slot probed the path."""
        self.gain: Float64Array = self.state["gain"]
        """How many times its rate the path has in the next slot."""
        self.left: Float64Array = self.state["left"]
        self.gain[:], self.left[:] = 1.0, SLOTS

    def begin(self, episode: int) -> None:
        """A new trial begins in this place."""
        self.deep[episode] = self.probed[episode] = False
        self.gain[episode], self.left[episode] = 1.0, SLOTS
