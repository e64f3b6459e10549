"""Nodes that take custody: when layers arrive by formulas alone, what crashes lose, and what holds on any network."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from dstcc.engine import (
    NEVER_NS,
    EngineConfig,
    EngineResult,
    Flow,
    Hop,
    Link,
    Loss,
    Node,
    Objects,
    Transport,
    clairvoyant_weight,
    simulate,
)
from dstcc.engine.hop_by_hop import stages_of

from .test_nodes import S, conserved, line, outages, path

WIRE = 1500


def node(number: int, storage_bytes: int = 10**9, **keys: Any) -> Node:
    return Node(f"n{number}", number, "custody", storage_bytes, **keys)


def layers(count: int, segments: int = 3, gap_s: float = 10.0, **columns: Any) -> Objects:
    number = np.arange(count)
    return Objects(
        chunk=number,
        layer=np.zeros(count, dtype=np.int64),
        payload_bytes=columns.pop("payload_bytes", np.full(count, 1460 * segments)),
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


def test_a_layer_is_sent_on_when_it_is_whole():
    """Three segments of 12,000 bits at 120 kbit/s take 0.3 s, at 60 kbit/s 0.6 s."""
    way = path(
        line("a", 120e3, 1.0), Hop(1, node(1), line("b", 60e3, 5.0)), Hop(2, node(2), line("c", 120e3, 2.5))
    )
    result = simulate(config(way, objects=layers(20)))
    took = 0.3 + 1.0 + 0.6 + 5.0 + 0.3 + 2.5
    assert (result.objects.complete_ns == np.arange(20) * 10 * S + round(took * S)).all()
    assert (result.objects.sent_bytes == 3 * 1460).all()
    assert [(n.came_packets, n.left_packets, n.held_packets) for n in result.nodes] == 2 * [(20, 19, 1)]
    assert result.end_ns == int(result.objects.complete_ns.max())


def test_a_node_holds_a_layer_until_the_next_hop_has_acknowledged_it():
    """On b a layer takes 0.3 s and 5 s of light, its report 0.01 s or so and 5 s: two of them overlap at 10 s apart."""
    way = path(line("a", delay_s=1.0), Hop(1, node(1), line("b", delay_s=5.0)))
    result = simulate(config(way, objects=layers(20)))
    assert result.nodes[0].most_held_bytes == 2 * 3 * WIRE


def test_a_node_lets_go_of_a_layer_that_its_sender_gave_up():
    """Of three segments of 0.1 s one comes before the link falls silent. The checkpoint goes three times and the
    cancellation never comes: the node hears nothing, and yet the layer is nobody's from 7.7 s on."""
    silent = ((round(0.15 * S), 10**6 * S),)
    way = path(line("a", delay_s=1.0, unannounced_ns=silent), Hop(1, node(1), line("b", delay_s=5.0)))
    limit = {"parameters": {"ltp": {"retry_limit": (2,)}}}
    result = simulate(config(way, objects=layers(2, gap_s=60.0), transport=limit, slot_ns=5 * S))
    assert (result.objects.complete_ns < 0).all()
    (held,) = result.nodes
    assert held.slot_held_bytes[:2].tolist() == [3 * WIRE, 3 * WIRE]
    assert not held.slot_held_bytes[2:].any()
    assert (held.came_packets, held.dropped_packets, held.held_packets) == (1, 1, 0)


def test_what_waits_for_a_contact_leaves_with_it():
    dark = ((0, 1000 * S),)
    way = path(line("a", delay_s=1.0), Hop(1, node(1), line("b", delay_s=5.0, outages_ns=dark)))
    result = simulate(config(way, objects=layers(20)))
    assert (result.objects.complete_ns == 1000 * S + (np.arange(20) + 1) * round(0.3 * S) + 5 * S).all()
    assert result.nodes[0].most_held_bytes == 20 * 3 * WIRE
    assert [hop.lost_packets for hop in result.hops] == [0, 0]


