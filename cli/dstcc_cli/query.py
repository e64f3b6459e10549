"""``dstcc query``: SQL over a study's tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dstcc.errors import printable

from .options import PATH
from .output import emit_json, plain_table, show_figures

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES = """\b
Tables: trials (a row each: the keys that vary, algorithm, seed, metrics),
failures.
Names with dots or signs stand in double quotes: "link.0.loss.packet".

\b
Examples:
  dstcc query study "DESCRIBE trials"
  dstcc query study "SELECT algorithm, avg(weighted_layers) AS mean, \\
      count(*) FROM trials GROUP BY ALL"
  dstcc query study "FROM trials WHERE playback_ratio < 0.5" --format csv > \\
      bad.csv
  dstcc query study "SELECT trial, error FROM failures"
"""


@click.command(short_help="Query a study's tables in SQL.", epilog=EXAMPLES)
@click.argument("study", type=PATH)
@click.argument("sql")
@click.option(
    "--format",
    "form",
    type=click.Choice(("table", "csv", "json")),
    default="table",
    show_default=True,
    help="Format of the result; json: a list of rows.",
)
@click.option(
    "--time-limit",
    default="5 min",
    show_default=True,
    metavar="TIME",
    help="Longest time of a query: 90, '15 min', 2h.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout: --format json.")
def command(*, study: Path, sql: str, form: str, time_limit: str, as_json: bool) -> None:
    """Run SQL, one SELECT, on the tables of STUDY, the folder of a sweep, also while it runs.

    DuckDB runs it, with at most half of this machine's memory. It changes nothing, and reads or writes no other
    file. In CSV a text that a spreadsheet would read as a formula has an apostrophe before it.
    """
    from dstcc.scenario.units import duration_s
    from dstcc.sweeps.query import Tables, rows_of

    limit_s = duration_s(time_limit, "--time-limit")
    with Tables(study) as tables:
        answer = tables.ask(sql, limit_s=limit_s)
    if as_json or form == "json":
        emit_json(rows_of(answer))
    elif form == "csv":
        _print_csv(answer)
    else:
        _print_table(answer)


def _print_csv(answer: pa.Table) -> None:
    from dstcc.spreadsheet import write_csv

    write_csv([answer.column_names], sys.stdout)
    for batch in answer.to_batches():
        write_csv(zip(*(column.to_pylist() for column in batch.columns), strict=True), sys.stdout)


def _print_table(answer: pa.Table) -> None:
    from pyarrow import types

    table = plain_table(pad_edge=False)
    for field in answer.schema:
        text = types.is_string(field.type)
        table.add_column(printable(field.name), justify="left" if text else "right", no_wrap=True)
    for batch in answer.to_batches():
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            table.add_row(*map(_cell, row))
    show_figures(table)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else printable(str(value))
