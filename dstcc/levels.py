"""What people call the layers that a chunk is played with."""

from __future__ import annotations


def level_name(level: int, layers: int) -> str:
    """Of a chunk played up to layer ``level`` of ``layers``; below 0 it is not played."""
    if level < 0:
        return "not played"
    if layers == 1:
        return "full quality"
    full = ", full quality" if level == layers - 1 else ""
    return "base layer only" if level == 0 else f"up to EL{level}{full}"
