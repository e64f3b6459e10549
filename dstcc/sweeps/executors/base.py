"""What carries a sweep's units: one interface for cores, clusters' job arrays and Ray.

A conductor hands batches over with :meth:`Executor.submit` as long as :meth:`Executor.room` says there is room, and
takes what ended from :meth:`Executor.wait`. Every unit that was submitted ends exactly once: with a result, or with
what went wrong. An executor repeats nothing; that is the conductor's to decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from dstcc.sweeps.plan import Unit


@dataclass(frozen=True)
class Ended:
    """A unit that was carried to its end, or not."""

    unit: Unit
    error: str | None = None
    """``None``: there is a result."""
    traceback: str | None = None
    row: dict[str, Any] | None = None
    """The result, where the executor has not kept it in the study's folder already."""
    seconds: float | None = None
    """That a worker was busy with it."""
    blamed: bool = True
    """Whether the failure may be the unit's own; one that waited in a worker that died has no part in it."""


class Executor(AbstractContextManager["Executor"], Protocol):
    """A context manager: entering it starts it, leaving it ends all that is running."""

    name: str
    workers: int
    """How many units are worked on at a time, as far as it is known."""

    def room(self) -> bool:
        """Whether another batch is wanted."""

    def submit(self, batch: Sequence[Unit]) -> None:
        """Hand over units that one worker carries one after the other."""

    def wait(self, seconds: float) -> list[Ended]:
        """What has ended, waiting for so long at most where nothing has."""
