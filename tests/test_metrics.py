from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pytest
from dstcc_svc import Quality
from hypothesis import given
from hypothesis import strategies as st

from dstcc.engine.config import CodingResults, Objects
from dstcc.metrics import (
    METRICS,
    Metrics,
    compute,
    is_metric,
    layer_table,
    play_by_deadline,
    play_with_stalls,
    prefix_levels,
)
from tests.made_results import S, objects, result

INF = float("inf")

# Two chunks of three layers; deadlines at 10 s and 11 s.
#   chunk 0: all three layers complete by 10 s                                  → level 2
#   chunk 1: BL at 11 s (just in time), EL1 at 11.5 s (late), EL2 at 9 s (early) → level 0, EL2 is of no use
SOURCE = objects(3, [100, 200, 300, 100, 200, 300], [0, 1], [10, 11])
COMPLETE = [5.0, 6.0, 10.0, 11.0, 11.5, 9.0]


TWO_AND_ONE = Objects(
    chunk=np.array([0, 0, 1]),
    layer=np.array([0, 1, 0]),
    payload_bytes=np.array([100, 100, 100]),
    release_ns=np.zeros(3, dtype=np.int64),
    deadline_ns=np.full(3, 10 * S),
)


def metrics(complete: list[float | None] | None = None, **totals: Any) -> Metrics:
    made = result(SOURCE, complete or list(COMPLETE), **totals)
    return compute(SOURCE, made, play_by_deadline(SOURCE, made), best_weight=1000.0)


def test_layers_played() -> None:
    assert metrics().layers_played == (0.0, 0.5, 0.0, 0.5)
    assert metrics().document()["layers_played"] == {"none": 0.0, "0": 0.5, "1": 0.0, "2": 0.5}
    assert list(metrics().flat())[:4] == ["layers_played.none", *(f"layers_played.{i}" for i in range(3))]


def test_playback_ratio_and_full_quality() -> None:
    assert metrics().values["playback_ratio"] == 1.0
    assert metrics().values["full_quality_ratio"] == 0.5
    without_base = metrics([None, 6.0, 10.0, 11.0, 11.5, 9.0])
    assert without_base.layers_played == (0.5, 0.5, 0.0, 0.0)
    assert without_base.values["playback_ratio"] == 0.5
    assert without_base.values["full_quality_ratio"] == 0


def test_weighted_layers_is_played_weight_over_all_weight() -> None:
    # played: 300 + 200 + 100 of chunk 0 and 300 of chunk 1; in all 2 × 600
    assert metrics().values["weighted_layers"] == pytest.approx(900 / 1200)


def test_oracle_ratio_is_played_weight_over_the_clairvoyant_one() -> None:
    assert metrics().values["oracle_ratio"] == pytest.approx(900 / 1000)


def test_what_was_brought_home_is_what_was_played_and_that_of_whole_chunks() -> None:
    # played: all 600 bytes of chunk 0 and the 100 of chunk 1's BL, whose early EL2 is of no use; chunk 0 alone is whole
    assert metrics().values["bytes_in_time"] == 600 + 100
    assert metrics().values["full_quality_bytes"] == 600
    assert metrics([None] * 6).values["bytes_in_time"] == 0.0


def test_hol_metrics() -> None:
    values = metrics(hol_payload_bytes=300.0, hol_wait_byte_s=2400.0).values
    assert values["hol_blocking_ratio"] == 300 / 1200
    assert values["hol_wait_s"] == 2400 / 1200


def test_throughput_counts_what_was_delivered_and_goodput_what_was_played() -> None:
    # active from the first send at 0.5 s to the last delivery at 11.5 s: 11 s
    values = metrics(first_send_s=0.5).values
    assert values["throughput_bps"] == pytest.approx(8 * 1200 / 11)
    assert values["goodput_bps"] == pytest.approx(8 * (600 + 100) / 11)


def test_rates_over_less_than_a_second_are_rates() -> None:
    # from 11.25 s to the last delivery at 11.5 s
    assert metrics(first_send_s=11.25).values["throughput_bps"] == pytest.approx(8 * 1200 / 0.25)


def test_completion_is_from_first_send_to_the_last_layer() -> None:
    assert metrics(first_send_s=0.5).values["completion_s"] == pytest.approx(11.0)
    assert metrics([5.0, None, 10.0, 11.0, 11.5, 9.0]).values["completion_s"] is None


def test_cost_metrics() -> None:
    values = metrics(
        retransmitted_payload_bytes=120.0,
        sent_payload_bytes=1320.0,
        rtt_sum_s=30.0,
        rtt_samples=4.0,
        queue_p95_s=0.7,
    ).values
    assert values["retransmitted_ratio"] == pytest.approx(120 / 1320)
    assert values["sent_bytes"] == 1320.0
    assert values["delivered_bytes"] == 1200.0
    assert values["mean_rtt_s"] == 7.5
    assert values["p95_queue_s"] == 0.7


