"""Small networks with named knobs; a test reads like the rule it checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dstcc.engine import (
    NEVER_NS,
    CrossTraffic,
    EngineConfig,
    EngineResult,
    Flow,
    Hop,
    Link,
    Loss,
    Node,
    Objects,
    TcpConstants,
    Transport,
    simulate,
)
from dstcc.remy.table import Rule, numbers, shipped_numbers

Parameters = dict[str, dict[str, Sequence[float]]]
TRAINED: Parameters = {"remy": {"rules": shipped_numbers()}}
S = 10**9
WIRE = 1500
MSS = 1460
QUICK_ACK = TcpConstants(delayed_ack_s=1e-4)
"""As good as one ACK a segment pair at once: textbook laws know no delayed-ACK timer."""
TICKLESS = TcpConstants(jiffy_s=1e-9)
"""Timers go off when they are due, and not with Linux's timer wheel."""


def ns(seconds: float) -> int:
    return round(seconds * S)


def link(
    rate_bps: float = 12e6,
    rtt_s: float = 1.0,
    *,
    queue_bdp: float = 1.0,
    loss: Loss | None = None,
    up_loss: Loss | None = None,
    outages_s: tuple[tuple[float, float], ...] = (),
    **more: object,
) -> Link:
    """A link of that data rate and round-trip propagation; its queue in bandwidth-delay products."""
    bdp_bytes = rate_bps * rtt_s / 8
    fields: dict[str, object] = {
        "name": "link",
        "rate_bps": rate_bps,
        "up_rate_bps": rate_bps,
        "delay_t_ns": (0,),
        "delay_ns": (ns(rtt_s / 2),),
        "queue_bytes": max(int(queue_bdp * bdp_bytes), WIRE),
        "up_queue_bytes": 10**9,
        "loss": loss or Loss(),
        "up_loss": up_loss or Loss(),
        "outages_ns": tuple((ns(a), ns(b)) for a, b in outages_s),
    }
    return Link(**(fields | more))  # type: ignore[arg-type]


def relayed(
    on: Link,
    rate_bps: float,
    queue_bytes: int,
    *others: CrossTraffic,
    at: float = 0.5,
    number: int = 1,
) -> Link:
    """A path: that link up to a node at a share of its light time, and from there a lossless line with a queue of its
    own, which others' datagrams join. What comes back has one narrow line, from the receiver to the node."""
    before = round(at * on.delay_ns[0])
    line = replace(
        link(rate_bps, queue_bdp=0, up_rate_bps=on.up_rate_bps),
        delay_ns=(on.delay_ns[0] - before,),
        queue_bytes=queue_bytes,
        cross_traffic=others,
    )
    return replace(
        on,
        up_rate_bps=1e9,
        first_t_ns=(0,),
        first_delay_ns=(before,),
        onward=(Hop(number, Node("relay", number), line),),
    )


def bulk(payload_bytes: int = 10**12) -> Objects:
    """One file, there from the start, without a deadline."""
    one = np.ones(1, dtype=np.int64)
    return Objects(0 * one, 0 * one, payload_bytes * one, 0 * one, NEVER_NS * one)


def live(
    chunks: int, layer_bytes: tuple[int, ...], *, chunk_s: float = 1.0, playout_s: float | None = None
) -> Objects:
    """Chunks captured one after the other, each with those layers, due ``playout_s`` after their capture."""
    chunk = np.repeat(np.arange(chunks, dtype=np.int64), len(layer_bytes))
    layer = np.tile(np.arange(len(layer_bytes), dtype=np.int64), chunks)
    payload = np.tile(np.array(layer_bytes, dtype=np.int64), chunks)
    release = (chunk + 1) * ns(chunk_s)
    deadline = np.full_like(release, NEVER_NS) if playout_s is None else release + ns(playout_s)
    return Objects(chunk, layer, payload, release, deadline)


def run(congestion: str, links: Link | tuple[Link, ...], **knobs: object) -> EngineResult:
    """One trial of :func:`config`'s network."""
    return simulate(config(congestion, links, **knobs))  # type: ignore[arg-type]


def windows(*segments: int) -> Parameters:
    """What ``fixed`` holds on each link."""
    return {"fixed": {"cwnd_segments": segments}}


