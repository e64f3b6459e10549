"""What a sender judges lost from SACKs, and when (RFC 8985, sections 6.2 and 7.2).

The path takes 1 s there and back; ten segments leave 1 ms apart, segment k at k ms, so the ACK of k comes at 1 s + k
ms.
"""

from __future__ import annotations

from .sender import Sender, flight


def test_one_segment_beyond_a_hole_waits_a_quarter_of_the_round_trip():
    # RFC 8985 section 6.2: below three SACKed segments the reordering window is min_RTT / 4. Segment 0 left at 0, the
    # delivered one took 1 s: it is lost at 0 + 1,000 + 250 ms, and 2 ms more for the timer (TCP_TIMEOUT_MIN_US).
    sender = flight()
    sender.ack(1001, 0, (1, 2))
    assert (sender.engine.state, sender.engine.lost_out, sender.next_timer_ms) == ("open", 0, 1252)
    assert sender.timer(1251) == ""
    assert sender.timer(1252) == "repair"
    assert (sender.engine.state, sender.engine.lost_out) == ("recovery", 1)
    # The first repeat leaves at once: in flight 10 - 1 - 1 = 8, and one more.
    assert sender.engine.cwnd == 9
    assert sender.repeat(1252) == [0]
    assert sender.repeat(1252) == []


def test_three_segments_beyond_a_hole_lose_it_at_once():
    sender = flight()
    for k in (1, 2):
        sender.ack(1000 + k, 0, (1, k + 1))
        assert sender.engine.lost_out == 0
    sender.ack(1003, 0, (1, 4))
    assert (sender.engine.state, sender.engine.lost_out, sender.engine.lost) == ("recovery", 1, 1)
    assert sender.engine.in_flight == 10 - 3 - 1


def test_what_left_at_once_with_the_latest_is_lost_if_it_came_before():
    # All ten leave at 0; segments 4..6 arrive: those before are lost, those after are not.
    sender = Sender()
    sender.engine.cwnd = 10
    sender.send(*[0] * 10)
    sender.ack(1000, 0, (4, 7))
    assert sender.engine.lost_out == 4
    assert sender.repeat(1000)[0] == 0


def test_of_those_that_left_at_once_the_last_to_arrive_counts():
    # All ten leave at 0; 4 arrives, then 6 and 7: 5 is before 7 as well.
    sender = Sender()
    sender.engine.cwnd = 10
    sender.send(*[0] * 10)
    sender.ack(1000, 0, (4, 5))
    sender.ack(1001, 0, (6, 8), (4, 5))
    assert sender.engine.lost_out == 5


def test_within_a_recovery_nothing_waits_for_reordering():
    # 0 is lost. Then 5 is missing too: 6, sent 1 ms after it, says so at once.
    sender = flight()
    for k in (1, 2, 3, 4):
        sender.ack(1000 + k, 0, (1, k + 1))
    sender.repeat(1004)
    assert sender.engine.lost_out == 1
    sender.ack(1006, 0, (6, 7), (1, 5))
    assert sender.engine.lost_out == 2


def test_within_a_recovery_one_sack_is_enough():
    # The repeat of 0 fills the cumulative ACK to 4, where 4 is missing; nothing is SACKed. New segments leave at 1,100
    # and 1,101 ms; of 4, 5 in flight since, 5 arrives late as the only SACK: 4 is lost at once, without the quarter.
    sender = flight(6)
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    assert sender.repeat(1003) == [0]
    sender.ack(2003, 4, echo_ms=1003)  # 4 and 5 left before the repeat: lost with it
    assert sender.engine.lost_out == 2
    assert sender.engine.state == "recovery"


def test_within_a_recovery_no_quarter_of_a_round_trip_is_waited():
    # 0 and 9 are lost. 0's repeat brings the cumulative ACK to 9, nothing is SACKed, and 9 is repeated: still the
    # recovery. Of 10, 11 and 12, sent at 1,500 to 1,502, 11 arrives: 10, a millisecond earlier, is lost at once.
    sender = flight()
    for k in range(1, 9):
        sender.ack(1000 + k, 0, (1, k + 1))
    assert sender.repeat(1008) == [0]
    sender.engine.cwnd = 50
    sender.send(1500, 1501, 1502)
    sender.ack(2008, 9, echo_ms=1008)
    sender.engine.cwnd = 50
    assert sender.repeat(2008) == [9]
    assert (sender.engine.state, sender.engine.lost_out) == ("recovery", 1)
    sender.ack(2501, 9, (11, 12))
    assert sender.engine.lost_out == 2


def test_a_repeat_that_is_lost_is_lost_when_later_ones_arrive():
    # 0 and 1 are repeated at 1,004 and 1,005; new data leaves at 1,006. What left after the repeats arrives at
    # 2,006, and neither did they: both are lost again, each counted once more.
    sender = flight()
    sender.ack(1002, 0, (2, 3))
    sender.ack(1003, 0, (2, 4))
    sender.ack(1004, 0, (2, 5))
    assert sender.engine.lost_out == 2 and sender.engine.lost == 2
    sender.engine.cwnd = 20
    assert sender.repeat(1004) == [0, 1]
    sender.send(1006)
    assert sender.engine.retrans_out == 2
    sender.ack(2006, 0, (10, 11), (2, 5))
    assert (sender.engine.lost, sender.engine.retrans_out) == (
        2 + 2 + 5,
        0,
    )  # 5..9 were on their way and are lost as well
    sender.engine.cwnd = 50
    assert sorted(sender.repeat(2006)) == [0, 1, 5, 6, 7, 8, 9]


