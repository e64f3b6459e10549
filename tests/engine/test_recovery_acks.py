"""What a sender reads from ACKs: round trips, counts, the least RTT, the application's limit.

The path takes 1 s there and back; ten segments leave 1 ms apart, segment k at k ms, so the ACK of k comes at 1 s + k
ms.
"""

from __future__ import annotations

import pytest

from .sender import MS, Sender, clean_rounds, flight


def test_the_round_trip_of_an_ack_that_covers_two_is_the_firsts_for_the_timeout_and_the_lasts_for_the_laws():
    # Segments at 0 and 500 ms, one ACK at 1,500: 1.5 s for srtt (7/8 + 1.5/8 = 1.0625), 1 s for the laws.
    sender = Sender()
    sender.send(0, 500)
    sender.ack(1500, 2)
    assert sender.engine.srtt_ns == 1062.5 * MS
    assert sender.engine.last_rtt_ns == 1000 * MS


def test_the_same_behind_a_hole():
    sender = Sender()
    sender.engine.cwnd = 10
    sender.send(0, 500, 600, 700)
    sender.ack(1700, 0, (1, 4))
    assert sender.engine.srtt_ns == (7 * 1000 + 1200) / 8 * MS
    assert sender.engine.last_rtt_ns == 1000 * MS


def test_a_repeat_behind_a_hole_gives_no_round_trip():
    # RFC 7323 section 4.1: only where SND.UNA advances. 1's repeat is SACKed, 0 is not there.
    sender = flight()
    sender.ack(1004, 0, (2, 5))
    sender.engine.cwnd = 20
    assert sender.repeat(1004) == [0, 1]
    before = sender.engine.srtt_ns
    sender.ack(3004, 0, (1, 5), echo_ms=1004)
    assert sender.engine.srtt_ns == before


def test_delivered_segments_leave_all_counts():
    sender = flight()
    sender.ack(1004, 0, (2, 5))
    sender.repeat(1004)
    sender.ack(2004, 2, (2, 5), echo_ms=1004)
    sender.ack(2010, 5)
    assert (sender.engine.sacked_out, sender.engine.retrans_out) == (0, 0)
    assert sender.engine.in_flight == 10 - 5 - sender.engine.lost_out


def test_an_ack_of_nothing_new_does_not_grow_the_window():
    sender = flight()
    for _ in range(5):
        sender.ack(1000, 0)
    assert sender.engine.cwnd == 10


def test_the_window_is_open_below_it_only():
    sender = flight(9)
    sender.engine.cwnd = 10
    assert sender.engine.window_open
    sender.send(10)
    assert not sender.engine.window_open


def test_the_application_limits_until_what_it_left_is_delivered():
    # draft-cheng-iccrg-delivery-rate-estimation section 3.4: the bubble is behind delivered + in flight.
    sender = Sender()
    sender.engine.cwnd = 10
    sender.send(0, 1, 2, starved=True)
    assert sender.engine.app_limited == 3
    assert not sender.engine.is_cwnd_limited
    sender.engine.cwnd = 100
    sender.engine.send(3 * MS, 2, False)
    sender.ack(1002, 3)
    assert sender.engine.app_limited == 3
    sender.ack(1003, 4)
    assert sender.engine.app_limited == 0


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_the_least_round_trip_is_remembered_for_five_minutes(scale):
    # 1 s at first, 1.5 s ever after: known for 300 s at least, forgotten after 600 s; a scale stretches both.
    sender = Sender(scale=scale)
    at, number = clean_rounds(sender, 1)
    seen = []
    for _ in range(round(500 * scale)):
        sender.send(at)
        at += 1500
        number += 1
        sender.ack(at, number)
        seen.append((at / 1000, sender.engine.min_rtt_ns / MS))
    assert all(least == 1000 for t, least in seen if t < 299 * scale)
    assert all(least == 1500 for t, least in seen if t > 602 * scale)


def test_an_ack_that_covers_a_repeat_gives_the_round_trip_of_the_first_that_its_blocks_name():
    # Linux tcp_ack_update_rtt(): what it covers is no sample (Karn), though 4 was never repeated; what its blocks name
    # is. 7 and 8 left at 7 and 8 ms: a sample of 1,993 for srtt, 8's 1,992 for the laws.
    sender = flight()
    sender.ack(1003, 0, (1, 4))
    assert sender.repeat(1003) == [0]
    before = sender.engine.srtt_ns
    sender.ack(2000, 5, (7, 9), echo_ms=1003)
    assert sender.engine.srtt_ns == pytest.approx(before + (1993 * MS - before) / 8, abs=2)
    assert sender.engine.last_rtt_ns == 1992 * MS
