"""What a sender finds out about its paths within slots: the rate that each carries.

Model. In a slot of length T a subflow hands b bytes to its link, whose queue at the sender goes from q to q':

    served = b − (q' − q)          what left for Earth; others' traffic in the queue counts against it

While the queue never runs dry, served / T is what the path carries for this sender, an observation that needs no
round trip. Where it does run dry although the subflow sent at its pace, the path carries at least that. So

    r ← served / T, from the second such slot on half of it and half the old        the queue stands
    r ← max(r, b / T)         it does not, and the pace was used; twice that until a queue has shown the rate

A queue that drops what is too much stands too; then "served" holds what was dropped, and q' is as much as the queue
can hold. So a queue is believed only where it had space, q' < 0.8 of the deepest that it was seen. Else it can lower r,
and raise it no further than a queue with space, or a slot in which it ran dry, has shown not long ago. It shows the
rate for good only if it was seen to hold a quarter of a slot's bytes, and to have space after that. From then on
nothing but losses holds the path. A shallow queue never does.

Whether a queue is deep shows where more is asked of a path than it carries. So each path is sounded at first, in two or
three slots, with up to 2.5 times its share (:mod:`.sounding`): without that a path whose share is less than
it carries would show no queue, and be left at its share for a round trip, or as long as it lasts.

Paths without such a queue are paced by what is acknowledged and lost (:mod:`.ceiling`), which also holds
paths whose bottleneck lies further on. While nothing of them is known they share evenly what is left of 1.25 times the
rate that the source needs, beside what the others were shown to carry, and each gets at least its share of the need.
What a source needs is known from what was captured by now (:mod:`.captured`). While that says nothing, as of
a source without a clock, a path's share is its initial window, and the room is what was captured, in two round trips.

The pace is what is bounded, not r: a policy that uses seven tenths of r is to find out all the same what a path
carries. So r may be twice the pace that is allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES

from .captured import NOTHING, Captured, Source
from .ceiling import LEAP, Ceiling, Heard
from .sounding import Soundings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig, Stepper

    FloatArray = NDArray[np.float64]

NS_PER_S = 1e9
STANDING = 2.0
"""Packets in the queue from which on it counts as never dry."""
PROBE = 2.0
"""By how much the rate is raised while nothing but its use is known, as in slow start, and may exceed the pace."""
AGAIN = 1.5
"""The same once a queue has shown it, from the second slot on in which it is dry though the pace was used."""
USED = 0.9
"""Of the pace, from which on it counts as used."""
FULL = 0.8
"""Of the deepest that a queue was seen, up to which it is known to have had space for more."""
ROOM = 1 + LEAP
"""Of what the source needs, that all paths are asked for while none is heard: as much more as a trial is faster."""
UNTIMED_ROUNDS = 2.0
"""Round trips in which a source without a clock is sent at most, while nothing of a path is known."""
MEMORY = 0.98
"""Of the counts of losses, from slot to slot: 50 slots, some three round trips of a sixteenth each."""
ALL = slice(None)
VALUE = {name: place for place, name in enumerate(SUBFLOW_VALUES)}


@dataclass(frozen=True)
class Units:
    """What relative actions are relative to, for K episodes."""

    window: FloatArray
    """(K, subflows): the measured rate for a smoothed round trip, in segments; 0 while there is no handshake."""
    queue: FloatArray
    """(K, subflows): what waits in the sender's own queue, in slots of the measured rate."""
    round_trip_s: FloatArray
    """(K,): of light, on the longest path."""
    lossiest: NDArray[np.int64]
    """(K,): the subflow that loses the largest share; −1 while none is known to lose more than another."""
    top: NDArray[np.int64]
    """(K,): the number of the trial's highest layer."""
    most: FloatArray
    """(K, subflows): times the rate, that a path gets at most; infinite where nothing holds it."""


