"""A sender's repair step by step: what is judged lost when, what the window is after each ACK, when each timer runs.

The path takes 1 s there and back; ten segments leave 1 ms apart, segment k at k ms, so the ACK of k comes at 1 s + k
ms.
"""

from __future__ import annotations

import pytest

from dstcc.engine import TcpConstants, Transport
from dstcc.engine._engine import parts

from .test_laws_bic import Linux

MS = 1_000_000


class Sender:
    """A sender with times in ms."""

    def __init__(self, congestion: str = "newreno", *, rtt_ms: float = 1000, **more: object) -> None:
        # Without ticks: timers run when they are due, not when the wheel comes round.
        constants = TcpConstants(**({"jiffy_s": 1e-9} | more.pop("constants", {})))  # type: ignore[arg-type, operator]
        self.own = parts.Sender(Transport(congestion, "minrtt", constants=constants, **more))  # type: ignore[arg-type]
        self.own.establish(0, round(rtt_ms * MS))

    def send(self, *at_ms: float, starved: bool = False) -> None:
        for at in at_ms:
            self.own.send(round(at * MS), 1, starved)

    def ack(
        self,
        at_ms: float,
        cumulative: int,
        *blocks: tuple[int, int],
        echo_ms: float = 0,
        duplicate: bool = False,
    ) -> None:
        self.own.ack(round(at_ms * MS), cumulative, list(blocks), round(echo_ms * MS), duplicate)

    def timer(self, at_ms: float) -> str:
        return str(self.own.timer(round(at_ms * MS)))

    def repeat(self, at_ms: float) -> list[int]:
        return list(self.own.repeat(round(at_ms * MS)))

    @property
    def next_timer_ms(self) -> float:
        return float(self.own.next_timer) / MS


def flight(count: int = 10, congestion: str = "newreno", **more: object) -> Sender:
    """So many segments 1 ms apart, the window just full."""
    sender = Sender(congestion, **more)
    sender.own.cwnd = count
    sender.send(*range(count))
    return sender


def clean_rounds(sender: Sender, rounds: int, *, rtt_ms: float = 1000) -> tuple[float, int]:
    """Round trips of one segment, so that the RTO comes down; returns the time and the next number."""
    at, number = 0.0, 0
    for _ in range(rounds):
        sender.send(at)
        at += rtt_ms
        number += 1
        sender.ack(at, number)
    return at, number


# --------------------------------------------------------------------------------------------- what is lost (RFC 8985)


def test_one_segment_beyond_a_hole_waits_a_quarter_of_the_round_trip():
    # RFC 8985 section 6.2: below three SACKed segments the reordering window is min_RTT / 4. Segment 0 left at 0, the
    # delivered one took 1 s: it is lost at 0 + 1,000 + 250 ms, and 2 ms more for the timer (TCP_TIMEOUT_MIN_US).
    sender = flight()
    sender.ack(1001, 0, (1, 2))
    assert (sender.own.state, sender.own.lost_out, sender.next_timer_ms) == ("open", 0, 1252)
    assert sender.timer(1251) == ""
    assert sender.timer(1252) == "repair"
    assert (sender.own.state, sender.own.lost_out) == ("recovery", 1)
    # The first repeat leaves at once: in flight 10 - 1 - 1 = 8, and one more.
    assert sender.own.cwnd == 9
    assert sender.repeat(1252) == [0]
    assert sender.repeat(1252) == []


def test_three_segments_beyond_a_hole_lose_it_at_once():
    sender = flight()
    for k in (1, 2):
        sender.ack(1000 + k, 0, (1, k + 1))
        assert sender.own.lost_out == 0
    sender.ack(1003, 0, (1, 4))
    assert (sender.own.state, sender.own.lost_out, sender.own.lost) == ("recovery", 1, 1)
    assert sender.own.in_flight == 10 - 3 - 1


def test_what_left_at_once_with_the_latest_is_lost_if_it_came_before():
    # All ten leave at 0; segments 4..6 arrive: those before are lost, those after are not.
    sender = Sender()
    sender.own.cwnd = 10
    sender.send(*[0] * 10)
    sender.ack(1000, 0, (4, 7))
    assert sender.own.lost_out == 4
    assert sender.repeat(1000)[0] == 0