def test_nothing_arrives() -> None:
    values = metrics([None] * 6).values
    assert values["playback_ratio"] == values["weighted_layers"] == values["oracle_ratio"] == 0.0
    for name in (
        "hol_blocking_ratio",
        "hol_wait_s",
        "throughput_bps",
        "goodput_bps",
        "completion_s",
        "mean_rtt_s",
    ):
        assert values[name] is None, name


def test_deadline_playout_has_no_stall_metrics() -> None:
    assert [metrics().values[name] for name in ("startup_s", "stall_s", "stalls")] == [None, None, None]


def test_every_metric_is_named_once_and_known() -> None:
    assert tuple(metrics().values) == METRICS
    assert len(set(METRICS)) == len(METRICS)
    assert all(is_metric(name) for name in metrics().flat())
    assert not is_metric("layers_played")
    assert not is_metric("layers_played.8")


def test_a_completion_at_second_0_is_one() -> None:
    # A pass that needs no time: complete at 0 ns is not the engine's −1.
    assert metrics([0.0] * 6).values["completion_s"] == 0
    assert metrics([0.0] * 6).values["playback_ratio"] == 1


def test_what_guards_did_is_what_they_held_back_and_how_often_they_took_over() -> None:
    assert metrics().values["guard_actions"] is None
    assert metrics(guard_clamps=3.0, guard_fallbacks=4.0).values["guard_actions"] == 3 + 4


def test_a_queue_nobody_saw_has_no_percentile() -> None:
    assert metrics(queue_p95_s=math.nan).values["p95_queue_s"] is None


def test_nothing_to_reach_has_no_share() -> None:
    made = result(SOURCE, list(COMPLETE))
    assert (
        compute(SOURCE, made, play_by_deadline(SOURCE, made), best_weight=0.0).values["oracle_ratio"] is None
    )


def test_chunks_may_lack_layers() -> None:
    # Chunk 0 has layers 0 and 1, chunk 1 layer 0 only; two layers in all.
    table = layer_table(TWO_AND_ONE, np.array([10, 20, 30]), -7)
    assert table.tolist() == [[10, 30], [20, -7]]
    made = result(TWO_AND_ONE, [1.0, 2.0, 3.0])
    playback = play_by_deadline(TWO_AND_ONE, made)
    assert playback.levels.tolist() == [1, 0]
    # weights 200 and 100 of chunk 0, 200 of chunk 1: all is played
    assert compute(TWO_AND_ONE, made, playback, best_weight=None).values["weighted_layers"] == 1.0


def test_a_deadline_is_that_of_a_chunks_own_layers() -> None:
    # Both chunks are due at second 0, and complete then: in time, to the nanosecond.
    source = objects(1, [100, 100], [0, 0], [0, 0])
    assert play_by_deadline(source, result(source, [0.0, 0.0])).levels.tolist() == [0, 0]
    assert play_by_deadline(source, result(source, [0.0, 1e-9])).levels.tolist() == [0, -1]
    assert play_by_deadline(source, result(source, [0.0, None])).shown_ns.tolist() == [0, 0]


@dataclass(frozen=True)
class Scores:
    psnr_db: float = 40.0
    ssim: float = 0.99
    vmaf: float = 95.0


def test_quality_is_passed_on() -> None:
    made, scores = result(SOURCE, list(COMPLETE)), cast("Quality", Scores())
    computed = compute(SOURCE, made, play_by_deadline(SOURCE, made), best_weight=1.0).with_pictures(scores)
    assert [computed.values[name] for name in ("psnr_db", "ssim", "vmaf")] == [40.0, 0.99, 95.0]
    assert tuple(computed.values) == METRICS
    assert computed.values["playback_ratio"] == 1.0


# Stall mode: three chunks of one second and two layers.
STALLS = objects(2, [100] * 6, [0, 1, 2], [INF] * 3)
LENGTHS = np.full(3, S)


def test_stalls_wait_for_base_layers_only() -> None:
    # BLs at 5, 5.5 and 9.5 s; delay 1 s: shown at 6, 7, and then (due 8) at 9.5: one stall of 1.5 s.
    # ELs at 6 (in time), 7.1 (late), 9.5 (just in time).
    made = result(STALLS, [5, 6, 5.5, 7.1, 9.5, 9.5])
    playback = play_with_stalls(STALLS, made, LENGTHS, S)
    assert playback.levels.tolist() == [1, 0, 1]
    assert (playback.shown_ns / S).tolist() == [6, 7, 9.5]
    assert (playback.startup_s, playback.stall_s, playback.stalls) == (6.0, 1.5, 1)
    computed = compute(STALLS, made, playback, best_weight=None)
    assert computed.values["oracle_ratio"] is None
    assert computed.values["stalls"] == 1.0
    assert computed.values["goodput_bps"] == pytest.approx(8 * 500 / 9.5)


