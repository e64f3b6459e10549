"""The simulator beside the kernel: the same transfers and missions on both, in a table.

    python -m experiments.fidelity -o DIR [--grid NAME].. [--congestion NAME].. [--rtt S].. [--loss P].. [--links N]..
        [--seeds N] [--longer N] [--finer N] [--whole] [--window] [--simulator-only]

Every finished run of the kernel is kept in ``DIR/kernel.csv``; one that was stopped goes on (remove the file when what
runs on the kernel has changed). The table is ``DIR/fidelity.md``. Files of these names that are not its own stay, and
are exit status 2. Cells and medians beyond the goals are named at the end, and make the exit status 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from dstcc_kernel.build import find
from dstcc_kernel.source import RELEASES

from dstcc.atomic import atomic_write
from dstcc.errors import DstccError
from dstcc.outputs import check_output

from .cells import CONTROLS, SEEDS, Cell, grid, seeds_of
from .compare import CellRow, misses, notices, row_of
from .kept import KEPT, PROGRAM, Runs, read_runs, write_runs
from .measure import Seen, carried, simulated
from .tables import PAGE, summary, tables

SIMULATED_SEEDS = {"saturated": 20, "large": 200, "mission": 400}
"""The simulator is cheap; with as many runs the kernel's noise is most of the table's. A large cell turns on where its
first loss falls, which no control changes: with few seeds all its rows err together (a fifth of the runs overflow their
queue, a share that a hundred know to a fifth); a stream of a mission, on when its first window is cut."""


def run(
    cells: Sequence[Cell],
    seeds: int | None,
    kept: Path,
    jobs: int,
    carry: Callable[[Cell, int], Seen] = carried,
) -> Runs:
    """The kernel's runs that ``kept`` lacks are made and kept there; all of them of these cells."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    done = read_runs(kept)
    wanted = {cell: range(1, seeds_of(cell, seeds) + 1) for cell in cells}
    missing = [
        (cell, seed)
        for cell, cell_seeds in wanted.items()
        for seed in cell_seeds
        if seed not in done.get(cell, {})
    ]
    with ThreadPoolExecutor(jobs) as pool:
        for at, ((cell, seed), seen) in enumerate(
            zip(missing, pool.map(lambda pair: carry(*pair), missing), strict=True), 1
        ):
            done.setdefault(cell, {})[seed] = seen
            write_runs(kept, done, _heading())
            line = f"{cell.name} seed {seed}: {seen.throughput_bps:,.0f} bit/s"
            print(f"{line} ({at} of {len(missing)})", file=sys.stderr, flush=True)
    return {cell: {seed: done[cell][seed] for seed in cell_seeds} for cell, cell_seeds in wanted.items()}


def kept_runs(cells: Sequence[Cell], kept: Runs) -> Runs:
    """The runs of those cells that are kept: of each cell those of its kernel, else of the newest that has any."""
    of = {cell: next((known for known in _by_kernel(cell) if known in kept), None) for cell in cells}
    return {known: kept[known] for known in of.values() if known is not None}


def _by_kernel(cell: Cell) -> Iterator[Cell]:
    yield cell
    yield from (cell._replace(kernel=name) for name in reversed(RELEASES))


def compare(
    runs: Runs,
    seeds: int | None = None,
    *,
    whole: bool = False,
    window: bool = False,
) -> list[CellRow]:
    """Simulate the cells of the kernel's runs, by :data:`SIMULATED_SEEDS` or each ``seeds`` times."""

    def simulate(cell: Cell) -> list[Seen]:
        count = seeds or SIMULATED_SEEDS[cell.grid]
        return [simulated(cell, seed, whole=whole, window=window) for seed in range(1, count + 1)]

    return [row_of(cell, simulate(cell), list(kernel.values())) for cell, kernel in runs.items()]


def _heading() -> list[str]:
    built = find()
    version = built.facts["version"] if built else "unknown"
    return [f"Linux {version} in virtual time; {PROGRAM}; times of RTTs in emulated seconds"]


def _cells(options: argparse.Namespace) -> list[Cell]:
    def chosen(cell: Cell) -> bool:
        asked = (
            (options.grid, cell.grid),
            (options.congestion, cell.congestion),
            (options.rtt, cell.rtt_s),
            (options.loss, cell.loss),
            (options.links, cell.links),
        )
        return all(values is None or value in values for values, value in asked)

    return [cell._replace(length_rtts=cell.length_rtts * options.longer) for cell in grid() if chosen(cell)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.fidelity", description=__doc__.split("\n")[0]
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--grid", action="append", choices=SEEDS)
    parser.add_argument("--congestion", action="append", choices=CONTROLS)
    parser.add_argument("--rtt", action="append", type=float)
    parser.add_argument("--loss", action="append", type=float)
    parser.add_argument("--links", action="append", type=int)
    defaults = ", ".join(f"{count} for {name}" for name, count in SEEDS.items())
    parser.add_argument("--seeds", type=int, help=f"runs of the kernel a cell; {defaults}")
    parser.add_argument("--longer", type=int, default=1, help="times the runs' usual length")
    parser.add_argument(
        "--finer", type=int, default=1, help="times the looks of the kernel's program a round trip"
    )
    parser.add_argument(
        "--whole", action="store_true", help="layers of whole segments; in a folder of its own"
    )
    parser.add_argument(
        "--window", action="store_true", help="give the simulator's receiver the kernel's window"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--simulator-only", type=Path, metavar="FILE", help="take the kernel's runs from FILE, run none"
    )
    options = parser.parse_args()
    if options.finer < 1:
        parser.error(f"--finer: at least 1 (have {options.finer})")
    return options


def main() -> int:
    """Command line: 0 where all goals are met, 1 where not or where a trial failed, 2 where a file is not its own."""
    options = _arguments()
    try:
        cells = _cells(options)
        page, kept_in = options.output / "fidelity.md", options.output / "kernel.csv"
        inputs = [options.simulator_only] if options.simulator_only else []
        check_output(page, PAGE, force=True, inputs=inputs)
        if not inputs:
            check_output(kept_in, KEPT, force=True)
        if options.simulator_only:
            kept = read_runs(options.simulator_only)
            runs = kept_runs(cells, kept)
        else:
            carry = partial(carried, finer=options.finer, whole=options.whole)
            runs = run(cells, options.seeds, kept_in, options.jobs, carry)
        rows = compare(runs, whole=options.whole, window=options.window)
        lines = [*tables(rows), *summary(rows)]
        options.output.mkdir(parents=True, exist_ok=True)
        atomic_write(page, "\n".join(lines) + "\n", replaces=PAGE)
    except (DstccError, OSError) as error:
        print(f"fidelity: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, DstccError) else 1
    except KeyboardInterrupt:
        return 130
    print("\n".join(lines))
    for line in notices(rows):
        print(line, file=sys.stderr)
    missed = misses(rows)
    for line in missed:
        print(f"beyond the goal: {line}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
