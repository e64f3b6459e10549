"""A second hop: what its queue does to packets, that no sender sees it, and that the bound is one of both hops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dstcc.engine import CrossTraffic, EngineConfig, Link, Relay, clairvoyant_weight, law_weight, simulate
from dstcc.engine.config import Restarts

from . import net
from .test_channel_bound import played
from .test_links import one_way_times

MOVING: dict[str, Any] = {"delay_t_ns": (0, net.ns(40)), "delay_ns": (net.ns(2), net.ns(1.2))}


def relay(line_bps: float, *, at: float = 0.5, queue_packets: int = 10_000, **others: object) -> Relay:
    cross = (CrossTraffic(**others),) if others else ()  # type: ignore[arg-type]
    return Relay(at=at, rate_bps=line_bps, queue_bytes=net.WIRE * queue_packets, cross_traffic=cross)


@pytest.mark.parametrize("at", [0.0, 0.3, 1.0])
def test_a_packet_takes_its_service_time_on_both_lines(at):
    # 1,500 bytes take 1 s at 12 kbit/s and 2 s at 6 kbit/s; 2 s of light time.
    np.testing.assert_allclose(one_way_times(net.link(12e3, 4.0, relay=relay(6e3, at=at))), 5.0, atol=1e-6)


def expected(link: Link, sent_ns: list[int], wire: int, cross: list[tuple[int, int]]) -> list[int]:
    """When full packets arrive, -1 for those dropped at the relay; from the formulas of ``link/relay.hpp`` alone.

    ``cross``: times and sizes of others' datagrams.
    """
    assert link.relay is not None
    hop, line = link.relay, 8e9 / link.rate_bps
    busy = comes = behind = 0
    limit, arrivals, others = hop.queue_bytes * 8e9 / hop.rate_bps, [], sorted(cross)

    def join(now: int, size: int) -> bool:
        nonlocal behind
        service = round(size * 8e9 / hop.rate_bps)
        if max(behind - now, 0) + service > limit:
            return False
        behind = max(behind, now) + service
        return True

    for sent in sent_ns:
        busy = max(busy, sent) + round(wire * line)
        delay = round(float(np.interp(busy, link.delay_t_ns, link.delay_ns)))
        before = round(hop.at * delay)
        comes = max(comes, busy + before)
        while others and others[0][0] <= comes:
            join(*others.pop(0))
        there = join(comes, wire)
        arrivals.append(behind + delay - before if there else -1)
    return arrivals


@pytest.mark.parametrize("at", [0.0, 0.7])
@pytest.mark.parametrize("queue_packets", [1, 4, 10_000])
def test_own_packets_and_others_share_its_queue_in_order_of_their_coming(at, queue_packets):
    """An open loop of 10 packets a second over a relay of 8, where 3 large and 3 small ones of others join."""
    on = net.link(120e3, 4.0, **MOVING)
    hop = relay(96e3, at=at, queue_packets=queue_packets, rate_bps=36e3, start_ns=net.ns(5))
    small = CrossTraffic(4.8e3, packet_bytes=200, start_ns=net.ns(7.03))
    hop = replace(hop, cross_traffic=(*hop.cross_traffic, small))
    config = net.config("open-loop", replace(on, relay=hop), objects=net.bulk(), duration_s=30, trace=True)
    trace = simulate(config).trace
    assert trace is not None
    rows = trace.syn == 0
    sent = rows & (trace.event == 0) & (trace.fate != 2)
    full = trace.bytes[sent] == net.MSS
    assert full.all() and sent.sum() > 200
    cross = [
        (at_ns, source.packet_bytes)
        for source in hop.cross_traffic
        for at_ns in range(source.start_ns, net.ns(40), int(source.packet_bytes * 8e9 / source.rate_bps))
    ]
    arrive = np.array(expected(config.links[0], trace.t_ns[sent].tolist(), net.WIRE, cross))
    # The SYN of 40 bytes before them has long passed.
    np.testing.assert_array_equal(arrive < 0, trace.fate[sent] == 1)
    came = np.sort(trace.t_ns[rows & (trace.event == 1)])
    due = np.sort(arrive[(arrive >= 0) & (arrive <= came.max())])
    np.testing.assert_allclose(came, due[: len(came)], atol=2)
    assert ((arrive < 0).sum() > 20) == (queue_packets < 10_000)


def test_what_it_drops_counts_as_dropped_and_no_queue_of_the_sender_shows_it():
    # Twice what the relay carries, for 20 round trips: half is lost behind a queue of four packets.
    plain = net.config("open-loop", net.link(240e3, 1.0), duration_s=20)
    config = replace(plain, links=(replace(plain.links[0], relay=relay(120e3, queue_packets=4)),))
    free, held = simulate(plain), simulate(config)
    assert free.totals.dropped_queue_packets == 0
    dropped = held.totals.dropped_queue_packets
    assert dropped / held.totals.data_packets == pytest.approx(0.5, abs=0.03)
    assert held.totals.lost_channel_packets == 0
    first = free.samples.t_ns < net.ns(1.2)  # before any acknowledgement is missing
    np.testing.assert_array_equal(free.samples.sent_segments[first], held.samples.sent_segments[first])
    assert held.samples.queue_bytes.max() <= free.samples.queue_bytes.max() + net.WIRE


def test_the_draws_of_those_who_join_are_not_those_of_the_senders_own_queue():
    bursts: dict[str, Any] = {
        "rate_bps": 60e3,
        "on_ns": net.ns(1),
        "off_ns": net.ns(1),
        "periods": "exponential",
    }
    ends = set()
    for seed in (1, 2):
        config = net.config(
            "open-loop", net.link(120e3, 1.0, relay=relay(96e3, **bursts)), seed=seed, duration_s=20
        )
        assert simulate(config).totals == simulate(config).totals
        ends.add(simulate(config).totals.rtt_sum_s)
    assert len(ends) == 2


# ------------------------------------------------------------------------------------------------------- the bound


def bound_of(link: Link, *, law: bool = False, playout_s: float = 2.5) -> tuple[EngineConfig, float]:
    objects = net.live(60, (3000, 15_000), chunk_s=0.5, playout_s=playout_s)
    config = net.config("open-loop", link, objects=objects)
    weights = np.ones(len(objects.chunk))
    return config, law_weight(config, weights) if law else clairvoyant_weight(config, weights)


@pytest.mark.parametrize("law", [False, True])
@pytest.mark.parametrize("at", [0.0, 0.4, 1.0])
def test_the_slower_hop_bounds_what_a_link_carries(at, law):
    # 240 kbit/s in front of 60: as a link of 60 kbit/s of the same light time, and a packet's service less of time.
    _, slow = bound_of(net.link(60e3, 1.0), law=law)
    _, fast = bound_of(net.link(240e3, 1.0), law=law)
    _, hops = bound_of(net.link(240e3, 1.0, relay=relay(60e3, at=at)), law=law)
    assert slow < 0.7 * fast and hops == pytest.approx(slow, rel=0.02)


def test_a_faster_second_hop_changes_no_bound():
    _, plain = bound_of(net.link(60e3, 1.0))
    assert bound_of(net.link(60e3, 1.0, relay=relay(61e3)))[1] == plain


@pytest.mark.parametrize("at", [0.0, 0.5, 1.0])
def test_light_in_front_of_it_and_behind_it_is_taken_off(at):
    """A chunk's bytes reach it a light time after their release, and leave it a light time before their deadline."""
    # 2.45 s of light there, and 2.5 s of time: 50 ms of the line for each chunk, 3,750 bytes of 18,000.
    _, plain = bound_of(net.link(600e3, 4.9))
    _, hops = bound_of(net.link(2.4e6, 4.9, relay=relay(600e3, at=at)))
    assert 40 < plain < 80 and hops == pytest.approx(plain, rel=0.1)


