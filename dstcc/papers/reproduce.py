"""A paper's experiments from the first cell to the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .carry import Results, carry, plan
from .cells import Store
from .maps import maps_of
from .model import Paper, load_paper
from .rows import PublishedRow, rows_of
from .write import CELLS, document, open_folder, write


@dataclass(frozen=True)
class Reproduced:
    """What came of it."""

    paper: Paper
    folder: Path
    rows: list[PublishedRow]
    results: list[Results]
    shown: list[PublishedRow]
    """The rows without a map's single values."""

    def document(self) -> dict[str, Any]:
        """As ``dstcc reproduce --json`` prints it."""
        return document(self.paper, self.rows)


def reproduce(
    paper: Paper | str,
    folder: Path,
    *,
    figures: tuple[str, ...] = (),
    quick: bool = False,
    jobs: int | None = None,
    begin: Callable[[int, int], Callable[[], None]] = lambda _all, _kept: lambda: None,
) -> Reproduced:
    """Run a paper's figures (all but the extra ones unless named) and write ``folder``; what was finished before in
    that folder is not run again.

    ``begin`` gets the number of cells and of those finished before, and returns what is called after each.
    Raises :class:`~dstcc.errors.InputError` for an unknown paper or figure, or a folder that holds something else.
    """
    paper = load_paper(paper) if isinstance(paper, str) else paper
    chosen = paper.chosen(figures)
    planned = [one for figure in chosen for one in plan(figure, paper, quick)]
    open_folder(folder, paper)
    results = carry(planned, Store(folder / CELLS), jobs=jobs, begin=begin)
    maps = maps_of(paper, results)
    own = rows_of(paper, results)
    rows = [*own, *(row for one in maps for row in one.rows)]
    write(folder, paper, results, rows, maps, quick=quick)
    shown = [*own, *(row for one in maps for row in one.rows_of_all)]
    return Reproduced(paper, folder, rows, results, shown)
