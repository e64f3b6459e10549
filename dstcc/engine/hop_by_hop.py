"""A trial of ``ltp`` over nodes that take custody: a stage for each node that sends, and what became of it all.

stage    a node and the links that leave it, as a trial of single hops (``engine/src/sim/hop_by_hop.hpp``). In front
         of it stand the stages whose links lead to it
onward   of each link, when what comes to its end can be at the receiver, by the plans of the links behind: the
         least over all ways of   open(t) + light   link by link
draws    a link's losses and others' datagrams are those that it has where nodes forward packets
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import nan
from typing import Any

import numpy as np

from dstcc.arrays import Int64Array
from dstcc.frozen import dataclass

from . import _engine
from .config import (
    Connection,
    Ends,
    EngineConfig,
    EngineResult,
    HopResult,
    Link,
    Node,
    NodeResult,
    ObjectResults,
    Samples,
    Trace,
    TransportStats,
)
from .passing import NEVER_NS, SINK, SOURCE, Line, lines_of

CUSTODY = "custody"
HOPS = 1 << 20
"""What a hop's number is behind in the names of draws (``kHopNumbers``)."""


def takes_custody(config: EngineConfig) -> bool:
    """Whether nodes on its paths do."""
    return any(hop.node.forwards == CUSTODY for link in config.links for hop in link.onward)


@dataclass(frozen=True)
class Stage:
    """A node that sends."""

    config: EngineConfig
    node: Node | None
    """``None``: the sender's, which captures."""
    leads_to: tuple[int, ...]
    """Of each link the place of the stage behind it; -1: the receiver."""
    places: tuple[int, ...]
    """Of each link, by which its draws are named."""
    paths: tuple[int, ...]
    """Of each link, the first that goes over it."""
    onward: tuple[tuple[Int64Array, Int64Array], ...]
    """Of each link: times at its end, and when what is there then can be at the receiver; none: it is the receiver."""


def stages_of(config: EngineConfig) -> tuple[Stage, ...]:
    """The stages, each in front of those behind it.

    Raises ValueError where links lead in a circle, and for what custody does not have: coded segments, green layers,
    others' connections, storage that does not hold a layer.
    """
    _check(config)
    lines, rows = lines_of(config)
    places = {row[0]: number for number, row in reversed(list(enumerate(rows)))}
    for path, row in zip(config.links, rows, strict=True):
        places |= {line: HOPS + hop.number for line, hop in zip(row[1:], path.onward, strict=True)}
    nodes = {hop.node.number: hop.node for path in config.links for hop in path.onward}
    order = _order([(line.tail, line.head) for line in lines])
    stages = []
    for place, tail in enumerate(order):
        mine = [number for number, line in enumerate(lines) if line.tail == tail]
        transport = config.transport
        told = {name: dict(values) for name, values in transport.parameters.items()}
        pins: tuple[int, ...] = ()
        if place == 0:
            pins = tuple(mine.index(rows[path][0]) for path in transport.layer_links)
            for values in told.values():
                if len(values.get("rate_bps", ())) > 1:
                    values["rate_bps"] = tuple(values["rate_bps"][places[line]] for line in mine)
        else:
            for values in told.values():
                values.pop("rate_bps", None)
        one = replace(
            config,
            links=tuple(_alone(lines[number].link) for number in mine),
            transport=replace(transport, layer_links=pins, parameters=told),
            ledger=False,
        )
        heads = [lines[number].head for number in mine]
        stages.append(
            Stage(
                one,
                nodes.get(tail),
                tuple(-1 if head == SINK else order.index(head) for head in heads),
                tuple(places[number] for number in mine),
                tuple(next(path for path, row in enumerate(rows) if number in row) for number in mine),
                tuple(_onward(lines, head) for head in heads),
            )
        )
    return tuple(stages)


def _check(config: EngineConfig) -> None:
    green = config.transport.parameters.get("ltp", {}).get("green_from_layer", ())
    wire = _most_wire_bytes(config)
    nodes = [hop.node for link in config.links for hop in link.onward]
    small = next((node for node in nodes if node.storage_bytes < wire), None)
    for broken, rule in (
        (config.transport.congestion != "ltp", "a node that takes custody has ltp on its links"),
        (any(node.forwards != CUSTODY for node in nodes), "all nodes take custody, or none"),
        (config.coding is not None, "segments of ltp are not coded over nodes that take custody"),
        (len(green) > 0, "nobody acknowledges a green layer"),
        (any(link.flows for link in config.links), "others' connections need nodes that forward packets"),
    ):
        if broken:
            raise ValueError(f"custody: {rule}")
    if small is not None:
        raise ValueError(
            f"custody: '{small.name}' has {small.storage_bytes} bytes; storage holds the largest layer, {wire} bytes "
            "on the wire"
        )


