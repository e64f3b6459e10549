"""BBR step by step, by samples of a path of 100 segments a second and RTT 1 s: rates, windows, states.

    pacing = gain · BtlBw · 0.99;   cwnd = gain · BtlBw · RTprop + 3 sends + aggregation (at most 100 ms of BtlBw)

`bbr-scaled` counts sends of one segment of 1,500 bytes, so that its numbers are the formula's; `bbr` adds Linux's
integers: 100 segments a second are 1,677 / 2^24 segments a microsecond, and not 1,677.7.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from . import net
from .law import Law
from .net import MSS, WIRE, ns

HIGH = 739 / 256  # 256 · 2885 / 1000 + 1, as Linux rounds (bbr_high_gain)
DRAIN = 88 / 256  # 256 · 1000 / 2885 (bbr_drain_gain)


def whole(rate: float) -> float:
    """Segments a second as Linux counts them: 2^-24 segments a microsecond."""
    return math.floor(rate * 2**24 / 1e6) * 1e6 / 2**24


class Path:
    """A law and what it is fed."""

    def __init__(self, name: str = "bbr-scaled", rtt_s: float = 1.0, **more: object) -> None:
        self.law = Law(name, rtt_s, **more)  # type: ignore[arg-type]
        self.name = name
        self.rtt_s = rtt_s

    def round(
        self, rate: float, *, acked: int = 10, wait_s: float = 0.0, in_flight: int = 0, **more: object
    ) -> None:
        """A round trip's first ACK: ``rate`` segments a second were delivered."""
        self.law.send(acked)
        self.law.wait(wait_s)
        self.law.sample(acked, delivered=round(rate), interval_s=1.0, prior_in_flight=in_flight, **more)  # type: ignore[arg-type]

    @property
    def paced(self) -> float:
        """Segments a second."""
        return self.law.pacing_bps() / 8 / WIRE

    def gain(self, rate: float = 100) -> float:
        if self.name == "bbr":
            return round(self.paced / whole(rate) / 0.99, 4)  # bytes a second are whole, too
        return self.paced / rate / 0.99

    def full(self, rate: float = 100) -> None:
        """STARTUP is over: the rate was there, then three rounds without growth."""
        for _ in range(4):
            self.round(rate)

    def cruise(self, rate: float = 100) -> None:
        """In PROBE_BW, in a phase of gain 1."""
        self.full(rate)
        for _ in range(20):
            if self.gain(rate) == pytest.approx(1):
                return
            self.round(rate, wait_s=1.001 * self.rtt_s, in_flight=10**6)
        raise AssertionError("no phase of gain 1")


def test_it_starts_at_the_high_gain_of_the_initial_window():
    assert Path("bbr-scaled", 2.0).paced == pytest.approx(0.99 * HIGH * 10 / 2.0)


def test_startup_paces_by_the_largest_rate():
    path = Path()
    for rate in (40, 80, 60):
        path.round(rate)
    assert path.gain(80) == pytest.approx(HIGH)


def test_three_rounds_below_a_quarter_of_growth_end_startup():
    # 100, then 125 = 1.25 · 100 counts as growth; 150 < 156.25 does not, nor do the next two: then DRAIN and, as
    # nothing is in flight, PROBE_BW.
    path = Path()
    gains = []
    for rate in (100, 125, 150, 150, 150):
        path.round(rate)
        gains.append(path.gain(max(100, rate)))
    assert gains[:4] == pytest.approx([HIGH] * 4)
    assert gains[4] < 1.3


def test_startups_pace_does_not_fall_with_a_sample():
    # Before the pipe is known to be full a lower bandwidth paces no slower than the first window.
    path = Path()
    path.round(1)
    assert path.paced == pytest.approx(0.99 * HIGH * 10)


def test_drain_lasts_until_a_bandwidth_delay_product_is_in_flight():
    # 100 · 1 s + 3 = 103 segments.
    path = Path()
    path.law.send(300)
    path.full()
    assert path.gain() == pytest.approx(DRAIN)
    path.law.sample(196, delivered=100, interval_s=1.0)  # 104 left
    assert path.gain() == pytest.approx(DRAIN)
    path.law.sample(1, delivered=100, interval_s=1.0)  # 103
    assert path.gain() in (pytest.approx(1.25), pytest.approx(1.0))


