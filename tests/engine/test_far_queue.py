"""A queue that is not the sender's own, by reports: what is available there, and a pace that keeps it short."""

from __future__ import annotations

from itertools import pairwise

import pytest

from dstcc.engine._testing import coding

from .net import ns

ROUND_S = 100.0
LINE, SHOWN = 1000.0, 4000.0
"""Bytes a second further on, and of the sender's own line."""


class Far:
    """A sender before a line further on of which it knows nothing, in exact arithmetic."""

    def __init__(self, others: float = 0.0) -> None:
        self.queue = coding.FarQueue()
        self.others, self.standing, self.at_s, self.sent, self.line = others, 0.0, 0.0, 0.0, LINE
        self.reports: list[tuple[float, float, float, float]] = []
        self.pace = float("inf")

    def send(self, rate: float, until_s: float, step_s: float = 2.0, spare_s: float = 1e6) -> None:
        """At that rate or its own pace, if that is less; reports come a round trip after a packet left the queue."""
        while self.at_s < until_s:
            self.at_s += step_s
            sent = min(rate, self.pace) * step_s
            self.sent += sent
            self.standing = max(self.standing + sent + (self.others - self.line) * step_s, 0.0)
            wait_s = self.standing / self.line
            self.reports.append((self.at_s + wait_s + ROUND_S, self.at_s, wait_s, sent))
            while self.reports and self.reports[0][0] <= self.at_s:
                _, at_s, waited_s, arrived = self.reports.pop(0)
                self.queue.hear(ns(at_s), ns(waited_s), arrived)
            under_way = sum(arrived for *_, arrived in self.reports)
            paced = self.queue.pace(ns(self.at_s), under_way, SHOWN / 1e9, ns(ROUND_S), ns(spare_s))
            self.pace = paced * 1e9


def test_nothing_is_limited_before_a_queue_stands_and_grows() -> None:
    far = Far()
    far.send(0.9 * LINE, 1000)
    assert far.pace == float("inf")
    assert not far.queue.found
    assert far.queue.ahead == 0


@pytest.mark.parametrize("others", [0.0, 0.5 * LINE])
def test_the_pace_becomes_what_is_available_there(others: float) -> None:
    far = Far(others)
    far.send(2 * LINE, 1500)
    before = far.sent
    far.send(2 * LINE, 2500)
    assert far.queue.found
    assert (far.sent - before) / 1000 == pytest.approx(LINE - others, rel=0.03)


def test_a_line_that_becomes_half_as_fast_is_used_on() -> None:
    """Of what is sent at its first rate half waits, which is what others that take all of the line would do. It brings
    half, though, and of that three quarters are sent at least."""
    far = Far()
    far.send(2 * LINE, 1500)
    far.line = LINE / 2
    far.send(2 * LINE, 1500 + 1.5 * ROUND_S)  # of the slower line half a round trip has been heard of
    paces = []
    while far.at_s < 1500 + 4 * ROUND_S:
        far.send(2 * LINE, far.at_s + 2)
        paces.append(far.pace)
    # A quarter of what is available is the least pace, while what stands is served.
    assert min(paces) > 0.25 * 0.7 * far.line
    far.send(2 * LINE, 2500)
    before = far.sent
    far.send(2 * LINE, 3500)
    assert (far.sent - before) / 1000 == pytest.approx(far.line, rel=0.05)


def test_what_a_line_brought_is_available_but_for_a_quarter() -> None:
    """Reports of one that brings 500 bytes a second, once it was known to bring 1,000: of 1,000 sent the wait grows by
    a second each, and r - C dW / ds is none."""
    queue = coding.FarQueue()
    sent_s, wait_s = 0.0, 40.0

    def hear(rate: float, line: float) -> float:
        nonlocal sent_s, wait_s
        sent_s, wait_s = sent_s + 10, wait_s + 10 * (rate / line - 1)
        queue.hear(ns(sent_s), ns(wait_s), 10 * rate)
        # With nothing ahead and no time to wait the pace is what is available.
        return float(queue.pace(ns(sent_s), -1e9, SHOWN / 1e9, ns(ROUND_S), 0) * 1e9)

    before = [hear(1.1 * LINE, LINE) for _ in range(8)][-1]
    assert before == pytest.approx(LINE, rel=0.02)
    assert hear(LINE, LINE / 2) == pytest.approx((before + 0.75 * LINE / 2) / 2, rel=0.01)


