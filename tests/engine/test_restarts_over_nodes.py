"""A sender that restarts, over nodes: what they store of an earlier connection is still there, before a later one's."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from dstcc.engine import EngineConfig, EngineResult, Hop, Loss, Node, Restarts, clairvoyant_weight, simulate

from . import test_hop_by_hop as custody
from .test_ltp_over_nodes import config as ltp
from .test_ltp_over_nodes import layers
from .test_nodes import WIRE, S, conserved, expected, line, packets, path
from .test_nodes import config as tcp
from .test_nodes import random_network as any_network


def restarts(at_s: float, boot_s: float = 20.0, spool: bool = False) -> Restarts:
    return Restarts((round(at_s * S),), round(boot_s * S), spool)


DARK = line("b", 60e3, delay_s=5.0, outages_ns=((150 * S, 1000 * S),))


def stored(**keys: Any) -> tuple[EngineConfig, EngineResult]:
    """Packets every half second from 100 s on, of which those after 145 s wait at the node until 1,000 s; the sender
    restarts at 300 s."""
    way = path(line("a"), Hop(1, Node("n", 1, storage_bytes=10**8), DARK))
    one = tcp(way, objects=packets(800, 0.5), duration_ns=2000 * S, restarts=restarts(300, **keys))
    return one, simulate(one)


def test_what_nodes_store_of_a_lost_connection_arrives_first():
    """Without a spool: what was captured before the restart is sent once, and waits in front of all that follows; what
    is captured until the boot is over is lost; the new connection's packets arrive as on a line after the others."""
    one, result = stored()
    conserved(result)
    release = one.objects.release_ns
    before, booting = release < 300 * S, (release > 300 * S) & (release < 320 * S)
    assert (result.objects.sent_bytes[before] == 1460).all()
    assert (result.objects.first_arrival_ns[booting] < 0).all() and (
        result.objects.given_up[booting] == 1
    ).all()
    sent = result.objects.first_sent_ns
    alive = np.flatnonzero((sent >= 0) & (release != 300 * S))  # that one was on the line
    (way,) = one.links
    arrived = expected(line("a"), way.onward, np.sort(sent[alive]))
    late = alive[release[alive] >= 320 * S]
    assert len(late) > 300
    # the handshake of the second connection is a packet of 40 bytes on each line
    np.testing.assert_allclose(
        result.objects.first_arrival_ns[alive], arrived, atol=2 * round(40 * 8e9 / 60e3) + 2, rtol=0
    )


def test_with_a_spool_nothing_is_missing():
    one, result = stored(spool=True)
    conserved(result)
    assert (result.objects.complete_ns >= 0).all() and not result.objects.given_up.any()
    waited = (one.objects.release_ns > 146 * S) & (one.objects.release_ns < 300 * S)
    assert (result.objects.retransmissions[waited] == 1).all(), "stored and not acknowledged: sent again"
    assert (result.objects.complete_ns[waited] < 1100 * S).all()


def test_what_is_still_in_the_senders_own_queue_is_lost():
    """At a tenth of the rate a minute's packets stand in front of the first line."""
    way = path(line("a", 12e3), Hop(1, Node("n", 1, storage_bytes=10**8), line("b")))
    one = tcp(way, objects=packets(100, 0.1), duration_ns=2000 * S, restarts=restarts(130))
    result = simulate(one)
    lost = (result.objects.first_arrival_ns < 0).sum()
    assert lost == 100 - 30, "30 s of packets left, one a second"
    assert result.totals.lost_channel_packets == 0 and result.hops[0].sent_packets >= 100


def test_each_hop_counts_what_all_connections_put_on_it():
    """Both lines lose packets, under both connections; hops are numbered from 0."""
    loss = Loss("packet", rate=0.1)
    way = path(line("a", loss=loss), Hop(0, Node("n", 0, storage_bytes=10**8), line("b", loss=loss)))
    result = simulate(
        tcp(way, objects=packets(400, 0.5), duration_ns=2000 * S, restarts=restarts(200, spool=True), seed=4)
    )
    conserved(result)
    first, second = result.hops
    (node,) = result.nodes
    assert first.lost_packets > 20 and second.lost_packets > 20
    assert second.sent_packets + first.up_sent_packets == node.left_packets
    assert first.sent_packets - first.lost_packets - second.sent_packets == 1, "one is cut off by the restart"
    assert first.slot_sent_packets[3] > 150 and first.sent_packets > first.slot_sent_packets[3] + 200
    assert second.up_sent_packets - first.up_sent_packets in (0, 1, 2, 3), (
        "a second's answers are on the line at the end"
    )
    assert result.totals.lost_channel_packets == first.lost_packets + second.lost_packets


