"""``dstcc algorithms``: the table of congestion controls and schedulers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .output import console, emit_json

if TYPE_CHECKING:
    from dstcc.algorithms import Algorithm

LEAST_WIDTH = 100
"""Columns of the narrowest table; on a narrower terminal its lines wrap."""


@click.command(short_help="List every congestion control and scheduler.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def command(as_json: bool) -> None:
    """List every congestion control and scheduler: name, kind, state, what it knows, source and backends."""
    from dstcc.algorithms import KNOWLEDGE, documents, everything
    from dstcc.run.footing import letters

    if as_json:
        emit_json(documents())
        return
    from rich.box import SIMPLE
    from rich.table import Table

    rows = everything()
    alike = len({row.backends for row in rows}) == 1
    headings = ("name", "kind", "state", "knows", "source", "backends")[: 5 if alike else 6]
    table = Table(box=SIMPLE, pad_edge=False, collapse_padding=True)
    for heading in headings:
        table.add_column(heading, no_wrap=heading != "source")
    for row in rows:
        cells = (row.name, row.kind, row.state, letters(_knows(row)), row.source, ", ".join(row.backends))
        table.add_row(*cells[: len(headings)])
    out = console()
    out.width = max(out.width, LEAST_WIDTH)
    out.print(table)
    said = (f"{known.letter} {known.what}" for known in KNOWLEDGE.values() if known.letter not in "d")
    out.print(f"knows: {'; '.join(said)}; deadlines (d) all heed", markup=False, soft_wrap=True)
    if alike:
        out.print(f"All of them run on: {', '.join(rows[0].backends)}.")


def _knows(row: Algorithm) -> tuple[str, ...]:
    if row.kind != "controller":
        return row.knows
    from dstcc.forecast.files import load_controller

    return load_controller(row.name).knows
