"""When a sender's retransmission timer runs, and what a timeout does (RFC 6298).

The path takes 1 s there and back; ten segments leave 1 ms apart, segment k at k ms, so the ACK of k comes at 1 s + k
ms.
"""

from __future__ import annotations

import math

import pytest

from .sender import MS, Sender, flight


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
    assert (sender.engine.state, sender.engine.lost_out, sender.engine.cwnd, sender.engine.ssthresh) == (
        "loss",
        10,
        1,
        5,
    )
    assert sender.engine.timeouts == 1
    assert sender.repeat(9000) == [0]


def test_a_timeout_spares_what_left_within_a_round_trip():
    # RACK's round trip is 1 s. 0..8 left at 0 to 8 ms, 9 at 4.9 s; the timeout comes at 5 s or so: 9 is still on its
    # way.
    sender = Sender()
    sender.engine.cwnd = 20
    sender.send(0)
    sender.ack(1000, 1)
    sender.send(*[1001 + k for k in range(9)])
    assert sender.timer(3100) == "probe"
    at = sender.next_timer_ms
    sender.send(at - 100)
    assert sender.timer(at) == "timeout"
    assert sender.engine.lost_out == 9
    assert sender.engine.cwnd == 2  # one in flight, and one more


def test_a_timeout_loses_the_head_however_late_it_left():
    sender = Sender()
    sender.engine.cwnd = 20
    sender.send(0)
    sender.ack(1000, 1)
    sender.send(1001)
    assert sender.timer(3300) == "probe"
    sender.engine.repeat_as_probe(3300 * MS, 1)
    at = sender.next_timer_ms
    assert sender.timer(at) == "timeout"
    assert sender.engine.lost_out == 1


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
    assert sender.engine.ssthresh == 5
    for _ in range(3):
        sender.timer(sender.next_timer_ms)
    assert sender.engine.ssthresh == 5


def test_an_answer_ends_the_backoff():
    # RTO 3 s, doubled twice; an RTT sample of new data sets it to what the estimator says.
    sender = timed_out(2)
    assert sender.repeat(6000) == [0]
    sender.ack(7000, 1, echo_ms=6000)  # a time stamp's sample: SRTT 1 s
    assert sender.engine.timeouts == 1
    sender.engine.cwnd = 3
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
        assert sender.engine.state == ("loss" if k < 4 else "open")
        sender.repeat(at + 1000 * k)


def test_a_sack_of_what_left_after_the_heads_repeat_does_not_put_its_timeout_off():
    # 0 is repeated at 1,003. A SACK of 4, which left before, restarts the timeout; one of 10, which left after, does
    # not.
    sender = flight()
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    sender.repeat(1003)
    sender.engine.cwnd = 30
    sender.send(1010, 1011)
    sender.ack(1104, 0, (1, 5))
    restarted = sender.next_timer_ms
    assert restarted > 1104 + 1000
    sender.engine.cwnd = 30
    sender.ack(2010, 0, (10, 11), (1, 5))
    sender.ack(2011, 0, (10, 12), (1, 5))
    assert sender.next_timer_ms == restarted


def test_a_timeout_loses_the_head_though_it_left_within_a_round_trip():
    # A round trip of 200 s, and timeouts of 120 s at most: the head, repeated as a probe 120 s before the timeout,
    # might still arrive. Linux's tcp_enter_loss() takes it for lost nevertheless, or nothing would be sent.
    sender = Sender(rtt_ms=200_000)
    sender.send(0)
    sender.ack(200_000, 1)
    sender.send(200_000)
    at = sender.next_timer_ms
    assert sender.timer(at) == "probe"
    sender.engine.repeat_as_probe(round(at * MS), 1)
    at = sender.next_timer_ms
    assert sender.timer(at) == "timeout"
    assert sender.engine.lost_out == 1
    assert sender.repeat(at) == [1]


