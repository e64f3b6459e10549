"""Round-trip times step by step: RFC 6298 as Linux's tcp_rtt_estimator computes it, and the windowed minimum."""

from __future__ import annotations

import pytest

from dstcc.engine import NEVER_NS
from dstcc.engine._testing import parts

MS = 1_000_000
RTO_MIN = 200 * MS


def estimator(*samples_ms: float, rto_min: int = RTO_MIN):
    rtt = parts.RttEstimator()
    for sample in samples_ms:
        rtt.sample(round(sample * MS), rto_min, False)
    return rtt


def test_the_first_sample_is_srtt_and_half_of_it_the_deviation():
    # RFC 6298 (2.2): SRTT = R, RTTVAR = R / 2, RTO = SRTT + 4 RTTVAR = 3 R.
    rtt = estimator(1000)
    assert (rtt.srtt, rtt.deviation, rtt.rto) == (1000 * MS, 500 * MS, 3000 * MS)


def test_rto_min_bounds_the_variance():
    # R = 40 ms: 4 · 20 = 80 < 200: RTO = 40 + 200.
    assert estimator(40).rto == 240 * MS


def test_a_longer_round_trip():
    # (2.3): error 1,800 - 1,000 = 800; SRTT = 1,000 + 800 / 8; RTTVAR = 500 + (800 - 500) / 4 = 575; RTO = 1,100 +
    # 2,300.
    rtt = estimator(1000, 1800)
    assert (rtt.srtt, rtt.deviation, rtt.rto) == (1100 * MS, 575 * MS, 3400 * MS)


def test_a_much_shorter_round_trip_hardly_counts_as_deviation():
    # Error -800; SRTT = 1,000 - 100. Beyond the deviation by 800 - 500 = 300, of which an eighth counts: 500 + 300 /
    # 8 / 4 = 509.375. RTO = 900 + 4 · 509.375.
    rtt = estimator(1000, 200)
    assert rtt.srtt == 900 * MS
    assert rtt.deviation == 509.375 * MS
    assert rtt.rto == (900 + 2037.5) * MS


def test_a_little_shorter_round_trip_lowers_the_deviation():
    # Error -100, within the deviation of 500 by 400: 500 - 400 / 4 = 400; RTO keeps the largest, 4 · 500.
    rtt = estimator(1000, 900)
    assert rtt.deviation == 400 * MS
    assert rtt.rto == (987.5 + 2000) * MS


def test_the_variance_falls_by_a_quarter_of_the_excess_a_round_trip():
    # Equal samples: the deviation falls to 3/4 each. In the round that ends with the second sample the largest was the
    # first's 2,000 (times four): nothing to fall to. Then 1,125: 2,000 - (2,000 - 1,125) / 4 = 1,781.25.
    rtt = parts.RttEstimator()
    rtt.sample(1000 * MS, RTO_MIN, False)
    seen = []
    for _ in range(3):
        rtt.sample(1000 * MS, RTO_MIN, True)
        seen.append((rtt.rto - rtt.srtt) / MS)
    # mdev4: 1,500, 1,125, 843.75; each round's largest: 2,000 (the first's), then those.
    assert seen == [2000, 2000 - (2000 - 1125) / 4, 1781.25 - (1781.25 - 843.75) / 4]


def test_within_a_round_trip_the_largest_deviation_stays():
    # Without a round's end nothing falls, whatever follows.
    rtt = estimator(1000, *[1000] * 50)
    assert rtt.rto == 3000 * MS
    assert rtt.deviation < MS


def test_a_larger_deviation_counts_at_once():
    rtt = parts.RttEstimator()
    rtt.sample(1000 * MS, RTO_MIN, False)
    for _ in range(60):
        rtt.sample(1000 * MS, RTO_MIN, True)
    assert rtt.rto == pytest.approx(1200 * MS, rel=1e-6)  # down to RTO_MIN
    rtt.sample(2000 * MS, RTO_MIN, False)
    # Error 1,000, all of it beyond a deviation of next to nothing: a quarter, 250, times four.
    assert rtt.rto == pytest.approx((1125 + 1000) * MS, rel=1e-6)


def linux(samples: list[tuple[int, bool]], rto_min: int) -> list[tuple[int, int]]:
    """tcp_rtt_estimator() line by line: (srtt, rto) after each sample."""
    srtt = mdev = mdev_max = rttvar = 0
    seen = []
    for sample, after in samples:
        m = sample
        if srtt == 0:
            srtt, mdev = m << 3, m << 1
            rttvar = mdev_max = max(mdev, rto_min)
        else:
            m -= srtt >> 3
            srtt += m
            if m < 0:
                m = -m - (mdev >> 2)
                if m > 0:
                    m >>= 3
            else:
                m -= mdev >> 2
            mdev += m
            if mdev > mdev_max:
                mdev_max = mdev
                rttvar = max(rttvar, mdev_max)
            if after:
                if mdev_max < rttvar:
                    rttvar -= (rttvar - mdev_max) >> 2
                mdev_max = rto_min
        seen.append((srtt >> 3, (srtt >> 3) + rttvar))
    return seen


def test_a_long_walk_is_linuxs():
    samples = [(round(1e9 + 3e8 * ((k * 7919) % 101 - 50) / 50), k % 5 == 4) for k in range(500)]
    rtt, seen = parts.RttEstimator(), []
    for m, after in samples:
        rtt.sample(m, RTO_MIN, after)
        seen.append((rtt.srtt, rtt.rto))
    assert seen == linux(samples, RTO_MIN)


def test_a_minimum_lasts_one_to_two_windows():
    # Window 100: buckets end with the first sample more than 100 after they began.
    least = parts.WindowedMin()
    seen = []
    for at, value in ((0, 5), (50, 7), (101, 8), (150, 9), (201, 10), (202, 11), (303, 12)):
        least.sample(value, at, 100)
        seen.append(least.value)
    # 0-100: 5; from 101 on beside the last bucket's 5; at 202 that is gone and 8 the older; at 303 10 .. 11.
    assert seen == [5, 5, 5, 5, 5, 8, 11]


def test_a_minimum_from_before_an_idle_time_is_forgotten():
    least = parts.WindowedMin()
    least.sample(5, 0, 100)
    least.sample(9, 201, 100)
    assert least.value == 9
    assert parts.WindowedMin().value == NEVER_NS
