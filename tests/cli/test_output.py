"""Consoles, bars and documents: which sizes count, what is counted, and what a closed stderr loses."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
from dstcc_cli import output
from rich.table import Table


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        ("120", 120),
        ("1", 1),
        ("10000", 10_000),
        ("10001", 80),
        ("0", 80),
        ("-5", 80),
        ("", 80),
        ("٣", 80),
        ("1e2", 80),
    ],
)
def test_a_terminals_width_is_taken_if_it_is_one(
    monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", columns)
    console = output.console()
    assert console.width == width
    assert console.size.height == (25 if width == 80 else width)


@pytest.mark.parametrize(
    ("total", "amount"),
    [
        (3, "MofNCompleteColumn"),
        (2.0, "MofNCompleteColumn"),
        (1, "TaskProgressColumn"),
        (1.5, "TaskProgressColumn"),
        (None, "TaskProgressColumn"),
    ],
)
def test_what_a_bar_shows(monkeypatch: pytest.MonkeyPatch, total: float | None, amount: str) -> None:
    import rich.progress

    seen: dict[str, Any] = {"advanced": []}

    class Progress:
        def __init__(self, *columns: Any, console: Any, transient: bool) -> None:
            seen.update(columns=columns, stderr=console.stderr, transient=transient)

        def __enter__(self) -> Progress:
            return self

        def __exit__(self, *_: object) -> None:
            seen["over"] = True

        def add_task(self, what: str, *, total: float | None) -> int:
            seen.update(what=what, total=total)
            return 7

        def advance(self, task: int, n: float) -> None:
            seen["advanced"].append((task, n))

    monkeypatch.setattr(rich.progress, "Progress", Progress)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with output.progress("[x] work", total) as advance:
        advance(0.5)
    names = [type(one).__name__ for one in seen["columns"]]
    assert names[:4] == ["TextColumn", "BarColumn", amount, "TimeElapsedColumn"]
    assert names[4:] == ([] if total is None else ["TextColumn", "TimeRemainingColumn"])
    assert seen["columns"][0].markup is False and seen["stderr"] is True and seen["transient"] is True
    assert (seen["what"], seen["total"], seen["advanced"], seen["over"]) == (
        "[x] work",
        total,
        [(7, 0.5)],
        True,
    )


def test_a_full_or_closed_stderr_ends_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError("gone")

        def flush(self) -> None:
            raise OSError("gone")

    monkeypatch.setattr(sys, "stderr", Gone())
    output.notice("words")
    output.notices().print("words")
    forgiving = output._Forgiving(sys.stderr)
    assert forgiving.write("words") == 5
    forgiving.flush()
    assert forgiving.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", None)
    output.notice("words")
    monkeypatch.setattr(sys, "stderr", file := io.StringIO())
    output.notice("a\x1bb")
    assert file.getvalue() == "dstcc: a\\x1bb\n"


def test_a_document_escapes_what_terminals_obey(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit_json({"a": ("\x7f\x9b", 1.5, True), 5: {"b": float("-inf")}, "c": "\udcff"})
    said = capsys.readouterr().out
    assert said == (
        '{\n  "a": [\n    "\\u007f\\u009b",\n    1.5,\n    true\n  ],\n'
        '  "5": {\n    "b": null\n  },\n  "c": "\\udcff"\n}\n'
    )
    assert json.loads(said)["a"][0] == "\x7f\x9b"


def test_the_least_and_the_most_that_a_column_needs() -> None:
    def widths(*cells: str, heading: str = "a heading", **how: Any) -> tuple[int, int]:
        table = Table()
        table.add_column(heading, **how)
        for cell in cells:
            table.add_row(cell)
        return output._widths(table.columns[0])

    assert widths("12345", justify="right") == (7, 9), "its heading wraps to seven"
    assert widths("x" * 12, justify="right") == (12, 12), "a number does not"
    assert widths("x" * 12) == (12, 12) and widths("x" * 30) == (16, 30), "a text does, to sixteen"
    assert widths("x" * 30, no_wrap=True) == (30, 30)
    assert widths("ab\nabcd", heading="") == (4, 4) and widths(heading="") == (0, 0)
    assert widths("日本語") == (7, 9) and widths("日本語日本語") == (12, 12), "two columns a character"


def test_columns_give_way_in_their_order(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Headings of numbers first, then the widest text, and no more than is needed."""
    table = output.plain_table("name", "of it all", pad_edge=False)
    table.add_column("many things", justify="right")
    table.add_row("n" * 20, "t" * 30, "5")
    whole = 20 + 30 + 11 + 2 * 2 + 4
    for width, lengths in (
        (whole, (20, 30, 11)),
        (whole - 1, (20, 30, 10)),
        (whole - 6, (20, 29, 6)),
        (whole - 19, (20, 16, 6)),
        (whole - 23, (16, 16, 6)),
    ):
        monkeypatch.setenv("COLUMNS", str(width))
        output.show_figures(table)
        capsys.readouterr()
        part = output._of_columns(table, [1, 2])
        console = output.console()
        assert output._fits(part, console) is True
        assert tuple(column.width for column in part.columns) == lengths, width
    monkeypatch.setenv("COLUMNS", str(whole - 24))
    assert output._fits(output._of_columns(table, [1, 2]), output.console()) is False
