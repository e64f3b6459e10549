"""Carry scalable video home from deep space: scenario → run → metrics → report."""

from __future__ import annotations

from .version import __version__

__all__ = ["__version__"]
