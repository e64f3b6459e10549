"""What a full ``dstcc reproduce`` of a paper spends: one cell of each algorithm at each point, times the seeds.

    python -m experiments.paper_times qaware pbq [--figure 9a] [--keep OUT]

Printed are processor seconds of this process, a figure and in all. A cell that several figures share counts in the
first of them. A training is timed with the steps of ``--quick``, and counted by steps. With ``--keep`` the cells that
were timed are kept in a reproduction's folder, which goes on with them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dstcc.errors import DstccError
from dstcc.papers.carry import plan, plan_figure
from dstcc.papers.cells import Cell, Store, key_of
from dstcc.papers.model import Figure, Paper, load_paper
from dstcc.papers.write import CELLS, open_folder


@dataclass(frozen=True)
class Timed:
    """What a figure's own cells take."""

    figure: str
    timed: int
    """Cells that were run."""
    cells: int
    """Of the full figure, without those of earlier figures."""
    all_s: float
    """Processor seconds of these, by those that were timed."""


def times(
    paper: Paper,
    figures: Iterable[Figure],
    keep: Path | None = None,
    clock: Callable[[], float] = time.process_time,
) -> Iterator[Timed]:
    """Each figure's, in their order."""
    seen: set[str] = set()
    with TemporaryDirectory() as scratch:
        folder = keep or Path(scratch)
        open_folder(folder, paper)
        store = Store(folder / CELLS)
        for figure in figures:
            full = {
                (*place, one.setting, one.figure.id): cell
                for one in plan(figure, paper, quick=False)
                for place, cell in one.cells.items()
            }
            new = {place: cell for place, cell in full.items() if key_of(cell) not in seen}
            seen |= {key_of(cell) for cell in new.values()}
            groups: dict[tuple[Any, ...], list[Cell]] = {}
            for (name, x, _seed, *part), cell in new.items():
                groups.setdefault((name, x, *part), []).append(cell)
            all_s = 0.0
            for cells in groups.values():
                one, share = cells[0], 1.0
                if figure.kind == "training":
                    one = next(iter(plan_figure(figure, paper.folder, quick=True).cells.values()))
                    share = figure.steps / figure.quick_steps
                begun = clock()
                outcome = one.run(store.scratch(key_of(one)))
                all_s += (clock() - begun) * share * len(cells)
                store.keep(key_of(one), outcome)
            yield Timed(figure.id, len(groups), len(new), all_s)


def main(argv: list[str] | None = None) -> int:
    """Print a table; 2 for bad input."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("papers", nargs="+")
    parser.add_argument("--figure", action="append", default=[], help="only this one; repeatable")
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args(argv)
    try:
        for name in arguments.papers:
            paper, total = load_paper(name), 0.0
            for one in times(paper, paper.chosen(tuple(arguments.figure)), arguments.keep):
                total += one.all_s
                print(
                    f"{name} {one.figure}: {one.timed} cells timed, {one.cells} in all: {one.all_s:.0f} s",
                    flush=True,
                )
            print(f"{name}: {total / 60:.1f} processor minutes", flush=True)
    except DstccError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
