"""BIC, Vegas and LEDBAT: the published arithmetic, then how they behave on a link."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine import CrossTraffic, Loss

from . import net
from .law import Law

MARS_RTT_S = 2400.0


def pause(law: Law) -> None:
    """BIC looks at an unchanged window again after 1/32 s."""
    law.wait(0.05)


def test_bic_reduces_to_four_fifths_and_remembers_the_maximum():
    law = Law("bic", 0.1)
    law.set(cwnd=1000)
    law.lose()
    assert law.cwnd() == 1000 * 819 // 1024  # β = 0.8
    small = Law("bic", 0.1)
    small.set(cwnd=14)  # low_window: Reno
    small.lose()
    assert small.cwnd() == 7


@pytest.mark.parametrize(
    ("cwnd", "per_rtt"),
    [
        (400, 16),  # (1000 - 400) / 4 = 150 segments to the middle: capped at S_max
        (960, 10),  # (1000 - 960) / 4
        (980, 5),
        (997, 0.2),  # less than two segments left: 20 / 4 = 5 round trips for each
        (1002, 0.2),  # max probing begins as slowly ...
        (1030, 10),  # ... grows with the distance, (1030 - 1000) / 3 ...
        (1100, 16),  # ... and ends at S_max
    ],
)
def test_bic_searches_for_the_last_maximum(cwnd, per_rtt):
    law = Law("bic", 0.1)
    law.set(cwnd=1000)
    law.lose()  # W_max = 1000
    law.set(cwnd=cwnd)
    pause(law)
    law.send(5 * cwnd)
    needed = 0
    while law.cwnd() == cwnd:
        law.ack(1)
        needed += 1
    # Linux's mean of segments per ACK begins at 32/16 and its integer filter rests at 31/16: the steps are doubled.
    assert needed == pytest.approx(cwnd / per_rtt * 16 / 31, rel=0.03, abs=1)


def test_bic_fast_convergence():
    # Lost at 900, before it was back at 1000: W_max = 900 (1 + 0.8) / 2 = 809. So 812 is in the first segments of max
    # probing (5 round trips for each, doubled); without fast convergence the middle would be (900 - 812) / 4 = 22 away.
    law = Law("bic", 0.1)
    for cwnd in (1000, 900):
        law.set(cwnd=cwnd)
        law.lose()
    law.set(cwnd=812)
    pause(law)
    law.send(4000)
    for _ in range(2000):
        law.ack(1)
    assert law.cwnd() == 812
    for _ in range(100):
        law.ack(1)
    assert law.cwnd() == 813


def vegas(cwnd: int, rtt_s: float, base_s: float, ssthresh: int) -> Law:
    """Vegas after its decision on a round trip of ``rtt_s`` at that window."""
    law = Law("vegas", base_s)
    law.round()
    law.set(cwnd=cwnd, ssthresh=ssthresh)
    law.round(rtt_s=rtt_s)
    law.set(cwnd=cwnd, ssthresh=ssthresh)
    law.send(1)
    law.ack(1, rtt_s=rtt_s)
    return law


@pytest.mark.parametrize(("rtt_s", "change"), [(1.01, +1), (1.025, 0), (1.045, 0), (1.055, -1)])
def test_vegas_keeps_two_to_four_segments_in_the_queue(rtt_s, change):
    # diff = ⌊100 (RTT - 1) / 1⌋ is 1 (grow: below α = 2), 2 and 4 (stand), 5 (shrink: above β = 4).
    assert vegas(100, rtt_s, 1.0, ssthresh=10).cwnd() - 100 == change


def test_vegas_leaves_slow_start_at_the_measured_rate():
    # W = 100 at RTT 1.05 s over base 1 s: diff = 5 > γ = 1, so W = ⌊100 / 1.05⌋ + 1 = 96; at diff 1 it goes on.
    assert vegas(100, 1.05, 1.0, ssthresh=2**40).cwnd() == 96
    assert vegas(100, 1.015, 1.0, ssthresh=2**40).cwnd() == 101


def test_vegas_halves_on_loss():
    law = Law("vegas", 1.0)
    law.set(cwnd=101)
    law.lose()
    assert law.cwnd() == 50


def test_vegas_knows_no_overflow_at_forty_minutes():
    # 10,000 segments, 40 min, 4 s of queueing: diff = 10,000 · 4 / 2400 = 16 > β. In 32 bits of microseconds Linux's
    # product 4e10 would wrap to 1.3e9 and diff to 0.
    assert vegas(10_000, MARS_RTT_S + 4, MARS_RTT_S, ssthresh=10).cwnd() == 9_999


def ledbat(queueing_s: float, *, scale: float = 1.0, acked: int = 100) -> float:
    """Growth of W = 100 over ``acked`` segments at this queueing delay, base delay 5 s."""
    law = Law("ledbat", 10.0, scale=scale)
    law.send(acked + 200)  # the window stays in use
    law.ack(1, one_way_s=5.0)
    for _ in range(4):  # the filter is the least of four
        law.ack(1, one_way_s=5.0 + queueing_s)
    law.set(cwnd=100)
    for _ in range(acked):
        law.ack(1, one_way_s=5.0 + queueing_s)
    return law.cwnd() - 100


@pytest.mark.parametrize(
    ("queueing_s", "change"),
    [(0.0, 1), (0.1, 0), (0.2, -1), (0.5, -4)],  # GAIN (TARGET - queueing) / TARGET segments a round trip
)
def test_ledbat_steers_to_a_tenth_of_a_second(queueing_s, change):
    assert ledbat(queueing_s) == pytest.approx(change, abs=1)
    assert ledbat(queueing_s, acked=400) == pytest.approx(4 * change, abs=1 + abs(change))


def test_ledbats_target_follows_the_time_scale():
    assert ledbat(6.0, scale=60.0, acked=1000) == 0  # 6 s of mission time are 0.1 s emulated at scale 60
    assert ledbat(0.0, scale=60.0, acked=250) == ledbat(0.0, acked=250) == 2


def test_ledbat_halves_on_loss_and_never_below_two():
    law = Law("ledbat", 1.0)
    law.set(cwnd=100)
    law.lose()
    assert law.cwnd() == 50
    law.set(cwnd=3)
    law.lose()
    assert law.cwnd() == 2


def test_ledbat_forgets_base_delays_after_ten_minutes():
    # The path became 1 s longer. For ten minutes that looks like queueing; then the old base has left the history.
    law = Law("ledbat", 1.0)
    law.send(10_000)
    law.ack(1, one_way_s=0.5)
    law.set(cwnd=100)
    windows = []
    for _ in range(13):
        windows.append(law.cwnd())
        law.wait(61)
        for _ in range(100):
            law.ack(1, one_way_s=1.5)
    assert windows[9] < windows[1] < 100
    assert windows[12] > windows[11]


@pytest.mark.parametrize("congestion", ["bic", "vegas", "ledbat"])
def test_they_fill_a_clean_link(congestion):
    result = net.run(congestion, net.link(2.4e6, 0.1), duration_s=200)  # BDP 20 packets
    assert net.utilisation(result, 2.4e6) > 0.95


def test_vegas_keeps_its_queue_on_a_link():
    # α 2, β 4 of its own segments; the one in service and a delayed ACK's second come on top.
    result = net.run("vegas", net.link(2.4e6, 0.1, queue_bdp=4), duration_s=200)
    queue = result.samples.queue_bytes[400:] / net.WIRE
    assert 1 <= np.mean(queue) <= 5
    reno = net.run("newreno", net.link(2.4e6, 0.1, queue_bdp=4), duration_s=200)
    assert np.mean(reno.samples.queue_bytes[400:] / net.WIRE) > 20


def test_ledbat_keeps_its_queue_near_the_target():
    result = net.run("ledbat", net.link(2.4e6, 0.1, queue_bdp=10), duration_s=200)
    queue_s = np.mean(result.samples.queue_bytes[400:]) * 8 / 2.4e6
    assert queue_s == pytest.approx(0.1, rel=0.2)


def test_ledbat_yields_to_traffic_that_fills_the_queue():
    # From second 20 to 60 others offer 98 % of the line: their queue exceeds 100 ms, LEDBAT goes to its two segments,
    # NewReno does not.
    def share(congestion: str) -> float:
        others = CrossTraffic(2.352e6, start_ns=net.ns(20), stop_ns=net.ns(60))
        line = net.link(2.4e6, 0.1, queue_bdp=10, cross_traffic=(others,))
        result = net.run(congestion, line, duration_s=60, slot_s=1)
        return float(result.samples.delivered_bytes[30:].sum()) * 8 / 30 / 2.4e6

    assert share("ledbat") < 0.12
    assert share("newreno") > 2 * share("ledbat")


@pytest.mark.parametrize("rival", ["newreno", "cubic"])
def test_ledbat_yields_to_a_flow_that_fills_the_queue(rival):
    # The queue holds 200 ms, twice the target: most of the time the rival keeps it above and LEDBAT shrinks.
    ours, other = net.shares_bps(net.sharing("ledbat", rivals=(rival,), queue_bdp=2))
    assert ours / (ours + other) < 0.25
    assert ours + other > 0.9 * 10e6 * net.MSS / net.WIRE


@pytest.mark.parametrize("congestion", ["bic", "vegas", "ledbat"])
def test_forty_minutes_of_round_trip(congestion):
    # BDP 200 packets at RTT 40 min and scale 60: windows stay in range and most of the line is used where the law can
    # get there at all. LEDBAT grows by a segment a round trip at most, and here by less: a segment that joins the
    # others waits for 12 s of the line, twice the target. The receiver waits for a second segment for up to 12 s, so
    # one ACK answers two, two leave together, and the second waits: 10 + 50 / 3 segments in the mean of the second
    # half. Measured are 27.8; the bound leaves room for a tenth less.
    slow = net.link(1000.0, MARS_RTT_S)
    result = net.run(congestion, slow, duration_s=MARS_RTT_S * 100, slot_s=600, scale=60)
    assert result.samples.cwnd_segments[4:].min() >= 1
    assert result.samples.cwnd_segments.max() < 10_000
    assert net.utilisation(result, 1000.0) > (25 / 200 if congestion == "ledbat" else 0.9)


def test_bic_takes_back_what_loss_took_sooner_than_newreno():
    lossy = net.link(12e6, 0.5, loss=Loss("packet", 1e-4))
    used = {name: net.utilisation(net.run(name, lossy, duration_s=400), 12e6) for name in ("bic", "newreno")}
    assert used["bic"] > 1.5 * used["newreno"]
