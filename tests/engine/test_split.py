"""Nodes that end a TCP connection and begin another: what holds by the formulas, and on any network."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from dstcc.engine import (
    NEVER_NS,
    CrossTraffic,
    EngineConfig,
    EngineResult,
    Hop,
    Link,
    Loss,
    Node,
    Objects,
    Transport,
    clairvoyant_weight,
    simulate,
)

from .test_nodes import S, outages, path

WIRE, MSS = 1500, 1460


def line(name: str, rate_bps: float = 1e6, delay_s: float = 1.0, **keys: Any) -> Link:
    return Link(
        name=name,
        rate_bps=rate_bps,
        up_rate_bps=keys.pop("up_rate_bps", rate_bps),
        delay_t_ns=(0,),
        delay_ns=(round(delay_s * S),),
        queue_bytes=keys.pop("queue_bytes", 10**8),
        up_queue_bytes=10**9,
        **keys,
    )


def node(number: int, storage_bytes: int = 10**8, **keys: Any) -> Node:
    return Node(name=f"node{number}", number=number, forwards="split", storage_bytes=storage_bytes, **keys)


def layers(
    count: int, payload_bytes: int | np.ndarray = 14_600, gap_s: float = 0.0, **columns: Any
) -> Objects:
    number = np.arange(count)
    return Objects(
        chunk=number,
        layer=np.zeros(count, dtype=np.int64),
        payload_bytes=np.broadcast_to(np.asarray(payload_bytes, dtype=np.int64), count).copy(),
        release_ns=number * round(gap_s * S),
        deadline_ns=columns.pop("deadline_ns", np.full(count, NEVER_NS)),
    )


def config(*links: Link, objects: Objects, **keys: Any) -> EngineConfig:
    transport = {
        "congestion": "cubic",
        "scheduler": "minrtt",
        "mode": "lanes" if len(links) > 1 else "stream",
        **keys.pop("transport", {}),
    }
    return EngineConfig(
        seed=keys.pop("seed", 1),
        links=links,
        transport=Transport(**transport),
        objects=objects,
        slot_ns=keys.pop("slot_ns", 50 * S),
        duration_ns=keys.pop("duration_ns", 20_000 * S),
        **keys,
    )


def conserved(result: EngineResult) -> None:
    for of in result.nodes:
        assert of.came_packets == of.left_packets + of.held_packets
        assert of.dropped_packets == of.lost_in_restarts_packets == 0


def end_to_end(one: EngineConfig) -> EngineConfig:
    """The same over nodes that forward packets."""

    def hop(of: Hop) -> Hop:
        return replace(of, node=replace(of.node, forwards="packets"))

    return replace(one, links=tuple(replace(x, onward=tuple(map(hop, x.onward))) for x in one.links))


def test_a_layer_takes_each_hops_handshake_and_the_light_of_the_way() -> None:
    """SYN to the node, its answer, the segment; the node's own SYN leaves with the first, and is answered meanwhile.

    First hop 10 s, second 1 s: the segment is at the node at 10 + 10 + 10 s, three services of headers and one of its
    own in it, and the second hop is open since 10 + 1 + 1 s. So it arrives at 31 s and those services.
    """
    way = path(line("a", delay_s=10.0), Hop(1, node(1), line("b", delay_s=1.0)))
    result = simulate(config(way, objects=layers(1, MSS)))
    service = (40 * 2 + WIRE + WIRE) * 8 / 1e6
    assert result.objects.complete_ns[0] / S == pytest.approx(31 + service, abs=1e-6)


@pytest.mark.parametrize("delays", [(0.5, 300.0), (300.0, 0.5), (20.0, 20.0)])
def test_two_hops_with_ample_storage_carry_98_percent_of_the_lesser_rate(delays: tuple[float, float]) -> None:
    """A window of `fixed` fills each hop by itself: of 20,000 s the handshakes and light take 3 x 300."""
    way = path(line("a", 2e6, delays[0]), Hop(1, node(1, 10**9), line("b", 1e6, delays[1])))
    one = config(way, objects=layers(1, 10**10), transport={"congestion": "fixed"}, duration_ns=20_000 * S)
    sent_bytes = int(simulate(one).objects.delivered_bytes[0])
    assert sent_bytes >= 0.98 * (20_000 - 3 * sum(delays)) * 1e6 / 8 * MSS / WIRE


def test_a_loss_is_repaired_by_the_hop_that_had_it() -> None:
    """The far hop is clean and takes 300 s, the near one loses every twentieth packet and takes 10 ms: who splits
    repairs in round trips of 20 ms, and has all there at light's time and a few seconds."""
    way = path(
        line("near", 2e6, 0.01, loss=Loss("packet", rate=0.05)), Hop(1, node(1), line("far", 2e6, 300.0))
    )
    one = config(way, objects=layers(100), transport={"parameters": {}})
    split = simulate(one)
    assert (split.objects.complete_ns > 0).all()
    assert split.objects.complete_ns.max() < simulate(end_to_end(one)).objects.complete_ns.max()