def test_of_those_that_left_at_once_the_last_to_arrive_counts():
    # All ten leave at 0; 4 arrives, then 6 and 7: 5 is before 7 as well.
    sender = Sender()
    sender.own.cwnd = 10
    sender.send(*[0] * 10)
    sender.ack(1000, 0, (4, 5))
    sender.ack(1001, 0, (6, 8), (4, 5))
    assert sender.own.lost_out == 5


def test_within_a_recovery_nothing_waits_for_reordering():
    # 0 is lost. Then 5 is missing too: 6, sent 1 ms after it, says so at once.
    sender = flight()
    for k in (1, 2, 3, 4):
        sender.ack(1000 + k, 0, (1, k + 1))
    sender.repeat(1004)
    assert sender.own.lost_out == 1
    sender.ack(1006, 0, (6, 7), (1, 5))
    assert sender.own.lost_out == 2


def test_within_a_recovery_one_sack_is_enough():
    # The repeat of 0 fills the cumulative ACK to 4, where 4 is missing; nothing is SACKed. New segments leave at 1,100
    # and 1,101 ms; of 4, 5 in flight since, 5 arrives late as the only SACK: 4 is lost at once, without the quarter.
    sender = flight(6)
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    assert sender.repeat(1003) == [0]
    sender.ack(2003, 4, echo_ms=1003)  # 4 and 5 left before the repeat: lost with it
    assert sender.own.lost_out == 2
    assert sender.own.state == "recovery"


def test_within_a_recovery_no_quarter_of_a_round_trip_is_waited():
    # 0 and 9 are lost. 0's repeat brings the cumulative ACK to 9, nothing is SACKed, and 9 is repeated: still the
    # recovery. Of 10, 11 and 12, sent at 1,500 to 1,502, 11 arrives: 10, a millisecond earlier, is lost at once.
    sender = flight()
    for k in range(1, 9):
        sender.ack(1000 + k, 0, (1, k + 1))
    assert sender.repeat(1008) == [0]
    sender.own.cwnd = 50
    sender.send(1500, 1501, 1502)
    sender.ack(2008, 9, echo_ms=1008)
    sender.own.cwnd = 50
    assert sender.repeat(2008) == [9]
    assert (sender.own.state, sender.own.lost_out) == ("recovery", 1)
    sender.ack(2501, 9, (11, 12))
    assert sender.own.lost_out == 2


def test_a_repeat_that_is_lost_is_lost_when_later_ones_arrive():
    # 0 and 1 are repeated at 1,004 and 1,005; new data leaves at 1,006. What left after the repeats arrives at
    # 2,006, and neither did they: both are lost again, each counted once more.
    sender = flight()
    sender.ack(1002, 0, (2, 3))
    sender.ack(1003, 0, (2, 4))
    sender.ack(1004, 0, (2, 5))
    assert sender.own.lost_out == 2 and sender.own.lost == 2
    sender.own.cwnd = 20
    assert sender.repeat(1004) == [0, 1]
    sender.send(1006)
    assert sender.own.retrans_out == 2
    sender.ack(2006, 0, (10, 11), (2, 5))
    assert (sender.own.lost, sender.own.retrans_out) == (
        2 + 2 + 5,
        0,
    )  # 5..9 were on their way and are lost as well
    sender.own.cwnd = 50
    assert sorted(sender.repeat(2006)) == [0, 1, 5, 6, 7, 8, 9]


def test_of_repeats_that_left_at_once_the_earlier_are_lost_with_the_later():
    sender = flight()
    sender.ack(1004, 0, (2, 5))
    sender.own.cwnd = 20
    assert sender.repeat(1004) == [0, 1]  # both at 1,004
    sender.ack(2004, 0, (1, 5), echo_ms=1004)
    # 1 arrived, 0 left at the same time before it: lost again. 5..9 are lost too.
    assert sender.own.retrans_out == 0
    sender.own.cwnd = 50
    assert 0 in sender.repeat(2004)


def test_an_ack_of_the_first_transmission_says_nothing_of_the_repeat():
    # 0 was only late. Its ACK (echo 0) comes at 1,300, after the repeat of 1,252; new data left at 1,200. If the repeat
    # counted as delivered, RACK would take 50 ms for the round trip and the new data for lost.
    sender = flight(2)
    sender.ack(1001, 0, (1, 2))
    assert sender.timer(1252) == "repair"
    sender.own.cwnd = 10
    sender.send(1200)
    assert sender.repeat(1252) == [0]
    sender.ack(1300, 2, echo_ms=0)
    assert sender.own.lost_out == 0
    assert sender.own.retrans_out == 0


