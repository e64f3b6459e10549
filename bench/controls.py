"""The cost of a packet under each congestion control against CUBIC, and under each scheduler against minrtt: the same
transfer, measured alternately."""

from __future__ import annotations

import statistics

import numpy as np

from dstcc.engine import CONGESTION_NAMES, SCHEDULER_NAMES

from .engine import Transfer
from .figure import Measured, interleaved, median_ratio
from .nets import WIRE, Bulk

REPEATS = 3
BDP_PACKETS = 500
PACKETS = 1_000_000
"""Packets of a transfer; the BDP is so small that the slowest window, which grows by a segment per round trip, fills
the link for most of it."""


SLOW_RTTS, BUFFER_BDPS = 2.0, 4
"""Schedulers: the second path is twice as long, and the receive buffer limits, so that waiting is an option."""


def control_costs() -> Measured:
    """The most expensive control relative to CUBIC; the table of all controls."""
    return _beside(
        "cubic",
        {name: Bulk(BDP_PACKETS, packets=PACKETS, congestion=name) for name in CONGESTION_NAMES},
    )


def scheduler_costs() -> Measured:
    """The most expensive scheduler relative to minrtt; the table of all schedulers, per packet sent."""
    buffer_bytes = BUFFER_BDPS * BDP_PACKETS * WIRE
    return _beside(
        "minrtt",
        {
            name: Bulk(
                BDP_PACKETS,
                packets=PACKETS,
                scheduler=name,
                last_rtt_s=SLOW_RTTS,
                receive_buffer_bytes=buffer_bytes,
            )
            for name in SCHEDULER_NAMES
        },
    )


def _beside(base: str, bulks: dict[str, Bulk]) -> Measured:
    transfers = {name: Transfer(bulk) for name, bulk in bulks.items()}
    times = dict(zip(transfers, interleaved(REPEATS, *transfers.values()), strict=True))
    ratios = {name: median_ratio(taken, times[base]) for name, taken in times.items()}
    worst = max(ratios, key=lambda name: ratios[name])
    rows = {
        name: {
            "ns_per_packet": statistics.median(times[name]),
            "ratio": ratios[name],
            "median_in_flight": int(np.median(transfer.in_flight())),
            "dropped_queue_packets": transfer.totals.dropped_queue_packets,
        }
        for name, transfer in transfers.items()
    }
    notes = [
        f"{name:<19} {row['ns_per_packet']:6.1f} ns, {row['ratio']:4.2f} × {base}, "
        f"{row['median_in_flight']:>5} in flight, {row['dropped_queue_packets']:>7.0f} dropped"
        for name, row in rows.items()
    ]
    return Measured(
        statistics.median(times[worst]),
        "ns CPU",
        f"{worst} / {base}",
        ratios[worst],
        repeats=times[worst],
        details=rows,
        notes=tuple(notes),
    )
