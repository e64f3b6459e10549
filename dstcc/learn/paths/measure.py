"""What a sender learns of its paths within slots: the rate that each path carries.

Model. In a slot of length T a subflow hands b bytes to its link. The link's queue at the sender goes from q to q':

    served = b - (q' - q)          what left for Earth; others' traffic in the queue counts against it

If the queue never drains, served / T is what the path carries for this sender. This takes no round trip. If the queue
drains although the subflow sent at its pacing rate, the path carries at least what was sent. So

    r <- served / T, averaged with r from the second such slot on       the queue stands
    r <- max(r, b / T), doubled until a queue has shown the rate        it drained, and the pacing rate was used

A queue that drops the excess stands, too. Then "served" holds what was dropped, and q' is as much as the queue can
hold. So a queue counts only if it had space, q' < 0.8 of the deepest that it was seen. Otherwise it may lower r. It
raises r no further than a queue with space, or a slot in which it drained, has shown not long ago. The rate counts as
known if the queue was seen to hold a quarter of a slot's bytes, and to have space after that. From then on only losses
limit the path. A shallow queue never gets there.

A queue shows its depth if more is asked of its path than the path carries. So each path is probed at first, in two or
three slots, with up to 2.5 times its share (:mod:`.probing`). Without that, a path that carries more than its share
would show no queue. It would be left at its share for a round trip, or for all its time.

Paths without a deep queue are limited by what is acknowledged and lost (:mod:`.pacing_limit`), as are paths whose
bottleneck lies further on. Where that has a queue, delay shows it before it drops (:mod:`.further_on`). While nothing
is known of them, they share evenly what is left of 1.25 times the rate of the source, beside what the other paths were
shown to carry. Each gets at least its share of the source's rate. That rate is known from what was captured by now
(:mod:`.captured`). While it is unknown, as it is for a stored source, a path's share is its initial window, and all
paths together get what was captured in two round trips.

The limit is on the pacing rate, not on r: a policy that uses seven tenths of r is to learn what a path carries all the
same. So r may be twice the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES

from .captured import NOTHING, Captured, Source
from .further_on import FurtherOn
from .pacing_limit import MAX_STEP, PacingLimit, update_all
from .probing import Probing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig, Objects, Stepper

    FloatArray = NDArray[np.float64]

NS_PER_S = 1e9
DRAINED_PACKETS = 2.0
"""A queue with so many packets or fewer counts as drained."""
UNKNOWN_GAIN = 2.0
"""How much the rate is raised while only its use is known, as in slow start; also how far it may exceed the limit."""
KNOWN_GAIN = 1.5
"""The same once a queue has shown the rate, if the queue drains in two slots that use the pacing rate."""
USED = 0.9
"""A pacing rate counts as used if so much of it was sent."""
SPACE = 0.8
"""A queue below this share of the deepest that it was seen has space for more."""
SOURCE_GAIN = 1 + MAX_STEP
"""What all unknown paths may have together, as a multiple of the source's rate: as much more as a trial is faster."""
UNTIMED_ROUNDS = 2.0
"""Round trips that a stored source takes at least, while nothing of a path is known."""
MEMORY = 0.98
"""How the counts of losses fade from slot to slot: over 50 slots, some three round trips of 16 slots each."""
ALL = slice(None)
VALUE = {name: place for place, name in enumerate(SUBFLOW_VALUES)}
EPISODE_VALUE = {name: place for place, name in enumerate(EPISODE_VALUES)}


@dataclass(frozen=True)
class Units:
    """What relative actions are relative to, for K episodes."""

    window: FloatArray
    """(K, subflows): the measured rate for a smoothed round trip, in segments; 0 before the handshake."""
    queue: FloatArray
    """(K, subflows): the sender's own queue, in slots of the measured rate."""
    round_trip_s: FloatArray
    """(K,): of light, on the longest path."""
    lossiest: NDArray[np.int64]
    """(K,): the subflow that loses the largest share; −1 while none is known to lose more than another."""
    top_layer: NDArray[np.int64]
    """(K,): the number of the trial's highest layer."""
    limit: FloatArray
    """(K, subflows): the limit of the pacing rate as a multiple of the rate; infinite without one."""


