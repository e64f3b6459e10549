"""Our DQN learns as much as stable-baselines3's from the same steps."""

from __future__ import annotations

import pytest

from bench.match import match

pytest.importorskip("stable_baselines3")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scores_lie_within_the_interval_of_their_difference():
    result = match(range(1, 6))
    mean, half = result.difference()
    assert abs(mean) <= half or mean > 0, f"{result.ours} against {result.theirs}"
    # What holding every window brings is far below both.
    assert min(*result.ours, *result.theirs) > 0.3