def test_the_bandwidth_is_the_largest_of_ten_rounds():
    path = Path()
    path.cruise()
    path.round(200)
    seen = []
    for _ in range(14):
        path.round(100)
        seen.append(round(path.gain(), 6))
    # Rounds 1 to 10 after it still know 200; the eleventh does not.
    assert seen == [2.0] * 10 + [1.0] * 4


def test_of_the_rounds_since_the_largest_the_next_best_follows():
    # 200 in round 0, 150 in round 5: from round 11 to 15 the best is 150, then 100.
    path = Path()
    path.cruise()
    path.round(200)
    seen = []
    for k in range(1, 20):
        path.round(150 if k == 5 else 100)
        seen.append(round(path.gain(), 6))
    assert seen == [2.0] * 10 + [1.5] * 5 + [1.0] * 4


def test_an_equal_rate_takes_the_place_of_the_second_best():
    # Linux minmax_running_max(), `val.v >= m->s[1].v`: 150 in round 8 counts in the place of 150 in round 5, so that
    # the third place is free for 120 in round 9. 200 lasts for ten rounds, 150 up to round 18, 120 up to round 19.
    path = Path()
    path.cruise()
    path.round(200)
    seen = []
    for now in range(1, 22):
        path.round({5: 150, 8: 150, 9: 120}.get(now, 100))
        seen.append(round(path.gain(), 6))
    assert seen == [2.0] * 10 + [1.5] * 8 + [1.2] + [1.0] * 2


def test_samples_that_the_application_limited_count_only_upwards():
    path = Path()
    path.cruise()
    for _ in range(15):
        path.round(10, app_limited=True)
    assert path.gain() == pytest.approx(1)
    path.round(130, app_limited=True)
    assert path.gain(130) == pytest.approx(1)


def test_a_round_ends_with_what_was_delivered_when_it_began():
    # Three samples of one round are one round: STARTUP goes on though nothing grows.
    path = Path()
    path.law.send(100)
    path.round(100)
    for _ in range(6):
        path.law.sample(1, delivered=100, interval_s=1.0, prior_delivered=0)
    assert path.gain() == pytest.approx(HIGH)
    # The sample of a segment that left as the last of the round was delivered begins the next: no later one must.
    for _ in range(3):
        path.law.sample(1, delivered=100, interval_s=1.0)
    assert path.gain() < 1.3


def test_the_gain_cycle():
    # A phase a round trip: 5/4, 3/4, six of 1; 5/4 waits for its inflight, 3/4 ends when drained.
    path = Path()
    path.cruise()
    gains = []
    for k in range(24):  # round trips a little shorter each, so that RTprop never expires
        path.round(100, wait_s=1.001, in_flight=10**6, rtt_s=1 - k * 1e-6)
        gains.append(round(path.gain(), 6))
    first = gains.index(1.25)
    assert gains[first : first + 8] == [1.25, 0.75, 1, 1, 1, 1, 1, 1]
    assert gains[first + 8] == 1.25


def probing(name: str = "bbr-scaled") -> Path:
    path = Path(name)
    path.cruise()
    for _ in range(8):
        path.round(100, wait_s=1.001, in_flight=10**6)
        if path.gain() == pytest.approx(1.25):
            return path
    raise AssertionError("no probing phase")


def test_probing_lasts_a_round_trip_and_until_its_inflight_was_there_or_something_was_lost():
    # 1.25 · 100 + 3 + 2 = 130 in flight.
    for in_flight, losses, goes_on in ((129, 0, True), (130, 0, False), (0, 1, False)):
        path = probing()
        path.round(100, wait_s=1.001, in_flight=in_flight, losses=losses)
        assert (path.gain() == pytest.approx(1.25)) == goes_on
    path = probing()
    path.round(100, wait_s=0.9, in_flight=10**6)
    assert path.gain() == pytest.approx(1.25)


def test_a_round_trip_to_the_nanosecond_is_not_yet_a_phase():
    # bbr_is_next_cycle_phase(): the time since the phase began is more than RTprop.
    path = probing()
    path.round(100, wait_s=1.0, in_flight=10**6)
    assert path.gain() == pytest.approx(1.25)
    path.round(100, wait_s=1e-9, in_flight=10**6)
    assert path.gain() == pytest.approx(0.75)


