"""Engine results made by hand, and a toy engine whose answers a test can work out on paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dstcc.engine.config import (
    NEVER_NS,
    EngineConfig,
    EngineResult,
    ObjectResults,
    Objects,
    Samples,
    TransportStats,
)

S = 1_000_000_000
TOY = """
[scenario]
name = "toy"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [8000, 8000]}
loop_to_s = 3
[[link]]
name = "a"
rate_bps = 80_000
delay_s = {uniform = [2, 4]}
loss = {packet = 1e-3}
[transport]
congestion = ["cubic", "newreno"]
[playout]
delay_s = 10
"""
"""A scenario for the toy engine."""


def objects(
    layers: int, sizes: Sequence[int], release_s: Sequence[float], deadline_s: Sequence[float]
) -> Objects:
    """Chunks of ``layers`` layers; ``sizes`` per object, release and deadline (inf: none) per chunk."""
    chunks = len(release_s)
    deadline = [NEVER_NS if d == float("inf") else round(d * S) for d in deadline_s]
    return Objects(
        chunk=np.repeat(np.arange(chunks), layers),
        layer=np.tile(np.arange(layers), chunks),
        payload_bytes=np.array(sizes, dtype=np.int64),
        release_ns=np.repeat([round(r * S) for r in release_s], layers),
        deadline_ns=np.repeat(np.array(deadline, dtype=np.int64), layers),
    )


def result(
    source: Objects, complete_s: Sequence[float | None], *, end_s: float = 100.0, **totals: Any
) -> EngineResult:
    """A result with these completion times (``None``: never), everything sent at once from second 0."""
    complete = np.array([-1 if t is None else round(t * S) for t in complete_s], dtype=np.int64)
    zeros = np.zeros(len(complete), dtype=np.int64)
    completed = complete >= 0
    delivered = int(source.payload_bytes[completed].sum())
    done = ObjectResults(
        first_sent_ns=zeros,
        first_arrival_ns=complete,
        complete_ns=complete,
        sent_bytes=source.payload_bytes,
        delivered_bytes=np.where(completed, source.payload_bytes, 0),
        retransmissions=zeros,
        subflow=zeros,
        given_up=(~completed).astype(np.int64),
    )
    defaults: dict[str, Any] = {
        "sent_wire_bytes": round(1.1 * float(source.payload_bytes.sum())),
        "sent_payload_bytes": int(source.payload_bytes.sum()),
        "arrived_payload_bytes": delivered,
        "delivered_payload_bytes": delivered,
        "queue_p95_s": 0.0,
        "first_send_s": 0.0,
        "last_delivery_s": float(complete.max()) / S if completed.any() else float("nan"),
    }
    return EngineResult(done, _samples(), round(end_s * S), TransportStats(**(defaults | totals)))


def toy_simulate(config: EngineConfig) -> EngineResult:
    """Every layer takes the first link's one-way delay and its own time on the wire, except that ``newreno``
    loses the highest layer of each chunk and ``bbr`` crashes."""
    if config.transport.congestion == "bbr":
        raise RuntimeError("the toy engine has no bbr")
    link, source = config.links[0], config.objects
    arrival = source.release_ns / S + link.delay_ns[0] / S + source.payload_bytes * 8 / link.rate_bps
    lost = (source.layer == source.layer.max()) & (config.transport.congestion == "newreno")
    return result(source, [None if gone else float(t) for t, gone in zip(arrival, lost, strict=True)])


def toy_bound(_config: EngineConfig, weights: np.ndarray, *, any_packets: bool) -> float:
    """A clairvoyant sender that plays everything, as the simulator's senders cut it."""
    assert not any_packets
    return float(weights.sum())


def _samples() -> Samples:
    slots = np.arange(1, 4, dtype=np.int64)
    ones = np.ones(3, dtype=np.int64)
    return Samples(
        t_ns=slots * S,
        subflow=0 * ones,
        cwnd_segments=10 * ones,
        inflight_segments=5 * ones,
        srtt_ns=np.array([0, 2 * S, 2 * S]),
        min_rtt_ns=np.array([0, 2 * S, 2 * S]),
        sent_segments=np.array([4, 0, 8]),
        lost_segments=np.array([1, 0, 2]),
        retransmitted_segments=ones,
        delivered_bytes=1000 * ones,
        queue_bytes=0 * ones,
        pacing_bps=np.zeros(3),
    )
