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


@pytest.mark.parametrize("seed", range(80))
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
