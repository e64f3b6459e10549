"""What each task of a job array carries: a file in the job's folder, which all nodes see."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from dstcc.atomic import atomic_write, make_folder
from dstcc.errors import RunError
from dstcc.reading import read_json

from .plan import Unit

UNITS = "units.json"
MOST_UNITS = 1 << 32
"""Bytes of it."""


def write_units(folder: Path, shares: Sequence[Sequence[Unit]], limit_s: float) -> None:
    """Write what each task of a job carries; ``limit_s`` is the most that one unit may take."""
    make_folder(folder)
    document = {"limit_s": limit_s, "shares": [[unit.words for unit in share] for share in shares]}
    atomic_write(folder / UNITS, json.dumps(document))


def read_units(folder: Path, task: int) -> tuple[list[Unit], float]:
    """A task's units and their limit; raises :class:`RunError` for a job that is not there or damaged."""
    path = folder / UNITS
    try:
        document = read_json(path, RunError, MOST_UNITS)
        units = [Unit(int(cell), str(name), str(key)) for cell, name, key in document["shares"][task]]
        return units, float(document["limit_s"])
    except FileNotFoundError:
        raise RunError(f"{path}: no such job") from None
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise RunError(f"{path}: damaged ({error})") from None
