"""``[[node]]`` and ``[[path]]``: a network of nodes that store and forward, and its form for the engine.

A link leads from one node to another; a path is a row of links from the node that has the video to the one that shows
it. For the engine a path is a link with further hops: what its sender's node has, and the light time of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from dstcc.algorithms import CODED_ONLY
from dstcc.engine.config import Hop
from dstcc.engine.config import Link as EngineLink
from dstcc.engine.config import Node as EngineNode
from dstcc.engine.split import PLANNING
from dstcc.frozen import dataclass
from dstcc.wire import HEADER_BYTES

from .fields import MAX_BYTES, AsTuple, ScenarioTable, broken, ns
from .places import PLACES, End, Ground, Orbit
from .restarts import Boots
from .traffic import Flow, Mix, engine_flows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .model import Link, Scenario

MAX_NODES = MAX_PATHS = 64
OF_ONE_LINK = {
    "flows": "others' TCP connections are of a [[path]]: move them there",
    "mix": "others' TCP connections are of a [[path]]: give the path flows, and the link cross_traffic",
}
"""Keys of a link that are not for a link between nodes, and what to use instead."""
STORES = {
    "custody": "a node that takes custody stores",
    "split": "a node that ends a connection has a window",
}
ANSWERS_FOR = {"custody": "has custody of", "split": "has acknowledged"}
OF_NO_TCP = ("agent", "ltp", *CODED_ONLY)
"""Of ``congestion``, those that nothing could split."""
STORING = ("forwards", "storage_bytes", "when_full", "restart", "keeps_over_restart")
"""Keys of a node that forwards."""

_Name = Annotated[str, Field(min_length=1)]


class Node(ScenarioTable):
    """``[[node]]``: an end of the network, or a node on the way."""

    name: _Name
    number: Annotated[int, Field(ge=1)] | None = None
    """What contact plans call it."""
    orbit: Orbit | None = None
    site: Ground | None = None
    stations: Annotated[tuple[_Name, ...], AsTuple, Field(min_length=1)] | None = None
    """Where it is, for links without profile and contacts: one of these three, or none."""
    forwards: Literal["packets", "split", "custody"] = "packets"
    """Packets of connections from end to end; ``split``: bytes of TCP connections that end there, each in one of its
    own; or layers that it has custody of, by ``ltp`` hop by hop."""
    storage_bytes: Annotated[int, Field(ge=0, le=MAX_BYTES)] = 0
    """Of all that waits there, in wire bytes. 0: each link has its own queue, and what meets an outage is lost."""
    when_full: Literal["drop-tail", "drop-head", "lowest-layer"] = "drop-tail"
    """What makes room: nothing, the oldest packets for the same link, or the newest there of higher layers."""
    restart: Boots | None = None
    """When it restarts; never unless given."""
    keeps_over_restart: bool = False
    """Whether what it holds is there after a restart."""


class Path(ScenarioTable):
    """``[[path]]``: the way of a subflow, or of several."""

    via: Annotated[tuple[_Name, ...], AsTuple, Field(min_length=1, max_length=MAX_NODES)]
    """The links on it, in order."""
    name: _Name | None = None
    """In tables; its links' names with ``+`` between them unless given."""
    subflows: Annotated[int, Field(ge=1, le=64)] = 1
    flows: Annotated[tuple[Flow, ...], AsTuple] = ()
    """TCP connections of others from end to end."""


@dataclass(frozen=True)
class Way:
    """What a subflow goes over: a link, or a path of several."""

    key: str
    """Where the scenario has it, as ``link.0`` or ``path.0``."""
    name: str
    links: tuple[int, ...]
    """By their place in the scenario."""
    subflows: int
    flows: tuple[Flow, ...]
    mix: Mix | None = None


