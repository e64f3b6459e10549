"""A network's nodes, each in a network namespace of its own, joined by links that a program plays::

    rover                       middle                    orbiter                    middle             earth
    link1 ===== near0 (program: line, outages) far0 ===== link1
                                                          link2 ===== near1 (program) far1 ===== link2

A node's addresses are its loopback device's; devices of links have none. Linux forwards what is for others, IPv4 and
IPv6, at once: what has to wait for its link waits in the program, which counts it against the node's storage.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from .network import Network, node_address, node_address6, path_address6
from .rtnetlink import LOOPBACK, MAIN, Routes
from .topology import (
    FIRST_TABLE,
    allow_joins,
    and_back,
    craft_address,
    earth_address,
    join_from,
    join_to_middle,
    new_namespace,
    routes_of,
)

FORWARDING = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/conf/all/send_redirects": "0",
    "net/ipv4/conf/default/send_redirects": "0",
    "net/ipv6/conf/all/disable_ipv6": "0",
    "net/ipv6/conf/default/disable_ipv6": "0",
    "net/ipv6/conf/all/forwarding": "1",
    "net/ipv6/conf/default/forwarding": "1",
    "net/ipv6/conf/default/addr_gen_mode": "1",
    "net/ipv6/conf/default/accept_dad": "0",
    "net/ipv6/conf/default/accept_ra": "0",
    "net/ipv6/conf/default/router_solicitations": "0",
}
"""Of each node: it forwards, and says nothing by itself."""
LEAST_MTU6 = 1280
"""IPv6's: links of less have IPv4 alone."""
ONLINK = 4
"""RTNH_F_ONLINK: the gateway is at the other end, though no address of the device says so."""
NODAD = 2
"""IFA_F_NODAD: the address can be a route's source at once."""


