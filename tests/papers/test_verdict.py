"""The rule of :mod:`dstcc.papers.verdict`, one line per case of its docstring."""

from __future__ import annotations

from math import inf

import pytest

from dstcc.papers.verdict import class_of, judge
from dstcc.stats import Estimate


def estimate(value: float, low: float | None = None, high: float | None = None, n: int = 10) -> Estimate:
    return Estimate(value, low, high, n)


@pytest.mark.parametrize(
    ("measured", "published", "unit", "said"),
    [
        (estimate(140, 90, 190), 100, "", "reproduced"),  # in the interval
        (estimate(120, 119, 121), 100, "", "reproduced"),  # just 20 % away
        (estimate(121, 120.5, 121.5), 100, "", "larger by a factor of 1.2"),
        (estimate(79, 78, 79.5), 100, "", "smaller by a factor of 1.3"),
        (estimate(200, 199, 201), 100, "", "larger by a factor of 2.0"),
        (estimate(201, 200.5, 202), 100, "", "not reproduced: larger by a factor of 2.0"),
        (estimate(49, 48, 49.5), 100, "", "not reproduced: smaller by a factor of 2.0"),
        (estimate(7, 6.9, 7.1), 2, "%", "reproduced"),  # 5 points
        (estimate(7, 6.9, 7.1), 2, "", "not reproduced: larger by a factor of 3.5"),
        (estimate(7.2, 7.05, 7.3), 2, "%", "not reproduced: larger by a factor of 3.6"),
        (estimate(2000, 1990, 2010), 2, "", "not reproduced: larger by a factor of 1,000"),
        (estimate(0, -0.1, 0.1), 2, "", "not reproduced"),
        (estimate(-3, -3.1, -2.9), 2, "", "not reproduced"),
        (estimate(3, 2.9, 3.1), 0, "", "not reproduced"),
        (estimate(1500, 1400, 1600), (1000, 2000), "", "reproduced"),
        (estimate(900, 850, 950), (1000, 2000), "", "reproduced"),  # within 20 % of its lower end
        (estimate(700, 650, 750), (1000, 2000), "", "smaller by a factor of 1.4"),
        (estimate(3900, 3800, 4000), (1000, 2000), "", "larger by a factor of 1.9"),
        (estimate(700, 650, 1001), (1000, 2000), "", "reproduced"),  # the interval reaches into it
    ],
)
def test_a_level(measured: Estimate, published, unit: str, said: str) -> None:
    assert judge(measured, published, effect=False, unit=unit) == said


@pytest.mark.parametrize(
    ("measured", "published", "said"),
    [
        (estimate(-5, -9, -1), 20, "not reproduced: opposite"),
        (estimate(2, -1, 5), 20, "not reproduced: no difference seen"),
        (estimate(2, 0, 5), 20, "not reproduced: no difference seen"),
        (estimate(10, -1, 25), 20, "undecided"),
        (estimate(15, 5, 25), 20, "reproduced"),
        (estimate(17, 16, 18), 20, "reproduced"),
        (estimate(10, 9, 11), 20, "same direction, smaller by a factor of 2.0"),  # just half of it
        (estimate(9.9, 9, 11), 20, "not reproduced: same direction, smaller by a factor of 2.0"),
        (estimate(40, 30, 50), 20, "same direction, larger by a factor of 2.0"),  # just twice
        (estimate(41.1, 30, 50), 20, "not reproduced: same direction, larger by a factor of 2.1"),
        (
            estimate(44_688, 36_593, 55_120),
            73.1,
            "not reproduced: same direction, larger by a factor of 611",
        ),
        (estimate(inf, inf, inf), 20, "not reproduced: same direction, larger by a factor of ∞"),
        (estimate(10, 9, 11), None, "reproduced"),
        (estimate(10, -1, 21), None, "not reproduced: no difference seen"),
        (estimate(-10, -21, -1), None, "not reproduced: opposite"),
        (
            estimate(0.9, 0.8, 0.99),
            None,
            "not reproduced: no difference seen",
        ),  # sure, and too small to matter
        (estimate(1.0, 0.8, 1.2), None, "reproduced"),
        (estimate(-0.9, -1.2, -0.8), 20, "not reproduced: no difference seen"),
        (estimate(0.5, 0.4, 0.6), 0.5, "reproduced"),
        (estimate(40, None, None, 1), 20, "same direction, larger by a factor of 2.0 (one seed)"),
    ],
)
def test_an_effect(measured: Estimate, published: float | None, said: str) -> None:
    assert judge(measured, published, effect=True, unit="%") == said


