"""The least playout delay at which the clairvoyant bound is 1, beside arithmetic and the best of all schedules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import EngineConfig, Loss, clairvoyant_weight, least_playout_delay_ns
from experiments.bound_looseness import END, FULL, KINDS, MS, Case, best_of, random_case

from . import net
from .test_channel_frames import frames

PARTS = 1e-5
"""To which share it is found."""


def least_s(
    links, objects, *, playout_s: float = 6.0, any_packets: bool = False, **transport
) -> float | None:
    config = net.config("open-loop", links, objects=objects, slot_s=1, **transport)
    found = least_playout_delay_ns(config, net.ns(playout_s), any_packets=any_packets)
    return None if found is None else found / net.S


def about(seconds: float):
    """That value, or more by no more than a share of :data:`PARTS`."""
    return pytest.approx(seconds * (1 + PARTS / 2), rel=PARTS / 2)


PACKETS = (10 * net.MSS,)


@pytest.mark.parametrize("playout_s", [0.0, 0.3, 1.5, 6.0, 4000.0])
def test_light_time_and_serialisation(playout_s):
    # 1 s of light; 10 packets at 20 a second. From whatever delay the search begins.
    objects = net.live(100, PACKETS, playout_s=playout_s)
    assert least_s(net.link(240e3, 2.0), objects, playout_s=playout_s) == about(1.0 + 0.5)


def test_what_an_outage_costs():
    # At 50 s four packets leave before the outage and six after its 10 s: the chunk of 50 s is there at 60.5 + 1 s,
    # those behind it catch up.
    objects = net.live(100, PACKETS, playout_s=6.0)
    assert least_s(net.link(240e3, 2.0, outages_s=((50.2, 60.2),)), objects) == about(10.0 + 0.5 + 1.0)


def test_what_a_slow_link_owes():
    # 5 packets a second for 10: the hundredth chunk is there after 200 s of service from 1 s on, captured at 100 s.
    objects = net.live(100, PACKETS, playout_s=6.0)
    assert least_s(net.link(60e3, 2.0), objects) == about(1.0 + 200.0 - 100.0 + 1.0)


def test_two_links_share_the_chunks():
    # 5 packets a second with 1 s of light, 5 with 2 s: after 2.6 s the first has brought 8 whole ones, the other 3.
    links = (net.link(60e3, 2.0), net.link(60e3, 4.0))
    assert least_s(links, net.live(1, PACKETS, chunk_s=1e-9, playout_s=6.0)) == about(2.6)


def test_the_slower_hop_counts():
    # 20 packets a second to the node in half of the light time, 12.5 behind it.
    objects = net.live(100, PACKETS, playout_s=6.0)
    assert least_s(net.relayed(net.link(240e3, 2.0), 150e3, 10**6), objects) == about(1.0 + 0.8)


def test_losses_cost_the_slots_that_are_lost():
    objects = net.live(200, PACKETS, playout_s=6.0)
    clear, lossy = (
        least_s(net.link(240e3, 2.0, loss=loss), objects, seed=3) for loss in (None, Loss("packet", 0.2))
    )
    assert clear is not None and lossy is not None
    # Whole slots of 50 ms more, as many as are lost among those of the chunk that meets most.
    slots = (lossy - clear) / 0.05
    assert slots >= 3 and slots == pytest.approx(round(slots), abs=0.02)
    assert lossy != least_s(net.link(240e3, 2.0, loss=Loss("packet", 0.2)), objects, seed=4)


def test_any_packets_need_no_more():
    # 14 layers of 100 bytes fill one packet of 1,440 bytes; in packets of their own they take 1,960. 1,500 a second.
    objects = net.live(20, (100,) * 14, chunk_s=2.0, playout_s=6.0)
    link = net.link(12e3, 2.0)
    assert least_s(link, objects) == about(1.0 + 1960 / 1500)
    assert least_s(link, objects, any_packets=True) == about(1.0 + 1400 * 1500 / 1460 / 1500)


def test_none_is_enough_where_the_run_ends_first():
    # The last chunk is captured at 100 s, and is there at 101.5 s.
    objects = net.live(100, PACKETS, playout_s=6.0)
    assert least_s(net.link(240e3, 2.0), objects, duration_s=101.4) is None
    assert least_s(net.link(240e3, 2.0), objects, duration_s=101.6) == about(1.5)
    # A link that is down for ever.
    assert least_s(net.link(240e3, 2.0, outages_s=((30.0, 9e9),)), objects) is None


def test_without_deadlines_none_is_too_short():
    config = net.config("open-loop", net.link(), objects=net.live(3, PACKETS))
    assert least_playout_delay_ns(config, 0) == 0


@pytest.mark.parametrize(
    "loss",
    [
        Loss(),
        Loss("packet", 0.1),
        Loss("ber", 1e-5),
        Loss("gilbert-elliott", p=0.05, r=0.3, good=0.0, bad=0.8),
        frames(8.0, bits=7136, curve=(0.0, 10.0, [-0.3, -1.5])),
    ],
)
@pytest.mark.parametrize("any_packets", [False, True])
@pytest.mark.parametrize(
    ("chunks", "chunk_s"), [(60, 0.5), (8, 100.0)]
)  # 3 slots a chunk; 580, where marks are kept
def test_the_bound_is_1_from_it_on_and_below_it_is_not(loss, any_packets, chunks, chunk_s):
    layers = (int(6 * chunk_s) * net.MSS, 1000, 200)
    playout_s, ends_s = 1.0 + 4 * chunk_s, (18.0 * chunk_s / 4, 25.0 * chunk_s / 4)
    objects = net.live(chunks, layers, chunk_s=chunk_s, playout_s=playout_s)
    links = (net.link(70e3, 2.0, loss=loss, outages_s=(ends_s,)), net.link(30e3, 3.0, loss=loss))
    config = net.config("open-loop", links, objects=objects)
    weights = np.ones(len(objects.chunk))
    least = least_playout_delay_ns(config, net.ns(playout_s), any_packets=any_packets)
    assert least is not None

    def bound(at_ns: int) -> float:
        return clairvoyant_weight(later(config, at_ns - net.ns(playout_s)), weights, any_packets=any_packets)

    assert [bound(int(least * times)) for times in (1.0, 1.01, 1.5)] == [weights.sum()] * 3
    assert bound(int(least * (1 - 2 * PARTS))) < weights.sum()


def test_a_link_whose_losses_are_not_counted_by_the_first_delay_that_is_tried():
    # 100,000 packets a second, every other one lost: 50,000 take a second. With a playout delay of 1000 s there are
    # more slots than are drawn, so that it is taken for lossless; with the least one each is looked at.
    objects = net.live(2, (50_000 * net.MSS,), chunk_s=100.0, playout_s=1000.0)
    link = net.link(1.2e9, 2.0, loss=Loss("packet", 0.5))
    assert least_s(link, objects, playout_s=1000.0) == pytest.approx(1.0 + 1.0, rel=5e-3)


def later(config: EngineConfig, by_ns: int) -> EngineConfig:
    objects = config.objects
    return replace(config, objects=replace(objects, deadline_ns=objects.deadline_ns + by_ns))


def shifts(case: Case) -> range:
    """By how many milliseconds deadlines may move within what the schedules are tried of."""
    last = int(case.config.objects.deadline_ns.max()) // MS
    return range(-last, END - last + 1)


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_no_schedule_brings_everything_with_less(kind):
    looseness_ms = []
    for seed in range(kind, 9 * len(KINDS), len(KINDS)):
        case = random_case(seed)
        everything = float(case.weights.sum())
        possible = shifts(case)
        low, high = 0, len(possible)  # the first that is enough, by bisection: more time never hurts
        while low < high:
            middle = (low + high) // 2
            moved = replace(case, config=later(case.config, possible[middle] * MS))
            enough = best_of(moved)[0] == everything
            low, high = (low, middle) if enough else (middle + 1, high)
        if low == len(possible):
            continue
        base = 1000 * MS  # a delay of which the deadlines are, so that less of it is a delay too
        least = least_playout_delay_ns(case.config, base)
        assert least is not None and least <= base + possible[low] * MS + base * PARTS, seed
        looseness_ms.append(possible[low] - (least - base) / MS)
    assert len(looseness_ms) >= 5
    assert np.median(looseness_ms) < FULL  # milliseconds of a full packet
