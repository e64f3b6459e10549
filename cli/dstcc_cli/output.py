"""Printing: results on stdout, for people or with ``--json`` as one document; progress, notes and warnings on
stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from io import TextIOWrapper
from math import isfinite
from typing import TYPE_CHECKING, Any, TextIO

from dstcc.errors import DELETE_AND_C1, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text


def console() -> Console:
    """A console on stdout for a command's results; not with ``--json``, whose document must be alone on stdout."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(
            errors="backslashreplace"
        )  # as on stderr: a file's name need not be valid in its encoding
    return _console(stderr=False)


def notices() -> Console:
    """A console on stderr, for notes and warnings."""
    return _console(stderr=True)


def notice(message: str) -> None:
    """Print a line on stderr that begins with the program's name."""
    if sys.stderr is not None:  # closed by whoever calls
        _Forgiving(sys.stderr).write(f"dstcc: {printable(message)}\n")


def _console(*, stderr: bool) -> Console:
    """Rich itself honours ``NO_COLOR`` and whether there is a terminal; ``COLUMNS`` and ``LINES`` if they are sizes.

    Names given by users may contain ``[/x]`` or ``:key:``, so markup and emoji are off.
    """
    sizes = {"COLUMNS": WIDEST, "LINES": WIDEST}
    known = {
        key: value
        for key, value in os.environ.items()
        if key not in sizes or (value.isascii() and value.isdigit() and 0 < int(value[:9]) <= sizes[key])
    }
    file: Any = _Forgiving(sys.stderr) if stderr and sys.stderr is not None else None
    return _plain()(file=file, stderr=stderr, highlight=False, markup=False, emoji=False, _environ=known)


@cache
def _plain() -> type[Console]:
    """Made once: a dry run prints on dozens of them."""
    from rich.console import Console

    class Plain(Console):
        """What users named may hold escape sequences; rich's own are made later."""

        def render_str(self, text: str, **options: Any) -> Text:
            """Before rich lays it out."""
            return super().render_str(printable(text), **options)

    return Plain


class _Forgiving:
    """Stderr: what cannot be written there (the disk is full, the terminal is gone) is lost, and ends no work."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        """All else is as of the file."""
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        """Write it, or lose it."""
        with suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Likewise."""
        with suppress(OSError):
            self._file.flush()


def say(text: str) -> None:
    """Print a sentence on stdout in lines that fit the terminal, or 80 characters where there is none; the lines after
    its first are indented, and no word is broken."""
    from textwrap import fill

    width = console().width
    tell(fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


def tell(text: str) -> None:
    """Print lines on stdout as they are, however long."""
    console().print(text, soft_wrap=True)


def tell_aside(text: str) -> None:
    """Likewise on stderr."""
    notices().print(text, soft_wrap=True)


def plain_table(*headings: str, **style: Any) -> Table:
    """A table without frames; ``style`` is rich's."""
    from rich.box import SIMPLE
    from rich.table import Table

    return Table(*headings, **{"box": SIMPLE, **style})


def number_table(*headings: str, texts: Collection[str] = (), **style: Any) -> Table:
    """Such a table of numbers, but for the columns of ``texts``."""
    table = plain_table(**style)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in texts else "right")
    return table


WIDEST = 10_000
"""Columns, or lines, of a terminal; another number says nothing, as 0 does."""
FOLDED = 16
"""Columns of text become so narrow, if it must be, before a table is printed in parts."""


def show_figures(table: Table) -> None:
    """Print a table of numbers on stdout, never truncated.

    In one that is wider than the terminal headings and texts wrap first (not in columns with ``no_wrap``). If that is
    not enough it is printed part by part: some of the columns, then the first one again beside the next ones. Into a
    file or a pipe, where nobody has set ``COLUMNS``, a table's line is whole.
    """
    out = console()
    if not out.is_terminal and "COLUMNS" not in os.environ:
        out.width = WIDEST
    rest, title = list(range(1, len(table.columns))), table.title
    while True:
        count = len(rest)
        while count > 1 and not _fits(_of_columns(table, rest[:count]), out):
            count -= 1
        part = _of_columns(table, rest[:count])
        part.title = title
        if not _fits(part, out):  # a name and a number that are wider than the terminal
            out.width = _width(part, out)
        out.print(part)
        rest, title = rest[count:], None
        if not rest:
            return


def _fits(part: Table, out: Console) -> bool:
    """Set the widths of its columns, and tell whether all of it fits."""
    widths = [_widths(column) for column in part.columns]
    for column, (_, most) in zip(part.columns, widths, strict=True):
        column.width = most
    excess = _width(part, out) - out.width
    # numbers' headings first, then texts, the widest first
    for place in sorted(
        range(len(widths)), key=lambda place: (part.columns[place].justify != "right", -widths[place][1])
    ):
        least, most = widths[place]
        cut = max(0, min(excess, most - least))
        part.columns[place].width = most - cut
        excess -= cut
    return excess <= 0


def _widths(column: Column) -> tuple[int, int]:
    """The least and the most that a column needs."""
    from rich.cells import cell_len

    lines = [line for cell in column.cells for line in str(cell).splitlines()]
    cells, heading = max(map(cell_len, lines), default=0), str(column.header)
    most = max(cells, cell_len(heading))
    if column.no_wrap:
        return most, most
    words = max(map(cell_len, heading.split()), default=0)
    return max(words, cells if column.justify == "right" else min(cells, FOLDED)), most


def _width(part: Table, out: Console) -> int:
    """Of a table's lines, by the widths of its columns."""
    from rich.measure import Measurement

    return Measurement.get(out, out.options.update(max_width=10_000), part).maximum


def _of_columns(table: Table, columns: Sequence[int]) -> Table:
    """The first column and these."""
    from copy import copy

    part = copy(table)
    part.columns = [copy(table.columns[0]), *(copy(table.columns[place]) for place in columns)]
    for place, column in enumerate(part.columns):
        column._index = place
        column.overflow = "fold"
    return part


def emit_json(document: object) -> None:
    """Print ``document`` as the command's one JSON document on stdout; NaN and infinity become null."""
    import json

    text = json.dumps(_finite(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    text = DELETE_AND_C1.sub(
        lambda found: f"\\u{ord(found[0]):04x}", text
    )  # JSON escapes only those below a blank
    # a file's name need not be UTF-8: its other bytes are written as JSON's own escapes
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode())
    sys.stdout.flush()


@contextmanager
def how_to_go_on(said: Callable[[], str | None]) -> Iterator[None]:
    """After Ctrl-C and SIGTERM, say with which command the work goes on, if any of it is kept."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and (text := said()):
            notice(text)
        raise


@contextmanager
def progress(description: str, total: float | None) -> Iterator[Callable[..., None]]:
    """A progress bar on stderr while the block runs; nothing is drawn unless stderr is a terminal.

    It yields a function, which reports so many more units of the total as done, one unless said.
    """
    if not sys.stderr.isatty():
        yield lambda _n=1: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    counted = total is not None and float(total).is_integer() and total > 1
    amount = MofNCompleteColumn() if counted else TaskProgressColumn()
    columns = [TextColumn("{task.description}", markup=False), BarColumn(), amount, TimeElapsedColumn()]
    if total is not None:
        columns += [TextColumn("left"), TimeRemainingColumn()]
    with Progress(*columns, console=notices(), transient=True) as bar:
        yield partial(bar.advance, bar.add_task(description, total=total))


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
