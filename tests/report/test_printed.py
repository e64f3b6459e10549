"""Tables of model cards, as scripts print them."""

from __future__ import annotations

import pytest

from dstcc.report.printed import heading, interval, line


def test_a_table_is_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    heading("name", ("a", "b"))
    line("1", "2")
    assert capsys.readouterr().out == "\n**name**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"


def test_an_interval_is_in_its_unit_and_digits() -> None:
    # of eight values the middle four count: 2e6, 2e6, 4e6, 4e6
    values = [0.0, 0.0, 2e6, 2e6, 4e6, 4e6, 9e6, 9e6]
    text = interval(values, 1, 1e6)
    assert text.startswith("3.0 [") and text.endswith("]")
    assert interval([1.0, 1.0]) == "1.000 [1.000, 1.000]"
    assert interval([1.0]) == "1.000"