@pytest.mark.parametrize(("loss", "seed"), [(0.0, 1), (0.3, 1), (0.3, 5)])
def test_what_a_node_refuses_goes_over_another(loss: float, seed: int) -> None:
    """The first node has room for two layers, and nobody knows that its next hop is away: the others go by the second.
    The two are given up after so many retries. A refusal whose answer is lost comes again, when the other link may
    have the block: it is of no concern then."""
    lossy: dict[str, Any] = {"loss": Loss("packet", loss), "up_loss": Loss("packet", loss)}
    dark = ((0, 2000 * S),)
    full = path(
        line("a", delay_s=1.0, **lossy),
        Hop(1, node(1, 2 * 3 * WIRE), line("b", delay_s=5.0, unannounced_ns=dark)),
    )
    other = path(line("c", delay_s=2.0, **lossy), Hop(2, node(2), line("d", delay_s=6.0)))
    result = simulate(config(full, other, objects=layers(20), seed=seed))
    assert [one.came_packets for one in result.nodes] == [2, 18]
    assert [one.dropped_packets for one in result.nodes] == [2, 0]
    assert np.count_nonzero(result.objects.complete_ns >= 0) == 18
    assert np.count_nonzero(result.objects.given_up) == 2
    conserved(result)


def test_a_sender_keeps_what_a_node_has_no_room_for():
    """The node has room for two layers, and its next hop is away until 2,000 s: the sender tries again, and nothing is
    lost."""
    dark = ((0, 2000 * S),)
    storage = 2 * 3 * WIRE
    way = path(line("a", delay_s=1.0), Hop(1, node(1, storage), line("b", delay_s=5.0, outages_ns=dark)))
    result = simulate(config(way, objects=layers(20)))
    assert (result.objects.complete_ns > 0).all()
    assert result.nodes[0].most_held_bytes == storage
    assert result.nodes[0].dropped_packets == 0
    assert result.objects.sent_bytes.sum() > 20 * 3 * 1460  # what was refused was sent in vain
    conserved(result)


def test_after_each_refusal_a_sender_waits_twice_as_long():
    """The node has room for the first layer alone, until that leaves at 30 s and its report comes at 40.1 s. The second
    is refused 2.1 s after it was sent, and waits for a round trip and its margin, 2 · 1 + 2 · 0.2 s; then twice that,
    and so on. So it is sent at 10, 14.5, 21.4 and 33.1 s in vain, and again at 54.4 s, whatever slots there are."""
    dark = ((0, 30 * S),)
    way = path(line("a"), Hop(1, node(1, WIRE), line("b", delay_s=5.0, outages_ns=dark)))
    result = simulate(config(way, objects=layers(2, segments=1), slot_ns=1000 * S))
    assert (result.objects.sent_bytes == (1460, 5 * 1460)).all()
    sent_s = 10 + sum(2.1 + 2.4 * 2**refused for refused in range(4))
    took_s = 0.1 + 1 + 0.1 + 5
    assert result.objects.complete_ns[1] / S == pytest.approx(sent_s + took_s, abs=0.05)


def test_of_two_ways_the_plan_of_the_links_behind_decides():
    """The first way is nearer, but its second hop is away for an hour."""
    far = path(line("a", delay_s=1.0), Hop(1, node(1), line("b", outages_ns=((0, 3600 * S),))))
    near = path(line("c", delay_s=20.0), Hop(2, node(2), line("d")))
    result = simulate(config(far, near, objects=layers(20)))
    assert (result.objects.subflow == 1).all()
    assert result.nodes[0].came_packets == 0
    unannounced = replace(far, onward=(Hop(1, node(1), line("b", unannounced_ns=((0, 3600 * S),))),))
    assert (simulate(config(unannounced, near, objects=layers(20))).objects.subflow == 0).all()


def test_until_an_outage_the_way_through_it_takes_as_long_as_without():
    """Over the first way 21 s and services, the plan of which has an outage in an hour; over the second one two."""
    far = path(line("a", delay_s=20.0), Hop(1, node(1), line("b", outages_ns=((3600 * S, 7200 * S),))))
    near = path(line("c", delay_s=1.0), Hop(2, node(2), line("d")))
    result = simulate(config(far, near, objects=layers(20)))
    assert (result.objects.subflow == 1).all()


@pytest.mark.parametrize("swapped", [False, True])
def test_of_a_nodes_links_onwards_that_counts_which_arrives_first(swapped):
    """Through the node 1 s away what comes is there by one of its two links, the other being away for an hour: that is
    sooner than over the node 20 s away, whichever of the two is named first."""
    lit, dark = line("b"), line("c", outages_ns=((0, 3600 * S),))
    first, of_one = line("a", delay_s=1.0), node(1)
    hops = [Hop(1, of_one, lit), Hop(2, of_one, dark)]
    one, other = reversed(hops) if swapped else hops
    paths = (path(first, one), path(first, other, first_hop_of=0))
    near = path(line("d", delay_s=20.0), Hop(3, node(2), line("e")))
    result = simulate(config(*paths, near, objects=layers(20)))
    assert (result.objects.subflow == 0).all()
    assert (result.objects.complete_ns - np.arange(20) * 10 * S < 10 * S).all()


