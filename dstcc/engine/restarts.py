"""A sender that restarts: a trial is one after another of connections, and what the sender kept of the data in between.

    up      a connection from the boot's end on, as any trial's (``EngineConfig.begin_ns``)
    down    at a restart its transport's state is lost: windows, round-trip times, what waits in its queues. What is
            in flight arrives all the same, and what it completes is played. Acknowledgements find nobody
    kept    with a spool: of each layer what was not acknowledged (:class:`~dstcc.engine.config.Ledger`), to be sent
            once there is a connection again; what is captured meanwhile waits there too.
            Without: only what is captured after the boot
    coded   blocks of layers, and matrices of ``ltp``, end with their connection: what is sent again is coded anew. Of
            coded layers that were sent whole the sender asks first whether they are there
            (``engine/src/coding/asking.cpp``)

What arrives after a restart is found by the same trial with links that are dark from then on.

Over nodes that forward packets what was on its way then is still there: each connection's trial has, from the first
node on, the packets of those before it (:class:`~dstcc.engine.config.Earlier`). What comes later never takes their
room.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstcc.arrays import Int64Array
from dstcc.frozen import dataclass

from .config import (
    NEVER_NS,
    Connection,
    Earlier,
    EngineConfig,
    EngineResult,
    HopResult,
    NodeResult,
    ObjectResults,
    Objects,
    Samples,
    TransportStats,
)
from .hop_by_hop import by_slot
from .recoded import coding_of, joined_coding

FOR_GOOD_NS = 10**18
"""An outage until then has no end (``kForeverNs``)."""
OF_RECEIVER = (1, 2)
"""Events of a log (:class:`~dstcc.engine.config.Trace`): data arrived, ACK sent."""
OF_EARTH = (
    "arrived_payload_bytes",
    "duplicate_payload_bytes",
    "hol_payload_bytes",
    "hol_wait_byte_s",
    "last_delivery_s",
)
"""Totals to which what is in flight at a restart still adds."""
JOINED: dict[str, Callable[..., Any]] = {
    "first_send_s": min,
    **dict.fromkeys(("queue_p95_s", "engine_peak_bytes", "reorder_peak_bytes", "last_delivery_s"), max),
}
"""Totals of which one connection's counts; of others their sum."""


@dataclass(frozen=True)
class _Stretch:
    """A connection, from one boot to the next restart."""

    rows: Int64Array
    """Its layers among the trial's."""
    before: Int64Array
    """Of each the bytes that were acknowledged before it began."""
    again: Int64Array
    """Of what it sends of each, the bytes that were sent before."""
    sent: EngineResult
    """As it was at the restart."""
    heard: EngineResult
    """The same with what was in flight then: what Earth has of it in the end."""
    objects: Objects
    """What it had to send."""
    there_ns: tuple[int, ...]
    """Of what it asked for, when that is on Earth."""