def test_a_full_node_stops_its_sender_until_it_has_room() -> None:
    """The second hop is dark until 5,000 s; the node holds 30 kB = 20 packets, and its sender sends no more than that.

    Then all goes on: 200 packets over the two hops, a window of 20 a round trip of 2 s at the worst: 20 s and some.
    """
    dark = line("b", outages_ns=((100 * S, 5000 * S),))
    way = path(line("a"), Hop(1, node(1, 20 * WIRE), dark))
    objects = layers(20, gap_s=200.0)
    result = simulate(config(way, objects=objects))
    (held,) = result.nodes
    assert held.most_held_bytes <= 20 * WIRE
    assert result.hops[0].sent_packets - result.hops[0].lost_packets >= 200
    done = result.objects.complete_ns
    assert (done > 0).all() and done.max() < 5500 * S
    assert int(held.slot_held_bytes[60]) == 20 * WIRE  # at 3,000 s
    conserved(result)


def test_word_of_room_that_is_lost_is_asked_for() -> None:
    """No ACK comes back from the node between 90 and 6,000 s, when it frees all that it held at 5,000 s."""
    first = line("a", up_outages_ns=((1000 * S, 6000 * S),))
    way = path(first, Hop(1, node(1, 20 * WIRE), line("b", outages_ns=((100 * S, 5000 * S),))))
    result = simulate(config(way, objects=layers(20, gap_s=40.0)))
    assert (result.objects.complete_ns > 0).all()
    conserved(result)


def test_what_a_node_keeps_goes_on_after_its_restart() -> None:
    rng = Random(3)
    for seed in range(40):
        times = tuple(sorted(rng.sample(range(1, 40), 3)))
        crashed = node(1, restart_ns=tuple(t * 10 * S for t in times), boot_ns=5 * S, keeps_over_restart=True)
        loss = Loss("packet", rate=0.05)
        way = path(line("a", loss=loss, up_loss=loss), Hop(1, crashed, line("b", loss=loss, up_loss=loss)))
        result = simulate(config(way, objects=layers(40, gap_s=10.0), seed=seed))
        assert (result.objects.complete_ns > 0).all()
        conserved(result)


def test_others_datagrams_at_a_node_take_the_line_and_not_the_storage() -> None:
    half = CrossTraffic(rate_bps=0.5e6)
    way = path(line("a", 4e6), Hop(1, node(1), line("b", 1e6, cross_traffic=(half,))))
    one = config(way, objects=layers(1, 10**9), transport={"congestion": "fixed"}, duration_ns=2000 * S)
    alone = replace(one, links=(path(line("a", 4e6), Hop(1, node(1), line("b", 1e6))),))
    share = simulate(one).objects.delivered_bytes[0] / simulate(alone).objects.delivered_bytes[0]
    assert 0.45 < share < 0.75  # a constant window gives way to nobody; its queue holds what both want
    conserved(simulate(one))


@pytest.mark.parametrize(
    "keys",
    [{"nodes": "packets"}, {"transport": {"congestion": "ltp"}}, {"transport": {"mode": "coded"}}],
    ids=["mixed", "ltp", "coded"],
)
def test_what_has_no_connection_to_split_is_refused(keys: dict[str, Any]) -> None:
    second = replace(node(2), forwards=keys.pop("nodes", "split"))
    way = path(line("a"), Hop(1, node(1), line("b")), Hop(2, second, line("c")))
    with pytest.raises(ValueError, match="split: "):
        simulate(config(way, objects=layers(3), **keys))


@pytest.mark.parametrize(
    ("of_node", "of_transport", "said"),
    [
        ({"restart_ns": (5 * S,)}, {}, "a restart ends"),
        ({"storage_bytes": 2999}, {}, "each takes 2 packets of 1500"),
        ({}, {"receive_buffer_bytes": 10**6}, "the receiver's window"),
        ({}, {"scheduler": "linux"}, "'linux' goes by"),
    ],
)
def test_what_is_not_modelled_is_refused(
    of_node: dict[str, Any], of_transport: dict[str, Any], said: str
) -> None:
    way = path(line("a"), Hop(1, replace(node(1), **of_node), line("b")))
    with pytest.raises(ValueError, match=said):
        simulate(config(way, objects=layers(3), transport=of_transport))


