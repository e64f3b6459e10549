"""A cell: one trial, training or client with one seed; and the folder in which finished cells are kept.

A cell's file is named by a hash of all that decides its result: the resolved scenario, the algorithm (of a policy its
bytes), the seed, what is taken from it, the version, and the compiled engine. It appears whole or not at all, so a run
that was ended goes on where it was, and a file that is damaged is made again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass, field
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

from dstcc.engine import _engine
from dstcc.errors import RunError
from dstcc.run.entries import Entries
from dstcc.version import __version__

SCHEMA = 1
"""Of a cell's file; a change of what the numbers mean makes another one."""


@dataclass(frozen=True)
class Outcome:
    """What is kept of a cell."""

    values: dict[str, float | None]
    """Metrics by name; ``None`` where one has no value."""
    series: dict[str, list[float]] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {"values": self.values, "series": self.series}


class Cell(Protocol):
    """One piece of work of a figure."""

    @property
    def label(self) -> str:
        """Its name in messages."""

    @property
    def alone(self) -> bool:
        """Whether it uses all cores by itself."""

    def identity(self) -> dict[str, Any]:
        """All that decides its result."""

    def run(self, scratch: Path) -> Outcome:
        """Do it; ``scratch`` is a folder of its own in which it may keep its state, and need not exist."""


@cache
def engine_digest() -> str:
    """SHA-256 of the compiled simulator."""
    return hashlib.sha256(Path(_engine.__file__).read_bytes()).hexdigest()


def key_of(cell: Cell) -> str:
    """The name of its file."""
    whole = {"schema": SCHEMA, "version": __version__, "engine": engine_digest(), **cell.identity()}
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Store:
    """Finished cells on disk."""

    folder: Path

    def find(self, key: str) -> Outcome | None:
        """A finished cell, if its file is whole."""
        try:
            return Outcome(**Entries(self.folder).load(key)[0])
        except (OSError, RunError, TypeError):
            return None

    def keep(self, key: str, outcome: Outcome) -> None:
        """Write a finished cell, and forget its state."""
        Entries(self.folder).save(key, outcome.document())
        shutil.rmtree(self.scratch(key), ignore_errors=True)

    def scratch(self, key: str) -> Path:
        """Where a cell may keep the state of unfinished work."""
        return self.folder / f"{key}.unfinished"


def number(value: float | None) -> float | None:
    """A value for a cell's file, which holds no NaN and no infinity."""
    return None if value is None or not isfinite(value) else float(value)
