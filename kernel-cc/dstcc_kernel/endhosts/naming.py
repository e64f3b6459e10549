"""What hosts are called: names that resolve, and addresses in the environment.

Of two hosts ``earth`` and ``craft`` are the addresses on the first link; ``earth-LINK`` and ``earth-N`` (from 1 on)
those on each. A network's node has an address of its own, of both kinds; the ends of its paths have such further names
by path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from dstcc.errors import InputError, KernelError

from ..ground import LEAST_MTU6
from ..network import Network, node_address, node_address6, path_address6
from ..topology import craft_address, earth_address
from .mission import CRAFT, HERE, HOSTS, KEYS, PLAYER, RUNNING, STDERR, STDOUT, WAITS, Mission

TAKEN = ("localhost", "dstcc", HERE.name, "lib", PLAYER, RUNNING, STDOUT, STDERR, WAITS, "part")
"""Names that a host cannot have: one is every host's own, a guest's ``/run`` or a run's folder has the others."""
TYPED = re.compile(KEYS.format(r"\d+"))
"""Likewise."""
LONGEST_NAME = 63
"""Of a host (RFC 1035 section 2.3.4)."""
ORDER = Path("/etc/gai.conf")
"""Where the machine has none nothing says that IPv4 goes first: names are IPv4's alone then."""


def slug(link: str) -> str:
    """A link's name as a part of a host's name: letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", link.lower()).strip("-")


def hosts_of(nodes: Sequence[str]) -> tuple[str, ...]:
    """What the hosts of nodes are called; raises :class:`InputError` where two would be the same, or one cannot be."""
    hosts: list[str] = []
    for number, node in enumerate(nodes):
        host = slug(node)[:LONGEST_NAME].strip("-") or f"node-{number + 1}"
        if host in TAKEN or TYPED.fullmatch(host):
            raise InputError(f"node.{number}.name = '{node}': no host can be called {host}")
        if host in hosts:
            raise InputError(
                f"node.{number}.name = '{node}': its host would be {host}, as node.{hosts.index(host)}'s"
            )
        hosts.append(host)
    return tuple(hosts)


def check_hosts(path: Path, mission: Mission, named: set[str]) -> None:
    """Raise :class:`KernelError` where a guest's file names a host that there is not."""
    if unknown := sorted(named - {*mission.hosts}):
        raise KernelError(f"{path.name}: there is no host {unknown[0]}")


def address(host: str, link: int) -> str:
    """The IPv4 address of one of two hosts on a link, counted from 0."""
    return craft_address(link) if host == CRAFT else earth_address(link)


def hosts_file(mission: Mission) -> str:
    """``/etc/hosts`` of all hosts."""
    lines = ["127.0.0.1 localhost"]
    if mission.network is not None:
        lines += _network_lines(mission.network, six=mission.mtu >= LEAST_MTU6 and ORDER.exists())
    else:
        for (index, link), host in product(enumerate(mission.links), HOSTS):
            names = [*([host] if index == 0 else []), *_by_link(host, index, link.name)]
            lines.append(f"{address(host, index)} {' '.join(names)}")
    return "\n".join(lines) + "\n"


def _by_link(host: str, index: int, name: str) -> list[str]:
    names = [f"{host}-{index + 1}", *([f"{host}-{slug(name)}"] if slug(name) else [])]
    return list(dict.fromkeys(names))


def _network_lines(network: Network, *, six: bool) -> Iterator[str]:
    if six:
        yield "::1 localhost"
    for node, host in enumerate(network.nodes):
        yield f"{node_address(node)} {host}"
        if six:
            yield f"{node_address6(node)} {host}"
    for (index, name), sink in product(enumerate(network.names), (False, True)):
        host = network.nodes[network.sink if sink else network.source]
        names = [
            it for it in _by_link(host, index, name) if it not in network.nodes and len(it) <= LONGEST_NAME
        ]
        for at in (_path_address(index, sink=sink), *([path_address6(index, sink=sink)] if six else [])):
            if names:
                yield f"{at} {' '.join(names)}"


def _path_address(path: int, *, sink: bool) -> str:
    return earth_address(path) if sink else craft_address(path)


def variables(mission: Mission) -> dict[str, str]:
    """The environment of all programs: addresses and names of the links, or of nodes and paths."""
    if mission.network is not None:
        return dict(_network_variables(mission.network))
    links = [link.name for link in mission.links]
    found = {"DSTCC_LINKS": str(len(links))}
    for host in HOSTS:
        found[f"DSTCC_{host.upper()}"] = address(host, 0)
        for index in range(len(links)):
            found[f"DSTCC_{host.upper()}_{index + 1}"] = address(host, index)
    for index, link in enumerate(links):
        found[f"DSTCC_LINK_{index + 1}"] = link
    return found


def _network_variables(network: Network) -> Iterator[tuple[str, str]]:
    yield "DSTCC_NODES", str(len(network.nodes))
    yield "DSTCC_PATHS", str(len(network.paths))
    for node, host in enumerate(network.nodes):
        yield f"DSTCC_NODE_{node + 1}", host
        yield f"DSTCC_{host.upper().replace('-', '_')}", node_address(node)
        yield f"DSTCC_{host.upper().replace('-', '_')}_6", node_address6(node)
    for path, name in enumerate(network.names):
        yield f"DSTCC_PATH_{path + 1}", name


def link_of_address(at: str, mission: Mission) -> str | None:
    """The link, or the path, that an address of a socket stands for; a subflow's source says it on the spacecraft."""
    network = mission.network
    if network is None:
        return next(
            (link.name for index, link in enumerate(mission.links) if at == address(HOSTS[0], index)), None
        )
    for path, name in enumerate(network.names):
        own = (_path_address(path, sink=sink) for sink in (False, True))
        own6 = (f"[{path_address6(path, sink=sink)}]" for sink in (False, True))
        if at in (*own, *own6):
            return name
    ends = (node_address(network.source), f"[{node_address6(network.source)}]")
    return network.names[0] if at in ends else None
