"""The window of a sender in recovery, ACK by ACK (RFC 6937).

The path takes 1 s there and back; ten segments leave 1 ms apart, segment k at k ms, so the ACK of k comes at 1 s + k
ms.
"""

from __future__ import annotations

from .sender import Sender, flight


def test_proportional_rate_reduction_ack_by_ack():
    # ssthresh = 5, RecoverFS = 10. Above the threshold: sndcnt = ⌈prr_delivered · 5 / 10⌉ - prr_out.
    sender = flight()
    windows = []
    for k in range(1, 10):
        sender.ack(1000 + k, 0, (1, k + 1))
        if k < 3:
            continue
        windows.append(sender.engine.cwnd)
        if k == 3:
            assert sender.repeat(1003) == [0]  # prr_out = 1
        while sender.engine.window_open:
            sender.send(1000 + k)
    # k = 3: pipe 6, delivered 1: 6 + ⌈1/2⌉ - 0 = 7;   k = 4: pipe 6 (the repeat is out), 6 + ⌈2/2⌉ - 1 = 6
    # k = 5: pipe 5 = ssthresh, so the other rule: min(5 - 5, ..) = 0: 5;   k = 6: pipe 4, room 1: min(1, max(4 - 1,
    # 1)) = 1: 5 and so on: one new segment for each that arrives.
    assert windows == [7, 6, 5, 5, 5, 5, 5]
    assert sender.engine.ssthresh == 5


