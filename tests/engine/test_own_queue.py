"""A sender's own queue, packet by packet: the rate that its drain shows, and the pace that keeps it short."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from dstcc.engine._testing import coding

from .net import jain, ns

FULL = 1500
TARGET = 4 * FULL
WAIT_S = 1.0


class Line:
    """A line with a queue in bytes, in exact arithmetic: who sends what when is a test's."""

    def __init__(self, rate: float, depth: float = 1e9) -> None:
        self.rate, self.depth = rate, depth
        self.queue, self.at_ns, self.dropped = 0.0, 0, 0

    def drain(self, now_ns: int) -> float:
        """What stands in it."""
        self.queue = max(0.0, self.queue - self.rate * (now_ns - self.at_ns) / 1e9)
        self.at_ns = now_ns
        return self.queue

    def put(self, now_ns: int, size: int = FULL) -> tuple[int, int]:
        """What stood in it before and after a packet."""
        before = self.drain(now_ns)
        if before + size <= self.depth:
            self.queue += size
        else:
            self.dropped += 1
        return int(before), int(self.queue)


class Sender:
    """Always has a packet; sends when its queue lets it."""

    def __init__(self, line: Line, start_s: float = 0.0, wait_s: float = WAIT_S) -> None:
        self.line, self.next_ns, self.sent = line, ns(start_s), 0
        self.seen = coding.OwnQueue(FULL, ns(wait_s))
        self.sent_at: list[int] = []

    def step(self, limit: float = float("inf")) -> None:
        now = self.next_ns
        before, after = self.line.put(now)
        self.sent_at.append(now)
        leaves = now + int(1e9 * self.line.queue / self.line.rate)
        self.next_ns = now + self.seen.see(now, before, after, FULL, leaves, limit / 1e9)

    @property
    def share(self) -> float:
        return float(self.seen.share) * 1e9

    def sent_between(self, from_s: float, to_s: float) -> int:
        return sum(ns(from_s) <= at < ns(to_s) for at in self.sent_at)


def together(senders: Sequence[Sender], until_s: float, limit: float = float("inf")) -> None:
    """Whoever is due next sends."""
    while min(sender.next_ns for sender in senders) < ns(until_s):
        min(senders, key=lambda sender: sender.next_ns).step(limit)


def test_four_packets_go_at_once_and_what_the_queue_loses_in_a_wait_is_the_rate() -> None:
    line = Line(3000)  # two packets a second
    sender = Sender(line)
    for _ in range(4):
        assert not sender.seen.known
        sender.step()
    assert sender.sent_at == [0, 0, 0, 0]
    assert sender.next_ns == ns(WAIT_S)
    sender.step()  # 6,000 bytes stood, 3,000 do
    assert sender.seen.known
    assert sender.share == pytest.approx(3000)


@pytest.mark.parametrize("rate", [15.0, 48_000.0])
def test_no_fifth_packet_goes_before_the_first_has_left_and_by_it_the_rate_is_known(rate: float) -> None:
    # A hundred seconds a packet; or all four have left in the least wait.
    sender = Sender(Line(rate))
    for _ in range(5):
        assert not sender.seen.known
        sender.step()
    assert sender.sent_at[:4] == [0, 0, 0, 0]
    assert sender.sent_at[4] == ns(max(FULL / rate, WAIT_S))
    assert sender.share == pytest.approx(rate)


def test_a_source_that_has_less_than_four_packets_knows_the_rate_when_one_has_left() -> None:
    sender = Sender(Line(48_000))
    for _ in range(2):
        sender.step()
        sender.next_ns = ns(5)
    assert sender.share == pytest.approx(48_000)


def test_who_begins_behind_others_begins_with_his_part_of_what_stands() -> None:
    # Of twelve packets of others and four of its own, at a packet a second, one of its own has left after 13: the last
    # three and the one that goes now are all its own. With eight more of others they are a third of twelve.
    for later, part in ((0, 1.0), (8, 1 / 3)):
        line = Line(FULL)
        line.put(0, 12 * FULL)
        sender = Sender(line)
        for _ in range(4):
            sender.step()
        assert sender.next_ns == ns(13)
        line.put(ns(12), later * FULL)
        sender.step()
        assert sender.seen.share * 1e9 == pytest.approx(part * FULL)


