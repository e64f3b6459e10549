"""The executors: local processes, Slurm's job arrays, Ray."""

from __future__ import annotations

from .base import Ended, Executor
from .local import Local

__all__ = ["Ended", "Executor", "Local"]
