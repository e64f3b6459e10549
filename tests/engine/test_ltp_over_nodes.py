"""``ltp`` from end to end over nodes that forward packets: when layers arrive by formulas alone, what timers wait for,
and what holds on any network."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from dstcc.engine import (
    NEVER_NS,
    Coding,
    EngineConfig,
    Hop,
    Link,
    Loss,
    Node,
    Objects,
    Transport,
    clairvoyant_weight,
    simulate,
)

from .test_nodes import WIRE, S, conserved, line, path
from .test_nodes import random_network as any_network


def node(number: int, storage_bytes: int = 10**9, **keys: Any) -> Node:
    return Node(f"n{number}", number, storage_bytes=storage_bytes, **keys)


def layers(count: int, segments: int = 3, gap_s: float = 10.0, **columns: Any) -> Objects:
    number = np.arange(count)
    return Objects(
        chunk=number,
        layer=np.zeros(count, dtype=np.int64),
        payload_bytes=np.full(count, 1460 * segments),
        release_ns=number * round(gap_s * S),
        deadline_ns=columns.pop("deadline_ns", np.full(count, NEVER_NS)),
    )


def config(*links: Link, objects: Objects, **keys: Any) -> EngineConfig:
    return EngineConfig(
        seed=keys.pop("seed", 1),
        links=links,
        transport=Transport("ltp", "none", **keys.pop("transport", {})),
        objects=objects,
        slot_ns=keys.pop("slot_ns", 50 * S),
        duration_ns=keys.pop("duration_ns", 100_000 * S),
        **keys,
    )


def test_segments_go_on_one_by_one():
    """The first of three takes 0.1 s at 120 kbit/s; at 60 kbit/s each takes 0.2 s, and they follow each other."""
    way = path(line("a", 120e3, 1.0), Hop(1, node(1), line("b", 60e3, 5.0)))
    result = simulate(config(way, objects=layers(20)))
    assert (result.objects.complete_ns == np.arange(20) * 10 * S + round((0.1 + 1 + 3 * 0.2 + 5) * S)).all()
    assert result.totals.timeouts == 0 and (result.objects.retransmissions == 0).all()
    conserved(result)


@pytest.mark.parametrize("direction", ["outages_ns", "up_outages_ns"])
def test_timers_wait_for_the_contacts_of_all_hops(direction):
    """The second hop is away for a thousand seconds, some hundred light times, for data or for reports: no timer ends.

    Its reports' line has time for the thirty that wait, and the light of the whole way back."""
    dark: dict[str, Any] = {"up_outages_ns": (), direction: ((0, 1000 * S),)}
    way = path(line("a", delay_s=1.0), Hop(1, node(1), line("b", delay_s=5.0, **dark)))
    result = simulate(config(way, objects=layers(30, gap_s=40.0)))
    assert (result.objects.complete_ns > 0).all()
    if direction == "outages_ns":
        first = result.objects.complete_ns[:25]
        assert (first == 1000 * S + (np.arange(25) + 1) * round(0.3 * S) + 5 * S).all()
    assert (result.objects.retransmissions <= 1).all(), "a queue at the contact's begin is in no plan"
    assert result.totals.retransmitted_payload_bytes <= 30 * 1460
    conserved(result)


def test_what_a_further_hop_loses_is_repaired():
    loss = Loss("packet", rate=0.2)
    way = path(line("a", up_loss=loss), Hop(1, node(1), line("b", delay_s=5.0, loss=loss, up_loss=loss)))
    result = simulate(config(way, objects=layers(60, segments=10)))
    assert (result.objects.complete_ns > 0).all() and result.hops[1].lost_packets > 60
    assert (result.objects.delivered_bytes == 14_600).all()
    conserved(result)


def test_what_a_node_loses_in_a_restart_is_repaired():
    crashed = node(1, restart_ns=(500 * S,), boot_ns=10 * S)
    dark = line("b", delay_s=5.0, outages_ns=((100 * S, 600 * S),))
    result = simulate(config(path(line("a"), Hop(1, crashed, dark)), objects=layers(60)))
    assert result.nodes[0].lost_in_restarts_packets >= 3 * 39
    assert (result.objects.complete_ns > 0).all()
    conserved(result)


