"""What the laws share, step by step: slow start and additive increase as Linux counts them, and NewReno on top.

tcp_slow_start:      W' = min(W + acked, ssthresh), the rest is returned
tcp_cong_avoid_ai:   cnt ≥ w: cnt = 0, W + 1;   cnt += acked;   cnt ≥ w: W += cnt / w, cnt %= w       (w = W before)
"""

from __future__ import annotations

import pytest

from .law import Law


def newreno(cwnd: int, ssthresh: int) -> Law:
    law = Law("newreno", 1.0)
    law.send(100_000)
    law.set(cwnd=cwnd, ssthresh=ssthresh)
    return law


def linux(cwnd: int, ssthresh: int, acks: list[int]) -> list[int]:
    count, seen = 0, []
    for acked in acks:
        rest = acked
        if cwnd < ssthresh:
            grown = min(cwnd + acked, ssthresh)
            rest, cwnd = acked - (grown - cwnd), grown
        if rest:
            w = cwnd
            if count >= w:
                count, cwnd = 0, cwnd + 1
            count += rest
            cwnd, count = cwnd + count // w, count % w
        seen.append(cwnd)
    return seen


@pytest.mark.parametrize("acked", [1, 2, 3, 11, 64])
@pytest.mark.parametrize(("cwnd", "ssthresh"), [(10, 10), (10, 37), (2, 9), (1, 1), (30, 31), (16, 2**40)])
def test_growth_ack_by_ack(cwnd, ssthresh, acked):
    law, seen = newreno(cwnd, ssthresh), []
    acks = [acked] * 200
    for segments in acks:
        law.ack(segments)
        seen.append(law.cwnd())
    assert seen == linux(cwnd, ssthresh, acks)


def test_what_slow_start_leaves_counts_for_avoidance():
    # W = 10, threshold 12: 11 acknowledged, two to the threshold, nine of twelve for the next segment; three more do
    # it.
    law = newreno(10, 12)
    law.ack(11)
    assert law.cwnd() == 12
    law.ack(2)
    assert law.cwnd() == 12
    law.ack(1)
    assert law.cwnd() == 13


def test_a_window_that_shrank_takes_one_segment_for_the_larger_ones_credit():
    # 90 of 100 counted when the window became 50: one segment at once, and the count begins anew (Linux 4.0,
    # 814d488c6126).
    law = newreno(100, 2)
    law.ack(90)
    law.set(cwnd=50, ssthresh=2)
    law.ack(1)
    assert law.cwnd() == 51
    law.ack(48)
    assert law.cwnd() == 51
    law.ack(3)
    assert law.cwnd() == 52


@pytest.mark.parametrize(("window", "after"), [(1, 2), (2, 2), (3, 2), (5, 2), (6, 3), (101, 50)])
def test_a_loss_halves_and_leaves_two(window, after):
    law = newreno(window, window)
    law.lose()
    assert law.cwnd() == law.ssthresh() == after


@pytest.mark.parametrize(
    ("cwnd", "ssthresh", "most_out", "grows"),
    [
        (10, 2**40, 5, False),  # slow start doubles what is used: 10 < 2 · 5 does not hold
        (10, 2**40, 6, True),
        (10, 10, 10, False),  # in avoidance only a window that was full
    ],
)
def test_an_unused_window_does_not_grow(cwnd, ssthresh, most_out, grows):
    # tcp_is_cwnd_limited()
    law = newreno(cwnd, ssthresh)
    law.state.set_is_cwnd_limited(0, False)
    law.state.set_max_packets_out(0, most_out)
    for _ in range(12):
        law.ack(1)
        law.state.set_max_packets_out(0, most_out)
    assert (law.cwnd() > cwnd) == grows
