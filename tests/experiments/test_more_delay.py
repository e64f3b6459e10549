"""More playout delay: what it costs, and which scenarios it is asked of."""

from __future__ import annotations

import pytest

from experiments.more_delay import costs, later
from experiments.rivals import cells


def test_the_most_that_is_lost_by_any_longer_delay_counts() -> None:
    # Means over two seeds: 0.5, 0.7, 0.6, 0.65: the most that is lost is from the second to the third.
    assert costs([[0.4, 0.6], [0.8, 0.6], [0.6, 0.6], [0.65, 0.65]]) == pytest.approx(0.1)


def test_what_only_rises_costs_nothing() -> None:
    assert costs([[0.1], [0.2], [0.3]]) == 0


@pytest.mark.parametrize(
    ("name", "key"), [("handover", "delay_s"), ("overload", "delay_rtts"), ("sealed 09-main-belt", "delay_s")]
)
def test_a_cell_gets_its_own_delay_so_many_times(name: str, key: str) -> None:
    cell = next(one for one in cells() if one.name == name)
    before, after = getattr(cell.plain().playout, key), later(cell, 1.5, {"seed": 1, "seeds": 1})
    assert getattr(after.playout, key) == pytest.approx(1.5 * before)
    assert after.transport.controller == ("dstcc",)
