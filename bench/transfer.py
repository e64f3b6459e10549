"""The cost of a segment in a transfer without TCP, against that of CUBIC's packet over the same links.

Nanoseconds per data segment, reports, acknowledgements and all other work included, on one core.
"""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np

from dstcc.engine import NEVER_NS, EngineConfig, Objects, Transport

from .engine import Transfer
from .figure import Measured, interleaved, median_ratio
from .nets import MSS, Bulk

PACKETS = 2_000_000
REPEATS = 5
BLOCKS = (10, 100, 1_000)
"""Segments per block; 10 are a second of 120 kbit/s."""


class Blocks(Transfer):
    """The same load as a bulk transfer, split into blocks and sent by ltp."""

    def __init__(self, bulk: Bulk, segments: int) -> None:
        self.config: EngineConfig = replace(
            bulk.config(), objects=_blocks(bulk.packets, segments), transport=Transport("ltp", "none")
        )
        self.result = None


def ltp_ns_per_segment() -> Measured:
    """Blocks of 100 segments against a CUBIC transfer, two links of 10,000 packets' bandwidth-delay product."""
    bulk = Bulk(packets=PACKETS)
    cubic, transfers = Transfer(bulk), {segments: Blocks(bulk, segments) for segments in BLOCKS}
    times = dict(zip((0, *BLOCKS), interleaved(REPEATS, cubic, *transfers.values()), strict=True))
    medians = {segments: statistics.median(taken) for segments, taken in times.items()}
    line = ", ".join(f"{segments:,}: {medians[segments]:.1f} ns" for segments in BLOCKS)
    return Measured(
        medians[100],
        "ns CPU",
        "ltp / CUBIC",
        median_ratio(times[100], times[0]),
        repeats=times[100],
        details={
            "cubic_ns_per_packet": medians[0],
            **{f"blocks_of_{segments}": medians[segments] for segments in BLOCKS},
        },
        notes=(f"segments a block {line}; CUBIC {medians[0]:.1f} ns",),
    )


def _blocks(packets: int, segments: int) -> Objects:
    count = packets // segments
    one = np.ones(count, dtype=np.int64)
    return Objects(
        chunk=np.arange(count, dtype=np.int64),
        layer=0 * one,
        payload_bytes=segments * MSS * one,
        release_ns=0 * one,
        deadline_ns=NEVER_NS * one,
    )
