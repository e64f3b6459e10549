"""Moments of a mission for people: UTC where it has a date, else mission time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from dstcc.clock import SECONDS_BELOW_S, Clock

START = datetime(2028, 3, 11, 22, 14, 5, 900_000)
DATED = Clock(START)


@pytest.mark.parametrize(
    ("t_s", "span_s", "said"),
    [
        (0.0, SECONDS_BELOW_S, "2028-03-11 22:14"),
        (0.0, SECONDS_BELOW_S - 1, "2028-03-11 22:14:05"),
        (54.9, SECONDS_BELOW_S, "2028-03-11 22:14"),  # 22:14:59: a clock does not round up
        (55.0, SECONDS_BELOW_S, "2028-03-11 22:15"),
        (7200.0, SECONDS_BELOW_S, "2028-03-12 00:14"),
    ],
)
def test_a_moment_has_seconds_where_the_span_is_short(t_s: float, span_s: float, said: str) -> None:
    assert DATED.moment(t_s, span_s) == said


def test_a_span_names_its_day_once() -> None:
    assert DATED.between(0.0, 6000.0) == "2028-03-11 22:14–23:54"
    assert DATED.between(0.0, 60.0, 60.0) == "2028-03-11 22:14:05–22:15:05"
    assert DATED.between(0.0, 7200.0) == "2028-03-11 22:14–2028-03-12 00:14"


def test_a_zone_is_taken_off() -> None:
    berlin = timezone(timedelta(hours=1))
    assert Clock(datetime(2028, 3, 12, 0, 14, tzinfo=berlin)).moment(0.0) == "2028-03-11 23:14"
    assert Clock(START.replace(tzinfo=UTC)).moment(0.0) == DATED.moment(0.0)


def test_without_a_date_it_is_mission_time() -> None:
    clock = Clock()
    assert not clock.dated and DATED.dated
    assert clock.moment(1234.5) == "1,234 s" and clock.moment(12.34) == "12.3 s"
    assert clock.between(5.0, 7200.0) == "5–7,200 s"


def test_after_the_last_year_it_is_mission_time() -> None:
    assert DATED.moment(1e12) == "1,000,000,000,000 s"


def test_the_date_is_of_the_scenarios_document() -> None:
    assert Clock.of({"scenario": {"start": START}}) == DATED
    assert (
        Clock.of({"scenario": {"name": "x"}})
        == Clock.of({})
        == Clock.of({"scenario": {"start": "x"}})
        == Clock()
    )


@pytest.mark.parametrize(
    ("seconds", "reading"),
    [
        (0, "T+00:00:00"),
        (59.99, "T+00:00:59"),
        (3661, "T+01:01:01"),
        (86_399, "T+23:59:59"),
        (200_000, "T+2d 07:33:20"),
    ],
)
def test_a_reading_is_to_the_second(seconds: float, reading: str) -> None:
    assert Clock().reading(seconds) == reading
    assert DATED.reading(1.5) == "2028-03-11 22:14:06 UTC"


def test_beside_another_reading_it_says_what_differs() -> None:
    assert DATED.reading(0.0, 1.0) == "22:14:05"
    assert DATED.reading(0.0, 7200.0) == "2028-03-11 22:14:05"
    assert Clock().reading(0.0, 7200.0) == "T+00:00:00"


def test_the_same_day_of_another_month_is_another_day() -> None:
    # March has 31 days: 31 days after the 11th it is the 11th of April.
    month_s = 31 * 86_400.0
    assert DATED.between(0.0, month_s) == "2028-03-11 22:14–2028-04-11 22:14"
    assert DATED.reading(month_s, 0.0) == "2028-04-11 22:14:05"
    assert DATED.reading(60.0, 0.0) == "22:15:05"


def test_moments_have_the_name_of_their_clock() -> None:
    assert (DATED.name, Clock().name) == ("UTC", "mission time")
