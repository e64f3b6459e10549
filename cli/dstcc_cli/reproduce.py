"""``dstcc reproduce``: repeat a paper's experiments, compare published with measured."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import complete
from .options import AS_JSON, LIMIT, PATH
from .output import emit_json, notice, plain_table, progress, show_figures, tell

if TYPE_CHECKING:
    from dstcc.papers.reproduce import Reproduced

EXAMPLES = """\b
Examples:
  dstcc reproduce iodst --quick -o out
  dstcc reproduce iodst --figure 4 --figure 5a -o out
"""


@click.command(short_help="Repeat a paper's experiments.", epilog=EXAMPLES)
@click.argument("paper", shell_complete=complete.paper)
@click.option(
    "-o",
    "--output",
    type=PATH,
    required=True,
    help="Folder for page, tables and figures; an interrupted one is resumed.",
)
@click.option(
    "--figure",
    "figures",
    multiple=True,
    metavar="N",
    help="Only this figure or table; repeatable.  [default: all except extra ones]",
)
@click.option("--quick", is_flag=True, help="Fewer seeds and points: two minutes.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Parallel cells.  [default: all cores]")
@LIMIT
@AS_JSON
def command(
    *, paper: str, output: Path, figures: tuple[str, ...], quick: bool, jobs: int | None, as_json: bool
) -> int:
    """Run the experiments of PAPER (iodst, ..) and compare each published number with the measured one.

    Ctrl-C keeps completed cells; the same command resumes.

    Exit codes: 0 done, with any verdicts; 1 failed, 2 bad input, 129 hung up, 130 interrupted, 143 terminated.
    """
    from dstcc.papers.model import load_paper
    from dstcc.papers.reproduce import reproduce

    loaded = load_paper(paper)
    loaded.chosen(figures)
    with ExitStack() as stack:

        def begin(cells: int, kept: int) -> Callable[[], None]:
            if kept:
                notice(f"{kept:,} of {cells:,} cells are in {output} already")
            advance = stack.enter_context(progress(loaded.about.name, cells))
            advance(kept)
            return advance

        made = reproduce(loaded, output, figures=figures, quick=quick, jobs=jobs, begin=begin)
    if as_json:
        emit_json(made.document())
    else:
        _show(made)
    return 0


def _show(made: Reproduced) -> None:

    from dstcc.papers.write import interval, said

    title = f"{made.paper.about.name}: published and measured"
    table = plain_table(title=title, pad_edge=False, collapse_padding=True)
    for heading in ("figure", "quantity", "published", "measured, 95 %", "verdict"):
        number = heading.startswith(("published", "measured"))
        table.add_column(heading, justify="right" if number else "left", overflow="fold")
    for row in made.shown:
        published = "an order" if row.published is None else said(row.published)
        quantity = f"{row.quantity}{f' ({row.unit})' if row.unit else ''}{row.setting and f'; {row.setting}'}"
        measured = said(row.measured) + ("" if row.low is None else f"\n{interval(row)}")
        table.add_row(row.figure, quantity, published, measured, row.verdict)
    show_figures(table)
    tell(f"page: {made.folder / 'index.html'}")
