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
    return Law("tp-planet", RTT_S, open_loop_bps=(LINE_BPS,))


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
    own, other = net.shares_bps(net.sharing("tp-planet", rivals=("newreno",), queue_bdp=2))
    assert own / (own + other) < 0.9


def test_it_sits_out_an_outage():
    dark = net.link(1e6, 10.0, outages_s=((200.0, 300.0),))
    result = net.run("tp-planet", dark, duration_s=400, slot_s=5)
    after = result.samples.delivered_bytes[result.samples.t_ns > net.ns(330)].sum() * 8 / 70
    assert after > 0.8e6
