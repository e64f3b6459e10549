from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.stats import Estimate, estimate, interquartile_mean, paired_difference

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5.0], 5.0),
        ([1.0, 3.0], 2.0),  # floor(2/4) = 0 dropped: the plain mean
        ([1.0, 2.0, 6.0], 3.0),
        ([100.0, 2.0, 4.0, -50.0], 3.0),  # drops −50 and 100: (2 + 4)/2
        ([0.0, 1.0, 2.0, 3.0, 1000.0], 2.0),  # floor(5/4) = 1 each end: (1 + 2 + 3)/3
        ([9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -7.0], 3.5),  # 2 each end: (2 + 3 + 4 + 5)/4
    ],
)
def test_interquartile_mean_by_hand(values: list[float], expected: float) -> None:
    assert interquartile_mean(values) == pytest.approx(expected)
    assert estimate(values).value == pytest.approx(expected)


def test_one_value_has_no_interval() -> None:
    assert estimate([0.4]) == Estimate(0.4, None, None, 1)
    assert not estimate([0.4]).has_interval


def test_equal_values_have_an_interval_of_zero_width() -> None:
    assert estimate([0.25] * 6) == Estimate(0.25, 0.25, 0.25, 6)


@pytest.mark.parametrize("values", [[], [math.nan, 1.0], [math.inf]])
def test_only_finite_values_can_be_estimated(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        estimate(values)


def test_two_values_bootstrap_to_the_two_values() -> None:
    # A quarter of the resamples is (a, a), a quarter (b, b): the 2.5 % and 97.5 % points are a and b.
    one = estimate([1.0, 2.0])
    assert (one.low, one.high) == (1.0, 2.0)


def test_interval_matches_the_normal_law_for_many_values() -> None:
    # For n values of a uniform law of width w the 25 % trimmed mean has the variance w²/(6n): trimming leaves
    # [2·(1/4)³/3 + 2·(1/4)·(1/4)²]/(1/2)² = 1/6 (Huber, Robust Statistics, 3.3). With w = n = 401
    # that is σ = 8.2, and 1.96 σ = 16.0.
    one = estimate([float(value) for value in range(401)])
    assert one.value == pytest.approx(200.0)
    low, high = one.bounds()
    assert (high - low) / 2 == pytest.approx(16.0, rel=0.1)


@given(VALUES)
def test_estimates_are_repeatable_and_lie_within_the_values(values: list[float]) -> None:
    one = estimate(values)
    assert one == estimate(values)
    low, high = one.bounds()
    slack = 1e-9 * max(1.0, *map(abs, values))
    assert min(values) - slack <= low <= high <= max(values) + slack
    assert one.n == len(values)


def test_overlap_is_shared_points() -> None:
    left, right = Estimate(1.0, 0.0, 2.0, 5), Estimate(3.0, 2.0, 4.0, 5)
    assert left.overlaps(right)
    assert right.overlaps(left)
    assert not left.overlaps(Estimate(3.0, 2.1, 4.0, 5))
    assert Estimate(3.0, None, None, 1).overlaps(right)
    assert not Estimate(9.0, None, None, 1).overlaps(right)


def test_paired_difference_uses_common_seeds_only() -> None:
    # Common seeds 1, 2, 3: differences 1, 2, 3; seed 9 would move the mean.
    difference = paired_difference({1: 2.0, 2: 4.0, 3: 6.0, 9: 900.0}, {1: 1.0, 2: 2.0, 3: 3.0, 8: -5.0})
    assert difference is not None
    assert difference.value == pytest.approx(2.0)
    assert difference.n == 3


def test_paired_difference_needs_two_common_seeds() -> None:
    assert paired_difference({1: 2.0, 2: 4.0}, {2: 2.0, 3: 3.0}) is None
