"""Tail loss probes: when they leave and what their answers say (RFC 8985, section 7).

The path takes 1 s there and back; ten segments leave 1 ms apart, segment k at k ms, so the ACK of k comes at 1 s + k
ms.
"""

from __future__ import annotations

import pytest

from . import net
from .sender import MS, Sender, clean_rounds, flight
from .test_channel_frames import frames


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


def test_no_timer_runs_for_longer_than_the_longest_timeout():
    # True time at Mars: of a round trip of 400 s the timeout is RTO_MAX, 120 s, and so is a probe's wait
    # (tcp_reset_xmit_timer): at the start, after an ACK, and with new data though the oldest segment left 130 s ago and
    # its timeout has passed. RFC 8985's two round trips were 800 s.
    sender = Sender(rtt_ms=400_000)
    sender.send(0)
    assert sender.next_timer_ms == 120_000
    sender.send(130_000)
    assert sender.next_timer_ms == 130_000 + 120_000
    sender.ack(400_000, 1)
    assert sender.next_timer_ms == 400_000 + 120_000


def test_racks_timer_runs_no_longer_than_the_timeout():
    # A quarter of a round trip of 2 s is 500 ms; after 60 equal round trips of 2 s the timeout is 2,200 ms, and with
    # the longest set to 300 ms it is that (tcp_rack_mark_lost).
    for longest_s, wait_ms in ((120.0, 500), (0.3, 300)):
        sender = Sender(rtt_ms=2000, constants={"rto_max_s": longest_s})
        at, number = clean_rounds(sender, 60, rtt_ms=2000)
        sender.send(at, at + 1)
        sender.ack(at + 2001, number, (number + 1, number + 2))
        assert sender.next_timer_ms - (at + 2001) == pytest.approx(wait_ms, abs=3)


def test_a_probe_that_repaired_a_loss_is_a_loss():
    # RFC 8985 section 7.4.2: segment 9 was lost; the answer echoes its probe. W = 10 + 9 + 1 in slow start. Linux
    # halves it with the ACK beyond the probe (tcp_process_tlp_ack); what that covers is one of ten for the next.
    sender, at = probed()
    sender.ack(at + 1000, 10, echo_ms=at)
    assert sender.engine.cwnd == 20
    sender.send(at + 1001)
    sender.ack(at + 2001, 11, echo_ms=at + 1001)
    assert (sender.engine.state, sender.engine.ssthresh, sender.engine.cwnd) == ("open", 10, 10)


def test_a_probe_that_repaired_nothing_is_none():
    # The segment had arrived, its ACK had not: the answer to the probe names a duplicate (RFC 2883), which is one more
    # that was delivered (tcp_dsack_seen).
    sender, at = probed()
    sender.ack(at + 1000, 10, echo_ms=at, duplicate=True)
    assert sender.engine.cwnd == 20 + 1
    # Or the answer is that to the segment itself, and echoes its time.
    sender, at = probed()
    sender.ack(at + 10, 10, echo_ms=9)
    assert sender.engine.cwnd == 20


def test_new_data_that_left_as_a_probe_holds_nothing_back():
    # A segment each 2.3 s, and every ACK after the SYN's is lost. With SRTT = 1 s and RTTVAR = 0.5 s that of 1 s is
    # probed for 2 · 1 + 0.2 s later with the one after it, and the timeout is then 1 + 4 · 0.5 s away, at 6.2 s. The
    # window is open, so the third leaves when its turn comes: at 1 + 2 · 2.3 s, and no answer is waited for.
    no_answers = frames([30.0, 30.0, -90.0], t_s=[0.0, 1.0, 2.0], curve=(-10.0, 10.0, [0.0, -300.0]))
    link = net.link(12e6, 1.0, up_loss=no_answers)
    pace = net.rates(8 * net.WIRE / 2.3)
    result = net.run(
        "open-loop",
        link,
        objects=net.bulk(9 * net.MSS),
        parameters=pace,
        constants=net.TICKLESS,
        duration_s=6,
        trace=True,
    )
    assert result.trace is not None
    left_s = result.trace.t_ns[result.trace.event == 0][2:] / net.S
    assert left_s == pytest.approx([1.0, 3.2, 5.6], abs=1e-3)


def probed() -> tuple[Sender, float]:
    """Of ten segments nine are acknowledged; the last one is repeated as a probe, at the time given."""
    sender = flight()
    sender.ack(1008, 9, echo_ms=8)
    assert sender.engine.cwnd == 19
    at = sender.next_timer_ms
    assert sender.timer(at) == "probe"
    sender.engine.repeat_as_probe(round(at * MS), 9)
    return sender, at