def test_a_packet_that_is_not_taken_ends_its_train() -> None:
    """Else all that there is would be put at once on a queue that takes one packet."""
    sender = Sender(Line(30_000, depth=FULL))
    for _ in range(10):
        sender.step()
    assert sender.line.dropped <= 5
    assert sender.next_ns > 0


def test_where_others_leave_nothing_it_goes_on_after_waits_that_are_bounded() -> None:
    line = Line(30_000)
    sender, other_ns = Sender(line, wait_s=0.01), 0
    while sender.next_ns < ns(60):
        if other_ns <= sender.next_ns:
            line.put(other_ns)
            other_ns += ns(FULL / 60_000)
        else:
            sender.step()
    assert max(np.diff(sender.sent_at)) <= ns(10)
    assert sender.sent_between(20, 60) >= 3


@pytest.mark.parametrize("rate", [150.0, 14_400.0, 30_000.0, 1.25e6])
def test_on_a_line_of_its_own_it_sends_at_the_rate_and_keeps_four_packets_in_the_queue(rate: float) -> None:
    sender = Sender(Line(rate))
    packet_s = FULL / rate
    together([sender], max(20.0, 200 * packet_s))
    begin = sender.next_ns / 1e9
    together([sender], begin + 100 * packet_s)
    assert sender.sent_between(begin, begin + 100 * packet_s) == pytest.approx(100, abs=2)
    assert sender.share == pytest.approx(rate, rel=0.02)
    assert sender.line.queue == pytest.approx(TARGET, abs=1.5 * FULL)


@pytest.mark.parametrize("factor", [0.1, 0.5, 2.0, 10.0])
def test_it_follows_a_step_of_the_rate(factor: float) -> None:
    line = Line(30_000)
    sender = Sender(line)
    together([sender], 60)
    line.drain(sender.next_ns)
    line.rate *= factor
    together([sender], 60 + 120 * FULL / min(line.rate, 30_000))
    assert sender.share == pytest.approx(line.rate, rel=0.05)
    assert line.drain(sender.next_ns) < 8 * FULL


def test_it_is_never_above_the_line_for_more_than_its_target_and_a_train() -> None:
    """Property: whatever the rate does, what stands in the queue is bounded, so that the pace is no longer above it."""
    line = Line(30_000)
    sender = Sender(line)
    together([sender], 30)
    deepest = 0.0
    for step in range(40):
        line.drain(sender.next_ns)
        line.rate = 30_000 * (1, 0.5, 1, 2)[step % 4]
        for _ in range(100):
            sender.step()
            deepest = max(deepest, line.queue)
    assert deepest < TARGET + 16 * FULL


def test_it_never_stops() -> None:
    """Property: also where others fill the queue, and the line is theirs."""
    line = Line(30_000)
    sender = Sender(line)
    together([sender], 10)
    other_ns = sender.next_ns
    flooded_s = (other_ns / 1e9, other_ns / 1e9 + 60)
    while sender.next_ns < ns(flooded_s[1]):
        if other_ns <= sender.next_ns:
            line.put(other_ns)
            other_ns += ns(FULL / 30_000)
        else:
            sender.step()
    assert sender.sent_between(*flooded_s) > 60 * 20 / 64  # of twenty packets a second at least a 64th


@pytest.mark.parametrize("late_s", [0.0, 3.0, 60.0])
@pytest.mark.parametrize("count", [2, 3])
def test_senders_on_one_line_have_the_same_rate_in_the_end(late_s: float, count: int) -> None:
    line = Line(30_000)
    senders = [Sender(line, i * late_s) for i in range(count)]
    together(senders, 300)
    shares = tuple(float(sender.sent_between(200, 300)) for sender in senders)
    assert jain(shares) > 0.95
    assert sum(shares) == pytest.approx(100 * 20, rel=0.02)
    assert line.queue < (4 * count + 6) * FULL