def ways_of(scenario: Scenario) -> tuple[Way, ...]:
    """What the transport has to choose from, in the order of its subflows."""
    if not scenario.node:
        return tuple(
            Way(f"link.{i}", link.name, (i,), link.subflows, link.flows, link.mix)
            for i, link in enumerate(scenario.link)
        )
    place = {link.name: i for i, link in enumerate(scenario.link)}
    return tuple(
        Way(
            f"path.{p}",
            path.name or "+".join(path.via),
            tuple(place[name] for name in path.via),
            path.subflows,
            path.flows,
        )
        for p, path in enumerate(scenario.path)
    )


def nodes_on(scenario: Scenario, way: Way) -> tuple[str, ...]:
    """The names of the nodes along a path, both ends included."""
    links = [scenario.link[i] for i in way.links]
    return (str(links[0].from_), *(str(link.to) for link in links))


def node_that(scenario: Scenario, *forwards: str) -> str | None:
    """The first node on a path that ``forwards`` in one of these ways; ``None``: no node does."""
    chosen = {node.name for node in scenario.node if node.forwards in forwards}
    on_the_way = (
        name for way in ways_of(scenario) if scenario.node for name in nodes_on(scenario, way)[1:-1]
    )
    return next((name for name in on_the_way if name in chosen), None)


def with_numbers(document: dict[str, Any]) -> dict[str, Any]:
    """A scenario's document in which a link's plan has the numbers of its nodes, where the link does not say others."""
    nodes, links = document.get("node"), document.get("link")
    if not nodes or not isinstance(nodes, (list, tuple)) or not isinstance(links, (list, tuple)):
        return document
    number = {
        str(node.get("name")): node["number"]
        for node in nodes
        if isinstance(node, dict) and node.get("number")
    }
    filled = []
    for link in links:
        known: dict[str, Any] = {}
        if isinstance(link, dict) and link.get("contacts"):
            ends = {"source": str(link.get("from")), "destination": str(link.get("to"))}
            known = {key: number[name] for key, name in ends.items() if name in number}
        filled.append({**known, **link} if known else link)
    return {**document, "link": filled}


# ---------------------------------------------------------------------------------------------------------- checks


def check_network(scenario: Scenario) -> None:
    """Raise :class:`PydanticCustomError` unless nodes, links and paths are a network."""
    if not scenario.node:
        return _check_without_nodes(scenario)
    if scenario.scenario.duration_s is None:
        raise broken("needs duration_s in [scenario]", key="node")
    _check_nodes(scenario)
    _check_links(scenario)
    if not scenario.path:
        raise broken("missing: give each subflow's links, [[path]] via = [..]", key="path")
    routes = [_check_path(scenario, number) for number in range(len(scenario.path))]
    for number, route in enumerate(routes):
        for what, place in (("begins", 0), ("ends", -1)):
            if route[place] != routes[0][place]:
                raise broken(
                    f"{what} at '{route[place]}', but the first path at '{routes[0][place]}': a video has one "
                    "sender and one receiver",
                    key=f"path.{number}.via",
                )
    names = [way.name for way in ways_of(scenario)]
    for number, path in enumerate(scenario.path):
        if path.via in [other.via for other in scenario.path[:number]]:
            raise broken("is another path's; a path may have several subflows", key=f"path.{number}.via")
        if names[number] in names[:number]:
            raise broken(f"two paths are named '{names[number]}'", key=f"path.{number}.name")
    _check_ends(scenario, {routes[0][0], routes[0][-1]})
    _check_transport(scenario, routes)


def _check_without_nodes(scenario: Scenario) -> None:
    if scenario.path:
        raise broken("needs [[node]] tables", key="path")
    for i, link in enumerate(scenario.link):
        for key, value in (("from", link.from_), ("to", link.to)):
            if value is not None:
                raise broken("needs [[node]] tables", key=f"link.{i}.{key}")


