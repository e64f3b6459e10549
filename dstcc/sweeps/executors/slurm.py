"""Slurm: the units become the shares of a job array, submitted by ``sbatch``; results come through the study's folder.

The folder must be on a disk that all nodes see, and so must dstcc. A task that a node takes down with it is requeued by
Slurm and goes on; units of a task that ended without their results have failed, and the conductor submits them again.
"""

from __future__ import annotations

import re
import secrets
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field

from dstcc.errors import DstccError, MissingCapabilityError, RunError
from dstcc.reading import read_json
from dstcc.sweeps.places import Place
from dstcc.sweeps.plan import Unit, write_units
from dstcc.sweeps.results import parts_in, read_part

from .base import Ended

TASKS = 64
"""Of an array, unless more or fewer are asked for."""
MOST_TASKS = 1000
"""Slurm's own limit, unless a site raises it (MaxArraySize 1001)."""
POLL_S = 1.0
GRACE_S = 5.0
"""How long after a task's end its results may take to be seen: file systems of clusters are not at once the same."""


@dataclass
class _Job:
    """A job array that was submitted."""

    number: str
    waiting: dict[int, dict[str, Unit]]
    """By task: the units without a result, by hash."""
    gone: dict[int, float] = field(default_factory=dict)
    """Since when a task is no longer in the queue."""


class Slurm(AbstractContextManager["Slurm"]):
    """Job arrays of up to ``tasks`` tasks, each on so many ``cores``."""

    name = "slurm"

    def __init__(
        self,
        place: Place,
        *,
        tasks: int | None = None,
        cores: int = 1,
        options: Sequence[str] = (),
        limit_s: float = float("inf"),
    ) -> None:
        """``options`` are ``sbatch``'s own, like ``--partition=long``."""
        self._place, self._cores, self._options, self._limit_s = place, cores, tuple(options), limit_s
        self._tasks = min(tasks or TASKS, MOST_TASKS)
        self.workers = self._tasks * cores
        self._new: list[list[Unit]] = []
        self._jobs: list[_Job] = []
        self._seen: set[str] = set()
        self._polled = 0.0

    def __enter__(self) -> Slurm:
        """Raises :class:`MissingCapabilityError` where Slurm's commands are not there."""
        for command in ("sbatch", "squeue", "scancel"):
            if shutil.which(command) is None:
                raise MissingCapabilityError(f"--engine slurm needs {command}, of Slurm's client package")
        self._seen = {part.name for part in parts_in(self._place.trials)}
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel what is in the queue."""
        for job in self._jobs:
            subprocess.run(["scancel", job.number], check=False, capture_output=True, timeout=60)

    def room(self) -> bool:
        """All units go into one array, so that Slurm sees the whole of it."""
        return True

    def submit(self, batch: Sequence[Unit]) -> None:
        """Gather; :meth:`wait` submits."""
        self._new.append(list(batch))

    def wait(self, seconds: float) -> list[Ended]:
        """See :class:`.base.Executor`."""
        if self._new:
            self._submit()
        pause = self._polled + POLL_S - time.monotonic()
        if pause > 0:
            time.sleep(min(seconds, pause))
        if time.monotonic() < self._polled + POLL_S:
            return []
        self._polled = time.monotonic()
        queued = {job.number: _in_queue(job.number) for job in self._jobs}
        ended = self._finished()
        for job in self._jobs:
            ended += self._ended_without(job, queued[job.number])
        self._jobs = [job for job in self._jobs if any(job.waiting.values())]
        return ended

    def script(self, batches: Sequence[Sequence[Unit]]) -> tuple[str, str, list[list[Unit]]]:
        """Prepare a job: its name, ``sbatch``'s script, and what each task carries."""
        shares: list[list[Unit]] = [[] for _ in range(min(self._tasks, len(batches)))]
        for number, batch in enumerate(batches):
            shares[number % len(shares)] += batch
        name = time.strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(3)
        folder = self._place.jobs / name
        write_units(folder, shares, self._limit_s)
        words = [sys.executable, "-P", "-m", "dstcc.sweeps.share", str(self._place.path.absolute()), name]
        lines = [
            "#!/bin/bash",
            f"#SBATCH --job-name={_plain(self._place.path.name)}",
            f"#SBATCH --array=0-{len(shares) - 1}",
            f"#SBATCH --cpus-per-task={self._cores}",
            f"#SBATCH --output={folder.absolute()}/%a.log",
            "#SBATCH --open-mode=append",
            "#SBATCH --requeue",
            *(f"#SBATCH {option}" for option in self._options),
            f'exec {shlex.join(words)} "$SLURM_ARRAY_TASK_ID"',
            "",
        ]
        text = "\n".join(lines)
        (folder / "job.sh").write_text(text, encoding="utf-8")
        return name, text, shares

    def _submit(self) -> None:
        name, _, shares = self.script(self._new)
        self._new = []
        path = self._place.jobs / name / "job.sh"
        done = subprocess.run(
            ["sbatch", "--parsable", str(path)], check=False, capture_output=True, text=True, timeout=120
        )
        if done.returncode:
            raise DstccError(f"sbatch {path}: {done.stderr.strip() or f'ended with code {done.returncode}'}")
        number = done.stdout.strip().partition(";")[0]
        for share in shares:
            for unit in share:
                self._place.unfail(unit.key)
        self._jobs.append(
            _Job(number, {task: {unit.key: unit for unit in share} for task, share in enumerate(shares)})
        )

    def _finished(self) -> list[Ended]:
        """What has a result since the last look."""
        found = set(self._place.fresh.found())
        for part in parts_in(self._place.trials):
            if part.name not in self._seen:
                with suppress(RunError):  # another process has just put it in order
                    found.update(read_part(part, ["key"])["key"].to_pylist())
                    self._seen.add(part.name)
        ended = []
        for job in self._jobs:
            for waiting in job.waiting.values():
                ended += [Ended(waiting.pop(key)) for key in found & waiting.keys()]
        return ended

    def _ended_without(self, job: _Job, queued: set[int] | None) -> list[Ended]:
        """The units of tasks that are no longer in the queue and left no result."""
        if queued is None:  # Slurm does not answer now
            return []
        ended, now = [], time.monotonic()
        for task, waiting in job.waiting.items():
            if task in queued or not waiting:
                continue
            if now - job.gone.setdefault(task, now) >= GRACE_S:
                ended += [self._failure(job, task, unit) for unit in waiting.values()]
                waiting.clear()
        return ended

    def _failure(self, job: _Job, task: int, unit: Unit) -> Ended:
        try:
            said = read_json(self._place.failed / f"{unit.key}.json", RunError)
            return Ended(unit, str(said["error"]), said["traceback"])
        except (FileNotFoundError, RunError, KeyError, TypeError):
            return Ended(unit, f"its task {job.number}_{task} of Slurm ended without its result")


def _in_queue(number: str) -> set[int] | None:
    """The tasks of an array that wait or run; ``None`` where Slurm does not answer."""
    done = subprocess.run(
        ["squeue", "--noheader", "--array", f"--jobs={number}", "--format=%K"],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode:
        return set() if "Invalid job id" in done.stderr else None
    return {int(word) for word in done.stdout.split() if word.isdecimal()}


def _plain(name: str) -> str:
    """A name that a script's comment can hold."""
    return "dstcc-" + re.sub(r"[^A-Za-z0-9_.-]", "_", name)
