"""Lanes with a window each: connections of their own, side by side on their links."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dstcc.engine import NEVER_NS, EngineResult, Link, Loss, Objects, TcpConstants

from . import net


def lanes(
    congestion: str, links: tuple[Link, ...], each: int, *, apart: bool = True, **knobs: object
) -> EngineResult:
    """``each`` lanes a link, with a window each or with their link's."""
    if not apart:
        return net.run(congestion, links, mode="lanes", lanes_per_link=each, **knobs)
    links = tuple(replace(link, subflows=link.subflows * each) for link in links)
    return net.run(congestion, links, mode="lanes", apart=True, **knobs)


def test_every_lane_brings_an_initial_window() -> None:
    # RTT 1 s. All handshakes at once; from 1 s on each of 4 lanes of 2 links sends its 10 segments at once, and nothing
    # more until the first ACK at 2 s. 200 layers of one segment wait, so no lane is short of them.
    objects = net.live(200, (net.MSS,), chunk_s=1e-4)
    result = lanes("newreno", (net.link(), net.link()), 4, objects=objects, duration_s=1.9, slot_s=1.9)
    assert result.samples.sent_segments.tolist() == [10] * 8
    shared = lanes(
        "newreno", (net.link(), net.link()), 4, apart=False, objects=objects, duration_s=1.9, slot_s=1.9
    )
    assert shared.samples.sent_segments.tolist() == [10] * 2


def test_a_lanes_handshake_has_three_packets() -> None:
    # 40 bytes take 10 ms of a line of 32 kbit/s, a segment 375 ms; a way takes 5 s. The SYNs leave behind each
    # other, by 0.01 and 0.02 s, and so do the answers. The first lane's ACK and its ten segments take the line from
    # 10.02 to 13.78 s, the second's ACK, there since 10.03 s, and its first segment from then to 14.165 s.
    slow = net.link(rate_bps=32e3, rtt_s=10.0)
    objects = net.live(2, (10 * net.MSS,), chunk_s=1e-4)
    result = lanes("newreno", (slow,), 2, objects=objects, duration_s=30, slot_s=30)
    assert result.objects.first_arrival_ns.tolist() == [net.ns(15.405), net.ns(19.165)]


@pytest.mark.parametrize(("scheduler", "wait_s"), [("linux", 0.0), ("minrtt", 0.04)])
def test_the_end_of_a_write_is_acknowledged_when_it_is_read(scheduler: str, wait_s: float) -> None:
    # Three segments, of which two make a pair; Linux's writer pushes the third, and nothing waits for an earlier one.
    result = net.run(
        "newreno",
        net.link(),
        scheduler=scheduler,
        objects=net.live(2, (3 * net.MSS,), chunk_s=3.0),
        constants=replace(net.TICKLESS, quick_acks=0),
        duration_s=5,
        trace=True,
    )
    steps = result.steps
    assert steps is not None
    pair, last = steps.t_ns[steps.una == 2][0], steps.t_ns[steps.una == 3][0]
    assert last - pair == pytest.approx(net.ns(1e-3 + wait_s), abs=2e4)


@pytest.mark.parametrize(("drop_late", "repeated"), [(True, 1), (False, 0)])
def test_a_tail_probe_repeats_where_the_program_has_written_what_fits(drop_late: bool, repeated: int) -> None:
    """Ten segments leave at 400 s, a round trip after the SYN, and layers wait. The timeout of 120 s, less than a round
    trip, has a probe leave at 520 s: TCP has no new data where the program keeps to the window, and some where it does
    not."""
    result = lanes(
        "newreno",
        (net.link(rtt_s=400.0),),
        1,
        objects=many(100),
        drop_late=drop_late,
        duration_s=600,
        slot_s=600,
    )
    assert result.samples.sent_segments.tolist() == [11]
    assert result.samples.retransmitted_segments.tolist() == [repeated]


def test_a_loss_halves_the_window_of_its_own_lane_only() -> None:
    # 8 lanes in slow start from 10 segments send 80, 160 and 320 in their first round trips, from 1, 2 and 3 s on: the
    # 500th packet is the one loss that is known by 4.99 s. NewReno halves the window of its lane, the others double.
    result = lanes(
        "newreno",
        (net.link(loss=Loss("periodic", 1 / 500), queue_bdp=4),),
        8,
        duration_s=4.99,
        slot_s=4.99,
        objects=many(4_000),
    )
    assert result.samples.lost_segments.sum() == 1
    hit = result.samples.lost_segments == 1
    windows = result.samples.cwnd_segments
    assert windows[~hit].min() > 1.8 * windows[hit][0]