def _check_nodes(scenario: Scenario) -> None:
    names = [node.name for node in scenario.node]
    numbers = [node.number for node in scenario.node]
    full = scenario.transport.mss_bytes + HEADER_BYTES
    reached = {end for link in scenario.link for end in (link.from_, link.to)}
    for number, node in enumerate(scenario.node):
        if node.name in names[:number]:
            raise broken(f"two nodes are named '{node.name}'", key=f"node.{number}.name")
        if node.number is not None and node.number in numbers[:number]:
            raise broken(f"{node.number} is another node's", key=f"node.{number}.number")
        if any(getattr(node, key) is not None for key in PLACES):
            try:
                End(**{key: getattr(node, key) for key in PLACES})
            except ValidationError as error:
                raise broken(str(error.errors()[0]["msg"]), key=f"node.{number}") from None
        if node.name not in reached:
            raise broken(f"no link reaches '{node.name}'", key=f"node.{number}.name")
        if 0 < node.storage_bytes < full:
            raise broken(
                f"{node.storage_bytes} bytes hold no packet, which has up to {full}; 0 is a node without storage",
                key=f"node.{number}.storage_bytes",
            )


def _check_links(scenario: Scenario) -> None:
    names = [node.name for node in scenario.node]
    for i, link in enumerate(scenario.link):
        for key, value in (("from", link.from_), ("to", link.to)):
            if value is None:
                raise broken("missing: with [[node]] a link leads from one to another", key=f"link.{i}.{key}")
            if value not in names:
                raise broken(f"no node is named '{value}' ({', '.join(names)})", key=f"link.{i}.{key}")
        if link.from_ == link.to:
            raise broken(f"leads from '{link.to}' to itself", key=f"link.{i}.to")
        for key, instead in OF_ONE_LINK.items():
            if getattr(link, key):
                raise broken(f"not between nodes: {instead}", key=f"link.{i}.{key}")
        if link.subflows > 1:
            raise broken("not between nodes: a path has subflows", key=f"link.{i}.subflows")


def _check_path(scenario: Scenario, number: int) -> tuple[str, ...]:
    """The nodes along it."""
    place, links = f"path.{number}.via", {link.name: link for link in scenario.link}
    via = scenario.path[number].via
    for name in via:
        if name not in links:
            raise broken(f"no link is named '{name}' ({', '.join(links)})", key=place)
    for one, other in pairwise(via):
        if links[one].to != links[other].from_:
            raise broken(
                f"not connected: '{one}' leads to '{links[one].to}', '{other}' begins at '{links[other].from_}'",
                key=place,
            )
    route = (str(links[via[0]].from_), *(str(links[name].to) for name in via))
    twice = next((node for at, node in enumerate(route) if node in route[:at]), None)
    if twice is not None:
        raise broken(f"a loop: it comes to '{twice}' twice", key=place)
    return route


def _check_ends(scenario: Scenario, ends: set[str]) -> None:
    for number, node in enumerate(scenario.node):
        for key in STORING if node.name in ends else ():
            if getattr(node, key) != Node.model_fields[key].default:
                raise broken(
                    f"'{node.name}' is an end of the paths, which forwards nothing",
                    key=f"node.{number}.{key}",
                )


def _check_transport(scenario: Scenario, routes: list[tuple[str, ...]]) -> None:
    if all(len(route) == 2 for route in routes):
        return
    forwards = _check_forwarding(scenario, routes)
    if forwards == "custody":
        _check_custody(scenario)
    elif forwards == "split":
        _check_split(scenario)
    if scenario.transport.restart is not None:
        _check_restart(scenario, forwards, routes)


def _check_restart(scenario: Scenario, forwards: str, routes: list[tuple[str, ...]]) -> None:
    """Of the sender."""
    if forwards == "split":
        raise broken(
            "a node that splits would go on with a connection that its sender lost; not modelled",
            key="transport.restart",
        )
    on_the_way = {name for route in routes for name in route[1:-1]}
    for node in scenario.node:
        if forwards == "packets" and node.name in on_the_way and node.when_full != "drop-tail":
            raise broken(
                f"at '{node.name}' what is stored of an earlier connection would make room for a later one; needs "
                'when_full = "drop-tail"',
                key="transport.restart",
            )