def test_of_repeats_that_left_at_once_the_earlier_are_lost_with_the_later():
    sender = flight()
    sender.ack(1004, 0, (2, 5))
    sender.engine.cwnd = 20
    assert sender.repeat(1004) == [0, 1]  # both at 1,004
    sender.ack(2004, 0, (1, 5), echo_ms=1004)
    # 1 arrived, 0 left at the same time before it: lost again. 5..9 are lost too.
    assert sender.engine.retrans_out == 0
    sender.engine.cwnd = 50
    assert 0 in sender.repeat(2004)


def test_an_ack_of_the_first_transmission_says_nothing_of_the_repeat():
    # 0 was only late. Its ACK (echo 0) comes at 1,300, after the repeat of 1,252; new data left at 1,200. If the repeat
    # counted as delivered, RACK would take 50 ms for the round trip and the new data for lost.
    sender = flight(2)
    sender.ack(1001, 0, (1, 2))
    assert sender.timer(1252) == "repair"
    sender.engine.cwnd = 10
    sender.send(1200)
    assert sender.repeat(1252) == [0]
    sender.ack(1300, 2, echo_ms=0)
    assert sender.engine.lost_out == 0
    assert sender.engine.retrans_out == 0


def test_what_is_lost_again_is_repeated_before_what_was_lost_behind_it():
    # 0 is lost and repeated at 1,003 ms, 20 leaves behind it. 10 arrives, so 4 to 9 are lost and wait for room; then 20
    # arrives, so the repeat of 0 is lost, and 11 to 19 are. The lowest goes first (tcp_verify_retransmit_hint).
    sender = flight(20)
    sender.ack(1003, 0, (1, 4), echo_ms=3)
    assert sender.repeat(1003) == [0]
    sender.send(1004)
    sender.ack(1010, 0, (10, 11), (1, 4), echo_ms=10)
    assert sender.engine.lost_out == 7
    sender.ack(2004, 0, (20, 21), (10, 11), (1, 4), echo_ms=1004)
    sender.engine.cwnd = 50
    assert sender.repeat(2005) == [0, *range(4, 10), *range(11, 20)]


def test_racks_round_trip_is_that_of_the_last_segment_that_an_ack_covers():
    # Linux tcp_rack_advance(). 0 and 1 leave at 0, 2 at 48 ms; 1 is lost, 0's ACK was delayed and comes with 2's. Its
    # blocks are looked at first (2 took 1,005 ms), then what it covers (0 took 1,053): 1 waits until 1,053 + 250 ms.
    sender = Sender()
    sender.engine.cwnd = 10
    sender.send(0, 0, 48)
    sender.ack(1053, 1, (2, 3))
    assert (sender.engine.lost_out, sender.next_timer_ms) == (0, 1053 + 250 + 2)


def test_a_repeat_that_is_answered_sooner_than_the_least_round_trip_says_nothing_of_others():
    # 0 and 1 are repeated at 1,300 and 1,310 ms; 1 arrives 400 ms later, so that it may be its first transmission:
    # 0's repeat is not lost.
    sender = flight()
    sender.ack(1009, 0, (2, 10))
    sender.engine.cwnd = 1
    assert sender.repeat(1300) == [0]
    sender.engine.cwnd = 2
    assert sender.repeat(1310) == [1]
    sender.ack(1710, 0, (1, 10), echo_ms=1310)
    assert (sender.engine.lost_out, sender.engine.in_flight) == (1, 1)


def test_the_timer_waits_for_the_last_that_is_not_lost_yet():
    # Linux tcp_rack_detect_loss(): 0, 10 and 20 ms are when those before the delivered one left.
    sender = Sender()
    sender.engine.cwnd = 10
    sender.send(0, 10, 20, 30, 40)
    sender.ack(1030, 0, (3, 4))
    assert (sender.engine.lost_out, sender.next_timer_ms) == (0, 20 + 1000 + 250 + 2)
    # An ACK that delivers nothing has nothing judged, though 0's and 1's time is over.
    sender.ack(1265, 0, (3, 4))
    assert (sender.engine.lost_out, sender.next_timer_ms) == (0, 1272)
    sender.timer(1272)
    assert sender.engine.lost_out == 3


def test_the_timer_waits_for_the_last_repeat_that_is_not_lost_yet():
    # 0 to 2 are repeated at 1,009, 1,100 and 1,200 ms, 10 leaves at 1,300. The ACK at 2,300 shows 10 (1,000 ms) and
    # covers 0 (1,291 ms): 1's repeat waits until 2,391, 2's until 2,491.
    sender = flight()
    sender.ack(1009, 0, (3, 10))
    for k, at in enumerate((1009, 1100, 1200)):
        sender.engine.cwnd = k + 1
        assert sender.repeat(at) == [k]
    sender.send(1300)
    sender.ack(2300, 1, (3, 10), (10, 11), echo_ms=1009)
    assert (sender.engine.state, sender.next_timer_ms) == ("recovery", 1200 + 1291 + 2)
