"""The words for differences: what each takes, and that nothing less earns it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dstcc.report.contest import (
    ALONE,
    FAILED,
    HIGHEST,
    LEADS,
    LOWER,
    MISSING,
    ONE_SEED,
    PAIRED_LOWER,
    SAME_VALUE,
    TOLD,
    UNCLEAR,
    WORSE,
    Contest,
)
from dstcc.report.footing import Footing
from dstcc.report.standing import leader_of, standings, words_of
from dstcc.report.verdict import equal_lanes, leading
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
    assert [found.word(name) for name in "abc"] == [ALONE, TOLD, FAILED]
    assert found.rivals == []


def test_it_leads_who_is_better_than_each_of_the_others() -> None:
    assert contest({"a": HIGH, "b": LOW, "c": LOW}).word("a") == LEADS
    assert contest({"a": HIGH, "b": LOW, "c": NEAR}).word("a") == HIGHEST
    assert contest({"a": HIGH, "b": HIGH, "c": LOW}).word("a") == HIGHEST
    assert contest({"a": HIGH[:9], "b": LOW[:9]}).word("a") == HIGHEST
    assert contest({"a": [0.9], "b": [0.1]}).word("a") == HIGHEST
    assert contest({"a": HIGH, "b": LOW}, doubt="it was trained on this scenario").word("a") == HIGHEST
    assert contest({"a": HIGH}).word("a") == ALONE
    # who is told is no rival to be better than
    assert contest({"a": LOW, "b": HIGH, "c": [0.1] * 10}, told=frozenset({"b"})).word("a") == LEADS


def test_the_missing_get_a_row_and_a_word() -> None:
    found = contest({"a": HIGH, "b": LOW}, missing={"z": "not run in one"})
    assert found.word("z") == MISSING
    rows = standings(found, {})
    assert [(row.name, row.value, row.word) for row in rows][-1] == ("z", "–", MISSING)
    assert [row.leader for row in rows] == [True, False, False]
    assert leader_of(rows) == "a"
    assert [word for word, _ in words_of(rows)] == [LEADS, WORSE, MISSING]


def footing(domains: int | None, windows: int, *knows: str, copies: str = "") -> Footing:
    return Footing((*knows, "deadlines"), domains, windows, copies, 1.0, (), {})


def test_rows_say_what_each_knows_and_has() -> None:
    own = {"a": footing(8192, 2, "queue", copies="spare"), "b": footing(None, 2)}
    rows = standings(contest({"a": HIGH, "b": LOW, "c": LOW}, footings=own), {})
    assert [(row.knows, row.lanes) for row in rows] == [("qd", "8\u202f192/2+"), ("d", "any/2"), ("–", "–")]


def test_lanes_and_knowledge_that_differ_are_said_in_the_same_sentence() -> None:
    equal = {name: footing(32, 2) for name in "ab"}
    assert "lanes" not in leading(contest({"a": HIGH, "b": LOW}, footings=equal))
    more = equal | {"a": footing(64, 2)}
    said = leading(contest({"a": HIGH, "b": LOW}, footings=more))
    assert said.startswith("a (64/2 lanes) brought home most video")
    assert "b (32/2 lanes) 4" in said
    told = equal | {"b": footing(32, 2, "line")}
    assert "b (32/2 lanes, knows its line's rate)" in leading(contest({"a": HIGH, "b": LOW}, footings=told))


def test_those_on_equal_lanes_are_ranked_among_themselves() -> None:
    lanes = {"a": footing(64, 2), "b": footing(32, 2), "c": footing(32, 2), "d": footing(32, 32)}
    samples = {"a": HIGH, "b": LOW, "c": [0.2] * 10, "d": [0.1] * 10}
    assert equal_lanes(contest(samples, footings=lanes)) == (
        "a is alone on its lanes. On equal lanes (32/2): b 44.5\u202f% and c 20.0\u202f%."
    )
    beside = lanes | {"d": footing(64, 2)}
    assert equal_lanes(contest(samples, footings=beside)).startswith("On equal lanes (32/2): b")
    # nobody else's lanes are equal
    assert equal_lanes(contest(samples, footings=lanes | {"c": footing(8, 2)})) == ""
    assert equal_lanes(contest(samples)) == ""


def test_only_one_that_leads_has_most_and_a_lone_one_is_not_praised() -> None:
    assert "a brought home most video" in leading(contest({"a": HIGH, "b": LOW}))
    assert "the highest value" in leading(contest({"a": HIGH, "b": NEAR}))
    assert "most" not in leading(contest({"a": HIGH, "b": NEAR}))
    alone = leading(contest({"a": LOW, "b": HIGH}, told=frozenset({"b"})))
    assert "as no other algorithm here finds the links' rates out, there is nothing to rank it by" in alone
    assert "most" not in alone
    assert "highest" not in alone


@pytest.mark.parametrize("seeds", [2, 5, 9, 10])
def test_no_word_depends_on_the_order_of_the_seeds(seeds: int) -> None:
    one, other = HIGH[:seeds], LOW[:seeds]
    forward = contest({"a": one, "b": other}).word("b")
    assert contest({"a": one[::-1], "b": other[::-1]}).word("b") == forward
