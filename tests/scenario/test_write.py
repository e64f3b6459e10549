"""Values as TOML: each is read back as it was."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.scenario.write import value_text

PLAIN = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=True)
    | st.text()
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_a_value_is_read_back(value: Any) -> None:
    read = tomllib.loads(f"value = {value_text(value)}")["value"]
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (1, "1"),
        (1.5, "1.5"),
        ('a\x7f"b', '"a\\u007f\\"b"'),
        ((1, [2]), "[1, [2]]"),
        ({"a": 1, "b c": {"d": 2}}, '{a = 1, "b c" = {d = 2}}'),
        (datetime(2026, 11, 21, 6, tzinfo=UTC), "2026-11-21T06:00:00+00:00"),
    ],
)
def test_how_values_look(value: object, text: str) -> None:
    assert value_text(value) == text
