"""An ACK that only lengthens its first block takes a short cut. It does what the whole scoreboard would.

Two senders hear the same. What one hears has a further block besides, a part of the first, so that it looks at all
blocks: it knows no more for that.
"""

from __future__ import annotations

import heapq
import itertools
import random

import pytest

from dstcc.engine import Transport
from dstcc.engine._testing import parts

from .sender import MS, Sender, flight

SEEN = (
    *("state", "in_flight", "cwnd", "ssthresh", "lost_out", "sacked_out", "retrans_out", "lost", "timeouts"),
    *("srtt_ns", "min_rtt_ns", "last_rtt_ns", "next_timer", "pacing_until", "app_limited", "is_cwnd_limited"),
)
ONE_WAY_MS, JITTER_MS = 50, 20
DARK_MS = (500, 1500)
"""Nothing gets through, so that timeouts follow."""
SEGMENTS = 400


class Pair:
    """Both senders, and the path from them to one receiver and back."""

    def __init__(self, congestion: str, seed: int) -> None:
        self.rng = random.Random(seed)
        self.plain, self.whole = (Sender(congestion, rtt_ms=2 * ONE_WAY_MS) for _ in range(2))
        self.receiver = parts.Receiver(Transport(congestion, "minrtt"), 1_000, 2 * ONE_WAY_MS * MS)
        self.under_way: list[tuple[float, int, str, tuple[object, ...]]] = []
        self.tie = itertools.count()
        self.arrived = {"data": 0.0, "ack": 0.0}
        self.sent = self.lengthened = 0
        self.last: tuple[int, int] = (0, 0)

    def put(self, at: float, kind: str, *what: object) -> None:
        # First in, first out, however long it takes.
        self.arrived[kind] = max(self.arrived[kind], at + ONE_WAY_MS + self.rng.uniform(0, JITTER_MS))
        heapq.heappush(self.under_way, (self.arrived[kind], next(self.tie), kind, what))

    def transmit(self, at: float, number: int) -> None:
        if self.rng.random() > 0.03 and not DARK_MS[0] <= at < DARK_MS[1]:
            self.put(at, "data", number, at)

    def fill(self, at: float) -> None:
        repeats = self.plain.repeat(at)
        assert self.whole.repeat(at) == repeats
        for number in repeats:
            self.transmit(at, number)
        while self.plain.engine.window_open and self.sent < SEGMENTS:
            self.plain.send(at)
            self.whole.send(at)
            self.transmit(at, self.sent)
            self.sent += 1

    def data(self, at: float, number: int, sent: float) -> None:
        self.receiver.segment(round(at * MS), number, round(sent * MS), 1460)
        self.put(at, "ack", *self.receiver.make_ack())

    def ack(
        self, at: float, cumulative: int, echo: int, duplicate: bool, blocks: list[tuple[int, int]]
    ) -> None:
        more = list(blocks)
        if 1 <= len(blocks) < 3 and blocks[0][1] - blocks[0][0] > 2:
            more.append((blocks[0][0], self.rng.randint(blocks[0][0] + 1, blocks[0][1] - 1)))
        if blocks:
            self.lengthened += blocks[0][0] == self.last[0] and blocks[0][1] > self.last[1]
            self.last = blocks[0]
        for sender, heard in ((self.plain, blocks), (self.whole, more)):
            sender.ack(at, cumulative, *heard, echo_ms=echo / MS, duplicate=duplicate, more=True)

    def run(self) -> None:
        self.fill(0)
        while self.under_way or self.plain.engine.in_flight:
            due = self.plain.next_timer_ms
            if self.under_way and self.under_way[0][0] <= due:
                at, _, kind, what = heapq.heappop(self.under_way)
                getattr(self, kind)(at, *what)
            else:
                at = due
                assert self.plain.timer(at) == self.whole.timer(at)
            self.fill(at)
            for name in SEEN:
                assert getattr(self.plain.engine, name) == getattr(self.whole.engine, name), (at, name)


@pytest.mark.parametrize("congestion", ["cubic", "westwood", "bbr-scaled"])
@pytest.mark.parametrize("seed", range(2))
def test_it_does_what_the_whole_scoreboard_says(congestion, seed):
    pair = Pair(congestion, seed)
    pair.run()
    assert pair.lengthened > 40 and pair.plain.engine.timeouts > 0


def test_a_repeat_that_it_shows_to_be_lost_ends_what_a_timeout_began():
    # Ten segments, none acknowledged in time. The repeat of 0 is, and 10 goes before further repeats. Its SACK says
    # that 1 to 9 are lost: 1 and 2 are repeated, and 11 leaves 1 ms later. A round trip after that its SACK lengthens
    # 10's block, so that both were lost again: Recovery, as a SACK of any other form has it.
    for more in ((), ((10, 11),)):
        sender = flight()
        assert sender.timer(sender.next_timer_ms) == "probe"
        at = sender.next_timer_ms
        assert sender.timer(at) == "timeout"
        assert sender.repeat(at) == [0]
        at += 1000
        sender.ack(at, 1, echo_ms=at - 1000, more=True)
        sender.send(at)
        at += 1000
        sender.ack(at, 1, (10, 11), echo_ms=at - 1000)
        assert (sender.engine.state, sender.repeat(at)) == ("loss", [1, 2])
        sender.send(at + 1)
        sender.ack(at + 1001, 1, (10, 12), *more, echo_ms=at + 1)
        assert (sender.engine.state, sender.engine.lost_out) == ("recovery", 9)


def test_it_says_how_long_a_round_trip_takes_now():
    # 0 is lost. 1 to 3 are acknowledged after 1,000 ms, and 4, with a longer block, after 1,500. At the timeout, 10 has
    # been out for 1,200 ms: not for a round trip, so that it is not lost, as 0 and 5 to 9 are (Linux tcp_enter_loss()).
    sender = flight()
    sender.ack(1003, 0, (1, 4), echo_ms=3)
    assert sender.repeat(1003) == [0]
    sender.ack(1504, 0, (1, 5), echo_ms=4)
    due = sender.next_timer_ms
    sender.send(due - 1200)
    assert (sender.timer(due), sender.engine.lost_out) == ("timeout", 6)
