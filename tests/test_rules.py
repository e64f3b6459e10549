"""What pydantic finds wrong, in the words of those who wrote a document."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, ValidationError

from dstcc.errors import LONGEST
from dstcc.rules import rule_of, value_of


class Inner(BaseModel):
    x: int = 0


class Document(BaseModel):
    share: float = 0
    numbers: Annotated[list[int], Field(min_length=2, max_length=3)] = [1, 2]
    pair: tuple[int, int] = (1, 2)
    table: Inner = Inner()
    start: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    words: dict[str, int] = {}


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"share": "2 %"}, "is a fraction, without %; write 2e-2"),
        ({"share": "2.5%"}, "is a fraction, without %; write 2.5e-2"),
        ({"share": "2 % x"}, "input should be a valid number, unable to parse string as a number"),
        ({"share": []}, "input should be a valid number"),
        ({"numbers": [1]}, "must have at least 2 values, has 1"),
        ({"numbers": [1, 2, 3, 4]}, "must have at most 3 values, has 4"),
        ({"numbers": 7}, "must be a list"),
        ({"pair": 7}, "must be a list"),
        ({"table": 7}, "must be a table"),
        ({"words": 7}, "must be a table"),
        ({"start": []}, "must be a date with a time, like 2026-11-21T06:00:00Z"),
    ],
)
def test_rules_are_told_without_pythons_types(given: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError) as error:
        Document.model_validate(given, strict="%" in str(given) and "x" not in str(given))
    (problem,) = error.value.errors()
    assert rule_of(problem) == rule


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "'a'"),
        (1.5, "1.5"),
        ([1, "b", (True,)], "[1, 'b', [True]]"),
        ({"a": 1, "b": {"c": [2]}}, "{a = 1, b = {c = [2]}}"),
        (date(2026, 11, 21), "2026-11-21"),
        (datetime(2026, 11, 21, 6), "2026-11-21T06:00:00"),
        (time(6, 5), "06:05:00"),
        ("x" * (LONGEST - 2), f"'{'x' * (LONGEST - 2)}'"),
        ("x" * (LONGEST - 1), f"'{'x' * (LONGEST - 4)}..."),
    ],
)
def test_values_are_told_as_toml_has_them(value: object, text: str) -> None:
    assert value_of({"input": value}) == text
