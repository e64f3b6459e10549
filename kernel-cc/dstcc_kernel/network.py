"""Nodes and the links between them as the kernel side takes them: who joins whom, addresses, and routes.

A node has an address of its own, IPv4 and IPv6. Each end of a path has another for every path, as on a link of its own
(:func:`.topology.craft_address`), so that a subflow's addresses say its path::

    next(node, destination)   on the first path that has both: the link that leads there; else, of the links around the
                              node, one on a row of the fewest links to a node that knows a next

So the links to one destination are a tree: a packet never comes to a node twice.
"""

from __future__ import annotations

from dataclasses import dataclass

HOP_NUMBERS = 1 << 20
"""``kHopNumbers`` of the engine (``link/network.hpp``): links behind nodes have draws apart from the first ones'."""


@dataclass(frozen=True)
class Network:
    """A scenario's nodes, links and paths, by their places there."""

    nodes: tuple[str, ...]
    """Names of hosts."""
    ends: tuple[tuple[int, int], ...]
    """Of each link the nodes that it leads from and to."""
    paths: tuple[tuple[int, ...], ...]
    """The links of each."""
    names: tuple[str, ...]
    """Of the paths."""
    storage_bytes: tuple[int, ...]
    """Of each node."""
    config: tuple[str, ...]
    """The nodes, for the program that plays the links (``kernel-cc/links``)."""
    numbers: tuple[int, ...] = ()
    """Of each link the engine's, by which that of a node on the way draws; its place unless they are given."""

    @property
    def source(self) -> int:
        """Where all paths begin."""
        return self.ends[self.paths[0][0]][0]

    @property
    def sink(self) -> int:
        """Where they end."""
        return self.ends[self.paths[0][-1]][1]

    def between(self, link: int) -> str:
        """The line of a link in the program's plan: the index of its draws, as the engine counts them, and the nodes
        at its ends, which an end of the paths is not."""
        first = next((number for number, path in enumerate(self.paths) if path[0] == link), None)
        number = self.numbers[link] if self.numbers else link
        draws = HOP_NUMBERS + number if first is None else first
        inner = (-1 if node in (self.source, self.sink) else node for node in self.ends[link])
        return " ".join(map(str, ("between", draws, *inner)))

    def route(self, path: int) -> tuple[int, ...]:
        """The nodes along a path."""
        return (self.source, *(self.ends[link][1] for link in self.paths[path]))

    def other(self, node: int, link: int) -> int:
        """The node at a link's other end."""
        tail, head = self.ends[link]
        return head if node == tail else tail

    def next_links(self, destination: int) -> dict[int, int]:
        """Of each node that can reach the destination, the link by which it does."""
        found: dict[int, int] = {}
        for number, path in enumerate(self.paths):
            route = self.route(number)
            if destination not in route:
                continue
            at = route.index(destination)
            for node, link in zip(reversed(route[:at]), reversed(path[:at]), strict=True):
                found.setdefault(node, link)
            for node, link in zip(route[at + 1 :], path[at:], strict=True):
                found.setdefault(node, link)
        reached = [destination, *found]
        for node in reached:  # grows: those that are one link further away
            for link, ends in enumerate(self.ends):
                if node in ends and self.other(node, link) not in (destination, *found):
                    found[self.other(node, link)] = link
                    reached.append(self.other(node, link))
        return found


def node_address(node: int) -> str:
    """A node's own IPv4 address."""
    return f"10.0.0.{node + 1}"


def node_address6(node: int) -> str:
    """Its own IPv6 address."""
    return f"fd00::{node + 1:x}"


def path_address6(path: int, *, sink: bool) -> str:
    """The IPv6 address of an end on a path."""
    return f"fd00:0:0:{path + 1:x}::{2 if sink else 1}"
