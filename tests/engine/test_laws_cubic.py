"""CUBIC's arithmetic in avoidance, by RFC 9438: C = 0.4, β = 717 / 1024 as Linux has it. Nothing here is of slow start.

W(t) = C (t - K)³ + W_max,  K = ∛((W_max - W_0) / C),  aimed at one round trip ahead
"""

from __future__ import annotations

import math

import pytest

from .law import Law

C, BETA = 0.4, 717 / 1024


def cubic(cwnd: int, rtt_s: float = 0.1, *, lost_at: int | None = None) -> Law:
    law = Law("cubic", rtt_s)
    law.set(cwnd=cwnd if lost_at is None else lost_at)
    if lost_at is not None:
        law.lose()
        law.set(cwnd=cwnd)
    return law


def rounds(law: Law, count: int, step: int = 10) -> list[int]:
    seen = []
    for _ in range(count):
        law.round(step=step)
        seen.append(law.cwnd())
    return seen


@pytest.mark.parametrize(("window", "after"), [(1000, 700), (101, 70), (10, 7), (3, 2), (2, 2)])
def test_a_loss_leaves_beta_and_two(window, after):
    law = cubic(window)
    law.lose()
    assert law.cwnd() == after


@pytest.mark.parametrize("lost_at", [1000, 3000])
def test_the_window_follows_the_cubic_through_its_maximum(lost_at):
    # Concave up to W_max at K, convex beyond: within 1 % at every round trip, from the tenth on, to 1.5 K.
    rtt_s = 0.1
    law = Law("cubic", rtt_s)
    law.set(cwnd=lost_at)
    law.lose()
    begun = math.floor(lost_at * BETA)
    k = math.cbrt((lost_at - begun) / C)
    for n in range(1, int(1.5 * k / rtt_s)):
        law.round(step=10)
        if n < 10:
            continue
        aimed = (
            C * (n * rtt_s - k) ** 3 + lost_at
        )  # the epoch began with the first ACK, a round trip from the loss
        assert law.cwnd() == pytest.approx(aimed, rel=0.01)


def test_the_maximum_is_lowered_by_a_loss_below_it():
    # Fast convergence (section 4.7): lost at 1,000, then at 800 < 1,000: W_max = 800 (1 + β) / 2 = 680, from W =
    # 560. K = ∛(120 / 0.4) = 6.7 s; there W is 680 give or take a percent; with a maximum of 800 it would be 560 +
    # .. = 670 at 4 s.
    law = cubic(800, lost_at=1000)
    law.lose()
    begun = math.floor(800 * BETA)
    assert law.cwnd() == begun
    top = math.floor(800 * (1 + BETA) / 2)
    k = math.cbrt((top - begun) / C)
    seen = rounds(law, 120)
    for n in (20, 40, 66, 90, 115):
        assert seen[n - 1] == pytest.approx(C * (n * 0.1 - k) ** 3 + top, rel=0.01)


def test_beyond_the_maximum_an_epoch_starts_at_its_window():
    # W = 1,500 beyond W_max = 1,000: K = 0, W(t) = 1,500 + C t³.
    law = cubic(1500, lost_at=1000)
    seen = rounds(law, 60)
    for n in (10, 30, 60):
        assert seen[n - 1] == pytest.approx(1500 + C * (n * 0.1) ** 3, rel=0.005, abs=3)


def test_a_loss_begins_a_new_epoch():
    # Ten seconds after the first loss, a second: from 0.7 W on a new cubic, however old the last epoch is.
    law = cubic(700, lost_at=1000)
    rounds(law, 100)
    before = law.cwnd()
    law.lose()
    begun = law.cwnd()
    k = math.cbrt((before - begun) / C) if before >= 1000 else None
    seen = rounds(law, 30)
    top = before if before >= 1000 else math.floor(before * (1 + BETA) / 2)
    k = math.cbrt((top - begun) / C)
    assert seen[-1] == pytest.approx(C * (3.0 - k) ** 3 + top, rel=0.01)


def test_before_the_first_loss_it_grows_by_five_per_cent_a_round_trip():
    # A segment for twenty acknowledged, however flat the cubic is.
    law = cubic(1000)
    assert rounds(law, 1, step=1) == [1050]


def test_it_grows_by_half_a_round_trip_at_most():
    # 30 s after the epoch began the cubic asks for 0.4 (30 - 9)³ + 1,000 = 4,700: a segment for two acknowledged.
    law = cubic(700, lost_at=1000)
    law.send(10)
    law.ack(10)
    law.wait(30)
    law.send(700)
    before = law.cwnd()
    for _ in range(700):
        law.ack(1)
    assert law.cwnd() - before == pytest.approx(350, abs=1)


