"""What a sender of a coded trial sees once a slot, for many trials at once, and what it may decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from dstcc.frozen import dataclass

if TYPE_CHECKING:
    from dstcc.arrays import Float64Array

KEEP_PLACE = -1


@dataclass(frozen=True)
class Blocks:
    """The blocks of a layer of a mission, as the sender knows them from the video: means over its periods."""

    objects: float
    """Chunks in a block."""
    source: float
    """Source packets in a block."""
    source_bytes: float
    """Of these packets on the wire."""
    packet_bytes: float
    """Of a repair packet on the wire."""
    weight: float
    """Equation 1's weight of one object."""


@dataclass(frozen=True)
class Mission:
    """What does not change in K trials of a scenario; arrays are (K,) or (K, subflows)."""

    layers: tuple[Blocks, ...]
    block_s: float
    slot_s: float
    playout_s: Float64Array
    light_s: Float64Array
    """(K, subflows): one-way propagation delays."""
    rate_bytes: Float64Array
    """(K, subflows): the links' rates in bytes a second, with which the sender is configured."""
    outages_s: tuple[tuple[tuple[float, float], ...], ...] = ()
    """Of each subflow, as planned; empty where the planner goes by none."""

    @property
    def trials(self) -> int:
        """K."""
        return len(self.playout_s)

    @property
    def subflows(self) -> int:
        """Of each trial."""
        return int(self.light_s.shape[1])


@dataclass(frozen=True)
class Seen:
    """Arrays (K, subflows), (K, layers) or (K,); "slot" is the one that just ended."""

    time_s: Float64Array
    """Mission time."""
    heard: Float64Array
    """Slot: packets whose fate became known, by acknowledgements or their absence."""
    lost: Float64Array
    """Of these, the lost ones."""
    runs: Float64Array
    """Rows of lost packets: ``lost`` over it is a burst's length."""
    sent_s: Float64Array
    """The mean of when the first and the last of these packets were sent; NaN where there was no feedback."""
    rtt_s: Float64Array
    """Smoothed; twice the light time before any feedback."""
    delivered_bytes: Float64Array
    """Slot: payload newly acknowledged."""
    pace_bytes: Float64Array
    """Bytes a second that the congestion control lets out."""
    queue_bytes: Float64Array
    """Of the sender's own queue."""
    backlog_bytes: Float64Array
    """By layer: payload that waits."""
    slack_s: Float64Array
    """By layer: until the deadline of the oldest object that waits; infinite if none does."""


@dataclass(frozen=True)
class RepairDecision:
    """For the blocks that close in the next slot."""

    repair: Float64Array
    """(K, layers): repair packets for each source packet."""
    place: int = KEEP_PLACE
    """As ``CodedStepper.place``."""
    left_out: tuple[int, ...] = ()
    """Layers that are not begun."""


class Sender(Protocol):
    """One way to steer K trials of a scenario side by side."""

    name: str
    """In tables."""

    def begin(self, mission: Mission) -> None:
        """Start K trials anew."""

    def decide(self, seen: Seen) -> RepairDecision:
        """Called at the end of each slot."""


def shares(values: list[float], trials: int) -> Float64Array:
    """The same shares in all trials."""
    return np.tile(np.asarray(values, dtype=np.float64), (trials, 1))
