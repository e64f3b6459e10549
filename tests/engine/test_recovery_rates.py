"""Pacing, delivery rates, and what congestion controls hear of ACKs.

The path takes 1 s there and back; ten segments leave 1 ms apart, segment k at k ms, so the ACK of k comes at 1 s + k
ms.
"""

from __future__ import annotations

import pytest

from . import net
from .sender import MS, Sender
from .test_laws_bic import Linux


def test_pacing_spaces_segments_by_the_rate_from_the_last_one_on():
    # `fixed`, W = 10 over 1 s: a segment of 1,500 bytes every 100 ms, whether three leave together or not.
    sender = Sender("fixed", parameters=net.windows(10))
    sender.send(0, 0, 0)
    assert sender.engine.pacing_until == pytest.approx(300 * MS)
    sender.send(1000)
    assert sender.engine.pacing_until == pytest.approx(1100 * MS)


def bandwidth(sender: Sender) -> float:
    """Segments a second that BBR's STARTUP paces by: 2.885 · 0.99 · bandwidth · 1,500 bytes."""
    return float(sender.engine.pacing_bytes_per_ns) * 1e9 / (2.885 * 0.99 * 1500)


def measured() -> Sender:
    """One that measures rates, with room for 200 segments."""
    sender = Sender("bbr", option_bytes=0)
    sender.engine.cwnd = 200
    return sender


def test_a_delivery_rate_is_by_the_time_of_acknowledgements():
    # draft-cheng-iccrg-delivery-rate-estimation section 2: 30 segments at 0, all acknowledged at 1 s.
    sender = measured()
    sender.send(*[0] * 30)
    sender.ack(1000, 30)
    assert bandwidth(sender) == pytest.approx(30, rel=1e-3)


def test_a_delivery_rate_is_by_the_time_of_sending_where_that_is_longer():
    # One segment at 0, acknowledged at 2 s; 20 at 1 s, acknowledged at 2.5 s; one at 2 s, acknowledged at 3 s: the path
    # becomes shorter. In the second between, 21 were acknowledged that had left in 2 s: 10.5 a second.
    sender = measured()
    sender.send(0, *[1000] * 20)
    sender.ack(2000, 1)
    sender.send(2000)
    sender.ack(2500, 21)
    sender.ack(3000, 22)
    assert bandwidth(sender) == pytest.approx(10.5, rel=1e-3)


def test_idle_time_does_not_lower_a_delivery_rate():
    # Five seconds without anything in flight, then 60 segments in a round trip of 1 s.
    sender = measured()
    sender.send(*[0] * 30)
    sender.ack(1000, 30)
    sender.engine.cwnd = 200
    sender.send(*[6_000] * 60)
    sender.ack(7_000, 90)
    assert bandwidth(sender) == pytest.approx(60, rel=1e-3)


def test_a_sample_shorter_than_any_round_trip_is_none():
    # Of 40 sent at 0 the first is lost and repeated at 1,003; the answer to the repeat at 1,103 covers all of them:
    # 40 in 100 ms of ACKs would be 400 a second. The least round trip is 1 s, so it says nothing.
    sender = measured()
    sender.send(*range(4))
    for k in (1, 2, 3):
        sender.ack(1000 + k, 0, (1, k + 1))
    sender.engine.cwnd = 200
    assert sender.repeat(1003) == [0]
    before = bandwidth(sender)
    sender.ack(1103, 4, echo_ms=1003)
    assert bandwidth(sender) == pytest.approx(before)


def test_laws_hear_how_many_segments_an_ack_covers():
    # BIC divides its step by the mean number of segments an ACK: five here, where a law that heard of one would take
    # 31/16.
    sender, linux = Sender("bic"), Linux(30, 30)
    sender.engine.cwnd = sender.engine.ssthresh = 30
    for n in range(1, 60):
        sender.send(*[1000 * n] * 5)
        sender.ack(1000 * n + 1000, 5 * n)
        linux.ack(5)
        assert sender.engine.cwnd == linux.cwnd


