"""After a timeout new data goes before further repeats, until what comes back tells whether it was needless (RFC 5682).

The path takes 1 s there and back; ten segments left 1 ms apart, none was acknowledged in time. After the timeout 0 is
repeated, and its answer, with the repeat's time stamp, leaves it open whether 1 to 9 were lost.
"""

from __future__ import annotations

import pytest

from .sender import Sender, flight


def in_doubt(*, more: bool = True) -> tuple[Sender, float]:
    """The repeat of 0 is answered; the time of that."""
    sender = flight()
    assert sender.timer(sender.next_timer_ms) == "probe"
    at = sender.next_timer_ms
    assert sender.timer(at) == "timeout"
    assert sender.repeat(at) == [0]
    sender.ack(at + 1000, 1, echo_ms=at, more=more)
    return sender, at + 1000


def test_new_data_goes_before_repeats():
    # Step 2: two segments of new data (W = 1 + 1 in slow start), and no repeat though nine are in doubt.
    sender, at = in_doubt()
    assert (sender.engine.state, sender.engine.cwnd, sender.engine.lost_out) == ("loss", 2, 9)
    assert sender.repeat(at) == []
    assert sender.engine.window_open


def test_without_new_data_it_is_repeats():
    sender, at = in_doubt(more=False)
    assert sender.repeat(at) == [1, 2]


def test_new_data_that_could_not_go_leaves_it_at_repeats():
    sender, at = in_doubt()
    assert sender.engine.repairs_instead()
    assert sender.repeat(at) == [1, 2]


def test_new_data_that_went_lets_repeats_wait():
    sender, at = in_doubt()
    sender.send(at, at)
    assert not sender.engine.repairs_instead()


@pytest.mark.parametrize("block", [(1, 2), (4, 5), (9, 10)])
def test_what_was_never_repeated_and_arrives_says_that_the_timeout_was_needless(block):
    # Step 3: a SACK of one of 1 to 9 though none of them was sent again: the timeout is taken back. The answer to the
    # repeat of 0 came before it, so RACK judges the eight on the same ACK (tcp_process_loss, then
    # tcp_identify_packet_loss), by the long round trip of the one that arrived and a quarter of the least. When that is
    # over a recovery begins, from W = 10: half of 10.
    sender, at = in_doubt()
    sender.send(at, at)
    sender.ack(at + 100, 1, block, echo_ms=block[0])
    assert (sender.engine.state, sender.engine.lost_out, sender.engine.cwnd) == ("open", 0, 10)
    lost = [number for number in range(1, 10) if number != block[0]]
    due = lost[-1] + (at + 100 - block[0]) + 250
    assert due <= sender.next_timer_ms <= due + 3
    sender.timer(sender.next_timer_ms)
    assert (sender.engine.state, sender.engine.lost_out) == ("recovery", 8)
    assert sender.engine.ssthresh == 5
    assert sender.repeat(due + 3) == lost[:1]


def test_an_answer_to_the_new_data_says_that_it_was_not():
    # A SACK of 10, sent after the timeout, while 1 is missing: 1 to 9 are lost, and repeated.
    sender, at = in_doubt()
    sender.send(at, at)
    sender.ack(at + 1000, 1, (10, 11), echo_ms=at)
    assert sender.engine.state == "loss"
    assert sender.repeat(at + 1000)[0] == 1
    # What then arrives of 1 to 9 takes nothing back any more.
    sender.ack(at + 1100, 1, (4, 5), (10, 11), echo_ms=4)
    assert sender.engine.state == "loss"


def test_an_ack_of_the_whole_flight_ends_the_repair():
    # Only 0 was missing: its repeat is answered for all ten.
    sender = flight()
    sender.timer(sender.next_timer_ms)
    at = sender.next_timer_ms
    sender.timer(at)
    assert sender.repeat(at) == [0]
    sender.ack(at + 1000, 10, echo_ms=at, more=True)
    assert (sender.engine.state, sender.engine.lost_out) == ("open", 0)


def test_a_timeout_in_a_recovery_is_not_doubted():
    # Segments beyond 0 had arrived: 0 was lost. After the repeat's timeout repairs go on, whatever new data there is.
    sender = flight()
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    assert sender.repeat(1003) == [0]
    assert sender.timer(sender.next_timer_ms) == "repair"  # RACK's, which the first SACK armed, runs on
    at = sender.next_timer_ms
    assert sender.timer(at) == "timeout"
    assert sender.repeat(at) == [0]
    sender.ack(at + 1000, 4, echo_ms=at, more=True)
    assert sender.repeat(at + 1000)[0] == 4


def test_a_second_timeout_begins_anew():
    # The repeat times out as well: that counts for a first (Linux tcp_enter_loss() on tcp_retransmits), so that new
    # data goes first after the second repeat's answer.
    sender = flight()
    sender.timer(sender.next_timer_ms)
    for _ in range(2):
        at = sender.next_timer_ms
        assert sender.timer(at) == "timeout"
        assert sender.repeat(at) == [0]
    sender.ack(at + 1000, 1, echo_ms=at, more=True)
    assert sender.repeat(at + 1000) == []
