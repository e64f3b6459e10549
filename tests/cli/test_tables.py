"""Tables of numbers fit the terminal: what is wider is printed part by part, and no figure is cut."""

from __future__ import annotations

import pytest
from dstcc_cli.output import say, show_figures
from rich.box import SIMPLE
from rich.table import Table


def table(columns: int, *, no_wrap: bool = True) -> Table:
    made = Table(title="all of it", box=SIMPLE, pad_edge=False, collapse_padding=True)
    for number in range(columns):
        made.add_column(f"column {number}", justify="right" if number else "left", no_wrap=no_wrap)
    for row in range(2):
        made.add_row(f"row {row}", *(f"{1_000 * number + row:,}" for number in range(1, columns)))
    return made


@pytest.mark.parametrize(("width", "columns"), [(80, 8), (80, 9), (80, 30), (120, 30), (20, 3)])
def test_no_line_is_wider_than_the_terminal(
    width: int, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    show_figures(table(columns))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    said = " ".join(lines)
    for number in range(1, columns):
        assert said.count(f"column {number} ") == 1
        assert f"{1_000 * number + 1:,}" in said
    assert said.count("all of it") == 1
    parts = said.count("column 0 ")
    assert said.count("row 1 ") == parts >= 1 and (parts > 1) == (columns * 10 > width + 1)


def test_a_legend_wraps_between_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = "knows: r is configured with the rate of each link; c has the contact-plan of all " + "x" * 50
    say(text)
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(line.strip() for line in lines) == text
    assert all(len(line) <= 40 for line in lines[:-1]) and all(line.startswith("  ") for line in lines[1:])


def test_one_column_too_wide_is_not_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    made = Table(box=SIMPLE)
    made.add_column("name", no_wrap=True)
    made.add_column("value", no_wrap=True)
    made.add_row("n" * 30, "123456789")
    show_figures(made)
    said = capsys.readouterr().out
    assert "n" * 30 in said and "123456789" in said


def test_numbers_are_whole_where_texts_fold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A heading of two words and a text wrap, a number never."""
    monkeypatch.setenv("COLUMNS", "50")
    made = Table(box=SIMPLE, title="links")
    for heading in ("link", "BDP packets", "loss", "queue bytes"):
        made.add_column(heading, justify="left" if heading in ("link", "loss") else "right")
    made.add_row("link 1", "800,000.0", "gilbert-elliott p 0.0001 r 0.05 bad 0.5", "1,200,000,000")
    show_figures(made)
    said = capsys.readouterr().out
    assert "800,000.0" in said and "1,200,000,000" in said and "…" not in said
    assert max(map(len, said.splitlines())) <= 50
    assert said.count("link 1") == 2  # with its heading in two lines the last column is still too wide by two


def test_a_table_in_a_pipe_is_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    show_figures(table(30))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("row")]
    assert len(lines) == 2 and all(f"{1_000 * number:,}" in lines[0] for number in range(1, 30))