def random_network(rng: Random) -> tuple[Link, ...]:
    """Up to eight nodes in layers: each path takes one of each; paths may share hops."""
    depth, width = rng.randrange(1, 4), rng.randrange(1, 3)
    nodes = {
        (d, w): node(
            d * 4 + w,
            rng.choice((12 * 2 * WIRE, 10**5, 10**8)),
            restart_ns=tuple(sorted({rng.randrange(1, 3000) * S for _ in range(rng.choice((0, 0, 2)))})),
            boot_ns=S // 2,
            keeps_over_restart=True,
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
            rng.choice((60e3, 120e3, 1e6)),
            rng.uniform(0.0, 20),
            outages_ns=outages(rng, 3000),
            up_outages_ns=outages(rng, 3000),
            loss=rng.choice((Loss(), Loss("packet", rate=0.05))),
            up_loss=rng.choice((Loss(), Loss("packet", rate=0.05))),
            queue_bytes=rng.choice((10 * WIRE, 10**8)),
            cross_traffic=rng.choice(((), (CrossTraffic(rate_bps=2e4),))),
        )

    entries = {w: some_line(f"first{w}") for w in range(width)}
    for _ in range(rng.randrange(1, 4)):
        at = [rng.randrange(width) for _ in range(depth)]
        onward = []
        for d, w in enumerate(at):
            to = at[d + 1] if d + 1 < depth else 0
            if (d, w, to) not in hops:
                hops[d, w, to] = Hop(len(hops) + 1, nodes[d, w], some_line(f"hop{d}{w}{to}"))
            onward.append(hops[d, w, to])
        sharing = firsts.setdefault(at[0], len(links))
        entry = entries[at[0]]
        first = entry if sharing == len(links) else replace(entry, cross_traffic=())
        links.append(
            path(
                first,
                *onward,
                first_hop_of=-1 if sharing == len(links) else sharing,
                subflows=rng.choice((1, 1, 3)),
            )
        )
    return tuple(links)


CONTROLS = ("cubic", "newreno", "bbr", "fixed", "open-loop", "westwood", "vegas", "olia")


@pytest.mark.parametrize(
    "seed",
    [
        *range(0, 40),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(40, 80)),
    ],
)
def test_on_any_network(seed: int) -> None:
    """Segments are conserved at nodes and on wires (the engine's own checks), nothing arrives before light, a node
    holds no more than it can and drops nothing, the result is below the bound, and the same again."""
    rng = Random(seed)
    links = random_network(rng)
    count = 60
    released = np.arange(count) * 20 * S
    due = released + rng.choice((200, 2000)) * S if rng.random() < 0.5 else np.full(count, NEVER_NS)
    payload = np.array([rng.randrange(1, 15_000) for _ in range(count)])
    objects = layers(count, payload, gap_s=20.0, deadline_ns=due)
    transport = {
        "congestion": rng.choice(CONTROLS),
        "mode": "lanes",
        "lanes_per_link": rng.choice((1, 3)),
        "apart": rng.random() < 0.5,
    }
    if transport["apart"]:
        transport["lanes_per_link"] = 1
    one = config(*links, objects=objects, seed=seed, duration_ns=8000 * S, transport=transport)
    result = simulate(one)
    conserved(result)
    done = result.objects.complete_ns >= 0
    least = min(link.delay_ns[0] for link in links)
    assert (result.objects.complete_ns[done] >= objects.release_ns[done] + least).all()
    assert (result.objects.delivered_bytes[done] == objects.payload_bytes[done]).all()
    storage = {hop.node.number: hop.node.storage_bytes for link in links for hop in link.onward}
    assert all(n.most_held_bytes <= storage[n.number] for n in result.nodes)
    in_time = done & (result.objects.complete_ns <= objects.deadline_ns)
    assert in_time.sum() <= clairvoyant_weight(one, np.ones(count)) + 1e-6
    assert repr(result) == repr(simulate(one))
    if due[0] == NEVER_NS and transport["congestion"] in ("cubic", "newreno"):
        assert done.all()


