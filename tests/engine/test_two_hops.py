"""A slower line behind a node: no queue of the sender shows it, and the bound is one of both hops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import EngineConfig, Link, clairvoyant_weight, law_weight, simulate

from . import net
from .net import relayed
from .test_channel_bound import played

DEEP = 10**7
"""Bytes of a queue that drops nothing here."""


def test_what_it_drops_counts_as_dropped_and_no_queue_of_the_sender_shows_it():
    # Twice what the line behind the node carries, for 20 round trips: half is lost behind a queue of four packets.
    plain = net.config("open-loop", net.link(240e3, 1.0), duration_s=20)
    config = replace(plain, links=(relayed(plain.links[0], 120e3, 4 * net.WIRE),))
    free, held = simulate(plain), simulate(config)
    assert free.totals.dropped_queue_packets == 0
    dropped = held.totals.dropped_queue_packets
    assert dropped / held.totals.data_packets == pytest.approx(0.5, abs=0.03)
    assert held.totals.lost_channel_packets == 0
    first = free.samples.t_ns < net.ns(1.2)  # before any acknowledgement is missing
    np.testing.assert_array_equal(free.samples.sent_segments[first], held.samples.sent_segments[first])
    assert held.samples.queue_bytes.max() <= free.samples.queue_bytes.max() + net.WIRE


# ------------------------------------------------------------------------------------------------------- the bound


def bound_of(link: Link, *, law: bool = False, playout_s: float = 2.5) -> tuple[EngineConfig, float]:
    objects = net.live(60, (3000, 15_000), chunk_s=0.5, playout_s=playout_s)
    config = net.config("open-loop", link, objects=objects)
    weights = np.ones(len(objects.chunk))
    return config, law_weight(config, weights) if law else clairvoyant_weight(config, weights)


@pytest.mark.parametrize("law", [False, True])
@pytest.mark.parametrize("at", [0.0, 0.4, 1.0])
def test_the_slower_hop_bounds_what_a_path_carries(at, law):
    # 240 kbit/s in front of 60: as a link of 60 kbit/s of the same light time, and a packet's service less of time.
    _, slow = bound_of(net.link(60e3, 1.0), law=law)
    _, fast = bound_of(net.link(240e3, 1.0), law=law)
    _, hops = bound_of(relayed(net.link(240e3, 1.0), 60e3, DEEP, at=at), law=law)
    assert slow < 0.7 * fast and hops == pytest.approx(slow, rel=0.02)


@pytest.mark.parametrize("at", [0.0, 0.5, 1.0])
def test_light_in_front_of_the_node_and_behind_it_is_taken_off(at):
    """A chunk's bytes reach it a light time after their release, and leave it a light time before their deadline."""
    # 2.45 s of light there, and 2.5 s of time: 50 ms of the line for each chunk, 3,750 bytes of 18,000.
    _, plain = bound_of(net.link(600e3, 4.9))
    _, hops = bound_of(relayed(net.link(2.4e6, 4.9), 600e3, DEEP, at=at))
    assert 40 < plain < 80 and hops == pytest.approx(plain, rel=0.1)


def test_what_the_first_hop_loses_the_second_does_not_bring():
    dark = net.link(240e3, 1.0, outages_s=((0.0, 20.0),))
    _, plain = bound_of(dark)
    _, hops = bound_of(relayed(dark, 239e3, DEEP))
    assert hops <= plain < 0.5 * 120


@pytest.mark.parametrize("congestion", ["open-loop", "cubic", "bbr-scaled", "ltp"])
@pytest.mark.parametrize("at", [0.0, 1.0])
def test_no_sender_exceeds_it(congestion, at):
    config, bound = bound_of(relayed(net.link(240e3, 4.0), 100e3, 30 * net.WIRE, at=at), playout_s=4.5)
    scheduler = "none" if congestion == "ltp" else "minrtt"
    config = replace(config, transport=replace(config.transport, congestion=congestion, scheduler=scheduler))
    assert 0 < played(config.objects, simulate(config).objects.complete_ns) <= bound * (1 + 1e-9)
