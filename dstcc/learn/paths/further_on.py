"""A queue that is not the sender's own: found out by the delay of acknowledgements, its line by their rate.

Model. A path has light time L there and back and the sender's own queue, in which a packet waited w. Two packets
take e on the sender's line, and a receiver may hold an acknowledgement back for d (a delayed ACK waits for a second
packet, or for its timer). An acknowledgement that took R says how long it waited further on:

    far = max(0, R - L - w - e - d)

That stands where it is more than L / 32, and it is a bottleneck's if more was sent then than is acknowledged now.
While it stands, acknowledgements come at the rate c that its line carries for this sender. u bytes were sent since the
packet that is acknowledged now. Of these c R leave the queue by the time a packet sent now comes to it. That packet
then waits for

    ahead = max(0, far + u / c - R)

    limit = c (1 + (L / 16 - ahead) / (L / 2))          between c / 4 and 5/4 c

What is in flight counts, so that no correction is made twice over a round trip. The queue is kept at a sixteenth of
the round trip, so that c goes on to be seen. Where nothing stands any more, c grows by a quarter a round trip. The
limit goes when c is more than the path's own queue shows. A shallow queue drops before it stands: that is for
:mod:`.pacing_limit`. The arithmetic is the engine's (``engine/src/paths/further_on.hpp``).
"""

from __future__ import annotations

import numpy as np

from dstcc.arrays import Float64Array
from dstcc.engine import _engine

STANDS, TARGET, LEAST, GROWTH = _engine.FURTHER_ON
"""Of the light time there and back: a longer wait is a queue, and the wait that is kept; of the line's rate: the least
limit, and by how much it grows in a round trip where nothing stands."""


class FurtherOn:
    """Queues further on, of K episodes' paths."""

    def __init__(self, episodes: int, subflows: int) -> None:
        self.state = np.zeros((episodes, subflows), dtype=_engine.PATH_STATES[2])
        """What the engine brings up to date; the arrays below are its columns."""
        self.far_s: Float64Array = self.state["far_s"]
        """The wait that the last acknowledgements showed."""
        self.carried: Float64Array = self.state["carried"]
        """c, bytes on the wire per second; 0 while no such queue is known."""

    def begin(self, episode: int) -> None:
        """A new trial begins in this place."""
        self.state[episode] = 0

    def update(
        self,
        rows: slice,
        values: Float64Array,
        *,
        slot_s: Float64Array,
        shown: Float64Array,
        packet: Float64Array,
        overhead: Float64Array,
    ) -> Float64Array:
        """Take in a slot of a stepper's values; the limits, (K, subflows), infinite where no such queue is known.

        ``shown``: the rates that the sender's own queues show. ``slot_s``, ``packet`` (bytes of a full one) and
        ``overhead`` (bytes on the wire per byte of payload) are (K, 1).
        """
        return _engine.update_further_on(self.state[rows], values, slot_s, shown, packet, overhead)