class Rates:
    """``rate`` (K, subflows): bytes on the wire per second that each path seems to carry."""

    def __init__(self, episodes: int, subflows: int) -> None:
        shape = (episodes, subflows)
        self.rate = np.zeros(shape)
        self.known = np.zeros(shape, dtype=np.bool_)
        """Whether a deep queue has shown the rate."""
        self.limit = np.full(shape, np.inf)
        """Bytes on the wire per second that each path may have."""
        self.used = np.zeros(shape)
        """How much of the pacing rate was sent in the last slot."""
        self.source_rate = np.zeros((episodes, 1))
        """Bytes on the wire per second of the source, by what it has captured; 0 while that is unknown."""
        self.packet_bytes = np.ones((episodes, 1))
        """A full packet on the wire."""
        self.delay_s = np.zeros(episodes)
        """From a chunk's release to its deadline; infinite without one."""
        self._drained = np.zeros(shape, dtype=np.bool_)
        self._queue, self._lost, self._judged = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._initial, self._deepest, self._proven = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.probing = Probing(episodes, subflows)
        self.further_on = FurtherOn(episodes, subflows)
        self._paths = np.ones((episodes, 1))
        self._overhead = np.ones((episodes, 1))
        """Bytes on the wire per byte of payload."""
        self._sources: list[Source] = [NOTHING] * episodes
        self._video: tuple[Objects, Captured] | None = None
        """The source that was made last: a group of episodes begins with the same one."""
        self.pacing_limits: list[list[PacingLimit]] = [[] for _ in range(episodes)]
        """Of each episode's subflows."""
        self.top_layer = np.zeros(episodes, dtype=np.int64)

    def begin(self, episode: int, config: EngineConfig, source: Source | None = None) -> None:
        """A new trial begins in this place. Its source is its video unless another is given."""
        transport, objects = config.transport, config.objects
        states = (
            self.rate,
            self.known,
            self.used,
            self.source_rate,
            self._initial,
            self._drained,
            self._queue,
        )
        for state in (*states, self._deepest, self._proven, self._lost, self._judged):
            state[episode] = 0
        self.probing.begin(episode)
        self.further_on.begin(episode)
        self.limit[episode] = np.inf
        packet_bytes = transport.mss_bytes + transport.header_bytes
        self._overhead[episode] = packet_bytes / transport.mss_bytes
        if source is None:
            if self._video is None or self._video[0] is not objects:
                self._video = objects, Captured.of(objects)
            source = self._video[1]
        self._sources[episode] = source
        self.packet_bytes[episode] = packet_bytes
        self.top_layer[episode] = int(objects.layer.max()) if len(objects.layer) else 0
        paths = sum(link.subflows for link in config.links)
        self._paths[episode] = paths
        self.pacing_limits[episode] = [PacingLimit(packet_bytes) for _ in range(paths)]
        finite = objects.deadline_ns < np.iinfo(np.int64).max
        wait = (objects.deadline_ns - objects.release_ns)[finite]
        self.delay_s[episode] = float(wait.min()) / NS_PER_S if len(wait) else np.inf

    def update(self, stepper: Stepper, rows: slice = ALL) -> None:
        """Take in a slot, or an episode's first values."""
        values, episode_values = stepper.subflow_values[rows], stepper.episode_values[rows]
        slot_s = episode_values[:, EPISODE_VALUE["slot_s"], None]
        rate, initial = self.rate[rows], self._initial[rows]
        captured = self._capture(episode_values[:, EPISODE_VALUE["time_s"]], rows)
        shown = self._shown(values, slot_s, rows)
        srtt = values[..., VALUE["srtt_s"]]
        initial_window = values[..., VALUE["cwnd_segments"]] * self.packet_bytes[rows]
        first = (values[..., VALUE["established"]] > 0) & (srtt > 0) & (rate == 0)
        if first.any():
            share = np.maximum(
                self.source_rate[rows] / self._paths[rows], initial_window / np.maximum(srtt, 1e-9)
            )
            initial[:] = np.where(first, share, initial)
            shown = np.where(first, initial, shown)
        limits = update_all(
            self.pacing_limits[rows],
            values,
            slot_s=slot_s,
            overhead=self._overhead[rows],
            allowed=self.limit[rows],
            queue_seen=self.known[rows],
            shown=shown,
            probed=self.probing.probed[rows],
        )
        further_on = self.further_on.update(
            rows,
            values,
            slot_s=slot_s,
            shown=shown,
            packet=self.packet_bytes[rows],
            overhead=self._overhead[rows],
        )
        limits = np.minimum(limits, further_on)
        self.probing.stop(rows, np.isfinite(limits))
        limit = self._limit(shown, limits, captured, srtt, rows)
        rate[:] = np.minimum(shown, np.where(self.known[rows], limits, UNKNOWN_GAIN * limit))
        self.limit[rows] = limit
        self._count_losses(values, rows)

    def _shown(self, values: FloatArray, slot_s: FloatArray, rows: slice) -> FloatArray:
        """The rates that queues show, (K, subflows)."""
        rate, known, packet, before = (
            self.rate[rows],
            self.known[rows],
            self.packet_bytes[rows],
            self._queue[rows],
        )
        deepest, proven, probing = self._deepest[rows], self._proven[rows], self.probing
        sent, queue = values[..., VALUE["sent_segments"]] * packet, values[..., VALUE["queue_bytes"]]
        measured, up = (rate > 0) & (slot_s > 0), values[..., VALUE["link_up"]] > 0
        per_s = 1 / np.maximum(slot_s, 1e-9)
        pacing_rate = values[..., VALUE["pacing_bps"]] / 8
        sent_per_s = sent * per_s
        self.used[rows] = np.where(measured, sent_per_s / np.maximum(pacing_rate, 1e-9), 0.0)
        used, deep = self.used[rows] > USED, DRAINED_PACKETS * packet
        running = measured & up
        standing = running & (queue > deep) & ((before > deep) | used)
        drained = running & (queue <= deep) & used
        np.maximum(deepest, queue, out=deepest)
        space = queue < SPACE * deepest
        served = np.maximum(sent - (queue - before), packet) * per_s
        estimate = np.where(known, 0.5 * (rate + served), served)
        estimate = np.where(space, estimate, np.minimum(estimate, np.where(known, proven, rate)))
        proof = np.where(standing & space, estimate, np.where(drained, sent_per_s, 0.0))
        proven[:] = np.maximum(MEMORY * proven, proof)
        known |= running & space & probing.deep[rows]
        unknown_gain = np.maximum(UNKNOWN_GAIN, probing.share_gain(rows))
        gain = np.where(known, np.where(self._drained[rows], KNOWN_GAIN, 1.0), unknown_gain)
        least = np.maximum(rate, sent_per_s) * gain
        slots = queue * per_s / np.maximum(estimate, 1e-9)
        probing.update(rows, measured & used, standing, drained, slots)
        self._drained[rows], before[:] = drained, queue
        shown: FloatArray = np.where(standing, estimate, np.where(drained, least, rate))
        return shown

    def _limit(
        self, shown: FloatArray, limits: FloatArray, captured: FloatArray, srtt: FloatArray, rows: slice
    ) -> FloatArray:
        """Bytes on the wire per second that each path may have, (K, subflows)."""
        measured, known = shown > 0, self.known[rows]
        source_rate, paths = self.source_rate[rows], self._paths[rows]
        slowest = np.maximum(srtt.max(axis=1, keepdims=True), 1e-9)
        wanted = np.where(source_rate > 0, SOURCE_GAIN * source_rate, captured / (UNTIMED_ROUNDS * slowest))
        to_come = source_rate * (1 - measured.sum(axis=1, keepdims=True) / paths)
        carried = np.minimum(np.minimum(self._proven[rows], shown), limits)
        taken = np.where(measured & known, carried, 0.0).sum(axis=1, keepdims=True)
        unknown = measured & ~known
        share = (wanted - taken - to_come) / np.maximum(unknown.sum(axis=1, keepdims=True), 1)
        share = np.maximum(share, self._initial[rows]) * self.probing.share_gain(rows)
        limit: FloatArray = np.where(unknown & np.isinf(limits), share, limits)
        return limit

    def _capture(self, time_s: FloatArray, rows: slice) -> FloatArray:
        """Update the source's rate; the bytes on the wire that the source has captured, (K, 1)."""
        known: dict[
            tuple[int, float], tuple[float, float]
        ] = {}  # a group's episodes have one video and one time
        now = []
        for source, at_s in zip(self._sources[rows], time_s.tolist(), strict=True):
            key = id(source), at_s
            if key not in known:
                known[key] = source.by(at_s)
            now.append(known[key])
        on_the_wire = np.array(now) * self._overhead[rows]
        self.source_rate[rows] = on_the_wire[:, 1:]
        return on_the_wire[:, :1]

    def loss(self) -> FloatArray:
        """(K, subflows): the share lost of the segments whose fate is known; recent ones count more."""
        share: FloatArray = self._lost / np.maximum(self._judged, 1.0)
        return share

    def units(self, stepper: Stepper) -> Units:
        """What the next actions are relative to."""
        values = stepper.subflow_values
        probed_rate = self.rate * self.probing.gain
        window = probed_rate * values[..., VALUE["srtt_s"]] / self.packet_bytes
        loss = self.loss()
        differ = loss.max(axis=1) > np.where(self.rate > 0, loss, np.inf).min(axis=1)
        lossiest = np.where(differ, loss.argmax(axis=1), -1)
        slot_s = stepper.episode_values[:, EPISODE_VALUE["slot_s"], None]
        queue = self._queue / np.maximum(self.rate * slot_s, self.packet_bytes)
        longest = 2 * values[..., VALUE["one_way_s"]].max(axis=1)
        limit = self.limit / np.maximum(probed_rate, 1e-9)
        return Units(window, queue, longest, lossiest, self.top_layer, limit)

    def _count_losses(self, values: FloatArray, rows: slice) -> None:
        lost, judged = self._lost[rows], self._judged[rows]
        lost *= MEMORY
        judged *= MEMORY
        lost += values[..., VALUE["lost_segments"]]
        judged += (
            values[..., VALUE["lost_segments"]]
            + values[..., VALUE["delivered_bytes"]] / self.packet_bytes[rows]
        )
