"""``dstcc explain``: what a controller saw, believed and chose in a trial, and what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import complete
from .options import ALLOW, LIMIT, PATH
from .output import console, emit_json, number_table, progress, show_figures, tell

if TYPE_CHECKING:
    from dstcc.explain import Explanation

EXAMPLES = """\b
Examples:
  dstcc explain run --trial dstcc/s1
  dstcc explain run --trial dstcc/s1 -o why.html
  dstcc explain run --trial iodst-dqn/s3 --json
"""


@click.command(short_help="What a controller observed, believed and chose.", epilog=EXAMPLES)
@click.argument("run", type=PATH)
@click.option(
    "--trial",
    metavar="ID",
    required=True,
    shell_complete=complete.trial,
    help="Trial of a controller, like dstcc/s1.",
)
@click.option("-o", "--output", type=PATH, help="HTML page to write.")
@LIMIT
@ALLOW
@click.option("--force", is_flag=True, help="Overwrite an existing page (only if dstcc wrote it).")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, with every decision.")
def command(*, run: Path, trial: str, output: Path | None, force: bool, as_json: bool) -> None:
    """Show what the controller of a trial of RUN observed, believed and chose over mission time, and the result.

    The simulator repeats the trial, and reports if the result differs from RUN. The belief about losses is shown with
    the channel's true losses.

    Exit codes: 0 done, 1 failed, 2 bad input, 129 hung up, 130 interrupted, 143 terminated.
    """
    from dstcc.atomic import atomic_write
    from dstcc.explain import explain
    from dstcc.outputs import check_output
    from dstcc.report import REPORT
    from dstcc.run import load_run

    if output is not None:
        if output.suffix.lower() not in (".html", ".htm"):
            raise click.UsageError(f"-o {output}: an explanation is an HTML page, its name ends in .html")
        check_output(output, REPORT, force=force, inputs=[run])
    loaded = load_run(run)
    with progress("repeating", None):
        told = explain(loaded, trial)
    if output is not None:
        from dstcc.explain import render

        with progress("page", None):
            page = render(told)
        atomic_write(output, page, replaces=REPORT if force else None)
    if as_json:
        emit_json({"run": str(run), **({"page": str(output)} if output else {}), **told.document()})
        return
    _show(told)
    if output is not None:
        tell(f"wrote {output}")


def _show(told: Explanation) -> None:
    from dstcc.explain.explanation import PARTS

    console().print(told.finding())
    table = number_table("decided", "choice", "share", texts=("decided", "choice"))
    for name, choices in told.shares().items():
        for place, (choice, share) in enumerate(choices):
            table.add_row("" if place else name, choice, f"{share:.1%}")
    show_figures(table)
    title = "loss believed / of the channel, and what was played of what was captured"
    dated, part_s = told.clock.dated, told.end_s / PARTS
    begin, names = "from (UTC)" if dated else "from s", (link.name for link in told.links)
    table = number_table(begin, *names, "played", "in full", title=title)
    for part in told.parts():
        links = (
            f"{_share(link['believed_loss'])} / {_share(link['channel_loss'])}" for link in part["links"]
        )
        played = ("–" if part[key] is None else f"{part[key]:.1%}" for key in ("played", "in_full"))
        begins = told.clock.moment(part["from_s"], part_s) if dated else f"{part['from_s']:,.0f}"
        table.add_row(begins, *links, *played)
    show_figures(table)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}"