class Ground:
    """The nodes' namespaces and what joins them; build with :func:`build_ground`."""

    def __init__(self, network: Network, spaces: Sequence[int], middle: int) -> None:
        self.network, self.spaces, self.middle = network, tuple(spaces), middle
        """Namespaces, as open files; a child process may inherit them."""
        self._ip: list[Routes] = [routes_of(space) for space in spaces]
        self._middle_ip = routes_of(middle)
        self._devices: dict[tuple[int, int], int] = {}

    @property
    def craft(self) -> int:
        """The namespace where all paths begin."""
        return self.spaces[self.network.source]

    @property
    def earth(self) -> int:
        """The one where they end."""
        return self.spaces[self.network.sink]

    def lay(
        self, mtu: int, initial_cwnd: int, sources: Mapping[int, Sequence[str]], rto_min_ms: int = 0
    ) -> None:
        """Lay all links and routes. ``sources`` are the addresses that each path has at its first node, whose least
        retransmission timeout ``rto_min_ms`` is; 0: the kernel's own."""
        self._mtu, self._metrics = mtu, {"initcwnd": initial_cwnd}
        self._rto_min = {"rto_min": rto_min_ms} if rto_min_ms else {}
        for ip in self._ip:
            ip.up(LOOPBACK)
        for link, ends in enumerate(self.network.ends):
            for node, end in zip(ends, ("near", "far"), strict=True):
                where = (self._ip[node], self.spaces[node]), (self._middle_ip, self.middle)
                self._devices[node, link] = join_to_middle(
                    *where, (device_of(link), f"{end}{link}"), mac_of(node, link), mtu
                )
        self._addresses(sources)
        for node in range(len(self.spaces)):
            self._neighbours(node)
        for destination in range(len(self.spaces)):
            self._to_node(destination)
        for path in range(len(self.network.paths)):
            self._along(path)

    @property
    def _has6(self) -> bool:
        return self._mtu >= LEAST_MTU6

    def _addresses(self, sources: Mapping[int, Sequence[str]]) -> None:
        net = self.network
        for node, ip in enumerate(self._ip):
            own = [node_address(node)]
            own6 = [node_address6(node)]
            for path in range(len(net.paths)):
                if node == net.source:
                    own += sources[path]
                    own6.append(path_address6(path, sink=False))
                elif node == net.sink:
                    own.append(earth_address(path))
                    own6.append(path_address6(path, sink=True))
            for address in own:
                ip.address(LOOPBACK, address, 32)
            for address in own6 if self._has6 else ():
                ip.address(LOOPBACK, address, 128, NODAD)

    def _neighbours(self, node: int) -> None:
        for (at, link), device in self._devices.items():
            if at != node:
                continue
            other = self.network.other(node, link)
            self._ip[node].neighbour(device, node_address(other), mac_of(other, link))
            if self._has6:
                self._ip[node].neighbour(device, beside6(other), mac_of(other, link))

    def _to_node(self, destination: int) -> None:
        for node, link in self.network.next_links(destination).items():
            self._route(node, link, f"{node_address(destination)}/32", node_address(node))
            if self._has6:
                self._route(node, link, f"{node_address6(destination)}/128", node_address6(node))

    def _along(self, path: int) -> None:
        """Routes to the addresses that a path's ends have for it; what comes from the first one's goes along it."""
        net, route, table = self.network, self.network.route(path), FIRST_TABLE + path
        own, theirs = path_address6(path, sink=False), path_address6(path, sink=True)
        for number, (node, link) in enumerate(zip(route, net.paths[path], strict=False)):
            first = number == 0
            source = craft_address(path) if first else node_address(node)
            self._route(node, link, f"{earth_address(path)}/32", source)
            for other in range(len(net.paths)):
                self._route(node, link, f"{earth_address(other)}/32", source, table)
            self._route(node, link, f"{node_address(net.sink)}/32", source, table)
            subnet = craft_subnet(path)
            self._ip[node].rule(subnet, 16, table)
            if self._has6:
                source = own if first else node_address6(node)
                self._route(node, link, f"{theirs}/128", source)
                for target in (theirs, node_address6(net.sink)):
                    self._route(node, link, f"{target}/128", source, table)
                self._ip[node].rule(own, 128, table)
        for number, (node, link) in enumerate(
            zip(reversed(route[1:]), reversed(net.paths[path]), strict=True)
        ):
            first = number == 0
            subnet = f"{craft_subnet(path)}/16"
            self._route(node, link, subnet, earth_address(path) if first else node_address(node))
            if self._has6:
                self._route(node, link, f"{own}/128", theirs if first else node_address6(node))

    def _route(self, node: int, link: int, to: str, source: str, table: int = MAIN) -> None:
        """A route over a link, to addresses of the source's family."""
        other = self.network.other(node, link)
        gateway = beside6(other) if ":" in to else node_address(other)
        metrics = {**self._metrics, **(self._rto_min if node == self.network.source else {})}
        how: dict[str, Any] = {"source": source, "table": table, "flags": ONLINK, "metrics": metrics}
        self._ip[node].route(to, self._devices[node, link], gateway=gateway, **how)

    def allow_joins(self) -> None:
        """As :meth:`.topology.Topology.allow_joins`, for the ends of the paths."""
        for end in (self.craft, self.earth):
            allow_joins(end)

    def join(self, number: int, address: str, *, backup: bool) -> None:
        """As :meth:`.topology.Topology.join`."""
        join_from(self.craft, number, address, backup=backup)

    def close(self) -> None:
        """Let go of the namespaces; they end with the last process that uses them."""
        for ip in (*self._ip, self._middle_ip):
            ip.close()
        for space in (*self.spaces, self.middle):
            os.close(space)


@contextmanager
def build_ground(
    network: Network,
    buffer_bytes: int,
    *,
    unsent_bytes: int | None = None,
    sysctls: Mapping[str, str],
    roots: Sequence[int] | None = None,
) -> Iterator[Ground]:
    """Nodes without links, set up as :func:`.topology.build` sets up two hosts; gone when the block ends."""
    owners: Sequence[int | None] = roots or [None] * len(network.nodes)
    with and_back():
        spaces = [
            new_namespace(buffer_bytes, unsent_bytes, {**sysctls, **FORWARDING}, users=users)
            for users in owners
        ]
        middle = new_namespace(buffer_bytes, None)
    made = Ground(network, spaces, middle)
    try:
        yield made
    finally:
        made.close()


def craft_subnet(path: int) -> str:
    """All addresses that the paths' first node has on one, but for the length."""
    return f"10.{path + 1}.0.0"


def beside6(node: int) -> str:
    """A node's IPv6 address for those at its links' other ends. Linux takes none as a gateway to which it has a route
    over another device, as it may have to the node's own."""
    return f"fe80::{node + 1:x}"


def device_of(link: int) -> str:
    """What both nodes of a link call their device."""
    return f"link{link + 1}"


def mac_of(node: int, link: int) -> str:
    """Of a node's device."""
    return f"02:00:00:01:{link:02x}:{node:02x}"


def plan_lines(network: Network, links: Sequence[Sequence[str]], head: Sequence[str]) -> Iterator[str]:
    """The plan of the program that plays the links: its ``head``, nodes, and each link's own lines."""
    yield from head
    yield from network.config
    for number, lines in enumerate(links):
        yield from lines
        yield f"number {number}"
        yield network.between(number)
