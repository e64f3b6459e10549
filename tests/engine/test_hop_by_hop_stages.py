"""A network of nodes that take custody as stages: which links each sends on, by what names, and what lies onward."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from dstcc.engine import Coding, EngineConfig, Hop, Link, simulate
from dstcc.engine.config import Ends, Restarts
from dstcc.engine.hop_by_hop import HOPS, _sender, by_slot, stages_of, takes_custody
from dstcc.engine.passing import NEVER_NS
from tests.engine.test_hop_by_hop import config, layers, node
from tests.engine.test_nodes import S, line, path

DARK = ((100 * S, 200 * S),)
LATER = ((150 * S, 400 * S), (500 * S, 600 * S))


def network(*, first_subflows: int = 1) -> tuple[Link, ...]:
    """Over a to node 1, from there over b to node 2 or over d to the Earth; over e to node 2; from node 2 over c."""
    a, e = line("a", delay_s=1.0), line("e", delay_s=20.0)
    one, two = node(1), node(2)
    b = Hop(1, one, line("b", delay_s=2.0, outages_ns=DARK))
    c = Hop(2, two, line("c", delay_s=3.0, outages_ns=LATER, unannounced_ns=((0, 50 * S),)))
    d = Hop(3, one, line("d", delay_s=40.0, outages_ns=((0, 120 * S),)))
    return (
        replace(path(a, b, c), subflows=first_subflows),
        path(a, d, first_hop_of=0),
        path(e, c),
    )


def trial(*, first_subflows: int = 1, **keys: object) -> EngineConfig:
    return config(*network(first_subflows=first_subflows), objects=layers(20), **keys)


def test_a_stage_is_a_node_and_the_links_that_leave_it() -> None:
    told = {
        "parameters": {"ltp": {"rate_bps": (10.0, 20.0, 30.0), "retry_limit": (2,)}},
        "layer_links": (2, 0),
    }
    one = trial(transport=told)
    assert takes_custody(one)
    sender, first, second = stages_of(one)
    assert [stage.node.name if stage.node else None for stage in (sender, first, second)] == [
        None,
        "n1",
        "n2",
    ]
    names = [[link.name for link in stage.config.links] for stage in (sender, first, second)]
    assert names == [["a", "e"], ["b", "d"], ["c"]]
    assert [stage.leads_to for stage in (sender, first, second)] == [(1, 2), (2, -1), (-1,)]
    # draws of a first hop are named by its path, those of others by their hop
    assert [stage.places for stage in (sender, first, second)] == [
        *((0, 2), (HOPS + 1, HOPS + 3), (HOPS + 2,)),
    ]
    assert [stage.paths for stage in (sender, first, second)] == [(0, 2), (0, 1), (0,)]
    # what the sender is told of its paths is of its links: those of the third and of the first
    assert sender.config.transport.parameters == {"ltp": {"rate_bps": (10.0, 30.0), "retry_limit": (2,)}}
    assert sender.config.transport.layer_links == (1, 0)
    for stage in (first, second):
        assert stage.config.transport.parameters == {"ltp": {"retry_limit": (2,)}}
        assert stage.config.transport.layer_links == ()
    assert one.transport.parameters["ltp"]["rate_bps"] == (10.0, 20.0, 30.0)
    single = stages_of(trial(transport={"parameters": {"ltp": {"rate_bps": (10.0,)}}}))[0]
    assert single.config.transport.parameters == {"ltp": {"rate_bps": (10.0,)}}
    for stage in (sender, first, second):
        assert not stage.config.ledger
        for link in stage.config.links:
            assert (link.subflows, link.flows, link.onward, link.first_hop_of) == (1, (), (), -1)
    assert [link.delay_ns for link in sender.config.links] == [(S,), (20 * S,)]


def arrives(at: str, now: int) -> int:
    """When what is at the end of a link can be on Earth, by the plan: the least over all ways."""

    def over(now: int, dark: tuple[tuple[int, int], ...], delay_s: int) -> int:
        for begin, end in dark:
            if begin <= now < end:
                now = end
        return now + delay_s * S

    if at == "n2":
        return over(now, LATER, 3)
    return min(arrives("n2", over(now, DARK, 2)), over(now, ((0, 120 * S),), 40))


def test_what_lies_onward_is_the_least_time_over_all_ways() -> None:
    """Of one way a row holds as a wait for one moment, or as one length; unannounced outages are in nobody's plan."""
    sender, first, second = stages_of(trial())
    tables = {"n1": sender.onward[0], "n2": sender.onward[1]}
    assert all((one == other).all() for one, other in zip(first.onward[0], tables["n2"], strict=True))
    for times, there in (first.onward[1], second.onward[0]):
        assert len(times) == len(there) == 0, "it is the receiver"
    random = Random(3)
    for name, (times, there) in tables.items():
        assert (np.diff(times) > 0).all() and times[0] == 0
        assert there.tolist() == [arrives(name, t) for t in times.tolist()]
    for name, (times, there) in tables.items():
        for t in [random.randrange(0, 700 * S) for _ in range(300)]:
            row = int(np.searchsorted(times, t, side="right")) - 1
            assert arrives(name, t) - there[row] in (0, t - times[row]), (name, t)
    edges = {S * t for t in (150, 400, 500, 600)}
    assert edges <= set(tables["n2"][0].tolist()) and {t - 1 for t in edges} <= set(tables["n2"][0].tolist())


