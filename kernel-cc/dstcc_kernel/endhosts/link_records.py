"""What ``run.json`` says of links, nodes and paths."""

from __future__ import annotations

from typing import Any

from dstcc.engine.passing import Line, contacts_s
from dstcc.scenario import Scenario, describe, draw_links, rtt_s

from ..job import LinkJob
from .mission import Mission
from .planning import links_of

FULL_PACKET_BYTES = 1500
"""Of a queue that counts packets."""


def links_record(scenario: Scenario, mission: Mission, until_s: float) -> list[dict[str, Any]]:
    """Each link; of a network with the hosts at its ends, and when it is up."""
    lines = links_of(scenario)
    found = [describe(link, until_s) for link in lines]
    if mission.network is None:
        return found
    hosts, until_ns = mission.network.nodes, round(until_s * 1e9)
    return [
        {
            **said,
            "from": hosts[tail],
            "to": hosts[head],
            "contacts": [list(contact) for contact in contacts_s(Line(link.name, 0, 1, link), until_ns)],
        }
        for said, link, (tail, head) in zip(found, lines, mission.network.ends, strict=True)
    ]


def network_record(scenario: Scenario, mission: Mission) -> dict[str, Any]:
    """A network's nodes, by their hosts, and paths."""
    network = mission.network
    if network is None:
        return {}
    paths = draw_links(scenario, scenario.run.seed)
    return {
        "nodes": [
            {"host": host, **node.model_dump(mode="json")}
            for host, node in zip(network.nodes, scenario.node, strict=True)
        ],
        "paths": [
            {"name": name, "via": [mission.links[link].name for link in via], "rtt_s": rtt_s(path)}
            for name, via, path in zip(network.names, network.paths, paths, strict=True)
        ],
    }


def full_rtts(mission: Mission) -> dict[str, float]:
    """Of each link, or path, a round trip behind full queues, in emulated seconds."""
    each = [_full_s(link) for link in mission.links]
    if mission.network is None:
        return {link.name: full_s for link, full_s in zip(mission.links, each, strict=True)}
    network = mission.network
    return {
        name: sum(each[link] for link in path)
        for name, path in zip(network.names, network.paths, strict=True)
    }


def _full_s(link: LinkJob) -> float:
    """A round trip behind a full queue of full packets, in emulated seconds."""
    longest_ns = max(step.delay_ns for step in link.down.steps)
    return 2 * longest_ns / 1e9 + 8 * FULL_PACKET_BYTES * link.down.queue_packets / link.down.rate_bps