def test_until_the_restart_all_samples_are_those_of_one_without():
    one, result = stored()
    plain = simulate(replace(one, restarts=None))
    for of, with_restart in ((plain.nodes[0], result.nodes[0]), *zip(plain.hops, result.hops, strict=True)):
        for name, column in vars(of).items():
            if name.startswith("slot_") and len(column):
                np.testing.assert_array_equal(vars(with_restart)[name][:5], column[:5], err_msg=name)
    assert result.nodes[0].slot_held_bytes[4] > result.nodes[0].slot_held_bytes[3] > 0


def test_what_a_node_stores_arrives_beside_a_path_without_nodes():
    over = path(line("a"), Hop(1, Node("n", 1, storage_bytes=10**8), DARK))
    one = tcp(
        over,
        line("c"),
        objects=packets(800, 0.05),
        duration_ns=2000 * S,
        restarts=restarts(145),
        transport={"scheduler": "round-robin"},
    )
    result = simulate(one)
    conserved(result)
    over_node = result.objects.subflow == 0
    came = result.objects.first_arrival_ns[over_node]
    assert (came > 0).sum() == pytest.approx(450, abs=1), "ten a second for 45 s"
    assert (came > 1000 * S).sum() == pytest.approx(450 - 5 * 49, abs=5), "five a second from 101 s to 150 s"


@pytest.mark.parametrize("spool", [True, False])
@pytest.mark.parametrize(
    "first",
    [
        *range(0, 20, 20),
        *(pytest.param(first, marks=pytest.mark.slow) for first in range(20, 60, 20)),
    ],
)
def test_what_holds_on_any_network(first, spool):
    for seed in range(first, first + 20):
        rng, drawn = Random(seed), any_network(Random(seed))
        times = tuple(sorted(rng.sample(range(90 * S, 400 * S, 25 * S), rng.choice((1, 2)))))
        one = replace(
            drawn,
            links=tuple(
                replace(
                    link,
                    onward=tuple(
                        replace(hop, node=replace(hop.node, when_full="drop-tail")) for hop in link.onward
                    ),
                )
                for link in drawn.links
            ),
            restarts=Restarts(times, 10 * S, spool),
            duration_ns=600 * S,
        )
        result = simulate(one)
        conserved(result)
        done = result.objects.complete_ns >= 0
        seen = result.objects.first_arrival_ns >= 0
        assert (result.objects.first_arrival_ns[seen] > result.objects.first_sent_ns[seen]).all()
        in_time = done & (result.objects.complete_ns <= one.objects.deadline_ns)
        assert in_time.sum() <= clairvoyant_weight(one, np.ones(len(done)), any_packets=True) + 1e-6, seed
        assert repr(simulate(one)) == repr(result)
        slots = len(np.unique(result.samples.t_ns))
        assert all(len(node.slot_held_bytes) == slots for node in result.nodes)
        assert all(len(hop.slot_sent_packets) == slots for hop in result.hops)


def test_ltp_sends_again_what_no_report_has_claimed():
    way = path(line("a"), Hop(1, Node("n", 1, storage_bytes=10**8), DARK))
    result = simulate(ltp(way, objects=layers(80), restarts=restarts(305, spool=True)))
    assert (result.objects.complete_ns > 0).all()
    waited = (layers(80).release_ns > 150 * S) & (layers(80).release_ns < 300 * S)
    assert (result.objects.sent_bytes[waited] >= 2 * 3 * 1460).all(), (
        "and checkpoints, for the queue in no plan"
    )
    assert (result.objects.sent_bytes[layers(80).release_ns < 140 * S] == 3 * 1460).all()
    assert result.nodes[0].most_held_bytes >= 2 * 3 * waited.sum() * WIRE, "stored twice"


