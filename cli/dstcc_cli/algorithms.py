"""``dstcc algorithms``: the table of congestion controls and schedulers."""

from __future__ import annotations

import click

from .output import console, emit_json


@click.command(short_help="List every congestion control and scheduler.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(as_json: bool) -> None:
    """List every congestion control and scheduler: name, kind, state, source and backends."""
    from dstcc.algorithms import documents, everything

    if as_json:
        emit_json(documents())
        return
    from rich.box import SIMPLE
    from rich.table import Table

    rows = everything()
    alike = len({row.backends for row in rows}) == 1
    headings = ("name", "kind", "state", "source", "backends")[: 4 if alike else 5]
    table = Table(box=SIMPLE, pad_edge=False, collapse_padding=True)
    for heading in headings:
        table.add_column(heading, no_wrap=heading != "source")
    for row in rows:
        table.add_row(*(row.name, row.kind, row.state, row.source, ", ".join(row.backends))[: len(headings)])
    console().print(table)
    if alike:
        console().print(f"All of them run on: {', '.join(rows[0].backends)}.")
