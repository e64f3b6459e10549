"""A run's three tables as CSV (RFC 4180), with the columns of its Parquet files; null is an empty field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from dstcc.errors import RunError
from dstcc.run.reading import read_table
from dstcc.run.tables import ALWAYS, SAMPLES, TRIALS
from dstcc.spreadsheet import cells

if TYPE_CHECKING:
    from dstcc.run import Run

SCHEMAS = {"trials": TRIALS, "chunks": ALWAYS, "samples": SAMPLES}
TABLES = {"trials": "id", "chunks": "trial", "samples": "trial"}
"""The tables, and the column that says whose a row is."""


def write(run: Run, trials: Sequence[str], folder: Path) -> Iterator[list[str]]:
    """Write each table's rows of these trials."""
    for name, whose in TABLES.items():
        path = run.path / f"{name}.parquet"
        table = read_table(path, SCHEMAS[name])
        table = table.filter(pc.is_in(table[whose], value_set=pa.array(list(trials), pa.string())))
        try:
            pa_csv.write_csv(cells(table), folder / f"{name}.csv")
        except pa.ArrowException as error:
            raise RunError(f"{path}: cannot be written as CSV ({error})") from None
        yield [f"{name}.csv"]
