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
``engine/src/paths/pacing_limit.hpp``. The arithmetic is the engine's (``engine/src/paths/further_on.hpp``).
"""

from __future__ import annotations

import numpy as np

from dstcc.engine import _engine


class FurtherOn:
    """Queues further on, of K episodes' paths."""

    def __init__(self, episodes: int, subflows: int) -> None:
        self.state = np.zeros((episodes, subflows), dtype=_engine.PATH_STATES[2])
        """What the engine brings up to date."""

    def begin(self, episode: int) -> None:
        """A new trial begins in this place."""
        self.state[episode] = 0
