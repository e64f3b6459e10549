"""A run's three tables as CSV (RFC 4180), with the columns of its Parquet files; null is an empty field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from dstcc.errors import RunError

if TYPE_CHECKING:
    from dstcc.run import Run

TABLES = {"trials": "id", "chunks": "trial", "samples": "trial"}
"""The tables, and the column that says whose a row is."""


def write(run: Run, trials: Sequence[str], folder: Path) -> Iterator[list[str]]:
    """Write each table's rows of these trials."""
    for name, whose in TABLES.items():
        path = run.path / f"{name}.parquet"
        try:
            table = pq.read_table(path, filters=pc.field(whose).isin(list(trials)))
        except (OSError, pa.ArrowException) as error:
            raise RunError(f"{path}: cannot be read ({error})") from None
        pa_csv.write_csv(table, folder / f"{name}.csv")
        yield [f"{name}.csv"]
