"""Paths over nodes: when packets arrive by the formulas alone, what a node drops, and what holds on any network."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

from dstcc.engine import (
    NEVER_NS,
    Coding,
    CrossTraffic,
    EngineConfig,
    EngineResult,
    Hop,
    Link,
    Loss,
    Node,
    Objects,
    TcpConstants,
    Transport,
    clairvoyant_weight,
    simulate,
)

S = 1_000_000_000
WIRE = 1500
PATIENT = TcpConstants(rto_initial_s=1e5, rto_min_s=1e5, rto_max_s=2e5, tlp_min_s=1e5)
"""Nothing is sent twice because an answer takes its time."""


def line(name: str, rate_bps: float = 120_000.0, delay_s: float = 1.0, **keys: Any) -> Link:
    return Link(
        name=name,
        rate_bps=rate_bps,
        up_rate_bps=keys.pop("up_rate_bps", rate_bps),
        delay_t_ns=(0,),
        delay_ns=(round(delay_s * S),),
        queue_bytes=keys.pop("queue_bytes", 10**9),
        up_queue_bytes=10**9,
        **keys,
    )


def path(first: Link, *onward: Hop, **keys: Any) -> Link:
    total = first.delay_ns[0] + sum(hop.line.delay_ns[0] for hop in onward)
    return replace(
        first, delay_ns=(total,), first_t_ns=(0,), first_delay_ns=first.delay_ns, onward=onward, **keys
    )


def packets(count: int, gap_s: float = 0.05, layers: int = 1, **columns: Any) -> Objects:
    """Layers of one full packet each."""
    number = np.arange(count)
    return Objects(
        chunk=number // layers,
        layer=number % layers,
        payload_bytes=np.full(count, 1460),
        release_ns=(number // layers * round(gap_s * S)) + 100 * S,
        deadline_ns=columns.pop("deadline_ns", np.full(count, NEVER_NS)),
    )


def config(*links: Link, objects: Objects, **keys: Any) -> EngineConfig:
    transport = {
        "congestion": "fixed",
        "scheduler": "minrtt",
        "constants": PATIENT,
        **keys.pop("transport", {}),
    }
    transport.setdefault("parameters", {"fixed": {"cwnd_segments": (10**6,) * len(links)}})
    return EngineConfig(
        seed=keys.pop("seed", 1),
        links=links,
        transport=Transport(**transport),
        objects=objects,
        slot_ns=keys.pop("slot_ns", 50 * S),
        **keys,
    )


def outages(rng: Random, until_s: float) -> tuple[tuple[int, int], ...]:
    times = sorted({rng.randrange(1, round(until_s * S)) for _ in range(rng.choice((0, 2, 6)))})
    return tuple(pairwise(times))[::2]


def conserved(result: EngineResult) -> None:
    for node in result.nodes:
        ended = node.left_packets + node.dropped_packets + node.lost_in_restarts_packets
        assert node.came_packets == ended + node.held_packets


def expected(first: Link, hops: tuple[Hop, ...], sent_ns: np.ndarray) -> list[int]:
    """When packets arrive at Earth that all nodes have room for: on each line after the one before, not in the dark."""
    times = [int(t) for t in sent_ns]
    for number, on in enumerate((first, *(hop.line for hop in hops))):
        service, busy, out = round(WIRE * 8e9 / on.rate_bps), 0, []
        for at in times:
            start = max(at, busy)
            for begin, end in on.outages_ns if number else ():
                if start + service > begin and start < end:
                    start = end
            busy = start + service
            out.append(busy + on.delay_ns[0])
        times = out
    return times


@pytest.mark.parametrize("seed", range(25))
def test_a_packet_waits_where_a_line_is_taken_or_away_and_nowhere_else(seed):
    rng = Random(seed)
    first = line("first", rng.choice((60e3, 120e3, 600e3)), rng.uniform(0.1, 5))
    hops = tuple(
        Hop(
            h,
            Node(f"n{h}", h, storage_bytes=10**8),
            line(
                f"h{h}", rng.choice((60e3, 120e3, 600e3)), rng.uniform(0.1, 5), outages_ns=outages(rng, 300)
            ),
        )
        for h in range(rng.randint(1, 4))
    )
    result = simulate(config(path(first, *hops), objects=packets(150, rng.choice((0.05, 0.2)))))
    arrived = expected(first, hops, result.objects.first_sent_ns)
    np.testing.assert_allclose(result.objects.first_arrival_ns, arrived, atol=len(hops) + 1, rtol=0)
    conserved(result)


def test_light_times_add_up_to_the_nanosecond():
    delays = (1.000000001, 2.000000003, 300.000000007)
    hops = [Hop(h, Node(f"n{h}", h), line(f"h{h}", 12e9, d)) for h, d in enumerate(delays[1:])]
    result = simulate(config(path(line("first", 12e9, delays[0]), *hops), objects=packets(1)))
    took = result.objects.first_arrival_ns - result.objects.first_sent_ns
    assert took.tolist() == [sum(round(d * S) for d in delays) + 3 * 1000]


def held(when_full: str, kept: int, count: int = 12, layers: int = 3, **node: Any) -> EngineResult:
    """Packets come at a node whose line is away for so long that nothing is heard of them; it has room for ``kept``."""
    keys = {"storage_bytes": kept * WIRE, "when_full": when_full, **node}
    # the SYN has passed before, and its answer
    hop = Hop(1, Node("n", 1, **keys), line("b", 1.2e6, outages_ns=((50 * S, 1000 * S),)))
    return simulate(
        config(
            path(line("a", 1.2e6), hop),
            objects=packets(count, layers=layers),
            duration_ns=1002 * S,
        )
    )


@pytest.mark.parametrize(
    ("when_full", "kept"),
    [
        ("drop-tail", [0, 1, 2, 3, 4]),
        ("drop-head", [7, 8, 9, 10, 11]),
        ("lowest-layer", [0, 1, 3, 6, 9]),  # all base layers, and the oldest of those above
    ],
)
def test_what_a_full_node_keeps(when_full, kept):
    result = held(when_full, 5)
    assert np.flatnonzero(result.objects.first_arrival_ns >= 0).tolist() == kept
    assert result.nodes[0].dropped_packets == result.totals.dropped_queue_packets == 7
    assert result.nodes[0].most_held_bytes == 5 * WIRE
    assert result.nodes[0].slot_held_bytes.max() == 5 * WIRE
    conserved(result)


@pytest.mark.parametrize(("keeps", "arrive"), [(True, 12), (False, 0)])
def test_a_restart_loses_what_is_held_unless_it_is_kept(keeps, arrive):
    result = held("drop-tail", 100, restart_ns=(500 * S,), boot_ns=10 * S, keeps_over_restart=keeps)
    assert (result.objects.first_arrival_ns >= 0).sum() == arrive
    assert result.nodes[0].lost_in_restarts_packets == 12 - arrive
    by_slot = result.nodes[0].slot_lost_in_restarts_packets  # of 50 s
    assert by_slot.tolist() == [0] * 9 + [12 - arrive] * (len(by_slot) - 9)
    conserved(result)


def test_what_comes_while_a_node_boots_is_lost():
    result = held("drop-tail", 100, restart_ns=(90 * S,), boot_ns=400 * S, keeps_over_restart=True)
    assert result.nodes[0].lost_in_restarts_packets == 12


def test_a_node_that_boots_sends_nothing():
    """What waits for 1,000 s, when the line comes back, leaves 190 s later, with the boot's end."""
    far = Hop(
        1,
        Node(
            "n",
            1,
            storage_bytes=100 * WIRE,
            restart_ns=(990 * S,),
            boot_ns=200 * S,
            keeps_over_restart=True,
        ),
        line("b", 1.2e6, outages_ns=((50 * S, 1000 * S),)),
    )
    result = simulate(config(path(line("a", 1.2e6), far), objects=packets(12), duration_ns=2000 * S))
    assert result.objects.complete_ns.min() == round((1190 + 0.01 + 1) * S)


