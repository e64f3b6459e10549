"""BIC step by step: bictcp_update() of Linux's tcp_bic.c written out in integers, ACK by ACK.

Every ACK comes 50 ms after the last, so that each finds more than the 1/32 s that a step is kept for.
"""

from __future__ import annotations

import pytest

from .law import Law
from .sender import flight


class Linux:
    def __init__(self, cwnd: int, ssthresh: int) -> None:
        self.cwnd, self.ssthresh, self.count, self.step, self.last_max = cwnd, ssthresh, 0, 1, 0
        self.ratio = 2 << 4  # segments an ACK, in sixteenths

    def update(self) -> None:
        w = self.cwnd
        if w <= 14:  # low_window
            self.step = w
            return
        if w < self.last_max:  # binary search
            distance = (self.last_max - w) // 4
            if distance > 16:
                self.step = w // 16
            elif distance <= 1:
                self.step = w * 20 // 4
            else:
                self.step = w // distance
        elif w < self.last_max + 4:  # slow start of max probing
            self.step = w * 20 // 4
        elif w < self.last_max + 16 * 3:
            self.step = w * 3 // (w - self.last_max)
        else:
            self.step = w // 16
        if self.last_max == 0:
            self.step = min(self.step, 20)
        self.step = max((self.step << 4) // self.ratio, 1)

    def ack(self, acked: int) -> None:
        self.ratio += acked - (self.ratio >> 4)
        rest = acked
        if self.cwnd < self.ssthresh:
            grown = min(self.cwnd + acked, self.ssthresh)
            rest, self.cwnd = acked - (grown - self.cwnd), grown
            if rest == 0:
                return
        self.update()
        if self.count >= self.step:
            self.count, self.cwnd = 0, self.cwnd + 1
        self.count += rest
        self.cwnd, self.count = self.cwnd + self.count // self.step, self.count % self.step

    def lose(self) -> None:
        w = self.cwnd
        self.last_max = w * (1024 + 819) // 2048 if w < self.last_max else w
        self.cwnd = self.ssthresh = max(w // 2, 2) if w <= 14 else max(w * 819 // 1024, 2)
        self.count = 0


@pytest.mark.parametrize("acked", [1, 2, 5])
@pytest.mark.parametrize("cwnd", [4, 13, 14, 15, 16, 40, 100, 333, 1000])
def test_growth_after_a_loss_ack_by_ack(cwnd, acked):
    law, linux = Law("bic", 0.1), Linux(cwnd, cwnd)
    law.send(100_000)
    law.set(cwnd=cwnd)
    law.lose()
    linux.lose()
    assert law.cwnd() == linux.cwnd
    for _ in range(1500):
        law.wait(0.05)
        law.ack(acked)
        linux.ack(acked)
        assert law.cwnd() == linux.cwnd


@pytest.mark.parametrize("cwnd", [10, 15, 30, 500])
def test_before_the_first_loss_it_grows_by_five_per_cent_at_least(cwnd):
    law, linux = Law("bic", 0.1), Linux(cwnd, cwnd)
    law.send(100_000)
    law.set(cwnd=cwnd)
    for _ in range(500):
        law.wait(0.05)
        law.ack(2)
        linux.ack(2)
        assert law.cwnd() == linux.cwnd


def test_a_second_loss_below_the_maximum_lowers_it():
    for first, second in ((1000, 900), (1000, 1000), (500, 700), (15, 14)):
        law, linux = Law("bic", 0.1), Linux(first, first)
        law.send(100_000)
        law.set(cwnd=first)
        law.lose()
        linux.lose()
        law.set(cwnd=second)
        linux.cwnd = linux.ssthresh = second
        law.lose()
        linux.lose()
        assert law.cwnd() == linux.cwnd
        for _ in range(600):
            law.wait(0.05)
            law.ack(2)
            linux.ack(2)
            assert law.cwnd() == linux.cwnd


def test_a_timeout_forgets_the_maximum_and_the_ack_ratio():
    law, linux = Law("bic", 0.1), Linux(300, 300)
    law.send(100_000)
    law.set(cwnd=1000)
    law.lose()
    law.ack(60)
    law.time_out()
    law.set(cwnd=300)
    for _ in range(300):
        law.wait(0.05)
        law.ack(2)
        linux.ack(2)
        assert law.cwnd() == linux.cwnd


def test_a_step_is_kept_for_a_thirty_second_of_a_second():
    # W = 960, far below the maximum of 10,000: 960 / 16 = 60 over the ratio. The ratio rises from 32 sixteenths with
    # ACKs of 5 (35, 38, 41, 44, 47, 50), so that a new step would be 60 · 16 / 35 = 27, then 25, 23, 21, 20, 19, and
    # the fifth ACK (20 segments before it) make a segment. Kept within 1/32 s it is 27: the sixth does.
    law = far_below()
    seen = []
    for _ in range(6):
        law.ack(5)
        seen.append(law.cwnd())
    assert seen == [960, 960, 960, 960, 960, 961]
    # Just beyond 1/32 s it is a new one.
    law = far_below()
    seen = []
    for _ in range(6):
        law.ack(5)
        seen.append(law.cwnd())
        law.wait(1 / 32 + 1e-6)
    assert seen == [960, 960, 960, 960, 961, 961]


def far_below() -> Law:
    law = Law("bic", 0.1)
    law.send(100_000)
    law.set(cwnd=10_000)
    law.lose()
    law.set(cwnd=960)
    law.wait(1)
    return law


def test_the_ack_ratio_is_of_what_is_acknowledged_in_order_while_nothing_is_missing():
    # tcp_clean_rtx_queue() hands over no segment that is only SACKed, and in Disorder BIC takes no count. The first
    # SACK takes the ratio from 32 to 32 + 0 - 2 sixteenths, the second is of Disorder, the third begins the recovery.
    sender = flight(20, "bic")
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    assert (sender.engine.state, sender.engine.ssthresh) == ("recovery", 20 * 819 // 1024)
    assert sender.repeat(1003) == [0]
    sender.ack(2003, 20, echo_ms=1003)
    assert sender.engine.cwnd == 15
    acked, sent = 20, 20
    grown: dict[int, int] = {}
    while sender.engine.cwnd < 17:
        while sent - acked < sender.engine.cwnd:
            sender.send(2003)
            sent += 1
        acked += 1
        sender.ack(3003, acked, echo_ms=2003)
        grown.setdefault(sender.engine.cwnd, acked)
    # At 16 of 20 the search takes (16 · 20 / 4 · 16) / 30 segments for the next one.
    assert grown[17] - grown[16] == 80 * 16 // 30