def with_restarts(
    config: EngineConfig,
    run: Callable[[EngineConfig], EngineResult],
    unseen: Callable[[EngineConfig], EngineResult] | None = None,
) -> EngineResult:
    """A trial of a sender that may restart; ``run`` runs each of its connections, and ``unseen`` (or it) runs one
    once more, on links that are dark from its restart on.

    Samples have the rows of each connection up to its restart; of the slot in which that falls, they have the next
    connection's share; rows of blocks and matrices are those of one connection after another. Raises ValueError for
    what is not modelled: background flows and green layers.
    """
    restarts = config.restarts
    if restarts is None:
        return run(config)
    _check(config)
    objects, begin_ns = config.objects, 0
    everything = np.arange(len(objects.payload_bytes))
    release, rows = objects.release_ns, everything
    acknowledged, again = np.zeros_like(objects.payload_bytes), np.zeros_like(objects.payload_bytes)
    dead = np.zeros(len(rows), dtype=np.bool_)  # given up, by choice or by the restart
    there_ns = np.full(len(rows), NEVER_NS)  # when Earth has it of a connection before
    stretches: list[_Stretch] = []
    earlier: Earlier | None = None
    for at_ns in (*restarts.at_ns, NEVER_NS):
        left = Objects(
            chunk=objects.chunk[rows],
            layer=objects.layer[rows],
            payload_bytes=(objects.payload_bytes - acknowledged)[rows],
            release_ns=release[rows],
            deadline_ns=objects.deadline_ns[rows],
        )
        sent_whole = again >= objects.payload_bytes - acknowledged
        coding = coding_of(config.coding, rows, np.where(sent_whole, there_ns, -1))
        one = replace(
            config,
            objects=left,
            coding=coding,
            begin_ns=begin_ns,
            ends_ns=config.duration_ns,  # nobody knows of a restart before
            restarts=None,
            ledger=True,
            earlier=earlier,
        )
        last = at_ns >= config.duration_ns
        sent = run(one if last else replace(one, duration_ns=at_ns))
        over = last or sent.end_ns + config.transport.scale < at_ns  # scaled time is rounded
        heard = sent if over else (unseen or run)(_dark_from(one, at_ns))
        there = coding.there_ns if coding is not None else ()
        stretches.append(_Stretch(rows, acknowledged[rows], again[rows], sent, heard, left, there))
        dead[rows] |= sent.objects.given_up > 0
        begin_ns = at_ns + restarts.boot_ns
        if over or sent.ledger is None or begin_ns >= config.duration_ns:
            break
        earlier = _with_entered(config, earlier, heard)
        complete = heard.objects.complete_ns
        there_ns[rows] = np.minimum(there_ns[rows], np.where(complete < 0, NEVER_NS, complete))
        known = sent.ledger.acknowledged_bytes
        again[rows] = np.maximum(sent.ledger.begun_bytes, again[rows]) - known
        acknowledged = acknowledged.copy()
        acknowledged[rows] += known
        open_ = acknowledged < objects.payload_bytes
        if not restarts.spool:
            dead |= open_ & (objects.release_ns < begin_ns)
        dead = _with_what_builds_on(objects, dead)
        release = np.maximum(release, begin_ns)
        rows = np.flatnonzero(open_ & ~dead)
        if not len(rows):
            break
    return _joined(config, stretches, dead)


def _check(config: EngineConfig) -> None:
    green = config.transport.parameters.get("ltp", {}).get("green_from_layer", ())
    for broken, rule in (
        (any(link.flows for link in config.links), "background flows would go on, which is not modelled"),
        (
            any(hop.node.forwards != "packets" for link in config.links for hop in link.onward),
            "a node that ends connections would go on with one that its sender lost",
        ),
        (
            any(hop.node.when_full != "drop-tail" for link in config.links for hop in link.onward),
            "what is stored of an earlier connection would make room for a later one; when_full = 'drop-tail'",
        ),
        (len(green) > 0, "nobody acknowledges a green layer"),
    ):
        if broken:
            raise ValueError(f"restarts: {rule}")


def _dark_from(config: EngineConfig, at_ns: int) -> EngineConfig:
    """Nothing leaves any more from then on, and all that is in flight arrives."""
    longest_ns = max(max(link.delay_ns) for link in config.links)
    last_ns = NEVER_NS if any(link.onward for link in config.links) else at_ns + longest_ns + 1
    links = []
    for link in config.links:
        until = tuple((a, min(b, at_ns)) for a, b in link.unannounced_ns if a < at_ns)
        links.append(replace(link, unannounced_ns=(*until, (at_ns, FOR_GOOD_NS))))
    return replace(config, links=tuple(links), duration_ns=min(last_ns, config.duration_ns))


