"""What nodes that end a TCP connection and begin another (``engine/src/tcp/proxies.hpp``) have no code for."""

from __future__ import annotations

from collections import Counter

from .config import EngineConfig

SPLIT = "split"
LEAST_SEGMENTS = 2
"""Of a proxy's share of its node's storage: with one, nothing leaves before an answer to what came before it."""
PLANNING = ("linux", "linux-6.1", "daps")
"""Schedulers that give out segments ahead, by what the other end of an MPTCP connection says of it."""


def splits(config: EngineConfig) -> bool:
    """Whether nodes on its paths do."""
    return any(hop.node.forwards == SPLIT for link in config.links for hop in link.onward)


def check_split(config: EngineConfig) -> None:
    """Raise ValueError for what cannot be simulated over nodes that split, named by its rule."""
    transport = config.transport
    nodes = {hop.node.number: hop.node for link in config.links for hop in link.onward}
    sharers = Counter[int]()
    for link in config.links:
        for hop in link.onward:
            sharers[hop.node.number] += link.subflows
    full = transport.mss_bytes + transport.header_bytes
    short = next(
        (n for n in nodes.values() if n.storage_bytes < LEAST_SEGMENTS * full * sharers[n.number]), None
    )
    lost = next((n for n in nodes.values() if n.restart_ns and not n.keeps_over_restart), None)
    subflows = sum(link.subflows for link in config.links)
    for broken, rule in (
        (any(node.forwards != SPLIT for node in nodes.values()), "all nodes split, or none"),
        (transport.mode == "coded" or transport.congestion == "ltp", "only TCP has connections to split"),
        (
            transport.mode == "stream" and subflows > 1,
            f"a stream over {subflows} subflows is MPTCP's, which ends at a node; mode = 'lanes' has connections",
        ),
        (
            transport.mode == "stream" and transport.scheduler in PLANNING,
            f"'{transport.scheduler}' goes by what the other end of an MPTCP connection says, which ends at a node",
        ),
        (
            bool(transport.receive_buffer_bytes),
            "the receiver's window ends at a node; leave receive_buffer_bytes out",
        ),
        (any(link.flows for link in config.links), "others' connections need nodes that forward packets"),
        (config.trace, "a packet log is of one connection, and nodes make several"),
        (
            lost is not None,
            "a restart ends a node's connections, and what it acknowledged is nowhere; with keeps_over_restart "
            "both go on",
        ),
    ):
        if broken:
            raise ValueError(f"split: {rule}")
    if short is not None:
        raise ValueError(
            f"split: '{short.name}' has {short.storage_bytes} bytes for {sharers[short.number]} connections; each "
            f"takes {LEAST_SEGMENTS} packets of {full} at least"
        )
