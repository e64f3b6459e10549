"""A scenario's nodes for the kernel side (:mod:`.network`), and what of them it has not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dstcc.engine.config import Node, emulated, named_values
from dstcc.scenario.network import engine_node

from .network import Network

if TYPE_CHECKING:
    from dstcc.scenario import Scenario

MAX_NODES = 32
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


def misfit(scenario: Scenario) -> str | None:
    """The first thing of a scenario's nodes that the kernel has not, with its key."""
    if len(scenario.node) > MAX_NODES:
        return f"node: {len(scenario.node)} nodes; at most {MAX_NODES} here"
    keeper = next((n for n, node in enumerate(scenario.node) if node.forwards != "packets"), None)
    if keeper is not None:
        return f"node.{keeper}.forwards = '{scenario.node[keeper].forwards}': Linux forwards packets"
    number = next((n for n, node in enumerate(scenario.node) if node.when_full == "lowest-layer"), None)
    return None if number is None else f"node.{number}.{NO_LAYERS}"


def _lines(nodes: Sequence[Node], scale: float) -> Iterator[str]:
    for number, node in enumerate(nodes):
        for name, words in named_values(emulated(node, scale), without=("name",)):
            yield f"config nodes.{number}.{name} {words}"
