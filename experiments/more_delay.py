"""What more playout delay costs `dstcc`: nothing, if it is well used.

    python -m experiments.more_delay [--seeds 10] [--first 851] [CELL..]

Cells are those of `experiments.rivals`, with their own playout delay and so many times as much. Means of
`weighted_layers` over seeds; *costs* is the most that one of them is below another with less delay, by the mean of
paired differences.
"""

from __future__ import annotations

from itertools import combinations
from statistics import fmean

import click

from dstcc.report.printed import heading, line
from dstcc.scenario import Scenario

from .played import alone, plays, values_of
from .rivals import OURS, Cell, cells

TIMES = (1.0, 1.1, 1.25, 1.5, 2.0)
DELAYS = ("delay_s", "delay_rtts")
WIDE = "up 256"
"""Of cells that differ by their uplinks alone, these."""


def later(cell: Cell, times: float, run: dict[str, int]) -> Scenario:
    """A cell with so many times its playout delay."""
    plain = cell.plain()
    playout = plain.playout.model_dump(exclude_unset=True)
    for key in DELAYS:
        if playout.get(key) is not None:
            playout[key] *= times
    return alone(plain, OURS, run, playout=playout)


def costs(weights: list[list[float]]) -> float:
    """Of values by seed, the shorter delays first: the most that is lost by a longer one."""
    pairs = combinations(weights, 2)
    return max(0.0, *(fmean(a - b for a, b in zip(less, more, strict=True)) for less, more in pairs))


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--seeds", default=10, show_default=True)
@click.option("--first", default=851, show_default=True, help="The first seed.")
def main(names: tuple[str, ...], seeds: int, first: int) -> None:
    """Print the table."""
    heading("More delay", ("cell", *(f"x {times:g}" for times in TIMES), "costs"))
    for cell in cells():
        if cell.name not in names and (names or (", up " in cell.name and WIDE not in cell.name)):
            continue
        run = {"seed": first, "seeds": seeds}
        weights = [values_of(plays(later(cell, times, run))) for times in TIMES]
        line(cell.name, *(f"{fmean(one):.3f}" for one in weights), f"{costs(weights):.4f}")


if __name__ == "__main__":
    main()