def test_who_has_all_of_the_line_keeps_an_eighth_of_half_a_round_trip_there_in_the_end() -> None:
    far = Far()
    far.send(2 * LINE, 4000)
    assert far.standing / LINE == pytest.approx(ROUND_S / 16, rel=0.1)


def test_it_is_kept_shorter_where_layers_have_little_time() -> None:
    far = Far()
    far.send(2 * LINE, 4000, spare_s=40)
    # An eighth of half the spare time.
    assert far.standing / LINE == pytest.approx(40 / 16, rel=0.2)


def test_what_is_sent_now_waits_behind_what_was_sent_before() -> None:
    far = Far()
    far.send(2 * LINE, 2 * ROUND_S)
    # Reports of the first seconds have come; what stands there by now nobody has told.
    assert far.queue.ahead / 1e9 == pytest.approx(far.standing / LINE, rel=0.25)


def test_a_wait_that_only_falls_is_no_line_that_is_found() -> None:
    queue = coding.FarQueue()
    for step in range(20):
        queue.hear(ns(10.0 * step), ns(60.0 - 2 * step), 5_000.0)
        assert queue.pace(ns(10.0 * step + 100), 5e4, SHOWN / 1e9, ns(ROUND_S), ns(1e6)) == float("inf")
    assert queue.ahead == ns(60.0 - 2 * 19)
    assert not queue.found


def test_what_stands_there_is_served_while_nothing_is_sent() -> None:
    queue = coding.FarQueue()
    for step in range(3):
        queue.hear(ns(10.0 * step), ns(60.0), 5_000.0)
        queue.pace(ns(10.0 * step + 100), 5e4, SHOWN / 1e9, ns(ROUND_S), ns(1e6))
    assert queue.ahead == ns(60.0)
    queue.pause(ns(120.0), ns(130.0))
    assert queue.ahead == ns(50.0)
    queue.pause(ns(120.0), ns(140.0))
    assert queue.ahead == ns(40.0)
    queue.pace(ns(140.0), 0.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6))
    assert queue.ahead == ns(40.0)  # looked at again, it is as short
    # A report of what left before the pause tells of the same queue; one of what left after it, of another.
    queue.hear(ns(120.0), ns(58.0), 5_000.0)
    queue.pace(ns(141.0), 0.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6))
    assert queue.ahead == ns(38.0)
    queue.hear(ns(140.0), ns(58.0), 5_000.0)  # the first: with it the pause ended
    queue.pace(ns(141.0), 0.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6))
    assert queue.ahead == ns(58.0)
    queue.hear(ns(141.0), ns(58.0), 5_000.0)
    queue.pace(ns(242.0), 0.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6))
    assert queue.ahead == ns(58.0)
    queue.pause(ns(250.0), ns(900.0))
    assert queue.ahead == 0


def test_it_is_full_at_three_quarters_of_the_longest_wait_once_it_was_found() -> None:
    far = Far()
    far.send(2 * LINE, 140)
    assert far.queue.found
    assert far.queue.full
    far.send(0.1 * LINE, 500)
    assert not far.queue.full


def test_a_rest_lets_it_carry_more() -> None:
    far = Far()
    far.send(2 * LINE, 2500)
    before = far.pace
    far.queue.rest(1.25)
    far.send(2 * LINE, 2502)
    assert far.pace > 1.1 * before


def found_queue(shown: float, shared: bool = False) -> tuple[coding.FarQueue, float]:
    """Packets of ten seconds at 2,000 bytes a second came in over 20 s, so that 1,000 are available; and the pace."""
    queue = coding.FarQueue(shared)
    queue.hear(ns(0.0), ns(50.0), 5_000.0)
    queue.hear(ns(10.0), ns(60.0), 20_000.0)
    return queue, queue.pace(ns(20.0), 60_000.0, shown / 1e9, ns(ROUND_S), ns(1e6)) * 1e9


