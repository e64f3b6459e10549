"""CSV that people open: no cell is a formula, no terminal obeys one, and nothing is lost."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest

from dstcc.spreadsheet import cell, cells, records_csv, to_csv


@pytest.mark.parametrize("sign", "=+-@")
def test_a_formula_is_a_text_wherever_its_sign_begins(sign: str) -> None:
    for text in (
        f"{sign}cmd|' /C calc'!A0",
        f" {sign}A1",
        f"\t{sign}A1",
        f"\n{sign}A1",
        f"{sign}1{sign}A1",
        sign,
    ):
        assert str(cell(text)).startswith("'"), text


@pytest.mark.parametrize("text", ["-1", "+1.5", "-.5e-3", "1=2", "a-b", "", "x", "2028-03-11"])
def test_numbers_and_other_texts_stay(text: str) -> None:
    assert cell(text) == text


@pytest.mark.parametrize("value", [True, 0, -3, 2.5, float("-inf")])
def test_values_that_are_numbers_stay(value: float) -> None:
    assert cell(value) is value


def test_what_is_missing_is_an_empty_cell() -> None:
    assert cell(None) == cell(float("nan")) == ""
    assert records_csv(["a", "b"], [{"a": 1.0}, {"b": float("nan")}]) == "a,b\n1.0,\n,\n"


def test_control_characters_are_written_out_and_newlines_quoted() -> None:
    text = to_csv([["\x1b[2J", "two\nlines", 'a "quote", a comma']])
    assert text == '\\x1b[2J,"two\nlines","a ""quote"", a comma"\n'
    assert next(csv.reader(io.StringIO(text))) == ["\\x1b[2J", "two\nlines", 'a "quote", a comma']


def test_a_table_has_safe_texts_and_names_and_all_else_as_it_was() -> None:
    made = cells(
        pa.table(
            {
                "=name": pa.chunked_array([["=1", None], ["x", "=1"]], pa.string()),
                "wide": pa.array(["@x", "", None, "-2"], pa.large_string()),
                "kinds": pa.array(["=a", "b", None, "=a"]).dictionary_encode(),
                "number": pa.array([1, None, -3, 4], pa.int64()),
            }
        )
    )
    assert made.to_pydict() == {
        "'=name": ["'=1", None, "x", "'=1"],
        "wide": ["'@x", "", None, "-2"],
        "kinds": ["'=a", "b", None, "'=a"],
        "number": [1, None, -3, 4],
    }
