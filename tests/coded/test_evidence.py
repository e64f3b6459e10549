"""Is a loss probability one for ever, or does it change?"""

from __future__ import annotations

from math import exp, lgamma, log

import numpy as np
import pytest

from dstcc.coded.evidence import (
    CHANGES,
    DISPERSIONS,
    LEAST,
    MOST,
    PRIOR_BEGUN,
    PRIOR_COULD,
    SPANS_RTTS,
    Evidence,
)

PACKETS, SPAN_RTTS = 300, 1 / 16


def log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def heard(evidence: Evidence, *events: tuple[float, float, float, float]) -> None:
    for event in events:
        evidence.hear(*(np.array([value]) for value in event))


def over(lost: np.ndarray) -> tuple[Evidence, int | None]:
    """Of packets in slots of :data:`PACKETS`, and the slot in which a change was seen first."""
    evidence, first = Evidence(1), None
    begins = lost & ~np.concatenate([[False], lost[:-1]])
    for slot in range(len(lost) // PACKETS):
        part = slice(slot * PACKETS, (slot + 1) * PACKETS)
        heard(evidence, (PACKETS, float(lost[part].sum()), float(begins[part].sum()), SPAN_RTTS))
        if evidence.changes[0] and first is None:
            first = slot
    return evidence, first


def test_two_events_by_arithmetic() -> None:
    evidence = Evidence(1)
    # 100 packets, 4 of them lost in 3 rows; a round trip later 50 packets, 21 lost in 20 rows.
    heard(evidence, (100, 4, 3, 0.0))
    assert evidence.against_steady == pytest.approx(0)  # nothing to forget yet
    heard(evidence, (50, 21, 20, 1.0))
    begun, could = 3, 100 - 4 + 3
    more, of = 20, 50 - 21 + 20

    def each(keeps: float, seen: tuple[float, float], new: tuple[int, int]) -> list[float]:
        """How likely the new is by each dispersion, after so many of so many."""
        of_all = PRIOR_COULD + keeps * seen[1]
        mean = (PRIOR_BEGUN + keeps * seen[0]) / of_all
        return [
            exp(
                log_beta(c * mean + new[0], c * (1 - mean) + new[1] - new[0])
                - log_beta(c * mean, c * (1 - mean))
            )
            for c in (min(of_all, dispersion) for dispersion in DISPERSIONS)
        ]

    # Each dispersion weighs by what made it likely before.
    first = each(1.0, (0, 0), (begun, could))

    def likely(keeps: float) -> float:
        now = each(keeps, (begun, could), (more, of))
        return log(sum(w * p for w, p in zip(first, now, strict=True)) / sum(first))

    gathered = [likely(exp(-1 / span)) - likely(1.0) for span in SPANS_RTTS]
    assert evidence.against_steady[0] == pytest.approx(gathered)

    # Now they differ: the third event weighs each by what the second was by it.
    def weights(keeps: float) -> list[float]:
        now = [w * p for w, p in zip(first, each(keeps, (begun, could), (more, of)), strict=True)]
        return [max(one / sum(now), LEAST) for one in now]

    heard(evidence, (30, 0, 0, 1.0))

    def third(keeps: float) -> float:
        seen = (keeps * (keeps * begun + more), keeps * (keeps * could + of))
        nothing = each(1.0, seen, (0, 30))
        return log(sum(w * p for w, p in zip(weights(keeps), nothing, strict=True)) / sum(weights(keeps)))

    after = [
        max(was + third(exp(-1 / span)) - third(1.0), 0)
        for was, span in zip(gathered, SPANS_RTTS, strict=True)
    ]
    assert evidence.against_steady[0] == pytest.approx(after)
    assert gathered == sorted(gathered, reverse=True)
    assert gathered[-1] > 0


def test_it_lies_between_0_and_the_most_and_a_change_holds_until_all_is_gone() -> None:
    evidence = Evidence(2)
    calm, wild = np.array([300.0, 300.0]), np.array([3.0, 3.0])
    for _ in range(60):
        evidence.hear(calm, wild, wild, np.full(2, SPAN_RTTS))
    assert (evidence.against_steady < CHANGES).all() and not evidence.changes.any()
    assert (evidence.against_steady >= 0).all()
    for _ in range(20):  # of the second link alone
        evidence.hear(calm, np.array([3.0, 90.0]), np.array([3.0, 70.0]), np.full(2, SPAN_RTTS))
    assert evidence.changes.tolist() == [False, True]
    assert evidence.against_steady.max() == MOST
    before = evidence.against_steady.copy()
    evidence.hear(np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2))  # nothing is heard
    assert (evidence.against_steady == before).all()
    evidence.against_steady[1] = 1.0  # less than shows a change, and more than nothing
    evidence.hear(np.ones(2), np.zeros(2), np.zeros(2), np.full(2, SPAN_RTTS))
    assert 0 < evidence.against_steady[1].max() < CHANGES and evidence.changes[1]
    evidence.against_steady[1] = 0.0
    evidence.hear(np.array([1.0, 40.0]), np.array([0.0, 4.0]), np.array([0.0, 4.0]), np.full(2, SPAN_RTTS))
    assert (evidence.against_steady[1].max() == 0) == (not evidence.changes[1])