@pytest.mark.parametrize(
    ("node", "rule"),
    [
        ({"forwards": "split"}, "a node that ends connections would go on with one that its sender lost"),
        ({"when_full": "drop-head"}, "what is stored of an earlier connection would make room"),
    ],
)
def test_what_is_not_modelled_is_refused(node, rule):
    way = path(line("a"), Hop(1, Node("n", 1, storage_bytes=10**6, **node), line("b")))
    with pytest.raises(ValueError, match=rule):
        simulate(tcp(way, objects=packets(3), duration_ns=S, restarts=restarts(300)))


# ------------------------------------------------------------------------------------------------------------ custody


@pytest.mark.parametrize("spool", [True, False])
def test_what_a_node_has_acknowledged_its_sender_may_lose(spool):
    """200 moments of its restart. A layer of one segment is on the line at its release, and at the node 1.1 s
    later: without a spool exactly what is captured until the boot is over is lost."""
    rng = Random(11)
    objects = custody.layers(80, segments=1)
    for _ in range(200):
        at_s, boot_s = rng.uniform(1, 900), rng.choice((0.0, 25.0))
        way = path(line("a"), Hop(1, custody.node(1), custody.SECOND))
        one = custody.config(way, objects=objects, restarts=restarts(at_s, boot_s, spool))
        result = simulate(one)
        conserved(result)
        lost = np.flatnonzero(result.objects.complete_ns < 0)
        release = objects.release_ns / S
        gone = np.flatnonzero((release > at_s) & (release < at_s + boot_s))
        assert lost.tolist() == ([] if spool else gone.tolist()), (at_s, boot_s)
        assert (result.objects.given_up > 0).sum() == len(lost)


def test_a_senders_restart_costs_custody_nothing_where_it_has_a_spool():
    loss = Loss("packet", rate=0.1)
    for seed in range(20):
        way = path(
            line("a", loss=loss, up_loss=loss),
            Hop(1, custody.node(1), replace(custody.SECOND, loss=loss, up_loss=loss)),
        )
        times = Restarts(tuple(sorted(Random(seed).sample(range(1, 1000 * S), 3))), S, True)
        result = simulate(
            custody.config(way, objects=custody.layers(40, segments=5), seed=seed, restarts=times)
        )
        conserved(result)
        assert (result.objects.complete_ns > 0).all()


def test_what_is_captured_as_the_sender_is_up_again_is_not_lost():
    """A layer every 10 s, a boot from 20.5 to 40 s: that of 30 s is lost, that of 40 s is not."""
    way = path(line("a"), Hop(1, custody.node(1), line("b")))
    one = custody.config(
        way, objects=custody.layers(6, segments=1), restarts=restarts(20.5, 19.5, spool=False)
    )
    assert np.flatnonzero(simulate(one).objects.complete_ns < 0).tolist() == [3]


def test_a_sender_that_restarts_sends_nothing_of_what_it_lost():
    """A layer is at the node at 1.1 s, and nothing gets through between them until 500 s: its sender tries again and
    again, until it has lost the layer at 100 s. The node has it."""
    first = line("a", unannounced_ns=((S, 500 * S),))
    way = path(first, Hop(1, custody.node(1), line("b", outages_ns=((0, 900 * S),))))
    objects = custody.layers(1, segments=1)
    sent = {}
    for at_s in (100, 800):
        one = custody.config(way, objects=objects, restarts=restarts(at_s, 0.0, spool=False), slot_ns=10 * S)
        result = simulate(one)
        assert result.objects.complete_ns[0] > 900 * S
        sent[at_s] = result.hops[0].slot_sent_packets
    assert sent[100][9] == sent[100][-1] > 1
    assert sent[800][9] < sent[800][-1]


def test_what_builds_on_a_layer_that_a_node_has_is_no_lost_cause() -> None:
    """The base layer is acknowledged by 10 s, the sender restarts at 50 s, and captures the next layer at 100 s."""
    objects = replace(
        custody.layers(2, segments=1, gap_s=100.0), chunk=np.zeros(2, dtype=np.int64), layer=np.arange(2)
    )
    objects = replace(objects, deadline_ns=np.full(2, 5000 * S))
    way = path(line("a"), Hop(1, custody.node(1), line("b", outages_ns=((0, 1000 * S),))))
    result = simulate(custody.config(way, objects=objects, restarts=restarts(50, 0.0, spool=False)))
    assert (result.objects.complete_ns > 1000 * S).all()