def _check_forwarding(scenario: Scenario, routes: list[tuple[str, ...]]) -> str:
    """What the nodes on the way pass on: all the same."""
    on_the_way = {name for route in routes for name in route[1:-1]}
    first: Node | None = None
    for number, node in enumerate(scenario.node):
        if node.name not in on_the_way:
            continue
        first = first or node
        if node.forwards != first.forwards:
            raise broken(
                f"'{node.forwards}', but '{first.name}' on the way has '{first.forwards}': a connection is from end to "
                "end, or from node to node",
                key=f"node.{number}.forwards",
            )
        if node.forwards != "packets" and node.storage_bytes == 0:
            raise broken(f"missing: {STORES[node.forwards]}", key=f"node.{number}.storage_bytes")
        if node.forwards != "packets" and node.when_full != "drop-tail":
            raise broken(
                f"a node drops nothing that it {ANSWERS_FOR[node.forwards]}: what there is no room for its "
                "sender keeps",
                key=f"node.{number}.when_full",
            )
        if node.forwards == "split" and node.restart is not None and not node.keeps_over_restart:
            raise broken(
                "a restart ends the connections of a node that splits, and what it acknowledged is nowhere, which is "
                "not modelled: needs keeps_over_restart",
                key=f"node.{number}.restart",
            )
    return "packets" if first is None else first.forwards


def _check_split(scenario: Scenario) -> None:
    transport = scenario.transport
    other = next((n for n in (*transport.controller, *transport.congestion) if n in OF_NO_TCP), None)
    if transport.controller or other is not None:
        raise broken(
            f"'{transport.controller[0] if transport.controller else other}' goes from end to end; "
            "a node splits the connections of a TCP congestion control",
            key="transport.controller" if transport.controller else "transport.congestion",
        )
    if transport.mode == "coded" or scenario.coding is not None:
        raise broken("coded packets have no connection that a node could split", key="transport.mode")
    subflows = sum(way.subflows for way in ways_of(scenario))
    if transport.mode == "stream" and subflows > 1:
        raise broken(
            f"'stream': over {subflows} subflows it is MPTCP's, which would end at a node; \"lanes\" are "
            "connections",
            key="transport.mode",
        )
    planning = next((name for name in transport.scheduler if name in PLANNING), None)
    if transport.mode == "stream" and planning is not None:
        raise broken(
            f"'{planning}' goes by what the other end of an MPTCP connection says, which ends at a node",
            key="transport.scheduler",
        )
    if transport.receive_buffer_bytes is not None:
        raise broken(
            "the window that a sender sees is that of the first node: its storage_bytes",
            key="transport.receive_buffer_bytes",
        )
    for number, path in enumerate(scenario.path):
        if path.flows:
            raise broken("others' connections need nodes that forward packets", key=f"path.{number}.flows")


def _check_custody(scenario: Scenario) -> None:
    transport = scenario.transport
    other = next((name for name in (*transport.congestion, *transport.controller) if name != "ltp"), None)
    for wrong, key, rule in (
        (
            other is not None,
            "transport.congestion",
            f"custody is ltp's, hop by hop: '{other}' goes from end to end",
        ),
        (scenario.coding is not None, "coding", "not over nodes that take custody, which code nothing"),
        (
            transport.ltp_green_from_layer is not None,
            "transport.ltp_green_from_layer",
            "nobody has custody of them",
        ),
    ):
        if wrong:
            raise broken(rule, key=key)
    for number, path in enumerate(scenario.path):
        if path.flows:
            raise broken("TCP needs nodes that forward packets", key=f"path.{number}.flows")


# ------------------------------------------------------------------------------------------------------ the engine's


