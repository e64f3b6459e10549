"""The two spaces of an agent: what it sees of the engine's values, and how its numbers become the engine's actions."""

from __future__ import annotations

from .actions import ENCODINGS, PAPER_WINDOWS, PLACES, POLICIES, SPARES, Actions, ActionSpec
from .observe import KINDS, ObservationSpec

__all__ = [
    "ENCODINGS",
    "KINDS",
    "PAPER_WINDOWS",
    "PLACES",
    "POLICIES",
    "SPARES",
    "ActionSpec",
    "Actions",
    "ObservationSpec",
]