def test_a_repeats_sample_shorter_than_the_least_round_trip_is_none():
    # Of ten segments 7 to 9 arrive: 3 in 1,009 ms. 0 to 6 are lost, and 0 and 1 repeated. The path has become
    # shorter: 1's repeat arrives after 400 ms, which behind the hole gives no round trip (RFC 7323), nor does RACK hear
    # of it. What is repeated then, 2 to 6, is answered after 400 ms as well: 5 in 400 ms, counted from 1's
    # delivery on. But the least round trip that is known is 1 s, and what is shorter spans a repeat: Linux discards the
    # sample (tcp_rate_gen).
    sender = measured()
    sender.send(*range(10))
    sender.ack(1009, 0, (7, 10), echo_ms=9)
    assert sender.engine.lost_out == 7
    sender.engine.cwnd = 2
    assert sender.repeat(1300) == [0, 1]
    sender.ack(1700, 0, (1, 2), (7, 10), echo_ms=1300)
    before = bandwidth(sender)
    sender.engine.cwnd = 200
    assert set(sender.repeat(1700)) == {2, 3, 4, 5, 6}
    sender.ack(2100, 0, (1, 10), echo_ms=1700)
    assert bandwidth(sender) == pytest.approx(before)


def test_bbrs_first_segments_leave_as_they_come():
    # Linux paces from the tenth segment of a connection on (tcp_update_skb_after_send()).
    sender = measured()
    sender.send(*[0] * 9)
    assert sender.engine.pacing_until == 0
    sender.send(0)
    assert sender.engine.pacing_until == pytest.approx(1500 / sender.engine.pacing_bytes_per_ns)


@pytest.mark.parametrize(("late", "credit"), [(0.0, 0.0), (0.3, 0.3), (0.5, 0.5), (9.0, 0.5)])
def test_under_bbr_what_leaves_late_holds_the_next_back_less(late, credit):
    # By as much as it was late, but at most half a gap: Linux, as above.
    sender = measured()
    gap_ms = 1500 / sender.engine.pacing_bytes_per_ns / MS
    sender.send(*[0] * 10)
    sender.send((1 + late) * gap_ms)
    assert sender.engine.pacing_until / MS == pytest.approx((1 + late + 1 - credit) * gap_ms, rel=1e-6)


def test_what_the_application_held_back_does_not_lower_a_bandwidth():
    # 30 segments in the first round trip, then 20 round trips of 5, after which the application has nothing more: its
    # samples of 5 a second are marked, so that BBR's maximum, of ten round trips, keeps to the 30.
    sender = measured()
    sender.send(*[0] * 30)
    sender.ack(1000, 30)
    before = float(sender.engine.pacing_bytes_per_ns)
    at, number = 1000.0, 30
    sender.send(at, starved=True)
    number += 1
    for _ in range(20):
        sender.engine.cwnd = 200
        sender.engine.send(round(at * MS), 5, True)
        at, number = at + 1000, number + 5
        sender.ack(at, number, echo_ms=at - 1000)
    assert float(sender.engine.pacing_bytes_per_ns) > 0.3 * before


def test_a_full_segment_alone_is_not_taken_for_one_whose_ack_waited():
    # 20 segments a second over 1 s there and back. One after BBR's 10 s takes 2 s: a full one, whose ACK waits for
    # no other (tcp_clean_rtx_queue: FLAG_ACK_MAYBE_DELAYED), so that the least round trip is 2 s from then on, and
    # 2.885 x 20 x 2 segments may be under way, not 2.885 x 20 x 1 of which 70 are more.
    sender = Sender("bbr", option_bytes=0)
    sender.send(*[0] * 20)
    sender.ack(1000, 20)
    sender.send(9100)
    sender.ack(11_100, 21)
    sender.send(*[12_000] * 20)
    sender.engine.cwnd = 70
    sender.ack(14_000, 41)
    assert sender.engine.cwnd == 90