def over_nodes(
    scenario: Scenario, lines: Sequence[EngineLink], draw: Callable[..., float]
) -> tuple[EngineLink, ...]:
    """The paths over the links that a seed drew; ``draw`` draws what a path has of its own."""
    nodes = {node.name: engine_node(node, number) for number, node in enumerate(scenario.node)}
    paths: list[EngineLink] = []
    first_of: dict[int, int] = {}
    for number, way in enumerate(ways_of(scenario)):
        first, *rest = (lines[i] for i in way.links)
        via = nodes_on(scenario, way)
        flows = engine_flows(
            way.flows,
            None,
            scenario.transport.mss_bytes,
            lambda value, key, name=way.name: draw(value, key=key, link=name),  # type: ignore[misc]
        )
        path = replace(first, name=way.name, first_name=first.name, subflows=way.subflows, flows=flows)
        if rest:
            sharing = first_of.setdefault(way.links[0], number)
            light = composed([first, *rest])
            path = replace(
                path,
                delay_t_ns=light[0],
                delay_ns=light[1],
                delay_slope=(),
                first_t_ns=first.delay_t_ns,
                first_delay_ns=first.delay_ns,
                first_slope=first.delay_slope,
                onward=tuple(
                    Hop(number=i, node=nodes[node], line=line)
                    for i, node, line in zip(way.links[1:], via[1:-1], rest, strict=True)
                ),
                first_hop_of=-1 if sharing == number else sharing,
                cross_traffic=path.cross_traffic if sharing == number else (),
            )
        paths.append(path)
    return tuple(paths)


def engine_node(node: Node, number: int) -> EngineNode:
    """A node as the engine has it; ``number`` is the same wherever a path goes over it."""
    restart = node.restart
    return EngineNode(
        name=node.name,
        number=number,
        forwards=node.forwards,
        storage_bytes=node.storage_bytes,
        when_full=node.when_full,
        restart_ns=() if restart is None else tuple(map(ns, restart.at_s)),
        boot_ns=0 if restart is None else ns(restart.boot_s),
        keeps_over_restart=node.keeps_over_restart,
    )


def composed(lines: Sequence[EngineLink]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The light time of a row of links by the time at which it is entered: rows in straight lines.

    Exact where the links' delays are constant or in straight lines; of curves their rows are.
    """
    if all(len(line.delay_ns) == 1 for line in lines):
        return (0,), (sum(line.delay_ns[0] for line in lines),)
    entered = _rows(lines)
    at = entered.astype(np.float64)
    for line in lines:
        at = at + _delay_at(line, at)
    total = np.rint(at - entered).astype(np.int64)
    return tuple(entered.tolist()), tuple(total.tolist())


def _rows(lines: Sequence[EngineLink]) -> NDArray[np.int64]:
    """When what is at a row of some link's table as it comes there enters the first."""
    rows = [np.zeros(1)]
    for number, line in enumerate(lines):
        back = np.array(line.delay_t_ns, dtype=np.float64)
        for before in reversed(lines[:number]):
            leaves = np.array(before.delay_t_ns, dtype=np.float64)
            comes = leaves + np.array(before.delay_ns)
            back = np.where(
                back < comes[0],
                back - before.delay_ns[0],
                np.where(back > comes[-1], back - before.delay_ns[-1], np.interp(back, comes, leaves)),
            )
        rows.append(back[back >= 0])
    return np.unique(np.rint(np.concatenate(rows)).astype(np.int64))


def _delay_at(line: EngineLink, at_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    t, delay = np.array(line.delay_t_ns, dtype=np.float64), np.array(line.delay_ns, dtype=np.float64)
    if not line.delay_slope:
        return np.asarray(np.interp(at_ns, t, delay))
    from scipy.interpolate import CubicHermiteSpline

    curve = CubicHermiteSpline(t, delay, np.array(line.delay_slope))
    return np.asarray(curve(np.clip(at_ns, t[0], t[-1])))


def longest_s(scenario: Scenario, longest_of: Callable[[Link], float]) -> float:
    """The longest light time of a path, by that of each link."""
    each = [longest_of(link) for link in scenario.link]
    return max(sum(each[i] for i in way.links) for way in ways_of(scenario))
