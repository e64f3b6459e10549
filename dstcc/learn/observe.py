"""The observation space by the name it had before the rooms; new code takes it from :mod:`dstcc.learn`."""

from __future__ import annotations

from .spaces.observe import ObservationSpec

__all__ = ["ObservationSpec"]
