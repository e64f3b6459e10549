"""What a packet costs under each congestion control, beside CUBIC: the same transfer, by turns."""

from __future__ import annotations

import statistics

import numpy as np

from dstcc.engine import CONGESTION_NAMES

from .engine import Transfer
from .figure import Measured, by_turns, median_ratio
from .nets import Bulk

REPEATS = 3
BASE = "cubic"
BDP_PACKETS = 500
PACKETS = 1_000_000
"""Small enough a BDP that the slowest to grow, a segment a round trip, fill the link for most of the transfer."""


def control_costs() -> Measured:
    """The dearest control over CUBIC; the table of all."""
    transfers = {
        name: Transfer(Bulk(BDP_PACKETS, packets=PACKETS, congestion=name)) for name in CONGESTION_NAMES
    }
    times = dict(zip(transfers, by_turns(REPEATS, *transfers.values()), strict=True))
    ratios = {name: median_ratio(taken, times[BASE]) for name, taken in times.items()}
    dearest = max(ratios, key=lambda name: ratios[name])
    rows = {
        name: {
            "ns_per_packet": statistics.median(times[name]),
            "ratio": ratios[name],
            "median_in_flight": int(np.median(transfer.in_flight())),
            "dropped_queue_packets": transfer.totals["dropped_queue_packets"],
        }
        for name, transfer in transfers.items()
    }
    notes = [
        f"{name:<12} {row['ns_per_packet']:6.1f} ns, {row['ratio']:4.2f} × {BASE}, "
        f"{row['median_in_flight']:>5} in flight, {row['dropped_queue_packets']:>7.0f} dropped"
        for name, row in rows.items()
    ]
    return Measured(
        statistics.median(times[dearest]),
        "ns CPU",
        f"{dearest} / {BASE}",
        ratios[dearest],
        repeats=times[dearest],
        details=rows,
        notes=tuple(notes),
    )