def test_paths_that_share_their_first_link_divide_its_rate():
    """Two at half the line's rate each fill it, and its queue of four packets drops none."""
    first = line("a", queue_bytes=4 * WIRE)
    paths = [path(first, Hop(n, node(1), line(f"b{n}")), first_hop_of=n - 2) for n in (1, 2)]
    result = simulate(config(*paths, objects=layers(300, segments=20, gap_s=1.0)))
    assert result.hops[0].dropped_packets == 0
    assert {int(s) for s in result.objects.subflow} == {0, 1}
    assert (result.objects.complete_ns > 0).all()
    took_s = result.objects.complete_ns.max() / S
    assert 300 * 20 * WIRE * 8 / took_s >= 0.95 * 120e3


def test_a_layer_that_cannot_arrive_by_the_plan_is_not_sent():
    """The second hop is away from 100 s to 300 s; a layer that comes then has 50 s."""
    dark = line("b", delay_s=5.0, outages_ns=((100 * S, 300 * S),))
    objects = layers(40)
    objects = replace(objects, deadline_ns=objects.release_ns + 50 * S)
    result = simulate(config(path(line("a"), Hop(1, node(1), dark)), objects=objects))
    late = (objects.release_ns > 95 * S) & (objects.release_ns < 255 * S)
    assert (result.objects.sent_bytes[late] == 0).all() and (result.objects.given_up[late] == 1).all()
    assert (result.objects.complete_ns[~late] > 0).all()


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize(
    "first",
    [
        *range(0, 20, 20),
        *(pytest.param(first, marks=pytest.mark.slow) for first in range(20, 60, 20)),
    ],
)
def test_what_holds_on_any_network(first, coded):
    for seed in range(first, first + 20):
        drawn = any_network(Random(seed))
        one = replace(
            drawn,
            transport=replace(
                drawn.transport,
                congestion="ltp",
                scheduler="none",
                mode="stream",
                parameters={},
            ),
            coding=Coding(period=np.zeros(0, np.int64), block_ns=20 * S, repair=(0.3, 0.1))
            if coded
            else None,
            duration_ns=600 * S,
        )
        result = simulate(one)
        conserved(result)
        seen = result.objects.first_arrival_ns >= 0
        took = (result.objects.first_arrival_ns - result.objects.first_sent_ns)[seen]
        assert (took > min(p.delay_ns[0] for p in one.links)).all(), seed
        done = result.objects.complete_ns >= 0
        assert (result.objects.delivered_bytes[done] == one.objects.payload_bytes[done]).all()
        in_time = done & (result.objects.complete_ns <= one.objects.deadline_ns)
        assert in_time.sum() <= clairvoyant_weight(one, np.ones(len(done)), any_packets=True) + 1e-6, seed
        assert repr(simulate(one)) == repr(result)


def test_two_hops_carry_98_percent_of_the_lesser_rate():
    way = path(line("a", 1e6, 0.5), Hop(1, node(1), line("b", 2e6, 300.0)))
    objects = replace(layers(1000, segments=100), release_ns=np.zeros(1000, dtype=np.int64))
    result = simulate(config(way, objects=objects))
    took_s = (result.objects.complete_ns.max() / S) - 300.5
    assert 1000 * 100 * WIRE * 8 / took_s >= 0.98 * 1e6


def test_a_node_that_splits_has_no_ltp():
    way = path(line("a"), Hop(1, Node("n", 1, "split", 10**6), line("b")))
    with pytest.raises(ValueError, match="only TCP has connections to split"):
        simulate(config(way, objects=layers(3)))


def test_of_segments_that_wait_base_layers_stay_longest():
    """Every 10 s two layers of a segment each; the second hop is away, and its node has room for ten segments."""
    count = 20
    objects = replace(
        layers(count, segments=1),
        chunk=np.arange(count) // 2,
        layer=np.arange(count) % 2,
        release_ns=np.arange(count) // 2 * 10 * S,
    )
    far = line("b", delay_s=500.0, outages_ns=((0, 300 * S),), up_outages_ns=())
    way = path(line("a"), Hop(1, node(1, 10 * WIRE, when_full="lowest-layer"), far))
    result = simulate(config(way, objects=objects, duration_ns=820 * S))
    assert np.flatnonzero(result.objects.complete_ns > 0).tolist() == list(range(0, count, 2))


def test_what_a_node_drops_is_in_flight_no_more():
    """Room for two packets, of which one a second leaves: of twenty segments most are dropped, and again when they are
    repeated. At its deadline the layer is cancelled, and with that the run is over."""
    objects = layers(1, segments=20, deadline_ns=np.array([60 * S]))
    way = path(line("a", 1.2e6), Hop(1, node(1, 2 * WIRE), line("b", 12e3)))
    result = simulate(config(way, objects=objects))
    assert result.nodes[0].dropped_packets > 0 and result.objects.given_up[0] == 1
    assert result.end_ns < 100 * S