def _with_entered(config: EngineConfig, earlier: Earlier | None, heard: EngineResult) -> Earlier | None:
    """What has come to nodes, or will, of a connection and those before it."""
    entered = heard.ledger.entered if heard.ledger is not None else None
    if entered is None or not any(link.onward for link in config.links):
        return None
    over_nodes = np.array([bool(link.onward) for link in config.links])[entered.path]
    rows = {name: column[over_nodes] for name, column in vars(entered).items()}
    if earlier is not None:
        rows = {name: np.concatenate([column, rows[name]]) for name, column in vars(earlier).items()}
    order = np.argsort(rows["at_ns"], kind="stable")
    return Earlier(**{name: column[order] for name, column in rows.items()})


def _with_what_builds_on(objects: Objects, dead: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A layer of no use without one below it of the same chunk goes with that."""
    lowest = np.full(int(objects.chunk.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(lowest, objects.chunk[dead], objects.layer[dead])
    whole: NDArray[np.bool_] = objects.layer >= lowest[objects.chunk]
    return whole


def _joined(config: EngineConfig, stretches: list[_Stretch], dead: NDArray[np.bool_]) -> EngineResult:
    objects = _joined_objects(config, stretches, dead)
    ends = [stretch.sent.end_ns for stretch in stretches] + [int(objects.complete_ns.max())]
    samples = _joined_samples(stretches)
    slots = len(np.unique(samples.t_ns))
    return EngineResult(
        objects=objects,
        samples=samples,
        end_ns=max(ends),
        totals=_joined_totals(stretches, objects),
        nodes=tuple(NodeResult(**by_slot(vars(node), slots)) for node in stretches[-1].heard.nodes),
        hops=_joined_hops(config, stretches, slots),
        connections=tuple(_connection(one) for one in stretches if one.heard.trace is not None),
        coding=joined_coding(
            [(one.rows, one.sent.coding, one.heard.coding) for one in stretches],
            len(config.objects.payload_bytes),
        ),
    )


def _connection(one: _Stretch) -> Connection:
    """What left and came until the restart, and what became of it on Earth."""
    trace = one.heard.trace
    assert trace is not None
    there = np.isin(trace.event, OF_RECEIVER)
    kept = there | (trace.t_ns <= (one.sent.end_ns if one.sent is not one.heard else NEVER_NS))
    named = kept[trace.range_row]
    columns = {
        name: column[kept]
        for name, column in vars(trace).items()
        if name not in ("transport", "senders", "range_row", "ranges")
    }
    row = np.cumsum(kept) - 1
    trace = replace(trace, **columns, range_row=row[trace.range_row[named]], ranges=trace.ranges[named])
    return Connection(trace, one.objects, one.rows, there_ns=one.there_ns)


def _joined_objects(
    config: EngineConfig, stretches: list[_Stretch], dead: NDArray[np.bool_]
) -> ObjectResults:
    """What became of each layer over all connections.

    A layer is complete when any connection completed it: what was acknowledged before is at Earth. In order, Earth has
    of it what was acknowledged and what the connection that went furthest brought beyond.
    """
    count, mss = len(config.objects.payload_bytes), config.transport.mss_bytes
    first_sent, first_arrival, complete = (np.full(count, NEVER_NS) for _ in range(3))
    sent, delivered, retransmissions = (np.zeros(count, dtype=np.int64) for _ in range(3))
    subflow = np.full(count, -1)
    for one in stretches:
        rows, at_restart, in_the_end = one.rows, one.sent.objects, one.heard.objects
        for times, of in (
            (first_sent, at_restart.first_sent_ns),
            (first_arrival, in_the_end.first_arrival_ns),
            (complete, in_the_end.complete_ns),
        ):
            times[rows] = np.minimum(times[rows], np.where(of < 0, NEVER_NS, of))
        sent[rows] += at_restart.sent_bytes
        brought = in_the_end.delivered_bytes
        delivered[rows] = np.maximum(delivered[rows], np.where(brought > 0, one.before + brought, 0))
        retransmissions[rows] += at_restart.retransmissions - (-_repeated(one) // mss)
        subflow[rows] = np.where(subflow[rows] < 0, at_restart.subflow, subflow[rows])
    for times in (first_sent, first_arrival, complete):
        times[times == NEVER_NS] = -1
    delivered = np.where(complete >= 0, config.objects.payload_bytes, delivered)
    return ObjectResults(
        first_sent_ns=first_sent,
        first_arrival_ns=first_arrival,
        complete_ns=complete,
        sent_bytes=sent,
        delivered_bytes=delivered,
        retransmissions=retransmissions,
        subflow=subflow,
        given_up=(dead & (complete < 0)).astype(np.int64),
    )


def _repeated(one: _Stretch) -> Int64Array:
    """Of each layer, the bytes that a connection sent and an earlier one had sent already."""
    return one.again if one.sent.ledger is None else np.minimum(one.sent.ledger.begun_bytes, one.again)


def _joined_samples(stretches: list[_Stretch]) -> Samples:
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in vars(stretches[0].sent.samples)}
    from_ns = -1
    for one in stretches:
        keep = one.sent.samples.t_ns > from_ns
        for name, column in vars(one.sent.samples).items():
            columns[name].append(column[keep])
        from_ns = one.sent.end_ns
    return Samples(**{name: np.concatenate(parts) for name, parts in columns.items()})


def _joined_hops(config: EngineConfig, stretches: list[_Stretch], slots: int) -> tuple[HopResult, ...]:
    """What each connection put on a line at its ends, and of what nodes put on lines what the last one's trial has of
    all."""
    to_earth = {link.onward[-1].number for link in config.links if link.onward}
    hops = []
    for number, last in enumerate(stretches[-1].heard.hops):
        from_craft = last.number < 0
        from_earth = last.number in to_earth or (from_craft and not config.links[last.first_of].onward)
        row = by_slot(vars(last), slots)
        if from_craft:
            row |= _summed([one.sent.hops[number] for one in stretches], slots, up=False)
        if from_earth:
            row |= _summed([one.heard.hops[number] for one in stretches], slots, up=True)
        hops.append(HopResult(**row))
    return tuple(hops)


def _summed(hops: list[HopResult], slots: int, *, up: bool) -> dict[str, Any]:
    """What all connections put on one line of a hop."""
    rows = [by_slot(vars(hop), slots) for hop in hops]
    return {
        name: sum(row[name] for row in rows)
        for name in rows[0].keys() - {"number", "first_of"}
        if name.startswith(("up_", "slot_up_")) == up
    }


def _joined_totals(stretches: list[_Stretch], objects: ObjectResults) -> TransportStats:
    sent, heard = [vars(one.sent.totals) for one in stretches], [vars(one.heard.totals) for one in stretches]
    out: dict[str, Any] = {}
    for name, first in sent[0].items():
        values = [one[name] for one in (heard if name in OF_EARTH else sent)]
        if name == "events":
            values += [one.heard.totals.events for one in stretches if one.heard is not one.sent]
        if name in JOINED:  # NaN is what a connection says that sent nothing
            out[name] = JOINED[name]((value for value in values if not isnan(value)), default=nan)
        elif first is not None:
            out[name] = sum(values)
    last = stretches[-1].heard
    if last.hops:  # what each connection lost on first hops, and what all did behind them
        for name, of_hop in (
            ("dropped_queue_packets", "dropped_packets"),
            ("lost_channel_packets", "lost_packets"),
        ):
            first = [
                sum(getattr(hop, of_hop) for hop in result.hops if hop.number < 0)
                for result in (*(one.sent for one in stretches), last)
            ]
            out[name] = sum(first[:-1]) + getattr(last.totals, name) - first[-1]
    out["retransmitted_payload_bytes"] += sum(int(_repeated(one).sum()) for one in stretches)
    out["delivered_payload_bytes"] = int(objects.delivered_bytes.sum())
    return TransportStats(**out)