@pytest.mark.parametrize("sent_s", [5.0, 10.0])
def test_a_report_of_an_older_packet_or_the_same_says_nothing(sent_s: float) -> None:
    queue, pace = found_queue(SHOWN)
    # The wait is 60 s and (60,000 - 1,000 x 10) / 1,000 more, and 6.25 s are aimed at: a quarter of what is available.
    assert pace == pytest.approx(250)
    queue.hear(ns(sent_s), ns(0.0), 0.0)
    assert queue.pace(ns(20.0), 60_000.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6)) * 1e9 == pace
    assert queue.ahead == ns(110.0)


def test_bytes_that_an_older_packet_tells_of_arrived_all_the_same() -> None:
    queue = coding.FarQueue()
    queue.hear(ns(0.0), ns(50.0), 5_000.0)
    queue.hear(ns(10.0), ns(60.0), 8_000.0)
    queue.hear(ns(5.0), ns(0.0), 12_000.0)
    pace = queue.pace(ns(20.0), 60_000.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6)) * 1e9
    assert pace == pytest.approx(250)  # as in found_queue()


def test_a_line_is_what_it_showed_less_a_thirty_second_a_round_trip() -> None:
    """1,000 bytes a second at first. Others leave half of it, and 20 s stand all the time, for eight round trips."""
    queue, _ = found_queue(SHOWN)
    steps = 80
    for step in range(steps):
        queue.hear(ns(20.0 + 10 * step), ns(20.0), 5_000.0)
        now = ns(20.0 + 10 * step)
        pace = queue.pace(now, 0.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6)) * 1e9
    line = LINE * (1 - 10 / ROUND_S / 32) ** steps
    target = ROUND_S / 2 * (1 - 7 / 8 * (500 / line) ** 2)
    assert 775 < line < 785 and target > 20
    # The less of the line a sender has the less it corrects.
    assert pace == pytest.approx(500 + 500**2 / line * (target - 20) / (ROUND_S / 2))


def test_what_is_available_rises_by_a_quarter_of_the_line_from_look_to_look() -> None:
    queue, _ = found_queue(SHOWN)
    for step in range(30):  # as much stands as ever, and hardly anything comes through
        queue.hear(ns(20.0 + step), ns(61.0 + 3 * step), 1.0)
        queue.pace(ns(30.0 + step), 1e5, SHOWN / 1e9, ns(ROUND_S), ns(1e6))
    # By the next report 1,000 bytes a second leave the queue. Far too much is ahead: a quarter of what is available.
    queue.hear(ns(59.0), ns(148.0), 10_000.0)
    pace = queue.pace(ns(70.0), 1e6, SHOWN / 1e9, ns(ROUND_S), ns(1e6)) * 1e9
    assert pace == pytest.approx(LINE / 4 / 4, rel=0.02)


def test_what_was_lost_before_a_contact_counts_for_no_look_behind_it() -> None:
    queue = coding.FarQueue()
    for begins_s in (0.0, 100.0, 200.0):
        queue.skip()
        queue.lose(1e6)
        queue.hear(ns(begins_s), ns(0.3), 5_000.0)
        queue.hear(ns(begins_s + 10), ns(0.35), 10_000.0)
        queue.pace(ns(begins_s + 10), 5_000.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6))
    assert not queue.found, "no shallow queue that drops"


def test_packets_that_waited_for_a_contact_by_the_plan_say_nothing() -> None:
    queue, pace = found_queue(SHOWN)
    queue.skip()
    assert queue.pace(ns(20.0), 60_000.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6)) * 1e9 == pace
    # The first behind them begins anew, and the next tells how the wait grew since.
    queue.hear(ns(500.0), ns(60.0), 9e9)
    queue.pace(ns(510.0), 0.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6))
    queue.hear(ns(510.0), ns(60.0), 10_000.0)
    # 1,000 bytes a second came in while the wait stayed as it was: as much is available as before.
    # 60 s are ahead, 6.25 are aimed at.
    expected = max(1_000 + 1_000 * (6.25 - 60) / (ROUND_S / 2), 250)
    assert queue.pace(ns(510.0), 0.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6)) * 1e9 == pytest.approx(expected)


def test_what_passes_without_a_queue_is_available() -> None:
    queue, _ = found_queue(SHOWN)
    queue.hear(ns(20.0), ns(0.0), 15_000.0)
    # 1,500 bytes a second; nothing is ahead of what is sent now; 50 s / 8 in half a round trip: an eighth more.
    pace = queue.pace(ns(30.0), 15_000.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6)) * 1e9
    assert pace == pytest.approx(1500 * 1.125)