def rates(*bps: float) -> Parameters:
    """What ``open-loop`` and ``ltp`` send at on each link."""
    return {name: {"rate_bps": bps} for name in ("open-loop", "ltp")}


def rules(*of_remy: Rule) -> Parameters:
    """What ``remy`` runs by."""
    return {"remy": {"rules": numbers(of_remy)}}


def config(
    congestion: str,
    links: Link | tuple[Link, ...],
    *,
    objects: Objects | None = None,
    duration_s: float | None = None,
    slot_s: float = 0.25,
    seed: int = 1,
    scheduler: str = "minrtt",
    trace: bool = False,
    parameters: Parameters | None = None,
    headroom: float | None = None,
    silence_slots: float | None = None,
    green_from_layer: int | None = None,
    retry_limit: int | None = None,
    **transport: object,
) -> EngineConfig:
    """A small network; what is not named has the transport's defaults, and ``remy`` its trained rules.

    ``headroom`` and ``silence_slots`` are parameters of a steered control, the other two of ``ltp``.
    """
    named = {
        "headroom": headroom,
        "silence_slots": silence_slots,
        "green_from_layer": green_from_layer,
        "retry_limit": retry_limit,
    }
    given = TRAINED | (parameters or {})
    set_here = {name: (value,) for name, value in named.items() if value is not None}
    if set_here:
        given = given | {congestion: {**given.get(congestion, {}), **set_here}}
    return EngineConfig(
        seed=seed,
        links=links if isinstance(links, tuple) else (links,),
        transport=Transport(
            congestion=congestion,
            scheduler=scheduler,
            parameters=given,
            **transport,  # type: ignore[arg-type]
        ),
        objects=objects if objects is not None else bulk(),
        slot_ns=ns(slot_s),
        duration_ns=NEVER_NS if duration_s is None else ns(duration_s),
        trace=trace,
    )


def sharing(
    congestion: str,
    *,
    subflows: int = 1,
    rivals: tuple[str, ...] = ("newreno",),
    rate_bps: float = 10e6,
    rtt_s: float = 0.1,
    queue_bdp: float = 1.0,
    loss: Loss | None = None,
    duration_s: float = 300,
    seed: int = 1,
    **transport: object,
) -> EngineResult:
    """A connection of ``subflows`` subflows and a background flow per rival, all greedy, at one bottleneck."""
    flows = tuple(Flow(rival) for rival in rivals)
    shared = link(rate_bps, rtt_s, queue_bdp=queue_bdp, loss=loss, subflows=subflows, flows=flows)
    return run(congestion, shared, duration_s=duration_s, seed=seed, slot_s=rtt_s, **transport)


def shares_bps(result: EngineResult, *, skip: float = 0.3) -> tuple[float, ...]:
    """Payload acknowledged per second after the first ``skip`` of the run: the connection's, then each background
    flow's."""
    slots = np.unique(result.samples.t_ns)
    after = slots[int(len(slots) * skip)]
    seconds = (slots[-1] - after) / S
    ours = result.samples.delivered_bytes[result.samples.t_ns > after].sum()
    others = [flow.slot_delivered_bytes[slots > after].sum() for flow in result.flows]
    return tuple(8 * float(total) / seconds for total in (ours, *others))


def jain(shares: tuple[float, ...]) -> float:
    """Jain's fairness index: 1 when all are equal, 1/n when one has everything."""
    return sum(shares) ** 2 / (len(shares) * sum(x * x for x in shares))


def mean_window(result: EngineResult, rtt_s: float, *, skip: float = 0.3) -> float:
    """Payload acknowledged per RTT, in segments, after the first ``skip`` of the run."""
    t = result.samples.t_ns
    first = int(len(t) * skip)
    seconds = (t[-1] - t[first]) / S
    return float(result.samples.delivered_bytes[first + 1 :].sum()) / MSS / seconds * rtt_s


def utilisation(result: EngineResult, rate_bps: float, *, skip: float = 0.5) -> float:
    """Share of the wire rate that new payload used after the first ``skip`` of the run."""
    return mean_window(result, 1.0, skip=skip) * WIRE * 8 / rate_bps
