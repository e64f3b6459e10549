"""What the two planning baselines expect of a link: by its law from the last state known, and by a filter."""

from __future__ import annotations

from math import nan
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.ladder import believing
from dstcc.ladder.believing import PlannerOnBelief, PlannerOnLaw


class Planner:
    """Says which times ahead are asked about, and plans nothing."""

    def __init__(self, mission: Any) -> None:
        self.mission = mission

    def times(self, time_s: Any) -> Any:
        return np.asarray(time_s)[:, None] + 10.0

    def plan(self, seen: Any, expected: Any) -> Any:
        return "planned", seen, expected.tolist()


class Law:
    """Expects the time asked about, or from the state known on how much later that is."""

    def __init__(self, foretells: bool = False) -> None:
        self.foretells = foretells

    def expect(self, at: float | None, times: Any) -> Any:
        return times if at is None else times - at


@pytest.fixture(autouse=True)
def _planner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(believing, "Planner", Planner)


MISSION: Any = SimpleNamespace(trials=2, subflows=2, light_s=np.array([[3.0, 5.0], [3.0, 5.0]]))


def seen(time_s: list[float], sent_s: list[list[float]]) -> Any:
    return SimpleNamespace(time_s=np.array(time_s), sent_s=np.array(sent_s), heard="heard", lost="lost")


def test_a_law_is_asked_from_the_last_state_that_feedback_told() -> None:
    planner = PlannerOnLaw([[Law(), Law()], [Law(), Law()]])
    planner.begin(MISSION)
    assert planner.expect(seen([1.0, 2.0], [[nan, 0.5], [nan, nan]])).tolist() == [
        [[11.0], [10.5]],
        [[12.0], [12.0]],
    ]
    # the second subflow of the first trial is known as of 0.5 still
    later = seen([3.0, 4.0], [[2.0, nan], [nan, 3.0]])
    expected = [[[11.0], [12.5]], [[14.0], [11.0]]]
    assert planner.decide(later) == ("planned", later, expected)


@pytest.mark.parametrize("foretells", [(False, False), (False, True), (True, True)])
def test_who_knows_one_links_future_is_clairvoyant(foretells: tuple[bool, bool]) -> None:
    assert PlannerOnLaw([[Law(), Law()], [Law(one) for one in foretells]]).clairvoyant == any(foretells)


def test_a_belief_hears_first_and_forgets_by_round_trips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Light takes 3 and 5 s one way."""
    calls: list[Any] = []

    class Filter:
        def __init__(self, trials: int, subflows: int, rtt_s: Any) -> None:
            calls.append((trials, subflows, rtt_s.tolist()))

        def hear(self, *told: Any) -> None:
            calls.append((*told[:2], told[2].tolist()))

        def expect(self, times: Any) -> Any:
            calls.append(times.tolist())
            return times

    monkeypatch.setattr(believing, "Filter", Filter)
    planner = PlannerOnBelief()
    planner.begin(MISSION)
    now = seen([1.0, 2.0], [[0.5, 0.5], [0.5, 0.5]])
    assert planner.decide(now) == ("planned", now, [[11.0], [12.0]])
    assert calls == [
        (2, 2, [[6.0, 10.0], [6.0, 10.0]]),
        ("heard", "lost", [[0.5, 0.5], [0.5, 0.5]]),
        [[11.0], [12.0]],
    ]