def test_where_nothing_leads_on_there_is_no_time() -> None:
    ends = ((50 * S, 10**6 * S),)
    way = path(line("a"), Hop(1, node(1), replace(line("b"), outages_ns=((50 * S, NEVER_NS),))))
    (times, there) = stages_of(config(way, objects=layers(3)))[0].onward[0]
    assert there[times < ends[0][0]].tolist() == [t + S for t in times[times < ends[0][0]].tolist()]
    assert (there[times >= ends[0][0]] == NEVER_NS).all() and (times >= ends[0][0]).any()


def test_results_are_named_by_paths_and_hops() -> None:
    """The first path has two subflows: the third path's is the fourth."""
    one = trial(first_subflows=2, trace=True, duration_ns=1000 * S)
    result = simulate(one)
    assert {(hop.number, hop.first_of) for hop in result.hops} == {
        (-1, 0),
        (-1, 2),
        (1, -1),
        (3, -1),
        (2, -1),
    }
    assert set(result.samples.subflow.tolist()) == {0, 3}
    sent = result.objects.subflow[result.objects.sent_bytes > 0]
    assert set(sent.tolist()) <= {0, 3} and len(sent)
    assert [connection.ends for connection in result.connections] == [
        (Ends(0, True, False), Ends(2, True, False)),
        (Ends(0, False, False), Ends(1, False, True)),
        (Ends(0, False, True),),
    ]
    slots = len(result.samples.t_ns) // 2
    assert all(len(one.slot_held_bytes) == slots for one in result.nodes)
    last = result.objects.complete_ns.max() / S
    assert result.totals.last_delivery_s == pytest.approx(last)
    whole = int(result.objects.delivered_bytes.sum())
    assert (result.totals.arrived_payload_bytes, result.totals.delivered_payload_bytes) == (whole, whole)


def test_what_is_on_its_way_at_the_end_is_not_given_up() -> None:
    """A run of 30 s: over 20 s of light some layers have arrived, and others have only left."""
    result = simulate(trial(duration_ns=30 * S))
    open_ = result.objects.complete_ns < 0
    assert open_.any() and not result.objects.given_up.any()
    assert (result.objects.delivered_bytes[open_] < 3 * 1460).all()


def test_a_column_of_slots_has_an_entry_for_each_of_the_senders() -> None:
    """What a node has at its end it has until the sender's; one without any has nothing."""
    row = {"slot_held": np.array([1, 2, 3]), "slot_none": np.array([], dtype=int), "came": 7}
    longer = by_slot(dict(row), 5)
    assert longer["slot_held"].tolist() == [1, 2, 3, 3, 3]
    assert longer["slot_none"].tolist() == [0] * 5 and longer["came"] == 7
    assert by_slot(dict(row), 2)["slot_held"].tolist() == [1, 2]


def test_the_senders_node_restarts_as_it_does() -> None:
    assert _sender(trial()) == replace(node(1), name="", number=-1, storage_bytes=0)
    spool = _sender(trial(restarts=Restarts((5 * S, 9 * S), 2 * S, True)))
    assert (spool.restart_ns, spool.boot_ns, spool.keeps_over_restart) == ((5 * S, 9 * S), 2 * S, True)
    assert not _sender(trial(restarts=Restarts((5 * S,), 2 * S, False))).keeps_over_restart


def test_what_custody_does_not_have_is_refused() -> None:
    one = trial()
    mixed = list(network())
    other = replace(mixed[2].onward[0], number=9, node=replace(node(3), forwards="packets"))
    mixed[2] = replace(mixed[2], onward=(other,))
    for broken, rule in (
        (replace(one, transport=replace(one.transport, congestion="cubic")), "has ltp on its links"),
        (replace(one, links=tuple(mixed)), "all nodes take custody, or none"),
        (
            replace(one, coding=Coding(np.zeros(20, dtype=np.int64), S, (0.1,))),
            "segments of ltp are not coded",
        ),
        (trial(transport={"parameters": {"ltp": {"green_from_layer": (1,)}}}), "nobody acknowledges a green"),
    ):
        with pytest.raises(ValueError, match=rule):
            stages_of(broken)


@pytest.mark.parametrize(("payload", "wire"), [(1460, 1500), (1461, 1541), (2920, 3000), (2921, 3041)])
def test_storage_holds_the_largest_layer_with_a_header_for_each_segment(payload: int, wire: int) -> None:
    for storage, fits in ((wire, True), (wire - 1, False)):
        way = path(line("a"), Hop(1, node(1, storage), line("b")))
        objects = layers(3, payload_bytes=np.array([10, payload, 1]))
        if fits:
            assert len(stages_of(config(way, objects=objects))) == 2
            continue
        with pytest.raises(
            ValueError, match=f"has {storage} bytes; storage holds the largest layer, {wire} bytes"
        ):
            stages_of(config(way, objects=objects))