def test_more_than_the_own_line_carries_is_no_limit() -> None:
    queue, pace = found_queue(900.0)
    assert pace == float("inf")
    assert queue.found
    queue, pace = found_queue(1100.0)
    assert pace == pytest.approx(250)
    shared = coding.FarQueue(shared=True)
    for sent_s, wait_s in ((0.0, 0.0), (10.0, 50.0), (20.0, 60.0)):
        shared.hear(ns(sent_s), ns(wait_s), 20_000.0)
        assert shared.pace(ns(30.0), 60_000.0, 900 / 1e9, ns(ROUND_S), ns(1e6)) == float("inf")
    assert shared.found


@pytest.mark.parametrize("shared", [False, True])
def test_where_others_share_the_own_line_a_limit_is_kept_for_a_round_trip(shared: bool) -> None:
    """Of 100 s; what they leave may be less than the limit meanwhile."""
    queue, _ = found_queue(SHOWN, shared)
    if not shared:
        queue.hear(ns(60), ns(60.0), 50_000.0)
        assert queue.pace(ns(60), 60_000.0, 900 / 1e9, ns(ROUND_S), ns(1e6)) == float("inf")
        return
    before = 10
    for at, shown, limited in (
        (60, 900, True),
        (109, 900, True),
        (120, SHOWN, True),
        (219, 900, True),
        (231, 900, False),
    ):
        queue.hear(ns(at), ns(60.0), 1_000.0 * (at - before))
        before = at
        pace = queue.pace(ns(at), 60_000.0, shown / 1e9, ns(ROUND_S), ns(1e6)) * 1e9
        assert (pace < 2_000) is limited, at


def shallow(*lost: float, wait_s: float = 0.3) -> bool:
    """Whether a wait of a 250th of a round trip and more is found, where so much was lost from look to look."""
    queue = coding.FarQueue()
    queue.hear(ns(0.0), ns(wait_s), 5_000.0)
    for step, share in enumerate((*lost, 0.0), start=1):
        queue.hear(ns(10.0 * step), ns(wait_s + 0.05 * step), 10_000.0)
        queue.lose(10_000.0 * share / (1 - share))
        queue.pace(ns(10.0 * step + 10), 5_000.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6))
    return bool(queue.found)


@pytest.mark.parametrize(
    ("lost", "found"),
    [((), False), ((0.06, 0.0, 0.06), False), ((0.049, 0.049), False), ((0.06, 0.06), True)],
)
def test_a_shallow_queue_stands_once_more_than_a_twentieth_was_lost_twice_in_a_row(
    lost: tuple[float, ...], found: bool
) -> None:
    assert shallow(*lost) is found


def test_a_wait_of_less_than_a_512th_of_a_round_trip_stands_nowhere() -> None:
    assert not shallow(0.06, 0.06, wait_s=0.05)


def available_at(wait_s: float, packet: float, lost: float = 0.0) -> float:
    """What is available by the look at so long a wait, in which 1,500 bytes a second came in; before it 60 s stood for
    two looks, of which so much was lost, and 1,000 bytes a second went on."""
    queue, _ = found_queue(SHOWN)
    queue.set_packet(packet)
    for at_s in (20.0, 30.0):
        queue.hear(ns(at_s), ns(60.0), 10_000.0)
        queue.lose(10_000.0 * lost / (1 - lost))
        queue.pace(ns(at_s), 60_000.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6))
    queue.hear(ns(40.0), ns(wait_s), 15_000.0)
    # Far too much is ahead: the pace is a quarter of what is available.
    return float(4e9 * queue.pace(ns(50.0), 1e6, SHOWN / 1e9, ns(ROUND_S), ns(1e6)))


PASSED, STOOD = 1_500, (1_000 + (1_000 + LINE * (1 - 10 / ROUND_S / 32) / 2)) / 2
"""Where no queue stands all that comes in is available. Where one stands it is the mean of what was before, and of what
the look shows: half of the line more than that at most, which is a little less than it was ten seconds ago."""


