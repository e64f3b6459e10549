"""Westwood+ step by step, in the jiffies and whole bytes of Linux's tcp_westwood.c.

Δt = jiffies since the last sample;  Δt > max(RTT, 50 ms):  b = acked / Δt,  n = (7 n + b) / 8,  e = (7 e + n) / 8
the first sample is taken as it is;  end of recovery: W = max(e · RTTmin / MSS, 2);  timeout: ssthresh likewise
"""

from __future__ import annotations

import pytest

from .law import Law
from .net import MSS

JIFFY_MS = 4


def up(ms: float) -> int:
    return -(-round(ms * 1000) // (JIFFY_MS * 1000))


class Linux:
    """westwood_update_window and the filters, for ACKs without SACK blocks on plain TCP."""

    def __init__(self, now_ms: float) -> None:
        self.begun = int(now_ms // JIFFY_MS)
        self.narrow = self.estimate = self.counted = 0
        self.first = True

    def ack(self, now_ms: float, segments: int, rtt_ms: float) -> None:
        elapsed = int(now_ms // JIFFY_MS) - self.begun
        if elapsed > max(up(rtt_ms), 50 // JIFFY_MS):
            sample = self.counted // elapsed
            if self.narrow == 0 and self.estimate == 0:
                self.narrow = self.estimate = sample
            else:
                self.narrow = (7 * self.narrow + sample) // 8
                self.estimate = (7 * self.estimate + self.narrow) // 8
            self.counted, self.begun = 0, int(now_ms // JIFFY_MS)
        if not self.first:  # the first ACK of all says where counting begins
            self.counted += segments * MSS
        self.first = False

    def window(self, rtt_min_ms: float) -> int:
        return max(self.estimate * up(rtt_min_ms) // MSS, 2)


class Both:
    def __init__(self, rtt_ms: float) -> None:
        self.law = Law("westwood", rtt_ms / 1000)
        self.rtt_ms = rtt_ms
        self.linux = Linux(self.law.now_ns / 1e6)
        self.law.send(100_000)
        self.law.set(cwnd=1000)

    def acks(self, count: int, every_ms: float, *, rtt_ms: float | None = None, segments: int = 1) -> None:
        rtt = self.rtt_ms if rtt_ms is None else rtt_ms
        for _ in range(count):
            self.law.wait(every_ms / 1000)
            self.linux.ack(self.law.now_ns / 1e6, segments, rtt)
            self.law.ack(segments, rtt_s=rtt / 1000)

    def after_loss(self) -> int:
        self.law.lose()
        return self.law.cwnd()


def test_the_first_sample_is_the_estimate():
    # A segment of 1,460 bytes every 10 ms; RTT 102 ms: 26 jiffies, so a sample spans 27 (108 ms, then the next ACK
    # at 110).
    both = Both(102)
    both.acks(13, 10)
    assert both.linux.estimate > 0
    assert both.after_loss() == both.linux.window(102) > 2


@pytest.mark.parametrize(
    ("every_ms", "rtt_ms"), [(10, 102), (7, 100), (4, 96), (1, 33), (3, 20), (50, 1000), (13, 257)]
)
@pytest.mark.parametrize("count", [60, 400])
def test_filters_after_many_acks(every_ms, rtt_ms, count):
    both = Both(rtt_ms)
    both.acks(count, every_ms)
    both.acks(count // 2, every_ms / 2, segments=2)  # four times the rate
    assert both.after_loss() == both.linux.window(rtt_ms)


def test_two_cascaded_filters_follow_a_step_slowly():
    # From 100 to 400 segments a second for eight samples: b = 4 e: n = 1 + 3 (1 - (7/8)^k), e lags behind that.
    both = Both(100)
    both.acks(400, 10)
    slow = both.linux.estimate
    both.acks(8 * 44, 2.5)
    assert 1.5 * slow < both.linux.estimate < 3 * slow
    assert both.after_loss() == both.linux.window(100)


def test_the_window_is_of_the_least_round_trip():
    # RTT 100 ms, then 200 ms with a queue: BWE times the 100 ms.
    both = Both(100)
    both.acks(200, 10)
    both.acks(200, 10, rtt_ms=200)
    assert both.after_loss() == both.linux.window(100) < both.linux.window(200)


def test_a_timeout_takes_the_threshold_from_the_bandwidth_and_forgets_the_least_round_trip():
    both = Both(100)
    both.acks(200, 10)
    both.law.time_out()
    assert both.law.cwnd() == 1
    assert both.law.ssthresh() == both.linux.window(100)
    # The path has become 150 ms: the first sample after the timeout is the least now.
    both.law.set(cwnd=50)
    both.acks(100, 10, rtt_ms=150)
    assert both.after_loss() == both.linux.window(150)


def test_during_the_recovery_it_is_newreno():
    both = Both(100)
    both.law.set(cwnd=101)
    both.law.lose_and_stay()
    assert both.law.ssthresh() == 50
    both.law.recover()
    assert both.law.cwnd() == both.law.ssthresh() == 2  # nothing is known yet


def test_growth_is_newrenos():
    both = Both(100)
    both.law.set(cwnd=10)
    seen = []
    for _ in range(11):
        both.law.ack(1)
        seen.append(both.law.cwnd())
    assert seen == [10] * 9 + [11] * 2


def after(acks: list[tuple[int, bool]], option_bytes: int) -> int:
    """Segments that ACKs counted for in one sample: each covers so many, with SACK blocks or without."""
    law = Law("westwood", 0.1)
    law.state.set_option_bytes(0, option_bytes)
    law.send(10_000)
    law.set(cwnd=1000)
    law.ack(1)  # where counting begins
    law.wait(0.2)
    law.ack(0)  # a sample of nothing; the next one begins
    for covered, sacks in acks:
        law.state.set_ack_has_sacks(0, sacks)
        law.ack(covered)
    law.wait(0.4)
    law.state.set_ack_has_sacks(0, False)
    law.ack(0)
    law.lose()
    # 100 jiffies, e = n = counted / 100, RTTmin 25 jiffies.
    return law.cwnd()


def window(counted: int, mss: int = MSS) -> int:
    return max(counted // 100 * 25 // mss, 2)


def test_plain_acks_count_what_they_cover():
    assert after([(40, False), (60, False)], 0) == window(100 * MSS)


def test_duplicates_stand_for_a_segment_each_and_are_deducted_later():
    # 30 ACKs with SACK blocks that cover nothing: a segment each. Then one with blocks covers 50: 50 - 30 more.
    assert after([(0, True)] * 30 + [(50, True)], 0) == window(50 * MSS)


def test_what_more_was_accounted_than_is_covered_stands_for_one():
    # 30 stood for; the next covers 20: they have been counted, and this counts for one; 10 remain to be deducted.
    assert after([(0, True)] * 30 + [(20, True), (80, True)], 0) == window((30 + 1 + 80 - 10) * MSS)


def test_without_blocks_plain_tcp_counts_twice():
    # Linux's fast path: the ACK that fills the hole stands for all 50 it covers, whatever duplicates stood for.
    assert after([(0, True)] * 30 + [(50, False)], 0) == window(80 * MSS)


def test_mptcps_acks_never_take_the_fast_path():
    # 3,000 duplicates and an ACK of 5,000 without SACK blocks: 5,000 segments in all, not 8,000. With the two ACKs
    # before them, which stand for a segment each: the first sample, of 50 jiffies, has one of these.
    mss = MSS + 24
    first = mss // 50
    counted = 3001 * mss + (5000 * MSS - 3002 * mss)
    narrow = (7 * first + counted // 100) // 8
    estimate = (7 * first + narrow) // 8
    assert after([(0, True)] * 3000 + [(5000, False)], 24) == estimate * 25 // mss == 19


def test_no_sample_before_fifty_milliseconds():
    # RTT 8 ms: samples of 12 jiffies (48 ms) and more than that, not of 2.
    both = Both(8)
    both.acks(9, 5)
    assert both.linux.estimate == 0
    assert both.after_loss() == 2
    both = Both(8)
    both.acks(300, 5, segments=3)
    assert both.after_loss() == both.linux.window(8)
