"""TP-Planet's states: the rate in bit/s over a line of 12 Mbit/s, RTT 3.2 s, so 32 intervals of 0.1 s."""

from __future__ import annotations

import pytest

from dstcc.engine import Loss

from . import net
from .law import Law

LINE_BPS = 12e6
RTT_S = 3.2
SEGMENT_BPS = net.WIRE * 8 / 0.1  # one segment an interval: 120 kbit/s


def law() -> Law:
    return Law("tp-planet", RTT_S, line_bps=LINE_BPS)


def test_immediate_start_emulates_slow_start_then_congestion_avoidance():
    # log2(6e6 / 120e3) = 5.6 doublings: 1, 2, 4, .. 32 segments an interval, then half the line and one more each.
    planet = law()
    planet.wait(0.01)
    rates = []
    for _ in range(32):
        planet.send(1)
        rates.append(planet.pacing_bps())
        planet.wait(0.1)
    assert rates[:6] == pytest.approx([SEGMENT_BPS * 2**k for k in range(6)])
    assert rates[6] == pytest.approx(LINE_BPS / 2 + SEGMENT_BPS)
    assert rates[31] == pytest.approx(min(LINE_BPS / 2 + 26 * SEGMENT_BPS, LINE_BPS))


def steady(rate_segments: int) -> Law:
    """In the steady state, after a follow-up in which so many segments came back an interval."""
    planet = law()
    planet.send(10**6)
    planet.wait(RTT_S)
    for _ in range(34):
        planet.ack(rate_segments)
        planet.wait(0.1)
    return planet


def test_follow_up_takes_the_rate_at_which_acks_came_back():
    assert steady(50).pacing_bps() == pytest.approx(50 * SEGMENT_BPS)


@pytest.mark.parametrize(("queued", "change"), [(0.0, "increase"), (0.6, "decrease"), (0.3, "hold")])
def test_steady_state_increases_decreases_or_holds_by_the_low_priority_share(queued, change):
    # Half (1 - queued, by ACKs) of the segments see an empty queue: φ = 1, 0.4, 0.7. 20 segments are 20 ms of the line.
    planet = steady(50)
    before = planet.pacing_bps()
    for k in range(34):
        planet.wait(0.1)
        planet.ack(50, rtt_s=RTT_S + (0.02 if k % 10 < queued * 10 else 0))
    expected = {"increase": before + LINE_BPS / 32, "decrease": before * 7 / 8, "hold": before}[change]
    assert planet.pacing_bps() == pytest.approx(expected)


def test_losses_alone_change_nothing():
    planet = steady(50)
    before = planet.pacing_bps()
    for _ in range(10):
        planet.lose()
    assert planet.pacing_bps() == before


def test_blackout_probes_and_returns_to_the_old_rate():
    planet = steady(50)
    before = planet.pacing_bps()
    planet.time_out()
    assert planet.pacing_bps() == pytest.approx(SEGMENT_BPS)
    planet.wait(100)
    planet.ack(1)
    assert planet.pacing_bps() == pytest.approx(before)


def test_it_uses_a_lossy_line_at_twenty_minutes_of_round_trip():
    # 1 % of link errors costs the 1 % and never the rate; the rest is what follow-up measured too low for a while.
    rtt_s = 1200.0
    slow = net.link(1e5, rtt_s, loss=Loss("packet", 0.01))
    result = net.run("tp-planet", slow, duration_s=20 * rtt_s, slot_s=rtt_s / 4, scale=30)
    assert net.utilisation(result, 1e5) > 0.85


def test_it_makes_room_for_others():
    ours, other = net.shares_bps(net.sharing("tp-planet", rivals=("newreno",), queue_bdp=2))
    assert ours / (ours + other) < 0.9


def test_it_sits_out_an_outage():
    dark = net.link(1e6, 10.0, outages_s=((200.0, 300.0),))
    result = net.run("tp-planet", dark, duration_s=400, slot_s=5)
    after = result.samples.delivered_bytes[result.samples.t_ns > net.ns(330)].sum() * 8 / 70
    assert after > 0.8e6


# ----------------------------------------------------------------------------------------------- thresholds, both sides


def deciding(rate_segments: int = 50) -> Law:
    """In the steady state, a decision's round trip just begun: an answer after darkness begins one."""
    planet = steady(rate_segments)
    planet.time_out()
    planet.sample(1, delivered=1, interval_s=1.0, rtt_s=-1e-9)  # a repeat, without a round-trip time
    return planet


