"""``dstcc examples``: the gallery of scenarios, and a copy of one."""

from __future__ import annotations

from pathlib import Path

import click

from . import complete
from .options import AS_JSON, PATH
from .output import emit_json, plain_table, say, show_figures

EXAMPLES = """\b
Examples:
  dstcc examples
  dstcc examples handover -o pass.toml
  dstcc emulate pass.toml -o runs/pass
"""


@click.command(short_help="List the example scenarios, or write one to start from.", epilog=EXAMPLES)
@click.argument("name", required=False, shell_complete=complete.example)
@click.option("-o", "--output", type=PATH, help="File to write NAME to.")
@AS_JSON
def command(name: str | None, output: Path | None, as_json: bool) -> None:
    """List the example scenarios; with NAME and -o write one, with the files that it names next to it.

    Nothing is overwritten.
    """
    from dstcc.gallery import copy_out, example, gallery

    if output is not None:
        if name is None:
            raise click.UsageError("-o: which one? dstcc examples NAME -o FILE.toml")
        written = copy_out(example(name), output)
        if as_json:
            emit_json({"example": example(name).name, "written": list(map(str, written))})
        else:
            say(f"wrote {', '.join(map(str, written))}")
            say(f"next: dstcc emulate {output} --dry-run")
        return
    shown = gallery() if name is None else (example(name),)
    if as_json:
        emit_json([{"name": one.name, "title": one.title, "description": one.description} for one in shown])
        return
    table = plain_table(pad_edge=False, collapse_padding=True)
    for heading in ("name", "what it is"):
        table.add_column(heading, no_wrap=heading == "name", overflow="fold")
    for one in shown:
        table.add_row(one.name, one.description or one.title)
    show_figures(table)
    say("dstcc examples NAME -o FILE.toml writes one")
