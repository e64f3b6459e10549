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

Paths without a deep queue are limited by what is acknowledged and lost (``engine/src/paths/pacing_limit.hpp``), as are
paths whose bottleneck lies further on. Where that has a queue, delay shows it before it drops (:mod:`.further_on`).
While nothing is known of them, they share evenly what is left of 1.25 times the rate of the source, beside what the
other paths were shown to carry. Each gets at least its share of the source's rate. That rate is known from what was
captured by now (:mod:`.captured`). While it is unknown, as it is for a stored source, a path's share is its initial
window, and all paths together get what was captured in two round trips.

The limit is on the pacing rate, not on r: a policy that uses seven tenths of r is to learn what a path carries all the
same. So r may be twice the limit.

Each slot of each path asks for it, so that the arithmetic is the engine's (``engine/src/paths/measured_rate.hpp``).
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import BoolArray, Float64Array
from dstcc.engine import EngineConfig, Objects, _engine
from dstcc.engine.config import NEVER_NS
from dstcc.engine.stepper import EPISODE_VALUES, Shown
from dstcc.frozen import dataclass

from .captured import NOTHING, Captured, Source
from .further_on import FurtherOn
from .probing import Probing

NS_PER_S = 1e9
VIDEOS = 8
"""Kept, of those that trials began with."""
ALL = slice(None)
SLOT = EPISODE_VALUES.index("slot_s")


@dataclass(frozen=True)
class Units:
    """What relative actions are relative to, for K episodes."""

    window: Float64Array
    """(K, subflows): the measured rate for a smoothed round trip, in segments; 0 before the handshake."""
    queue: Float64Array
    """(K, subflows): the sender's own queue, in slots of the measured rate."""
    round_trip_s: Float64Array
    """(K,): of light, on the longest path."""
    lossiest: NDArray[np.int64]
    """(K,): the subflow that loses the largest share; −1 while none is known to lose more than another."""
    top_layer: NDArray[np.int64]
    """(K,): the number of the trial's highest layer."""
    limit: Float64Array
    """(K, subflows): the limit of the pacing rate as a multiple of the rate; infinite without one."""
    probed: BoolArray = field(default_factory=lambda: np.zeros((1, 1), dtype=bool))
    """(K, subflows): whether the path is being probed, which tells nothing at less than its rate; no path unless
    given."""


@dataclass(frozen=True)
class Video:
    """What is known of a trial's video before it begins."""

    objects: Objects
    captured: Captured
    top_layer: int
    delay_s: float
    """The least from a chunk's release to its deadline; infinite without one."""

    @classmethod
    def of(cls, objects: Objects) -> Video:
        """The video of a trial."""
        finite = objects.deadline_ns < NEVER_NS
        wait = (objects.deadline_ns - objects.release_ns)[finite]
        return cls(
            objects,
            Captured.of(objects),
            int(objects.layer.max()) if len(objects.layer) else 0,
            float(wait.min()) / NS_PER_S if len(wait) else np.inf,
        )


class Rates:
    """``rate`` (K, subflows): bytes on the wire per second that each path seems to carry."""

    LOOKS_FURTHER_ON: ClassVar[bool] = True
    """Whether queues further on are looked for."""

    def __init__(self, episodes: int, subflows: int) -> None:
        self._state = state = np.zeros((episodes, subflows), dtype=_engine.PATH_STATES[0])
        """What is known of each path; the arrays of this shape are its columns."""
        self.rate: Float64Array = state["rate"]
        self.known: BoolArray = state["known"]
        """Whether a deep queue has shown the rate."""
        self.limit: Float64Array = state["limit"]
        """Bytes on the wire per second that each path may have."""
        self.limit[:] = np.inf
        self.used: Float64Array = state["used"]
        """How much of the pacing rate was sent in the last slot."""
        self.source_rate = np.zeros((episodes, 1))
        """Bytes on the wire per second of the source, by what it has captured; 0 while that is unknown."""
        self.packet_bytes = np.ones((episodes, 1))
        """A full packet on the wire."""
        self.delay_s = np.zeros(episodes)
        """From a chunk's release to its deadline; infinite without one."""
        self.probing = Probing(episodes, subflows)
        self.further_on = FurtherOn(episodes, subflows)
        self._paths = np.ones((episodes, 1))
        self._overhead = np.ones((episodes, 1))
        """Bytes on the wire per byte of payload."""
        self._sources: list[Source] = [NOTHING] * episodes
        self._videos: dict[int, Video] = {}
        """By the identity of their objects: the episodes of a group begin with the same one, each in its turn."""
        self.pacing_limits: list[list[_engine.PacingLimit]] = [[] for _ in range(episodes)]
        """Of each episode's subflows."""
        self.top_layer = np.zeros(episodes, dtype=np.int64)

    def begin(self, episode: int, config: EngineConfig, source: Source | None = None) -> None:
        """A new trial begins in this place. Its source is its video unless another is given."""
        transport, objects = config.transport, config.objects
        self._state[episode] = 0
        self.limit[episode] = np.inf
        self.source_rate[episode] = 0
        self.probing.begin(episode)
        self.further_on.begin(episode)
        packet_bytes = transport.mss_bytes + transport.header_bytes
        self._overhead[episode] = packet_bytes / transport.mss_bytes
        video = self._video(objects)
        self._sources[episode] = source or video.captured
        self.packet_bytes[episode] = packet_bytes
        self.top_layer[episode], self.delay_s[episode] = video.top_layer, video.delay_s
        paths = sum(link.subflows for link in config.links)
        self._paths[episode] = paths
        self.pacing_limits[episode] = [_engine.PacingLimit(packet_bytes) for _ in range(paths)]

    def update(self, stepper: Shown, rows: slice = ALL) -> None:
        """Take in a slot, or an episode's first values."""
        _engine.update_paths(
            self._sources[rows],
            self.pacing_limits[rows],
            self._state[rows],
            self.probing.state[rows],
            self.further_on.state[rows] if self.LOOKS_FURTHER_ON else None,
            self.source_rate[rows],
            self.packet_bytes[rows],
            self._overhead[rows],
            self._paths[rows],
            stepper.subflow_values[rows],
            stepper.episode_values[rows],
        )

    def _video(self, objects: Objects) -> Video:
        key = id(objects)  # a video holds them, so that no others have it
        if key not in self._videos:
            if len(self._videos) == VIDEOS:
                del self._videos[next(iter(self._videos))]
            self._videos[key] = Video.of(objects)
        return self._videos[key]

    def loss(self) -> Float64Array:
        """(K, subflows): the share lost of the segments whose fate is known; recent ones count more."""
        share: Float64Array = self._state["lost"] / np.maximum(self._state["judged"], 1.0)
        return share

    def units(self, stepper: Shown) -> Units:
        """What the next actions are relative to."""
        slot_s = stepper.episode_values[:, SLOT, None]
        window, queue, limit, lossiest, round_trip_s = _engine.path_units(
            self._state, self.probing.state, stepper.subflow_values, slot_s, self.packet_bytes
        )
        return Units(window, queue, round_trip_s, lossiest, self.top_layer, limit, self.probing.left > 0)