def test_a_queue_for_two_packets_takes_nearly_all_that_is_sent() -> None:
    line = Line(30_000, depth=2 * FULL)
    sender = Sender(line)
    together([sender], 20)
    dropped = line.dropped
    together([sender], 120)
    assert sender.seen.target == 1.125 * FULL
    sent = sender.sent_between(20, 120)
    assert line.dropped - dropped <= 0.02 * sent
    assert sent >= 0.95 * 2000


def test_a_limit_is_not_exceeded_and_its_end_brings_the_rate_back() -> None:
    line = Line(30_000)
    sender = Sender(line)
    together([sender], 20)
    together([sender], 40, limit=7_500)
    assert sender.sent_between(25, 40) == pytest.approx(15 * 5, abs=1)
    together([sender], 60)
    assert sender.sent_between(45, 60) == pytest.approx(15 * 20, rel=0.03)


def test_a_source_that_pauses_does_not_change_the_rate() -> None:
    sender = Sender(Line(30_000))
    together([sender], 20)
    for _ in range(50):
        sender.next_ns += ns(0.7)
        sender.step()
    assert sender.share == pytest.approx(30_000, rel=0.02)


def test_short_packets_are_paced_by_their_size() -> None:
    seen = coding.OwnQueue(FULL, ns(1))
    for number in range(4):
        seen.see(0, 1500 * number, 1500 * (number + 1), FULL, ns((number + 1) / 2), float("inf"))
    full = seen.see(ns(1), 3000, 4500, FULL, ns(2.5), float("inf"))
    short = seen.see(ns(1), 4500, 4650, 150, ns(2.55), float("inf"))
    assert seen.share == pytest.approx(3e-6)
    assert full == ns(FULL / (3000 + 3000 * (6000 - 4500) / 24_000))
    assert short == ns(150 / (3000 + 3000 * (6000 - 4650) / 24_000))


def test_beside_others_that_fill_the_queue_it_knows_the_line_and_plans_with_what_it_holds() -> None:
    """Others keep the queue at 40 packets and leave nothing: 4/9 of it are held, and so of the line."""
    rate = 15_000.0
    line = Line(rate)
    sender = Sender(line)
    together([sender], 60)
    while sender.next_ns < ns(400):
        line.drain(sender.next_ns)
        line.queue = max(line.queue, 40.0 * FULL)
        sender.step()
    assert sender.seen.line * 1e9 == pytest.approx(rate, rel=0.02)
    assert sender.share >= 4 / 9 * rate * 0.98
    # Of 40 packets up to 4/9 are its own, 17 or 18 with the one that it puts there, and a line of ten packets a second
    # serves all alike.
    assert 17 / 40 * 1000 < sender.sent_between(300, 400) < 17.8 / 40 * 1000
    # They go: what stands is over in 40 packets' time, and the next packet finds the line free or nearly.
    gone = sender.sent_at[-1] / 1e9
    last = gone + line.queue / rate
    sender.step()
    assert sender.sent_at[-1] / 1e9 <= last + FULL / rate
    together([sender], last + 60)
    assert sender.share == pytest.approx(rate, rel=0.02)


def test_beside_others_who_sends_less_than_his_pace_keeps_it() -> None:
    """Another fills the rest of the line and keeps packets in the queue; the source has a twentieth of what its share
    was. A train that takes so long shows what the source had, and not what the line would have taken."""
    line = Line(30_000)
    sender = Sender(line)
    together([sender], 10)
    share = sender.share
    assert share == pytest.approx(30_000, rel=0.02)
    for _ in range(100):
        sender.next_ns += ns(20 * FULL / 30_000)
        line.drain(sender.next_ns)
        line.queue = max(line.queue, 3.0 * FULL)
        sender.step()
    assert sender.share >= 0.98 * share
    line.drain(sender.next_ns)
    line.queue = 3.0 * FULL
    together([sender], sender.next_ns / 1e9 + 1)
    assert sender.sent_between(sender.next_ns / 1e9 - 1.1, sender.next_ns / 1e9) > 10, (
        "and sends at it at once"
    )
