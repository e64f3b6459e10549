"""The laws, each with its arithmetic. BDP(12 Mbit/s, 0.5 s) = 500 packets of 1,500 bytes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dstcc.engine import Loss, TcpConstants

from . import net


def periodic_window(congestion: str, p: float, rtt_s: float, cycles: float, seed: int = 1) -> float:
    """Mean window with one loss in every 1/p packets on a link that is never full."""
    expected = max(math.sqrt(1.5 / p), 1.054 * (rtt_s / p) ** 0.75)
    cycle_s = max(1 / p / expected, 5) * rtt_s
    fast = net.link(10e9, rtt_s, queue_bdp=1, loss=Loss("periodic", p))
    result = net.run(
        congestion,
        fast,
        duration_s=cycles * cycle_s,
        slot_s=rtt_s / 4,
        seed=seed,
        constants=net.QUICK_ACK,
    )
    return net.mean_window(result, rtt_s)


def test_fixed_at_the_bdp_fills_a_lossless_link():
    # No probing, no loss: W = BDP keeps the line busy; 2 % are left for the delayed ACK (1 packet of 500) and start.
    result = net.run("fixed", net.link(12e6, 0.5), duration_s=100)
    assert net.utilisation(result, 12e6) >= 0.98


def test_fixed_ignores_loss():
    # 1 % loss costs the 1 % itself and its repeats' round trips, never the window.
    result = net.run("fixed", net.link(12e6, 0.5, loss=Loss("packet", 0.01)), duration_s=100)
    assert set(result.samples.cwnd_segments[8:]) == {502}  # ⌈(0.5 s + 1 ms + the ACK's 27 µs) / 1 ms⌉
    assert 0.95 <= net.utilisation(result, 12e6) <= 1.0


def test_open_loop_sends_at_the_rate_it_is_told():
    result = net.run("open-loop", net.link(12e6, 0.5), duration_s=50, parameters=net.rates(6e6))
    assert net.utilisation(result, 12e6) == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize("p", [1e-4, 3e-4, 1e-3, 3e-3])
def test_newreno_follows_the_square_root_law(p):
    # Mathis et al. 1997: a sawtooth from W/2 to W spends 3/8 W² packets per loss: mean window √(3/2p).
    assert periodic_window("newreno", p, 0.1, 60) == pytest.approx(math.sqrt(1.5 / p), rel=0.10)


def test_newreno_at_small_windows_pays_for_its_recovery_round_trip():
    # At p = 1e-2 the law's 12.2 leaves out that a cycle of ~9 round trips holds one without growth and that halving
    # rounds down. Counting whole round trips: h in recovery, then h, h + 1, .. 2 h, makes h + 3 h (h + 1) / 2 = 1/p
    # packets in h + 2 round trips.
    p = 1e-2
    h = (-2.5 + math.sqrt(2.5**2 + 4 * 1.5 / p)) / 3
    exact = (1 / p) / (h + 2)
    measured = periodic_window("newreno", p, 0.1, 60)
    assert measured == pytest.approx(exact, rel=0.05)
    assert measured == pytest.approx(math.sqrt(1.5 / p), rel=0.15)


@pytest.mark.parametrize(
    ("rtt_s", "p"), [(0.1, 1e-4), (0.1, 1e-5), (1.0, 1e-4), (1.0, 1e-5), (0.03, 1e-4), (0.03, 1e-3)]
)
def test_cubic_follows_rfc_9438(rtt_s, p):
    # RFC 9438 section 5.1, C = 0.4 and β = 0.7: W = 1.054 (RTT / p)^0.75; where Reno's window is larger, section 4.3
    # gives that.
    expected = max(1.054 * (rtt_s / p) ** 0.75, math.sqrt(1.5 / p))
    assert periodic_window("cubic", p, rtt_s, 40) == pytest.approx(expected, rel=0.15)


def test_cubic_scales_with_the_emulated_clock():
    # C = 0.4 holds in emulated seconds: RTT 10 s at scale 100 is RTT 0.1 s unscaled, sample for sample.
    def windows(rtt_s: float, scale: float) -> np.ndarray:
        slow = net.link(12e6 * 0.1 / rtt_s, rtt_s, loss=Loss("periodic", 1e-3))
        result = net.run("cubic", slow, duration_s=rtt_s * 400, slot_s=rtt_s / 4, scale=scale)
        return result.samples.cwnd_segments

    np.testing.assert_array_equal(windows(10.0, 100.0), windows(0.1, 1.0))


def test_westwood_falls_to_the_measured_bandwidth_where_newreno_halves():
    # Queue of half a BDP: the loss comes at 1.5 BDP. NewReno falls to 0.75 BDP and idles until it has grown back;
    # Westwood+ falls to BWE · RTTmin = the BDP (Grieco & Mascolo 2004, section 2) and never idles.
    def after_loss(congestion: str) -> tuple[float, float]:
        result = net.run(congestion, net.link(12e6, 0.5, queue_bdp=0.5), duration_s=2500, slot_s=0.5)
        # But for the round trip of recovery itself, where Westwood+ reduces as NewReno: one slot in hundreds.
        return float(np.quantile(result.samples.cwnd_segments[2400:], 0.01)), net.utilisation(result, 12e6)

    bdp = 500
    floor, used = after_loss("newreno")
    assert floor == pytest.approx(1.5 * bdp / 2, rel=0.03)
    assert used < 0.98
    floor, used = after_loss("westwood")
    assert floor == pytest.approx(bdp, rel=0.03)
    assert used > 0.99


def test_westwood_rides_over_random_loss():
    # BDP 100, p = 1e-3: NewReno holds √(1.5/p) = 39 of 100 packets; Westwood+ returns to the bandwidth it measured.
    lossy = net.link(2.4e6, 0.5, loss=Loss("packet", 1e-3))
    newreno, westwood = (
        net.utilisation(net.run(name, lossy, duration_s=1000), 2.4e6) for name in ("newreno", "westwood")
    )
    assert newreno == pytest.approx(0.39, abs=0.08)
    assert westwood > 0.85


def test_westwood_counts_a_filled_hole_as_linux_does():
    # 10 Mbit/s, RTT 1 s, p = 1e-2, the last 75 of 100 s: Linux 6.1.192 had 0.395 ± 0.038 Mbit/s (standard error of 24
    # flows). The ACK that fills a hole takes its fast path and counts once more what duplicate ACKs have counted;
    # without that it is 0.27. The standard error of 96 flows here is 0.017: three of both are 0.125.
    lossy = net.link(10e6, 1.0, loss=Loss("packet", 0.01))
    linux = {
        "mss_bytes": 1448,
        "header_bytes": 66,
        "option_bytes": 0,
        "constants": TcpConstants(jiffy_s=0.01),
    }
    rates_mbps = []
    for seed in range(96):
        samples = net.run("westwood", lossy, duration_s=100, seed=seed, **linux).samples
        rates_mbps.append(samples.delivered_bytes[samples.t_ns > 25 * net.S].sum() * 8 / 75 / 1e6)
    assert np.mean(rates_mbps) == pytest.approx(0.395, abs=0.125)


def test_westwood_over_mptcp_counts_nothing_twice():
    # 1.2 Mbit/s, RTT 1 s, p = 1e-2, 1,500 s: Linux's MPTCP had 0.257 Mbit/s (`make fidelity`, mean of 6 runs between
    # 0.242 and 0.276). Its ACKs carry an option and never take the fast path; if they did it would be 0.76.
    lossy = net.link(1.2e6, 1.0, loss=Loss("packet", 0.01))
    knobs = {"duration_s": 1500, "constants": TcpConstants(jiffy_s=0.01)}
    runs = [net.run("westwood", lossy, seed=seed, **knobs).totals for seed in range(8)]
    mean_mbps = np.mean([8 * totals.delivered_payload_bytes / 1500 / 1e6 for totals in runs])
    assert mean_mbps == pytest.approx(0.257, rel=0.1)


def test_bbr_over_mptcp_cruises_a_little_above_the_rate_it_measures():
    # Linux reckons the pacing rate with mss_cache = 1,484 bytes a segment, 24 of them options, and spends it on 1,460:
    # 0.99 · 1484/1460 = 1.0063 of the bandwidth, so a queue grows in PROBE_BW; plain TCP's 0.99 lets it drain. At 1.2
    # Mbit/s, RTT 1 s and p = 1e-4 Linux's MPTCP had a mean RTT of 1.137 s (`make fidelity`).
    def mean_rtt(option_bytes: int) -> float:
        lossy = net.link(1.2e6, 1.0, loss=Loss("packet", 1e-4))
        runs = [net.run("bbr", lossy, duration_s=400, seed=s, option_bytes=option_bytes) for s in range(8)]
        return float(np.mean([r.totals.rtt_sum_s / r.totals.rtt_samples for r in runs]))

    assert mean_rtt(24) == pytest.approx(1.137, rel=0.05)
    assert mean_rtt(0) < mean_rtt(24) - 0.03


@pytest.mark.parametrize("congestion", ["bbr", "bbr-scaled"])
def test_bbr_fills_the_link_and_keeps_its_queue_short(congestion):
    # Cardwell et al. 2016: cruise at BtlBw with one BDP in flight. PROBE_BW gains average 1 and pacing leaves 1 %;
    # stock BBR spends 1 round in 20 (10 s / 0.5 s) in PROBE_RTT and as long again refilling.
    result = net.run(congestion, net.link(12e6, 0.5), duration_s=300)
    assert net.utilisation(result, 12e6) >= 0.88
    mean_rtt = result.totals.rtt_sum_s / result.totals.rtt_samples
    assert mean_rtt < 0.5 * 1.25


def test_bbr_shrugs_off_random_loss_that_stops_newreno():
    lossy = net.link(12e6, 0.5, loss=Loss("packet", 0.01))
    assert net.utilisation(net.run("bbr", lossy, duration_s=200), 12e6) >= 0.80
    # √(1.5 / 0.01) = 12 of 500 packets
    assert net.utilisation(net.run("newreno", lossy, duration_s=200), 12e6) <= 0.05


def test_stock_bbr_lives_in_probe_rtt_beyond_ten_seconds_and_scaled_bbr_does_not():
    # RTT 60 s: the 10 s RTprop window expires every round, PROBE_RTT's 4 segments and its refill fill the time.
    slow = net.link(1e5, 60.0)
    stock = net.run("bbr", slow, duration_s=60 * 300, slot_s=15)
    scaled = net.run("bbr-scaled", slow, duration_s=60 * 300, slot_s=15)
    assert net.utilisation(stock, 1e5) < 0.5
    assert net.utilisation(scaled, 1e5) > 0.85


def test_time_constants_follow_the_scale():
    # BBR at RTT 60 s and scale 600 is BBR at RTT 0.1 s: the collapse is the clock's doing.
    slow = net.link(1e5, 60.0)
    result = net.run("bbr", slow, duration_s=60 * 300, slot_s=15, scale=600)
    assert net.utilisation(result, 1e5) > 0.85