def _most_wire_bytes(config: EngineConfig) -> int:
    payload, mss = config.objects.payload_bytes, config.transport.mss_bytes
    if not len(payload):
        return 0
    most = int(payload.max())
    return most + -(-most // mss) * config.transport.header_bytes


def _order(edges: Sequence[tuple[int, int]]) -> list[int]:
    """Nodes that send, each before those that its links lead to."""
    left, order = {tail for tail, _ in edges}, [SOURCE]
    left.discard(SOURCE)
    while left:
        free = sorted(node for node in left if not any(t in left for t, head in edges if head == node))
        if not free:
            raise ValueError("custody: the links of the paths lead in a circle")
        order += free
        left -= set(free)
    return order


def _alone(link: Link) -> Link:
    """As a path of one hop."""
    return replace(link, subflows=1, flows=(), onward=(), first_hop_of=-1)


# ------------------------------------------------------------------------------------------------ further on, by plan


def _onward(lines: Sequence[Line], node: int) -> tuple[Int64Array, Int64Array]:
    if node == SINK:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    planned = [replace(line, link=_as_planned(line.link)) for line in lines]
    at = _rows(_edges(planned, node))
    return at, _arrival(planned, node, at)


def _as_planned(link: Link) -> Link:
    return replace(link, unannounced_ns=(), hidden_t_ns=(), hidden_share=())


def _edges(lines: Sequence[Line], node: int) -> Int64Array:
    """When something changes on the way from a node to the receiver, by when what meets it is at the node."""
    if node == SINK:
        return np.zeros(0, np.int64)
    own = [line for line in lines if line.tail == node]
    edges = np.unique(
        np.concatenate(
            [
                edge
                for line in own
                for edge in (
                    line.rate[0],
                    np.array(line.link.delay_t_ns, np.int64),
                    line.departure(_edges(lines, line.head)),
                )
            ]
        )
    )
    at = _rows(edges)
    ways = [_over(lines, line, at) for line in own]
    return np.unique(
        np.concatenate([edges, *(_crossing(at, one, other) for one, other in combinations(ways, 2))])
    )


def _rows(edges: Int64Array) -> Int64Array:
    """Times between which nothing changes: each edge, and the last moment before it."""
    at = np.unique(np.concatenate([[0], edges - 1, edges]))
    return at[at >= 0]


def _crossing(at_ns: Int64Array, one: Int64Array, other: Int64Array) -> Int64Array:
    """When the way that is later becomes the earlier, between rows at which both have an end."""
    behind = np.where((one < NEVER_NS) & (other < NEVER_NS), one - other, 0).astype(np.float64)
    turns = np.flatnonzero(behind[:-1] * behind[1:] < 0)
    share = behind[turns] / (behind[turns] - behind[turns + 1])
    return at_ns[turns] + np.ceil(share * np.diff(at_ns)[turns]).astype(np.int64)


def _arrival(lines: Sequence[Line], node: int, at_ns: Int64Array) -> Int64Array:
    """When what is at a node at these times can be at the receiver; :data:`NEVER_NS` where it cannot."""
    if node == SINK:
        return at_ns
    best = np.full(len(at_ns), NEVER_NS)
    for line in (one for one in lines if one.tail == node):
        best = np.minimum(best, _over(lines, line, at_ns))
    return best


def _over(lines: Sequence[Line], line: Line, at_ns: Int64Array) -> Int64Array:
    """The same of what takes that line first."""
    leaves = line.opens_at(at_ns)
    open_ = leaves < NEVER_NS
    comes = np.full(len(at_ns), NEVER_NS)
    comes[open_] = _arrival(lines, line.head, line.arrival(leaves[open_]))
    return comes


# -------------------------------------------------------------------------------------------------------- the whole


def hop_by_hop(config: EngineConfig) -> EngineResult:
    """Run a trial over nodes that take custody.

    Objects are as their sender knows them (sent, repeated, the path's subflow) and as the receiver has them. Samples
    are the sender's; totals too, but for drops and losses, which are of all links. Of nodes, ``packets`` count layers.
    """
    stages = stages_of(config)
    raw = _engine.simulate_hop_by_hop(
        [stage.config for stage in stages],
        [_sender(config), *(stage.node for stage in stages[1:])],
        [list(stage.leads_to) for stage in stages],
        [list(stage.places) for stage in stages],
        [[(t.tolist(), at.tolist()) for t, at in stage.onward] for stage in stages],
    )
    first = raw["stages"][0]
    starts = np.concatenate([[0], np.cumsum([link.subflows for link in config.links])])
    subflow = np.array([starts[place] for place in stages[0].places], dtype=np.int64)
    objects = _objects(config, stages, raw["stages"], subflow)
    samples = dict(first["samples"])
    samples["subflow"] = subflow[samples["subflow"]]
    slots = len(samples["t_ns"]) // len(stages[0].places)
    return EngineResult(
        objects=objects,
        samples=Samples(**samples),
        end_ns=raw["end_ns"],
        totals=_totals([one["totals"] for one in raw["stages"]], objects),
        nodes=tuple(NodeResult(**by_slot(node, slots)) for node in raw["nodes"]),
        hops=tuple(
            HopResult(**by_slot({**hop, **_named(place)}, slots))
            for stage, one in zip(stages, raw["stages"], strict=True)
            for place, hop in zip(stage.places, one["hops"], strict=True)
        ),
        connections=tuple(
            _connection(config, number, stage, one["trace"])
            for number, (stage, one) in enumerate(zip(stages, raw["stages"], strict=True))
            if one["trace"] is not None
        ),
    )


def _connection(config: EngineConfig, number: int, stage: Stage, trace: dict[str, Any]) -> Connection:
    ends = zip(stage.paths, stage.leads_to, strict=True)
    return Connection(
        Trace(**trace),
        config.objects,
        np.arange(len(config.objects.layer)),
        tuple(Ends(path, number == 0, to < 0) for path, to in ends),
    )


def _sender(config: EngineConfig) -> Node:
    """The first stage's node, which restarts as the sender does, its spool being what it keeps."""
    restarts = config.restarts
    if restarts is None:
        return Node("", -1, forwards=CUSTODY)
    return Node(
        "",
        -1,
        forwards=CUSTODY,
        restart_ns=restarts.at_ns,
        boot_ns=restarts.boot_ns,
        keeps_over_restart=restarts.spool,
    )


def _named(place: int) -> dict[str, int]:
    return {"number": -1, "first_of": place} if place < HOPS else {"number": place - HOPS, "first_of": -1}


def by_slot(row: dict[str, Any], slots: int) -> dict[str, Any]:
    """With an entry for each slot of the sender's: what is there at the end stays."""
    return {
        name: np.pad(column, (0, slots), mode="edge" if len(column) else "constant")[:slots]
        if name.startswith("slot_")
        else column
        for name, column in row.items()
    }


def _objects(
    config: EngineConfig, stages: Sequence[Stage], raw: Sequence[dict[str, Any]], subflow: Int64Array
) -> ObjectResults:
    columns = dict(raw[0]["objects"])
    sent = columns["subflow"] >= 0
    columns["subflow"] = np.where(sent, subflow[np.where(sent, columns["subflow"], 0)], -1)
    count = len(config.objects.payload_bytes)
    for name in ("first_arrival_ns", "complete_ns"):
        columns[name] = np.full(count, -1)
    columns["delivered_bytes"] = np.zeros(count, dtype=np.int64)
    given_up = np.zeros(count, dtype=np.bool_)
    for stage, one in zip(stages, raw, strict=True):
        of = one["objects"]
        last = np.array(stage.leads_to)[np.maximum(of["subflow"], 0)] < 0
        here = last & (of["subflow"] >= 0) & (of["first_arrival_ns"] >= 0)
        for name in ("first_arrival_ns", "complete_ns", "delivered_bytes"):
            columns[name] = np.where(here, of[name], columns[name])
        given_up |= of["given_up"] > 0
    columns["given_up"] = (given_up & (columns["complete_ns"] < 0)).astype(np.int64)
    return ObjectResults(**columns)


def _totals(each: Sequence[dict[str, Any]], objects: ObjectResults) -> TransportStats:
    out = dict(each[0])
    for name in ("dropped_queue_packets", "lost_channel_packets", "events", "engine_peak_bytes"):
        out[name] = sum(one[name] for one in each)
    delivered, complete = int(objects.delivered_bytes.sum()), objects.complete_ns.max(initial=-1)
    out |= {"arrived_payload_bytes": delivered, "delivered_payload_bytes": delivered}
    out["last_delivery_s"] = float(complete) / 1e9 if complete >= 0 else nan
    return TransportStats(**out)
