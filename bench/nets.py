"""Small networks for the engine's figures: round numbers, 1,500-byte packets by default."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dstcc.engine import NEVER_NS, EngineConfig, Link, Loss, Objects, TcpConstants, Transport
from dstcc.remy.table import shipped_numbers

TRAINED = {"remy": {"rules": shipped_numbers()}}
S = 10**9
MSS = 1460
WIRE = 1500
NO_LOSS = Loss()
QUICK_ACK = TcpConstants(delayed_ack_s=1e-4)
"""Practically an immediate ACK per pair of segments: the response functions assume no delayed-ACK timer."""


def ns(seconds: float) -> int:
    return round(seconds * S)


def link(rate_bps: float, rtt_s: float, *, loss: Loss | None = None, queue_bdp: float = 1.0) -> Link:
    """A link of that data rate and round-trip propagation; its queue in bandwidth-delay products."""
    return Link(
        name="link",
        rate_bps=rate_bps,
        up_rate_bps=rate_bps,
        delay_t_ns=(0,),
        delay_ns=(ns(rtt_s / 2),),
        queue_bytes=max(round(queue_bdp * rate_bps * rtt_s / 8), WIRE),
        up_queue_bytes=10**9,
        loss=loss or Loss(),
    )


def bulk(payload_bytes: int = 10**12) -> Objects:
    """One file, available from the start, without a deadline."""
    one = np.ones(1, dtype=np.int64)
    return Objects(0 * one, 0 * one, payload_bytes * one, 0 * one, NEVER_NS * one)


@dataclass(frozen=True)
class Bulk:
    """A file over links of RTT 1 s and equal rates, one subflow each: the engine's standard load."""

    bdp_packets: int = 10_000
    subflows: int = 2
    packets: int = 5_000_000
    loss: Loss = NO_LOSS
    congestion: str = "cubic"
    scheduler: str = "minrtt"
    last_rtt_s: float = 1.0
    """Round trip of the last link."""
    receive_buffer_bytes: int = 0

    def config(self) -> EngineConfig:
        rate_bps = self.bdp_packets * WIRE * 8.0
        rtts_s = (*(1.0,) * (self.subflows - 1), self.last_rtt_s)
        return EngineConfig(
            seed=1,
            links=tuple(link(rate_bps, rtt_s, loss=self.loss) for rtt_s in rtts_s),
            transport=Transport(
                self.congestion,
                self.scheduler,
                receive_buffer_bytes=self.receive_buffer_bytes,
                parameters=TRAINED if self.congestion == "remy" else {},
            ),
            objects=bulk(self.packets * MSS),
            slot_ns=ns(0.25),
        )
