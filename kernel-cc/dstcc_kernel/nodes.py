"""A scenario's nodes for the kernel side (:mod:`.network`), and what of them it has not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dstcc.engine.config import EngineConfig, Link, Node, emulated, named_values
from dstcc.engine.passing import SINK, SOURCE, lines_of
from dstcc.scenario import Scenario
from dstcc.scenario.network import engine_node

from .network import Network

MAX_NODES = 32
MAX_HOPS = 64
"""Links of a network."""
NO_LAYERS = (
    "when_full 'lowest-layer': the kernel's packets do not say which layer they hold; drop-tail or drop-head"
)


def network_of(scenario: Scenario, hosts: Sequence[str], scale: float) -> Network:
    """The scenario's, whose nodes are called ``hosts``, in emulated time."""
    place = {node.name: number for number, node in enumerate(scenario.node)}
    nodes = [engine_node(node, number) for number, node in enumerate(scenario.node)]
    return Network(
        nodes=tuple(hosts),
        ends=tuple((place[str(link.from_)], place[str(link.to)]) for link in scenario.link),
        paths=tuple(way.links for way in scenario.ways),
        names=tuple(way.name for way in scenario.ways),
        storage_bytes=tuple(node.storage_bytes for node in nodes),
        config=tuple(_lines(nodes, scale)),
    )


def network_of_trial(config: EngineConfig) -> tuple[Network, tuple[Link, ...]] | None:
    """A trial's in emulated time, and its links, each by itself in mission time; ``None`` where no path has a node."""
    on_the_way = {hop.node.number: hop.node for path in config.links for hop in path.onward}
    if not on_the_way:
        return None
    lines, paths = lines_of(config)
    nodes = [Node("source", SOURCE), *on_the_way.values(), Node("sink", SINK)]
    place = {node.number: number for number, node in enumerate(nodes)}
    numbers = [0] * len(lines)
    for path, links in zip(config.links, paths, strict=True):
        for hop, link in zip(path.onward, links[1:], strict=True):
            numbers[link] = hop.number
    network = Network(
        nodes=tuple(node.name for node in nodes),
        ends=tuple((place[line.tail], place[line.head]) for line in lines),
        paths=paths,
        names=tuple(path.name for path in config.links),
        storage_bytes=tuple(node.storage_bytes for node in nodes),
        config=tuple(_lines(nodes, config.transport.scale)),
        numbers=tuple(numbers),
    )
    return network, tuple(line.link for line in lines)


def misfit(scenario: Scenario) -> str | None:
    """The first thing of a scenario's nodes that the kernel has not, with its key."""
    if len(scenario.node) > MAX_NODES:
        return f"node: {len(scenario.node)} nodes; at most {MAX_NODES} here"
    if len(scenario.link) > MAX_HOPS:
        return f"link: {len(scenario.link)} links; at most {MAX_HOPS} here"
    keeper = next((n for n, node in enumerate(scenario.node) if node.forwards != "packets"), None)
    if keeper is not None:
        return f"node.{keeper}.forwards = '{scenario.node[keeper].forwards}': Linux forwards packets"
    number = next((n for n, node in enumerate(scenario.node) if node.when_full == "lowest-layer"), None)
    if number is not None:
        return f"node.{number}.{NO_LAYERS}"
    return None


def misfit_of_transport(scenario: Scenario) -> str | None:
    """The first thing of the transport that the kernel has not over nodes, with its key; programs have their own."""
    if not any(len(way.links) > 1 for way in scenario.ways):
        return None
    if scenario.transport.restart is not None:
        return "transport.restart: each connection has a guest, whose nodes would begin empty"
    return None


def _lines(nodes: Sequence[Node], scale: float) -> Iterator[str]:
    for number, node in enumerate(nodes):
        for name, words in named_values(emulated(node, scale), without=("name",)):
            yield f"config nodes.{number}.{name} {words}"
