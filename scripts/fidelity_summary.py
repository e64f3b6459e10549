"""How near the simulator is to the kernel, from the cells that docs/fidelity.md keeps as CSV: by control, and by name
each cell that is further away than chance explains, with the reason.

python -m scripts.fidelity_summary [--apart]
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator
from math import isnan, nan
from pathlib import Path
from statistics import median
from typing import NamedTuple

from dstcc.report.printed import heading, line

DATA = Path(__file__).resolve().parents[1] / "bench/data"
FILES = {"missions": "fidelity-missions.csv", "transfers": "fidelity-transfers.csv"}
NEAR, NEAR_REPEATS = 0.05, 0.15
"""Of |ratio - 1| of what a cell is about, and of its retransmissions."""
CHANCE = 2.0
"""|z| up to which two means may be one."""
WHERE = ("control", "RTT s", "loss", "links", "BDP", "RTTs", "mode", "window", "Linux")
"""Columns that name a cell."""


class Compared(NamedTuple):
    """A ratio of two means, and z; NaN where neither side scatters."""

    ratio: float
    z: float

    def near(self, within: float) -> bool:
        """Is it near 1, or as near as chance lets it be?"""
        return round(abs(self.ratio - 1), 3) <= within or abs(self.z) < CHANCE


class Cell(NamedTuple):
    """A row of a table."""

    name: tuple[str, ...]
    result: Compared
    repeats: Compared

    @property
    def why(self) -> str | None:
        """The reason for what is further away than chance explains; None where nothing is."""
        if self.result.near(NEAR) and self.repeats.near(NEAR_REPEATS):
            return None
        return REASONS[self.name[0], self.name[1].split()[0], *self.name[2:5]]


READS = (
    "where in the time between two reads segments arrive decides (`__tcp_ack_snd_check`); 0.98 (z -1.0) where the "
    "program reads 100 times a round trip"
)
STARTS = (
    "reads decide whether slow start overflows the queue: of eight delays in 7 on Linux, in 4 (2 with a first window "
    "of 40) here; 1.000 where the program reads 400 times a round trip"
)
ROUND = (
    "slow start ends in time if a round of 1,280 segments is found 0.8 ms longer (`tcp_vegas_cong_avoid`): of eight "
    "delays in 3 on Linux, in 6 here; a capture beside it changes Linux's"
)
SHARED = (
    "reads decide how many segments an ACK has, by which BIC grows (`bictcp_update`, `delayed_ack`); 1.03 "
    "where the program reads 400 times a round trip"
)
REASONS: dict[tuple[str, ...], str] = {
    ("vegas", "0.1", "0.0001", "2", "100"): READS,
    ("cubic", "1", "0", "1", "800"): STARTS,
    ("vegas", "1", "0", "1", "800"): ROUND,
    ("bic", "1", "0.001", "1", "800"): SHARED,
}
"""By control, round trip, loss, links and bandwidth-delay product; each was run (docs/fidelity.md)."""


def _number(text: str) -> float:
    return nan if text == "–" else float(text.rstrip(" *"))


def cells_of(rows: Iterable[list[str]]) -> Iterator[Cell]:
    """The rows of a table with its head. Columns named ratio and z are first of the result, last of the repeats."""
    head, *body = rows
    places = {
        name: [place for place, column in enumerate(head) if column == name]
        for name in (*WHERE, "ratio", "z")
    }
    for row in body:
        first, last = (
            Compared(_number(row[places["ratio"][k]]), _number(row[places["z"][k]])) for k in (0, -1)
        )
        yield Cell(tuple(row[places[name][0]] for name in WHERE), first, last)


def kept() -> dict[str, list[Cell]]:
    """All cells, by grid."""
    found = {}
    for grid, name in FILES.items():
        with (DATA / name).open(encoding="utf-8", newline="") as file:
            found[grid] = list(cells_of(csv.reader(file)))
    return found


def summary(cells: list[Cell]) -> tuple[str, ...]:
    """Number of cells, how many are near, median and largest distance of their ratios from 1, and how many repeat as
    much."""
    off = [abs(cell.result.ratio - 1) for cell in cells]
    near = sum(cell.result.near(NEAR) for cell in cells)
    alike = sum(cell.repeats.near(NEAR_REPEATS) for cell in cells)
    return str(len(cells)), str(near), f"{median(off):.3f}", f"{max(off):.3f}", str(alike)


def print_summary() -> None:
    """A row for each control."""
    heading(
        "Cells",
        (
            "grid",
            "control",
            "cells",
            "within 5 % or z below 2",
            "median",
            "largest",
            "repeats within 15 % or z below 2",
        ),
    )
    for grid, cells in kept().items():
        for control in dict.fromkeys(cell.name[0] for cell in cells):
            line(grid, f"`{control}`", *summary([cell for cell in cells if cell.name[0] == control]))


def print_apart() -> None:
    """A row for each cell that is further away."""
    heading("Cells apart", ("grid", *WHERE[:5], "mode", "ratio", "z", "repeats", "z of repeats", "why"))
    for grid, cells in kept().items():
        for cell in cells:
            if cell.why is not None:
                scores = ("–" if isnan(one.z) else f"{one.z:+.1f}" for one in (cell.result, cell.repeats))
                (z, z_repeats), (ratio, repeats) = scores, (cell.result.ratio, cell.repeats.ratio)
                line(
                    grid,
                    *cell.name[:5],
                    cell.name[6],
                    f"{ratio:.3f}",
                    z,
                    f"{repeats:.3f}",
                    z_repeats,
                    cell.why,
                )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--apart", action="store_true", help="the cells that are further away, by name")
    print_apart() if parser.parse_args().apart else print_summary()


if __name__ == "__main__":
    main()
