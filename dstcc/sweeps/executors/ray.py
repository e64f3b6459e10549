"""Ray: the units become its tasks, on this machine or on a cluster that runs already (``--address``).

Rows come back through Ray and the conductor keeps them, so that nodes need not see the study's folder; they need its
scenarios at the same paths, and dstcc. Ray is told to report nothing about its use, and keeps what it writes in a
folder of its own, which goes in the end.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstcc.errors import DstccError, MissingCapabilityError
from dstcc.machine import cores
from dstcc.sweeps.places import ABOUT, STUDY, Place
from dstcc.sweeps.plan import Unit

from .base import Ended
from .local import ONE_THREAD

if TYPE_CHECKING:
    from dstcc.sweeps.worker import Carrier

SILENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_DEDUP_LOGS": "0",
    "RAY_worker_niceness": "0",
    **ONE_THREAD,
}
"""Ray's environment. Without authentication it listens to this machine alone, unless a cluster is joined. Its workers
are as urgent as local ones; Ray's own choice is niceness 15, where a busy machine leaves them next to nothing."""
GRACE_S = 120.0
"""That a task may take beyond its units' limits: a node's first task starts a process and imports dstcc."""
LOOK_S = 5.0
"""How often the cluster is asked how many cores it has."""
CARRIERS: dict[str, Any] = {}
"""In a worker's process: what carries the units of the study that it was last asked for."""


@dataclass
class _Task:
    batch: list[Unit]
    since: float
    cancelled: bool = False


class Ray(AbstractContextManager["Ray"]):
    """Tasks of one core each."""

    name = "ray"

    def __init__(
        self,
        place: Place,
        *,
        address: str | None = None,
        jobs: int | None = None,
        limit_s: float = float("inf"),
    ) -> None:
        """``address`` is a running cluster's; without one Ray is started here, on so many cores."""
        self._place, self._address, self._limit_s = place, address, limit_s
        self._jobs = jobs or cores()
        self.workers = self._jobs
        self._tasks: dict[Any, _Task] = {}
        self._looked = 0.0

    def __enter__(self) -> Ray:
        """Start Ray, or join the cluster; raises :class:`MissingCapabilityError` without it."""
        if importlib.util.find_spec("ray") is None:
            raise MissingCapabilityError("--engine ray needs ray: pip install 'dstcc[ray]'")
        self._folder = Path(tempfile.mkdtemp(prefix="dstcc-ray-"))
        self._held = ExitStack()
        self._held.enter_context(_environment(SILENT))
        self._held.enter_context(redirect_stdout(sys.stderr))  # Ray prints there of workers that die
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _start(self) -> None:
        import ray

        quiet = {"logging_level": "error", "log_to_driver": False}
        try:
            if self._address is None:
                ray.init(num_cpus=self._jobs, include_dashboard=False, _temp_dir=str(self._folder), **quiet)
            else:
                ray.init(address=self._address, **quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise DstccError(f"--engine ray: {error}") from None
        self._ray = ray
        files = {name: (self._place.path / name).read_bytes() for name in (ABOUT, STUDY)}
        self._study = ray.put((str(self._place.path.absolute()), files))
        self._carry = ray.remote(num_cpus=1, max_retries=0)(carry)

    def __exit__(self, *_: object) -> None:
        """End what is running; a cluster that was joined stays."""
        import ray

        for reference in self._tasks:
            ray.cancel(reference, force=True)
        ray.shutdown()
        self._held.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def room(self) -> bool:
        """A task for each core of the cluster."""
        if time.monotonic() - self._looked > LOOK_S:
            self._looked = time.monotonic()
            self.workers = max(1, int(self._ray.cluster_resources().get("CPU", 0)))
        return len(self._tasks) < self.workers

    def submit(self, batch: Sequence[Unit]) -> None:
        """Hand over a batch."""
        reference = self._carry.remote(self._study, [unit.words for unit in batch])
        self._tasks[reference] = _Task(list(batch), time.monotonic())

    def wait(self, seconds: float) -> list[Ended]:
        """See :class:`.base.Executor`."""
        ready, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=seconds)
        ended = []
        for reference in ready:
            ended += self._ended(reference, self._tasks.pop(reference))
        now = time.monotonic()
        for reference, task in self._tasks.items():
            if not task.cancelled and now - task.since > self._limit_s * len(task.batch) + self._grace():
                self._ray.cancel(reference, force=True)
                task.cancelled = True
        return ended

    def _grace(self) -> float:
        return min(GRACE_S, max(10.0, self._limit_s))

    def _ended(self, reference: Any, task: _Task) -> list[Ended]:
        try:
            outcomes = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            why = f"its task of Ray ended: {type(error).__name__}"
            if task.cancelled:
                why = f"took longer than {self._limit_s:g} s and was ended"
            # of several it is not known which one it was: each is tried again alone
            return [Ended(unit, why, str(error) or None, blamed=len(task.batch) == 1) for unit in task.batch]
        return [
            Ended(unit, error, trace, row, seconds)
            for unit, (row, error, trace, seconds) in zip(task.batch, outcomes, strict=True)
        ]


Answer = tuple[dict[str, Any] | None, str | None, str | None, float]
"""Of a unit: its row, or why it failed and its traceback; and its seconds."""


def carry(study: tuple[str, dict[str, bytes]], words: list[list[Any]]) -> list[Answer]:
    """In a worker of Ray: carry units; of each its row, or why it failed and where, and how long it took."""
    from dstcc.sweeps.pieces import Failed

    began = time.monotonic()
    results: list[Answer] = []
    for _, outcome in _carrier(*study).carry([Unit(*one) for one in words]):
        took, began = time.monotonic() - began, time.monotonic()
        if isinstance(outcome, Failed):
            results.append((None, outcome.error, outcome.traceback, took))
        else:
            results.append((outcome, None, None, took))
    return results


def _carrier(path: str, files: dict[str, bytes]) -> Carrier:
    """The study's carrier, kept for the next task; the study's own folder where this node sees it, else a copy."""
    from dstcc.sweeps.worker import carrying

    key = hashlib.sha256(b"\0".join([path.encode(), *files.values()])).hexdigest()
    if key not in CARRIERS:
        place = Place(Path(path))
        if not all((place.path / name).is_file() for name in files):
            place = Place(Path(tempfile.mkdtemp(prefix="dstcc-study-")))
            for name, data in files.items():
                (place.path / name).write_bytes(data)
        held = carrying(place)
        CARRIERS.clear()
        CARRIERS[key] = (held.__enter__(), held)  # for as long as the process lives
    carrier: Carrier = CARRIERS[key][0]
    return carrier


@contextmanager
def _environment(changed: dict[str, str]) -> Iterator[None]:
    """These variables until the block ends."""
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
