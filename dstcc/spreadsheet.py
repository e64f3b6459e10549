"""CSV (RFC 4180) that people open in a spreadsheet or print on a terminal.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula, which may run programs or send
the table away; such a text gets an apostrophe before it, which spreadsheets do not show. Numbers stay numbers, also as
text. Control characters are written out: a terminal would obey them.
Source: OWASP, "CSV Injection".
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any, Protocol

from .errors import printable

if TYPE_CHECKING:
    import pyarrow as pa

_FORMULA = re.compile(r"\s*[=+\-@]")
"""Spreadsheets pass over blanks before the sign."""
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


class Writable(Protocol):
    """What a CSV is written to."""

    def write(self, text: str, /) -> object:
        """Write the text."""


def cell(value: Any) -> Any:
    """A value as a cell: nothing for what is missing, a text that no program takes for a formula, all else as it is."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, (bool, int, float)):
        return value
    text = printable(str(value))
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def write_csv(rows: Iterable[Sequence[Any]], to: Writable) -> None:
    """Write rows of values; the heading is the first of them."""
    csv.writer(to, lineterminator="\n").writerows(map(cell, row) for row in rows)


def to_csv(rows: Iterable[Sequence[Any]]) -> str:
    """The rows as text."""
    out = io.StringIO()
    write_csv(rows, out)
    return out.getvalue()


def records_csv(columns: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """A heading, and a row of each record's values; nothing for those that it lacks."""
    return to_csv([columns, *([record.get(name) for name in columns] for record in records)])


def cells(table: pa.Table) -> pa.Table:
    """A table whose columns of text, and their names, are cells."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def safe(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return column
        column = column.cast(pa.string())
        texts = pc.unique(column)
        made = [None if text is None else cell(text) for text in texts.to_pylist()]
        return pa.array(made, pa.string()).take(pc.index_in(column, texts))

    names = [str(cell(name)) for name in table.column_names]
    return pa.table([safe(column) for column in table.columns], names=names)
