"""How near the simulator is to the kernel, by control, from the cells that docs/fidelity.md keeps as CSV.

python -m scripts.fidelity_summary
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from dstcc.report.printed import heading, line

DATA = Path(__file__).resolve().parents[1] / "bench/data"
FILES = {"missions": "fidelity-missions.csv", "transfers": "fidelity-transfers.csv"}
SURE = 3.0
"""|z| beyond which means differ by more than chance."""
Cell = tuple[float, float | None]
"""The ratio of the means, and z where either side scatters."""


def cells_of(rows: Iterable[list[str]]) -> dict[str, list[Cell]]:
    """By control, from the rows of a table with its head; of two columns of one name the first counts."""
    head, *body = rows
    ratio, z = head.index("ratio"), head.index("z")
    found: dict[str, list[Cell]] = {}
    for row in body:
        score = None if row[z] == "–" else float(row[z])
        found.setdefault(row[0], []).append((float(row[ratio].rstrip(" *")), score))
    return found


def summary(cells: list[Cell]) -> tuple[str, ...]:
    """Number of cells, median and largest distance of their ratios from 1, and how many are sure to differ."""
    apart = [abs(ratio - 1) for ratio, _ in cells]
    sure = sum(z is not None and abs(z) > SURE for _, z in cells)
    return str(len(cells)), f"{median(apart):.3f}", f"{max(apart):.3f}", str(sure)


def main() -> None:
    """Print a row for each control."""
    heading("Cells", ("grid", "control", "cells", "median", "largest", "z beyond 3"))
    for grid, name in FILES.items():
        with (DATA / name).open(encoding="utf-8", newline="") as file:
            found = cells_of(csv.reader(file))
        for control, cells in found.items():
            line(grid, f"`{control}`", *summary(cells))


if __name__ == "__main__":
    main()
