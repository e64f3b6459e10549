"""Comparisons of means over seeds and points, with the arithmetic."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from scipy.special import ndtri

from dstcc.papers.estimates import cut, estimate, gain, growth


def test_means_are_compared_and_not_each_seed() -> None:
    ours, others = np.array([[1.0, 9.0]]), np.array([[1.0, 3.0]])
    # means 5 and 2: +150 %; the mean of the seeds' own ratios would be (0 + 200) / 2 = 100 %
    made = estimate("gain", ours, others, "most")
    assert made is not None
    assert made.value == pytest.approx(150.0)
    assert made.n == 2
    assert (made.low, made.high) == (
        pytest.approx(0.0),
        pytest.approx(200.0),
    )  # a resample has one seed twice


def test_points_are_taken_together() -> None:
    ours = np.array([[2.0, 2.0], [3.0, 3.0], [1.0, 1.0]])
    others = np.array([[1.0, 1.0], [2.0, 2.0], [1.0, 1.0]])
    for across, value in (("most", 100.0), ("mean", 50.0), ("least", 0.0)):
        made = estimate("gain", ours, others, across)
        assert made is not None
        assert made.value == pytest.approx(value)


def test_kinds() -> None:
    ours, others = np.array([[20.0]]), np.array([[50.0]])
    values = {
        kind: estimate(kind, ours, others, "most")
        for kind in ("level", "growth", "rise", "gain", "cut", "lead")
    }
    assert {kind: one and one.value for kind, one in values.items()} == pytest.approx(
        {"level": 20.0, "growth": 0.4, "rise": -30.0, "gain": -60.0, "cut": 60.0, "lead": -30.0}
    )
    assert all(one is not None and one.low is None for one in values.values())  # one seed has no interval


def test_the_other_brought_nothing() -> None:
    assert gain(np.array([2.0, 0.0]), np.array([0.0, 0.0])).tolist() == [inf, 0.0]
    assert cut(np.array([0.0]), np.array([0.0])).tolist() == [0.0]
    assert growth(np.array([2.0, 0.0]), np.array([0.0, 0.0])).tolist() == [inf, 1.0]


def test_a_seed_without_a_value_counts_nowhere() -> None:
    ours, others = np.array([[1.0, nan, 3.0], [1.0, 7.0, 3.0]]), np.ones((2, 3))
    made = estimate("level", ours, others, "most")
    assert made is not None
    assert (made.value, made.n) == (2.0, 2)
    assert estimate("level", np.array([[nan]]), np.array([[1.0]]), "most") is None


def test_a_resample_takes_the_same_seeds_of_both() -> None:
    # ours is the other's plus one at each seed, so that every resample's difference is 1
    others = np.array([[1.0, 5.0, 9.0, 2.0]])
    made = estimate("lead", others + 1, others, "most")
    assert made is not None
    assert (made.low, made.high) == (pytest.approx(1.0), pytest.approx(1.0))


def test_an_interval_holds_all_but_a_fortieth_at_either_end() -> None:
    """Of 400 values at a normal's quantiles the mean's deviation is a twentieth: 1.96 of these either way."""
    values = ndtri((np.arange(400) + 0.5) / 400)[None]
    made = estimate("level", values, values, "most")
    assert made is not None and made.low is not None and made.high is not None
    assert (made.value, made.n) == (pytest.approx(0, abs=1e-12), 400)
    assert [-20 * made.low, 20 * made.high] == pytest.approx([1.96, 1.96], abs=0.1)


def test_an_interval_of_infinite_values_is_infinite() -> None:
    made = estimate("gain", np.array([[1.0, 1.0, 1.0]]), np.zeros((1, 3)), "most")
    assert made is not None and (made.value, made.low, made.high) == (inf, inf, inf)