def test_draining_ends_with_a_round_trip_or_when_it_is_done():
    # 1 · 100 + 3 in flight.
    for in_flight, wait_s, goes_on in ((104, 0.5, True), (103, 0.5, False), (10**6, 1.001, False)):
        path = probing()
        path.round(100, wait_s=1.001, in_flight=10**6)
        assert path.gain() == pytest.approx(0.75)
        path.round(100, wait_s=wait_s, in_flight=in_flight)
        assert (path.gain() == pytest.approx(0.75)) == goes_on


def test_the_window_is_two_bandwidth_delay_products_and_three_sends_and_what_was_aggregated():
    # 2 · 100 · 1 + 3, and of the ten segments of a single ACK at most 100 ms of BtlBw: 10.
    path = Path()
    path.cruise()
    for _ in range(40):
        path.round(100, acked=30)
    assert path.law.cwnd() == 203 + 10


def test_an_ack_of_one_segment_in_time_leaves_room_for_itself():
    # 100 acknowledged one by one every 10 ms: no ACK is ahead of the rate by more than the one segment that it brings.
    path = Path()
    path.cruise()
    path.law.wait(3)  # what came at once before is made up for
    for _ in range(300):
        path.round(100, acked=1, wait_s=0.010001)
    seen = path.law.cwnd()
    assert 204 <= seen <= 206  # two more while probing


def test_aggregation_is_remembered_for_five_to_ten_rounds():
    path = Path()
    path.cruise()
    for _ in range(20):
        path.round(100, acked=10)
    assert path.law.cwnd() == 213
    path.law.wait(3)  # the rate has caught up with what came at once
    windows = []
    for _ in range(12):  # rounds of single segments, 1 ms behind the rate
        path.round(100, acked=1, wait_s=0.011)
        windows.append(path.law.cwnd())
    assert windows[2] == 213
    assert windows[-1] <= 206


def test_the_window_grows_by_what_is_acknowledged_and_no_further_than_the_target():
    path = Path()
    path.cruise()
    path.law.set(cwnd=150)
    path.round(100, acked=10)
    assert path.law.cwnd() == 160
    path.law.set(cwnd=1000)
    path.round(100, acked=10)
    assert path.law.cwnd() == 213


def test_startup_grows_up_to_its_target_and_beyond_the_first_window_in_any_case():
    # BtlBw 2, so that the target is ⌈2.885 · 2⌉ + 3 = 9, below the initial window of 10: until 10 are delivered W
    # grows.
    path = Path()
    path.round(2, acked=4)
    path.round(2, acked=4)
    assert path.law.cwnd() == 18
    path.round(2, acked=4)
    assert path.law.cwnd() == 18


def test_the_least_window_is_four():
    path = Path("bbr")
    path.law.set(cwnd=1)
    path.law.send(2)
    path.law.sample(1, delivered=1, interval_s=1.0)
    assert path.law.cwnd() >= 4


# ----------------------------------------------------------------------------------------------------------- PROBE_RTT


def filled(name: str, rtt_s: float) -> Path:
    path = Path(name, rtt_s)
    path.cruise()
    for _ in range(40):
        path.round(100, acked=30)
    return path


@pytest.mark.parametrize(("rtt_s", "window_s"), [(0.5, 10.0), (2.0, 20.0)])
def test_scaled_rtprop_lasts_ten_round_trips_or_ten_seconds(rtt_s, window_s):
    path = filled("bbr-scaled", rtt_s)
    path.round(100, rtt_s=rtt_s / 2)  # a new minimum now
    low = max(4, math.ceil(100 * rtt_s * 0.5))  # once it has expired the sample, of rtt_s, takes its place
    path.round(100, wait_s=window_s - 0.01)
    assert path.law.cwnd() > 2 * low  # 2 * 100 * rtt_s / 2 + 3 + 10
    path.round(100, wait_s=0.02)
    assert path.law.cwnd() == low
    assert path.gain() == pytest.approx(1)


def test_stock_rtprop_lasts_ten_seconds_and_leaves_four_segments():
    path = filled("bbr", 2.0)
    path.round(100, rtt_s=1.0)
    path.round(100, wait_s=9.99)
    assert path.law.cwnd() > 100
    path.round(100, wait_s=0.02)
    assert path.law.cwnd() == 4


