"""What becomes of an ltp session when reports, checkpoints, refusals and cancellations cross (RFC 5326, section 6).

The link of ``test_ltp``: a full segment takes 1 ms either way, light 5 s, timers run 10.004 s.
"""

from __future__ import annotations

import pytest

from dstcc.engine import CrossTraffic, Loss

from . import net
from .test_channel_frames import frames
from .test_ltp import (
    CONTROL_S,
    LIGHT_S,
    MARGIN_S,
    RTT_S,
    SEGMENT_S,
    blocks,
    done_s,
    nth_lost,
    path,
    report_s,
    transfer,
    with_one_to_come,
)

ALL = Loss("packet", 1.0)


def dead(*windows_s: tuple[int, int], until_s: int = 100) -> Loss:
    """Everything is lost in the windows of whole seconds, nothing beside them."""
    t_s = [
        0.5 + second for second in range(until_s)
    ]  # Eb/N0 holds for a second, as it is in the middle of it
    ebn0 = [-90.0 if any(a <= t < b for a, b in windows_s) else 30.0 for t in t_s]
    return frames(ebn0, t_s=t_s, curve=(-10.0, 10.0, [0.0, -300.0]))


# ------------------------------------------------------------------------------------------------- the sender's clocks


def test_a_repeated_checkpoints_answer_tells_the_fate_of_both_copies():
    # Segments 4 and 8 of 8 are lost; 8, the checkpoint, is sent again at 10.012 s and answered at 20.013 s. The report
    # tells of all nine transmissions, so that in flight is the repair of 4 alone, until its report at 30.01 s.
    result = transfer(path(loss=nth_lost(4)), with_one_to_come(blocks(1, 8)), slot_s=4.0, duration_s=34)
    assert result.totals.timeouts == 1
    assert result.samples.inflight_segments[:8].tolist() == [8, 8, 9, 9, 9, 1, 1, 0]


def test_the_answer_to_a_repair_tells_the_fate_of_all_its_segments():
    # Segments 3 and 6 of 7 are lost, and so is the repair of 3, the ninth packet behind an acknowledgement. The report
    # at 20.02 s is of the two repairs, so that in flight is the second repair of 3 alone, until its timer at 30.03 s.
    result = transfer(path(loss=nth_lost(3)), with_one_to_come(blocks(1, 7)), slot_s=4.0, duration_s=34)
    assert result.samples.inflight_segments[:7].tolist() == [7, 7, 2, 2, 2, 1, 1]


def test_a_session_that_is_over_leaves_its_record_to_the_next():
    # A layer every 100 s is acknowledged within 11 s: one session is ever open, of 200 layers or of 2000.
    peaks = {
        count: transfer(path(), net.live(count, (8 * net.MSS,), chunk_s=100.0)).totals.engine_peak_bytes
        for count in (200, 2000)
    }
    assert peaks[200] == peaks[2000]


def test_only_what_was_sent_once_gives_a_round_trip_time():
    # As above. The answer at 20.013 s may be to either copy of the checkpoint (Karn); that to the repair, one round
    # trip and one report of one claim, is the only sample.
    result = transfer(path(loss=nth_lost(4)), with_one_to_come(blocks(1, 8)), slot_s=4.0, duration_s=34)
    assert result.totals.rtt_samples == 1
    assert result.totals.rtt_sum_s == pytest.approx(RTT_S + report_s(1), abs=1e-8)


def test_the_clock_runs_on_until_reports_answer_for_all_of_the_scope():
    # Of 601 segments every second is lost: 301 claims of 2 · 3 bytes, so 241 in the first report (1,498 bytes) and 60
    # in the second, which is lost, as is the acknowledgement of the first (packet 602). Both reports' timers run out,
    # and a timer's time after the first report the sender asks again for the rest: three timeouts. The duration ends
    # it before the repairs' reports are due.
    link = path(loss=nth_lost(2), up_loss=nth_lost(2))
    first = 0.601 + LIGHT_S + (52 + 241 * 6) * 8 / 12e6 + LIGHT_S
    result = transfer(link, blocks(1, 601), duration_s=first + RTT_S + MARGIN_S + 1e-4)
    assert result.totals.timeouts == 3


def test_a_reports_length_is_a_segments():
    # Every second of 4,001 segments is lost, the checkpoint is not: 2,001 claims, 181 of 2 · 4 bytes in the first
    # report of 1,500 bytes. The round trip is to that one: 1 ms of line.
    result = transfer(path(loss=nth_lost(2)), blocks(1, 4001), duration_s=4.001 + 1.5 * RTT_S)
    assert result.totals.rtt_samples == 1
    assert result.totals.rtt_sum_s == pytest.approx(RTT_S + report_s(181, 4), abs=1e-8)


def test_sessions_close_when_all_is_claimed():
    # A block a second over 10 s: a dozen sessions or so are open at once, however many there are in all.
    short, long = (transfer(path(), net.live(count, (8 * net.MSS,))).totals for count in (200, 600))
    assert long.engine_peak_bytes == short.engine_peak_bytes


# ------------------------------------------------------------------------------------------------------ the receiver