def test_what_could_not_be_measured_and_what_no_seed_draws() -> None:
    assert judge(None, 20, effect=True) == "not measured"
    assert judge(estimate(20, None, None, 1), 20, effect=False, drawn=False) == "reproduced"


@pytest.mark.parametrize(
    ("measured", "published", "unit", "said"),
    [
        (estimate(120, 119, 121), 100, "", "reproduced"),  # just a fifth above
        (estimate(120.1, 120.05, 121), 100, "", "larger by a factor of 1.2"),
        (estimate(80, 79, 81), 100, "", "reproduced"),
        (estimate(-80, -81, -79), -100, "", "reproduced"),
        (estimate(7, 7, 7.1), 2, "%", "reproduced"),  # just 5 points
        (estimate(70, 60, 100), 100, "", "reproduced"),  # the interval ends at the number
        (estimate(130, 100, 140), 100, "", "reproduced"),
        (estimate(700, 650, 1000), (1000, 2000), "", "reproduced"),  # or at the range's end
        (estimate(2600, 2000, 2700), (1000, 2000), "", "reproduced"),
        (estimate(-200, -201, -199), -100, "", "larger by a factor of 2.0"),
        (estimate(995, 990, 999), 100, "", "not reproduced: larger by a factor of 9.9"),
        (estimate(1000, 990, 1010), 100, "", "not reproduced: larger by a factor of 10"),
    ],
)
def test_a_level_at_its_bounds(measured: Estimate, published, unit: str, said: str) -> None:
    assert judge(measured, published, effect=False, unit=unit) == said


@pytest.mark.parametrize(
    ("measured", "published", "unit", "said"),
    [
        (estimate(15, 5, 25), 5, "%", "reproduced"),
        (estimate(15, 5, 25), 25, "%", "reproduced"),
        (estimate(15, -5, 25), 25, "%", "undecided"),
        (estimate(15, -5, 25), -5, "%", "undecided"),
        (estimate(15, 0, 25), 20, "%", "undecided"),
        (estimate(-5, -9, 0), 20, "%", "not reproduced: no difference seen"),
        (estimate(24, 23, 24.5), 20, "%", "reproduced"),  # just a fifth above
        (estimate(0.9, 0.8, 0.99), 1.0, "%", "not reproduced: no difference seen"),
        (estimate(0.9, 0.8, 0.99), 0.95, "points", "reproduced"),
        (estimate(0.9, 0.8, 0.99), 10.0, "s", "not reproduced: same direction, smaller by a factor of 11"),
        (
            estimate(30, 25, 35),
            (20, 100),
            "%",
            "same direction, larger by a factor of 1.5",
        ),  # its lower end counts
    ],
)
def test_an_effect_at_its_bounds(measured: Estimate, published, unit: str, said: str) -> None:
    assert judge(measured, published, effect=True, unit=unit) == said


def test_each_verdict_has_a_class() -> None:
    classes = {
        "reproduced (one seed)": "reproduced",
        "smaller by a factor of 1.4": "within a factor of two",
        "larger by a factor of 1.4": "within a factor of two",
        "same direction, larger by a factor of 2.0": "within a factor of two",
        "not reproduced: no difference seen": "no difference seen",
        "not reproduced: opposite": "opposite",
        "not reproduced: larger by a factor of 3.0": "beyond a factor of two",
        "not reproduced": "beyond a factor of two",
        "undecided": "undecided",
    }
    assert {said: class_of(said) for said in classes} == classes
    with pytest.raises(ValueError, match="a verdict of no class"):
        class_of("not measured")
    with pytest.raises(ValueError, match="a claim compares two"):
        judge(estimate(1, 1, 1), None, effect=False)
