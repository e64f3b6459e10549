"""A learned code rate of `ltp` as a JSON file: repair segments for each source segment, by feedback.

A state is three levels of lost segments (``engine/src/ltp/rate_rule.hpp``): of the last matrix that feedback told of,
of the mean of the last 8, and of the most of the last 32; level 0 is for no feedback.
"""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from dstcc.atomic import atomic_write
from dstcc.errors import InputError
from dstcc.frozen import dataclass
from dstcc.outputs import Kind
from dstcc.reading import read_json

LEVELS = 8
STATES = LEVELS**3
MAX_SHARE = 4.0
SUFFIX = ".json"
STATE = ("last", "mean of 8", "most of 32")


@dataclass(frozen=True)
class RateTable:
    """A share for each state, the last matrix's level counting most, and the record of the training."""

    shares: tuple[float, ...]
    trained: dict[str, Any]


def load(path: Path) -> RateTable:
    """Read a table; :class:`InputError` names the file and what is wrong with it."""
    try:
        document = read_json(path, InputError)
        table = RateTable(tuple(map(float, document["shares"])), dict(document["trained"]))
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise InputError(f"{path}: not a table of code rates: {error}") from error
    if len(table.shares) != STATES:
        raise InputError(f"{path}: not a table of code rates: {len(table.shares)} shares for {STATES} states")
    if not all(math.isfinite(share) and 0 <= share <= MAX_SHARE for share in table.shares):
        raise InputError(f"{path}: not a table of code rates: a share is 0 to {MAX_SHARE:g}")
    return table


def _no_table(path: Path) -> str | None:
    try:
        load(path)
    except (InputError, RecursionError):
        return "is no table of code rates"
    return None


RATES = Kind("a table of code rates", _no_table)
"""What ``dstcc train --algorithm ltp-rates`` writes."""


def save(table: RateTable, path: Path, *, force: bool = False) -> None:
    """Write a table; ``force`` replaces an existing table, and nothing else."""
    document = {"trained": table.trained, "state": STATE, "shares": table.shares}
    atomic_write(path, json.dumps(document, indent=1) + "\n", replaces=RATES if force else None)


@cache
def shipped_names() -> tuple[str, ...]:
    """The tables that come with the package: what ``coding.repair`` may name."""
    here = files(__package__)
    return tuple(sorted(one.name.removesuffix(SUFFIX) for one in here.iterdir() if one.name.endswith(SUFFIX)))


@cache
def shipped(name: str) -> RateTable:
    """A table that comes with the package."""
    return load(Path(str(files(__package__) / f"{name}{SUFFIX}")))