def times_s(counts: np.ndarray, slot_s: float) -> np.ndarray:
    """The ends of the slots in which something was sent."""
    return (np.flatnonzero(np.diff(counts)) + 2) * slot_s


def test_a_sender_asks_for_room_after_a_timeout_and_then_ever_more_rarely() -> None:
    """The node is full again from 1,021 s on; the round trip is 2 s, its variation hardly any, and the least that a
    timeout adds to it 0.2 s. Questions are then two, four, .. timeouts apart, and at last 120 s."""
    dark = line("b", outages_ns=((0, 1000 * S), (1020 * S, 20_000 * S)))
    way = path(line("a"), Hop(1, node(1, 20 * WIRE), dark))
    (hop, _) = simulate(
        config(
            way,
            objects=layers(40),
            slot_ns=S // 10,
            duration_ns=12_000 * S,
            transport={"receive_buffer_bytes": 0},
        )
    ).hops
    answers_s, sent_s = times_s(hop.slot_up_sent_packets, 0.1), times_s(hop.slot_sent_packets, 0.1)
    heard_s = answers_s[answers_s < 1025].max() + 1
    asked_s = sent_s[sent_s > heard_s]
    timeout_s = asked_s[0] - heard_s
    assert 2.2 <= timeout_s < 3.2
    gaps_s = np.diff(asked_s)
    assert gaps_s[:5] == pytest.approx(timeout_s * np.array([2, 4, 8, 16, 32]), rel=0.06)
    assert (
        gaps_s[5:] == pytest.approx(120, abs=0.11) and len(gaps_s) == 5 + (12_000 - round(asked_s[5])) // 120
    )


def test_what_a_sender_is_told_of_its_links_is_not_told_to_nodes() -> None:
    """A window of four packets fills the near hop of 0.02 s, and not the far one of 600 s."""
    way = path(line("near", 1e6, 0.01), Hop(1, node(1, 10**9), line("far", 1e6, 300.0)))
    told = {"congestion": "fixed", "parameters": {"fixed": {"cwnd_segments": [4]}}}
    result = simulate(config(way, objects=layers(100), transport=told, duration_ns=2000 * S))
    assert result.objects.complete_ns.max() < 1300 * S and result.objects.complete_ns.min() > 0


@pytest.mark.parametrize("congestion", ["cubic", "bbr"])
def test_a_node_that_boots_sends_nothing(congestion: str) -> None:
    """Over lines that lose packets, with its clock for ACKs, timeouts and pacing running on: 40 boots of 5 s, at the
    ends of which it does what was due."""
    loss = Loss("packet", rate=0.03)
    boots = [(t, t + 5) for t in range(20, 2020, 50)]
    crashed = node(1, restart_ns=tuple(t * S for t, _ in boots), boot_ns=5 * S, keeps_over_restart=True)
    way = path(line("a", loss=loss, up_loss=loss), Hop(1, crashed, line("b", loss=loss, up_loss=loss)))
    one = config(
        way, objects=layers(1, 10**9), slot_ns=S, duration_ns=2020 * S, transport={"congestion": congestion}
    )
    near, far = simulate(one).hops
    for sent in (near.slot_up_sent_packets, far.slot_sent_packets):
        assert [int(sent[up - 2] - sent[at - 1]) for at, up in boots] == [0] * len(boots) and sent[-1] > 500


def test_what_comes_while_a_node_boots_is_sent_again() -> None:
    """The SYN's answer comes to it at 10.4 s, the segment at 30 s, its ACK at 30.4 s: each time the node boots then,
    and a packet more goes over the hop on which it came or was answered."""

    def packets(*boots: float) -> tuple[int, int]:
        crashed = node(
            1, restart_ns=tuple(round(t * S) for t in boots), boot_ns=S // 5, keeps_over_restart=bool(boots)
        )
        way = path(line("a", delay_s=10.0), Hop(1, crashed, line("b", delay_s=0.2)))
        near, far = simulate(config(way, objects=layers(2, MSS, gap_s=200.0))).hops
        return near.sent_packets, far.sent_packets

    near, far = packets()
    assert packets(10.3) == (near, far + 1)
    assert packets(29.9) == (near + 1, far)
    assert packets(30.3) == (near, far + 1)