def test_two_paths_share_their_first_link_and_part_at_the_node():
    first = line("a", delay_s=1.0)
    dark = ((0, 500 * S),)
    one = path(first, Hop(1, node(1), line("b", outages_ns=dark)))
    other = path(first, Hop(2, node(1), line("c", delay_s=3.0)), first_hop_of=0)
    result = simulate(config(one, other, objects=layers(20)))
    assert {hop.number: hop.sent_packets > 0 for hop in result.hops} == {-1: True, 1: False, 2: True}
    assert (result.objects.subflow == 0).all()
    assert len(result.samples.t_ns) == len(result.nodes[0].slot_held_bytes)


SECOND = line("b", delay_s=5.0, outages_ns=((0, 300 * S), (600 * S, 900 * S)))


@pytest.mark.parametrize("keeps", [True, False])
def test_a_crash_loses_what_was_held_unless_it_is_kept(keeps):
    """500 moments of a node's restart.

    A layer of one segment comes 0.1 + 1 s after its release, and its report leaves at once: so without keeping exactly
    what came and has not left is lost. In a run without a crash a layer leaves 0.1 + 5 s before it arrives.
    """
    rng = Random(7)
    objects = layers(80, segments=1)
    whole = simulate(config(path(line("a"), Hop(1, node(1), SECOND)), objects=objects))
    came, left = objects.release_ns + round(1.1 * S), whole.objects.complete_ns - round(5.1 * S)
    most = 0
    for _ in range(500):
        at_ns = rng.randrange(1, 1000 * S)
        crashed = node(1, restart_ns=(at_ns,), boot_ns=rng.choice((0, 20 * S)), keeps_over_restart=keeps)
        result = simulate(config(path(line("a"), Hop(1, crashed, SECOND)), objects=objects))
        conserved(result)
        lost = np.flatnonzero(result.objects.complete_ns < 0)
        held = np.flatnonzero((came <= at_ns) & (left > at_ns))
        assert lost.tolist() == ([] if keeps else held.tolist())
        assert (result.objects.given_up > 0).sum() == len(lost)
        assert result.nodes[0].lost_in_restarts_packets >= len(lost)
        most = max(most, len(held))
    assert most == 30  # those of the first 300 s


def test_crashes_on_links_that_lose_cost_nothing_where_all_is_kept():
    rng = Random(8)
    loss = Loss("packet", rate=0.1)
    lossy: dict[str, Any] = {"loss": loss, "up_loss": loss}
    objects = layers(40, segments=5)
    for seed in range(100):
        times = tuple(sorted(rng.sample(range(1, 1000 * S), 3)))
        crashed = node(1, restart_ns=times, boot_ns=1 * S, keeps_over_restart=True)
        second = replace(SECOND, **lossy)
        way = path(line("a", **lossy), Hop(1, crashed, second))
        result = simulate(config(way, objects=objects, seed=seed))
        conserved(result)
        assert (result.objects.complete_ns > 0).all()


def test_what_a_node_lost_before_its_sender_heard_is_sent_again():
    """The reports of the first link are away until 500 s; the node forgets at 100 s what came, and gets it again."""
    first = line("a", up_outages_ns=((0, 500 * S),))
    crashed = node(1, restart_ns=(100 * S,), boot_ns=0)
    dark = line("b", delay_s=5.0, outages_ns=((0, 300 * S),))
    result = simulate(config(path(first, Hop(1, crashed, dark)), objects=layers(20)))
    assert (result.objects.complete_ns > 0).all()
    assert result.nodes[0].lost_in_restarts_packets == 10
    conserved(result)


