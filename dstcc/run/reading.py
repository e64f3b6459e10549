"""A run's tables, read with the types that they are to have.

Whoever reads a run may rely on its columns: each is there, of its type, not null where that makes no sense, and times
and numbers are ones that a run can have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dstcc.errors import RunError
from dstcc.metrics import METRICS, SHARES
from dstcc.parquet import UNREADABLE, Places, parquet_file, places_of, rows_of

MOST_S = 1e12
"""Seconds that no mission reaches."""
MOST = 1e18
"""Bytes, or bits a second, that no link carries."""
SHARE = (0.0, 1 + 1e-9)
RANGES: dict[str, tuple[float, float]] = {
    **{name: (0.0, MOST_S if name.endswith("_s") else MOST) for name in METRICS},
    **dict.fromkeys(SHARES, SHARE),
    "psnr_db": (0, 100 + 1e-9),
    "ssim": (-1, 1 + 1e-9),
    "vmaf": (0, 100 + 1e-9),
    "chunk": (0, 2**31 - 1),
    "layer": (0, 63),
    "played_level": (-1, 63),
    "subflow": (-1, 127),
    "bytes": (0, 2**53),
    "sent_bytes": (0, 2**53),
    "delivered_bytes": (0, 2**53),
    "cwnd_segments": (0, 2**53),
    "inflight_segments": (0, 2**53),
    "sent_segments": (0, 2**53),
    "lost_segments": (0, 2**53),
    "retransmitted_segments": (0, 2**53),
    "queue_bytes": (0, 2**53),
    "rate_bps": (0, MOST),
    "pacing_bps": (0, MOST),
    "loss": SHARE,
    "acked_bytes": (0, MOST),
    "received_bytes": (0, MOST),
    "lost_packets": (0, 2**53),
    "dropped_packets": (0, 2**53),
    "seed": (0, 2**63 - 1),
}
"""Least and greatest value of a column; of times (``.._s``) see :data:`MOST_S`."""


def check_columns(path: Path, schema: pa.Schema) -> None:
    """Raise :class:`RunError` unless the table is there and has the columns of ``schema``."""
    with _whole(path) as file:
        _check(path, file, schema.names)


def read_table(
    path: Path,
    schema: pa.Schema,
    columns: Sequence[str] | None = None,
    groups: Sequence[int] | None = None,
    also: pa.Schema | None = None,
) -> pa.Table:
    """A table, or some columns of it, or of some row groups; columns that ``schema`` knows have its types.

    So have those of ``also``, which may be missing. Raises :class:`RunError` naming the file and the column.
    """
    with _whole(path) as file:
        _check(path, file, (*schema.names, *(columns or ())))
        try:
            table = rows_of(file, columns, groups)
        except UNREADABLE as error:
            raise RunError(f"{path}: damaged ({error})") from None
    fields = {field.name: field for field in (*(also or ()), *schema)}
    for place, name in enumerate(table.column_names):
        if name in fields:
            table = table.set_column(place, fields[name], typed(path, table.column(name), fields[name]))
    return table


def groups_by_trial(path: Path, schema: pa.Schema) -> Places:
    """Where each trial's rows are. Raises :class:`RunError` naming the file."""
    check_columns(path, schema)
    try:
        return places_of(path, "trial")
    except UNREADABLE as error:
        raise RunError(f"{path}: damaged ({error})") from None


@contextmanager
def _whole(path: Path) -> Iterator[pq.ParquetFile]:
    """The file, open; raises :class:`RunError` where it is none of Parquet's."""
    if path.exists() and not path.is_file():
        raise RunError(f"{path}: is not a regular file")
    with ExitStack() as around:
        try:
            file = around.enter_context(parquet_file(path))
        except FileNotFoundError:
            raise RunError(f"{path}: missing, so {path.parent} is incomplete") from None
        except UNREADABLE as error:
            raise RunError(f"{path}: not a Parquet file ({error})") from None
        yield file


def _check(path: Path, file: pq.ParquetFile, names: Iterable[str]) -> None:
    there = set(file.schema_arrow.names)
    missing = [name for name in names if name not in there]
    if missing:
        raise RunError(f"{path}: lacks the column {missing[0]}")


def typed(path: Path, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """A column with its field's type, which it must have or be convertible to without loss, and values that a run has.

    Raises :class:`RunError` naming ``path`` and the column.
    """
    if column.type != field.type:
        try:
            column = column.cast(field.type)
        except pa.ArrowException:
            raise RunError(f"{path}: column {field.name} is {column.type}, must be {field.type}") from None
    if not field.nullable and column.null_count:
        raise RunError(f"{path}: column {field.name} has no value in {column.null_count} rows")
    low, high = RANGES.get(field.name, (0.0, MOST_S) if field.name.endswith("_s") else (None, None))
    if low is None or not (pa.types.is_floating(field.type) or pa.types.is_integer(field.type)):
        return column
    found = pc.min_max(column).as_py()
    finite = not pa.types.is_floating(field.type) or pc.all(pc.is_finite(column)).as_py()
    if found["min"] is not None and not (finite and low <= found["min"] and found["max"] <= high):
        worst = "a value that is not finite" if not finite else found["min" if found["min"] < low else "max"]
        raise RunError(f"{path}: column {field.name} has {worst}, which no run has")
    return column
