"""Axes of mission time: round moments of UTC where the mission has a date."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from matplotlib.figure import Figure

from dstcc.clock import Clock
from dstcc.report.figures.style import name_times
from dstcc.report.numbers import Unit
from dstcc.report.times import DAY_S, TICK_IN, ticks_s

CLOCK = Clock(datetime(2028, 3, 11, 22, 14, 5, tzinfo=UTC))
MINUTES = Unit(60.0, "min", 0)


def dates(*ticks: int) -> list[str]:
    found = [CLOCK.date(tick) for tick in ticks]
    return [f"{date:%m-%d %H:%M:%S}" for date in found if date]


@pytest.mark.parametrize(
    ("span_s", "most", "first", "step_s"),
    [
        (20.0, 6, "03-11 22:14:05", 5),
        (600.0, 6, "03-11 22:16:00", 120),
        (4 * 3600.0, 6, "03-11 23:00:00", 3600),
        (2 * DAY_S, 6, "03-12 00:00:00", 43_200),
        (30 * DAY_S, 6, "03-12 00:00:00", 5 * DAY_S),
        (3000 * DAY_S, 2, "03-11 00:00:00", 1500 * DAY_S),
    ],
)
def test_ticks_are_round_moments_and_few(span_s: float, most: int, first: str, step_s: int) -> None:
    ticks = ticks_s(CLOCK, 0.0, span_s, most)
    assert 1 <= len(ticks) <= most + 1
    assert {b - a for a, b in pairwise(ticks)} <= {step_s}
    if step_s <= DAY_S:
        assert dates(ticks[0]) == [first]
    assert all(0 <= tick <= span_s for tick in ticks)
    # of a step below a day each midnight is one, and each is a whole number of steps after it
    assert all((tick + 22 * 3600 + 14 * 60 + 5) % min(step_s, DAY_S) == 0 for tick in ticks)


def axes_of(clock: Clock, minutes: float, width_in: float, begin: float = 0.0) -> tuple[str, list[str]]:
    """The axis' name and its labels."""
    figure = Figure(figsize=(width_in, 2))
    axes = figure.add_axes((0.0, 0.2, 1.0, 0.8))
    axes.set_xlim(begin, minutes)
    name_times(axes, clock, MINUTES, "captured at")
    figure.draw_without_rendering()
    low, high = axes.get_xlim()
    shown = [tick.label1.get_text() for tick in axes.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    return axes.get_xlabel(), shown


def test_the_axis_says_utc_and_its_first_date() -> None:
    name, labels = axes_of(CLOCK, 240.0, 6 * TICK_IN)
    assert name == "captured at UTC, from 2028-03-11 22:14"
    assert labels == ["23:00", "03-12", "01:00", "02:00"]
    assert axes_of(CLOCK, 600.0, 6 * TICK_IN, 120.0)[0] == "captured at UTC, from 2028-03-12 00:14"


def test_a_narrow_axis_has_fewer_ticks() -> None:
    assert axes_of(CLOCK, 240.0, 2 * TICK_IN)[1] == ["03-12", "02:00"]


def test_seconds_are_shown_where_ticks_are_closer_than_a_minute() -> None:
    assert axes_of(CLOCK, 2.0, 6 * TICK_IN)[1][:2] == ["22:14:30", "22:15:00"]


def test_dates_have_their_year_where_there_are_several() -> None:
    """From 11 March 2028 on, in steps of 200 days."""
    assert axes_of(CLOCK, 600 * 1440.0, 4 * TICK_IN)[1] == ["2028-09-27", "2029-04-15", "2029-11-01"]


def test_without_a_date_it_is_mission_time_in_a_unit() -> None:
    name, labels = axes_of(Clock(), 240.0, 6 * TICK_IN)
    assert name == "captured at mission time (min)"
    assert "100" in labels
