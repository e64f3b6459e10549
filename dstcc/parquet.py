"""Parquet files that others may have written, read without Arrow's datasets and by no threads of its own.

``pyarrow.parquet.read_table`` reads a dataset. Of a damaged file it may wait for ever: what a filter finds wrong in a
column's metadata is raised in a thread whose errors are lost. The metadata of a column chunk is not asked for here
either, since pyarrow ends the process where that is damaged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

UNREADABLE = (OSError, UnicodeDecodeError, pa.ArrowException)
"""What is raised here of a file that is missing, is none of Parquet's, or is damaged."""


@contextmanager
def parquet_file(path: Path, words: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
    """A file, open to be read by this module; of the columns ``words`` each text is read once."""
    if path.exists() and not path.is_file():
        raise OSError("is not a regular file")
    with pq.ParquetFile(
        path, pre_buffer=False, read_dictionary=list(words), page_checksum_verification=True
    ) as file:
        names = file.schema_arrow.names
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice:
            raise pa.ArrowInvalid(f"has the column {twice[0]} twice")
        yield file


def rows_of(
    file: pq.ParquetFile, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None
) -> pa.Table:
    """The rows of a file, or of some of its row groups; some columns of them, in this order.

    Raises one of :data:`UNREADABLE`.
    """
    wanted = None if columns is None else list(columns)
    lacking = [name for name in wanted or () if name not in file.schema_arrow.names]
    if lacking:
        raise pa.ArrowInvalid(f"lacks the column {lacking[0]}")
    if groups is None:
        table = file.read(wanted, use_threads=False)
    else:
        table = file.read_row_groups(list(groups), wanted, use_threads=False)
    table.validate(full=True)  # Parquet's reader takes any bytes for text
    return table if wanted is None else table.select(wanted)


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """As :func:`rows_of`, of the file at ``path``."""
    with parquet_file(path) as file:
        return rows_of(file, columns)


@dataclass(frozen=True)
class Places:
    """Each text of a column: in which row groups it is, and in how many rows."""

    groups: Mapping[str, Sequence[int]]
    rows: Mapping[str, int]


def places_of(path: Path, column: str) -> Places:
    """Where each text of a column is. Raises one of :data:`UNREADABLE`."""
    groups: dict[str, list[int]] = {}
    rows: Counter[str] = Counter()
    with parquet_file(path, [column]) as file:
        for group in range(file.num_row_groups):
            for found in pc.value_counts(rows_of(file, [column], [group])[column]).to_pylist():
                groups.setdefault(found["values"], []).append(group)
                rows[found["values"]] += found["counts"]
    return Places(groups, rows)