def test_probe_rtt_lasts_200_ms_and_a_round_and_gives_the_window_back():
    path = filled("bbr-scaled", 1.0)
    path.round(100, rtt_s=0.9)
    before = path.law.cwnd()
    path.round(100, wait_s=10.01)  # enters, with little in flight: the 200 ms begin
    low = path.law.cwnd()
    assert low == 50
    path.round(100, wait_s=0.1)  # a round is over, 200 ms are not
    assert path.law.cwnd() == low
    path.round(100, wait_s=0.11)
    assert path.law.cwnd() >= before


def test_probe_rtt_waits_for_a_round():
    path = filled("bbr-scaled", 1.0)
    path.round(100, rtt_s=0.9)
    path.round(100, wait_s=10.01)
    path.law.send(10)
    for _ in range(4):
        path.law.wait(0.2)
        path.law.sample(1, delivered=100, interval_s=1.0, prior_delivered=0)  # samples of an older round
        assert path.law.cwnd() == 50
    path.law.sample(1, delivered=100, interval_s=1.0)
    assert path.law.cwnd() > 50


def test_probe_rtts_clock_begins_when_its_window_is_reached():
    # 90 in flight: above 50. Until they are drained no 200 ms begin.
    path = filled("bbr-scaled", 1.0)
    path.law.send(90)
    path.round(100, wait_s=10.01)
    path.round(100, wait_s=10.01)
    for _ in range(3):
        path.round(100, wait_s=0.3)
        assert path.law.cwnd() == 50
    path.law.sample(45, delivered=100, interval_s=1.0)
    path.round(100, wait_s=0.1)
    assert path.law.cwnd() == 50
    path.round(100, wait_s=0.15)
    assert path.law.cwnd() > 50


@pytest.mark.parametrize("name", ["bbr", "bbr-scaled"])
def test_probe_rtts_samples_count_as_short_of_data_until_what_is_in_flight_has_come(name):
    # bbr_update_min_rtt(): app_limited = delivered + in flight, here 90.
    path = filled(name, 1.0)
    path.law.send(90)
    path.round(100, rtt_s=0.9)
    path.round(100, wait_s=10.01)
    assert path.law.state.app_limited(0) == path.law.state.delivered(0) + 90


# ---------------------------------------------------------------------------------------------------- losses, timeouts


def test_a_recovery_conserves_packets_for_a_round_and_is_restored():
    # 60 in flight, 5 acknowledged: W = in flight + acked; a round later it grows again; at its end W is what it was.
    path = filled("bbr-scaled", 1.0)
    before = path.law.cwnd()
    path.law.send(60)
    path.law.lose_and_stay()
    path.law.sample(5, delivered=100, interval_s=1.0, prior_delivered=0)
    assert path.law.cwnd() == 55 + 5
    path.law.sample(5, delivered=100, interval_s=1.0, prior_delivered=0)
    assert path.law.cwnd() == 60  # the largest of that and what is in flight
    path.law.sample(5, delivered=100, interval_s=1.0)  # the next round
    assert path.law.cwnd() == 65
    path.law.recover()
    path.law.sample(5, delivered=100, interval_s=1.0)
    assert path.law.cwnd() == before


def test_a_recovery_that_ends_within_its_round_conserves_packets_no_longer():
    # bbr_set_cwnd_to_recover_or_restore() clears packet_conservation on the way out: W is 150 again, and grows by 5.
    path = filled("bbr-scaled", 1.0)
    path.law.set(cwnd=150)
    path.law.send(60)
    path.law.lose_and_stay()
    path.law.sample(5, delivered=100, interval_s=1.0, prior_delivered=0)
    assert path.law.cwnd() == 60
    path.law.recover()
    path.law.sample(5, delivered=100, interval_s=1.0, prior_delivered=0)
    assert path.law.cwnd() == 155


def test_losses_within_a_recovery_take_their_number():
    path = filled("bbr-scaled", 1.0)
    path.law.send(60)
    path.law.lose_and_stay()
    path.law.sample(5, delivered=100, interval_s=1.0, prior_delivered=0)
    path.law.sample(1, delivered=100, interval_s=1.0)  # the round of conservation is over
    window = path.law.cwnd()
    path.law.sample(1, delivered=100, interval_s=1.0, losses=7, prior_delivered=0)
    assert path.law.cwnd() == window - 7 + 1


