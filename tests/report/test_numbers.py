from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.report.numbers import SPACE, Unit, quantity, scientific, span, unit_for, unit_for_row


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("bps", 115_200.0, "115 kb/s"),
        ("bps", 12_500_000.0, "12.5 Mb/s"),
        ("bps", 0.0, "0 b/s"),
        ("seconds", 510.0, "8.5 min"),
        ("seconds", 2400.0, "40 min"),
        ("seconds", 14_400.0, "4 h"),
        ("seconds", 4 * 86_400.0, "4 d"),
        ("seconds", 0.04, "40 ms"),
        ("seconds", 0.0, "0 s"),
        ("bytes", 65_536.0, "65.5 kB"),
        ("share", 0.834, "83.4 %"),
        ("db", 38.25, "38.2 dB"),
        ("count", 4.0, "4"),
    ],
)
def test_a_quantity_has_a_fitting_unit(kind: str, value: float, expected: str) -> None:
    assert quantity(kind, value) == expected.replace(" ", SPACE)


@pytest.mark.parametrize("kind", ["seconds", "bytes", "bps", "count", "share"])
def test_no_values_have_the_unit_of_nought(kind: str) -> None:
    assert unit_for(kind, []) == unit_for(kind, [float("nan")]) == unit_for(kind, [0.0])


def test_numbers_of_a_row_share_unit_and_decimals() -> None:
    unit = unit_for("seconds", [30.0, 7_500.0])
    assert unit.name == "h"
    assert [unit.number(value) for value in (30.0, 7_500.0)] == ["0.01", "2.08"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 0.000232, 0.082], ["0.00", "0.02", "8.20"]),
        ([0.0, 0.000232, 0.00001, 0.082], ["0.000", "0.023", "0.001", "8.200"]),
        ([0.1234, 0.5678], ["12.3", "56.8"]),
        ([0.5, 0.502, 0.498], ["50.0", "50.2", "49.8"]),
        ([0.1002, 0.1003], ["10.0", "10.0"]),
        ([0.0001, 0.3], ["0.01", "30.00"]),
    ],
)
def test_more_decimals_only_where_they_tell_values_apart(values: list[float], expected: list[str]) -> None:
    unit = unit_for("share", values).telling_apart(values)
    assert [unit.number(value) for value in values] == expected


def test_the_largest_of_a_row_keeps_to_four_digits() -> None:
    # Between 0.4 ms and 28 s lie 0.28 s, which alone would be milliseconds: 28 454 of them.
    queueing_s = [28.454, 13.869, 0.0004]
    assert unit_for_row("seconds", queueing_s).name == "s"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (72.269, "72.27"),
        (286.3612, "286.4"),
        (1341.8, "1 342"),
        (12_954.3, "12 954"),
        (0.00312, "0.003"),
        (0.0, "0.000"),
    ],
)
def test_no_cell_has_more_than_four_digits_but_for_whole_numbers(value: float, expected: str) -> None:
    unit = Unit(1.0, "", 3).trimmed([value])
    assert unit.number(value) == expected.replace(" ", SPACE)


def test_a_row_of_values_far_apart_has_a_unit_between_them() -> None:
    completion_s = [3_136.5, 783_660.2, 19_564.5]
    assert unit_for("seconds", completion_s).name == "d"
    unit = unit_for_row("seconds", completion_s)
    assert [unit.text(value) for value in completion_s] == [
        text.replace(" ", SPACE) for text in ("0.9 h", "217.7 h", "5.4 h")
    ]
    assert unit_for_row("seconds", [0.0, 1e-9, 1_000.0]).name == "s"
    assert unit_for_row("seconds", [0.0, 0.0]) == unit_for("seconds", [0.0])
    assert unit_for_row("share", [0.001, 0.5]) == unit_for("share", [0.5])


def test_signs_are_typographic_and_zero_has_none() -> None:
    unit = unit_for("share", [0.5])
    assert [unit.signed(value) for value in (0.123, -0.123, -0.00001, 0.00001, 0.0)] == [
        "+12.3",
        "\u221212.3",
        "0.0",
        "0.0",
        "0.0",
    ]


def test_a_span_names_a_shared_unit_once() -> None:
    assert span("seconds", [1200.0, 510.0]) == "8.5–20 min".replace(" ", SPACE)
    assert span("seconds", [30.0, 1200.0]) == f"30{SPACE}s – 20{SPACE}min"
    assert span("bps", [115_200.0, 115_200.0]) == f"115{SPACE}kb/s"
    assert span("bps", []) == "unknown"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "0"), (0.01, "0.01"), (1e-4, "10⁻⁴"), (3.2e-5, "3.2 × 10⁻⁵"), (27_000.0, "2.7 × 10⁴")],
)
def test_probabilities(value: float, expected: str) -> None:
    assert scientific(value) == expected.replace(" ", SPACE)


@given(st.sampled_from(["share", "bps", "seconds", "bytes", "db", "score", "count"]), st.floats(1e-7, 1e13))
def test_any_value_is_written_to_within_its_last_digit(kind: str, value: float) -> None:
    unit = unit_for(kind, [value])
    text = unit.number(value).replace(SPACE, "")
    assert abs(float(text) * unit.factor - value) <= 0.51 * unit.factor * 10**-unit.decimals + 1e-12 * value
