"""The words for differences: what each takes, and that nothing less earns it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dstcc.report.contest import (
    FAILED,
    LEADS,
    LOWER,
    ONE_SEED,
    PAIRED_LOWER,
    SAME_VALUE,
    TOLD,
    UNCLEAR,
    WORSE,
    Contest,
)
from dstcc.stats import estimate, paired_difference

HIGH = [0.90, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99]
LOW = [value - 0.5 for value in HIGH]
NEAR = [value - 0.01 for value in HIGH]
"""A point less at every seed: the intervals overlap, the differences do not reach zero."""


def contest(samples: Mapping[str, list[float]], **more: Any) -> Contest:
    """Algorithms by their values at seeds 0, 1, ..; the first leads."""
    leader = next(iter(samples))
    by_seed = {name: dict(enumerate(values)) for name, values in samples.items()}
    differences = {
        name: found
        for name, values in by_seed.items()
        if name != leader and (found := paired_difference(values, by_seed[leader]))
    }
    given: dict[str, Any] = {
        "leader": leader,
        "values": {name: estimate(values) for name, values in samples.items()},
        "told": frozenset(),
        "differences": differences,
        "seeds": {name: len(values) for name, values in samples.items()},
        "failed": frozenset(),
        "doubt": "",
    }
    return Contest(**given | more)


def test_better_takes_ten_seeds_of_both_and_disjoint_intervals() -> None:
    assert contest({"a": HIGH, "b": LOW}).word("b") == WORSE
    assert contest({"a": HIGH[:9], "b": LOW}).word("b") == LOWER
    assert contest({"a": HIGH, "b": LOW[:9]}).word("b") == LOWER


def test_a_doubt_about_the_leader_takes_the_word_away() -> None:
    assert contest({"a": HIGH, "b": LOW}, doubt="it was trained on this scenario").word("b") == LOWER


def test_where_intervals_overlap_the_differences_at_the_same_seeds_decide() -> None:
    assert contest({"a": HIGH, "b": NEAR}).word("b") == PAIRED_LOWER
    assert contest({"a": HIGH, "b": NEAR[::-1]}).word("b") == UNCLEAR
    assert contest({"a": HIGH, "b": NEAR}, differences={}).word("b") == UNCLEAR
    assert contest({"a": HIGH, "b": HIGH}).word("b") == SAME_VALUE


def test_a_difference_too_small_to_be_shown_is_none() -> None:
    # 0.04 percentage points; the last digit shown is 0.1.
    assert contest({"a": HIGH, "b": [value - 0.0004 for value in HIGH]}).word("b") == UNCLEAR


def test_one_seed_tells_nothing_apart() -> None:
    assert contest({"a": [0.9], "b": [0.1]}).word("b") == ONE_SEED
    assert contest({"a": HIGH, "b": [0.1]}).word("b") == ONE_SEED
    assert contest({"a": [0.9], "b": [0.9]}).word("b") == SAME_VALUE


def test_who_leads_is_told_or_failed_gets_no_comparison() -> None:
    found = contest({"a": LOW, "b": HIGH, "c": HIGH}, told=frozenset({"b"}), failed=frozenset({"c"}))
    assert [found.word(name) for name in "abc"] == [LEADS, TOLD, FAILED]
    assert found.rivals == []


@pytest.mark.parametrize("seeds", [2, 5, 9, 10])
def test_no_word_depends_on_the_order_of_the_seeds(seeds: int) -> None:
    one, other = HIGH[:seeds], LOW[:seeds]
    forward = contest({"a": one, "b": other}).word("b")
    assert contest({"a": one[::-1], "b": other[::-1]}).word("b") == forward