def random_network(rng: Random) -> tuple[Link, ...]:
    """Up to eight nodes in layers: each path takes one of each."""
    depth, width = rng.randrange(1, 4), rng.randrange(1, 3)
    nodes = {
        (d, w): node(
            d * 4 + w,
            rng.choice((60_000, 10**8)),
            restart_ns=tuple(sorted({rng.randrange(1, 3000 * S) for _ in range(rng.choice((0, 0, 2)))})),
            keeps_over_restart=rng.random() < 0.5,
        )
        for d in range(depth)
        for w in range(width)
    }
    hops: dict[tuple[int, int, int], Hop] = {}
    links: list[Link] = []
    firsts: dict[int, int] = {}

    def some_line(name: str) -> Link:
        return line(
            name,
            rng.choice((60e3, 120e3)),
            rng.uniform(0.1, 20),
            outages_ns=outages(rng, 3000),
            loss=rng.choice((Loss(), Loss("packet", rate=0.05))),
            up_loss=rng.choice((Loss(), Loss("packet", rate=0.05))),
        )

    entries = {w: some_line(f"first{w}") for w in range(width)}
    for _ in range(rng.randrange(1, 4)):
        at = [rng.randrange(width) for _ in range(depth)]
        onward = []
        for d, w in enumerate(at):
            to = at[d + 1] if d + 1 < depth else 0
            key = (d, w, to)
            if key not in hops:
                hops[key] = Hop(len(hops) + 1, nodes[d, w], some_line(f"hop{key}"))
            onward.append(hops[key])
        sharing = firsts.setdefault(at[0], len(links))
        links.append(path(entries[at[0]], *onward, first_hop_of=-1 if sharing == len(links) else sharing))
    return tuple(links)


@pytest.mark.parametrize(
    "seed",
    [
        *range(0, 30),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(30, 60)),
    ],
)
def test_on_any_network(seed):
    """Layers are conserved, nothing arrives before light, none is delivered twice, no announced outage costs a packet,
    no node holds more than it can, the result is below the bound, and the same again."""
    rng = Random(seed)
    links = random_network(rng)
    count = 60
    released = np.arange(count) * 20 * S
    due = released + rng.choice((200, 2000)) * S if rng.random() < 0.5 else np.full(count, NEVER_NS)
    payload = np.array([rng.randrange(1, 15_000) for _ in range(count)])
    objects = layers(count, gap_s=20.0, payload_bytes=payload, deadline_ns=due)
    one = config(*links, objects=objects, seed=seed, duration_ns=8000 * S)
    result = simulate(one)
    conserved(result)
    done = result.objects.complete_ns >= 0
    least = min(link.delay_ns[0] for link in links)
    assert (result.objects.complete_ns[done] >= objects.release_ns[done] + least).all()
    assert (result.objects.delivered_bytes[done] == objects.payload_bytes[done]).all()
    assert (result.objects.delivered_bytes[~done] == 0).all()
    storage = {hop.node.number: hop.node.storage_bytes for link in links for hop in link.onward}
    assert all(n.most_held_bytes <= storage[n.number] for n in result.nodes)
    by_place = {hop.number: hop.line for link in links for hop in link.onward}
    for hop in result.hops:
        of = by_place[hop.number] if hop.number >= 0 else links[hop.first_of]
        if of.loss.kind == "none":
            assert hop.lost_packets == 0
    if result.end_ns < one.duration_ns:
        assert (done | (result.objects.given_up > 0)).all()
    in_time = done & (result.objects.complete_ns <= objects.deadline_ns)
    assert in_time.sum() <= clairvoyant_weight(one, np.ones(count)) + 1e-6
    assert same(result, simulate(one))


def same(one: EngineResult, other: EngineResult) -> bool:
    return repr(one) == repr(other)


def test_two_hops_with_ample_storage_carry_98_percent_of_the_lesser_rate():
    way = path(line("a", 2e6, 0.5), Hop(1, node(1), line("b", 1e6, 300.0)))
    objects = replace(layers(1000, segments=100), release_ns=np.zeros(1000, dtype=np.int64))
    result = simulate(config(way, objects=objects, duration_ns=10_000 * S))
    took_s = (result.objects.complete_ns.max() / S) - 300.5
    assert 1000 * 100 * WIRE * 8 / took_s >= 0.98 * 1e6


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ({"storage_bytes": 4000}, "'n1' has 4000 bytes; storage holds the largest layer, 4500 bytes"),
    ],
)
def test_what_a_node_cannot_take_custody_of_is_refused(broken, rule):
    way = path(line("a"), Hop(1, replace(node(1), **broken), line("b")))
    with pytest.raises(ValueError, match=rule):
        simulate(config(way, objects=layers(3)))


def test_others_connections_are_refused():
    way = replace(path(line("a"), Hop(1, node(1), line("b"))), flows=(Flow("cubic"),))
    with pytest.raises(ValueError, match="others' connections need nodes that forward packets"):
        simulate(config(way, objects=layers(3)))


