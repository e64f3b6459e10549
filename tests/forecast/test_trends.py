"""Lines through what was lost: their sums are those of all events under forgetting weights, written out."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.coded.channels import LEAST, MOST
from dstcc.forecast.trends import AHEAD_NAMES, NAMES, RIDGE, SPANS_RTTS, Trends


def heard(trends: Trends, heard: list[float], lost: list[float], spans: list[float]) -> None:
    """Events one after another, the same for all rows."""
    rows = trends.level.shape[0]
    for n, x, span in zip(heard, lost, spans, strict=True):
        trends.hear(np.full(rows, n), np.full(rows, x), np.full(rows, span))


def test_a_line_is_the_weighted_least_squares_of_all_events() -> None:
    draws = np.random.default_rng(4)
    n = draws.integers(50, 500, 12).astype(float)
    x = draws.binomial(n.astype(int), np.linspace(0.05, 0.3, 12)).astype(float)
    spans = draws.uniform(0.02, 0.4, 12)
    trends = Trends(1)
    heard(trends, list(n), list(x), list(spans))
    at = np.cumsum(spans)
    t = at - at[-1]
    for index, span in enumerate(SPANS_RTTS):
        weight = n * np.exp(t / span)
        # A ridge on the slope is one more row of the least squares: sqrt(r S_0) T b = 0, of the centred line.
        mean = (weight * t).sum() / weight.sum()
        share = (weight * x / n).sum() / weight.sum()
        spread = (weight * (t - mean) ** 2).sum() + RIDGE * weight.sum() * span**2
        slope = (weight * (t - mean) * (x / n - share)).sum() / spread
        level = share - slope * mean
        assert trends.slope[0, index] == pytest.approx(slope)
        assert trends.level[0, index] == pytest.approx(level)
        assert trends.sure[0, index] == pytest.approx(slope / np.sqrt(level * (1 - level) / spread))


def test_a_straight_rise_is_carried_on_and_ends_where_the_grid_does() -> None:
    trends = Trends(1)
    chance = 0.05 + 0.004 * np.arange(60)
    heard(trends, [1000.0] * 60, list(1000 * chance), [0.05] * 60)
    straight, bent = np.split(np.exp((trends.ahead(np.array([[1.0, 8.0]])) - 1) * 3)[0], 2, axis=-1)
    # 0.004 an event are 0.08 a round trip; the last event has 0.286.
    assert straight[0] == pytest.approx(np.full(3, 0.366), rel=0.03)
    assert straight[1] == pytest.approx(np.full(3, MOST))
    # In the logarithm the same line bends: 0.286 e^(0.08 / 0.286).
    assert bent[0] == pytest.approx(np.full(3, 0.286 * np.exp(0.08 / 0.286)), rel=0.03)
    falls = Trends(1)
    heard(falls, [1000.0] * 60, list(1000 * chance[::-1]), [0.05] * 60)
    straight, _ = np.split(np.exp((falls.ahead(np.array([[0.2, 1.0]])) - 1) * 3)[0], 2, axis=-1)
    assert straight[0, 0] == pytest.approx(0.05 - 0.2 * 0.08, rel=0.05)
    assert straight[1] == pytest.approx(np.full(3, LEAST))


def test_spans_are_those_of_the_names() -> None:
    assert SPANS_RTTS.tolist() == [0.3, 1.0, 3.0]
    assert [name.rpartition(" over ")[2] for name in NAMES] == ["0.3 RTT", "1 RTT", "3 RTT"] * 2


def test_what_is_shown_of_now_is_small_numbers_of_level_and_sureness() -> None:
    # The logarithm of 0.1, a third of it and one more; a slope of 5 deviations is tanh(1).
    trends = Trends(1)
    trends.level[:], trends.sure[:] = 0.1, [-5.0, 0.0, 5.0]
    shown = trends.now()[0]
    assert shown[:3] == pytest.approx(np.full(3, np.log(0.1) / 3 + 1))
    assert shown[3:] == pytest.approx([-np.tanh(1), 0, np.tanh(1)])


def test_a_line_of_the_logarithm_is_no_steeper_than_ten_a_round_trip() -> None:
    trends = Trends(1)
    trends.level[:], trends.slope[:] = 0.05, [-1.0, 0.45, 1.0]  # over the level: -20, 9 and 20
    bent = (trends.ahead(np.array([[0.1]]))[0, 0, 3:] - 1) * 3
    assert bent == pytest.approx(np.log(0.05) + np.array([-1.0, 0.9, 1.0]))


def test_a_few_packets_of_one_time_are_a_level_without_a_slope() -> None:
    # Half a packet, as forgotten ones are: its level is its share, and the sums are far below one.
    trends = Trends(1)
    trends.hear(np.array([0.5]), np.array([0.1]), np.array([0.05]))
    assert trends.level[0] == pytest.approx(np.full(3, 0.2)) and (trends.slope[0] == 0).all()
    trends.hear(np.array([0.5]), np.array([0.2]), np.array([1.0]))
    weight = np.exp(-1.0 / SPANS_RTTS)
    share = (0.1 * weight + 0.2) / (0.5 * weight + 0.5)
    mean = -0.5 * weight / (0.5 * weight + 0.5)  # of the times -1 and 0
    spread = 0.5 * weight * (1 + mean) ** 2 + 0.5 * mean**2 + RIDGE * (0.5 * weight + 0.5) * SPANS_RTTS**2
    slope = (0.5 * weight * (-1 - mean) * (0.2 - share) + 0.5 * -mean * (0.4 - share)) / spread
    assert trends.slope[0] == pytest.approx(slope)
    assert trends.level[0] == pytest.approx(share - slope * mean)


def test_events_of_one_time_have_no_slope_and_rows_that_hear_nothing_keep_theirs() -> None:
    trends = Trends(2)
    assert trends.now().shape == (2, len(NAMES)) and trends.ahead(np.ones((2, 4))).shape == (
        2,
        4,
        len(AHEAD_NAMES),
    )
    trends.hear(np.array([100.0, 0.0]), np.array([7.0, 0.0]), np.array([0.05, 0.05]))
    assert trends.level[0] == pytest.approx(np.full(3, 0.07)) and trends.slope[0] == pytest.approx(
        np.zeros(3)
    )
    assert trends.level[1] == pytest.approx(np.full(3, 0.01)) and (trends.sure[1] == 0).all()
    before = trends.level[0].copy()
    trends.hear(np.array([0.0, 100.0]), np.array([0.0, 3.0]), np.array([0.5, 0.05]))
    assert (trends.level[0] == before).all() and trends.level[1] == pytest.approx(np.full(3, 0.03))


def test_it_is_surer_of_what_more_packets_say() -> None:
    few, many = Trends(1), Trends(1)
    chance = np.linspace(0.1, 0.2, 20)
    heard(few, [100.0] * 20, list(100 * chance), [0.05] * 20)
    heard(many, [1600.0] * 20, list(1600 * chance), [0.05] * 20)
    assert many.slope == pytest.approx(few.slope)
    assert many.sure == pytest.approx(4 * few.sure)  # a deviation falls with the root of their number
    assert (few.sure > 1).all() and (np.abs(many.now()[:, 3:]) < 1).all()