def test_a_base_layer_that_never_comes_stops_the_playout() -> None:
    # shown at 5; chunk 1 is due at 6 and never comes; the run ends at 20 s: a stall of 14 s
    made = result(STALLS, [5, 5, None, 6, 6, 6], end_s=20)
    playback = play_with_stalls(STALLS, made, LENGTHS, 0)
    assert playback.levels.tolist() == [1, -1, -1]
    assert (playback.startup_s, playback.stall_s, playback.stalls) == (5.0, 14.0, 1)


def test_stalls_add_up() -> None:
    # shown at 5; chunk 1 is due at 6 and ready at 8: 2 s. Chunk 2 is due at 9 and ready at 12: 3 s.
    playback = play_with_stalls(STALLS, result(STALLS, [5, 5, 8, 8, 12, 12]), LENGTHS, 0)
    assert (playback.shown_ns / S).tolist() == [5, 8, 12]
    assert (playback.startup_s, playback.stall_s, playback.stalls) == (5.0, 2.0 + 3.0, 2)


def test_chunks_are_shown_for_their_own_length() -> None:
    # shown at 5 for 4 s, at 9 for 1 s, due at 10 and ready then: no stall
    playback = play_with_stalls(STALLS, result(STALLS, [5, 5, 6, 6, 10, 10]), np.array([4, 1, 1]) * S, 0)
    assert (playback.shown_ns / S).tolist() == [5, 9, 10]
    assert (playback.stall_s, playback.stalls) == (0.0, 0)


def test_a_stall_that_begins_after_the_end_of_the_run_has_no_length() -> None:
    # The run ends at 6 s. Chunk 0 is shown from 5 to 15, chunk 1 never comes: due at 15, when the run is over.
    made = result(STALLS, [5, 5, None, None, None, None], end_s=6)
    playback = play_with_stalls(STALLS, made, np.array([10, 1, 1]) * S, 0)
    assert (playback.stall_s, playback.stalls) == (0.0, 1)
    # Chunk 1 comes at 7 and is due at 6: a stall of 1 s; chunk 2 never, due at 8 s, when the run ends.
    made = result(STALLS, [5, 5, 7, 7, None, None], end_s=8)
    playback = play_with_stalls(STALLS, made, LENGTHS, 0)
    assert (playback.stall_s, playback.stalls) == (1.0, 2)


def test_a_base_layer_at_second_0_starts_the_playout() -> None:
    playback = play_with_stalls(STALLS, result(STALLS, [0, 0, 1, 1, 2, 2]), LENGTHS, 0)
    assert playback.levels.tolist() == [1, 1, 1]
    assert (playback.startup_s, playback.stall_s, playback.stalls) == (0.0, 0.0, 0)


def test_no_first_base_layer_no_playout() -> None:
    playback = play_with_stalls(STALLS, result(STALLS, [None, 5, 5, 5, 5, 5]), LENGTHS, 0)
    assert playback.levels.tolist() == [-1, -1, -1]
    assert (playback.startup_s, playback.stall_s, playback.stalls) == (None, 0.0, 0)


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=20))
def test_a_level_is_the_length_of_the_unbroken_prefix(rows: list[list[bool]]) -> None:
    expected = [next((i for i, in_time in enumerate(row) if not in_time), 3) - 1 for row in rows]
    assert prefix_levels(np.array(rows).T).tolist() == expected


@given(st.lists(st.one_of(st.none(), st.floats(0, 30)), min_size=6, max_size=6))
def test_shares_sum_to_one_and_ratios_stay_in_bounds(complete: list[float | None]) -> None:
    computed = metrics(complete)
    assert math.isclose(sum(computed.layers_played), 1.0)
    for name in ("playback_ratio", "full_quality_ratio", "weighted_layers"):
        value = computed.values[name]
        assert value is not None
        assert 0 <= value <= 1


def test_coding_counts_the_blocks_of_which_something_was_sent() -> None:
    # Of four blocks one was never sent, one of a single packet and one of three was delivered, one of two did not.
    def row(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(values, dtype=np.int64)

    coding = CodingResults(
        source_packets=row(1, 3, 2, 0),
        repair_packets=row(0, 1, 1, 0),
        planned_packets=row(0, 1, 1, 0),
        repair_bytes=row(0, 100, 100, 0),
        arrived_packets=row(1, 3, 1, 0),
        decoded_ns=row(-1, 5, -1, -1),
        whole=row(1, 1, 0, 0),
        block=row(0, 1, 2, 1, 1, 2),
        recovered=row(0, 0, 0, 1, 0, 0),
    )
    made = result(SOURCE, list(COMPLETE), sent_payload_bytes=800, repair_payload_bytes=200)
    values = compute(
        SOURCE, replace(made, coding=coding), play_by_deadline(SOURCE, made), best_weight=1000.0
    ).values
    assert values["decoded_ratio"] == 2 / 3
    assert values["decode_failures"] == 1.0
    assert values["repair_ratio"] == 0.25
    assert (
        compute(SOURCE, made, play_by_deadline(SOURCE, made), best_weight=1000.0).values["decoded_ratio"]
        is None
    )