def test_a_timeout_looks_for_the_full_bandwidth_anew():
    # In STARTUP at 100 for two rounds; a timeout; two further rounds at 100 are the first of three again.
    path = Path()
    for _ in range(3):
        path.round(100)
    path.law.time_out()
    path.law.set(cwnd=1)
    for _ in range(3):
        path.round(100)
    assert path.gain() == pytest.approx(HIGH)


def test_an_undo_gives_the_window_back():
    path = filled("bbr-scaled", 1.0)
    before = path.law.cwnd()
    path.law.time_out()
    assert path.law.cwnd() == 1
    path.law.undo()
    assert path.law.cwnd() == before


def test_the_ack_that_ends_a_timeout_gives_the_window_back():
    # bbr_set_state() notes TCP_CA_Loss at once: the first ACK may find that it is over, as where nothing was lost.
    path = filled("bbr-scaled", 1.0)
    before = path.law.cwnd()
    path.law.send(60)
    path.law.time_out()
    assert path.law.cwnd() == 1
    path.law.recover()
    path.law.sample(5, delivered=100, interval_s=1.0)
    assert path.law.cwnd() == before


def test_what_left_idle_returns_at_the_bandwidth():
    path = probing()
    path.law.state.set_app_limited(0, 1)
    path.law.return_from_idle()
    assert path.gain() == pytest.approx(1)


# ------------------------------------------------------------------------------------------------------ Linux's own
# ways


def test_stock_windows_are_even_and_sends_follow_the_rate():
    # 100 segments a second of 1,460 bytes are 1.17 Mbit/s: at gain 1 · 0.99 a send is one segment (bbr_min_tso_segs);
    # twice the rate makes it two. 1,677 / 2^24 · 10^6 · 2 = 199.9, up: 200; 3 · 1; aggregation of 100 ms, down: 9; 212.
    # 400 + 3 · 2 + 19 = 425, and even: 426.
    for rate, window in ((100, 212), (200, 426)):
        path = Path("bbr")
        path.cruise(rate)
        for _ in range(40):
            path.round(rate, acked=30)
        assert path.law.cwnd() == window


def test_the_least_rate_that_is_counted_is_paced_by():
    # A segment in 15 s is 2^-24 segments a microsecond, rounded down; ten rounds later nothing larger is known.
    # The gain is 3/4 to 5/4.
    path = Path("bbr")
    path.cruise()
    for _ in range(12):
        path.law.send(1)
        path.law.wait(1.001)
        path.law.sample(1, delivered=1, interval_s=15.0, prior_in_flight=10**6)
    assert whole(1 / 15) / 2 < path.paced < 1.3 * whole(1 / 15)


def test_stock_rates_count_mptcps_options():
    # mss_cache = 1,460 + 24: 1484 / 1460 of the rate.
    law = Law("bbr", 1.0)
    law.state.set_option_bytes(0, 24)
    law.state.establish(0, law.now_ns, ns(1.0))
    assert law.pacing_bps() == pytest.approx(0.99 * HIGH * whole(10) * WIRE * 8 * 1484 / 1460, rel=1e-4)


def test_headers_of_a_short_segment_take_no_time_of_the_pace():
    # 6.12's lanes over one link: after 1,460 bytes the next left 963 ms later, after 272 bytes 179.4 (272 / 1460; with
    # headers 200). Here layers of 1,732 bytes before the first ACK, at the first pace.
    objects = net.live(1, (MSS + 272,) * 20)
    trace = net.run(
        "bbr", net.link(), objects=objects, duration_s=2.4, trace=True, mode="lanes", initial_cwnd=40
    ).trace
    assert trace is not None
    sent = (trace.event == 0) & (trace.syn == 0)
    gaps_ns, payload = np.diff(trace.t_ns[sent])[10:], trace.bytes[sent][10:-1]
    assert set(payload.tolist()) == {MSS, 272}
    full_ns = gaps_ns[payload == MSS][0]
    np.testing.assert_allclose(gaps_ns, full_ns * payload / MSS, rtol=0, atol=1)


