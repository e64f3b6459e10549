"""The receiving end by hand: what is acknowledged when, which blocks an ACK names, and who waits for whom.

What Linux does is counted on its own packets in test_receiver.py; here are its rules one by one.
"""

from __future__ import annotations

import math

import pytest

from dstcc.engine import NEVER_NS, TcpConstants, Transport
from dstcc.engine._testing import parts

from .net import MSS

MS = 1_000_000


class Receiver:
    """One end of plain TCP unless there are options, RTT 1 s; segment k is sent at k ms unless said, and answered when
    the receiver wants to."""

    def __init__(
        self, window_segments: float = 0, rtt_ms: int = 1000, options: int = 0, **constants: float | str
    ) -> None:
        transport = Transport(
            "newreno",
            "minrtt",
            option_bytes=options,
            constants=TcpConstants(**constants),  # type: ignore[arg-type]
        )
        self.engine = parts.Receiver(transport, window_segments, rtt_ms * MS)
        self.next = 0

    def take(
        self, number: int, sent_ms: int | None = None, now_ms: int = 1000, size: int = MSS
    ) -> tuple[bool, bool]:
        sent = number if sent_ms is None else sent_ms
        return self.engine.segment(now_ms * MS, number, sent * MS, size)

    def in_order(self, count: int, now_ms: int = 1000) -> list[int]:
        """So many segments, each answered if the receiver wants to; how many each ACK covered."""
        covered, pending = [], 0
        for _ in range(count):
            pending += 1
            if self.take(self.next, now_ms=now_ms)[1]:
                self.engine.make_ack()
                covered.append(pending)
                pending = 0
            self.next += 1
        return covered

    def waits_ms(self, now_ms: int, size: int = MSS) -> float:
        """How long a segment alone would wait for a second one; it is answered then."""
        assert self.take(self.next, now_ms=now_ms, size=size) == (True, False)
        self.next += 1
        wait = self.engine.ack_deadline / MS - now_ms
        self.engine.make_ack()
        return float(wait)

    def miss(self, now_ms: int) -> None:
        """The second segment does not come; the timer answers the first."""
        self.take(self.next, now_ms=now_ms)
        self.next += 1
        self.engine.expire()
        self.engine.make_ack()


def established(options: int = 0, **more: float | str) -> Receiver:
    """Past the first ACKs, nothing pending."""
    receiver = Receiver(options=options, **more)  # type: ignore[arg-type]
    receiver.in_order(200)
    receiver.engine.make_ack()
    return receiver


