"""What a node on the way costs: a packet over one hop more, and a packet that it stores."""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np

from dstcc.engine import NEVER_NS, Coding, EngineConfig, EngineResult, Hop, Link, Node, Objects, simulate

from .figure import Measured, core_s, interleaved, median_ratio
from .nets import MSS, WIRE, Bulk, link, ns

REPEATS = 5
FURTHER = 4
"""Hops more, so that what one costs stands out."""
STORE_BYTES = 10_000_000_000
PACKET_BYTES = 32
"""Of a packet that is somewhere (``engine/src/link/packets.hpp``)."""
HOP_BPS, HOP_S, CHUNK_S = 100e6, 1000.0, 0.25


def over(config: EngineConfig, hops: int, node: Node) -> EngineConfig:
    """The same light time and lines on that many hops more: the ends see the network that they saw."""
    links = []
    for number, of in enumerate(config.links):
        each = replace(of, delay_ns=(of.delay_ns[0] // (hops + 1),))
        first_ns = of.delay_ns[0] - hops * each.delay_ns[0]
        onward = tuple(
            Hop(hops * number + k, replace(node, number=hops * number + k, name=f"{number}-{k}"), each)
            for k in range(hops)
        )
        links.append(replace(of, first_t_ns=(0,), first_delay_ns=(first_ns,), onward=onward))
    return replace(config, links=tuple(links))


def ns_per_hop() -> Measured:
    """What one hop more costs for each packet that it carries, data or ACK: a bulk transfer over two hops and over
    ``FURTHER`` more, with storage at the nodes. What a path's first node costs, which has records of its own of what is
    behind it, is a note: per data packet with its ACKs, beside a single hop."""
    single = replace(Bulk().config(), duration_ns=ns(1e6))
    node = Node("node", 0, storage_bytes=10**10)
    carried = 0.0

    def spent_ns(hops: int) -> float:
        nonlocal carried
        results: list[EngineResult] = []
        config = over(single, hops, node) if hops else single
        spent_s = core_s(lambda: results.append(simulate(config)))
        data = results[0].totals.data_packets
        if hops:
            carried = sum(each.came_packets for each in results[0].nodes) / hops / data
        return spent_s / data * 1e9

    none, one, all_ = interleaved(
        REPEATS, lambda: spent_ns(0), lambda: spent_ns(1), lambda: spent_ns(1 + FURTHER)
    )
    each = [(b - a) / FURTHER / carried for a, b in zip(one, all_, strict=True)]
    first_ns = statistics.median(b - a for a, b in zip(none, one, strict=True))
    return Measured(
        statistics.median(each),
        "ns CPU",
        "of a packet on a single hop",
        median_ratio(each, [a / carried for a in none]),
        repeats=tuple(each),
        details={
            "single_ns": statistics.median(none),
            "carried_per_data": carried,
            "first_node_ns": first_ns,
        },
        notes=(
            f"{carried:.2f} packets a hop for each of data; the first node costs {first_ns:.0f} ns a packet of data",
        ),
    )


def bytes_per_stored() -> Measured:
    """A dark hop's node with 10 GB, after 1,000 s of 100 Mbit/s: the records of a packet in the network, without its
    sender's, which are known from the same packets in flight on one hop."""
    first: Link = link(HOP_BPS, 1.0)
    dark = replace(first, outages_ns=((0, ns(2 * HOP_S)),))
    total = (2 * first.delay_ns[0],)
    count = round(HOP_S / CHUNK_S)
    number = np.arange(count)
    layers = Objects(
        number,
        0 * number,
        np.full(count, round(HOP_BPS / 8 * CHUNK_S) // WIRE * MSS),
        number * ns(CHUNK_S),
        np.full(count, NEVER_NS),
    )
    node = Node("node", 1, storage_bytes=STORE_BYTES)
    path = replace(
        first, delay_ns=total, first_t_ns=(0,), first_delay_ns=first.delay_ns, onward=(Hop(1, node, dark),)
    )
    config = EngineConfig(
        seed=1,
        links=(path,),
        transport=replace(
            Bulk().config().transport,
            congestion="open-loop",
            mode="coded",
            handshake=False,
            parameters={},
        ),
        objects=layers,
        coding=Coding(period=layers.chunk, block_ns=ns(CHUNK_S)),
        slot_ns=ns(10.0),
        duration_ns=ns(HOP_S),
    )
    result = simulate(config)
    far = simulate(replace(config, links=(replace(first, delay_ns=(ns(2 * HOP_S),)),)))
    sender = far.totals.engine_peak_bytes / far.totals.data_packets - PACKET_BYTES
    sent, stored, peak = (
        result.totals.data_packets,
        result.nodes[0].held_packets,
        result.totals.engine_peak_bytes,
    )
    value = (peak - sent * sender) / stored
    return Measured(
        value,
        "B",
        "with its sender's records",
        (value + sender) / value,
        details={"stored": stored, "peak_bytes": peak, "sent": sent},
        notes=(f"{sender:.0f} B more at its sender; {sent - stored:,} found the store full",),
    )