def test_leaving_idle_ends_probe_rtt_when_its_time_is_over():
    # Linux bbr_cwnd_event(): after a timeout nothing is in flight, and its first repeat leaves idle. 200 ms, in ticks.
    path = filled("bbr", 1.0)
    path.round(100, rtt_s=0.9)
    before = path.law.cwnd()
    path.round(100, wait_s=10.01)
    assert path.law.cwnd() == 4
    path.law.wait(0.19)
    path.law.return_from_idle()
    assert path.law.cwnd() == 4
    path.law.wait(0.02)
    path.law.return_from_idle()
    assert path.law.cwnd() >= before


def joining(rtt_s: float) -> Path:
    """Linux's law as a join's first window leaves: its SYN was answered a round trip before."""
    path = Path("bbr", rtt_s)
    path.law.join(rtt_s)
    path.law.send(10)
    return path


def test_an_answer_to_a_joins_repeated_ack_begins_probe_rtt_after_ten_seconds():
    # bbr_init() noted the round trip 8 s before the window left: two seconds on it is 10 s old, and not more than that
    # yet (bbr_update_min_rtt). No bandwidth is known, so the pace stays.
    path = joining(8.0)
    paced = path.paced
    for wait_s, ago_s, window in ((2.0, 10.0, 10), (0.02, 10.02, 4)):
        path.law.wait(wait_s)
        path.law.join(ago_s)
        assert path.law.cwnd() == window
    assert path.paced == paced
    # The window's ACKs: with 4 in flight the 200 ms begin, a round later the window is what it was before.
    path.law.wait(5.98)
    for acked in (5, 1):
        path.law.sample(acked, delivered=acked, interval_s=8.0, rtt_s=8.0)
        assert path.law.cwnd() == 4
    path.law.wait(0.3)
    path.law.sample(1, delivered=7, interval_s=8.0, rtt_s=8.0)
    assert path.law.cwnd() >= 10


def test_an_answer_to_a_joins_ack_says_nothing_to_bbr_where_nothing_is_under_way():
    # tcp_ack() leaves without asking the law; with a segment under way the same ACK does.
    path = Path("bbr", 8.0)
    for ago_s in (8.0, 12.0):
        path.law.join(ago_s)
        assert path.law.cwnd() == 10
        path.law.wait(4.0)
    path.law.send(1)
    path.law.join(16.0)
    assert path.law.cwnd() == 4


def test_bbr_init_is_noted_once():
    # 4 s after the SYN's answer the window leaves, another 4 s later a shorter round trip is there: 3 s on that is
    # what is known, and not what bbr_init() noted 11 s ago.
    path = joining(4.0)
    path.law.wait(4.0)
    path.law.sample(1, delivered=1, interval_s=4.0, rtt_s=3.9)
    path.law.wait(3.0)
    path.law.join(11.0)
    assert path.law.cwnd() > 4


def lossy(path: Path, rounds: int, *, acked: int, lost: int) -> None:
    """Round trips of a second each, a loss in each."""
    for _ in range(rounds):
        path.law.lose(segments=lost)
        path.round(acked, acked=acked, wait_s=1.001, losses=lost, in_flight=10**6)


@pytest.mark.parametrize(("lost", "second", "policed"), [(5, 20, True), (3, 20, False), (5, 40, False)])
def test_two_lossy_stretches_at_one_rate_are_a_policers(lost, second, policed):
    # bbr_lt_bw_sampling(): 5 lost of 20 delivered are 64 / 256, above 50 / 256; 3 are 38. A stretch ends with its
    # fourth round trip; the first's first is only where it begins. 40 is not within an eighth of 20. Then the rate is
    # the stretches', 20 / 1.001, and the gain 1, though the largest of ten rounds is still 100.
    path = Path("bbr")
    path.cruise()
    lossy(path, 4, acked=20, lost=lost)
    lossy(path, 4, acked=second, lost=2 * lost if second == 40 else lost)
    if not policed:
        assert path.paced > 0.7 * 100  # of gain 3/4 at least
        return
    assert path.paced == pytest.approx(0.99 * 20, rel=0.01)
    # For 48 round trips of PROBE_BW, however much comes through; PROBE_RTT, at its 4 segments, does not count.
    lasted = 0
    for _ in range(80):
        path.round(100, wait_s=0.25, in_flight=10**6)
        if path.paced > 25:
            break
        lasted += path.law.cwnd() > 4
    assert lasted == pytest.approx(47, abs=2)
    assert path.paced > 0.7 * 100  # then the largest of ten rounds counts again