def test_a_rest_lasts_no_longer_than_rto_max_beyond_the_outage():
    # A handshake of 100 s: three times that is more than RTO_MAX = 120 s.
    sender = Sender(rtt_ms=100_000)
    sender.send(0)
    sender.engine.rest(round(500_000 * MS))
    assert sender.next_timer_ms == 500_000 + 120_000


# ------------------------------------------------------------------------------------------------------ the timer wheel


def on_the_wheel(armed_ms: float, due_ms: float, jiffy_ms: int = 4) -> int:
    """When a timer of Linux goes off (timer.c, calc_wheel_index): up to 62 jiffies ahead in the next one, to
    503 in the next multiple of 8, to 4,031 in that of 64, and so on."""
    expires = int(armed_ms // jiffy_ms) + math.ceil((due_ms - armed_ms) / jiffy_ms)
    ahead, step = expires - int(armed_ms // jiffy_ms), 1
    while ahead >= 63 * step:
        step *= 8
    return (expires // step + 1) * step * jiffy_ms


@pytest.mark.parametrize("armed_ms", [0, 1, 3, 4, 1001, 123_457])
@pytest.mark.parametrize("rtt_ms", [10, 22, 120, 123, 124, 1000, 1007, 1008, 8000, 8066, 30_000])
def test_timers_go_off_when_the_wheel_comes_round(rtt_ms, armed_ms):
    # Two segments, so that the probe is due after 2 RTT + 2 ms: 22 ms to 60 s ahead, on all sides of 63 · 8^n jiffies.
    sender = Sender(rtt_ms=rtt_ms, constants={"jiffy_s": 0.004})
    sender.send(armed_ms, armed_ms)
    due = sender.next_timer_ms
    assert due == armed_ms + 2 * rtt_ms + 2
    assert sender.timer(due) == ""
    assert sender.next_timer_ms == on_the_wheel(armed_ms, due)
    assert sender.timer(sender.next_timer_ms - 0.001) == ""
    assert sender.timer(sender.next_timer_ms) == "probe"


@pytest.mark.parametrize(("uptime_s", "at_ms"), [(0.0, 2240), (0.05, 2270), (-300.0, 2240), (-0.003, 2243)])
def test_timers_lie_on_the_machines_wheel(uptime_s, at_ms):
    # 2.2 s are 220 ticks of 10 ms: 63 and more, so the wheel's slots are 8 ticks apart (kernel/time/timer.c). From tick
    # 0 the slot after 220 is 224; from tick 5 that after 225 is 232, 227 later; 30,000 before 0 is a multiple of 8; at
    # -3 ms it is tick -1, 219 is followed by 224, and the clock is 3 ms behind.
    sender = Sender(constants={"jiffy_s": 0.01, "uptime_s": uptime_s})
    sender.send(0)
    assert sender.timer(2200) == ""
    assert sender.next_timer_ms == at_ms
    assert sender.timer(at_ms) == "probe"


def test_timeouts_double_whole_ticks():
    # __tcp_set_rto(): 3 · 1,000.4 ms are 301 ticks of 10 ms, and doubled 602, not the 601 that 6,002.4 ms would be.
    sender = Sender(rtt_ms=1000.4, constants={"jiffy_s": 0.01})
    sender.send(0)
    while sender.timer(at := sender.next_timer_ms) != "timeout":
        pass
    assert sender.next_timer_ms - at == pytest.approx(6020)


def test_repeats_that_are_lost_after_a_timeout_begin_a_recovery():
    # tcp_fastretrans_alert(): FLAG_LOST_RETRANS. All ten are repeated at 9 s, and only the sixth comes through.
    sender = timed_out()
    sender.engine.cwnd = 10
    assert sender.repeat(9000) == [0]
    sender.engine.push()
    assert sender.repeat(9000) == list(range(1, 10))
    assert (sender.engine.state, sender.engine.ssthresh) == ("loss", 5)
    sender.engine.cwnd = 8
    sender.ack(10_000, 0, (5, 6), echo_ms=9000)
    assert (sender.engine.state, sender.engine.ssthresh) == ("recovery", 4)
    assert sender.repeat(10_000)[0] == 0


def test_a_probe_that_gives_way_to_the_timeout_leaves_it_where_it_was():
    # tcp_rearm_rto(): with a probe pending the timeout counts from when the oldest segment left. 1..3 are SACKed: a
    # recovery, in which no probe is. Then 0 to 3 arrive: 4 left at 4 ms.
    sender = flight()
    sender.ack(1003, 0, (1, 4))
    assert sender.engine.state == "recovery"
    sender.ack(1010, 4, (4, 5))
    timeout = sender.next_timer_ms - 4
    again = flight()
    again.ack(1003, 0, (1, 4))
    assert again.repeat(1003) == [0]  # the head's repeat starts it anew
    again.ack(1010, 4, (4, 5))
    assert again.next_timer_ms - 1010 == pytest.approx(timeout, abs=1)


def test_a_repeats_round_trip_is_counted_in_milliseconds():
    # RFC 7323's clock is one of milliseconds (TCP_TS_HZ): 1,000.6 ms from 0.5 ms past one are 1,001, from 0.3 1,000.
    for past_ms, measured in ((0.5, 1001), (0.3, 1000)):
        sender = timed_out(2)
        assert sender.repeat(9000 + past_ms) == [0]
        sender.ack(9000 + past_ms + 1000.6, 1, echo_ms=9000 + past_ms)
        assert sender.engine.last_rtt_ns == measured * MS


def test_a_timeout_repeats_one_segment_however_wide_the_window():
    # tcp_retransmit_timer() repeats the head; the rest of a window of ten that a law keeps waits for an ACK, or for a
    # push (tcp_tsq_write), or for what a second timeout repeats in its turn.
    sender = timed_out()
    sender.engine.cwnd = 10
    assert sender.repeat(9000) == [0]
    assert not sender.engine.window_open
    at = sender.next_timer_ms
    assert sender.timer(at) == "timeout"
    sender.engine.cwnd = 10
    assert sender.repeat(at) == [0]
    sender.ack(at + 1000, 1, echo_ms=at)
    sender.engine.cwnd = 10
    assert sender.repeat(at + 1000) == list(range(1, 10))


def test_a_push_lets_the_window_go_after_a_timeout():
    sender = timed_out()
    sender.engine.cwnd = 4
    assert sender.repeat(9000) == [0]
    assert sender.repeat(9001) == []
    sender.engine.push()
    assert sender.repeat(9001) == [1, 2, 3]  # one of four is out


def test_the_timeout_after_racks_timer_counts_from_when_the_oldest_left():
    # tcp_rearm_rto(): ten are out since 0 ms; RACK's timer runs at 1,252 ms, and the timeout of 3 s (1 s, 4 · 0.5 s)
    # does not count from then.
    sender = flight()
    sender.ack(1001, 0, (1, 2))
    assert sender.timer(1252) == "repair"
    assert sender.next_timer_ms == pytest.approx(3000, abs=1)


@pytest.mark.parametrize(("law", "window"), [("vegas", 1), ("newreno", 2)])
def test_the_first_repeat_after_a_timeout_leaves_idle(law, window):
    # tcp_event_data_sent(): all ten are lost and nothing is in flight, CA_EVENT_TX_START. Vegas, which is Reno since
    # the timeout, begins anew with it (tcp_vegas_cwnd_event), and does not grow at its threshold within a round. Reno
    # does.
    sender = flight(congestion=law)
    sender.timer(2011)
    at = sender.next_timer_ms
    assert sender.timer(at) == "timeout"
    assert sender.engine.in_flight == 0
    sender.engine.ssthresh = 1
    assert sender.repeat(at + 1) == [0]
    sender.ack(at + 1001, 1, echo_ms=at + 1)
    assert sender.engine.cwnd == window