def decide(low: int, of: int, *, queue_segments: float = 20.0, rate_segments: int = 50) -> float:
    """The rate's change, bit/s, in a round trip in which ``low`` ACKs of ``of`` saw no queue and the others that
    one."""
    planet = deciding(rate_segments)
    before = planet.pacing_bps()
    for k in range(of):
        queueing = 0.0 if k < low else queue_segments * 1e-3  # 1 ms a segment
        planet.ack(50, rtt_s=RTT_S + queueing)
        assert planet.pacing_bps() == pytest.approx(before)
        planet.wait(RTT_S / (of + 1))
    planet.wait(RTT_S / of)
    planet.sample(0, delivered=0, interval_s=1.0)
    return planet.pacing_bps() - before


@pytest.mark.parametrize(("low", "change"), [(40, "+"), (36, "+"), (35, "0"), (20, "0"), (19, "-"), (0, "-")])
def test_phi_at_its_thresholds(low, change):
    # Of 40: φ_i = 0.9 is 36, φ_d = 0.5 is 20; increase at φ_i, hold at φ_d.
    amount = {"+": LINE_BPS / 32, "0": 0.0, "-": -50 * SEGMENT_BPS / 8}[change]
    assert decide(low, 40) == pytest.approx(amount, abs=1)


@pytest.mark.parametrize(
    ("queue_segments", "change"),
    [(15.9, LINE_BPS / 32), (16.0, LINE_BPS / 32), (16.1, -50 * SEGMENT_BPS / 8)],
)
def test_low_priority_outlasts_sixteen_segments_of_queue(queue_segments, change):
    assert decide(0, 40, queue_segments=queue_segments) == pytest.approx(change, abs=1)


def test_a_decision_needs_a_segment_with_a_round_trip_time():
    # A round trip in which only repeats were acknowledged says nothing; the next clean ACK decides at once.
    planet = deciding()
    before = planet.pacing_bps()
    planet.wait(RTT_S + 0.01)
    planet.sample(5, delivered=5, interval_s=1.0, rtt_s=-1e-9)
    assert planet.pacing_bps() == pytest.approx(before)
    planet.ack(5)
    assert planet.pacing_bps() == pytest.approx(before + LINE_BPS / 32)


def test_a_decision_takes_a_whole_round_trip():
    planet = deciding()
    planet.ack(1)
    before = planet.pacing_bps()
    planet.wait(0.99 * RTT_S)
    planet.ack(1)
    assert planet.pacing_bps() == pytest.approx(before)
    planet.wait(0.01 * RTT_S)
    planet.ack(1)
    assert planet.pacing_bps() == pytest.approx(before + LINE_BPS / 32)


def test_the_rate_stays_between_a_thousandth_of_the_line_and_the_line():
    for rtt_s, bound in ((RTT_S, LINE_BPS), (RTT_S + 0.5, LINE_BPS / 1000)):
        planet = steady(50)
        for _ in range(120):
            planet.wait(RTT_S)
            planet.ack(10, rtt_s=rtt_s)
        assert planet.pacing_bps() == pytest.approx(bound)


def test_follow_up_keeps_the_best_interval():
    # 50 segments came back in one interval, 10 in those before and after: S = 50 an interval from then on.
    planet = law()
    planet.send(10**6)
    planet.wait(RTT_S)
    for acked in [10] * 10 + [50] + [10] * 22:
        planet.ack(acked)
        planet.wait(0.1)
    assert planet.pacing_bps() == pytest.approx(50 * SEGMENT_BPS)


def test_a_blackouts_probes_are_no_faster_than_the_rate_was():
    planet = steady(50)
    for _ in range(120):
        planet.wait(RTT_S)
        planet.ack(10, rtt_s=RTT_S + 0.5)
    assert planet.pacing_bps() == pytest.approx(LINE_BPS / 1000)  # less than a segment an interval
    planet.time_out()
    assert planet.pacing_bps() == pytest.approx(LINE_BPS / 1000)


def test_decisions_after_a_blackout_count_anew():
    # Half a round trip of full queues, then darkness: what they showed is not what the restored rate will meet.
    planet = deciding()
    planet.ack(1)
    before = planet.pacing_bps()
    planet.wait(RTT_S / 2)
    planet.ack(1000, rtt_s=RTT_S + 0.5)
    planet.time_out()
    planet.wait(50)
    planet.ack(1)
    assert planet.pacing_bps() == pytest.approx(before)
    planet.wait(RTT_S)
    planet.ack(1)
    assert planet.pacing_bps() == pytest.approx(before + LINE_BPS / 32)
