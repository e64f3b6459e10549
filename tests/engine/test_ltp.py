"""ltp's laws (RFC 5326), with the arithmetic written down.

The usual link: 12 Mbit/s, so that a full segment (1,500 bytes on the wire) takes 1 ms either way; round-trip light time
10 s. A report has 40 + 12 bytes and a claim twice the bytes of the block's length as an SDNV (7 bits each); control
segments have 40 bytes. Timers run for light there and back and a margin of 2 × (a full segment down + one up) = 4 ms.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dstcc.engine import NEVER_NS, CrossTraffic, EngineResult, Link, Loss, Objects

from . import net
from .test_channel_frames import frames

RTT_S = 10.0
LIGHT_S = RTT_S / 2
SEGMENT_S = 1e-3
CONTROL_S = 40 * 8 / 12e6
MARGIN_S = 4e-3
EVERY = 1e-9
"""Each transmission rounds to a nanosecond."""


def report_s(claims: int, length_bytes: int = 2) -> float:
    """Time of a report on the line; a block of 128 to 16,383 bytes has a length of two."""
    return (40 + 12 + claims * 2 * length_bytes) * 8 / 12e6


def nth_lost(n: int) -> Loss:
    """Every n-th packet by count is lost: the n-th is the only one if fewer than 2 n are sent."""
    return Loss("periodic", 1 / n)


def path(**knobs: object) -> Link:
    return net.link(12e6, RTT_S, **knobs)  # type: ignore[arg-type]


def transfer(
    links: Link | tuple[Link, ...], objects: Objects, *, scheduler: str = "none", **knobs: object
) -> EngineResult:
    return net.run("ltp", links, objects=objects, scheduler=scheduler, **knobs)


def blocks(count: int, segments: int) -> Objects:
    """Blocks of full segments, all there from the start."""
    return dataclasses.replace(
        net.live(count, (segments * net.MSS,)), release_ns=np.zeros(count, dtype=np.int64)
    )


def done_s(result: EngineResult) -> list[float]:
    return [float(t) / net.S for t in result.objects.complete_ns]


# ------------------------------------------------------------------------------------------------- without loss


def test_a_block_takes_its_length_at_the_rate_and_the_light_time():
    # 8 segments of 1 ms, 5 s of light; no handshake.
    assert done_s(transfer(path(), blocks(1, 8))) == pytest.approx([8e-3 + LIGHT_S], abs=EVERY)


def test_blocks_follow_each_other_without_waiting_for_reports():
    result = transfer(path(), blocks(50, 8))
    assert done_s(result) == pytest.approx([8e-3 * (k + 1) + LIGHT_S for k in range(50)], abs=1e-7)
    assert result.totals.retransmitted_payload_bytes == 0


def test_a_told_rate_spaces_the_segments():
    # 6 Mbit/s on a 12 Mbit/s line: a segment every 2 ms, the last one takes 1 ms.
    result = transfer(path(), blocks(1, 8), parameters=net.rates(6e6))
    assert done_s(result) == pytest.approx([7 * 2e-3 + 1e-3 + LIGHT_S], abs=EVERY)


def test_the_round_trip_is_that_of_checkpoint_and_report():
    result = transfer(path(), net.live(20, (8 * net.MSS,), chunk_s=1.0))
    mean = result.totals.rtt_sum_s / result.totals.rtt_samples
    assert mean == pytest.approx(RTT_S + report_s(1), abs=1e-6)


def test_a_red_block_goes_up_whole():
    # Segment k of 8 waits for the 7 - k that follow: 28 ms of waiting for 8 segments, and no byte behind a gap.
    totals = transfer(path(), blocks(1, 8)).totals
    assert totals.hol_wait_byte_s == pytest.approx(net.MSS * 28e-3, rel=1e-6)
    assert totals.hol_payload_bytes == 0


# ------------------------------------------------------------------------------------------------------ one loss


def test_a_lost_segment_costs_one_checkpoint_round_trip():
    # The sixth of eight is lost. The checkpoint is there at 8 ms + light, its report (two claims) a report and light
    # later; the sender acknowledges it, sends the segment again, and light takes it there.
    result = transfer(path(loss=nth_lost(6)), blocks(1, 8))
    lossless = 8e-3 + LIGHT_S
    assert result.totals.lost_channel_packets == 1
    assert done_s(result) == pytest.approx([lossless + RTT_S + report_s(2) + CONTROL_S + SEGMENT_S], abs=1e-8)
    assert result.objects.retransmissions[0] == 1
    # The seventh and the eighth came behind a gap.
    assert result.totals.hol_payload_bytes == 2 * net.MSS


def test_a_lost_checkpoint_costs_its_timer():
    # It departs at 8 ms; light there and back and the margin later it is sent again.
    result = transfer(path(loss=nth_lost(8)), blocks(1, 8))
    assert result.totals.timeouts == 1
    assert done_s(result) == pytest.approx([8e-3 + RTT_S + MARGIN_S + SEGMENT_S + LIGHT_S], abs=1e-8)


def test_a_lost_report_costs_its_timer():
    # Two blocks of four; segment 3 of the second and the second report are lost. The report is sent again when its
    # timer, which starts as it departs, runs out; the gap is closed after the acknowledgement.
    result = transfer(path(loss=nth_lost(7), up_loss=nth_lost(2)), blocks(2, 4))
    departed = 8e-3 + LIGHT_S + report_s(2)
    again = departed + RTT_S + MARGIN_S + report_s(2)
    assert done_s(result)[1] == pytest.approx(again + LIGHT_S + CONTROL_S + SEGMENT_S + LIGHT_S, abs=1e-8)


def test_a_repair_that_is_lost_costs_another_checkpoint_round_trip():
    # The third of four is lost, and so is its repair (packet 6 after one acknowledgement), which was a checkpoint.
    result = transfer(path(loss=nth_lost(3)), blocks(1, 4))
    first = 4e-3 + RTT_S + report_s(2) + CONTROL_S + SEGMENT_S
    assert done_s(result) == pytest.approx([first + RTT_S + MARGIN_S + SEGMENT_S + LIGHT_S], abs=1e-8)


# ---------------------------------------------------------------------------------------------------- many losses


@pytest.mark.parametrize("p", [0.01, 0.1, 0.3])
def test_rounds_are_geometric_in_the_loss(p):
    # With every report through, what is lost is sent again and nothing else: p / (1 - p) repeats a segment.
    result = transfer(path(loss=Loss("packet", p)), blocks(400, 100))
    totals = result.totals
    assert (result.objects.complete_ns > 0).all()
    assert totals.duplicate_payload_bytes == 0
    assert totals.retransmitted_payload_bytes / 40_000 / net.MSS == pytest.approx(p / (1 - p), rel=0.1)
    # A block of 100 is whole after the most rounds of its 100 geometric segments: P(r or fewer) = (1 - p^r)^100.
    rounds = np.ceil((result.objects.complete_ns / net.S - LIGHT_S) / RTT_S)
    within_two = ((result.objects.complete_ns - result.objects.first_sent_ns) / net.S < 2 * RTT_S).mean()
    assert rounds.min() >= 1
    assert within_two == pytest.approx((1 - p**2) ** 100, abs=0.08)


def test_claims_beyond_a_segment_take_several_reports():
    # Every second of 4,000 segments is lost: 2,000 claims of 2 × 4 bytes, 181 in a report of 1,500 bytes.
    alternating = path(loss=nth_lost(2))
    result = transfer(alternating, blocks(1, 4000))
    assert result.objects.complete_ns[0] > 0
    assert result.totals.duplicate_payload_bytes == 0
    # The last of 12 reports (11 full ones, then 9 claims) comes a round trip and their time on the line later.
    assert result.totals.rtt_sum_s / result.totals.rtt_samples < RTT_S + 12e-3


def test_a_report_is_answered_for_its_own_scope():
    # One of the reports of a checkpoint is lost: the others' gaps are repaired a round trip before its own.
    result = transfer(path(loss=nth_lost(2), up_loss=nth_lost(5)), blocks(1, 4000))
    assert result.objects.complete_ns[0] > 0
    assert result.totals.duplicate_payload_bytes <= 10 * net.MSS


def test_an_unanswered_checkpoint_cancels_the_session():
    # Nothing comes back. The checkpoint is sent three times, each a timeout after the one before; then the layer is
    # given up, as its third segment never came.
    result = transfer(path(loss=nth_lost(3), up_loss=Loss("packet", 1.0)), blocks(1, 4), retry_limit=2)
    assert result.objects.given_up[0] == 1
    assert result.end_ns / net.S == pytest.approx(
        4e-3 + 3 * (RTT_S + MARGIN_S) + 2 * SEGMENT_S, abs=SEGMENT_S / 2
    )


def test_what_is_there_is_delivered_though_no_report_comes_back():
    result = transfer(path(up_loss=Loss("packet", 1.0)), blocks(3, 4))
    assert (result.objects.complete_ns > 0).all()


# ---------------------------------------------------------------------------------------------------------- green


def test_green_is_sent_once_and_never_repeated():
    p, n = 0.05, 20
    result = transfer(path(loss=Loss("packet", p)), blocks(2000, n), green_from_layer=0)
    totals = result.totals
    assert totals.retransmitted_payload_bytes == 0
    assert totals.rtt_samples == 0
    assert totals.delivered_payload_bytes / totals.sent_payload_bytes == pytest.approx(1 - p, rel=0.01)
    assert (result.objects.complete_ns > 0).mean() == pytest.approx((1 - p) ** n, abs=0.04)
    np.testing.assert_array_equal(result.objects.given_up == 1, result.objects.complete_ns < 0)


def test_green_goes_up_as_it_comes():
    totals = transfer(path(), blocks(4, 8), green_from_layer=0).totals
    assert totals.hol_wait_byte_s == 0


def test_only_the_layers_named_are_green():
    lossy = path(loss=Loss("packet", 0.2))
    result = transfer(lossy, net.live(200, (20_000, 20_000)), green_from_layer=1)
    assert (result.objects.complete_ns[::2] > 0).all()
    assert (
        transfer(lossy, net.live(200, (20_000, 20_000))).objects.complete_ns > 0
    ).all()  # none is by itself
    assert (result.objects.complete_ns[1::2] > 0).mean() < 0.2
    assert (result.objects.retransmissions[1::2] == 0).all()


# -------------------------------------------------------------------------------------------------------- outages


def test_a_known_outage_suspends_the_timers():
    # Dark from 1 s to 100 s: the checkpoint arrives at 5.005 s, its report leaves at 100 s. No timer runs out.
    result = transfer(path(loss=nth_lost(4), outages_s=((1, 100),)), blocks(1, 5))
    assert result.totals.timeouts == 0
    repaired = 100 + report_s(2) + LIGHT_S + CONTROL_S + SEGMENT_S + LIGHT_S
    assert done_s(result) == pytest.approx([repaired], abs=1e-8)


@pytest.mark.parametrize("dark_s", [1.0, 1.0005])
def test_nothing_is_sent_into_a_known_outage(dark_s):
    # 2 s of data from time 0, dark from 1 s to 31 s, or from half a segment later on: what would be cut waits for the
    # light.
    result = transfer(path(outages_s=((dark_s, 31),)), blocks(20, 100))
    assert result.totals.lost_channel_packets == 0
    assert done_s(result)[-1] == pytest.approx(31 + 1 + LIGHT_S, abs=1e-6)


def test_a_dark_link_leaves_its_blocks_to_another():
    # The dark link would have them at 105 s; the slow one sends a block in 0.8 s, and from 10.8 s on an acknowledgement
    # for each of seven reports.
    dark, slow = path(outages_s=((0, 100),)), net.link(120e3, RTT_S)
    result = transfer((dark, slow), blocks(20, 8))
    assert (result.objects.subflow == 1).all()
    assert done_s(result)[-1] == pytest.approx(20 * 0.8 + 7 * 100 * CONTROL_S + LIGHT_S, abs=1e-6)


# --------------------------------------------------------------------------------------------------- link choice


def test_a_block_goes_where_its_delivery_is_expected_first():
    # Near: 1.2 Mbit/s and 1 s away. Far: 12 Mbit/s and 5 s away. A block of n ms at 12 Mbit/s takes 10 n there:
    # near wins until 10 n + 1,000 > n + 5,000, n > 444.
    near, far = net.link(1.2e6, 2.0), path()
    for segments, expected in ((400, 0), (480, 1)):
        assert transfer((near, far), blocks(1, segments)).objects.subflow.tolist() == [expected]


def test_both_links_finish_together():
    # 2 × 12 Mbit/s share 4,000 segments evenly, a block at a time.
    result = transfer((path(), path()), blocks(40, 100))
    assert np.bincount(result.objects.subflow).tolist() == [20, 20]
    assert max(done_s(result)) == pytest.approx(2.0 + LIGHT_S, abs=1e-6)


def test_layers_keep_to_the_links_they_are_pinned_to():
    objects = net.live(10, (4000, 4000, 4000))
    result = transfer((path(), path()), objects, scheduler="layer-pinned", layer_links=(1, 0))
    assert result.objects.subflow.tolist() == [1, 0, 0] * 10


# ------------------------------------------------------------------------------------------------------ deadlines


def test_what_no_link_could_bring_in_time_is_never_sent():
    # 1 s of line for each second's chunk, 5 s of light, 5.5 s to the deadline.
    result = transfer(path(), net.live(20, (1000 * net.MSS,), playout_s=5.5))
    assert result.totals.sent_payload_bytes == 0
    assert (result.objects.given_up == 1).all()


def test_a_repair_that_light_could_not_bring_in_time_is_a_cancelled_session():
    # The deadline is 12 s after capture: a report is back after 10, a repair there after 15.
    lossy = path(loss=Loss("packet", 0.3))
    result = transfer(lossy, net.live(50, (20 * net.MSS,), playout_s=12.0))
    assert result.totals.retransmitted_payload_bytes == 0
    assert (result.objects.given_up[result.objects.complete_ns < 0] == 1).all()


def test_overload_is_shed_before_it_is_sent():
    # Twice what the line carries: half of the layers arrive, all of them in time; hardly a byte is sent for nothing.
    result = transfer(
        path(), net.live(60, (1000 * net.MSS, 1000 * net.MSS), playout_s=12.0), layer_first=True
    )
    done = result.objects.complete_ns >= 0
    assert done[::2].mean() > 0.95
    assert result.totals.delivered_payload_bytes > 0.97 * result.totals.sent_payload_bytes


# ----------------------------------------------------------------------------------------------------- the others


def test_the_time_scale_does_not_matter():
    lossy = path(loss=Loss("packet", 0.1), up_loss=Loss("packet", 0.1))
    one, other = (transfer(lossy, blocks(50, 20), scale=s) for s in (1.0, 60.0))
    np.testing.assert_array_equal(one.objects.complete_ns, other.objects.complete_ns)
    assert one.totals == other.totals


def test_datagrams_of_others_take_their_share_of_the_line():
    # ltp sends at the link's rate whatever else is there: half the rate beside it, and the queue drops a third.
    busy = net.link(12e6, RTT_S, queue_bdp=0.01, cross_traffic=(CrossTraffic(6e6, 1500),))
    totals = transfer(busy, blocks(100, 100)).totals
    assert totals.dropped_queue_packets > 1000
    assert totals.delivered_payload_bytes == 100 * 100 * net.MSS


@pytest.mark.parametrize("scheduler", ["minrtt", "redundant"])
def test_a_scheduler_is_refused(scheduler):
    with pytest.raises(ValueError, match="takes no scheduler"):
        transfer(path(), blocks(1, 1), scheduler=scheduler)


def test_a_block_too_long_for_its_numbers_is_refused():
    with pytest.raises(ValueError, match="fewer than 2\\^31 segments"):
        transfer(path(), net.bulk(net.MSS * 2**31))


@pytest.mark.parametrize("end_s", [4e9, 1e5])
def test_a_run_without_a_duration_outlasts_any_outage_but_an_endless_one(end_s):
    # Dark from 20 s on, for ever (127 years) or for a day: 20 x RTO_MAX (120 s) after the last delivery a run ends,
    # unless the outage has an end, which is waited for.
    links = path(outages_s=((20.0, end_s),))
    result = transfer(links, blocks(100, 1000), slot_s=600.0, duration_s=None)
    delivered = result.totals.delivered_payload_bytes == 100 * 1000 * net.MSS
    assert delivered == (end_s == 1e5)
    assert (2400 < result.end_ns / net.S < 4000) != delivered


# ------------------------------------------------------------------------------------- limits of repetition (§6.7, 6.8)


def dying(at_s: float) -> Loss:
    """Nothing is lost before, everything after: a code whose Eb/N0 falls below its curve."""
    return frames([30.0, 30.0, -90.0], t_s=[0.0, at_s, at_s + 1], curve=(-10.0, 10.0, [0.0, -300.0]))


def with_one_to_come(objects: Objects, *, at_s: float = 5000.0) -> Objects:
    """A block of one more segment, long after, so that the run does not end with the others."""
    return Objects(
        np.append(objects.chunk, objects.chunk[-1] + 1),
        np.append(objects.layer, 0),
        np.append(objects.payload_bytes, net.MSS),
        np.append(objects.release_ns, net.ns(at_s)),
        np.append(objects.deadline_ns, NEVER_NS if objects.deadline_ns[0] == NEVER_NS else net.ns(at_s + 1)),
    )


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_report_and_then_a_refusal_are_repeated_to_the_limit(limit):
    # The block arrives whole; from second 2 on nothing passes down, so no acknowledgement of its report. The report
    # is sent 1 + limit times, each timer runs out; then the receiver refuses, as often. The sender acknowledges each.
    result = transfer(
        path(loss=dying(1.0)),
        with_one_to_come(blocks(1, 4)),
        retry_limit=limit,
        duration_s=1000,
    )
    totals = result.totals
    assert result.objects.complete_ns[0] > 0
    assert totals.timeouts == 2 * (1 + limit)
    assert totals.sent_wire_bytes == 4 * net.WIRE + 2 * (1 + limit) * 40
    assert totals.data_packets == 4


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("green_from_layer", -1), ("green_from_layer", float("nan")), ("retry_limit", -1), ("retry_limit", 2e6)],
)
def test_a_parameter_that_means_nothing_is_refused_by_its_name(parameter, value):
    with pytest.raises(ValueError, match=f"ltp: {parameter} must be 0 to"):
        transfer(path(), blocks(1, 4), **{parameter: value})


@pytest.mark.parametrize("given", [0, 2, None])
def test_a_cancellation_is_repeated_to_the_limit(given):
    # Captured at 1 s, due at 13 s, the third segment is lost and nothing comes back. The checkpoint's timer runs out
    # at 11 s, when light has no time left: cancelled, 1 + limit times, each unanswered.
    result = transfer(
        path(loss=nth_lost(3), up_loss=Loss("packet", 1.0)),
        with_one_to_come(net.live(1, (4 * net.MSS,), playout_s=12.0)),
        retry_limit=given,
        duration_s=1000,
    )
    limit = 20 if given is None else given
    assert result.objects.given_up[0] == 1
    assert result.totals.timeouts == 1 + (1 + limit)
    assert result.totals.sent_wire_bytes == 4 * net.WIRE + (1 + limit) * 40


def test_a_cancellation_that_is_answered_is_sent_once():
    # The first checkpoint (the fourth packet) is lost: cancelled when its timer runs out at 11 s, answered at 21 s.
    result = transfer(
        path(loss=nth_lost(4)),
        with_one_to_come(net.live(1, (4 * net.MSS,), playout_s=12.0)),
        duration_s=1000,
    )
    assert result.objects.given_up[0] == 1
    assert result.totals.timeouts == 1
    assert result.totals.sent_wire_bytes == 4 * net.WIRE + 40


def test_a_refused_session_is_given_up():
    # Segment 3 is lost, so the block is not whole; the report arrives, is acknowledged in vain, and its gap is sent in
    # vain: checkpoints go unanswered as well. Whoever is through first, sender or receiver, the layer is given up once.
    lossy = dying(0.0021)
    result = transfer(path(loss=lossy), with_one_to_come(blocks(1, 4)), retry_limit=1, duration_s=1000)
    assert result.objects.given_up[0] == 1
    assert result.objects.complete_ns[0] < 0


# ----------------------------------------------------------------------------------------------------------- samples


def test_samples_count_each_slots_own():
    # Slots of 4 s: eight segments and no more in the first; the report tells of one loss in the third, which is
    # repeated; in the fifth all eight are known to have come. In flight: eight until the report, one until the second.
    result = transfer(path(loss=nth_lost(6)), with_one_to_come(blocks(1, 8)), slot_s=4.0, duration_s=40)
    samples = result.samples
    assert samples.sent_segments[:6].tolist() == [8, 0, 1, 0, 0, 0]
    assert samples.lost_segments[:6].tolist() == [0, 0, 1, 0, 0, 0]
    assert samples.retransmitted_segments[:6].tolist() == [0, 0, 1, 0, 0, 0]
    assert samples.delivered_bytes[:6].tolist() == [0, 0, 7 * net.MSS, 0, 0, net.MSS]
    assert samples.inflight_segments[:6].tolist() == [8, 8, 1, 1, 1, 0]


def test_a_repeated_checkpoint_gives_no_round_trip_time():
    # Karn: the checkpoint is lost once; what its repeat's answer took says nothing of either.
    result = transfer(path(loss=nth_lost(8)), blocks(1, 8))
    assert result.totals.rtt_samples == 0


def test_the_last_segment_counts_its_own_bytes():
    # 3 full segments and one of 100 bytes: 4 headers, and 100 bytes take 140 · 8 / 12e6 s.
    one = dataclasses.replace(blocks(1, 1), payload_bytes=np.array([3 * net.MSS + 100]))
    result = transfer(path(), with_one_to_come(one), slot_s=4.0, duration_s=40)
    assert result.samples.delivered_bytes.sum() == 3 * net.MSS + 100
    assert done_s(result)[0] == pytest.approx(3e-3 + 140 * 8 / 12e6 + LIGHT_S, abs=1e-8)
    # 4,480 bytes in segments, and the acknowledgement of the report: 40.
    assert result.totals.sent_wire_bytes == 3 * net.MSS + 100 + 4 * 40 + 40


def test_waits_are_for_the_line_that_others_use():
    # Datagrams of others take every second millisecond: a segment waits for the one in front, 95 of 100 at most a
    # little more than their 1 ms.
    busy = net.link(12e6, RTT_S, queue_bdp=0.1, cross_traffic=(CrossTraffic(6e6, 1500),))
    totals = transfer(busy, blocks(1, 400)).totals
    idle = transfer(path(), blocks(1, 400)).totals
    assert idle.queue_p95_s <= 1e-6
    assert totals.queue_p95_s > 0.05