def test_a_report_that_waits_for_the_line_is_asked_for_in_vain():
    # The way up carries 1.2 kbit/s: a report of one claim of 2 bytes takes 56 bytes, 0.3733 s, and the margin is
    # 2 · (1 ms + 10 s). Of 100 blocks of one segment the k-th's report is back at 5 + 0.3733 k + 5 s; those after
    # 30.002 s, k = 54 and later, are asked for again, which the receiver hears at 35 s. The reports that have begun by
    # then, to k = 81, are queued a second time, behind the hundredth, and go out from 42.33 s on, one in 0.3733 s,
    # unless they were acknowledged by then, at 15 + 0.3733 k. So the eight from k = 74 to 81 are sent twice. Those
    # that waited at 35 s are sent once.
    slow = net.link(12e6, RTT_S, up_rate_bps=1.2e3)
    totals = transfer(slow, with_one_to_come(blocks(100, 1), at_s=200)).totals
    report = 56 * 8 / 1.2e3
    asked_again = [k for k in range(1, 101) if 10 + report * k > 30.002]
    assert totals.timeouts == len(asked_again) == 47
    queued_again = [k for k in asked_again if 5 + report * (k - 1) < 35]
    again, free = 0, 5 + report * 100
    for k in queued_again:
        if 15 + report * k > free:
            again, free = again + 1, free + report
    assert again == 8
    # One acknowledgement of 40 bytes for each report that came.
    assert totals.sent_wire_bytes - totals.data_packets * net.WIRE == (100 + again) * 40


@pytest.mark.parametrize("limit", [0, 2])
def test_a_cancellation_ends_a_refusal(limit):
    # Segment 3 of 4 is lost, and all that goes up. The way up is ten times as fast: timers run 10 s + 2 · 1.1 ms. With
    # limit 0 the checkpoint's runs out at 4 ms + 10.0022 s and the session is cancelled; the report left at 5.004 s and
    # 4 us, its timer runs out just before the cancellation comes, so the receiver begins to refuse. The cancellation
    # ends that: the third and last timeout is the cancellation's own. With limit 2 each of the three is tried thrice.
    link = path(loss=nth_lost(3), up_loss=ALL, up_rate_bps=120e6)
    result = transfer(link, with_one_to_come(blocks(1, 4)), retry_limit=limit, duration_s=1000)
    assert result.objects.given_up[0] == 1
    tries = 1 + limit
    assert result.totals.timeouts == 3 * tries


def test_a_session_that_was_refused_takes_no_more():
    # A segment each half second, and 4 to 9 of 10 lost in [1.5, 4.5). The report is back at 14.5 s; its acknowledgement
    # and the first repairs are lost in [14, 17), those from 17 s on arrive from 22 s on. By then the report's timer
    # (9.5 + 10.004 s) has run out once, which is the limit: the receiver has refused, and four segments are all it has.
    link = path(loss=dead((1, 4), (14, 17)))
    result = transfer(
        link,
        with_one_to_come(blocks(1, 10)),
        parameters=net.rates(24e3),
        retry_limit=0,
        duration_s=1000,
    )
    before = sum(1 for k in range(10) if not 1 <= k / 2 < 4)
    assert result.objects.given_up[0] == 1
    assert result.totals.arrived_payload_bytes == before * net.MSS
    assert result.totals.duplicate_payload_bytes > 0
    assert result.objects.complete_ns[0] < 0
    # The sender hears of it at 24.5 s, before any clock of its own runs out, and is through with the session.
    assert result.totals.timeouts == 1


def test_the_way_up_has_outages_of_its_own():
    # Only the way up is dark, from 1 s to 100 s, and both ends know. The report leaves at 100 s, no timer runs out, and
    # the repair of segment 4 comes light later.
    link = path(loss=nth_lost(4), up_outages_ns=((net.ns(1), net.ns(100)),))
    result = transfer(link, blocks(1, 5))
    assert result.totals.timeouts == 0
    repaired = 100 + report_s(2) + LIGHT_S + CONTROL_S + SEGMENT_S + LIGHT_S
    assert done_s(result) == pytest.approx([repaired], abs=1e-8)


def test_the_outages_of_the_way_down_do_not_hold_reports_back():
    # Only the way down is dark, from 5 s to 12 s: the report leaves at 5.005 s all the same and is back at 10.005 s;
    # the repair waits for the light.
    link = path(loss=nth_lost(4), outages_s=((5.0, 12.0),), up_outages_ns=())
    result = transfer(link, blocks(1, 5))
    assert done_s(result) == pytest.approx([12 + CONTROL_S + SEGMENT_S + LIGHT_S], abs=1e-8)


# ------------------------------------------------------------------------------------------------------------- green


def test_green_waits_behind_no_gap():
    totals = transfer(path(loss=nth_lost(3)), blocks(20, 8), green_from_layer=0).totals
    assert totals.lost_channel_packets == 160 // 3
    assert totals.hol_payload_bytes == 0


@pytest.mark.parametrize("segments", [100, 101])
def test_a_green_block_is_not_done_with_while_segments_are_under_way(segments):
    # Told twice the line's rate, with a queue of 10 packets: every second segment finds no room, of one or the other
    # length the last one as well. Then 10 still wait in the queue, and arrive up to 10 ms after light from now would.
    narrow = net.link(12e6, RTT_S, queue_bytes=15_000)
    result = transfer(narrow, blocks(1, segments), green_from_layer=0, parameters=net.rates(24e6))
    arrived = segments - result.totals.dropped_queue_packets
    assert 0 < arrived < segments
    assert result.objects.delivered_bytes[0] == arrived * net.MSS


# ----------------------------------------------------------------------------------------------------------- samples


def test_the_95th_wait_is_not_the_median():
    # A segment each 10.37 ms, and a datagram of another each 5 ms, 1 ms on the line: of the segments, whose phases are
    # even, one in five waits, w ms or more (1 - w) / 5 of them. A twentieth waits 0.75 ms.
    busy = net.link(12e6, RTT_S, cross_traffic=(CrossTraffic(2.4e6, 1500),))
    result = transfer(busy, blocks(1, 2000), parameters=net.rates(12e6 / 10.37))
    assert result.totals.queue_p95_s == pytest.approx(0.75e-3, rel=0.05)  # as fine as the histogram