@pytest.mark.parametrize(
    ("packet", "lost", "longest_s"),
    [
        (5_000.0, 0.0, 5.0),  # a thirty-second of a round trip is less
        (1_000.0, 0.0, ROUND_S / 32),  # here it is more
        (5_000.0, 0.06, 5.0),
        (1_000.0, 0.06, 1.0),  # a 512th of a round trip is less
        (100.0, 0.06, ROUND_S / 512),
    ],
)
def test_what_the_line_takes_for_one_packet_is_no_queue_that_stands(
    packet: float, lost: float, longest_s: float
) -> None:
    """1,000 bytes a second. Where a twentieth and more was lost twice in a row a queue is shallow."""
    assert available_at(0.97 * longest_s, packet, lost) == pytest.approx(PASSED)
    assert available_at(1.03 * longest_s, packet, lost) == pytest.approx(STOOD)


def test_nobody_knows_what_a_packet_takes_before_a_line_is_found() -> None:
    queue = coding.FarQueue()
    queue.set_packet(1e9)
    queue.hear(ns(0.0), ns(50.0), 5_000.0)
    queue.hear(ns(10.0), ns(60.0), 20_000.0)
    queue.pace(ns(20.0), 60_000.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6))
    assert queue.found


# ----------------------------------------------------------------- where others keep it full


def taken_by_others(steps: int, lost_share: float = 0.0, *, creeps_s: float = 0.0) -> list[float]:
    """The paces of one that found 1,000 bytes a second: then the wait grows by 3 s in ten a second, and hardly anything
    comes through, for 30 s; then it stays, or creeps. Looked at every 5 s."""
    queue, _ = found_queue(SHOWN)
    paces: list[float] = []
    wait_s = 61.0
    for step in range(steps):
        wait_s += 15.0 if step < 6 else creeps_s
        queue.hear(ns(15.0 + 5 * step), ns(wait_s), 5.0)
        if paces and paces[-1] == pytest.approx(LINE / 4):
            queue.lose(5.0 * lost_share / (1 - lost_share))
        paces.append(queue.pace(ns(20.0 + 5 * step), 1e6, SHOWN / 1e9, ns(ROUND_S), ns(1e6)) * 1e9)
    return paces


def test_a_queue_that_others_keep_full_is_not_left_to_them() -> None:
    # It is longest at 45 s + 151 s: two round trips later it has not grown. A sixteenth of 1,000 was left long before.
    paces = taken_by_others(90)
    held = next(step for step, pace in enumerate(paces) if step > 20 and pace > LINE / 16)
    assert 20 + 5 * held == pytest.approx(45 + 151 + 2 * ROUND_S, abs=5)
    assert paces[held:] == pytest.approx([LINE / 4] * len(paces[held:]))
    assert max(paces[20:held]) < LINE / 100


def test_what_lengthens_the_longest_wait_by_less_than_a_thirty_second_is_no_growth() -> None:
    # Of 151 s 4.7 are a thirty-second: 84 reports of 0.05 s more each are 4.2.
    paces = taken_by_others(90, creeps_s=0.05)
    held = next(step for step, pace in enumerate(paces) if step > 20 and pace > LINE / 16)
    assert 20 + 5 * held == pytest.approx(45 + 151 + 2 * ROUND_S, abs=5)


def test_those_who_do_not_give_way_are_yielded_to_for_ever_longer() -> None:
    assert taken_by_others(300, 0.14)[-1] == pytest.approx(LINE / 4)  # 3/20 are not lost
    paces = taken_by_others(1200, 0.2)
    steps = [step for step, pace in enumerate(paces) if step > 20 and pace == pytest.approx(LINE / 4)]
    yields = [5 * (after - before) / ROUND_S for before, after in pairwise(steps) if after - before > 1]
    # A round trip until so much of it was lost, which is 3/20 of a mean that rises to a fifth.
    assert yields[:4] == pytest.approx([1, 2, 4, 8], abs=0.2)


