"""Ratio, interval and z, by arithmetic written out; goals from both sides."""

from __future__ import annotations

from math import exp, isnan, sqrt

import pytest

from experiments.fidelity.cells import Cell
from experiments.fidelity.compare import (
    CellRow,
    Pair,
    Sample,
    differs,
    misses,
    notices,
    row_of,
    sample,
)
from experiments.fidelity.measure import Seen

T_AT_2 = 4.302653  # Student's t, 97.5 %, 2 degrees of freedom (tables)
T_AT_4 = 2.776445


def test_z_is_the_difference_in_standard_errors() -> None:
    # means 12 and 10; variances 4 over 4 runs and 9 over 9 runs: 1 + 1, so 2 / √2
    assert Pair(Sample(12.0, 2.0, 4), Sample(10.0, 3.0, 9)).z == pytest.approx(2 / sqrt(2))
    assert Pair(Sample(10.0, 3.0, 9), Sample(12.0, 2.0, 4)).z == pytest.approx(-2 / sqrt(2))


def test_a_ratios_interval_is_in_its_logarithm_with_welchs_degrees_of_freedom() -> None:
    # both 10 % over 3 runs: s² = 2 × 0.01 / 3; freedom (2a)² / (2 a² / 2) = 4
    pair = Pair(Sample(11.0, 1.1, 3), Sample(10.0, 1.0, 3))
    factor = exp(T_AT_4 * sqrt(2 * 0.01 / 3))
    assert pair.interval == pytest.approx((1.1 / factor, 1.1 * factor))
    # one side certain: the other's two degrees of freedom
    one = Pair(Sample(11.0, 0.0, 20), Sample(10.0, 1.0, 3))
    assert one.interval[1] / 1.1 == pytest.approx(exp(T_AT_2 * 0.1 / sqrt(3)))


def test_where_nothing_scatters_there_is_no_z_and_no_width() -> None:
    pair = Pair(Sample(11.0, 0.0, 20), Sample(10.0, 0.0, 1))
    assert isnan(pair.z) and not differs(pair)
    assert pair.interval == (1.1, 1.1)
    assert not pair.meet and Pair(pair.real, pair.real).meet


def test_two_means_differ_beyond_three_standard_errors() -> None:
    assert not differs(Pair(Sample(12.9, 1.0, 1), Sample(10.0, 0.0, 1)))
    assert differs(Pair(Sample(13.1, 1.0, 1), Sample(10.0, 0.0, 1)))
    assert differs(Pair(Sample(6.9, 1.0, 1), Sample(10.0, 0.0, 1)))


def test_means_meet_when_their_intervals_share_a_point() -> None:
    # 3 runs with sd √3: the mean's error is 1, the interval ± 4.303
    wide = Sample(10.0, sqrt(3), 3)
    assert Pair(Sample(10.0 + T_AT_2 - 0.01, 0.0, 1), wide).meet
    assert not Pair(Sample(10.0 + T_AT_2 + 0.01, 0.0, 1), wide).meet
    assert not Pair(wide, Sample(10.0 - T_AT_2 - 0.01, 0.0, 1)).meet


def test_a_sample_is_mean_and_deviation_of_its_runs() -> None:
    assert sample([1.0, 2.0, 6.0]) == (3.0, pytest.approx(sqrt((4 + 1 + 9) / 2)), 3)
    assert sample([2.5]) == (2.5, 0.0, 1)


def throughput_row(congestion: str, ratio: float) -> CellRow:
    same = Pair(Sample(1.0, 0.0, 1), Sample(1.0, 0.0, 1))
    return CellRow(
        Cell("saturated", congestion, 1.0, 0.0), Pair(Sample(ratio, 0.0, 1), Sample(1.0, 0.0, 1)), same, same
    )


def mission_row(simulated: Sample, real: Sample) -> CellRow:
    same = Pair(Sample(1.0, 0.0, 1), Sample(1.0, 0.0, 1))
    return CellRow(Cell("mission", "cubic", 25.0, 1e-3, 2), same, same, same, Pair(simulated, real))


def test_goals_of_transfers_are_15_percent_a_cell_and_5_at_the_median_but_20_for_bbr() -> None:
    assert misses([throughput_row("cubic", 1.04), throughput_row("bbr", 0.81)]) == []
    (miss,) = misses([throughput_row("bbr", 0.79)])
    assert miss.startswith("saturated bbr rtt 1 loss 0 ") and "ratio 0.790" in miss
    rows = [throughput_row("cubic", ratio) for ratio in (1.16, 1.06, 0.99)]
    assert [line.split(":")[0].split(" rtt")[0] for line in misses(rows)] == ["saturated cubic", "cubic"]


def test_a_mission_must_be_within_15_percent_of_the_layers_weight() -> None:
    scattered = Sample(0.50, 0.05, 20)
    assert not mission_row(Sample(0.57, 0.05, 20), scattered).beyond
    assert mission_row(Sample(0.58, 0.20, 20), scattered).beyond  # 16 %, though they meet
    assert mission_row(Sample(0.42, 0.05, 20), scattered).beyond


def test_a_mission_that_differs_for_certain_is_told_and_fails_nothing() -> None:
    certain = mission_row(Sample(0.52, 0.001, 20), Sample(0.50, 0.001, 20))
    chance = mission_row(Sample(0.52, 0.05, 20), Sample(0.50, 0.05, 20))
    beyond = mission_row(Sample(0.60, 0.001, 20), Sample(0.50, 0.001, 20))
    assert [row.apart for row in (certain, chance, beyond)] == [True, False, False]
    (told,) = notices([certain, chance, beyond])
    assert (
        told.startswith("within the goal, but not by chance alone: mission cubic ") and "ratio 1.040" in told
    )
    assert len(misses([certain, chance, beyond])) == 1


def test_a_row_takes_each_quantity_of_its_runs() -> None:
    cell = Cell("mission", "cubic", 25.0, 1e-3, 2)
    runs = [Seen(1e6, 25.0, 0.1, 0.4), Seen(3e6, 27.0, 0.3, 0.6)]
    row = row_of(cell, runs, [Seen(1e6, 25.0, 0.1, 0.5)])
    assert row.throughput.ratio == pytest.approx(2.0) and row.mean_rtt.ratio == pytest.approx(26 / 25)
    assert row.retransmitted.ratio == pytest.approx(2.0) and row.deciding.ratio == pytest.approx(1.0)
    plain = row_of(cell._replace(grid="large"), [Seen(1e6, 25.0, 0.1)], [Seen(2e6, 25.0, 0.1)])
    assert plain.weighted_layers is None and plain.deciding.ratio == pytest.approx(0.5)
