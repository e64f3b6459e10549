"""What a sender finds out about its paths within slots: the rate that each carries.

Model. In a slot of length T a subflow hands b bytes to its link, whose queue at the sender goes from q to q':

    served = b − (q' − q)          what left for Earth; others' traffic in the queue counts against it

While the queue never runs dry, served / T is what the path carries for this sender, an observation that needs no
round trip. Where it does run dry although the subflow sent at its pace, the path carries at least that. So

    r ← served / T, from the second such slot on half of it and half the old        the queue stands
    r ← max(r, b / T)         it does not, and the pace was used; twice that until a queue has stood for the first time

What the queue shows holds as far as it is borne out. :mod:`dstcc.learn.ceiling` bounds r, and the pace, by what was
acknowledged and by losses that are the sender's own; that is also how bottlenecks further on than the sender's own link
are found. While no queue has stood on a path it gets no more than r, and while a path has acknowledged nothing, or no
queue has stood, it may rise only as far as all paths together stay within what the source needs: 1.2 times that while
nothing is acknowledged, as repairs need some, then twice that, since all can go twice.

Before the first slot r is the rate that the video needs, shared evenly, since no path is known; what it needs is known
from what was captured by now (:mod:`dstcc.learn.captured`). While that says nothing, as of a source without a clock, r
starts from the initial window, and the room is what was captured, in two round trips.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES

from .captured import NOTHING, Captured, Source
from .ceiling import Ceiling, Heard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig, Stepper

    FloatArray = NDArray[np.float64]

NS_PER_S = 1e9
STANDING = 2.0
"""Packets in the queue from which on it counts as never dry."""
PROBE = 2.0
"""By how much the rate is raised while nothing but its use is known, as in slow start."""
AGAIN = 1.5
"""The same once a queue has stood, from the second slot on in which it is dry though the pace was used."""
USED = 0.9
"""Of the pace, from which on it counts as used."""
ROOM = 1.2
"""Of what the source needs, that all paths are asked for while one is neither seen nor heard: repairs need some."""
TWICE = 2.0
"""The same once one is: all can go twice."""
UNTIMED_ROUNDS = 2.0
"""Round trips in which a source without a clock is sent at most, while a path is neither seen nor heard."""
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
        """Where a standing queue has shown the rate."""
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
        for memory in (self.rate, self.used, self.need, self._queue, self._lost, self._known):
            memory[episode] = 0
        self.seen[episode] = self._dry[episode] = False
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
        rate, seen, wire, before = self.rate[rows], self.seen[rows], self.wire[rows], self._queue[rows]
        sent = values[..., VALUE["sent_segments"]] * wire
        queue = values[..., VALUE["queue_bytes"]]
        pace = values[..., VALUE["pacing_bps"]] / 8
        known = (rate > 0) & (slot_s > 0)
        per_s = 1 / np.maximum(slot_s, 1e-9)
        self.used[rows] = np.where(known, sent * per_s / np.maximum(pace, 1e-9), 0.0)
        stands = known & (queue > STANDING * wire) & ((before > STANDING * wire) | (self.used[rows] > USED))
        served = np.maximum(sent - (queue - before), wire) * per_s
        found = np.where(seen, 0.5 * (rate + served), served)
        up = values[..., VALUE["link_up"]] > 0
        dry = known & up & (queue <= STANDING * wire) & (self.used[rows] > USED)
        least = np.maximum(rate, sent * per_s) * np.where(seen, np.where(self._dry[rows], AGAIN, 1.0), PROBE)
        self._dry[rows] = dry
        shown = np.where(stands & up, found, np.where(dry, least, rate))
        seen |= stands & up
        srtt = values[..., VALUE["srtt_s"]]
        there = (values[..., VALUE["established"]] > 0) & (srtt > 0)
        first = values[..., VALUE["cwnd_segments"]] * wire / np.maximum(srtt, 1e-9)
        fresh = there & (rate == 0)
        captured = self._capture(stepper.episode_values[rows][:, EPISODE_VALUES.index("time_s")], rows)
        start = np.maximum(self.need[rows] / self._count[rows], first)
        shown = np.where(fresh, start, shown)
        self._hear(values, slot_s, shown, rows)
        rate[:] = self._allowed(np.where(fresh, start, rate), shown, captured, srtt, rows)
        before[:] = queue
        self._count_losses(values, rows)

    def _allowed(
        self, before: FloatArray, shown: FloatArray, captured: FloatArray, srtt: FloatArray, rows: slice
    ) -> FloatArray:
        """Of the rates that queues show, (K, subflows), what is borne out; others may rise while there is room."""
        bound = self._bounds(rows)
        shown = np.minimum(shown, bound)
        heard, there = np.isfinite(bound), shown > 0
        slowest = np.maximum(srtt.max(axis=1, keepdims=True), 1e-9)
        need, count = self.need[rows], self._count[rows]
        asked = np.where(need > 0, need, captured / (UNTIMED_ROUNDS * ROOM * slowest))
        to_come = need * (1 - there.sum(axis=1, keepdims=True) / count)
        unsure = there & ~(heard & self.seen[rows])
        rise = np.where(unsure, np.maximum(shown - before, 0.0), 0.0)
        taken = np.where(there, np.minimum(before, shown), 0.0).sum(axis=1, keepdims=True) + to_come
        room = np.maximum(np.where(heard, TWICE, ROOM) * asked - taken, 0.0)
        share = np.minimum(1.0, room / np.maximum(rise.sum(axis=1, keepdims=True), 1e-9))
        allowed: FloatArray = np.where(rise > 0, before + share * rise, shown)
        return allowed

    def _capture(self, time_s: FloatArray, rows: slice) -> FloatArray:
        """Renew what the source needs; the bytes on the wire that it has captured, (K, 1)."""
        told = [source.by(now) for source, now in zip(self._sources[rows], time_s.tolist(), strict=True)]
        captured, need = (np.array(part)[:, None] * self._heavier[rows] for part in zip(*told, strict=True))
        self.need[rows] = need
        return captured

    def _hear(self, values: FloatArray, slot_s: FloatArray, shown: FloatArray, rows: slice) -> None:
        """Tell the ceilings of a slot."""
        delivered = values[..., VALUE["delivered_bytes"]] * self._heavier[rows]
        parts = (
            values[..., VALUE["srtt_s"]],
            values[..., VALUE["link_up"]] > 0,
            self.used[rows] > USED,
            delivered,
            values[..., VALUE["lost_segments"]],
            shown,
        )
        lists = [part.tolist() for part in parts]
        for row, (ceilings, (slot,)) in enumerate(zip(self.ceilings[rows], slot_s.tolist(), strict=True)):
            for path, ceiling in enumerate(ceilings):
                ceiling.hear(Heard(slot, *(part[row][path] for part in lists)))

    def _bounds(self, rows: slice) -> FloatArray:
        """(K, subflows), infinite where nothing bounds."""
        bounds = np.full_like(self.rate[rows], np.inf)
        for row, ceilings in enumerate(self.ceilings[rows]):
            bounds[row, : len(ceilings)] = [ceiling.bound for ceiling in ceilings]
        return bounds

    def loss(self) -> FloatArray:
        """(K, subflows): of the segments whose fate came to be known, the share lost; recent ones count more."""
        share: FloatArray = self._lost / np.maximum(self._known, 1.0)
        return share

    def units(self, stepper: Stepper) -> Units:
        """What the next actions are relative to."""
        values = stepper.subflow_values
        window = self.rate * values[..., VALUE["srtt_s"]] / self.wire
        loss = self.loss()
        apart = loss.max(axis=1) > np.where(self.rate > 0, loss, np.inf).min(axis=1)
        worst = np.where(apart, loss.argmax(axis=1), -1)
        slot_s = stepper.episode_values[:, EPISODE_VALUES.index("slot_s")][:, None]
        queue = self._queue / np.maximum(self.rate * slot_s, self.wire)
        longest = 2 * values[..., VALUE["one_way_s"]].max(axis=1)
        limits = np.full_like(self.rate, np.inf)
        for row, ceilings in enumerate(self.ceilings):
            limits[row, : len(ceilings)] = [ceiling.limit for ceiling in ceilings]
        most = np.where(self.seen, limits / np.maximum(self.rate, 1e-9), 1.0)
        return Units(window, queue, longest, worst, self.top, most)

    def _count_losses(self, values: FloatArray, rows: slice) -> None:
        lost, known = self._lost[rows], self._known[rows]
        lost *= MEMORY
        known *= MEMORY
        lost += values[..., VALUE["lost_segments"]]
        known += values[..., VALUE["lost_segments"]] + values[..., VALUE["delivered_bytes"]] / self.wire[rows]