@pytest.mark.parametrize(("drop_late", "waits_ms"), [(True, 0), (False, 40)])
def test_what_a_lanes_window_had_room_for_is_a_write_whose_end_is_answered_at_once(
    drop_late, waits_ms
) -> None:
    # The program writes three segments of twenty: the first two make a pair, the third is pushed. Without deadlines it
    # writes the layer whole, and the third waits for a fourth until the delayed ACK's timer.
    result = lanes(
        "newreno",
        (net.link(),),
        2,
        objects=many(2),
        initial_cwnd=3,
        drop_late=drop_late,
        constants=TcpConstants(quick_acks=0, jiffy_s=1e-9),
        duration_s=1.9,
        trace=True,
    )
    assert result.trace is not None
    trace = result.trace
    of_lane = (trace.sender == 0) & (trace.syn == 0)
    answered = trace.t_ns[of_lane & (trace.event == 2)]
    arrived = trace.t_ns[of_lane & (trace.event == 1)]
    assert len(arrived) == 3 and trace.number[of_lane & (trace.event == 2)].tolist() == [2, 3]
    assert (answered - arrived[1:]) / 1e6 == pytest.approx([0, waits_ms], abs=0.01)


def many(layers: int) -> Objects:
    """Layers of 20 segments that wait from the start, without deadlines."""
    return net.live(layers, (20 * net.MSS,), chunk_s=1e-6)