def test_a_timeout_begins_a_policers_stretch():
    # It is a loss, and a round trip begins with it: three lossy ones more end the stretch, 15 lost of 60 delivered in
    # 3 s, and four the next. After a loss that is none it takes four for the first as well.
    for timed_out in (True, False):
        path = Path("bbr")
        path.cruise()
        if timed_out:
            path.law.time_out()
        lossy(path, 7, acked=20, lost=5)
        assert (path.paced < 25) is timed_out


def test_a_stretch_ends_with_a_loss_and_one_is_enough():
    # bbr_lt_bw_sampling() looks at a stretch of four round trips or more when a sample has a loss, `if (!rs->losses)`.
    # The second has 24 lost in three, then none in one, then one: 25 of 100 delivered are 64 / 256, above 50.
    path = Path("bbr")
    path.cruise()
    lossy(path, 4, acked=20, lost=8)
    lossy(path, 3, acked=20, lost=8)
    path.round(20, acked=20, wait_s=1.001, in_flight=10**6)
    assert path.paced > 0.7 * 100
    lossy(path, 1, acked=20, lost=1)
    assert path.paced == pytest.approx(0.99 * 20, rel=0.01)


def test_a_stretch_of_more_than_16_round_trips_is_none():
    # One loss, 16 round trips without: the stretch, in its 17th, is forgotten, and what is lost then begins one anew,
    # which three more end. Were it not it would end with that loss, 205 of 360, and the next, at the same rate, with
    # four.
    path = Path("bbr")
    path.cruise()
    lossy(path, 1, acked=20, lost=5)
    for k in range(16):  # a shorter round trip each time, so that RTprop never expires
        path.round(100, acked=20, wait_s=1.001, in_flight=10**6, rtt_s=1 - (k + 1) * 1e-5)
    lossy(path, 1, acked=20, lost=200)
    lossy(path, 4, acked=20, lost=5)
    assert path.paced > 0.7 * 100
    lossy(path, 3, acked=20, lost=5)
    assert path.paced < 25


def test_a_stretch_may_last_16_round_trips():
    # `lt_rtt_cnt > 4 * bbr_lt_intvl_min_rtts` is too long: a loss in the 16th ends it, 205 of 320, and four more the
    # next.
    path = Path("bbr")
    path.cruise()
    lossy(path, 1, acked=20, lost=5)
    for k in range(14):
        path.round(100, acked=20, wait_s=1.001, in_flight=10**6, rtt_s=1 - (k + 1) * 1e-5)
    lossy(path, 1, acked=20, lost=200)
    lossy(path, 3, acked=20, lost=5)
    assert path.paced > 0.7 * 100
    lossy(path, 1, acked=20, lost=5)
    assert path.paced < 25


def test_a_probing_phase_counts_the_send_that_comes_next():
    # bbr_packets_in_net_at_edt(). 1.25 * 99.9, up: 125; three sends of two (1.25 * 0.99 * 1460 bytes * 100 are
    # 1.4 Mbit/s); up to an even number, 132; 2 while probing: 134 in flight end the phase, of which 132 are there.
    for in_flight, goes_on in ((131, True), (132, False)):
        path = probing("bbr")
        path.round(100, wait_s=1.001, in_flight=in_flight)
        assert (path.gain() == pytest.approx(1.25, abs=1e-3)) == goes_on


def test_what_the_pacer_holds_is_not_under_way_yet():
    # The same. The next leaves in 0.1 s, in which 99.9 segments a second are 9, down. In the phase of 3/4 a send is one
    # segment: 100 + 3, even: 104 in flight end it.
    for in_flight, goes_on in ((114, True), (113, False)):
        path = probing("bbr")
        path.round(100, wait_s=1.001, in_flight=10**6)
        assert path.gain() == pytest.approx(0.75, abs=1e-3)
        path.law.state.set_pacing_until_ns(0, path.law.now_ns + ns(0.6))
        path.round(100, wait_s=0.5, in_flight=in_flight)
        assert (path.gain() == pytest.approx(0.75, abs=1e-3)) == goes_on


def test_an_undo_forgets_a_policers_stretches():
    for undone in (False, True):
        path = Path("bbr")
        path.cruise()
        lossy(path, 7, acked=20, lost=5)
        if undone:
            path.law.undo()
        lossy(path, 1, acked=20, lost=5)
        assert (path.paced < 25) is not undone