class Yielding:
    """One that found 1,000 bytes a second, and others who take all of it."""

    def __init__(self) -> None:
        self.queue, _ = found_queue(SHOWN)
        self.steps, self.wait_s, self.held = 0, 61.0, False

    def look(self, lost_share: float) -> None:
        """Five seconds, and what is lost meanwhile while it holds its rate."""
        self.wait_s += 15.0 if self.steps < 6 else 0.0
        self.queue.hear(ns(15.0 + 5 * self.steps), ns(self.wait_s), 5.0)
        if self.held:
            self.queue.lose(5.0 * lost_share / (1 - lost_share))
        now = ns(20.0 + 5 * self.steps)
        pace = self.queue.pace(now, 1e6, SHOWN / 1e9, ns(ROUND_S), ns(1e6)) * 1e9
        self.held = self.steps > 20 and pace == pytest.approx(LINE / 4)
        self.steps += 1

    def hold(self, rounds: float) -> None:
        for _ in range(round(rounds * ROUND_S / 5)):
            self.look(0.0)
            assert self.held or self.steps < 100

    def yields(self) -> float:
        """For how many round trips, the next time that a fifth is lost."""
        while self.held:
            self.look(0.2)
        begins = self.steps
        while not self.held:
            self.look(0.2)
        return 5 * (self.steps - begins) / ROUND_S


def test_one_yields_for_64_round_trips_at_most() -> None:
    sender = Yielding()
    sender.hold(6)
    assert [sender.yields() for _ in range(8)] == pytest.approx([1, 2, 4, 8, 16, 32, 64, 64], abs=0.2)


def test_one_yields_for_as_long_again_unless_it_went_without_for_four_times_that() -> None:
    sender = Yielding()
    sender.hold(6)
    assert [sender.yields() for _ in range(4)][-1] == pytest.approx(8, abs=0.2)
    sender.hold(20)  # less than 4 x 8
    assert sender.yields() == pytest.approx(16, abs=0.2)
    sender.hold(65)
    assert sender.yields() == pytest.approx(1, abs=0.2)


def test_what_was_left_to_others_is_taken_again_once_little_stands() -> None:
    queue, pace = found_queue(SHOWN)
    assert pace == pytest.approx(LINE / 4)
    for step in range(30):  # as much stands as ever, and hardly anything comes through
        queue.hear(ns(20.0 + step), ns(61.0 + 3 * step), 1.0)
        pace = queue.pace(ns(30.0 + step), 1e5, SHOWN / 1e9, ns(ROUND_S), ns(1e6)) * 1e9
    assert pace < LINE / 100
    queue.hear(ns(60.0), ns(0.0), 1.0)
    assert queue.pace(ns(70.0), 0.0, SHOWN / 1e9, ns(ROUND_S), ns(1e6)) * 1e9 == pytest.approx(LINE / 4)


# ----------------------------------------------------------------- before a gap in the own line's contacts


def before_gap(until_s: float, gap_s: float, *, under_way: float = 10_000.0, spare_s: float = 1e6) -> float:
    """The pace where 60 s stand, the longest ever, and 1,000 bytes a second are available: ahead are 60 s and what is
    under way less 10,000 bytes."""
    queue, _ = found_queue(SHOWN)
    now, shown, round_trip = ns(20.0), SHOWN / 1e9, ns(ROUND_S)
    return 1e9 * queue.pace(now, under_way, shown, round_trip, ns(spare_s), ns(until_s), ns(gap_s))


def test_what_stands_there_is_to_last_for_a_gap() -> None:
    # 6.25 s are aimed at without a gap: 53.75 s less than stand, in half a round trip. A quarter of 1,000 at least.
    assert before_gap(40, 0) == pytest.approx(250)
    # 6.25 + 56 s by the time that the gap begins.
    assert before_gap(40, 56) == pytest.approx(1000 + 1000 * (62.25 - 60) / 40)
    # Of the longest wait twice as much at most: 120 s.
    assert before_gap(50, 114) == before_gap(50, 1000) == pytest.approx(1000 + 1000 * 60 / 50)
    assert before_gap(50, 113) < before_gap(50, 114)
    # Half of what a layer can wait: 65 s.
    assert before_gap(40, 100, spare_s=130) == pytest.approx(1000 + 1000 * 5 / 40)
    # A gap does not make it less than without: 6.25 s.
    assert before_gap(40, 100, spare_s=4) == before_gap(40, 0, spare_s=4)


def test_it_is_to_stand_when_the_gap_begins_and_the_own_line_is_the_bound() -> None:
    assert before_gap(500, 68) == pytest.approx(1000 + 1000 * 14.25 / 50)  # half a round trip at most
    assert before_gap(1, 68) == before_gap(6.25, 68) == pytest.approx(1000 + 1000 * 14.25 / 6.25)
    assert before_gap(1, 100) == pytest.approx(SHOWN)
