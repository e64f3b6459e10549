"""A piece of a study's work, and how one fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Piece:
    """A trial or a training of a cell."""

    id: str
    """Within its cell: ``cubic+minrtt/s1``."""
    key: str
    """Its hash."""
    made_by: str
    facts: Mapping[str, Any]
    """The columns that say which it is: ``algorithm``, ``congestion``, ``scheduler``, ``controller``, ``variant``,
    ``seed``."""


@dataclass(frozen=True)
class Failed:
    """A piece that failed for a reason of its own."""

    error: str
    traceback: str | None
