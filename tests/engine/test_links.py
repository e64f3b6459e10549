"""Links: rate, delay, queue, loss per service slot, outages, cross traffic."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dstcc.engine import CrossTraffic, Loss
from dstcc.engine._testing import below
from dstcc.engine.simulate import channel_losses

from . import net


def one_way_times(link, *, chunks: int = 20, chunk_s: float = 10.0, payload: int = net.MSS) -> np.ndarray:
    """Delivery time less release time of single packets sent far apart, start-up left out."""
    objects = net.live(chunks, (payload,), chunk_s=chunk_s)
    result = net.run("open-loop", link, objects=objects, slot_s=chunk_s)
    return (result.objects.complete_ns - objects.release_ns)[2:] / net.S


def test_a_packet_takes_its_service_time_and_the_light_time():
    # 1,500 bytes at 12 kbit/s take 1 s; 2 s of light time.
    np.testing.assert_allclose(one_way_times(net.link(12e3, 4.0)), 3.0, atol=1e-6)


def test_delay_follows_its_table_over_time():
    # 2 s until t = 50 s, then falling by 10 ms a second to 1 s at t = 150 s.
    moving = net.link(
        12e6, 4.0, delay_t_ns=(0, net.ns(50), net.ns(150)), delay_ns=(net.ns(2), net.ns(2), net.ns(1))
    )
    seen = one_way_times(moving)
    sent = 10.0 * np.arange(3, 21)
    expected = np.interp(sent, [50, 150], [2, 1]) + 0.001
    np.testing.assert_allclose(seen, expected, atol=2e-5)


def test_a_shortening_path_never_reorders():
    # The light time falls by 0.5 s within 1 s while 1 ms packets follow each other: first in, first out all the same.
    falling = net.link(12e6, 4.0, delay_t_ns=(net.ns(10), net.ns(11)), delay_ns=(net.ns(2), net.ns(1.5)))
    result = net.run("fixed", falling, objects=net.bulk(30_000_000))
    assert result.totals.hol_payload_bytes == 0
    assert result.totals.retransmitted_payload_bytes == 0


def test_the_queue_drops_what_exceeds_its_bytes():
    # An open loop at twice the rate fills 10 packets of queue, then every second packet finds no room.
    narrow = net.link(12e6, 0.1, queue_bdp=10 / 100)
    result = net.run("open-loop", narrow, duration_s=10, parameters=net.rates(24e6))
    totals = result.totals
    assert totals.dropped_queue_packets / totals.data_packets == pytest.approx(0.5, abs=0.02)
    assert totals.queue_p95_s == pytest.approx(0.009, rel=0.06)  # nine packets of 1 ms wait before the tenth


@pytest.mark.parametrize("payload", [net.MSS, net.WIRE // 10 - (net.WIRE - net.MSS)])
def test_a_queue_may_count_packets_as_netems_does(payload):
    # 20 full packets of 1 ms each that come at one instant, or 20 of a tenth of their bytes: ten have a place. The
    # bytes of ten full packets hold all of the short ones.
    def dropped(queue_packets: int) -> float:
        narrow = net.link(12e6, 0.1, queue_bdp=10 / 100, queue_packets=queue_packets)
        objects = net.live(20, (payload,), chunk_s=1e-6)
        result = net.run("newreno", narrow, objects=objects, initial_cwnd=20, duration_s=0.15)
        return result.totals.dropped_queue_packets

    assert dropped(10) == 10
    assert dropped(0) == (10 if payload == net.MSS else 0)


def test_packet_loss_is_the_given_share_and_independent_of_the_seed_beside_it():
    link = net.link(loss=Loss("packet", 0.01))
    lost = channel_losses(link, 7, 0, net.WIRE, 1_000_000)
    assert lost.mean() == pytest.approx(0.01, rel=0.05)
    other = channel_losses(link, 8, 0, net.WIRE, 1_000_000)
    assert (lost & other).mean() == pytest.approx(1e-4, rel=0.3)
    assert (lost != channel_losses(link, 7, 1, net.WIRE, 1_000_000)).any()


@pytest.mark.parametrize("step", [1, 2, 7])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_the_first_loss_of_many_slots_is_what_a_walk_finds(step, share):
    # However many are drawn at once: counts around 8 and its multiples, losses at any place.
    for count in range(67):
        each, first = below(seed=3, slot=1000 * count, step=step, count=count, share=share)
        assert first == (each.index(True) if True in each else count)


@pytest.mark.parametrize("size", [40, 576, 1500])
def test_bit_errors_hit_large_packets_more(size):
    # p = 1 - (1 - ber)^(8 · size)
    ber = 1e-5
    lost = channel_losses(net.link(loss=Loss("ber", ber)), 1, 0, size, 1_000_000)
    assert lost.mean() == pytest.approx(1 - (1 - ber) ** (8 * size), rel=0.06)


def test_gilbert_elliott_dwells_and_loses_as_its_chain_says():
    # p = 0.01, r = 0.1: a tenth-length-10 bad state, share p / (p + r); every packet lost in it.
    link = net.link(loss=Loss("gilbert-elliott", p=0.01, r=0.1, good=0.0, bad=1.0))
    lost = channel_losses(link, 3, 0, net.WIRE, 2_000_000)
    assert lost.mean() == pytest.approx(0.01 / 0.11, rel=0.03)
    edges = np.flatnonzero(np.diff(lost.astype(np.int8)))
    runs = np.diff(edges)
    bad_runs = runs[lost[edges[:-1] + 1]]
    assert bad_runs.mean() == pytest.approx(10, rel=0.03)


def test_two_controls_meet_the_same_channel():
    # Draws belong to service slots, not to packets: a slot that kills one control's packet kills the other's.
    link = net.link(1.2e6, 1.0, loss=Loss("packet", 0.02))
    table = channel_losses(link, 5, 0, net.WIRE, 10_000)
    for congestion in ("newreno", "fixed"):
        objects = net.live(80, (net.MSS,), chunk_s=1.0)
        result = net.run(congestion, link, objects=objects, seed=5, slot_s=10)
        slots = result.objects.first_sent_ns // net.ns(0.01)
        first_copy_lost = (result.objects.first_arrival_ns - result.objects.first_sent_ns) > net.ns(0.6)
        alone = result.objects.first_sent_ns >= net.ns(
            4
        )  # after start-up a packet a second, each in its own slot
        np.testing.assert_array_equal(first_copy_lost[alone], table[slots[alone]])


# By chance nothing is lost, or next to nothing.
@pytest.mark.parametrize("loss", [Loss(), Loss("packet", 1e-9), Loss("ber", 1e-12)])
def test_an_outage_takes_what_is_sent_meanwhile_and_spares_what_is_in_flight(loss):
    # One packet a second; dark from t = 20.5 s to 30.5 s. The packet sent at 20 s is under way and arrives at 22 s.
    dark = net.link(12e6, 4.0, loss=loss, outages_s=((20.5, 30.5),))
    objects = net.live(40, (net.MSS,))
    result = net.run("open-loop", dark, objects=objects, slot_s=1)
    late = (result.objects.first_arrival_ns - objects.release_ns) / net.S > 2.1
    sent_in_the_dark = (objects.release_ns >= net.ns(20.5)) & (objects.release_ns < net.ns(30.5))
    started = objects.release_ns >= net.ns(5)
    np.testing.assert_array_equal(late[started], sent_in_the_dark[started])
    assert (result.objects.complete_ns > 0).all()


def test_each_direction_can_have_outages_of_its_own():
    # One packet a second over a light time of 2 s; the way up is dark from 20.5 s to 30.5 s, so what was sent between
    # 18.5 s and 28.5 s arrives but its ACK does not. Nothing is lost on the way down.
    link = net.link(12e6, 4.0, up_outages_ns=((net.ns(20.5), net.ns(30.5)),))
    objects = net.live(40, (net.MSS,))
    result = net.run("open-loop", link, objects=objects, slot_s=1)
    assert result.totals.lost_channel_packets == 0
    assert (result.objects.first_arrival_ns - objects.release_ns <= net.ns(2.1))[5:].all()
    quiet = result.samples.t_ns // net.S
    acknowledged = result.samples.delivered_bytes
    assert acknowledged[(quiet > 23) & (quiet <= 32)].sum() == 0 < acknowledged[quiet <= 22].sum()


def test_cross_traffic_takes_its_share_of_the_queue():
    # Half the line is another's: a window of one BDP then carries half, and the rest of the window waits in the queue.
    shared = net.link(12e6, 0.5, cross_traffic=(CrossTraffic(rate_bps=6e6),))
    result = net.run("fixed", shared, duration_s=60)
    assert net.utilisation(result, 12e6) == pytest.approx(0.5, abs=0.02)


def test_cross_traffic_goes_on_and_off():
    # On 1 s, off 1 s at the full rate: on average half the line.
    shared = net.link(12e6, 0.1, queue_bdp=30, cross_traffic=(CrossTraffic(12e6, on_ns=net.S, off_ns=net.S),))
    result = net.run("fixed", shared, duration_s=60, parameters=net.windows(1000))
    assert net.utilisation(result, 12e6) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(("rate", "period"), [(0.2, 5), (0.15, 7)])  # 1 / 0.15 = 6.67, rounded
def test_periodic_loss_takes_the_last_of_each_period(rate, period):
    lost = channel_losses(net.link(loss=Loss("periodic", rate)), 1, 0, net.WIRE, 100)
    assert np.flatnonzero(lost).tolist() == list(range(period - 1, 100, period))


def green_blocks(link, payload_bytes: tuple[int, ...], repeated: int) -> np.ndarray:
    """What arrives of each of so many blocks, sent once one after the other by a transfer without TCP."""
    one = net.live(repeated, payload_bytes)
    objects = dataclasses.replace(one, release_ns=np.zeros(len(one.chunk), dtype=np.int64))
    result = net.run("ltp", link, objects=objects, scheduler="none", green_from_layer=0)
    return np.asarray(result.objects.delivered_bytes)


def test_short_packets_of_a_slot_are_lost_on_their_own():
    # Ten packets of 140 bytes begin in each slot of 1 ms. Half are lost: of two neighbours in a slot one in two fares
    # like the other. 20,000 pairs: within 4 sigma, 4 sqrt(1 / 4 / 20,000).
    arrived = green_blocks(net.link(12e6, 1.0, loss=Loss("packet", 0.5)), (100,), 20_000) > 0
    assert (arrived[1:] == arrived[:-1]).mean() == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / 20_000))


def test_bit_errors_are_reckoned_for_each_packets_own_size():
    # Packets of 140 and 1,500 bytes by turns: (1 - ber)^1,120 and (1 - ber)^12,000 get through, within 4 sigma.
    ber, pairs = 1e-4, 10_000
    arrived = green_blocks(net.link(12e6, 1.0, loss=Loss("ber", ber)), (100, net.MSS), pairs) > 0
    for of_size, wire in ((arrived[::2], 140), (arrived[1::2], net.WIRE)):
        through = (1 - ber) ** (8 * wire)
        assert of_size.mean() == pytest.approx(through, abs=4 * np.sqrt(through * (1 - through) / pairs))


def test_a_packet_that_an_outage_cuts_is_lost():
    # 1 s on the line each. That of 50 s ends as a dark second begins, that of 60 s begins as one ends: both get
    # through. That of 80 s is on the line until 81 s, dark from 80.5 s on: cut.
    dark = ((net.ns(51.0), net.ns(52.0)), (net.ns(59.0), net.ns(60.0)), (net.ns(80.5), net.ns(81.5)))
    link = net.link(12e3, 4.0, outages_ns=dark, up_outages_ns=(), up_rate_bps=12e6)
    objects = net.live(8, (net.MSS,), chunk_s=10.0)
    result = net.run("open-loop", link, objects=objects, slot_s=10)
    late = result.objects.first_arrival_ns - objects.release_ns > net.ns(3.001)
    assert late[3:].tolist() == [False, False, False, False, True]


def test_a_path_that_shortens_faster_than_time_never_reorders():
    # The light time falls from 3 s to 1 s between 20 s and 21 s: what leaves at 20 s arrives at 23, what leaves at 21 s
    # would at 22. First in, first out: each arrives with the one before it at the earliest.
    falling = net.link(12e6, 6.0, delay_t_ns=(net.ns(20), net.ns(21)), delay_ns=(net.ns(3), net.ns(1)))
    arrived_ns = green_arrivals(falling, 300)
    left_s = 0.1 * np.arange(1, 301) + 0.001
    alone = left_s + np.interp(left_s, [20, 21], [3, 1])
    np.testing.assert_allclose(arrived_ns / net.S, np.maximum.accumulate(alone), atol=1e-6)
    assert (np.diff(alone) < 0).any()


def green_arrivals(link, count: int) -> np.ndarray:
    """When packets of 0.1 s each arrive, of a transfer without TCP."""
    objects = net.live(count, (net.MSS,), chunk_s=0.1)
    result = net.run("ltp", link, objects=objects, scheduler="none", green_from_layer=0)
    return np.asarray(result.objects.first_arrival_ns)


def test_service_times_are_rounded_to_the_nearest_nanosecond():
    # 12,000 bits at 7 Mbit/s take 1,714,285.71 ns, and at 14 Mbit/s 857,142.86.
    for rate, service in ((7e6, 1_714_286), (14e6, 857_143), (9e6, 1_333_333)):
        assert green_arrivals(net.link(rate, 1.0), 1)[0] == net.ns(0.1) + service + net.ns(0.5)


def test_what_is_lost_takes_its_time_on_the_line_all_the_same():
    # Every second of 1,000 packets of 1 ms is lost, all of which wait in the queue from the start: the last but one,
    # the 999th, has left after 999 ms.
    objects = dataclasses.replace(net.live(1000, (net.MSS,)), release_ns=np.zeros(1000, dtype=np.int64))
    link = net.link(12e6, 1.0, queue_bdp=2.0, loss=Loss("periodic", 1 / 2))
    knobs = {"green_from_layer": 0, "parameters": net.rates(240e6), "slot_s": 10.0}
    result = net.run("ltp", link, objects=objects, scheduler="none", **knobs)
    assert result.objects.first_arrival_ns.max() == net.ns(0.999) + net.ns(0.5)


def test_what_a_constant_chance_loses_takes_its_time_too():
    # As above; the last packet that is not lost arrives when those before it, lost or not, have left.
    objects = dataclasses.replace(net.live(1000, (net.MSS,)), release_ns=np.zeros(1000, dtype=np.int64))
    link = net.link(12e6, 1.0, queue_bdp=2.0, loss=Loss("packet", 0.5))
    knobs = {"green_from_layer": 0, "parameters": net.rates(240e6), "slot_s": 10.0}
    result = net.run("ltp", link, objects=objects, scheduler="none", **knobs)
    last = int(np.flatnonzero(~channel_losses(link, 1, 0, net.WIRE, 1000))[-1])
    assert result.objects.first_arrival_ns.max() == net.ns(0.001) * (last + 1) + net.ns(0.5)


def test_a_short_packet_alone_in_its_slot_has_the_slots_draw():
    # One of 140 bytes in each tenth slot of 1 ms: it fares as a full packet of that slot would.
    link = net.link(12e6, 1.0, loss=Loss("packet", 0.5))
    objects = net.live(500, (100,), chunk_s=0.01)
    result = net.run("ltp", link, objects=objects, scheduler="none", green_from_layer=0)
    fates = channel_losses(link, 1, 0, net.WIRE, 6000)[np.arange(1, 501) * 10]
    np.testing.assert_array_equal(result.objects.delivered_bytes == 0, fates)


def test_the_smallest_queue_holds_the_packet_in_service():
    arrived_ns = green_arrivals(net.link(12e6, 1.0, queue_bytes=1), 10)
    np.testing.assert_allclose(arrived_ns / net.S, 0.1 * np.arange(1, 11) + 0.001 + 0.5)


def test_the_way_up_has_a_rate_and_a_queue_of_its_own():
    # 1,000 packets a round trip of 1 s, and an ACK for two of them at most, 40 bytes: 26.7 ms each at 12 kbit/s,
    # where 2 ms would do. With room for ten of them an ACK waits 0.27 s at most, though the next one that finds room
    # speaks for those that did not; with endless room it waits ever longer.
    def mean_rtt_s(up_queue_bytes: int) -> float:
        slow = net.link(12e6, 1.0, up_rate_bps=12e3, up_queue_bytes=up_queue_bytes)
        totals = net.run("fixed", slow, duration_s=30, parameters=net.windows(1000)).totals
        return totals.rtt_sum_s / totals.rtt_samples

    assert 1.2 < mean_rtt_s(400) < 2.5
    assert mean_rtt_s(10**9) > 5


def test_each_direction_has_a_loss_of_its_own():
    # Nothing comes back: a window of 10 goes out and is repeated, and nothing that goes out is lost.
    link = net.link(12e6, 1.0, up_loss=Loss("periodic", 1 / 2))
    result = net.run("newreno", link, objects=net.bulk(100 * net.MSS))
    assert result.totals.lost_channel_packets == 0
    assert result.objects.complete_ns[0] > 0
    silent = net.run("newreno", net.link(12e6, 1.0, up_loss=Loss("packet", 1.0)), duration_s=60)
    assert silent.totals.sent_payload_bytes == 0  # not even a handshake
    deaf = net.run("newreno", net.link(12e6, 1.0, loss=Loss("packet", 1.0)), duration_s=60)
    assert deaf.totals.lost_channel_packets == 6  # SYNs of 0, 1, 3, 7, 15, 31 s
