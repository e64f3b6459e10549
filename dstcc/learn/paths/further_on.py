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

What is under way counts, so that no correction is made twice over a round trip. The queue is kept at a sixteenth of
the round trip, so that c goes on to be seen. Where nothing stands any more, c grows by a quarter a round trip. The
limit goes when c is more than the path's own queue shows. A shallow queue drops before it stands: that is for
:mod:`.pacing_limit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dstcc.engine.stepper import SUBFLOW_VALUES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

STANDS = 1 / 32
"""Of the light time there and back: a longer wait is a queue; less may be rounding."""
DELAYED_ACK_S = 0.2
"""How long a receiver waits for a second packet at most (Linux, TCP_DELACK_MAX)."""
TARGET = 1 / 16
"""The wait that is kept."""
HORIZON = 1 / 2
"""Over so much of the light time what is too much is taken off."""
LEAST, MOST = 0.25, 1.25
"""Of the line's rate."""
GROWTH = 0.25
"""Of the rate a round trip, where nothing stands."""
GREW = 1.02
"""So many times what is acknowledged was sent: the queue grew then."""
SLOTS = 128
"""Slots that are remembered; of longer round trips the last so many."""
VALUE = {name: place for place, name in enumerate(SUBFLOW_VALUES)}


class FurtherOn:
    """Queues further on, of K episodes' paths."""

    def __init__(self, episodes: int, subflows: int) -> None:
        shape = (episodes, subflows)
        self.far_s = np.zeros(shape)
        """The wait that the last acknowledgements showed."""
        self.carried = np.zeros(shape)
        """c, bytes on the wire per second; 0 while no such queue is known."""
        self._sent = np.zeros((SLOTS, *shape))
        """Bytes on the wire sent by the end of each slot, since the trial began."""
        self._wait = np.zeros((SLOTS, *shape))
        self._slot = np.zeros(episodes, dtype=np.int64)

    def begin(self, episode: int) -> None:
        """A new trial begins in this place."""
        self.far_s[episode] = self.carried[episode] = 0
        self._sent[:, episode] = self._wait[:, episode] = 0
        self._slot[episode] = 0

    def update(
        self,
        rows: slice,
        values: FloatArray,
        *,
        slot_s: FloatArray,
        shown: FloatArray,
        packet: FloatArray,
        overhead: FloatArray,
    ) -> FloatArray:
        """Take in a slot of a stepper's values; the limits, (K, subflows), infinite where no such queue is known.

        ``shown``: the rates that the sender's own queues show. ``slot_s``, ``packet`` (bytes of a full one) and
        ``overhead`` (bytes on the wire per byte of payload) are (K, 1).
        """
        srtt_s = values[..., VALUE["srtt_s"]]
        light_s = np.maximum(2 * values[..., VALUE["one_way_s"]], 1e-9)
        self._slot[rows] += 1
        now, count = self._slot[rows], np.arange(len(shown))
        sent, wait = self._sent[:, rows], self._wait[:, rows]
        sent[now % SLOTS, count] = sent[(now - 1) % SLOTS, count] + (
            values[..., VALUE["sent_segments"]] * packet
        )
        wait[now % SLOTS, count] = values[..., VALUE["queue_bytes"]] / np.maximum(shown, 1e-9)
        far, carried = self.far_s[rows], self.carried[rows]
        beyond_s = srtt_s - light_s - 2 * packet / np.maximum(shown, 1e-9) - DELAYED_ACK_S
        if not (carried.any() or (beyond_s > STANDS * light_s).any()):  # as almost everywhere
            return np.full(shown.shape, np.inf)

        lag = np.clip(np.rint(srtt_s / np.maximum(slot_s, 1e-9)).astype(int), 1, SLOTS - 3)
        lag = np.minimum(lag, np.maximum(now[:, None] - 1, 0))

        def then(ring: FloatArray, later: int = 0) -> FloatArray:
            place = (now[:, None] - lag + later) % SLOTS
            return np.asarray(np.take_along_axis(ring, place[None], axis=0)[0])

        acked = values[..., VALUE["delivered_bytes"]] * overhead / np.maximum(slot_s, 1e-9)
        own_s = np.maximum(np.maximum(then(wait, -1), then(wait)), then(wait, 1))
        up = (values[..., VALUE["link_up"]] > 0) & (srtt_s > 0) & (acked > 0)
        heard = up & (now[:, None] > lag + 1)
        far[:] = np.where(heard, np.maximum(beyond_s - own_s, 0), far)
        stands = heard & (far > STANDS * light_s)
        sent_then = (then(sent) - then(sent, -1)) / np.maximum(slot_s, 1e-9)
        begins = stands & (carried == 0) & (sent_then > GREW * acked)
        grown = carried * (1 + GROWTH * slot_s / light_s)
        line = np.where(stands, 0.5 * (carried + acked), grown)
        carried[:] = np.where(begins, acked, np.where(heard & (carried > 0), line, carried))
        carried[carried > shown] = 0
        known = np.maximum(carried, 1e-9)
        ahead = np.maximum(far + (sent[now % SLOTS, count] - then(sent)) / known - lag * slot_s, 0)
        share = np.clip(1 + (TARGET - ahead / light_s) / HORIZON, LEAST, MOST)
        limit: FloatArray = np.where(carried > 0, share * carried, np.inf)
        return limit