def test_a_node_hears_of_room_at_once_and_asks_where_the_word_is_lost() -> None:
    """Two nodes hold ten packets each; the last hop is dark until 5,000 s, and carries ten packets a round trip of 2 s
    from the timeout after that on. Where no word comes to the first node until 5,100 s it asks, at most 120 s later."""

    def done_s(*silent: tuple[int, int]) -> np.ndarray:
        way = path(
            line("a"),
            Hop(1, node(1, 10 * WIRE), line("b", up_outages_ns=tuple((a * S, b * S) for a, b in silent))),
            Hop(2, node(2, 10 * WIRE), line("c", outages_ns=((20 * S, 5000 * S),))),
        )
        result = simulate(config(way, objects=layers(8, gap_s=1.0)))
        conserved(result)
        done: np.ndarray = result.objects.complete_ns / S
        return done[done > 5000]

    heard_s = done_s()
    assert len(heard_s) == 4 and heard_s[-1] - heard_s[0] < 20 and heard_s[-1] < 5100
    assert 5100 < done_s((4900, 5100))[-1] < 5100 + 120 + 20


@pytest.mark.parametrize(("segments", "words"), [(1, 0), (2, 1), (3, 2)])
def test_room_is_said_unasked_where_what_is_known_has_doubled(segments: int, words: int) -> None:
    """A node of four packets, of which the hop behind acknowledges one by one. Of one segment three places are known,
    and four are not twice as many; of two, two are known, then four free; of three, one, then two, then four."""
    way = path(line("a", delay_s=0.01), Hop(1, node(1, 4 * WIRE), line("b", delay_s=100.0)))
    objects = layers(2, np.array([segments, 1]) * MSS, gap_s=1000.0)
    (near, _) = simulate(config(way, objects=objects)).hops
    between = int(near.slot_up_sent_packets[18] - near.slot_up_sent_packets[3])  # 200 to 950 s
    assert between == words


def test_a_nodes_control_goes_by_its_own_line() -> None:
    """A window of `fixed` is the packets of a round trip: of 12 ms on the far line, on the near one of 120. So the
    6,850 packets that the node has by 3,000 s take 82 s and 40 of light, not a round trip for each 335."""
    near, far = line("near", 0.1e6, 0.01), line("far", 1e6, 20.0, outages_ns=((0, 3000 * S),))
    one = config(
        path(near, Hop(1, node(1), far)), objects=layers(1, 10**7), transport={"congestion": "fixed"}
    )
    assert 3120 * S < simulate(one).objects.complete_ns[0] < 3400 * S


def test_room_that_an_ack_has_said_is_known() -> None:
    """A segment every 300 s finds the node empty, and its ACK says so: three places of four are known then, and the
    fourth is no word's worth. What goes back are the SYN's answer and three ACKs."""
    way = path(line("a", delay_s=0.01), Hop(1, node(1, 4 * WIRE), line("b", delay_s=50.0)))
    (near, _) = simulate(config(way, objects=layers(3, MSS, gap_s=300.0))).hops
    assert near.up_sent_packets == 4


@pytest.mark.parametrize("bulk", [False, True], ids=["bursts", "bulk"])
@pytest.mark.parametrize("congestion", ["cubic", "newreno", "vegas", "westwood", "bic"])
def test_a_node_sends_as_a_sender_of_plain_tcp_would_that_has_the_data(congestion: str, bulk: bool) -> None:
    """A hop of no time before a far one: beside a sender on the far one alone, with the same packets lost in outages
    that nobody announced, all is there within a millisecond; the SYN is one packet more."""
    for seed in range(40):
        rng = Random(seed)
        ends = sorted(rng.sample(range(1000, 90_000), 16))
        quiet = tuple(
            (a * S // 1000, min(b, a + rng.choice((20, 300, 2000))) * S // 1000)
            for a, b in zip(ends[::2], ends[1::2], strict=True)
        )
        far = line("far", delay_s=rng.uniform(0.1, 0.45), unannounced_ns=quiet)
        payload = np.array([rng.randrange(1, 30 * MSS) for _ in range(20)])
        objects = layers(20, payload, gap_s=rng.uniform(0.5, 4.0))
        if bulk:
            objects = layers(1, 4 * int(payload.sum()))
        transport = {"congestion": congestion, "option_bytes": 0}
        alone = simulate(config(far, objects=objects, transport=transport))
        split = simulate(
            config(path(line("near", 1e12, 0.0), Hop(1, node(1), far)), objects=objects, transport=transport)
        )
        assert split.objects.complete_ns == pytest.approx(alone.objects.complete_ns, abs=S // 1000)
        (_, hop) = split.hops
        assert hop.sent_packets == alone.totals.data_packets + 1
        assert hop.lost_packets == alone.totals.lost_channel_packets