def test_a_needless_probe_is_no_loss_though_its_answer_comes_with_a_later_one():
    # New data left after the probe, and one ACK answers both: it covers the new segment and names the probe's segment
    # as a duplicate. Without that it would be the repair of a loss, and halve the window.
    sender, at = probed()
    sender.send(at + 1)
    sender.ack(at + 1001, 11, echo_ms=at, duplicate=True)
    assert (sender.engine.state, sender.engine.cwnd >= 20) == ("open", True)
    sender, at = probed()
    sender.send(at + 1)
    sender.ack(at + 1001, 11, echo_ms=at)
    assert sender.engine.ssthresh == 9  # of 19, the window then


def test_one_probe_is_out_at_a_time():
    # RFC 8985 section 7.2: while a probe is unanswered the timer is the retransmission timeout.
    sender = flight()
    assert sender.timer(sender.next_timer_ms) == "probe"
    assert sender.timer(sender.next_timer_ms) == "timeout"


def test_no_probe_leaves_in_a_recovery():
    # Three SACKed segments beyond 0: a recovery, its timer the timeout of 3 s (srtt 1 s, variance 2 s / 4 · 3).
    sender = flight()
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    sender.repeat(1003)
    assert sender.timer(sender.next_timer_ms) == "repair"  # RACK's, which the first SACK armed, runs on
    assert sender.timer(sender.next_timer_ms) == "timeout"


def test_new_data_restarts_the_probes_clock_though_a_probe_is_out():
    # tcp_write_xmit() ends with tcp_schedule_loss_probe() in the Open state whatever timer runs: of a window of twelve
    # ten are out when the probe leaves at 2 s + 2 ms after the last, new data too, and the timeout of 3 s counts from
    # there. New data half a second later leaves with the oldest segment's timeout (3 s after 0) still to come, and the
    # timer is at that; a second past it, 2 SRTT + 2 ms from there.
    sender = flight()
    first = sender.next_timer_ms
    assert sender.timer(first) == "probe"
    sender.send(first)
    assert sender.next_timer_ms == pytest.approx(first + 3000)
    sender.send(2500)
    assert sender.next_timer_ms == pytest.approx(3000)
    late, _ = probe_out()
    late.send(3500)
    assert late.next_timer_ms == pytest.approx(3500 + 2002)


def test_new_data_beyond_a_hole_restarts_nothing():
    # With a segment SACKed there are no probes (tcp_schedule_loss_probe): RACK's timer, at 1,252 ms, stays.
    sender = flight()
    sender.ack(1001, 0, (1, 2))
    assert sender.next_timer_ms == 1252
    sender.engine.cwnd = 20
    sender.send(1002)
    assert sender.next_timer_ms == 1252
    assert sender.timer(1252) == "repair"


def test_a_probe_that_is_due_while_one_is_out_gives_way_to_the_timeout():
    # tcp_send_loss_probe(): "at most one outstanding". The timeout that it stands in for is past, so it comes at once.
    sender, _ = probe_out()
    sender.send(3500)
    at = sender.next_timer_ms
    assert sender.timer(at) == ""
    assert sender.next_timer_ms == pytest.approx(at, abs=0.001)
    assert sender.timer(at + 0.001) == "timeout"


def test_a_probe_that_is_new_data_is_answered_with_that():
    # tlp_high_seq is SND.NXT after the probe: ten and it are out, and the ACK of the ten leaves it unanswered.
    sender, at = probe_out()
    sender.ack(at + 10, 10, echo_ms=9)
    assert sender.timer(sender.next_timer_ms) == ""
    again, at = probe_out()
    again.ack(at + 10, 11, echo_ms=at)
    again.send(at + 20)
    assert again.timer(again.next_timer_ms) == "probe"


def test_a_repeat_that_probes_is_not_in_flight_twice():
    # __tcp_retransmit_skb() alone: neither retrans_out nor a mark of it.
    sender, _ = probed()
    assert (sender.engine.retrans_out, sender.engine.in_flight) == (0, 1)


def probe_out() -> tuple[Sender, float]:
    """Ten segments are out, and a probe of new data since the time given."""
    sender = flight()
    at = sender.next_timer_ms
    assert sender.timer(at) == "probe"
    sender.send(at)
    return sender, at
