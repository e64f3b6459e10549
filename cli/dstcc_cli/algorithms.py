"""``dstcc algorithms``: the table of congestion controls and schedulers."""

from __future__ import annotations

import click

from .options import AS_JSON
from .output import emit_json, plain_table, say, show_figures


@click.command(short_help="List every congestion control and scheduler.")
@AS_JSON
def command(as_json: bool) -> None:
    """List every congestion control and scheduler: name, kind, state, side information, source and backends."""
    from dstcc.algorithms import KNOWLEDGE, PARTS, documents, everything, letters

    if as_json:
        emit_json(documents())
        return
    rows = [row for row in everything() if row.name not in PARTS]
    headings = ("name", "kind", "state", "knows", "on", "source")
    table = plain_table(pad_edge=False, collapse_padding=True)
    for heading in headings:
        table.add_column(heading, no_wrap=heading != "source", overflow="fold")
    for row in rows:
        where = " ".join(backend[0] for backend in row.backends)
        table.add_row(row.name, row.kind, row.state, letters(row.knows), where, row.source)
    show_figures(table)
    say(f"controllers for studies of repair alone: {', '.join(PARTS)}")
    said = (f"{known.letter} {known.what}" for known in KNOWLEDGE.values() if known.letter not in "d")
    say(f"knows: {'; '.join(said)}; all keep deadlines (d)")
    backends = dict.fromkeys(backend for row in rows for backend in row.backends)
    say(f"on: {', '.join(f'{one[0]} {one}' for one in backends)}")