def test_what_the_first_hop_loses_the_second_does_not_bring():
    dark = net.link(240e3, 1.0, outages_s=((0.0, 20.0),))
    _, plain = bound_of(dark)
    _, hops = bound_of(replace(dark, relay=relay(239e3)))
    assert hops == plain < 0.5 * 120


@pytest.mark.parametrize("congestion", ["open-loop", "cubic", "bbr-scaled", "ltp"])
@pytest.mark.parametrize("at", [0.0, 1.0])
def test_no_sender_exceeds_it(congestion, at):
    config, bound = bound_of(net.link(240e3, 1.0, **MOVING, relay=relay(100e3, at=at, queue_packets=30)))
    scheduler = "none" if congestion == "ltp" else "minrtt"
    config = replace(config, transport=replace(config.transport, congestion=congestion, scheduler=scheduler))
    assert 0 < played(config.objects, simulate(config).objects.complete_ns) <= bound * (1 + 1e-9)


# ------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (relay(1e5, at=1.01), "at is 0 to 1"),
        (relay(1e5, at=-0.01), "at is 0 to 1"),
        (relay(0.0), "rates must be at least"),
        (relay(1e5, rate_bps=-1.0), "rate"),
    ],
)
def test_a_relay_that_cannot_be_is_refused(wrong, rule):
    with pytest.raises(ValueError, match=rule):
        simulate(net.config("cubic", net.link(relay=wrong), duration_s=1))


def test_a_sender_that_restarts_has_none():
    config = net.config("cubic", net.link(relay=relay(1e5)), duration_s=1)
    with pytest.raises(ValueError, match="a relay's queue would go on"):
        simulate(replace(config, restarts=Restarts((net.ns(0.5),), net.ns(0.1), spool=False)))