@pytest.mark.parametrize("window", [14, 30, 70])
def test_small_windows_grow_as_renos_estimate(window):
    # Section 4.3 as Linux counts it: a segment of estimate for 15/8 W acknowledged, 8/15 a round trip. RTT 20 ms:
    # the cubic needs seconds to be faster.
    law = cubic(round(window / BETA), 0.02)
    law.set(cwnd=round(window / BETA))
    law.lose()
    begun = law.cwnd()
    seen = rounds(law, 60, step=1)
    w, expected = float(begun), []
    for _ in range(60):
        w += 8 / 15
        expected.append(w)
    assert seen[-1] == pytest.approx(expected[-1], abs=2.5)
    assert seen[29] == pytest.approx(expected[29], abs=2)


def test_idle_time_is_no_growth():
    # 20 s without data: the epoch moves along (bictcp_cwnd_event), and the window goes on where it was.
    law = cubic(700, lost_at=1000)
    rounds(law, 10)
    before = law.cwnd()
    law.wait(20)
    law.return_from_idle()
    rounds(law, 1)
    assert law.cwnd() < before * 1.05


def test_a_timeout_forgets_the_maximum():
    # As before any loss: 5 % a round trip at least.
    law = cubic(700, lost_at=1000)
    law.time_out()
    law.set(cwnd=1000)
    law.send(1000)
    law.ack(1)
    law.wait(0.1)
    before = law.cwnd()
    for _ in range(999):
        law.ack(1)
    assert law.cwnd() - before >= 48


# ------------------------------------------------------------------------------------------- HyStart (Ha and Rhee 2011)

NO_THRESHOLD = 2**40


def starting(cwnd: int, rtt_s: float = 1.0) -> Law:
    """In slow start, long idle; the first ACK begins a round."""
    law = Law("cubic", rtt_s)
    law.wait(5)
    law.set(cwnd=cwnd, ssthresh=NO_THRESHOLD)
    law.send(100_000)
    return law


def acks_until_found(law: Law, apart_ms: float, most: int = 3000) -> int:
    for n in range(1, most + 1):
        law.ack(1)
        if law.ssthresh() < NO_THRESHOLD:
            return n
        law.wait(apart_ms / 1000)
    return 0


@pytest.mark.parametrize(("apart_ms", "detected"), [(1.0, True), (2.0, True), (2.1, False), (10.0, False)])
def test_an_ack_train_of_half_a_round_trip_ends_slow_start(apart_ms, detected):
    # ACKs at most 2 ms apart for more than half of 1 s, and of the 1 ms that batches may add.
    seen = acks_until_found(starting(100), apart_ms)
    assert (seen > 0) == detected
    if detected:
        assert (seen - 1) * apart_ms == pytest.approx(500.5, abs=2 * apart_ms)


def test_no_train_counts_below_sixteen_segments():
    # One by one from 4, RTT 10 ms: a train of 6 ms would be there with the seventh ACK. Linux looks at no ACK before
    # the sixteenth segment, which is then too far from the last one that it looked at to be of a train.
    assert acks_until_found(starting(4, rtt_s=0.01), 1.0) == 0


def risen(base_s: float, rise_ms: float) -> int:
    """With which ACK of a round slow start ends, whose round trips are so much longer than those of the round
    before."""
    law = Law("cubic", base_s)
    law.wait(5)
    law.set(cwnd=100, ssthresh=NO_THRESHOLD)
    law.send(20)
    for _ in range(20):
        law.ack(1, rtt_s=base_s)
        law.wait(0.01)
    law.send(40)
    for n in range(1, 20):
        law.ack(1, rtt_s=base_s + rise_ms / 1000)
        law.wait(0.01)
        if law.ssthresh() < NO_THRESHOLD:
            return n
    return 0


@pytest.mark.parametrize(
    ("base_s", "rise_ms", "detected"),
    [(1.0, 15.9, 0), (1.0, 16.1, 9), (0.02, 3.9, 0), (0.02, 4.1, 9), (0.1, 12.6, 9)],
)
def test_a_delay_that_rose_ends_slow_start_after_eight_samples(base_s, rise_ms, detected):
    # clamp(RTT / 8, 4, 16 ms): 16 at 1 s, 4 at 20 ms, 12.5 at 100 ms.
    assert risen(base_s, rise_ms) == detected