@pytest.mark.parametrize("count", [1, 12])
def test_a_restart_leaves_what_is_on_the_line_alone(count):
    """A packet takes 10 s there: that which has begun at 100 s and something arrives once, and all others after it."""
    keeps = Node("n", 1, storage_bytes=100 * WIRE, restart_ns=(105 * S,), keeps_over_restart=True)
    way = path(line("a", 1.2e6), Hop(1, keeps, line("b", 1200.0)))
    result = simulate(config(way, objects=packets(count), duration_ns=2000 * S))
    (node,) = result.nodes
    # the SYN, and an answer to each
    assert node.left_packets == 1 + 2 * count and (result.objects.complete_ns > 0).all()
    assert result.hops[1].sent_packets == 1 + count and node.held_packets == 0
    conserved(result)


def kept_of(rule: str, room: int, came: list[tuple[int, int]], service: int) -> list[int]:
    """Which of the packets that come, with their layers, a node sends that has room for so many, one after the other.

    At one instant what comes is before the end of a service; what is in service stays."""
    waiting: list[int] = []
    served: list[int] = []
    ends = NEVER_NS
    for number, (at, layer) in enumerate([*came, (NEVER_NS, 0)]):
        while ends < at:
            served += waiting[:1]
            ends = ends + service if waiting else NEVER_NS
            del waiting[:1]
        if at == NEVER_NS:
            break
        if ends < NEVER_NS and len(waiting) + 1 >= room:
            above = [other for other in waiting if came[other][1] > layer]
            if rule == "drop-head" and waiting:
                del waiting[0]
            elif rule == "lowest-layer" and above:
                waiting.remove(max(above, key=lambda other: (came[other][1], other)))
            else:
                continue
        if ends == NEVER_NS:
            served, ends = [*served, number], at + service
        else:
            waiting.append(number)
    return sorted(served)


