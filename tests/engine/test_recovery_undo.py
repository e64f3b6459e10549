"""Timeouts that were needless, and what a sender takes back (RFC 4015).

The path takes 1 s there and back; ten segments leave 1 ms apart, segment k at k ms, so the ACK of k comes at 1 s + k
ms.
"""

from __future__ import annotations

from .sender import MS, flight


def test_a_spurious_timeout_is_taken_back():
    # The ACKs were only late: the first echoes a time before the first repeat. W and ssthresh are what they were.
    sender = flight()
    sender.engine.ssthresh = 40
    sender.timer(2011)
    at = sender.next_timer_ms
    assert sender.timer(at) == "timeout"
    assert sender.repeat(at + 1) == [0]
    sender.ack(at + 100, 1, echo_ms=0)
    assert (sender.engine.state, sender.engine.lost_out, sender.engine.cwnd) == (
        "open",
        0,
        11,
    )  # and one acknowledged in slow start
    assert sender.engine.ssthresh == 40
    assert sender.repeat(at + 101) == []  # what was to be repeated is not in doubt any more


def test_an_ack_of_the_repeat_itself_takes_nothing_back():
    sender = flight()
    sender.timer(2011)
    at = sender.next_timer_ms
    sender.timer(at)
    sender.repeat(at + 1)
    sender.ack(at + 1001, 1, echo_ms=at + 1)
    assert sender.engine.state == "loss"
    assert sender.engine.lost_out > 0


def test_what_the_timeout_doubted_is_judged_again_after_it_was_taken_back():
    # Undone at 1; then 2..4 arrive and 1 does not: lost, by three SACKed segments beyond it.
    sender = flight()
    sender.timer(2011)
    at = sender.next_timer_ms
    sender.timer(at)
    sender.repeat(at + 1)
    sender.ack(at + 100, 1, echo_ms=0)
    assert sender.engine.lost_out == 0
    sender.ack(at + 101, 1, (2, 5))
    assert sender.engine.lost_out == 1
    assert sender.engine.state == "recovery"


def three_repeated():
    """A flight after its timeout, with repeats of 0, 1 and 2 under way; when the timeout was, in ms."""
    sender = flight()
    sender.timer(2011)
    at = sender.next_timer_ms
    sender.timer(at)
    sender.engine.cwnd = 3
    assert sender.repeat(at + 1) == [0]
    sender.engine.push()
    assert sender.repeat(at + 1) == [1, 2]
    return sender, at


def test_repeats_in_flight_do_not_keep_those_behind_them_from_being_judged():
    # 0, 1 and 2 were repeated when the timeout turns out needless; 1, 2 and their repeats are under way. Of those
    # behind them 4 to 6 arrive, which left after 3: it is lost.
    sender, at = three_repeated()
    sender.ack(at + 100, 1, echo_ms=0)
    assert (sender.engine.state, sender.engine.lost_out) == ("open", 0)
    sender.ack(at + 106, 1, (4, 7), echo_ms=6)
    assert (sender.engine.state, sender.engine.lost_out) == ("recovery", 1)
    sender.engine.cwnd = 50
    assert sender.repeat(at + 106) == [3]


def test_an_undo_holds_nothing_to_be_lost_any_more():
    # tcp_undo_cwnd_reduction() clears each mark of loss, that of 1 and 2 too, which were lost twice: 0, 1 and 2 are
    # repeated at once, a second timeout finds nothing answered, and the first transmission of 0 is acknowledged.
    sender, at = three_repeated()
    at = sender.next_timer_ms
    assert sender.timer(at) == "timeout"
    assert sender.engine.retrans_out == 0
    sender.ack(at + 100, 1, echo_ms=0)
    assert (sender.engine.state, sender.engine.lost_out) == ("open", 0)
    sender.engine.cwnd = 50
    assert sender.repeat(at + 101) == []


