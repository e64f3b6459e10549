"""Runs of the kernel that are done, in a file that any checkout can compare its simulator with.

CSV: a cell's fields, the seed, and what it came to; lines that begin with ``#`` say where it is from.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import get_type_hints

from dstcc.atomic import atomic_write
from dstcc.errors import InputError
from dstcc.outputs import Kind, beginning

from .cells import Cell
from .measure import Seen

Runs = dict[Cell, dict[int, Seen]]
"""By cell and seed."""
COLUMNS = (*Cell._fields, "seed", *Seen._fields)
ADDED = ("queue_share", "queue_to", "up_loss", "longer_us")
"""Columns that older files lack."""
PROGRAM = "python -m experiments.fidelity"
"""Stands in the first line."""


def _not_kept(path: Path) -> str | None:
    return None if PROGRAM in beginning(path).split("\n")[0] else "has no mark of the fidelity runs"


KEPT = Kind("a file of the kernel's runs", _not_kept)
"""What is begun or gone on with."""


def read_runs(path: Path) -> Runs:
    """What ``path`` holds; nothing where there is no such file. :class:`InputError` for a line that is no run."""
    runs: Runs = {}
    if not path.exists():
        return runs
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            try:
                cell = Cell(**{name: kind(row[name]) for name, kind in _fields(row)})
                seen = Seen(*(float(row[name]) if row[name] else None for name in Seen._fields))  # type: ignore[arg-type]
                runs.setdefault(cell, {})[int(row["seed"])] = seen
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(f"{path}: {row}: not a run of the kernel ({error})") from None
    return runs


def _fields(row: Mapping[str, str]) -> Iterator[tuple[str, type]]:
    """Of a cell; a file from before a field was added means its default."""
    for name, kind in get_type_hints(Cell).items():
        if name in row or name not in ADDED:
            yield name, kind


def write_runs(path: Path, runs: Mapping[Cell, Mapping[int, Seen]], heading: Iterable[str]) -> None:
    """Write all of them anew."""
    text = io.StringIO()
    for line in heading:
        text.write(f"# {line}\n")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for cell, seeds in runs.items():
        for seed, seen in sorted(seeds.items()):
            rows.writerow([*cell, seed, *(f"{value:.9g}" if value is not None else "" for value in seen)])
    atomic_write(path, text.getvalue(), replaces=KEPT)