# -------------------------------------------------------------------------------- the reduction, ACK by ACK (RFC 6937)


def test_proportional_rate_reduction_ack_by_ack():
    # ssthresh = 5, RecoverFS = 10. Above the threshold: sndcnt = ⌈prr_delivered · 5 / 10⌉ - prr_out.
    sender = flight()
    windows = []
    for k in range(1, 10):
        sender.ack(1000 + k, 0, (1, k + 1))
        if k < 3:
            continue
        windows.append(sender.own.cwnd)
        if k == 3:
            assert sender.repeat(1003) == [0]  # prr_out = 1
        while sender.own.window_open:
            sender.send(1000 + k)
    # k = 3: pipe 6, delivered 1: 6 + ⌈1/2⌉ - 0 = 7;   k = 4: pipe 6 (the repeat is out), 6 + ⌈2/2⌉ - 1 = 6
    # k = 5: pipe 5 = ssthresh, so the other rule: min(5 - 5, ..) = 0: 5;   k = 6: pipe 4, room 1: min(1, max(4 - 1,
    # 1)) = 1: 5 and so on: one new segment for each that arrives.
    assert windows == [7, 6, 5, 5, 5, 5, 5]
    assert sender.own.ssthresh == 5


def test_what_was_not_sent_in_time_is_made_up_for_below_the_threshold():
    # Nothing goes out but the repeat; four segments are known to have arrived since: prr_delivered - prr_out = 4 - 1
    # = 3 though this ACK delivered one. pipe 4, room min(1, ..) bounds it; with two losses more room is there.
    sender = flight(20)
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    sender.repeat(1003)
    assert sender.own.ssthresh == 10
    seen = []
    for k in range(4, 19):
        sender.ack(1000 + k, 0, (1, k + 1))
        seen.append(sender.own.cwnd)
    # pipe = 20 - k (0 repeated, k SACKed) down to 10 at k = 10: proportional: ⌈(k - 2) / 2⌉ - 1 more.
    expected = [20 - k + max(-(-(k - 2) // 2) - 1, 0) for k in range(4, 10)]
    # From k = 10 on room = 10 - pipe = k - 10, and prr_delivered - prr_out = k - 3 ≥ room: the window is the threshold.
    expected += [10] * 9
    assert seen == expected


def test_the_safe_ack_rule_gives_one_more_and_only_without_new_losses():
    # 6 of 12 are lost at once: ssthresh 6. 4 delivered, pipe = 12 - 4 - 6 = 2, room 4: max(4 - 0, 4) = 4: W = 6.
    sender = Sender()
    sender.own.cwnd = 12
    sender.send(*range(12))
    sender.ack(1009, 0, (6, 10))
    assert sender.own.cwnd == 6
    assert sender.repeat(1009) == [0, 1, 2, 3]
    # The repeat of 0 arrives, and says that 10 and 11 are lost: pipe = 11 - 4 - 7 + 3 = 3, room 3, max(5 - 4, 1) = 1.
    sender.ack(2009, 1, (6, 10), echo_ms=1009)
    assert sender.own.cwnd == 4
    assert sender.repeat(2009) == [4]
    # That of 1 arrives and says nothing else: pipe 10 - 4 - 6 + 3 = 3, max(6 - 5, 1) + 1 = 2.
    sender.ack(2010, 2, (6, 10), echo_ms=1009)
    assert sender.own.cwnd == 5


def test_a_recovery_ends_with_what_was_in_flight_when_it_began():
    # high = 10: a cumulative 9 is short of it, 10 is it: W = ssthresh.
    sender = flight()
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    sender.repeat(1003)
    sender.send(1003)
    sender.ack(2003, 9, echo_ms=1003)
    assert sender.own.state == "recovery"
    sender.ack(2004, 10)
    assert (sender.own.state, sender.own.cwnd) == ("open", 5)


def test_the_next_reduction_starts_from_nothing():
    # A second recovery: prr_delivered and prr_out of the first are forgotten; the first ACK's window is that of a
    # first.
    sender = flight()
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    sender.repeat(1003)
    sender.ack(2003, 10, echo_ms=1003)
    assert (sender.own.state, sender.own.cwnd) == (
        "open",
        6,
    )  # 5, and what this ACK covers beyond the recovery grows it
    sender.own.cwnd = 10
    sender.send(*[2100 + k for k in range(10)])
    for k in (1, 2, 3):
        sender.ack(3100 + k, 10, (11, 11 + k))
    assert sender.own.cwnd == 7  # pipe 6, ⌈1 · 5 / 10⌉ = 1
    assert sender.own.ssthresh == 5


# ------------------------------------------------------------------------------------------------- timers and timeouts


def test_a_probe_waits_two_round_trips_and_longer_for_a_single_segment():
    # RFC 8985 section 7.2: 2 SRTT, for one segment in flight a delayed ACK's worth (RTO_MIN here, as Linux) more.
    sender = Sender()
    sender.send(0)
    assert sender.next_timer_ms == 2000 + 200
    sender.send(1)
    assert sender.next_timer_ms == pytest.approx(1 + 2000 + 2)


def test_a_probe_comes_no_later_than_the_timeout():
    # After 60 equal round trips RTO = 1 s + 200 ms: less than 2 SRTT.
    sender = Sender()
    at, _ = clean_rounds(sender, 60)
    sender.send(at)
    assert sender.next_timer_ms == pytest.approx(at + 1200, abs=0.01)


def test_a_timeout_is_at_most_rto_max_even_after_the_handshake():
    # A handshake of 100 s: RTO = 100 + 200 s, bounded by 120 s.
    sender = Sender(rtt_ms=100_000)
    sender.send(0)
    assert sender.next_timer_ms == 120_000
    sender.ack(110_000, 1)
    sender.send(110_000, 110_000)
    assert sender.next_timer_ms == 110_000 + 120_000


def test_an_acks_round_trip_makes_no_longer_timeout_either():
    # RTT 100 s: RTO = 300 s by the estimator, 120 s by RTO_MAX, which comes before two round trips.
    sender = Sender(rtt_ms=100_000)
    sender.send(0, 1000)
    sender.ack(100_000, 1)
    assert sender.next_timer_ms == 100_000 + 120_000


def timed_out(count: int = 10) -> Sender:
    """A flight of which nothing is heard: a probe, then a timeout."""
    sender = flight(count)
    assert sender.timer(sender.next_timer_ms) == "probe"
    assert sender.timer(sender.next_timer_ms) == "timeout"
    return sender


def test_a_timeout_loses_all_and_leaves_one():
    sender = timed_out()
    assert (sender.own.state, sender.own.lost_out, sender.own.cwnd, sender.own.ssthresh) == ("loss", 10, 1, 5)
    assert sender.own.timeouts == 1
    assert sender.repeat(9000) == [0]


def test_a_timeout_spares_what_left_within_a_round_trip():
    # RACK's round trip is 1 s. 0..8 left at 0 to 8 ms, 9 at 4.9 s; the timeout comes at 5 s or so: 9 is still on its
    # way.
    sender = Sender()
    sender.own.cwnd = 20
    sender.send(0)
    sender.ack(1000, 1)
    sender.send(*[1001 + k for k in range(9)])
    assert sender.timer(3100) == "probe"
    at = sender.next_timer_ms
    sender.send(at - 100)
    assert sender.timer(at) == "timeout"
    assert sender.own.lost_out == 9
    assert sender.own.cwnd == 2  # one in flight, and one more


def test_a_timeout_loses_the_head_however_late_it_left():
    sender = Sender()
    sender.own.cwnd = 20
    sender.send(0)
    sender.ack(1000, 1)
    sender.send(1001)
    assert sender.timer(3300) == "probe"
    sender.own.repeat_as_probe(3300 * MS, 1)
    at = sender.next_timer_ms
    assert sender.timer(at) == "timeout"
    assert sender.own.lost_out == 1


def test_timeouts_back_off_by_powers_of_two_up_to_rto_max():
    # RFC 6298 (5.5): RTO = 3 s after the handshake; 3, 6, 12, 24, 48, 96, 120, 120 s from one timeout to the next.
    sender = timed_out(1)
    at, gaps = sender.next_timer_ms, []
    for _ in range(7):
        before = at
        assert sender.timer(at) == "timeout"
        at = sender.next_timer_ms
        gaps.append((at - before) / 1000)
    assert gaps == [12, 24, 48, 96, 120, 120, 120]


def test_timeouts_in_a_row_reduce_the_threshold_once():
    sender = timed_out()
    assert sender.own.ssthresh == 5
    for _ in range(3):
        sender.timer(sender.next_timer_ms)
    assert sender.own.ssthresh == 5


def test_an_answer_ends_the_backoff():
    # RTO 3 s, doubled twice; an RTT sample of new data sets it to what the estimator says.
    sender = timed_out(2)
    assert sender.repeat(6000) == [0]
    sender.ack(7000, 1, echo_ms=6000)  # a time stamp's sample: SRTT 1 s
    assert sender.own.timeouts == 1
    sender.own.cwnd = 3
    assert sender.repeat(7000) == [1]
    assert sender.next_timer_ms <= 7000 + 3000


def test_no_probe_follows_a_timeout_before_an_answer():
    sender = timed_out(1)
    assert sender.repeat(9000) == [0]
    assert sender.timer(sender.next_timer_ms) == "timeout"


def test_a_repeat_of_the_head_restarts_the_timeout():
    # RFC 6298 section 5: the timer runs for the head. Timed out at 5 s or so, repeated only at 6 s: 6 s + 2 · 3 s.
    sender = timed_out(1)
    armed = sender.next_timer_ms
    assert sender.repeat(armed - 5000) == [0]
    assert sender.next_timer_ms == pytest.approx(armed - 5000 + 6000)


def test_a_timeouts_repair_lasts_until_all_of_it_is_acknowledged():
    # Slow start from 1: each ACK of a repeat lets two more go; the state ends with the last segment of the flight.
    sender = timed_out(4)
    at = 6000.0
    sender.repeat(at)
    for k in range(1, 5):
        sender.ack(at + 1000 * k, k, echo_ms=at + 1000 * (k - 1))
        assert sender.own.state == ("loss" if k < 4 else "open")
        sender.repeat(at + 1000 * k)


# ------------------------------------------------------------------------------------------- needless repairs (RFC
# 4015)


def test_a_spurious_timeout_is_taken_back():
    # The ACKs were only late: the first echoes a time before the first repeat. W and ssthresh are what they were.
    sender = flight()
    sender.own.ssthresh = 40
    sender.timer(2011)
    at = sender.next_timer_ms
    assert sender.timer(at) == "timeout"
    assert sender.repeat(at + 1) == [0]
    sender.ack(at + 100, 1, echo_ms=0)
    assert (sender.own.state, sender.own.lost_out, sender.own.cwnd) == (
        "open",
        0,
        11,
    )  # and one acknowledged in slow start
    assert sender.own.ssthresh == 40
    assert sender.repeat(at + 101) == []  # what was to be repeated is not in doubt any more


def test_an_ack_of_the_repeat_itself_takes_nothing_back():
    sender = flight()
    sender.timer(2011)
    at = sender.next_timer_ms
    sender.timer(at)
    sender.repeat(at + 1)
    sender.ack(at + 1001, 1, echo_ms=at + 1)
    assert sender.own.state == "loss"
    assert sender.own.lost_out > 0


def test_what_the_timeout_doubted_is_judged_again_after_it_was_taken_back():
    # Undone at 1; then 2..4 arrive and 1 does not: lost, by three SACKed segments beyond it.
    sender = flight()
    sender.timer(2011)
    at = sender.next_timer_ms
    sender.timer(at)
    sender.repeat(at + 1)
    sender.ack(at + 100, 1, echo_ms=0)
    assert sender.own.lost_out == 0
    sender.ack(at + 101, 1, (2, 5))
    assert sender.own.lost_out == 1
    assert sender.own.state == "recovery"


def test_a_probe_that_repaired_a_loss_is_a_loss():
    # RFC 8985 section 7.4.2: segment 9 was lost; the answer echoes its probe. W = 10 + 9 + 1 in slow start. Linux
    # halves it with the ACK beyond the probe (tcp_process_tlp_ack); what that covers is one of ten for the next.
    sender, at = probed()
    sender.ack(at + 1000, 10, echo_ms=at)
    assert sender.own.cwnd == 20
    sender.send(at + 1001)
    sender.ack(at + 2001, 11, echo_ms=at + 1001)
    assert (sender.own.state, sender.own.ssthresh, sender.own.cwnd) == ("open", 10, 10)


def test_a_probe_that_repaired_nothing_is_none():
    # The segment had arrived, its ACK had not: the answer to the probe names a duplicate (RFC 2883).
    sender, at = probed()
    sender.ack(at + 1000, 10, echo_ms=at, duplicate=True)
    assert sender.own.cwnd == 20
    # Or the answer is that to the segment itself, and echoes its time.
    sender, at = probed()
    sender.ack(at + 10, 10, echo_ms=9)
    assert sender.own.cwnd == 20


def probed() -> tuple[Sender, float]:
    """Of ten segments nine are acknowledged; the last one is repeated as a probe, at the time given."""
    sender = flight()
    sender.ack(1008, 9, echo_ms=8)
    assert sender.own.cwnd == 19
    at = sender.next_timer_ms
    assert sender.timer(at) == "probe"
    sender.own.repeat_as_probe(round(at * MS), 9)
    return sender, at


# ------------------------------------------------------------------------------------------------------- what ACKs say


def test_the_round_trip_of_an_ack_that_covers_two_is_the_firsts_for_the_timeout_and_the_lasts_for_the_laws():
    # Segments at 0 and 500 ms, one ACK at 1,500: 1.5 s for srtt (7/8 + 1.5/8 = 1.0625), 1 s for the laws.
    sender = Sender()
    sender.send(0, 500)
    sender.ack(1500, 2)
    assert sender.own.srtt_ns == 1062.5 * MS
    assert sender.own.last_rtt_ns == 1000 * MS


def test_the_same_behind_a_hole():
    sender = Sender()
    sender.own.cwnd = 10
    sender.send(0, 500, 600, 700)
    sender.ack(1700, 0, (1, 4))
    assert sender.own.srtt_ns == (7 * 1000 + 1200) / 8 * MS
    assert sender.own.last_rtt_ns == 1000 * MS


def test_a_repeat_behind_a_hole_gives_no_round_trip():
    # RFC 7323 section 4.1: only where SND.UNA advances. 1's repeat is SACKed, 0 is not there.
    sender = flight()
    sender.ack(1004, 0, (2, 5))
    sender.own.cwnd = 20
    assert sender.repeat(1004) == [0, 1]
    before = sender.own.srtt_ns
    sender.ack(3004, 0, (1, 5), echo_ms=1004)
    assert sender.own.srtt_ns == before


def test_delivered_segments_leave_all_counts():
    sender = flight()
    sender.ack(1004, 0, (2, 5))
    sender.repeat(1004)
    sender.ack(2004, 2, (2, 5), echo_ms=1004)
    sender.ack(2010, 5)
    assert (sender.own.sacked_out, sender.own.retrans_out) == (0, 0)
    assert sender.own.in_flight == 10 - 5 - sender.own.lost_out


def test_an_ack_of_nothing_new_does_not_grow_the_window():
    sender = flight()
    for _ in range(5):
        sender.ack(1000, 0)
    assert sender.own.cwnd == 10


def test_the_window_is_open_below_it_only():
    sender = flight(9)
    sender.own.cwnd = 10
    assert sender.own.window_open
    sender.send(10)
    assert not sender.own.window_open


def test_the_application_limits_until_what_it_left_is_delivered():
    # draft-cheng-iccrg-delivery-rate-estimation section 3.4: the bubble is behind delivered + in flight.
    sender = Sender()
    sender.own.cwnd = 10
    sender.send(0, 1, 2, starved=True)
    assert sender.own.app_limited == 3
    assert not sender.own.is_cwnd_limited
    sender.own.cwnd = 100
    sender.own.send(3 * MS, 2, False)
    sender.ack(1002, 3)
    assert sender.own.app_limited == 3
    sender.ack(1003, 4)
    assert sender.own.app_limited == 0


def test_the_least_round_trip_is_remembered_for_five_minutes():
    # 1 s at first, 1.5 s ever after: known for 300 s at least, forgotten after 600 s.
    sender = Sender()
    at, number = clean_rounds(sender, 1)
    seen = []
    for _ in range(500):
        sender.send(at)
        at += 1500
        number += 1
        sender.ack(at, number)
        seen.append((at / 1000, sender.own.min_rtt_ns / MS))
    assert all(least == 1000 for t, least in seen if t < 299)
    assert all(least == 1500 for t, least in seen if t > 602)


def test_a_sack_of_what_left_after_the_heads_repeat_does_not_put_its_timeout_off():
    # 0 is repeated at 1,003. A SACK of 4, which left before, restarts the timeout; one of 10, which left after, does
    # not.
    sender = flight()
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    sender.repeat(1003)
    sender.own.cwnd = 30
    sender.send(1010, 1011)
    sender.ack(1104, 0, (1, 5))
    restarted = sender.next_timer_ms
    assert restarted > 1104 + 1000
    sender.own.cwnd = 30
    sender.ack(2010, 0, (10, 11), (1, 5))
    sender.ack(2011, 0, (10, 12), (1, 5))
    assert sender.next_timer_ms == restarted


# ------------------------------------------------------------------------------------------ pacing and delivery rates


def test_pacing_spaces_segments_by_the_rate_from_the_last_one_on():
    # `fixed`, W = 10 over 1 s: a segment of 1,500 bytes every 100 ms, whether three leave together or not.
    sender = Sender("fixed", fixed_cwnd_segments=(10,))
    sender.send(0, 0, 0)
    assert sender.own.pacing_until == pytest.approx(300 * MS)
    sender.send(1000)
    assert sender.own.pacing_until == pytest.approx(1100 * MS)


def bandwidth(sender: Sender) -> float:
    """Segments a second that BBR's STARTUP paces by: 2.885 · 0.99 · bandwidth · 1,500 bytes."""
    return float(sender.own.pacing_bytes_per_ns) * 1e9 / (2.885 * 0.99 * 1500)


def test_a_delivery_rate_is_by_the_time_of_acknowledgements():
    # draft-cheng-iccrg-delivery-rate-estimation section 2: 30 segments at 0, all acknowledged at 1 s.
    sender = Sender("bbr", option_bytes=0)
    sender.own.cwnd = 200
    sender.send(*[0] * 30)
    sender.ack(1000, 30)
    assert bandwidth(sender) == pytest.approx(30, rel=1e-3)


def test_a_delivery_rate_is_by_the_time_of_sending_where_that_is_longer():
    # One segment at 0, acknowledged at 2 s; 20 at 1 s, acknowledged at 2.5 s; one at 2 s, acknowledged at 3 s: the path
    # becomes shorter. In the second between, 21 were acknowledged that had left in 2 s: 10.5 a second.
    sender = Sender("bbr", option_bytes=0)
    sender.own.cwnd = 200
    sender.send(0, *[1000] * 20)
    sender.ack(2000, 1)
    sender.send(2000)
    sender.ack(2500, 21)
    sender.ack(3000, 22)
    assert bandwidth(sender) == pytest.approx(10.5, rel=1e-3)


def test_idle_time_does_not_lower_a_delivery_rate():
    # Five seconds without anything in flight, then 60 segments in a round trip of 1 s.
    sender = Sender("bbr", option_bytes=0)
    sender.own.cwnd = 200
    sender.send(*[0] * 30)
    sender.ack(1000, 30)
    sender.own.cwnd = 200
    sender.send(*[6_000] * 60)
    sender.ack(7_000, 90)
    assert bandwidth(sender) == pytest.approx(60, rel=1e-3)


def test_a_sample_shorter_than_any_round_trip_is_none():
    # Of 40 sent at 0 the first is lost and repeated at 1,003; the answer to the repeat at 1,103 covers all of them:
    # 40 in 100 ms of ACKs would be 400 a second. The least round trip is 1 s, so it says nothing.
    sender = Sender("bbr", option_bytes=0)
    sender.own.cwnd = 200
    sender.send(*range(4))
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    sender.own.cwnd = 200
    assert sender.repeat(1003) == [0]
    before = bandwidth(sender)
    sender.ack(1103, 4, echo_ms=1003)
    assert bandwidth(sender) == pytest.approx(before)


def test_laws_hear_how_many_segments_an_ack_covers():
    # BIC divides its step by the mean number of segments an ACK: five here, where a law that heard of one would take
    # 31/16.
    sender, linux = Sender("bic"), Linux(30, 30)
    sender.own.cwnd = sender.own.ssthresh = 30
    for n in range(1, 60):
        sender.send(*[1000 * n] * 5)
        sender.ack(1000 * n + 1000, 5 * n)
        linux.ack(5)
        assert sender.own.cwnd == linux.cwnd