def test_each_lane_is_an_ordering_domain() -> None:
    # A lane's layers follow one another on one connection: an arrival waits for its own lane's holes only, so the wait
    # of 8 lanes is less than that of one connection that carries as much.
    loss = Loss("packet", 0.01)
    waits = []
    for each in (1, 8):
        result = lanes(
            "fixed",
            (net.link(loss=loss),),
            each,
            objects=many(2_000),
            duration_s=60,
            parameters=net.windows(80 // each),
        )
        waits.append(result.totals.hol_payload_bytes / result.totals.arrived_payload_bytes)
    assert waits[1] < 0.5 * waits[0]


def test_no_law_couples_connections() -> None:
    """Over two like links LIA grows by half a segment a round trip each; a connection of one subflow by a whole one, as
    NewReno (RFC 6356: the increase is min(α / ΣW, 1 / W))."""
    links = (net.link(12e6, 0.2, queue_bdp=0.2), net.link(12e6, 0.2, queue_bdp=0.2))
    knobs: dict[str, Any] = {"duration_s": 60, "slot_s": 0.2, "objects": many(20_000)}
    alone = lanes("newreno", links, 1, **knobs).samples.delivered_bytes.sum()
    apart = lanes("lia", links, 1, **knobs).samples.delivered_bytes.sum()
    coupled = lanes("lia", links, 1, apart=False, **knobs).samples.delivered_bytes.sum()
    assert apart == pytest.approx(alone, rel=0.01)
    assert coupled < 0.97 * alone


def senders(result: EngineResult) -> dict[tuple[int, int], set[int]]:
    """The subflows that ever sent a segment, by its layer and its place in it."""
    assert result.trace is not None
    trace, by_layer = result.trace, defaultdict(set)
    data = (trace.event == 0) & (trace.object >= 0)
    for layer, order, sender in zip(trace.object[data], trace.order[data], trace.sender[data], strict=True):
        by_layer[int(layer), int(order)].add(int(sender))
    return by_layer


def test_no_lane_joins_another() -> None:
    """The first lane has its first ACK at 0.2 s: that of the second link goes on with its own SYNs, at 0 and 1 s."""
    knobs: dict[str, Any] = {"objects": many(60), "duration_s": 5, "trace": True, "constants": net.TICKLESS}
    trace = lanes("cubic", (net.link(rtt_s=0.1), net.link(rtt_s=2.5)), 1, apart=False, **knobs).trace
    assert trace is not None
    syns = trace.t_ns[(trace.event == 0) & (trace.sender == 1) & (trace.syn == 1)]
    assert syns.tolist() == [0, net.S]


def test_a_connection_repeats_its_losses_itself() -> None:
    """A timeout sends what it left unanswered over the connection's other subflows, and a lane apart has none."""
    links = (net.link(), net.link(loss=Loss("packet", 0.5)))
    knobs: dict[str, Any] = {"objects": many(60), "duration_s": 90, "trace": True, "slot_s": 5}
    apart = senders(lanes("cubic", links, 2, **knobs))
    assert max(map(len, apart.values())) == 1
    shared = senders(lanes("cubic", links, 2, apart=False, **knobs))
    assert max(map(len, shared.values())) == 2


def test_where_a_link_is_gone_for_good_lanes_have_backups_on_the_other_links() -> None:
    def kept_to_themselves(end_s: float) -> bool:
        links = (net.link(), net.link(outages_s=((4, end_s),)))
        knobs: dict[str, Any] = {"objects": many(400), "duration_s": 60, "trace": True, "slot_s": 5}
        return max(map(len, senders(lanes("cubic", links, 2, **knobs)).values())) == 1

    assert kept_to_themselves(300)
    links = (net.link(), net.link(outages_s=((4, 1e9),)))
    by_segment = senders(lanes("cubic", links, 2, objects=many(400), duration_s=60, trace=True, slot_s=5))
    helped = [sending for sending in by_segment.values() if len(sending) > 1]
    assert helped
    assert all({0, 1} & sending and {2, 3} & sending and len(sending) == 2 for sending in helped)


def test_a_layer_keeps_to_its_link_and_takes_all_its_lanes() -> None:
    links = (net.link(), net.link())
    objects = net.live(200, (20 * net.MSS, 20 * net.MSS), chunk_s=0.05)
    result = lanes(
        "cubic", links, 4, objects=objects, scheduler="layer-pinned", layer_links=(1, 0), duration_s=60
    )
    used = [set(result.objects.subflow[objects.layer == layer].tolist()) for layer in (0, 1)]
    assert used == [{4, 5, 6, 7}, {0, 1, 2, 3}]


def test_a_path_is_a_link_and_not_a_lane() -> None:
    """``fast-only`` waits for the quicker link, not for one of its lanes."""
    links = (net.link(rtt_s=2), net.link(rtt_s=1))
    result = lanes("cubic", links, 4, objects=many(500), scheduler="fast-only", duration_s=30)
    used = set(result.objects.subflow[result.objects.first_sent_ns > 10 * net.S].tolist())
    assert used == {4, 5, 6, 7}


def test_eight_links_of_sixteen_lanes() -> None:
    links = tuple(net.link(rtt_s=1 + 0.1 * i) for i in range(8))
    result = lanes("cubic", links, 16, objects=many(6_000), duration_s=10, slot_s=10)
    assert result.samples.subflow.tolist() == list(range(128))
    assert (result.samples.delivered_bytes > 0).all()
    assert sorted(set(result.objects.subflow.tolist()) - {-1}) == list(range(128))


def test_lanes_apart_have_one_domain_each() -> None:
    with pytest.raises(ValueError, match="subflows apart are lanes, one domain each"):
        net.run("cubic", net.link(), mode="lanes", lanes_per_link=2, apart=True)
    with pytest.raises(ValueError, match="subflows apart are lanes, one domain each"):
        net.run("cubic", net.link(), apart=True)


@pytest.mark.parametrize("apart", [True, False])
def test_lanes_of_an_open_loop_divide_the_rate_of_their_link(apart: bool) -> None:
    # Four lanes send 12 Mbit/s together, 1,000 packets a second of 1,500 bytes, from the end of the handshake at 1 s
    # on: the queue of 60 packets never overflows.
    result = lanes(
        "open-loop", (net.link(queue_bdp=0.06),), 4, apart=apart, duration_s=11, slot_s=1, objects=many(4_000)
    )
    assert result.totals.dropped_queue_packets == 0
    assert result.totals.data_packets == pytest.approx(10_000, rel=0.02)


def test_lanes_of_a_fixed_window_divide_that_of_their_link() -> None:
    # 1,001.03 ms for a packet, its light times and its ACK at 1 ms a packet: 1,002 in all, a quarter of it a lane.
    result = lanes("fixed", (net.link(),), 4, duration_s=5, slot_s=1, objects=many(4_000))
    assert set(result.samples.cwnd_segments[8:].tolist()) == {251}


@pytest.mark.parametrize("all_due", [True, False])
@pytest.mark.parametrize("seed", [1, 6, 8, 10])
def test_layers_that_are_late_for_their_size_are_passed_over_however_small_another_is(
    all_due: bool, seed: int
) -> None:
    """A last layer of one byte, long after the others, changes nothing for them: with it every layer is looked at."""
    live = net.live(30, (1, 1, 1), playout_s=20)
    sizes = np.random.default_rng(seed).integers(15_000, 60_000, len(live.chunk))
    due = live.deadline_ns if all_due else np.where(live.layer == 2, NEVER_NS, live.deadline_ns)

    def sent(last_bytes: int) -> EngineResult:
        last = (30, 0, last_bytes, net.ns(2000), net.ns(2020))
        columns = (live.chunk, live.layer, sizes, live.release_ns, due)
        objects = Objects(*(np.append(column, value) for column, value in zip(columns, last, strict=True)))
        links = (net.link(2e6, 4), net.link(1e6, 6))
        return net.run("cubic", links, objects=objects, mode="lanes", lanes_per_link=2, layer_first=False)

    alike, small = sent(15_000).objects, sent(1).objects
    assert 0 < (alike.complete_ns < 0).sum() < len(live.chunk)
    for name in ("first_sent_ns", "complete_ns", "given_up"):
        np.testing.assert_array_equal(getattr(alike, name)[:-1], getattr(small, name)[:-1])
