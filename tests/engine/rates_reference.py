"""Measured rates in numpy, all paths at once, which the engine's are held to; the models are in
:mod:`dstcc.learn.paths.measure`, :mod:`~dstcc.learn.paths.probing` and :mod:`~dstcc.learn.paths.further_on`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dstcc.arrays import BoolArray, Float64Array
from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES
from dstcc.learn.paths.measure import Units

from .pacing_slots import PacingLimit, SlotReport

if TYPE_CHECKING:
    from dstcc.engine import Stepper


DRAINED_PACKETS, USED, SPACE = 2.0, 0.9, 0.8
UNKNOWN_GAIN, KNOWN_GAIN, SOURCE_GAIN = 2.0, 1.5, 1.25
UNTIMED_ROUNDS, MEMORY = 2.0, 0.98
SHARE_GAIN, PROBED_SLOTS, DEEP = 2.5, 3, 0.25
STANDING_GAIN = 1 + 2 * DEEP
STANDS, DELAYED_ACK_S, TARGET, HORIZON = 1 / 32, 0.2, 1 / 16, 1 / 2
LEAST, MOST, GROWTH, GREW = 0.25, 1.25, 0.25, 1.02
SLOTS = 128
VALUE = {name: place for place, name in enumerate(SUBFLOW_VALUES)}
EPISODE_VALUE = {name: place for place, name in enumerate(EPISODE_VALUES)}


class ReferenceProbing:
    """As :class:`~dstcc.learn.paths.probing.Probing`; :meth:`update` once a slot."""

    def __init__(self, episodes: int, subflows: int) -> None:
        shape = (episodes, subflows)
        self.deep = np.zeros(shape, dtype=np.bool_)
        """Whether the queue was seen to be deep."""
        self.probed = np.zeros(shape, dtype=np.bool_)
        """Whether the last slot probed the path."""
        self.gain = np.ones(shape)
        """How many times its rate the path has in the next slot."""
        self.left = np.full(shape, float(PROBED_SLOTS))

    def begin(self, episode: int) -> None:
        """A new trial begins in this place."""
        self.deep[episode] = self.probed[episode] = False
        self.gain[episode], self.left[episode] = 1.0, PROBED_SLOTS

    def share_gain(self, rows: slice) -> Float64Array:
        """How many times its share each path may have."""
        gain: Float64Array = np.where(self.left[rows] > 0, SHARE_GAIN, 1.0)
        return gain

    def stop(self, rows: slice, where: BoolArray) -> None:
        """Stop the probing of these paths: acknowledgements tell what they carry."""
        self.left[rows] = np.where(where, 0.0, self.left[rows])

    def update(
        self, rows: slice, used: BoolArray, standing: BoolArray, drained: BoolArray, slots: Float64Array
    ) -> None:
        """Take in a slot: which pacing rates were used, which queues stand or drained, and how many slots of the rate
        that it shows each queue holds."""
        left, deep = self.left[rows], self.deep[rows]
        self.probed[rows] = (left > 0) & used
        deep |= standing & (slots > DEEP)
        over = deep | (drained & (left < PROBED_SLOTS))
        left[:] = np.where(over, 0.0, left - self.probed[rows])
        self.gain[rows] = np.where(standing & (left > 0), STANDING_GAIN, 1.0)


class ReferenceFurtherOn:
    """As :class:`~dstcc.learn.paths.further_on.FurtherOn`."""

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
        values: Float64Array,
        *,
        slot_s: Float64Array,
        shown: Float64Array,
        packet: Float64Array,
        overhead: Float64Array,
    ) -> Float64Array:
        """As ``engine/src/paths/further_on.hpp``."""
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
        lag = np.clip(np.rint(srtt_s / np.maximum(slot_s, 1e-9)).astype(int), 1, SLOTS - 3)
        lag = np.minimum(lag, np.maximum(now[:, None] - 1, 0))

        def then(ring: Float64Array, later: int = 0) -> Float64Array:
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
        limit: Float64Array = np.where(carried > 0, share * carried, np.inf)
        return limit


class ReferenceRates:
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
        self._drained = np.zeros(shape, dtype=np.bool_)
        self._queue, self._lost, self._judged = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._initial, self._deepest, self._proven = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.probing = ReferenceProbing(episodes, subflows)
        self.further_on = ReferenceFurtherOn(episodes, subflows)
        self._paths = np.ones((episodes, 1))
        self._overhead = np.ones((episodes, 1))
        """Bytes on the wire per byte of payload."""
        self.pacing_limits: list[list[PacingLimit]] = [[] for _ in range(episodes)]
        """Of each episode's subflows."""
        self.top_layer = np.zeros(episodes, dtype=np.int64)

    def begin(self, episode: int, *, paths: int, mss_bytes: float, packet_bytes: float) -> None:
        """A new trial begins in this place."""
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
        self._overhead[episode] = packet_bytes / mss_bytes
        self.packet_bytes[episode] = packet_bytes
        self._paths[episode] = paths
        self.pacing_limits[episode] = [PacingLimit(packet_bytes) for _ in range(paths)]

    def update(self, stepper: Stepper, source: Float64Array, rows: slice) -> None:
        """Take in a slot. ``source``: payload bytes captured and payload bytes a second, (K, 2)."""
        values, episode_values = stepper.subflow_values[rows], stepper.episode_values[rows]
        slot_s = episode_values[:, EPISODE_VALUE["slot_s"], None]
        rate, initial = self.rate[rows], self._initial[rows]
        on_the_wire = source[rows] * self._overhead[rows]
        self.source_rate[rows], captured = on_the_wire[:, 1:], on_the_wire[:, :1]
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
        limits = np.full(shown.shape, np.inf)
        for k, paths in enumerate(self.pacing_limits[rows]):
            for n, path in enumerate(paths):
                seen = {name: float(values[k, n, place]) for name, place in VALUE.items()}
                path.update(
                    SlotReport(
                        slot_s=float(slot_s[k, 0]),
                        srtt_s=seen["srtt_s"],
                        up=seen["link_up"] > 0,
                        delivered=seen["delivered_bytes"] * float(self._overhead[rows][k, 0]),
                        lost=seen["lost_segments"],
                        limit=float(self.limit[rows][k, n]),
                        queue_seen=bool(self.known[rows][k, n]),
                        rate=float(shown[k, n]),
                        probed=bool(self.probing.probed[rows][k, n]),
                    )
                )
                limits[k, n] = path.limit
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

    def _shown(self, values: Float64Array, slot_s: Float64Array, rows: slice) -> Float64Array:
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
        shown: Float64Array = np.where(standing, estimate, np.where(drained, least, rate))
        return shown

    def _limit(
        self,
        shown: Float64Array,
        limits: Float64Array,
        captured: Float64Array,
        srtt: Float64Array,
        rows: slice,
    ) -> Float64Array:
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
        limit: Float64Array = np.where(unknown & np.isinf(limits), share, limits)
        return limit

    def loss(self) -> Float64Array:
        """(K, subflows): the share lost of the segments whose fate is known; recent ones count more."""
        share: Float64Array = self._lost / np.maximum(self._judged, 1.0)
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

    def _count_losses(self, values: Float64Array, rows: slice) -> None:
        lost, judged = self._lost[rows], self._judged[rows]
        lost *= MEMORY
        judged *= MEMORY
        lost += values[..., VALUE["lost_segments"]]
        judged += (
            values[..., VALUE["lost_segments"]]
            + values[..., VALUE["delivered_bytes"]] / self.packet_bytes[rows]
        )