# Ticks are 4 ms; the wait is 10 of them at first, gaps of up to 5 are short ones (tcp_event_data_recv).
def test_the_wait_follows_the_gaps_between_segments():
    receiver = established()
    assert receiver.waits_ms(1036) == 4 * (10 // 2 + 9)  # a gap of 9 ticks is below the wait
    assert receiver.waits_ms(1084) == 4 * (14 // 2 + 12)
    assert receiver.waits_ms(1160) == 4 * 19  # one of 19 is not
    assert receiver.waits_ms(1184) == 4 * (19 // 2 + 6)
    assert receiver.waits_ms(1204) == 4 * (15 // 2 + 5)  # one of 5, which counts as 5 like all below
    assert receiver.waits_ms(1204) == 4 * (12 // 2 + 5)
    assert receiver.waits_ms(3000) == 4 * 11


def test_gaps_are_counted_in_ticks_of_the_clock():
    # From the last moment of a tick to the first of the sixth after it, and the other way round: 6 ticks and 5.
    early, late = established(), established()
    early.waits_ms(1003)
    assert early.waits_ms(1024) == 4 * (10 // 2 + 6)
    late.waits_ms(1004)
    assert late.waits_ms(1027) == 4 * (10 // 2 + 5)


@pytest.mark.parametrize(("receiver", "most"), [("linux-6.12", 196), ("linux-6.1", 200)])
def test_a_wait_in_vain_doubles_the_next_up_to_200_ms_or_a_tick_below_the_least_timeout(receiver, most):
    receiver = established(receiver=receiver)
    seen = []
    for k in range(5):
        receiver.miss(1400 + 800 * k)
        seen.append(receiver.waits_ms(1800 + 800 * k))
    assert seen == [80, 160, most, most, most]


def test_a_receiver_of_6_12_forgets_how_often_it_waited_in_vain():
    # Its wait doubles to 50 ticks at most, 6.1's to the timeout: 640 ticks, of which a gap of 30 leaves 350.
    for receiver, most, next_ms in (("linux-6.12", 196, 4 * (50 // 2 + 12)), ("linux-6.1", 200, 200)):
        end = established(receiver=receiver)
        for k in range(6):
            end.miss(1400 + 800 * k)
        assert end.waits_ms(5400 + 120) == most
        assert end.waits_ms(5520 + 48) == next_ms


def test_a_receiver_of_6_12_halves_its_longest_wait_after_a_short_gap():
    # 10 ticks doubled six times are 50, the bound, and not 640: half of them and the gap of 12 are 37, of 4 ms each.
    end = established()
    for k in range(6):
        end.miss(1400 + 800 * k)
    assert end.waits_ms(5400 + 48) == 4 * (50 // 2 + 12)


@pytest.mark.parametrize(("least_s", "most_ms"), [(0.1, 96), (1.0, 200), (0.008, 40)])
def test_a_receiver_of_6_12_answers_before_the_least_timeout(least_s, most_ms):
    receiver = established(rto_min_s=least_s)
    for k in range(4):
        receiver.miss(1400 + 800 * k)
    assert receiver.waits_ms(5000) == most_ms


def test_an_ack_held_back_out_of_order_says_nothing_of_the_wait():
    # tcp_delack_timer_handler() and tcp_compressed_ack_kick(): the one doubles the wait of 40 ms, the other does not.
    receiver = established()
    receiver.take(200)
    receiver.engine.expire()
    receiver.engine.make_ack()
    receiver.next = 201
    assert receiver.waits_ms(1200) == 80
    receiver = established()
    for number in range(201, 205):
        now = receiver.take(number)[1]
        if now:
            receiver.engine.make_ack()
    assert not now
    receiver.engine.expire()
    receiver.engine.make_ack()
    receiver.take(200)
    receiver.engine.make_ack()
    receiver.next = 205
    assert receiver.waits_ms(1200) == 40


@pytest.mark.parametrize(("rtt_ms", "most"), [(1000, 196), (100, 100), (98, 100), (10, 40)])
def test_the_wait_is_no_longer_than_the_handshakes_round_trip(rtt_ms, most):
    # In whole ticks, and 40 ms at least.
    receiver = established(rtt_ms=rtt_ms)
    for k in range(4):
        receiver.miss(1200 + 200 * k)
    assert receiver.waits_ms(2000) == most


@pytest.mark.parametrize(
    ("least_s", "most_s", "wait_ms"), [(0.04, 0.08, 80), (0.4, 0.2, 400), (0.0001, 0.2, 8)]
)
def test_the_bounds_of_the_wait_can_be_set(least_s, most_s, wait_ms):
    receiver = established(delayed_ack_s=least_s, delayed_ack_max_s=most_s)
    receiver.miss(1000)
    if wait_ms > 8:
        receiver.miss(1500)
        receiver.miss(2000)
    assert receiver.waits_ms(2900) == wait_ms


def test_a_wait_is_no_reason_to_take_a_longer_silence_for_a_gap():
    # 10 ticks, doubled seven times, would be 1,280; the sender's timeout is three round trips, 750 ticks. A silence of
    # 751 is therefore one.
    receiver = established()
    for k in range(7):
        receiver.miss(1400 + 400 * k)
    assert receiver.in_order(20, now_ms=3800 + 3004)[:17] == [1] * 16 + [2]
    # Nor does a gap of 749 after it make the wait longer.
    for k in range(7):
        receiver.miss(7200 + 400 * k)
    assert receiver.waits_ms(9600 + 2996) == 196
    assert receiver.in_order(20, now_ms=9600 + 2996 + 3004)[:17] == [1] * 16 + [2]


def test_after_quick_acknowledgements_the_wait_is_the_least_again():
    receiver = established()
    receiver.miss(1400)
    receiver.miss(1800)
    for k in range(16):
        assert receiver.take(receiver.next, now_ms=5000 + 400 * k)[1]
        receiver.engine.make_ack()
        receiver.next += 1
    assert receiver.waits_ms(12_000) == 40


def test_a_segment_that_was_there_makes_the_wait_the_least_again():
    receiver = established(quick_acks=0)
    receiver.miss(1400)
    receiver.miss(1800)
    assert receiver.waits_ms(2200) == 160
    receiver.take(100, now_ms=2300)
    receiver.engine.make_ack()
    assert receiver.waits_ms(2600) == 40


def test_segments_out_of_order_that_share_an_acknowledgement_miss_nothing():
    receiver = established()
    for number in range(201, 205):
        receiver.take(number)
        if number < 204:
            receiver.engine.make_ack()
    receiver.engine.expire()
    receiver.engine.make_ack()
    assert receiver.take(200) == (True, True)
    receiver.engine.make_ack()
    receiver.next = 205
    assert receiver.waits_ms(1100) == 40


def test_the_first_sixteen_are_quick_and_then_pairs():
    assert Receiver().in_order(30) == [1] * 16 + [2] * 7


@pytest.mark.parametrize("window_segments", [20, 21, 100, 99.9])
def test_each_segment_that_lets_the_window_grow_is_answered(window_segments):
    # quick |= 1 with each of them, the last of which may have less left; what is left of an odd count is one more.
    seen = Receiver(window_segments).in_order(math.ceil(window_segments) + 30)
    window_segments = math.ceil(window_segments)
    assert seen[:window_segments] == [1] * window_segments
    assert seen[-5:] == [2] * 5
    assert len(seen) - window_segments == 16 + 7  # 17, less the last that grew, then 14 in pairs


def test_what_segments_out_of_order_leave_of_a_step_is_the_rest_of_it_later():
    # A full segment in memory takes 2304 * 162 / 256 = 1458 bytes of a window, a step is 2920. Three in order and the
    # first six behind a hole grow by whole steps, the seventh of those by the 500 bytes that the six before it leave.
    receiver = Receiver((9 * 2920 + 500 + 6 * 1458) / 2920)
    assert receiver.in_order(3) == [1] * 3
    for number in range(4, 4 + 7 + 16):  # and sixteen use up the quick ACKs
        assert receiver.take(number)[1]
        receiver.engine.make_ack()
    assert receiver.take(3) == (True, True)
    receiver.engine.make_ack()
    for number in range(27, 30):  # each alone leaves 1458 of the 6 * 1458, and takes a step at most
        assert receiver.take(number) == (True, True)
        receiver.engine.make_ack()
    assert receiver.take(30) == (True, False)


@pytest.mark.parametrize(("silence_ms", "quick"), [(3000, 0), (3004, 16)])
def test_after_a_silence_of_three_round_trips_sixteen_are_quick(silence_ms, quick):
    receiver = established()
    receiver.next = 200
    assert receiver.in_order(40, now_ms=1000 + silence_ms)[: quick + 3] == [1] * quick + [2] * 3


def test_a_short_segment_is_answered_at_once():
    receiver = established()
    assert receiver.take(200, size=MSS - 1) == (True, True)
    receiver.engine.make_ack()
    assert receiver.take(201) == (True, False)


def test_the_end_of_a_write_waits_to_be_read():
    # PSH on a full segment: tcp_measure_rcv_mss; mptcp_cleanup_rbuf acknowledges.
    receiver = established()
    assert receiver.engine.segment(1000 * MS, 200, 200 * MS, MSS, pushed=True) == (True, False)
    assert receiver.engine.pushed
    receiver.engine.make_ack()
    assert receiver.take(201) == (True, False)
    assert not receiver.engine.pushed


def test_segments_out_of_order_three_at_once_and_then_44_in_a_millisecond_and_its_slack():
    receiver = established()
    assert receiver.take(200, size=MSS)[1] is False
    receiver.engine.make_ack()
    answered: list[int] = []
    for number in range(202, 202 + 60):
        now = receiver.take(number)[1]
        if now:
            receiver.engine.make_ack()
        elif len(answered) == 3:
            assert receiver.engine.ack_deadline == 1001.1 * MS
        answered.append(now)
    assert answered == [True] * 3 + [False] * 44 + [True] + [False] * 12
    # Another hole has three of its own.
    assert receiver.take(201)[1]
    receiver.engine.make_ack()
    assert [receiver.take(number)[1] for number in range(270, 274)] == [True] * 3 + [False]


def test_on_a_short_path_the_compression_lasts_a_twentieth_of_it():
    receiver = Receiver(rtt_ms=10)
    receiver.in_order(200)
    receiver.engine.make_ack()
    for number in range(201, 205):
        receiver.take(number)
    assert receiver.engine.ack_deadline == 1000.6 * MS  # and the slack


def test_a_segment_that_was_there_makes_sixteen_quick():
    receiver = established()
    receiver.next = 200
    receiver.take(100)
    receiver.engine.make_ack()
    assert receiver.in_order(20) == [1] * 15 + [2] * 2  # its own answer was the first of them


def test_every_second_segment_is_answered_and_the_first_waits_for_it():
    # RFC 1122 section 4.2.3.2: an ACK for at least every second full segment, and within the delay.
    receiver = established()
    assert receiver.take(200, now_ms=1500) == (True, False)
    assert receiver.engine.ack_deadline == (1500 + 40) * MS
    assert receiver.take(201) == (True, True)
    cumulative, echo, duplicate, blocks = receiver.engine.make_ack()
    # RFC 7323 section 4.2: a delayed ACK echoes the earliest segment that it answers.
    assert (cumulative, echo, duplicate, blocks) == (202, 200 * MS, False, [])
    assert receiver.engine.ack_deadline == NEVER_NS


def test_a_segment_beyond_a_hole_is_answered_at_once_with_its_block():
    receiver = established()
    assert receiver.take(201) == (True, True)
    assert receiver.engine.make_ack() == (200, 201 * MS, False, [(201, 202)])
    assert receiver.take(202) == (True, True)
    assert receiver.engine.make_ack() == (200, 202 * MS, False, [(201, 203)])


def test_the_newest_block_comes_first_and_three_are_named():
    # RFC 2018 section 4.
    receiver = established()
    for number in (202, 204, 206, 208):
        receiver.take(number)
        receiver.engine.make_ack()
    receiver.take(205)  # joins the two around it
    assert receiver.engine.make_ack()[3] == [(204, 207), (208, 209), (202, 203)]
    receiver.take(202 + 1)
    assert receiver.engine.make_ack()[3] == [(202, 207), (208, 209)]


def test_an_ack_of_mptcp_has_room_for_one_block():
    # 40 bytes of options: 12 of timestamps, 12 of MPTCP's acknowledgement, 4 and 8 a block (RFC 8684, RFC 2018).
    receiver = established(options=24)
    for number in (202, 204, 206):
        receiver.take(number)
        blocks = receiver.engine.make_ack()[3]
        assert blocks == [(number, number + 1)]


def test_a_duplicate_is_named_beside_the_block_that_has_it():
    # RFC 2883. Alone beyond a hole, as MPTCP's, it is a block like others to the sender (tcp_check_dsack).
    plain, receiver = established(), established(options=24)
    for number in (202, 204, 206, 204):
        for one in (plain, receiver):
            one.take(number)
        ack, short = plain.engine.make_ack(), receiver.engine.make_ack()
    assert ack[2:] == (True, [(204, 205), (206, 207)])
    assert short[2:] == (False, [(204, 205)])
    receiver.take(100)
    assert receiver.engine.make_ack()[2:] == (True, [])


def test_a_duplicate_beyond_a_hole_is_answered_as_any_segment_there():
    receiver = established()
    for number in (202, 203, 204):  # the three at once
        assert receiver.take(number) == (True, True)
        receiver.engine.make_ack()
    assert receiver.take(203) == (False, False)
    assert receiver.take(205) == (True, False)
    assert receiver.engine.make_ack()[2:] == (True, [(202, 206)])


def test_the_delayed_acks_timer_lets_go_what_was_held_back():
    # No ACK stops it (tcp_delack_timer_handler). Ticks are 4 ms: armed at 1,500 ms for ten of them, it goes off with
    # the next. Held back is for 1.1 ms.
    receiver = established()
    receiver.take(200, now_ms=1500)
    receiver.take(201, now_ms=1500)
    receiver.engine.make_ack()
    for now_ms, until_ms in ((1543, 1544), (1544, 1545.1)):
        for number in range(203, 207):
            receiver.take(1000 * now_ms + number, now_ms=now_ms)
            if number < 206:
                receiver.engine.make_ack()
        assert receiver.engine.ack_deadline == until_ms * MS
        receiver.engine.make_ack()


def test_what_was_held_back_is_said_before_a_third_block_begins():
    # Linux's tcp_sack_compress_send_ack(): else the ACK's newest block would be all that is heard of the others.
    receiver = established(options=24)
    for number in (202, 203, 204):  # the three at once
        receiver.take(number)
        receiver.engine.make_ack()
    assert not receiver.engine.speaks_first(205)
    assert receiver.take(205) == (True, False)
    assert receiver.engine.ack_deadline < NEVER_NS
    assert not receiver.engine.speaks_first(207)  # a second block can wait
    assert receiver.take(207) == (True, False)
    assert not receiver.engine.speaks_first(208)
    assert not receiver.engine.speaks_first(206)
    assert not receiver.engine.speaks_first(204)  # there already
    assert not receiver.engine.speaks_first(200)  # in order
    assert receiver.engine.speaks_first(210)
    receiver.engine.make_ack()
    assert not receiver.engine.speaks_first(210)  # nothing is held back any more
    # One that touches the third of three blocks brings it to the front, and the others behind it.
    receiver.take(210)
    receiver.engine.make_ack()
    receiver.take(212)
    receiver.engine.make_ack()
    while receiver.take(213 + receiver.next % 50)[1]:
        receiver.engine.make_ack()
        receiver.next += 1
    assert receiver.engine.speaks_first(206)


def test_a_segment_before_which_something_was_said_has_no_answer():
    # tcp_data_queue_ofo() asks for an ACK before tcp_sack_new_ofo_skb() has the one sent that was held back, which
    # clears that (tcp_event_ack_sent()).
    receiver = established(options=24)
    for number in (202, 204, 206):
        receiver.take(number)
        receiver.engine.make_ack()
    receiver.take(208)  # held back: three were answered at once
    assert receiver.engine.speaks_first(210)
    receiver.engine.make_ack()
    receiver.engine.leave_unanswered()
    assert receiver.take(210) == (True, False)
    assert receiver.engine.ack_deadline == NEVER_NS
    assert not receiver.engine.speaks_first(212)  # nor is it held back
    assert receiver.take(212) == (True, False)  # which is
    assert receiver.engine.ack_deadline < NEVER_NS
    assert receiver.engine.speaks_first(214)


def test_what_fills_part_of_a_hole_is_one_of_three_acks_at_once():
    # 200 to 202 are missing. 200 is answered, as the first of the new hole's; two more are, then ACKs are held back.
    receiver = established()
    for number in range(203, 210):
        if receiver.take(number)[1]:
            receiver.engine.make_ack()
    receiver.engine.make_ack()
    assert receiver.take(200)[1]
    receiver.engine.make_ack()
    answered = [receiver.take(number)[1] for number in (210, 211, 212)]
    assert answered == [True, True, False]


def test_the_window_grows_into_what_segments_out_of_order_leave():
    # On 6.1 half of 2,304 bytes each are taken off the room and what is kept free for one. 100 segments of 2 · 1,460
    # bytes are left to grow; 16 quick ACKs are over. Behind a hole the room falls by 1,152 with each segment and by
    # 2,920 more while it lasts: 292,000 + 1,460 = n (2,920 + 1,152), 72 segments and a last one for what is left. Of
    # the quick ACKs 14 remain then, and three go at once. Once the hole is filled 100 - 72 = 28 more let it grow.
    # On 6.12 it is 162 256ths of 2,304, 1,458, and nothing is kept free: 292,000 = n (2,920 + 1,458), 66.7.
    for kernel, steps in (("linux-6.1", 73), ("linux-6.12", 67)):
        grows_behind_a_hole(Receiver(window_segments=116, receiver=kernel), steps)


def grows_behind_a_hole(receiver: Receiver, steps: int) -> None:
    receiver.in_order(16)
    receiver.engine.make_ack()
    at_once = []
    for number in range(17, 217):
        at_once.append(receiver.take(number)[1])
        if at_once[-1]:
            receiver.engine.make_ack()
    assert at_once.index(False) == steps + 14 + 3
    receiver.engine.make_ack()
    assert receiver.take(16)[1]
    receiver.engine.make_ack()
    receiver.next = 217
    covered = receiver.in_order(60)
    assert covered.index(2) == pytest.approx(101 - steps, abs=2)


def test_the_fourth_block_comes_back_when_one_is_gone():
    # Four are remembered (Linux's selective_acks[4]): once a block is covered the fourth is named again.
    receiver = established()
    for number in (202, 205, 207, 209):
        receiver.take(number)
        receiver.engine.make_ack()
    assert receiver.take(200)[1]
    receiver.engine.make_ack()
    assert receiver.take(201)[1]
    cumulative, _, _, blocks = receiver.engine.make_ack()
    assert cumulative == 203
    assert blocks == [(209, 210), (207, 208), (205, 206)]


def test_filling_a_hole_is_answered_at_once_up_to_the_next_one():
    receiver = established()
    for number in (201, 202, 204):
        receiver.take(number)
        receiver.engine.make_ack()
    assert receiver.take(200, sent_ms=900) == (True, True)
    assert receiver.engine.make_ack() == (203, 900 * MS, False, [(204, 205)])


def test_a_segment_that_was_there_is_named_a_duplicate_once():
    # RFC 2883: below the cumulative ACK, or in a block.
    receiver = established()
    assert receiver.take(150) == (False, True)
    assert receiver.engine.make_ack()[2] is True
    receiver.take(202)
    assert receiver.engine.make_ack()[2] is False
    assert receiver.take(202) == (False, True)
    assert receiver.engine.make_ack()[2] is True
    receiver.take(200)
    assert receiver.engine.make_ack()[2] is False


def test_in_order_segments_go_up_as_they_come():
    domain = parts.OrderingDomain()
    assert [domain.segment(k * MS, k, 7, 100 + k) for k in range(3)] == [
        ("delivered", [(7, 100 + k, 0)]) for k in range(3)
    ]


def test_segments_behind_a_gap_wait_for_it_and_not_for_each_other():
    # 1 and 3 come at 10 and 20 ms, 0 at 50 ms: 1 waited 40 ms; 2 at 80 ms: 3 waited 60 ms.
    domain = parts.OrderingDomain()
    assert domain.segment(10 * MS, 1, 1, 11) == ("held", [])
    assert domain.segment(20 * MS, 3, 3, 33) == ("held", [])
    assert domain.segment(50 * MS, 0, 0, 10) == ("delivered", [(0, 10, 0), (1, 11, 40 * MS)])
    assert domain.segment(80 * MS, 2, 2, 22) == ("delivered", [(2, 22, 0), (3, 33, 60 * MS)])


@pytest.mark.parametrize("order", [0, 2])
def test_a_second_copy_changes_nothing(order):
    domain = parts.OrderingDomain()
    domain.segment(0, 0, 0, 10)
    domain.segment(5 * MS, 2, 2, 12)
    assert domain.segment(9 * MS, order, 2, 12) == ("duplicate", [])
    assert domain.segment(20 * MS, 1, 1, 11) == ("delivered", [(1, 11, 0), (2, 12, 15 * MS)])
