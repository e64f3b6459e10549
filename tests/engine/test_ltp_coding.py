"""Erasure coding of ltp (CCSDS 131.5-O-1, ION's ECLSA): matrices, their repair, and when LTP is asked.

As in test_ltp.py: a full segment takes 1 ms on the line, light 5 s, control segments have 40 bytes. A block of eight
segments is released at 1 s and opens a matrix, whose time of two seconds is up at 3 s; then its repair segments leave.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine import Coding, CodingResults, EngineResult, Link, Loss, Objects, simulate
from tests.sampling import examples

from . import net
from .test_ltp import CONTROL_S, EVERY, LIGHT_S, MARGIN_S, RTT_S, SEGMENT_S, done_s, nth_lost, path, report_s

CLOSED_S = 3.0
QUARTER = (0.25,)
NO_PERIODS = np.zeros(0, dtype=np.int64)


def coded(
    links: Link | tuple[Link, ...],
    objects: Objects,
    *,
    repair: tuple[float, ...] | None = QUARTER,
    block_s: float = 2.0,
    code: str = "mds",
    rule: str = "",
    **knobs: object,
) -> EngineResult:
    made = net.config("ltp", links, objects=objects, scheduler="none", **knobs)  # type: ignore[arg-type]
    return simulate(
        replace(made, coding=Coding(NO_PERIODS, net.ns(block_s), () if rule else repair, code, rule=rule))
    )


def eight(**more: object) -> Objects:
    return net.live(1, (8 * net.MSS,), **more)  # type: ignore[arg-type]


def matrices(result: EngineResult) -> CodingResults:
    assert result.coding is not None
    return result.coding


# ------------------------------------------------------------------------------------------------------- decoding


def test_source_segments_go_as_they_are_and_are_there_at_once():
    result = coded(path(), eight())
    assert done_s(result) == pytest.approx([1 + 8e-3 + LIGHT_S], abs=EVERY)
    coding = matrices(result)
    assert (coding.source_packets[0], coding.planned_packets[0], coding.repair_packets[0]) == (
        8,
        2,
        2,
    )  # 0.25 x 8
    assert (coding.repair_bytes[0], coding.whole[0], coding.recovered[0]) == (2 * net.MSS, 1, 0)
    assert result.totals.repair_payload_bytes == 2 * net.MSS
    assert result.totals.sent_payload_bytes == 10 * net.MSS


def test_a_lost_segment_is_back_with_the_first_repair_segment():
    # Seven and one are eight. Its report would have cost a round trip more.
    result = coded(path(loss=nth_lost(6)), eight())
    assert done_s(result) == pytest.approx([CLOSED_S + SEGMENT_S + LIGHT_S], abs=1e-8)
    assert result.totals.retransmitted_payload_bytes == 0
    assert result.totals.recovered_payload_bytes == net.MSS
    coding = matrices(result)
    assert (coding.decoded_ns[0], coding.recovered[0]) == (result.objects.complete_ns[0], 1)


def test_repair_segments_are_lost_too():
    # Every third is lost: 3, 6 of the source, 9 and 12 of the four repair segments. The eleventh is the eighth to come.
    result = coded(path(loss=nth_lost(3)), eight(), repair=(0.5,))
    assert done_s(result) == pytest.approx([CLOSED_S + 3 * SEGMENT_S + LIGHT_S], abs=1e-8)
    assert matrices(result).arrived_packets[0] == 8


def test_a_matrix_that_lacks_more_than_its_repair_is_asked_for():
    # Of ten segments 3, 6 and 9 are lost: seven are too few. The answer to the checkpoint waits until the tenth is
    # there, at 3.002 s and light, and claims 1, 2 | 4, 5 | 7, 8. Its acknowledgement is the 11th segment on the line.
    result = coded(path(loss=nth_lost(3)), eight())
    over = CLOSED_S + 2 * SEGMENT_S + LIGHT_S
    assert matrices(result).whole[0] == 0
    asked = over + report_s(3) + LIGHT_S + CONTROL_S + 2 * SEGMENT_S + LIGHT_S
    # Segment 3 was the 12th, and lost again; 6, the new checkpoint, the 13th. Behind the next acknowledgement segment 3
    # is the 15th, a checkpoint, and lost; it comes a timer later.
    departed = asked + report_s(2) + LIGHT_S + CONTROL_S + SEGMENT_S
    assert done_s(result) == pytest.approx([departed + RTT_S + MARGIN_S + SEGMENT_S + LIGHT_S], abs=1e-8)
    assert result.objects.retransmissions[0] == 4


def test_a_lost_checkpoint_is_brought_back_and_answered():
    result = coded(path(loss=nth_lost(8)), net.live(2, (8 * net.MSS,), chunk_s=20.0), duration_s=39.9)
    assert result.objects.complete_ns[0] / net.S == pytest.approx(22 + SEGMENT_S + LIGHT_S, abs=1e-8)
    assert result.totals.timeouts == 0
    # The sender hears of it: nothing is in flight when the next block is still to come.
    assert result.samples.inflight_segments[-1] == 0


def test_a_checkpoint_that_stays_lost_counts_from_the_last_repair_segment():
    # Every fourth is lost: 4 and 8, the checkpoint. With one repair segment, an eighth of eight, seven are too few: the
    # checkpoint is sent again a timer after the ninth left.
    result = coded(path(loss=nth_lost(4)), eight(), repair=(0.125,), duration_s=100.0)
    again = CLOSED_S + SEGMENT_S + RTT_S + MARGIN_S  # the tenth segment on the line
    assert matrices(result).whole[0] == 0
    # Its report claims 1 to 3 and 5 to 8; after the acknowledgement (11th) segment 4 is the twelfth, and lost once
    # more; it was a checkpoint, and is sent again after its timer.
    asked = again + SEGMENT_S + LIGHT_S + report_s(2) + LIGHT_S + CONTROL_S + SEGMENT_S
    assert done_s(result) == pytest.approx([asked + RTT_S + MARGIN_S + SEGMENT_S + LIGHT_S], abs=1e-8)
    assert result.totals.timeouts == 2


def test_whole_blocks_are_answered_at_once():
    # The round trip that is measured has no time of a matrix in it.
    result = coded(path(), net.live(20, (8 * net.MSS,)))
    assert result.totals.rtt_sum_s / result.totals.rtt_samples == pytest.approx(RTT_S + report_s(1), abs=5e-3)


def test_an_answer_that_waited_is_no_round_trip():
    result = coded(path(loss=nth_lost(6)), eight(), duration_s=60.0)
    assert result.totals.rtt_samples == 0


# --------------------------------------------------------------------------------------------- what is in a matrix


def test_blocks_that_begin_within_its_time_share_a_matrix():
    # Chunks at 1, 2, 3, 4 s: the first opens one for two seconds, that of 3 s the next.
    result = coded(path(), net.live(4, (4 * net.MSS,)), duration_s=30.0)
    coding = matrices(result)
    assert coding.block.tolist() == [0, 0, 1, 1]
    assert coding.source_packets.tolist() == [8, 8]
    assert coding.repair_packets.tolist() == [2, 2]


def test_one_matrix_brings_back_several_blocks():
    # Of two blocks of four, segments 3 and 6 are lost; 9 is the first repair segment, of four.
    result = coded(path(loss=nth_lost(3)), net.live(2, (4 * net.MSS,)), repair=(0.5,))
    back = CLOSED_S + 3 * SEGMENT_S + LIGHT_S
    assert done_s(result) == pytest.approx([back, back], abs=1e-8)
    assert matrices(result).recovered.tolist() == [1, 1]


def test_layers_have_matrices_and_shares_of_their_own():
    result = coded(path(), net.live(1, (8 * net.MSS,) * 3), repair=(0.25, 0.0, 0.5), duration_s=30.0)
    coding = matrices(result)
    assert coding.block.tolist() == [0, -1, 1]  # a share of 0, as one that is not given, codes nothing
    assert coding.repair_packets.tolist() == [2, 4]


def test_links_have_matrices_of_their_own():
    result = coded((path(), path()), net.live(2, (4 * net.MSS,) * 2), repair=(0.25, 0.25), duration_s=30.0)
    coding = matrices(result)
    assert len(set(zip(coding.block.tolist(), result.objects.subflow.tolist(), strict=True))) == len(
        set(coding.block.tolist())
    )


def test_a_block_under_way_when_the_time_is_up_ends_first():
    # 4,000 segments take four seconds, the matrix two.
    result = coded(path(), net.live(1, (4000 * net.MSS,)), repair=(0.001,), duration_s=30.0)
    assert (matrices(result).source_packets[0], matrices(result).repair_packets[0]) == (4000, 4)


def test_what_ltp_repeats_is_in_no_matrix():
    result = coded(path(loss=nth_lost(3)), eight(), duration_s=100.0)
    assert matrices(result).source_packets.tolist() == [8]


def test_a_matrix_ends_where_its_code_does():
    # 65,535 source segments: the second block of 40,000 does not fit.
    fast = net.link(1.2e10, RTT_S)
    result = coded(
        fast, net.live(2, (40_000 * net.MSS,), chunk_s=0.5), repair=(0.5,), block_s=1.0, duration_s=30.0
    )
    assert matrices(result).source_packets.tolist() == [40_000, 40_000]
    assert matrices(result).repair_packets.tolist() == [20_000, 20_000]


def test_repair_that_would_come_too_late_is_not_sent():
    # Due 5.5 s after the capture at 1 s: at 3 s light takes until 8 s.
    result = coded(path(loss=nth_lost(3)), eight(playout_s=5.5))
    assert (matrices(result).planned_packets[0], matrices(result).repair_packets[0]) == (2, 0)
    assert result.objects.given_up[0] == 1


@given(st.integers(1, 10_000), st.floats(0.0, 0.5), st.floats(5.01, 40.0), st.floats(0.5, 5.0))
@examples(30)
def test_deadlines_and_a_link_that_carries_less_than_there_is(seed, p, playout_s, share):
    # 1.6 times what the line takes, and repair on top: blocks wait, are given up, and repair comes too late for them.
    result = coded(
        path(loss=Loss("packet", p), up_loss=Loss("packet", p / 2)),
        net.live(12, (1000 * net.MSS, 600 * net.MSS), playout_s=playout_s),
        repair=(share, share / 2),
        seed=seed,
    )
    done, lost = result.objects.complete_ns > 0, result.objects.given_up != 0
    assert (done ^ lost).all()
    assert matrices(result).repair_packets.sum() <= matrices(result).planned_packets.sum()


def test_green_segments_are_brought_back_or_lost():
    back = coded(path(loss=nth_lost(6)), eight(), green_from_layer=0)
    assert done_s(back) == pytest.approx([CLOSED_S + SEGMENT_S + LIGHT_S], abs=1e-8)
    lost = coded(path(loss=nth_lost(3)), eight(), green_from_layer=0, duration_s=60.0)
    assert lost.objects.given_up[0] == 1
    assert lost.objects.delivered_bytes[0] == 6 * net.MSS
    assert lost.totals.retransmitted_payload_bytes == 0


def test_raptorq_fails_now_and_then_where_mds_does_not():
    # With as many as k some matrices of RaptorQ stay undecoded; more than k + 2 bring nearly all back.
    def undecoded(code: str) -> int:
        result = coded(
            path(loss=Loss("packet", 0.1)),
            net.live(400, (10 * net.MSS,)),
            repair=(0.1,),
            block_s=0.5,
            code=code,
        )
        coding = matrices(result)
        enough = (coding.arrived_packets >= coding.source_packets) & (coding.whole == 0)
        return int(enough.sum())

    assert undecoded("mds") == 0
    assert 0 < undecoded("raptorq") < 12


@given(
    st.integers(1, 10_000),
    st.floats(0.0, 0.4),
    st.floats(0.0, 1.0),
    st.floats(0.3, 4.0),
    st.sampled_from(["", "delayed-feedback"]),
)
@examples(40)
def test_a_matrix_comes_back_with_k_and_every_block_in_the_end(seed, p, share, block_s, rule):
    result = coded(
        path(loss=Loss("packet", p), up_loss=Loss("packet", p / 2)),
        net.live(12, (5 * net.MSS, 3 * net.MSS + 7)),
        repair=(share, share / 2),
        block_s=block_s,
        rule=rule,
        seed=seed,
    )
    coding = matrices(result)
    assert (result.objects.complete_ns > 0).all()
    assert (
        result.totals.delivered_payload_bytes
        == result.objects.delivered_bytes.sum()
        == 12 * (8 * net.MSS + 7)
    )
    decoded, repaired = coding.decoded_ns >= 0, coding.repair_packets > 0
    # A decoder knows of k by a repair segment. (What was on its way at the end of the trial counts for nothing.)
    assert (coding.arrived_packets[decoded] >= coding.source_packets[decoded]).all()
    assert repaired[decoded].all()
    assert (coding.repair_packets <= coding.planned_packets).all()


# ------------------------------------------------------------------------------------------- who sets the rate


def test_feedback_sets_the_rate_a_round_trip_later():
    # A matrix of 100 a second, closed half a second after it opens. At first s = 8/9: rate 1 - 1.15/9 = 0.872, so
    # ceil(114.65) - 100 = 15. Feedback of the first is there 10 s after it is over, at 1.5 + 0.015 + 5 + 5 s and a bit:
    # the eleventh next (closed at 12.5 s) is the first to heed it, with 8/9 at most: 12.5 -> 13.
    result = coded(
        path(), net.live(20, (100 * net.MSS,)), block_s=0.5, rule="delayed-feedback", duration_s=40.0
    )
    assert matrices(result).planned_packets.tolist() == [15] * 11 + [13] * 9


def test_lost_feedback_changes_nothing():
    result = coded(
        path(up_loss=Loss("packet", 1.0)),
        net.live(20, (100 * net.MSS,)),
        block_s=0.5,
        rule="delayed-feedback",
        duration_s=25.0,
    )
    assert set(matrices(result).planned_packets.tolist()) == {15}


def test_shares_need_no_feedback():
    # Every packet of the answers' direction is a report: as many with repair as without.
    plain = net.run(
        "ltp", path(), objects=net.live(4, (8 * net.MSS,)), scheduler="none", duration_s=60.0, trace=False
    )
    with_repair = coded(path(), net.live(4, (8 * net.MSS,)), duration_s=60.0)
    repair = matrices(with_repair).repair_packets.sum()
    sent = with_repair.totals.sent_wire_bytes - plain.totals.sent_wire_bytes
    assert sent == repair * (net.MSS + 40)