def test_an_undo_brings_back_no_threshold_far_below_the_window():
    # tcp_current_ssthresh(): three quarters of the window at least, in halves and quarters of whole segments.
    sender = flight()
    sender.engine.ssthresh = 4
    sender.timer(2011)
    at = sender.next_timer_ms
    sender.timer(at)
    sender.repeat(at + 1)
    assert sender.engine.ssthresh == 5
    sender.ack(at + 100, 1, echo_ms=0)
    assert (sender.engine.state, sender.engine.ssthresh) == ("open", 10 // 2 + 10 // 4)


def timed_out_in_recovery():
    """0 seemed lost and was repeated at 1,003 ms; the timeout came into that recovery, and repeated it again."""
    sender = flight()
    sender.engine.ssthresh = 40
    sender.ack(1003, 0, (1, 4))
    assert (sender.engine.state, sender.engine.ssthresh) == ("recovery", 5)
    assert sender.repeat(1003) == [0]
    at = sender.next_timer_ms
    assert sender.timer(at) == "timeout"
    assert (sender.engine.state, sender.engine.ssthresh) == ("loss", 5)
    assert sender.repeat(at + 1) == [0]
    return sender, at


def test_an_undo_takes_back_the_recovery_that_the_timeout_ended():
    # tcp_enter_loss() reduces nothing more, and what was before the recovery stays what an undo brings back.
    sender, at = timed_out_in_recovery()
    sender.ack(at + 100, 1, (1, 4), echo_ms=0)
    assert (sender.engine.state, sender.engine.ssthresh) == ("open", 40)
    assert sender.engine.cwnd >= 10


def test_the_answer_to_a_needless_repeat_tells_when_the_last_in_order_left():
    # tcp_validate_incoming() keeps the time stamp of the last segment in order, here of 5, which left at 5 ms: before
    # any repeat, so all the repeats were needless, though the ACK answers one. A new segment's ACK has its own.
    for duplicate, state in ((True, "open"), (False, "loss")):
        sender, at = timed_out_in_recovery()
        sender.ack(at + 1001, 6, echo_ms=at + 1, duplicate=duplicate)
        assert sender.engine.state == state
        assert sender.engine.ssthresh == (40 if duplicate else 5)


def test_an_answer_to_the_recoverys_repeat_proves_nothing_of_the_timeout():
    # Linux's retrans_stamp is of the first repeat since the trouble began.
    sender, at = timed_out_in_recovery()
    sender.ack(at + 100, 4, echo_ms=1003)
    assert sender.engine.state == "loss"


def test_repeats_of_an_earlier_recovery_do_not_stand_for_the_next():
    # The recovery of 0 ends at 2,003 ms. Ten more time out, and the first of them is answered after all.
    sender = flight()
    sender.ack(1003, 0, (1, 4))
    assert sender.repeat(1003) == [0]
    sender.ack(2003, 10, echo_ms=1003)
    assert sender.engine.state == "open"
    sender.engine.cwnd = 10
    sender.send(*range(2100, 2110))
    while sender.timer(at := sender.next_timer_ms) != "timeout":
        pass
    assert sender.repeat(at + 1) == [10]
    sender.ack(at + 100, 11, echo_ms=2100)
    assert sender.engine.state == "open"


def test_the_repeats_of_an_earlier_episode_do_not_stand_for_this_ones():
    # Linux tcp_fastretrans_alert(): in Open retrans_stamp is 0. 9 is repeated as a probe, at `at`. Five more leave; 11
    # to 13 arrive, 9 and 10 are lost and repeated at `at` + 1,050: that is this episode's first repeat. After its
    # timeout an ACK answers 10's first transmission, of `at` + 20, which is before that: the timeout was needless.
    sender = flight()
    sender.ack(1008, 9)
    at = sender.next_timer_ms
    assert sender.timer(at) == "probe"
    sender.engine.repeat_as_probe(round(at * MS), 9)
    sender.send(*(at + 10 * k for k in range(1, 6)))
    sender.ack(at + 1050, 9, (11, 14), echo_ms=at + 40)
    assert sender.engine.state == "recovery"
    assert sender.repeat(at + 1050)[0] == 9
    window = sender.engine.cwnd
    while sender.timer(sender.next_timer_ms) != "timeout":
        pass
    later = sender.next_timer_ms
    assert (sender.engine.state, sender.engine.cwnd) == ("loss", 1)
    sender.ack(later, 14, echo_ms=at + 20)
    assert sender.engine.state != "loss"
    assert sender.engine.cwnd >= window
