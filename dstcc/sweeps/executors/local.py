"""Processes on this machine: each carries one trial at a time; one that dies or hangs takes only its own with it."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dstcc.errors import DstccError
from dstcc.machine import cores
from dstcc.sweeps.plan import Unit

from .base import Ended

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""A worker is one core: libraries that start threads of their own would only get into each other's way."""
STARTING_S = 120.0
"""A worker that has said nothing for so long after its start is not coming."""


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    acks: int
    """The file descriptor that it answers on."""
    since: float
    """When it began what it is at."""
    waiting: deque[Unit] = field(default_factory=deque)
    """What it was handed and has not ended; the first is running."""
    heard: bytes = b""
    ready: bool = False


class Local(AbstractContextManager["Local"]):
    """``jobs`` worker processes."""

    name = "local"

    def __init__(self, folder: Path, jobs: int | None = None, *, limit_s: float = float("inf")) -> None:
        """``folder`` is the study's; ``limit_s`` the most that one unit may take."""
        self.workers = jobs or cores()
        self._folder, self._limit_s = folder, limit_s
        self._all: dict[int, _Worker] = {}
        self._selector = selectors.DefaultSelector()
        self._ended: list[Ended] = []

    def __exit__(self, *_: object) -> None:
        """End all workers; what is running is lost, what is finished is kept."""
        for worker in list(self._all.values()):
            self._end(worker)
        self._selector.close()

    def room(self) -> bool:
        """One batch for each worker; the second keeps it from waiting for the next."""
        return len(self._all) < self.workers or any(len(one.waiting) < 2 for one in self._all.values())

    def submit(self, batch: Sequence[Unit]) -> None:
        """Hand over a batch."""
        worker = self._least()
        if not worker.waiting:
            worker.since = time.monotonic()
        worker.waiting.extend(batch)
        assert worker.process.stdin is not None
        line = json.dumps([unit.words for unit in batch]) + "\n"
        with suppress(BrokenPipeError):  # it died; wait() will find out
            worker.process.stdin.write(line.encode())
            worker.process.stdin.flush()

    def wait(self, seconds: float) -> list[Ended]:
        """See :class:`.base.Executor`."""
        for key, _ in self._selector.select(0 if self._ended else min(seconds, self._until_late())):
            self._hear(self._all[key.fd])
        now = time.monotonic()
        for worker in list(self._all.values()):
            if worker.waiting and now - worker.since > self._allowed(worker):
                self._end(worker)
                why = (
                    f"took longer than {self._limit_s:g} s and was ended"
                    if worker.ready
                    else "its worker never started"
                )
                self._gone(worker, why)
        ended, self._ended = self._ended, []
        return ended

    def _allowed(self, worker: _Worker) -> float:
        return self._limit_s if worker.ready else max(self._limit_s, STARTING_S)

    def _until_late(self) -> float:
        now = time.monotonic()
        left = [one.since + self._allowed(one) - now for one in self._all.values() if one.waiting]
        return max(0.0, min(left, default=float("inf")))

    def _least(self) -> _Worker:
        """The worker with least to do; a new one while there are not enough."""
        if len(self._all) < self.workers and all(one.waiting for one in self._all.values()):
            return self._start()
        return min(self._all.values(), key=lambda one: len(one.waiting))

    def _start(self) -> _Worker:
        read, write = os.pipe()
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "dstcc.sweeps.worker", str(self._folder), str(write)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=(write,),
                env={**os.environ, **ONE_THREAD},
                start_new_session=True,  # Ctrl-C is for the conductor, which ends its workers
            )
        except BaseException:
            os.close(read)
            raise
        finally:
            os.close(write)
        worker = _Worker(process, read, time.monotonic())
        self._all[read] = worker
        self._selector.register(read, selectors.EVENT_READ)
        return worker

    def _hear(self, worker: _Worker) -> None:
        data = os.read(worker.acks, 1 << 16)
        if not data:
            self._end(worker)
            self._gone(worker, f"its worker {_ending(worker.process.returncode)}")
            return
        *lines, worker.heard = (worker.heard + data).split(b"\n")
        for line in lines:
            self._said(worker, json.loads(line))

    def _said(self, worker: _Worker, said: dict[str, Any]) -> None:
        now = time.monotonic()
        if said.get("ready"):
            worker.ready, worker.since = True, now
        elif "stop" in said:
            raise DstccError(said["stop"])
        elif "disk" in said:
            raise OSError(*said["disk"])
        else:
            unit = worker.waiting.popleft()
            assert unit.key == said["key"], (unit, said)
            self._ended.append(
                Ended(unit, said.get("error"), said.get("traceback"), seconds=now - worker.since)
            )
            worker.since = now

    def _gone(self, worker: _Worker, why: str) -> None:
        """What a worker had in hand has ended with it; it was at the first."""
        for place, unit in enumerate(worker.waiting):
            self._ended.append(Ended(unit, why, blamed=place == 0))

    def _end(self, worker: _Worker) -> None:
        del self._all[worker.acks]
        self._selector.unregister(worker.acks)
        with suppress(ProcessLookupError):
            os.killpg(worker.process.pid, signal.SIGKILL)  # with all that it started
        os.close(worker.acks)
        worker.process.wait()
        assert worker.process.stdin is not None
        with suppress(BrokenPipeError):
            worker.process.stdin.close()


def _ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        hint = ", as when memory is short" if -code == signal.SIGKILL else ""
        return f"was ended by {name}{hint}"
    return f"ended with code {code}"
