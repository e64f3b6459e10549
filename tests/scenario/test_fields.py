"""The types of a scenario's keys: what each takes, up to its bounds."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from dstcc.scenario.fields import (
    BodyPair,
    Delay,
    Draw,
    DrawableDb,
    DrawableInstant,
    DrawableProbability,
    DrawableRate,
    Rate,
    ns,
    rising,
)


def refusal(kind: Any, value: Any) -> str | None:
    """The rule that a value breaks; ``None`` where it is fine."""
    try:
        TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        return str(error.errors()[0]["msg"])
    return None


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        (Rate, 1.0, 1e12),
        (DrawableRate, 1.0, 1e12),
        (DrawableProbability, 0.0, 1.0),
        (DrawableDb, -50.0, 100.0),
        (DrawableInstant, 0.0, 1e9),
        (Delay, 1e-6, 1e6),
    ],
    ids=["rate", "drawable rate", "probability", "decibels", "instant", "delay"],
)
def test_numbers_and_both_ends_of_draws_are_within_bounds(kind: Any, low: float, high: float) -> None:
    for value in (low, high, (low + high) / 2):
        assert refusal(kind, value) is None
    wrong = low - abs(low) / 1000 - 1e-9, high * 1.001
    for value in wrong:
        assert refusal(kind, value) == f"must be between {low:g} and {high:g}, not {value:g}"
    if kind is Rate:
        return
    assert refusal(kind, {"uniform": [low, high]}) is None
    for ends, value in (([wrong[0], high], wrong[0]), ([low, wrong[1]], wrong[1])):
        assert refusal(kind, {"uniform": ends}) == f"must be between {low:g} and {high:g}, not {value:g}"
    assert str(refusal(kind, "1")).startswith(("must be a number", "Input should be a valid number"))


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ({"uniform": [2, 2]}, None),
        ({"log_uniform": [2, 2]}, None),
        ({"uniform": [-1, 0]}, None),
        ({"uniform": [2, 1.9]}, "the range [2.0, 1.9] is out of order"),
        ({"log_uniform": [0, 1]}, "log_uniform needs bounds above 0, not 0.0"),
        ({"log_uniform": [1e-9, 1]}, None),
        ({}, "needs exactly one of uniform and log_uniform"),
        ({"uniform": [1, 2], "log_uniform": [1, 2]}, "needs exactly one of uniform and log_uniform"),
        ({"unifrm": [1, 2]}, "unknown key; did you mean 'uniform'?"),
    ],
)
def test_a_draw_is_of_one_range(keys: dict[str, Any], rule: str | None) -> None:
    said = refusal(Draw, keys)
    assert said == rule if rule is None else str(said).startswith(rule)
    if rule is None:
        ends = next(iter(keys.values()))
        assert Draw.model_validate(keys).bounds == tuple(ends)


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ([], "should have at least 1 item"),
        ([[5, 1]], None),
        ([[0, 1e-6], [1e-9, 1e6]], None),
        ([[0, 1], [3, 2], [3, 4]], "times must rise, but row 2 is at 3 s after 3 s"),
        ([[4, 1], [3, 2]], "times must rise, but row 1 is at 3 s after 4 s"),
        ([[0, 1], [1e-10, 2]], "rows are a nanosecond apart at least, but row 1 is at 1e-10 s after 0.0 s"),
        ([[0, 1], [5, 2e6]], "must be between 1e-06 and 1e+06, not 2e+06"),
    ],
)
def test_a_table_of_delays_rises(rows: list[list[float]], rule: str | None) -> None:
    said = refusal(Delay, rows)
    assert said is None if rule is None else rule in str(said)
    assert rising(((0.0, 1.0), (1.0, 1.0))) == ((0.0, 1.0), (1.0, 1.0))


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ({"bodies": ["mars", "earth"]}, None),
        ({"bodies": ["mars", "earth"], "ephemeris": "de421"}, None),
        ({"bodies": ["mars", "mars"]}, "needs two different bodies"),
        ({"bodies": ["marz", "earth"]}, "no body 'marz'; did you mean 'mars'?"),
        ({"bodies": ["mars", "earth"], "ephemeris": "de422"}, "no 'de422'; did you mean 'de421'?"),
        ({"body": ["mars", "earth"]}, "unknown key; did you mean 'bodies'?"),
        ({"uniformly": [1, 2]}, "unknown key; did you mean 'uniform'?"),  # near a draw's key it is one
        ({}, "needs exactly one of uniform and log_uniform"),
        ("soon", "must be a number"),
    ],
)
def test_a_delay_may_be_a_light_time(value: Any, rule: str | None) -> None:
    said = refusal(Delay, value)
    assert said is None if rule is None else str(said).startswith((rule, "Input should be a valid number"))
    if rule is None:
        assert isinstance(TypeAdapter(Delay).validate_python(value), BodyPair)


def test_seconds_are_whole_nanoseconds() -> None:
    assert [ns(value) for value in (0, 1.5e-9, 2.5e-9, 1, 1e9)] == [0, 2, 2, 10**9, 10**18]
