from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.metrics import (
    METRICS,
    Metrics,
    compute,
    is_metric,
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


def metrics(complete: list[float | None] | None = None, **totals: float) -> Metrics:
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
    found = metrics(hol_payload_bytes=300.0, hol_wait_byte_s=2400.0).values
    assert found["hol_blocking_ratio"] == 300 / 1200
    assert found["hol_wait_s"] == 2400 / 1200


def test_throughput_counts_what_was_delivered_and_goodput_what_was_played() -> None:
    # active from the first send at 0.5 s to the last delivery at 11.5 s: 11 s
    found = metrics(first_send_s=0.5).values
    assert found["throughput_bps"] == pytest.approx(8 * 1200 / 11)
    assert found["goodput_bps"] == pytest.approx(8 * (600 + 100) / 11)


def test_completion_is_from_first_send_to_the_last_layer() -> None:
    assert metrics(first_send_s=0.5).values["completion_s"] == pytest.approx(11.0)
    assert metrics([5.0, None, 10.0, 11.0, 11.5, 9.0]).values["completion_s"] is None


def test_cost_metrics() -> None:
    found = metrics(
        retransmitted_payload_bytes=120.0,
        sent_payload_bytes=1320.0,
        rtt_sum_s=30.0,
        rtt_samples=4.0,
        queue_p95_s=0.7,
    ).values
    assert found["retransmitted_ratio"] == pytest.approx(120 / 1320)
    assert found["sent_bytes"] == 1320.0
    assert found["delivered_bytes"] == 1200.0
    assert found["mean_rtt_s"] == 7.5
    assert found["p95_queue_s"] == 0.7


def test_nothing_arrives() -> None:
    found = metrics([None] * 6).values
    assert found["playback_ratio"] == found["weighted_layers"] == found["oracle_ratio"] == 0.0
    for name in (
        "hol_blocking_ratio",
        "hol_wait_s",
        "throughput_bps",
        "goodput_bps",
        "completion_s",
        "mean_rtt_s",
    ):
        assert found[name] is None, name


def test_deadline_playout_has_no_stall_metrics() -> None:
    assert [metrics().values[name] for name in ("startup_s", "stall_s", "stalls")] == [None, None, None]


def test_every_metric_is_named_once_and_known() -> None:
    assert tuple(metrics().values) == METRICS
    assert len(set(METRICS)) == len(METRICS)
    assert all(is_metric(name) for name in metrics().flat())
    assert not is_metric("layers_played")
    assert not is_metric("layers_played.8")


@dataclass(frozen=True)
class Scores:
    psnr_db: float = 40.0
    ssim: float = 0.99
    vmaf: float = 95.0


def test_quality_is_passed_on() -> None:
    made = result(SOURCE, list(COMPLETE))
    found = compute(SOURCE, made, play_by_deadline(SOURCE, made), best_weight=1.0, quality=Scores())
    assert [found.values[name] for name in ("psnr_db", "ssim", "vmaf")] == [40.0, 0.99, 95.0]


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
    found = compute(STALLS, made, playback, best_weight=None)
    assert found.values["oracle_ratio"] is None
    assert found.values["stalls"] == 1.0
    assert found.values["goodput_bps"] == pytest.approx(8 * 500 / 9.5)


def test_a_base_layer_that_never_comes_stops_the_playout() -> None:
    # shown at 5; chunk 1 is due at 6 and never comes; the run ends at 20 s: a stall of 14 s
    made = result(STALLS, [5, 5, None, 6, 6, 6], end_s=20)
    playback = play_with_stalls(STALLS, made, LENGTHS, 0)
    assert playback.levels.tolist() == [1, -1, -1]
    assert (playback.startup_s, playback.stall_s, playback.stalls) == (5.0, 14.0, 1)


def test_no_first_base_layer_no_playout() -> None:
    playback = play_with_stalls(STALLS, result(STALLS, [None, 5, 5, 5, 5, 5]), LENGTHS, 0)
    assert playback.levels.tolist() == [-1, -1, -1]
    assert (playback.startup_s, playback.stall_s, playback.stalls) == (None, 0.0, 0)


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=20))
def test_a_level_is_the_length_of_the_unbroken_prefix(rows: list[list[bool]]) -> None:
    expected = [next((i for i, there in enumerate(row) if not there), 3) - 1 for row in rows]
    assert prefix_levels(np.array(rows)).tolist() == expected


@given(st.lists(st.one_of(st.none(), st.floats(0, 30)), min_size=6, max_size=6))
def test_shares_sum_to_one_and_ratios_stay_in_bounds(complete: list[float | None]) -> None:
    found = metrics(complete)
    assert math.isclose(sum(found.layers_played), 1.0)
    for name in ("playback_ratio", "full_quality_ratio", "weighted_layers"):
        value = found.values[name]
        assert value is not None
        assert 0 <= value <= 1
