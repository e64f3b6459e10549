"""The clairvoyant bound beside the best of all schedules, and beside cases that an earlier one had wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import Coding, CrossTraffic, Loss, clairvoyant_weight, simulate
from experiments.bound_looseness import KINDS, best_of, random_case

from . import net
from .test_channel_bound import played

CASES = 80
"""Of each kind."""


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_no_schedule_exceeds_it(kind):
    reached = 0
    for seed in range(kind, CASES * len(KINDS), len(KINDS)):
        case = random_case(seed)
        of_layers, any_way = best_of(case)
        bound = clairvoyant_weight(case.config, case.weights)
        assert of_layers <= bound, seed
        assert any_way <= clairvoyant_weight(case.config, case.weights, any_packets=True), seed
        reached += bound == of_layers
    assert reached > 0.5 * CASES  # most often it is sharp


def test_layers_that_fit_when_they_share_packets_are_all_there_for_any_sender():
    # 14 layers of 100 bytes a second, 1,400 bytes: one packet of 1,440 at 11,600 bit/s, or 14 of 140 bytes.
    objects = net.live(20, (100,) * 14, chunk_s=1.0, playout_s=2.0)
    config = net.config("open-loop", net.link(11_600, 2.0), objects=objects)
    weights = np.ones(len(objects.chunk))
    assert clairvoyant_weight(config, weights, any_packets=True) == 20 * 14
    # A chunk has 1 s, 1,450 bytes: ten of its layers, in packets of their own.
    assert clairvoyant_weight(config, weights) == 20 * (1450 // 140)
    # A byte takes its share of a full packet's header: of 1,420 bytes at 1,500 / 1,460 each 13 layers, not 14.
    narrow = net.config("open-loop", net.link(11_360, 2.0), objects=objects)
    assert clairvoyant_weight(narrow, weights, any_packets=True) == 20 * 13


def losing(rate: float, *, any_packets: bool = False, cross: tuple[CrossTraffic, ...] = ()) -> float:
    """Of layers of a short packet each, 140 bytes: twice what the link carries."""
    objects = net.live(400, (100,) * 8, chunk_s=0.5, playout_s=20.0)
    link = net.link(8960, 1.0, loss=Loss("packet", rate) if rate else None, cross_traffic=cross)
    config = net.config("open-loop", link, objects=objects)
    return clairvoyant_weight(config, np.ones(3200), any_packets=any_packets)


def test_losses_of_short_packets_count():
    # A packet of a header's 40 bytes uses up each lost draw. For each that is not lost there are 0.4 / 0.6 that are, so
    # 140 / (140 + 0.67 * 40) = 0.84 of the line; and a little more, as the last packet of a slot may reach out of it.
    clear, lossy = losing(0.0), losing(0.4)
    assert 0.83 < lossy / clear < 0.88
    assert losing(0.7) < lossy < losing(0.2) < clear
    assert losing(0.4, any_packets=True) == losing(0.0, any_packets=True)


def test_a_lost_draw_may_be_used_up_by_others_packets():
    # Of 10 bytes: 140 / (140 + 0.67 * 10) = 0.95.
    tiny = CrossTraffic(rate_bps=1000.0, packet_bytes=10)
    assert 0.94 < losing(0.4, cross=(tiny,)) / losing(0.0) < 0.97


def test_periodic_losses_are_left_out():
    # They count packets, so that a sender may choose which are lost.
    objects = net.live(40, (net.MSS,) * 8, chunk_s=0.5, playout_s=3.0)
    periodic = net.config("open-loop", net.link(90e3, 1.0, loss=Loss("periodic", 0.25)), objects=objects)
    lossless = net.config("open-loop", net.link(90e3, 1.0), objects=objects)
    weights = np.ones(len(objects.chunk))
    assert clairvoyant_weight(periodic, weights) == clairvoyant_weight(lossless, weights)


@pytest.mark.parametrize("loss", [Loss("packet", 0.4), Loss("ber", 3e-4)])
@pytest.mark.parametrize("payload", [30, 100, 700, 2000])
@pytest.mark.parametrize("transport", ["stream", "lanes", "coded", "ltp"])
def test_no_transport_exceeds_it(transport, payload, loss):
    # More is offered than the link carries, so that every draw counts.
    objects = net.live(60, (payload,) * 4, chunk_s=0.2, playout_s=2.0)
    links = tuple(net.link(rate, 0.2, loss=loss, up_loss=Loss(), queue_bdp=8) for rate in (8e3, 20e3))
    name = "ltp" if transport == "ltp" else "open-loop"
    knobs = {} if transport == "ltp" else {"mode": transport}
    config = net.config(
        name,
        links,
        objects=objects,
        scheduler="none" if transport == "ltp" else "minrtt",
        parameters=net.rates(8e3, 20e3),
        **knobs,
    )
    if transport == "coded":
        config = replace(config, coding=Coding(objects.chunk, net.ns(0.2), (0.5,) * 4, "mds", "same"))
    bound = clairvoyant_weight(config, np.ones(len(objects.chunk)))
    assert played(objects, simulate(config).objects.complete_ns) <= bound
