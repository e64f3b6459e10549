"""Conducting a sweep: what is missing is handed to an executor, what fails is tried again, what ends is kept.

The same call starts a sweep, goes on with one that anything stopped, and takes in results that were copied into its
folder: what has a result by its hash is done.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from .executors.base import Ended, Executor
from .places import Place
from .plan import Plan, Unit
from .results import fold, makers, missing, settle

RETRIES = 2
"""A trial that failed is carried so many times more."""
TRIAL_LIMIT_S = 3600.0
"""That one may take, unless the study or the command says otherwise."""
FOLD_S = 10.0
"""How often fresh results become a part, so that readers see them."""
LONGEST_TURN_S = 0.5


@dataclass
class Pace:
    """What the trials so far say of those that are left; they are carried in a drawn order, so they are like them."""

    workers: int
    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, seconds: float) -> None:
        """One more was measured."""
        self.count += 1
        self.total += seconds
        self.squares += seconds * seconds

    def left(self, trials: int) -> tuple[float, float] | None:
        """The least and the most (95 %) of the seconds that so many more take; ``None`` before three are measured."""
        if self.count < 3:
            return None
        mean = self.total / self.count
        spread = sqrt(max(0.0, self.squares - self.total * mean) / (self.count - 1))
        # of the mean of those measured, and of the mean of those to come
        error = 1.96 * spread * sqrt(1 / self.count + 1 / max(1, trials))
        share = trials / self.workers
        return max(0.0, mean - error) * share, (mean + error) * share


@dataclass
class Progress:
    """What a watcher gets."""

    trials: int
    done: int
    failed: int
    left_s: tuple[float, float] | None


@dataclass(frozen=True)
class Swept:
    """How a sweep ended."""

    folder: Path
    name: str
    engine: str
    cells: int
    trials: int
    done: int
    """That this call carried."""
    skipped: int
    """That had results before."""
    failed: tuple[dict[str, Any], ...]
    wall_s: float
    busy_s: float
    """Of all workers together, as far as it was measured."""

    def document(self) -> dict[str, Any]:
        """As ``dstcc sweep --json`` prints it."""
        return {
            "sweep": self.name,
            "study": str(self.folder),
            "engine": self.engine,
            "cells": self.cells,
            "trials": self.trials,
            "done": self.done,
            "failed": len(self.failed),
            "skipped": self.skipped,
            "wall_s": self.wall_s,
            "busy_s": self.busy_s,
            "failures": [{key: one[key] for key in ("trial", "error", "tries")} for one in self.failed],
        }


class Conductor:
    """One call of a sweep."""

    def __init__(
        self,
        plan: Plan,
        place: Place,
        executor: Executor,
        *,
        retries: int = RETRIES,
        watch: Callable[[Progress], None] = lambda _progress: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.plan, self.place, self.executor = plan, place, executor
        self._retries, self._watch, self._clock = retries, watch, clock
        self._tries: dict[str, list[str]] = {}
        self._pace = Pace(executor.workers)
        self._busy_s, self._done = 0.0, 0
        self._failed: dict[str, dict[str, Any]] = {}

    def carry(self, wanted: Sequence[int] | None = None, *, settled: bool = True) -> Swept:
        """Carry what has no result; of ``wanted`` alone if that is given.

        With ``settled`` the parts are put in order in the end. Whatever is raised in between, results stay.
        """
        began = self._clock()
        left = missing(self.plan, self.place)
        if wanted is not None:
            among = set(wanted)
            left = [number for number in left if number in among]
        asked = len(self.plan.units) if wanted is None else len(wanted)
        try:
            if left:
                self._run(deque(self.plan.batches(left)), len(left), asked)
        finally:
            if settled:
                fold(self.plan, self.place)
        if settled:
            settle(self.plan, self.place)
        return Swept(
            self.place.path,
            self.plan.study.name,
            self.executor.name,
            len(self.plan.points),
            asked,
            self._done,
            asked - len(left),
            tuple(self._failed.values()),
            self._clock() - began,
            self._busy_s,
        )

    def _run(self, batches: deque[list[Unit]], left: int, asked: int) -> None:
        before, folded, fresh = asked - left, self._clock(), []
        began = folded
        in_hand = 0
        with self.executor:
            while batches or in_hand:
                while batches and self.executor.room():
                    batch = batches.popleft()
                    self.executor.submit(batch)
                    in_hand += len(batch)
                for ended in self.executor.wait(LONGEST_TURN_S):
                    in_hand -= 1
                    if ended.error is None:
                        self._keep(ended)
                        fresh.append(ended.unit.key)
                    elif not self._give_up(ended):
                        batches.append([ended.unit])
                if self._clock() - folded > FOLD_S:
                    fold(self.plan, self.place, fresh)
                    folded, fresh = self._clock(), []
                still = left - self._done - len(self._failed)
                left_s = self._pace.left(still) if self._pace.count else self._left_by_rate(still, began)
                self._watch(Progress(asked, before + self._done, len(self._failed), left_s))
        fold(self.plan, self.place, fresh)

    def _left_by_rate(self, still: int, began: float) -> tuple[float, float] | None:
        """As many a second as until now, where nobody measures the trials."""
        if self._done < 3:
            return None
        seconds = (self._clock() - began) / self._done * still
        return seconds, seconds

    def _keep(self, ended: Ended) -> None:
        from .worker import keep

        if ended.row is not None:
            keep(self.place, ended.unit, ended.row)
        self.place.unfail(ended.unit.key)
        self._done += 1
        if ended.seconds is not None:
            self._pace.add(ended.seconds)
            self._busy_s += ended.seconds

    def _give_up(self, ended: Ended) -> bool:
        """Whether a unit that failed is not to be tried again; it is then noted as failed."""
        if not ended.blamed:
            return False
        unit, tries = ended.unit, self._tries.setdefault(ended.unit.key, [])
        tries.append(str(ended.error))
        if len(tries) <= self._retries:
            return False
        document: Mapping[str, Any] = {
            "trial": self.plan.words(unit),
            "key": unit.key,
            "made_by": self.plan.pieces[self.plan.place[unit.key]].made_by,
            "error": ended.error,
            "tries": tries,
            "traceback": ended.traceback,
        }
        self.place.fail(unit.key, document)
        self._failed[unit.key] = dict(document)
        return True


def of_other_versions(plan: Plan, place: Place) -> dict[str, int]:
    """How many results in the folder are by other versions than the plan's, which are not used."""
    own = {piece.made_by for piece in plan.pieces}
    return {name: count for name, count in makers(place).items() if name not in own}