class Rates:
    """``rate`` (K, subflows): bytes on the wire per second that each path seems to carry."""

    def __init__(self, episodes: int, subflows: int) -> None:
        shape = (episodes, subflows)
        self.rate = np.zeros(shape)
        self.seen = np.zeros(shape, dtype=np.bool_)
        """Where a queue has shown the rate."""
        self.most = np.full(shape, np.inf)
        """Bytes on the wire per second that each path gets at most."""
        self.used = np.zeros(shape)
        """Of the pace, in the last slot."""
        self.need = np.zeros((episodes, 1))
        """Bytes on the wire per second that the source needs, by what it has captured; 0 while that is unknown."""
        self.wire = np.ones((episodes, 1))
        """Bytes of a full packet."""
        self.delay_s = np.zeros(episodes)
        """From a chunk's release to its deadline; infinite without one."""
        self._dry = np.zeros(shape, dtype=np.bool_)
        self._queue, self._lost, self._known = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._start, self._deepest, self._held = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.soundings = Soundings(episodes, subflows)
        self._count = np.ones((episodes, 1))
        self._heavier = np.ones((episodes, 1))
        """Bytes on the wire for one of payload."""
        self._sources: list[Source] = [NOTHING] * episodes
        self.ceilings: list[list[Ceiling]] = [[] for _ in range(episodes)]
        """Of each episode's subflows."""
        self.top = np.zeros(episodes, dtype=np.int64)

    def begin(self, episode: int, config: EngineConfig, source: Source | None = None) -> None:
        """A new trial in this place; its source is its video unless told."""
        transport, objects = config.transport, config.objects
        shown = (self.rate, self.seen, self.used, self.need, self._start, self._dry, self._queue)
        for memory in (*shown, self._deepest, self._held, self._lost, self._known):
            memory[episode] = 0
        self.soundings.begin(episode)
        self.most[episode] = np.inf
        wire = transport.mss_bytes + transport.header_bytes
        self._heavier[episode] = wire / transport.mss_bytes
        self._sources[episode] = source or Captured.of(objects)
        self.wire[episode] = wire
        self.top[episode] = int(objects.layer.max()) if len(objects.layer) else 0
        paths = sum(link.subflows for link in config.links)
        self._count[episode] = paths
        self.ceilings[episode] = [Ceiling(wire) for _ in range(paths)]
        finite = objects.deadline_ns < np.iinfo(np.int64).max
        wait = (objects.deadline_ns - objects.release_ns)[finite]
        self.delay_s[episode] = float(wait.min()) / NS_PER_S if len(wait) else np.inf

    def update(self, stepper: Stepper, rows: slice = ALL) -> None:
        """Take in a slot, or an episode's first values."""
        values = stepper.subflow_values[rows]
        slot_s = stepper.episode_values[rows][:, EPISODE_VALUES.index("slot_s")][:, None]
        rate, start = self.rate[rows], self._start[rows]
        captured = self._capture(stepper.episode_values[rows][:, EPISODE_VALUES.index("time_s")], rows)
        shown = self._show(values, slot_s, rows)
        srtt = values[..., VALUE["srtt_s"]]
        first = values[..., VALUE["cwnd_segments"]] * self.wire[rows] / np.maximum(srtt, 1e-9)
        fresh = (values[..., VALUE["established"]] > 0) & (srtt > 0) & (rate == 0)
        start[:] = np.where(fresh, np.maximum(self.need[rows] / self._count[rows], first), start)
        shown = np.where(fresh, start, shown)
        limits = self._hear(values, slot_s, shown, rows)
        self.soundings.stop(rows, np.isfinite(limits))
        most = self._room(shown, limits, captured, srtt, rows)
        rate[:] = np.minimum(shown, np.where(self.seen[rows], limits, PROBE * most))
        self.most[rows] = most
        self._count_losses(values, rows)

    def _show(self, values: FloatArray, slot_s: FloatArray, rows: slice) -> FloatArray:
        """The rates that queues show, (K, subflows)."""
        rate, seen, wire, before = self.rate[rows], self.seen[rows], self.wire[rows], self._queue[rows]
        deepest, held, soundings = self._deepest[rows], self._held[rows], self.soundings
        sent, queue = values[..., VALUE["sent_segments"]] * wire, values[..., VALUE["queue_bytes"]]
        known, up = (rate > 0) & (slot_s > 0), values[..., VALUE["link_up"]] > 0
        per_s = 1 / np.maximum(slot_s, 1e-9)
        pace = values[..., VALUE["pacing_bps"]] / 8
        self.used[rows] = np.where(known, sent * per_s / np.maximum(pace, 1e-9), 0.0)
        used, deep = self.used[rows] > USED, STANDING * wire
        stands = known & up & (queue > deep) & ((before > deep) | used)
        dry = known & up & (queue <= deep) & used
        np.maximum(deepest, queue, out=deepest)
        space = queue < FULL * deepest
        served = np.maximum(sent - (queue - before), wire) * per_s
        found = np.where(seen, 0.5 * (rate + served), served)
        found = np.where(space, found, np.minimum(found, np.where(seen, held, rate)))
        proof = np.where(stands & space, found, np.where(dry, sent * per_s, 0.0))
        held[:] = np.maximum(MEMORY * held, proof)
        seen |= known & up & space & soundings.deep[rows]
        probe = np.where(seen, np.where(self._dry[rows], AGAIN, 1.0), np.maximum(PROBE, soundings.room(rows)))
        least = np.maximum(rate, sent * per_s) * probe
        soundings.hear(rows, known & used, stands, dry, queue * per_s / np.maximum(found, 1e-9))
        self._dry[rows], before[:] = dry, queue
        shown: FloatArray = np.where(stands, found, np.where(dry, least, rate))
        return shown

    def _room(
        self, shown: FloatArray, limits: FloatArray, captured: FloatArray, srtt: FloatArray, rows: slice
    ) -> FloatArray:
        """Bytes on the wire per second that each path may be asked for, (K, subflows)."""
        there, seen, need, count = shown > 0, self.seen[rows], self.need[rows], self._count[rows]
        slowest = np.maximum(srtt.max(axis=1, keepdims=True), 1e-9)
        asked = np.where(need > 0, ROOM * need, captured / (UNTIMED_ROUNDS * slowest))
        to_come = need * (1 - there.sum(axis=1, keepdims=True) / count)
        taken = np.where(there & seen, np.minimum(np.minimum(self._held[rows], shown), limits), 0.0).sum(
            axis=1, keepdims=True
        )
        share = (asked - taken - to_come) / np.maximum((there & ~seen).sum(axis=1, keepdims=True), 1)
        unheard = there & ~seen & np.isinf(limits)
        share = np.maximum(share, self._start[rows]) * self.soundings.room(rows)
        most: FloatArray = np.where(unheard, share, limits)
        return most

    def _capture(self, time_s: FloatArray, rows: slice) -> FloatArray:
        """Renew what the source needs; the bytes on the wire that it has captured, (K, 1)."""
        told = [source.by(now) for source, now in zip(self._sources[rows], time_s.tolist(), strict=True)]
        captured, need = (np.array(part)[:, None] * self._heavier[rows] for part in zip(*told, strict=True))
        self.need[rows] = need
        return captured

    def _hear(self, values: FloatArray, slot_s: FloatArray, shown: FloatArray, rows: slice) -> FloatArray:
        """Tell the ceilings of a slot; their limits, (K, subflows), infinite where nothing holds a path."""
        parts = (
            values[..., VALUE["srtt_s"]],
            values[..., VALUE["link_up"]] > 0,
            values[..., VALUE["delivered_bytes"]] * self._heavier[rows],
            values[..., VALUE["lost_segments"]],
            self.most[rows],
            self.seen[rows],
            shown,
            self.soundings.sounded[rows],
        )
        lists = [part.tolist() for part in parts]
        limits = np.full_like(shown, np.inf)
        for row, (ceilings, (slot,)) in enumerate(zip(self.ceilings[rows], slot_s.tolist(), strict=True)):
            for path, ceiling in enumerate(ceilings):
                ceiling.hear(Heard(slot, *(part[row][path] for part in lists)))
                limits[row, path] = ceiling.limit
        return limits

    def loss(self) -> FloatArray:
        """(K, subflows): of the segments whose fate came to be known, the share lost; recent ones count more."""
        share: FloatArray = self._lost / np.maximum(self._known, 1.0)
        return share

    def units(self, stepper: Stepper) -> Units:
        """What the next actions are relative to."""
        values = stepper.subflow_values
        asked = self.rate * self.soundings.ask
        window = asked * values[..., VALUE["srtt_s"]] / self.wire
        loss = self.loss()
        apart = loss.max(axis=1) > np.where(self.rate > 0, loss, np.inf).min(axis=1)
        worst = np.where(apart, loss.argmax(axis=1), -1)
        slot_s = stepper.episode_values[:, EPISODE_VALUES.index("slot_s")][:, None]
        queue = self._queue / np.maximum(self.rate * slot_s, self.wire)
        longest = 2 * values[..., VALUE["one_way_s"]].max(axis=1)
        most = self.most / np.maximum(asked, 1e-9)
        return Units(window, queue, longest, worst, self.top, most)

    def _count_losses(self, values: FloatArray, rows: slice) -> None:
        lost, known = self._lost[rows], self._known[rows]
        lost *= MEMORY
        known *= MEMORY
        lost += values[..., VALUE["lost_segments"]]
        known += values[..., VALUE["lost_segments"]] + values[..., VALUE["delivered_bytes"]] / self.wire[rows]
