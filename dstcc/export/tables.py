"""A run's tables as CSV (RFC 4180), with the columns of its Parquet files; null is an empty field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from dstcc.errors import RunError
from dstcc.run import Run
from dstcc.run.reading import read_table
from dstcc.run.tables import ALWAYS, HOPS, NODES, SAMPLES, TRIALS
from dstcc.spreadsheet import cells

TABLES = {"trials": (TRIALS, "id"), "chunks": (ALWAYS, "trial"), "samples": (SAMPLES, "trial")}
OF_NODES = {"nodes": (NODES, "trial"), "hops": (HOPS, "trial")}
"""The tables, each with its columns and the one that says whose a row is; the second ones of runs with nodes."""


def write(run: Run, trials: Sequence[str], folder: Path) -> Iterator[list[str]]:
    """Write each table's rows of these trials."""
    for name, (schema, whose) in (TABLES | (OF_NODES if run.scenario.get("node") else {})).items():
        path = run.path / f"{name}.parquet"
        table = read_table(path, schema)
        table = table.filter(pc.is_in(table[whose], value_set=pa.array(list(trials), pa.string())))
        try:
            pa_csv.write_csv(cells(table), folder / f"{name}.csv")
        except pa.ArrowException as error:
            raise RunError(f"{path}: cannot be written as CSV ({error})") from None
        yield [f"{name}.csv"]
