"""How many pages of equal algorithms say that one is better: apart from other tests, as it takes seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dstcc.report.comparison import HIGHER_MEAN, LEADS, LOWER, WORSE
from dstcc.stats import Estimate
from tests.report.test_comparison import of, section


def without_interval(
    strata: Sequence[Sequence[float]], statistic: Callable[[NDArray[np.float64]], Any]
) -> Estimate:
    pooled = np.concatenate([np.asarray(values) for values in strata])
    value = float(statistic(pooled))
    return Estimate(value, value, value, pooled.size)


@pytest.mark.parametrize(("pages", "most"), [(10, 3), pytest.param(100, 11, marks=pytest.mark.slow)])
def test_equal_algorithms_are_told_apart_in_a_twentieth_of_the_pages_at_most(
    monkeypatch: pytest.MonkeyPatch, pages: int, most: int
) -> None:
    """13 algorithms of one law at ten seeds: shares, skewed towards a ceiling, or normal values with seeds in common.

    Of 100 pages 5 may be wrong on average; with probability 0.999 no more than 5 + 3.1 √(100 · 0.05 · 0.95) = 11.8 are.
    With intervals that have no common point in the test's place 21 of the shares' pages would be, and with intervals of
    the differences 75 and 80. No word is of an interval, so that there is none. Of 10 more than 3 are wrong with
    probability 0.001.
    """
    monkeypatch.setattr("dstcc.stats._bootstrap", without_interval)
    draw, wrong = np.random.default_rng(32), {"shares": 0, "normal, paired": 0}
    for _ in range(pages):
        common, own = draw.normal(size=(10, 1)), draw.normal(size=(10, 13))
        laws = {"shares": 1 / (1 + np.exp(-2 - 1.5 * own)), "normal, paired": 0.5 + 0.1 * (common + own)}
        for kind, values in laws.items():
            made = of(section({f"x{place}": list(column) for place, column in enumerate(values.T)}))
            words = {made.word(name) for name in made.values}
            wrong[kind] += bool(words & {WORSE, LOWER, HIGHER_MEAN, LEADS})
    assert max(wrong.values()) <= most
