"""LEDBAT step by step: the update of RFC 6817 section 2.4.2 written out, ACK by ACK, beside the law.

    queuing_delay = FILTER(current_delays) - MIN(base_delays)
    off_target = (TARGET - queuing_delay) / TARGET
    cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd
    cwnd = min(cwnd, flightsize + ALLOWED_INCREASE * MSS);  cwnd = max(cwnd, MIN_CWND * MSS)

TARGET 100 ms, GAIN 1, ALLOWED_INCREASE 1, MIN_CWND 2, FILTER the least of the last 4, base_delays the minima of 10
minutes. In segments, MSS = 1; the window that is sent is the whole part.
"""

from __future__ import annotations

import math

import pytest

from .law import Law

BASE_S = 5.0


def ledbat(cwnd: int, *, sent: int = 10_000) -> Law:
    """A window of that size, base delay 5 s, and segments enough in flight."""
    law = Law("ledbat", 10.0)
    law.send(sent)
    law.set(cwnd=cwnd)
    return law


def steps(cwnd: float, delays_s: list[float], acked: int = 1, flight: int = 10_000) -> list[int]:
    """Windows after each ACK of ``acked`` segments, by section 2.4.2."""
    base = math.inf
    current: list[float] = []
    windows: list[int] = []
    for delay in delays_s:
        base = min(base, delay)
        current = [*current, delay][-4:]
        off_target = (0.1 - (min(current) - base)) / 0.1
        cwnd += 1.0 * off_target * acked / cwnd
        cwnd = max(min(cwnd, flight + 1), 2)
        flight -= acked
        windows.append(math.floor(cwnd + 1e-9))
    return windows


@pytest.mark.parametrize("acked", [1, 2, 7])
@pytest.mark.parametrize("queueing_s", [0.0, 0.02, 0.0999, 0.1001, 0.15, 0.4])
@pytest.mark.parametrize("cwnd", [2, 3, 10])
def test_every_ack_moves_the_window_by_its_share_of_the_target(cwnd, queueing_s, acked):
    delays = [BASE_S] + [BASE_S + queueing_s] * 120
    law, windows = ledbat(cwnd), []
    for delay in delays:
        law.ack(acked, one_way_s=delay)
        windows.append(law.cwnd())
    assert windows == steps(cwnd, delays, acked)


def test_the_current_delay_is_the_least_of_the_last_four():
    # A sample of no queueing counts for itself and three more; then 400 ms are believed, and the window falls.
    delays = [BASE_S] + [BASE_S + 0.4] * 40 + [BASE_S] + [BASE_S + 0.4] * 40
    law, windows = ledbat(5), []
    for delay in delays:
        law.ack(1, one_way_s=delay)
        windows.append(law.cwnd())
    assert windows == steps(5, delays)
    assert (
        windows[3] == 5 and windows[8] < 5
    )  # four ACKs at 0 gain 4/5 of a segment; each further one costs 3/5


@pytest.mark.parametrize(("flight", "most"), [(20, 21), (21, 22), (40, 24)])
def test_the_window_is_at_most_a_segment_beyond_the_flight_before_the_ack(flight, most):
    # 40 ACKs at W = 24 gain more than a segment: W passes 24 only where more than that is in flight.
    law = ledbat(24, sent=flight)
    law.ack(1, one_way_s=BASE_S)
    assert law.cwnd() == most


def test_the_window_never_falls_below_two():
    law = ledbat(2)
    law.ack(1, one_way_s=BASE_S)
    for _ in range(20):
        law.ack(1, one_way_s=BASE_S + 10)  # off_target = -99
    assert law.cwnd() == 2
    law.lose()
    assert law.cwnd() == 2  # min(cwnd, max(cwnd / 2, MIN_CWND))


@pytest.mark.parametrize(("cwnd", "after"), [(100, 50), (7, 3), (5, 2), (4, 2), (3, 2), (1, 1)])
def test_a_loss_halves_the_window_and_leaves_two(cwnd, after):
    # cwnd = min(cwnd, max(cwnd / 2, MIN_CWND * MSS)); a window of one, after a timeout, is not raised.
    law = ledbat(cwnd)
    law.lose()
    assert law.cwnd() == after


def test_a_loss_halves_the_fraction_too():
    # Three ACKs at W = 3: 3 + 1/3 + 1/3.33 + 1/3.63 = 3.909. Halved it is 1.95, hence 2. Then 2 + 1/2 + 1/2.5 + 1/2.9 =
    # 3.24: the third ACK after the loss makes it 3. With the old fraction of 0.909 the first would.
    law = ledbat(3)
    for _ in range(3):
        law.ack(1, one_way_s=BASE_S)
    law.lose()
    seen = []
    for _ in range(3):
        law.ack(1, one_way_s=BASE_S)
        seen.append(law.cwnd())
    assert seen == [2, 2, 3]


def test_there_is_no_slow_start_after_a_timeout():
    # CTO: cwnd = 1; the next ACK gives MIN_CWND, and growth is by 1 / W from there on, threshold or none.
    law = ledbat(40)
    law.ack(1, one_way_s=BASE_S)
    law.time_out()
    assert law.cwnd() == 1
    seen = []
    for _ in range(6):
        law.ack(1, one_way_s=BASE_S)
        seen.append(law.cwnd())
    # 1 + 1/1 = 2, 2.5, 2.9, 3.245, 3.553, 3.834
    assert seen == [2, 2, 2, 3, 3, 3]
    assert law.ssthresh() == law.cwnd()


def test_base_delays_are_the_minima_of_ten_minutes_of_the_clock():
    # The path is 1 s longer from minute 1 on, which looks like 1 s of queueing. A new item enters with the first
    # sample of each minute and the oldest leaves: the 5 s of minute 0 go with the rollover of minute 10.
    law = ledbat(1000)
    law.now_ns = 0
    for minute in range(12):
        for second in (0, 20, 40, 59.999):  # the last second of a minute still belongs to it
            law.now_ns = round((minute * 60 + second) * 1e9)
            law.ack(1, one_way_s=BASE_S if minute == 0 else BASE_S + 1)
        before = law.cwnd()
        law.set(cwnd=1000)
        law.ack(100, one_way_s=BASE_S + 1)
        change = law.cwnd() - 1000
        # off_target = (0.1 - 1) / 0.1 = -9: 100 / 1000 of that is -0.9, the whole part of 999.1 is one less.
        assert change == (-1 if 1 <= minute < 10 else 0), (minute, before)


def test_a_lower_sample_within_a_minute_lowers_the_base():
    # 5.3 s, then 5.2 s in the same minute: the base is 5.2 s, so 5.25 s are 50 ms of queueing, half the target.
    law = ledbat(99)
    for delay in (5.3, 5.2, 5.25, 5.25, 5.25, 5.25):
        law.ack(1, one_way_s=delay)
    law.set(cwnd=10)
    windows, expected = [10.0], [10]
    for _ in range(60):
        law.ack(1, one_way_s=5.25)
        windows.append(windows[-1] + 0.5 / windows[-1])
        expected.append(law.cwnd())
    assert expected == [math.floor(w) for w in windows]


def test_without_a_delay_nothing_moves():
    law = ledbat(10)
    law.ack(100, one_way_s=-1e-9)
    assert law.cwnd() == 10
