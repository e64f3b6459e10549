"""The cost of a packet in the engine: a CUBIC bulk transfer against loops over packet records without any protocol.

Nanoseconds per data packet sent, its ACK and all other work included, on one core.
"""

from __future__ import annotations

import statistics
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dstcc.engine import EngineResult, TransportStats, simulate
from dstcc.engine._testing import event_walk, ring_walk

from .figure import Measured, core_s, interleaved, median_ratio
from .nets import Bulk

REPEATS = 5
WALKED = 10_000_000


class Transfer:
    """A simulated bulk transfer; each call runs it and returns its time."""

    def __init__(self, bulk: Bulk) -> None:
        self.config = bulk.config()
        self.result: EngineResult | None = None

    def __call__(self) -> float:
        def work() -> None:
            self.result = simulate(self.config)

        spent_s = core_s(work)
        return spent_s / self.totals.data_packets * 1e9

    @property
    def totals(self) -> TransportStats:
        assert self.result is not None
        return self.result.totals

    def in_flight(self) -> NDArray[np.int64]:
        """Segments in flight, all subflows together, slot by slot."""
        assert self.result is not None
        samples = self.result.samples
        together: NDArray[np.int64] = samples.inflight_segments.reshape(-1, len(self.config.links)).sum(
            axis=1
        )
        return together


@cache
def beside_the_floors() -> tuple[Transfer, dict[str, tuple[float, ...]]]:
    """The standard transfer and both loops over the same window, measured alternately."""
    transfer = Transfer(Bulk())
    transfer()
    window = int(np.median(transfer.in_flight()))
    walks = (
        lambda: core_s(lambda: ring_walk(WALKED, window, 0.0, 1)) / WALKED * 1e9,
        lambda: core_s(lambda: event_walk(WALKED, window // 2, 2, 0.0, 1)) / WALKED * 1e9,
    )
    engine, ring, event = interleaved(REPEATS, transfer, *walks)
    return transfer, {"engine": engine, "ring": ring, "event": event}


def ns_per_packet() -> Measured:
    """Two subflows of BDP 10,000 packets each."""
    transfer, times = beside_the_floors()
    totals = transfer.totals
    return Measured(
        statistics.median(times["engine"]),
        "ns CPU",
        "event-order walk",
        median_ratio(times["engine"], times["event"]),
        repeats=times["engine"],
        details={
            "data_packets": totals.data_packets,
            "events": totals.events,
            "events_per_packet": totals.events / totals.data_packets,
            "dropped_queue_packets": totals.dropped_queue_packets,
            "window_packets": int(np.median(transfer.in_flight())),
        },
    )


def floor() -> Measured:
    """The bare loop over a ring: one record written, one read, one draw per packet."""
    _, times = beside_the_floors()
    return Measured(
        statistics.median(times["ring"]),
        "ns CPU",
        "engine / ring walk",
        median_ratio(times["engine"], times["ring"]),
        repeats=times["ring"],
    )


def event_floor() -> Measured:
    """The loop in event order: arrival and ACK are separate events, the earliest is next, two draws per packet."""
    _, times = beside_the_floors()
    return Measured(
        statistics.median(times["event"]),
        "ns CPU",
        "engine / event-order walk",
        median_ratio(times["engine"], times["event"]),
        repeats=times["event"],
    )


def bdp_growth() -> Measured:
    """From windows that fit a first-level cache to windows that fit no cache."""
    sizes = {1_000: 2_000_000, 10_000: 5_000_000, 100_000: 10_000_000, 1_000_000: 30_000_000}
    return _growth("BDP", {bdp: Transfer(Bulk(bdp, packets=n)) for bdp, n in sizes.items()}, worst=True)


def subflow_growth() -> Measured:
    """From one subflow to the largest number allowed."""
    counts = (1, 2, 8, 64)
    return _growth(
        "subflows", {n: Transfer(Bulk(subflows=n, packets=4_000_000)) for n in counts}, worst=False
    )


def _growth(what: str, transfers: dict[int, Transfer], *, worst: bool) -> Measured:
    """Cost at the largest (or the worst) size over that at the smallest."""
    times = dict(zip(transfers, interleaved(3, *transfers.values()), strict=True))
    medians = {size: statistics.median(taken) for size, taken in times.items()}
    base, *others = medians
    top = max(others, key=lambda size: medians[size]) if worst else others[-1]
    line = ", ".join(f"{size:,}: {medians[size]:.1f} ns" for size in medians)
    return Measured(
        medians[top],
        "ns CPU",
        f"{what} {top:,} / {base:,}",
        median_ratio(times[top], times[base]),
        repeats=times[top],
        details={
            str(size): {
                "ns_per_packet": medians[size],
                "repeats": times[size],
                "data_packets": transfer.totals.data_packets,
                "median_in_flight": int(np.median(transfer.in_flight())),
                "dropped_queue_packets": transfer.totals.dropped_queue_packets,
            }
            for size, transfer in transfers.items()
        },
        notes=(f"{what} {line}",),
    )
