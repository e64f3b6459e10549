"""Vegas step by step: tcp_vegas_cong_avoid() of Linux written out, round trip by round trip (α 2, β 4, γ 1)."""

from __future__ import annotations

import pytest

from .law import Law


class Both:
    """The law beside the arithmetic. A round trip's first ACK decides on the samples since the last decision."""

    def __init__(self, cwnd: int, ssthresh: int, base_s: float = 1.0) -> None:
        self.law = Law("vegas", base_s)
        self.law.send(8)
        for _ in range(8):
            self.law.ack(1, rtt_s=base_s)
        self.base_s, self.samples = base_s, [base_s] * 7
        self.start_at(cwnd, ssthresh)

    def start_at(self, cwnd: int, ssthresh: int) -> None:
        self.law.set(cwnd=cwnd, ssthresh=ssthresh)
        self.cwnd, self.ssthresh = cwnd, ssthresh

    def round(self, *rtts_s: float) -> int:
        self.law.send(len(rtts_s))
        for place, rtt in enumerate(rtts_s):
            self.samples.append(rtt)
            self.base_s = min(self.base_s, rtt)
            self.law.ack(1, rtt_s=rtt)
            if place == 0:
                self.decide()
            elif self.cwnd < self.ssthresh:
                self.cwnd += 1
            assert (self.law.cwnd(), self.law.ssthresh()) == (self.cwnd, self.ssthresh)
        return self.cwnd

    def decide(self) -> None:
        rtt = min(self.samples)
        self.samples = []
        diff = int(self.cwnd * (rtt - self.base_s) / self.base_s + 1e-9)
        if self.cwnd < self.ssthresh and diff > 1:
            self.cwnd = min(self.cwnd, int(self.cwnd * self.base_s / rtt) + 1)
            self.ssthresh = min(self.ssthresh, self.cwnd)
        elif self.cwnd < self.ssthresh:
            self.cwnd += 1
        elif diff > 4:
            self.cwnd -= 1
            self.ssthresh = min(self.ssthresh, self.cwnd)
        elif diff < 2:
            self.cwnd += 1
        self.cwnd = max(self.cwnd, 2)
        self.ssthresh = max(self.ssthresh, self.cwnd // 2 + self.cwnd // 4)


@pytest.mark.parametrize("queued", [0, 1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("cwnd", [3, 16, 64, 1024])
def test_avoidance_at_each_number_of_segments_in_the_queue(cwnd, queued):
    # RTT = base · (1 + queued / W), exact in binary for these W: diff is just that number at the first decision.
    both = Both(cwnd, 2)
    for _ in range(3):
        both.start_at(cwnd, 2)
        both.round(*[1 + queued / cwnd + 1e-9] * 5)


@pytest.mark.parametrize("rtt_s", [1.0, 1.01, 1.0157, 1.02, 1.5])
def test_slow_start_ends_beyond_gamma(rtt_s):
    both = Both(128, 1000)
    for _ in range(3):
        both.start_at(128, 1000)
        both.round(*[rtt_s] * 5)
    both.round(*[rtt_s] * 5)


def test_the_least_of_a_round_trip_decides():
    both = Both(100, 2)
    for _ in range(4):
        both.round(1.2, 1.01, 1.3, 1.2, 1.1)


def test_the_base_is_the_least_ever():
    both = Both(100, 2)
    for rtt in (1.03, 0.98, 1.03, 1.03, 1.0):
        both.round(*[rtt] * 5)


def test_a_window_that_shrank_is_not_in_slow_start():
    both = Both(100, 2)
    for _ in range(40):
        both.round(*[1.5] * 4)
    assert both.cwnd < 70


def test_the_window_never_falls_below_two():
    both = Both(3, 2)
    for _ in range(5):
        both.round(*[9.0] * 4)
    assert both.cwnd == 2


def test_fewer_than_three_samples_are_reno_and_three_are_enough():
    for samples, shrinks in ((2, False), (3, True)):
        both = Both(50, 2)
        law = both.law
        for _ in range(4):
            law.send(samples)
            for _ in range(samples):
                law.ack(1, rtt_s=3.0)
        assert (law.cwnd() < 50) == shrinks


@pytest.mark.parametrize(("window", "after"), [(101, 50), (3, 2), (2, 2)])
def test_a_loss_halves_and_leaves_two(window, after):
    both = Both(window, 2)
    both.law.lose()
    assert both.law.cwnd() == after
