"""wVegas step by step: the decisions of draft-xu-mptcp-congestion-control-05 written out, round trip by round trip.

    diff_r = cwnd_r · (RTT_r - baseRTT_r) / RTT_r
    slow start: diff > γ: cwnd ← cwnd · baseRTT / RTT + 1, else double
    diff_r ≥ α_r: rate_r = cwnd_r / RTT_r, weight_r = rate_r / Σ rate, α_r = max(2, weight_r · 10)
    diff_r > α_r: cwnd - 1;  diff_r < α_r: cwnd + 1
    RTT - baseRTT ≥ 2 · the least since the last drain: cwnd ← cwnd · baseRTT / (2 RTT)

RTT is the mean of a round trip; γ = 1, α_r starts at 2. Rates that other subflows told are part of Σ. With the
threshold of MPTCP v0.9x: at least 3/4 of the window after each decision and below a window that shrinks, so that
what a drain took comes back as in slow start.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from .law import Law


class Path:
    """One subflow driven beside the draft's arithmetic; ``rates`` are those that all subflows have told."""

    def __init__(self, law: Law, index: int, rates: list[float]) -> None:
        self.law, self.index, self.rates = law, index, rates
        self.base_s = 1e9
        self.samples: list[float] = []
        self.alpha, self.least_queueing = 2.0, 0.0

    def first_round(self, base_s: float = 1.0) -> None:
        """The base RTT is known, and the next ACK decides on samples of it alone."""
        self.law.send(8, self.index)
        for _ in range(8):
            self.law.ack(1, self.index, rtt_s=base_s)
        self.base_s, self.samples = base_s, [base_s] * 7  # the first ACK decided, on too few

    def start_at(self, cwnd: int, ssthresh: int = 2) -> None:
        self.law.set(self.index, cwnd=cwnd, ssthresh=ssthresh)
        self.ssthresh = ssthresh

    def round(self, rtts_s: list[float]) -> int:
        """A round trip of so many segments with these RTTs. Its first ACK decides on all since the last decision."""
        self.law.send(len(rtts_s), self.index)
        for place, rtt in enumerate(rtts_s):
            before = self.law.cwnd(self.index)
            self.samples.append(rtt)
            self.base_s = min(self.base_s, rtt)
            self.law.ack(1, self.index, rtt_s=rtt)
            expected = self.decide(before) if place == 0 else before + (before < self.ssthresh)
            assert self.law.cwnd(self.index) == expected
            assert self.law.ssthresh(self.index) == self.ssthresh
        return self.law.cwnd(self.index)

    def decide(self, cwnd: int) -> int:
        rtt = sum(self.samples) / len(self.samples)
        self.samples = []
        diff = cwnd * (rtt - self.base_s) / rtt
        if cwnd < self.ssthresh and diff <= 1:
            cwnd += 1
        elif cwnd < self.ssthresh:
            cwnd = min(cwnd, int(cwnd * self.base_s / rtt) + 1)
            self.ssthresh = min(self.ssthresh, cwnd - 1)
        else:
            cwnd = self.drain(self.avoid(cwnd, diff, rtt), rtt)
        cwnd = max(cwnd, 2)
        self.ssthresh = max(self.ssthresh, cwnd // 2 + cwnd // 4)
        return cwnd

    def avoid(self, cwnd: int, diff: float, rtt: float) -> int:
        if diff >= self.alpha:
            self.rates[self.index] = cwnd / rtt
            self.alpha = max(2.0, 10 * self.rates[self.index] / sum(self.rates))
        if diff > self.alpha:
            self.ssthresh = min(self.ssthresh, cwnd - 2)
            return cwnd - 1
        return cwnd + (diff < self.alpha)

    def drain(self, cwnd: int, rtt: float) -> int:
        queueing = rtt - self.base_s
        if queueing <= 0:
            return cwnd
        if self.least_queueing == 0 or queueing < self.least_queueing:
            self.least_queueing = queueing
        if queueing < 2 * self.least_queueing:
            return cwnd
        self.least_queueing = 0.0
        return int(cwnd * self.base_s / (2 * rtt))


def paths(*windows: int, base_s: float = 1.0) -> list[Path]:
    law = Law("wvegas", *[base_s] * len(windows))
    rates = [0.0] * len(windows)
    law_paths = [Path(law, i, rates) for i in range(len(windows))]
    for path, window in zip(law_paths, windows, strict=True):
        path.start_at(4)
        path.first_round(base_s)
        path.start_at(window)
    return law_paths


@pytest.mark.parametrize(
    ("cwnd", "rtt_s"),
    [
        (100, 1.001),  # diff 0.1: grows
        (100, 1.03),  # alone its weight is 1: α = 10 from the first diff beyond 2 on, 2.9 grows
        (100, 1.09),  # 8.3
        (100, 1.12),  # 10.7 shrinks
        (8, 1.5),  # 2.67, beyond the first α but below the second
        (500, 1.02),
        (500, 1.0201),
    ],
)
def test_alone_it_keeps_ten_segments_in_the_queue(cwnd, rtt_s):
    (path,) = paths(cwnd)
    for _ in range(12):
        path.round([rtt_s] * 6)


def test_at_its_share_exactly_the_window_stands():
    # Base 1.125 s, RTT 1.25 s, exact in binary: diff = W · 0.125 / 1.25 is 10 at W = 100, and α = 10 · 1.
    (path,) = paths(100, base_s=1.125)
    path.round([1.25] * 6)
    path.start_at(100)
    path.round([1.25] * 6)
    path.start_at(100)
    assert path.round([1.25] * 6) == 100
    path.start_at(101)
    assert path.round([1.25] * 6) == 100
    path.start_at(99)
    assert path.round([1.25] * 6) == 100


def test_the_weight_is_found_anew_at_alpha_exactly():
    # α = 2 at first. Base 1.125 s, RTT 1.25 s, W = 20: diff = 20 · 0.125 / 1.25 = 2, so α becomes 10 · 1, and 2 < 10
    # grows.
    (path,) = paths(4, base_s=1.125)
    for _ in range(4):
        path.start_at(4)
        path.round([1.25] * 6)
    assert path.alpha == 2
    path.start_at(20)
    assert path.round([1.25] * 6) == 21


@pytest.mark.parametrize("rtts_s", [(1.04, 1.04), (1.07, 1.07), (1.02, 1.08), (1.2, 1.01)])
@pytest.mark.parametrize("windows", [(100, 100), (300, 100), (40, 400)])
def test_ten_segments_of_queue_are_shared_by_rate(windows, rtts_s):
    both = paths(*windows)
    for _ in range(10):
        for path, rtt in zip(both, rtts_s, strict=True):
            path.round([rtt] * 5)


def test_a_weight_never_falls_below_two():
    # Rates 1,000 to 10: α = 10 · 10 / 1,010 = 0.1 would be less than the two segments that every path keeps.
    big, small = paths(1000, 10)
    for _ in range(3):
        big.round([1.05] * 5)
    for _ in range(6):
        small.round([1.22] * 5)  # diff 1.8: more than 0.1, less than 2: it grows until diff = 2


def test_the_mean_of_a_round_trip_decides():
    # Of 1.0 and 1.1 s by turns the mean is 1.05: diff 4.8. The least would say 0, the last 9.1.
    (path,) = paths(100)
    for _ in range(4):
        path.round([1.0, 1.1, 1.0, 1.1])
    one, other = paths(100, 100)
    for _ in range(4):
        for path in (one, other):
            path.round([1.0, 1.16, 1.0, 1.16, 1.0, 1.16])


def test_the_base_is_the_least_ever():
    (path,) = paths(200)
    for rtt in (1.04, 1.02, 1.0, 0.99, 1.02, 1.04, 1.03):
        path.round([rtt] * 5)


def test_a_queue_that_doubled_is_drained_and_the_least_forgotten():
    # 0.02, 0.03, 0.04 = 2 · 0.02: W / (2 RTT). From then on 0.04 is the least: 0.07 does not drain, 0.08 does.
    (path,) = paths(100)
    seen = [
        path.round([rtt] * 6)
        for rtt in (1.02, 1.02, 1.03, 1.03, 1.045, 1.045, 1.045, 1.06, 1.06, 1.07, 1.07, 1.1, 1.1)
    ]
    drains = sum(after < 0.6 * before for before, after in pairwise(seen))
    assert drains == 2


def test_a_queue_of_twice_the_least_exactly_is_drained():
    # Base 1 s, queueing of 2^-6 s and then of 2^-5 s, exact in binary: (64 + 1) · 1 / (2 · 1.03125) = 31.5.
    (path,) = paths(64)
    for rtt in (1 + 2**-6, 1 + 2**-6, 1 + 2**-6, 1 + 2**-6):
        path.start_at(64)
        path.round([rtt] * 6)
    law = path.law
    law.send(1)  # a decision on the old RTT, after which all samples are of the new one
    law.ack(1, rtt_s=1 + 2**-6)
    law.send(6)
    law.ack(1, rtt_s=1 + 2**-6)
    for _ in range(5):
        law.ack(1, rtt_s=1 + 2**-5)
    law.set(cwnd=64, ssthresh=2)
    law.send(1)
    law.ack(1, rtt_s=1 + 2**-5)
    assert law.cwnd() == 31


def test_an_idle_queue_is_never_drained():
    (path,) = paths(50)
    for _ in range(5):
        path.round([1.0] * 6)
    assert path.law.cwnd() == 55


@pytest.mark.parametrize("rtt_s", [1.0, 1.007, 1.0078125, 1.009, 1.02, 1.5])
def test_slow_start_ends_beyond_gamma(rtt_s):
    # W = 128 at base 1 s: diff = 1 at RTT 128 / 127; beyond it W ← ⌊W / RTT⌋ + 1, below the threshold doubling goes on.
    (path,) = paths(128)
    for _ in range(4):
        path.start_at(128, ssthresh=1000)
        path.round([rtt_s] * 6)


def test_slow_start_goes_on_at_gamma_exactly():
    # Base 1 s, RTT 1.25 s, W = 5: diff = 5 · 0.25 / 1.25 = 1, not beyond γ.
    (path,) = paths(5)
    for _ in range(3):
        path.start_at(5, ssthresh=1000)
        path.round([1.25] * 6)
        path.start_at(5, ssthresh=1000)
    assert path.round([1.25] * 3) == 8  # three ACKs, three segments


def test_fewer_than_three_samples_decide_nothing():
    # Two ACKs a round trip with a queue of 19 segments: Reno, which counts the deciding ACKs alone: 20 of them a
    # segment.
    law = paths(20)[0].law
    for _ in range(4):  # what the first round left is decided on
        law.send(2)
        law.ack(1, rtt_s=1.0)
        law.ack(1, rtt_s=1.0)
    law.set(cwnd=20, ssthresh=2)
    windows = []
    for _ in range(60):
        law.send(2)
        law.ack(1, rtt_s=20.0)
        law.ack(1, rtt_s=20.0)
        windows.append(law.cwnd())
    assert windows[:10] == [20] * 10 and 21 <= windows[24] <= 22 and windows == sorted(windows)


def test_three_samples_are_enough():
    law = paths(20)[0].law
    for _ in range(3):
        law.send(3)
        for _ in range(3):
            law.ack(1, rtt_s=20.0)
    assert law.cwnd() < 20


def test_a_timeout_withdraws_the_rate_and_a_loss_does_not():
    # Rates of 100 / 1.15 each: α = 5. Path 1 has a timeout: the next time path 0 looks, the sum is its own: α = 10.
    for event, alpha in ((Law.lose, 5), (Law.time_out, 10)):
        one, other = paths(100, 100)
        for path in (one, other, one, other, one):
            path.start_at(100)
            path.round([1.15] * 6)
        event(other.law, 1)
        assert one.alpha == pytest.approx(5, rel=0.02)
        if alpha == 10:
            one.rates[1] = 0.0
        for _ in range(2):  # diff 12, which finds the weight anew; then 7.4, between 5 and 10
            one.start_at(100)
            one.round([1.08] * 6)
        assert one.alpha == pytest.approx(alpha, rel=0.05)


def test_after_a_loss_a_path_starts_from_two_segments_of_queue():
    # α was 10; the loss makes it 2 until the next diff beyond it, and the rate is told anew.
    (path,) = paths(100)
    for _ in range(3):
        path.round([1.05] * 6)
    assert path.alpha == 10
    path.law.lose()
    path.start_at(100)
    path.alpha, path.least_queueing, path.samples = 2.0, 0.0, []
    path.law.send(6)
    for _ in range(6):
        path.law.ack(1, rtt_s=1.015)  # the round trip in which it is switched on again decides nothing
    assert path.law.cwnd() == 100


@pytest.mark.parametrize(("window", "after"), [(101, 50), (3, 2), (2, 2)])
def test_a_loss_halves_and_leaves_two(window, after):
    (path,) = paths(window)
    path.law.lose()
    assert path.law.cwnd() == after


def test_the_window_never_falls_below_two():
    (path,) = paths(3)
    for _ in range(8):
        path.round([9.0] * 4)
    assert path.law.cwnd() >= 2