def test_what_was_not_sent_in_time_is_made_up_for_below_the_threshold():
    # Nothing goes out but the repeat; four segments are known to have arrived since: prr_delivered - prr_out = 4 - 1
    # = 3 though this ACK delivered one. pipe 4, room min(1, ..) bounds it; with two losses more room is there.
    sender = flight(20)
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    sender.repeat(1003)
    assert sender.engine.ssthresh == 10
    seen = []
    for k in range(4, 19):
        sender.ack(1000 + k, 0, (1, k + 1))
        seen.append(sender.engine.cwnd)
    # pipe = 20 - k (0 repeated, k SACKed) down to 10 at k = 10: proportional: ⌈(k - 2) / 2⌉ - 1 more.
    expected = [20 - k + max(-(-(k - 2) // 2) - 1, 0) for k in range(4, 10)]
    # From k = 10 on room = 10 - pipe = k - 10, and prr_delivered - prr_out = k - 3 ≥ room: the window is the threshold.
    expected += [10] * 9
    assert seen == expected


def test_the_safe_ack_rule_gives_one_more_and_only_without_new_losses():
    # 6 of 12 are lost at once: ssthresh 6. 4 delivered, pipe = 12 - 4 - 6 = 2, room 4: max(4 - 0, 4) = 4: W = 6.
    sender = Sender()
    sender.engine.cwnd = 12
    sender.send(*range(12))
    sender.ack(1009, 0, (6, 10))
    assert sender.engine.cwnd == 6
    assert sender.repeat(1009) == [0, 1, 2, 3]
    # The repeat of 0 arrives, and says that 10 and 11 are lost: pipe = 11 - 4 - 7 + 3 = 3, room 3, max(5 - 4, 1) = 1.
    sender.ack(2009, 1, (6, 10), echo_ms=1009)
    assert sender.engine.cwnd == 4
    assert sender.repeat(2009) == [4]
    # That of 1 arrives and says nothing else: pipe 10 - 4 - 6 + 3 = 3, max(6 - 5, 1) + 1 = 2.
    sender.ack(2010, 2, (6, 10), echo_ms=1009)
    assert sender.engine.cwnd == 5


def test_a_recovery_ends_with_what_was_in_flight_when_it_began():
    # high = 10: a cumulative 9 is short of it, 10 is it: W = ssthresh.
    sender = flight()
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    sender.repeat(1003)
    sender.send(1003)
    sender.ack(2003, 9, echo_ms=1003)
    assert sender.engine.state == "recovery"
    sender.ack(2004, 10)
    assert (sender.engine.state, sender.engine.cwnd) == ("open", 5)


def test_the_next_reduction_starts_from_nothing():
    # A second recovery: prr_delivered and prr_out of the first are forgotten; the first ACK's window is that of a
    # first.
    sender = flight()
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    sender.repeat(1003)
    sender.ack(2003, 10, echo_ms=1003)
    assert (sender.engine.state, sender.engine.cwnd) == (
        "open",
        6,
    )  # 5, and what this ACK covers beyond the recovery grows it
    sender.engine.cwnd = 10
    sender.send(*[2100 + k for k in range(10)])
    for k in (1, 2, 3):
        sender.ack(3100 + k, 10, (11, 11 + k))
    assert sender.engine.cwnd == 7  # pipe 6, ⌈1 · 5 / 10⌉ = 1
    assert sender.engine.ssthresh == 5


def test_the_first_repeat_leaves_at_once_even_where_the_flight_is_the_threshold():
    # 0 and 1 are lost, 2 to 4 arrive: pipe = 10 - 3 - 2 = 5 = ssthresh, room for none. Linux's tcp_cwnd_reduction()
    # sends one all the same, as nothing has gone out yet.
    sender = flight()
    sender.ack(1004, 0, (2, 5))
    assert (sender.engine.ssthresh, sender.engine.in_flight, sender.engine.cwnd) == (5, 5, 6)
    assert sender.repeat(1004) == [0]


def test_what_was_acknowledged_before_a_loss_does_not_count_for_growth_after_it():
    # W = 10 in congestion avoidance: nine segments acknowledged, one short of the next. Then 9 is lost: after the
    # recovery W = 5, and takes five acknowledged segments to grow, not one.
    sender = flight()
    sender.engine.ssthresh = 10
    for k in range(1, 10):
        sender.ack(1000 + k, k, echo_ms=k - 1)
        sender.send(1000 + k)
    assert sender.engine.cwnd == 10
    for k in range(10, 19):
        sender.ack(2000 + k, 9, (10, k + 1), echo_ms=1000 + k)
        sender.repeat(2000 + k)
    assert sender.engine.state == "recovery"
    sender.ack(3012, 19, echo_ms=2012)  # the one segment that it covers counts from here on
    assert (sender.engine.state, sender.engine.cwnd) == ("open", 5)
    sender.send(*[3012] * 5)
    for k in range(1, 5):
        assert sender.engine.cwnd == 5
        sender.ack(4012, 19 + k, echo_ms=3012)
    assert sender.engine.cwnd == 6


def test_an_ack_that_ends_a_recovery_has_losses_judged_as_open_does():
    # 0 is lost, 1 to 9 come in, 0 is repeated at 1,003 ms with 10 and 11 behind it. The ACK at 2,004 ms covers 0 to 9
    # and shows 11: the recovery is over (high_seq = 10), and 10, sent a millisecond before 11, has 0's round trip and a
    # quarter of one until 1003 + 1001 + 250 = 2,254 ms. Linux: tcp_fastretrans_alert() leaves before it judges, and
    # tcp_rack_reo_wnd() is none in Recovery only.
    sender = flight()
    sender.ack(1003, 0, (1, 10), echo_ms=3)
    assert sender.engine.state == "recovery"
    assert sender.repeat(1003)[0] == 0
    sender.send(1003, 1004)
    sender.ack(2004, 10, (11, 12), echo_ms=1004)
    assert (sender.engine.state, sender.engine.lost_out) == ("open", 0)
    assert 2254 <= sender.next_timer_ms <= 2257
    sender.timer(sender.next_timer_ms)
    assert (sender.engine.state, sender.engine.lost_out) == ("recovery", 1)


def test_a_recovery_that_racks_timer_begins_counts_a_segment_as_delivered():
    # tcp_rack_reo_timeout(): the reduction begins with one. 1 and 2 arrive; a quarter of a round trip later 0 is
    # held to be lost: pipe 7, and one more.
    sender = flight()
    sender.ack(1002, 0, (1, 3))
    at = sender.next_timer_ms
    sender.timer(at)
    assert (sender.engine.state, sender.engine.ssthresh, sender.engine.cwnd) == ("recovery", 5, 8)
    assert sender.repeat(at) == [0]
    # pipe 7, ⌈2 · 5 / 10⌉ - 1 = 0 more; then pipe 6, ⌈3 · 5 / 10⌉ - 1 = 1 more.
    sender.ack(at + 1, 0, (1, 4))
    assert sender.engine.cwnd == 7
    sender.ack(at + 2, 0, (1, 5))
    assert sender.engine.cwnd == 7
