"""Printing: results on stdout, for people or with ``--json`` as one document; progress, notes and warnings on
stderr."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that a terminal may obey, but for newlines and tabs: a file's name can hold them."""


def printable(text: str) -> str:
    """The text with such characters written out, as ``\\x1b``."""
    return CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


class Progress(Protocol):
    """What :func:`progress` yields."""

    def advance(self, n: float) -> None:
        """Report ``n`` more units of the total as done."""


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


def _console(*, stderr: bool) -> Console:
    """Rich itself honours ``NO_COLOR`` and whether there is a terminal.

    Names given by users may contain ``[/x]`` or ``:key:``, so markup and emoji are off.
    """
    from rich.console import Console

    class Plain(Console):
        """What users named may hold escape sequences; rich's own are made later."""

        def render_str(self, text: str, **options: Any) -> Text:
            """Before rich lays it out."""
            return super().render_str(printable(text), **options)

    return Plain(stderr=stderr, highlight=False, markup=False, emoji=False)


def show_figures(table: Table) -> None:
    """Print a table of numbers on stdout, never truncated: on a narrow terminal its lines wrap."""
    from rich.measure import Measurement

    out = console()
    out.width = max(out.width, Measurement.get(out, out.options.update(max_width=10_000), table).maximum)
    out.print(table)


def emit_json(document: object) -> None:
    """Print ``document`` as the command's one JSON document on stdout; NaN and infinity become null."""
    import json

    text = json.dumps(_finite(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # a file's name need not be UTF-8: its other bytes are written as JSON's own escapes
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode())
    sys.stdout.flush()


@contextmanager
def progress(description: str, total: float | None) -> Iterator[Progress]:
    """A progress bar on stderr while the block runs; nothing is drawn unless stderr is a terminal."""
    if not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as RichProgress

    counted = total is not None and float(total).is_integer() and total > 1
    amount = MofNCompleteColumn() if counted else TaskProgressColumn()
    columns = [TextColumn("{task.description}", markup=False), BarColumn(), amount, TimeElapsedColumn()]
    if total is not None:
        columns += [TextColumn("left"), TimeRemainingColumn()]
    with RichProgress(*columns, console=notices(), transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield _Drawn(lambda n: bar.advance(task, n))


class _Silent:
    def advance(self, n: float) -> None:
        """Draw nothing."""


class _Drawn:
    def __init__(self, advance: Callable[[float], None]) -> None:
        self._advance = advance

    def advance(self, n: float) -> None:
        """Advance the bar by ``n``."""
        self._advance(n)


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