def test_a_circle_is_refused():
    one = path(line("a"), Hop(1, node(1), line("b")), Hop(2, node(2), line("c")))
    other = path(line("d"), Hop(3, node(2), line("e")), Hop(4, node(1), line("f")))
    with pytest.raises(ValueError, match="lead in a circle"):
        stages_of(config(one, other, objects=layers(3)))


def test_a_node_that_boots_sends_nothing():
    """What waits for the contact at 1,000 s leaves 190 s later, with the boot's end."""
    boots = node(1, restart_ns=(990 * S,), boot_ns=200 * S, keeps_over_restart=True)
    away = line("b", delay_s=5.0, outages_ns=((0, 1000 * S),))
    result = simulate(config(path(line("a", delay_s=1.0), Hop(1, boots, away)), objects=layers(20)))
    assert result.objects.complete_ns.min() == 1190 * S + round(0.3 * S) + 5 * S


def test_a_node_that_boots_hears_nothing():
    """What comes at 101.3 s would leave at 105 s, with the boot's end: it is sent again, by a timer of 2 s at least."""
    boots = node(1, restart_ns=(95 * S,), boot_ns=10 * S, keeps_over_restart=True)
    way = path(line("a", delay_s=1.0), Hop(1, boots, line("b", delay_s=5.0)))
    result = simulate(config(way, objects=layers(20)))
    assert result.objects.complete_ns[10] > 106 * S + round(0.3 * S) + 5 * S


def test_what_has_come_in_part_is_lost_in_a_restart():
    """The first of three segments is there at 1.1 s; what comes after the restart is all sent again."""
    crashed = node(1, restart_ns=(round(1.15 * S),), boot_ns=0)
    result = simulate(config(path(line("a"), Hop(1, crashed, line("b", delay_s=5.0))), objects=layers(1)))
    (counts,) = result.nodes
    assert (counts.came_packets, counts.lost_in_restarts_packets, counts.dropped_packets) == (2, 1, 0)
    assert result.objects.complete_ns[0] > 0


@pytest.mark.parametrize(("release_ns", "is_refused"), [(10_100_000_056, True), (10_100_000_057, False)])
def test_at_one_instant_what_comes_finds_the_room_that_was(release_ns, is_refused):
    """A report of 56 bytes, at a byte a nanosecond, frees the node's room for one layer at 11.1 s and 56 ns: a layer
    arrives there 1.1 s after its release."""
    second = line("b", delay_s=5.0, up_rate_bps=8e9)
    objects = replace(layers(2, segments=1), release_ns=np.array([0, release_ns]))
    result = simulate(config(path(line("a"), Hop(1, node(1, WIRE), second)), objects=objects))
    assert (result.objects.sent_bytes[1] > 1460) == is_refused
    assert (result.objects.complete_ns > 0).all()


def test_at_one_instant_a_restart_goes_first():
    """A layer of one segment that comes at 1.1 s is not there yet."""
    crashed = node(1, restart_ns=(round(1.1 * S),), boot_ns=0)
    way = path(line("a"), Hop(1, crashed, line("b", delay_s=5.0)))
    result = simulate(config(way, objects=layers(1, segments=1)))
    assert result.nodes[0].lost_in_restarts_packets == 0
    assert result.objects.complete_ns[0] == round(6.2 * S)


@pytest.mark.parametrize(("duration_ns", "arrives"), [(round(6.2 * S), True), (round(6.2 * S) - 1, False)])
def test_what_arrives_as_the_run_ends_counts_and_a_slot_has_what_happens_at_its_end(duration_ns, arrives):
    """A layer is at the node at 1.1 s, the end of the first slot, and at the Earth at 6.2 s."""
    way = path(line("a"), Hop(1, node(1), line("b", delay_s=5.0)))
    one = config(way, objects=layers(1, segments=1), slot_ns=round(1.1 * S), duration_ns=duration_ns)
    result = simulate(one)
    assert (result.objects.complete_ns[0] > 0) == arrives
    assert result.end_ns == duration_ns
    assert result.nodes[0].slot_held_bytes.tolist() == 5 * [WIRE]


def test_a_run_is_over_when_the_last_layer_is_given_up_wherever_it_came() -> None:
    """The first link loses everything: the node never hears of the layer, and the sender gives it up."""
    way = path(line("a", unannounced_ns=((0, 90_000 * S),)), Hop(1, node(1), line("b", delay_s=5.0)))
    result = simulate(config(way, objects=layers(1)))
    assert result.nodes[0].came_packets == 0 and result.objects.given_up[0] == 1
    assert result.end_ns < 1000 * S