@pytest.mark.parametrize(
    "probability", [2e-2, 0.4, *(pytest.param(one, marks=pytest.mark.slow) for one in (1e-3, 0.1))]
)
def test_one_probability_for_ever_is_hardly_ever_taken_for_change(probability: float) -> None:
    draws = np.random.default_rng(1)
    seen = sum(over(draws.random(400 * PACKETS) < probability)[1] is not None for _ in range(20))
    assert seen <= 1


@pytest.mark.parametrize("length", [5, 50])
def test_bursts_and_an_outage_are_no_change(length: int) -> None:
    draws = np.random.default_rng(2)
    for _ in range(10):
        lost = np.zeros(400 * PACKETS, dtype=bool)
        at = 0
        while at < len(lost):  # Gilbert's chain: rows of a mean length, begun with one probability
            at += draws.geometric(1e-3)
            for_ = draws.geometric(1 / length)
            lost[at : at + for_] = True
            at += for_
        lost[50_000:53_000] = True  # ten slots dark
        assert over(lost)[1] is None


def test_clusters_of_losses_are_no_change() -> None:
    # In a bad state of 100 packets on average one packet in two is lost: rows, as far as a row can tell.
    draws, seen = np.random.default_rng(5), 0
    for _ in range(10):
        bad = np.zeros(400 * PACKETS, dtype=bool)
        at = 0
        while at < len(bad):
            at += draws.geometric(0.002)
            for_ = draws.geometric(0.01)
            bad[at : at + for_] = True
            at += for_
        seen += over(bad & (draws.random(len(bad)) < 0.5))[1] is not None
    assert seen <= 1


@pytest.mark.parametrize(("factor", "slots"), [(10.0, 16), (0.1, 96)])
def test_a_step_is_seen_within_one_round_trip_or_a_fall_within_six(factor: float, slots: int) -> None:
    draws = np.random.default_rng(3)
    for _ in range(10):
        chances = np.full(200 * PACKETS, 0.01)
        chances[100 * PACKETS :] *= factor
        evidence, first = over(draws.random(len(chances)) < chances)
        assert first is not None and 100 <= first <= 100 + slots
        assert evidence.changes[0]  # a mean of both is never right


def test_links_do_not_meet() -> None:
    draws = np.random.default_rng(4)
    together, apart = Evidence(3), [Evidence(1) for _ in range(3)]
    for _ in range(50):
        n = draws.integers(0, 200, 3).astype(float)
        x = np.floor(n * draws.random(3) * 0.3)
        y = np.ceil(x / 2)
        span = draws.random(3)
        together.hear(n, x, y, span)
        for link, one in enumerate(apart):
            one.hear(n[[link]], x[[link]], y[[link]], span[[link]])
    for link, one in enumerate(apart):
        assert together.against_steady[link] == pytest.approx(one.against_steady[0])
        assert together.changes[link] == one.changes[0]