@pytest.mark.parametrize("rule", ["drop-tail", "drop-head", "lowest-layer"])
@pytest.mark.parametrize("seed", range(6))
def test_what_a_node_keeps_that_sends_meanwhile(rule, seed):
    """Nothing is heard of it before all is there: the answers would take room, too."""
    rng = Random(seed)
    first, room, layers = line("a", 1.2e6), rng.randint(1, 12), rng.randint(2, 4)
    service_ms = rng.randint(12, 25)  # of a packet, of which one comes every 12 ms
    last = line("b", WIRE * 8e3 / service_ms, 40.0)
    way = path(first, Hop(1, Node("n", 1, storage_bytes=room * WIRE, when_full=rule), last))
    result = simulate(config(way, objects=packets(90, 0.012 * layers, layers=layers), duration_ns=175 * S))
    came = sorted(zip(expected(first, (), result.objects.first_sent_ns), range(90), strict=True))
    served = kept_of(rule, room, [(at, number % layers) for at, number in came], service_ms * 10**6)
    assert (
        sorted(came[place][1] for place in served)
        == np.flatnonzero(result.objects.first_arrival_ns >= 0).tolist()
    )
    conserved(result)


def test_at_one_instant_what_comes_is_before_the_end_of_a_service_in_the_order_of_links():
    """A packet leaves at 401.02 s, when one comes over each of two links: there is room for one of them."""
    shared = Hop(9, Node("n", 1, storage_bytes=2 * WIRE), line("b", 1.2e6, 40.0))
    objects = replace(packets(3), release_ns=np.array([400 * S, 400 * S + S // 100, 400 * S + S // 100]))
    result = simulate(
        config(
            path(line("a", 1.2e6), shared),
            path(line("c", 1.2e6), shared),
            objects=objects,
            duration_ns=475 * S,
            transport={"scheduler": "round-robin", "mode": "lanes"},
        )
    )
    assert result.objects.subflow.tolist() == [0, 1, 0]
    assert (result.objects.first_arrival_ns >= 0).tolist() == [True, False, True], "over the first link first"
    assert result.nodes[0].dropped_packets == 1 and result.nodes[0].most_held_bytes == 2 * WIRE


@pytest.mark.parametrize(("late_ns", "lost"), [(0, 0), (1, 1)])
def test_what_comes_as_a_node_is_up_again_is_not_lost(late_ns, lost):
    """The packet is there at 101.01 s."""
    node = Node("n", 1, storage_bytes=10**6, restart_ns=(90 * S,), boot_ns=11 * S + S // 100 + late_ns)
    way = path(line("a", 1.2e6), Hop(1, node, line("b", 1.2e6)))
    result = simulate(config(way, objects=packets(1), duration_ns=200 * S))
    assert result.nodes[0].lost_in_restarts_packets == lost


def test_the_most_that_a_node_held_stays_said():
    """12 packets until the contact at 1,000 s, and one at 1,500 s."""
    objects = packets(13)
    objects = replace(objects, release_ns=np.append(objects.release_ns[:12], 1500 * S))
    hop = Hop(1, Node("n", 1, storage_bytes=10**6), line("b", 1.2e6, outages_ns=((50 * S, 1000 * S),)))
    result = simulate(config(path(line("a", 1.2e6), hop), objects=objects, duration_ns=2000 * S))
    assert (result.objects.complete_ns > 0).all() and result.nodes[0].most_held_bytes == 12 * WIRE


def test_others_datagrams_wait_in_the_storage_and_take_the_line():
    """Eight of 1,500 bytes a second for 100 s, and 12 packets: all wait for the contact at 200 s."""
    others = CrossTraffic(rate_bps=96_000.0, start_ns=100 * S, stop_ns=200 * S)
    last = line("b", 1.2e6, outages_ns=((50 * S, 200 * S),), cross_traffic=(others,))
    way = path(line("a", 1.2e6), Hop(1, Node("n", 1, storage_bytes=10**7), last))
    result = simulate(config(way, objects=packets(12), duration_ns=2000 * S))
    assert result.nodes[0].most_held_bytes == (800 + 12) * WIRE
    assert result.hops[1].sent_packets > 13 + 100
    conserved(result)


def test_what_a_queue_without_storage_drops_its_node_has_dropped():
    way = path(line("a", 1.2e6), Hop(1, Node("n", 1), line("b", 1200.0, queue_bytes=3 * WIRE)))
    result = simulate(config(way, objects=packets(12, 0.0), duration_ns=2000 * S))
    assert result.nodes[0].dropped_packets == result.hops[1].dropped_packets == 9
    conserved(result)


def test_without_storage_an_outage_loses_what_is_in_service():
    hop = Hop(1, Node("n", 1), line("b", 1.2e6, outages_ns=((50 * S, 1000 * S),)))
    result = simulate(config(path(line("a", 1.2e6), hop), objects=packets(12), duration_ns=1002 * S))
    assert result.totals.lost_channel_packets == 12
    assert (result.objects.first_arrival_ns < 0).all()


def test_two_hops_carry_98_percent_of_the_lesser_rate():
    hop = Hop(1, Node("n", 1, storage_bytes=10**8), line("b", 1e6))
    result = simulate(config(path(line("a", 2e6), hop), objects=packets(8_000, 0.001)))
    took_s = (result.objects.complete_ns.max() - result.objects.first_arrival_ns.min()) / S
    assert 8_000 * WIRE * 8 / took_s >= 0.98e6


@pytest.mark.parametrize("mode", ["lanes", "coded"])
def test_open_loops_divide_a_first_link_that_their_paths_share(mode):
    """Two at half the line's rate each fill it, and its queue of ten packets drops none."""
    first = line("a", 120_000.0, queue_bytes=10 * WIRE)
    node = Node("n", 1, storage_bytes=10**8)
    paths = [path(first, Hop(n, node, line(f"b{n}")), first_hop_of=n - 2) for n in (1, 2)]
    coding = Coding(period=np.arange(4000), block_ns=S) if mode == "coded" else None
    result = simulate(
        config(
            *paths,
            objects=packets(4000, gap_s=0.01),
            coding=coding,
            duration_ns=1000 * S,
            transport={"congestion": "open-loop", "mode": mode, "parameters": {}},
        )
    )
    assert result.hops[0].dropped_packets <= 20  # the handshakes' and the first windows' bursts
    assert result.objects.complete_ns.max() > 0
    assert {int(s) for s in result.objects.subflow} == {0, 1}


def test_paths_that_share_a_hop_meet_in_its_queue():
    # each would have 120 kbit/s for itself
    shared = Hop(9, Node("n", 1, storage_bytes=10**7), line("b", 120e3))
    one = config(
        path(line("a", 120e3), shared),
        path(line("c", 120e3), shared),
        objects=packets(200, 0.05),
        transport={"parameters": {"fixed": {"cwnd_segments": (50, 50)}}},
    )
    result = simulate(one)
    arrivals = np.sort(result.objects.first_arrival_ns)
    assert np.diff(arrivals).min() >= round(WIRE * 8e9 / 120e3) - 1
    assert set(result.objects.subflow) == {0, 1}
    assert len(result.nodes) == 1


def random_network(rng: Random) -> EngineConfig:
    """Up to 8 nodes in rows between two ends, some of whose hops paths share."""
    nodes = [
        Node(
            f"n{n}",
            n,
            storage_bytes=rng.choice((0, 3 * WIRE, 40 * WIRE, 10**8)),
            when_full=rng.choice(("drop-tail", "drop-head", "lowest-layer")),
            restart_ns=tuple(sorted(rng.sample(range(50 * S, 400 * S, 30 * S), rng.choice((0, 0, 2))))),
            boot_ns=rng.choice((0, 20 * S)),
            keeps_over_restart=rng.random() < 0.5,
        )
        for n in range(rng.randint(1, 8))
    ]

    def any_line(name: str, ends: bool) -> Link:
        return line(
            name,
            rng.choice((60e3, 120e3, 1e6)),
            rng.uniform(0.01, 20),
            up_rate_bps=rng.choice((12e3, 120e3)),
            queue_bytes=rng.choice((5, 1000)) * WIRE,
            loss=rng.choice((Loss(), Loss("packet", 0.05), Loss("gilbert-elliott", p=0.02, r=0.2))),
            outages_ns=outages(rng, 400),
            up_outages_ns=outages(rng, 400),
            cross_traffic=()
            if ends or rng.random() < 0.6
            else (CrossTraffic(rate_bps=20e3, packet_bytes=500),),
        )

    hops: dict[tuple[int, int], Hop] = {}
    last: dict[int, Hop] = {}
    paths: list[Link] = []
    firsts: dict[int, int] = {}
    for p in range(rng.randint(1, 3)):
        # rising numbers, so that a hop of two paths leads to one node
        way = sorted(rng.sample(range(len(nodes)), rng.randint(1, min(4, len(nodes)))))
        onward = [
            hops.setdefault((a, b), Hop(100 + 10 * a + b, nodes[a], any_line(f"h{a}{b}", False)))
            for a, b in pairwise(way)
        ]
        onward.append(last.setdefault(way[-1], Hop(way[-1], nodes[way[-1]], any_line(f"e{way[-1]}", False))))
        if way[0] in firsts:
            first = paths[firsts[way[0]]]
            base = replace(first, delay_ns=first.first_delay_ns, onward=())
            paths.append(path(base, *onward, name=f"p{p}", first_hop_of=firsts[way[0]]))
        else:
            firsts[way[0]] = p
            paths.append(path(any_line(f"p{p}", True), *onward))
    count = rng.choice((40, 300))
    deadline_s = rng.choice((None, 30, 200))
    objects = packets(count, rng.choice((0.05, 1.0)), layers=rng.choice((1, 2, 4)))
    if deadline_s:
        objects = replace(objects, deadline_ns=objects.release_ns + deadline_s * S)
    mode = rng.choice(("stream", "lanes", "coded"))
    congestion = (
        rng.choice(("cubic", "bbr", "newreno")) if mode != "coded" else rng.choice(("open-loop", "cubic"))
    )
    coding = None
    if mode == "coded":
        coding = Coding(period=objects.chunk // 10, block_ns=10 * S, repair=(0.2, 0.1))
    return config(
        *paths,
        objects=objects,
        seed=rng.randrange(1000),
        transport={
            "congestion": congestion,
            "mode": mode,
            "constants": TcpConstants(),
            "scale": rng.choice((1.0, 5.0)),
            "parameters": {},
            "drop_late": deadline_s is not None,
        },
        coding=coding,
        duration_ns=rng.choice((NEVER_NS, 600 * S)),
    )


@pytest.mark.parametrize(
    "first",
    [
        *range(0, 60, 10),
        *(pytest.param(first, marks=pytest.mark.slow) for first in range(60, 120, 10)),
    ],
)
def test_what_holds_on_any_network(first):
    for seed in range(first, first + 10):
        one = random_network(Random(seed))
        result = simulate(one)
        conserved(result)
        seen = result.objects.first_arrival_ns >= 0
        took = (result.objects.first_arrival_ns - result.objects.first_sent_ns)[seen]
        assert (took > min(p.delay_ns[0] for p in one.links)).all(), seed
        in_time = (result.objects.complete_ns >= 0) & (result.objects.complete_ns <= one.objects.deadline_ns)
        ones = np.ones(len(in_time))
        assert in_time.sum() <= clairvoyant_weight(one, ones, any_packets=True) + 1e-6, seed
        again = simulate(one)
        assert again.end_ns == result.end_ns
        for name, column in vars(result.objects).items():
            assert (column == getattr(again.objects, name)).all(), (seed, name)
        for node, other in zip(result.nodes, again.nodes, strict=True):
            assert (node.slot_held_bytes == other.slot_held_bytes).all()


def test_an_answer_may_come_to_a_node_before_what_waits_at_it_arrives():
    """The node's line is slow and near, and the first hop far: a receiving end could take all that is on its way at
    once, but its answers are at the node before the last of it."""
    way = path(line("a", 12e6, 10.0), Hop(1, Node("n", 1), line("b", delay_s=0.01)))
    result = simulate(config(way, objects=packets(200, gap_s=0.001)))
    conserved(result)
    arrived = np.sort(result.objects.first_arrival_ns)
    assert np.diff(arrived).tolist() == 199 * [round(WIRE * 8e9 / 120e3)]


@pytest.mark.parametrize("first", range(0, 60, 15))
def test_nodes_that_go_ahead_of_each_other_do_what_the_order_of_time_gives(first):
    """Nobody goes beyond the next sample, so samples at each tick keep all to it; without deadlines they do nothing
    else, but where coded paths give way to each other."""
    for seed in range(first, first + 15):
        one = random_network(Random(seed))
        if one.coding is not None and any(way.first_hop_of >= 0 for way in one.links):
            continue
        never = np.full_like(one.objects.deadline_ns, NEVER_NS)
        one = replace(
            one,
            objects=replace(one.objects, deadline_ns=never),
            transport=replace(one.transport, drop_late=False),
        )
        ahead, in_order = simulate(one), simulate(replace(one, slot_ns=S // 20))
        assert ahead.end_ns == in_order.end_ns, seed
        for name, column in vars(ahead.objects).items():
            assert (column == getattr(in_order.objects, name)).all(), (seed, name)
        for mine, other in zip((*ahead.nodes, *ahead.hops), (*in_order.nodes, *in_order.hops), strict=True):
            for name, value in vars(mine).items():
                assert "slot" in name or value == getattr(other, name), (seed, name)


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ({"onward": lambda hop: (hop, replace(hop, number=2))}, "no loop"),
        ({"onward": lambda hop: (replace(hop, node=replace(hop.node, storage_bytes=100)),)}, "full packet"),
        ({"first_hop_of": lambda hop: 0}, "earlier"),
        ({"drops": lambda hop: ((1, 1),)}, "script"),
    ],
)
def test_a_path_that_is_none_is_refused(broken, rule):
    hop = Hop(1, Node("n", 1), line("b"))
    good = path(line("a"), hop)
    with pytest.raises(ValueError, match=rule):
        simulate(config(replace(good, **{k: make(hop) for k, make in broken.items()}), objects=packets(1)))
