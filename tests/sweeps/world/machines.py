"""What executors start, in a simulated world: worker processes and their pipes, Slurm's commands and nodes, Ray."""

from __future__ import annotations

import json
import os
import re
import selectors
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

from dstcc.sweeps import conduct, share, worker
from dstcc.sweeps.executors import local, ray, slurm
from dstcc.sweeps.places import Place
from dstcc.sweeps.plan import Unit

from .processes import Killed, Process, World

NODES = ("node-1", "node-2")
BUSY = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"


class Over(Exception):  # noqa: N818
    """A worker's input ended."""


class Input:
    """What a worker reads, as its conductor writes it."""

    def __init__(self, world: World) -> None:
        self.world, self.lines, self.closed = world, list[bytes](), False
        self.process: Process | None = None

    def write(self, data: bytes) -> None:
        """Pass a line on."""
        self.world.step("tell")
        if self.process is None or self.process.ended:
            raise BrokenPipeError
        self.lines.append(data)

    def flush(self) -> None:
        """Nothing is kept back."""

    def close(self) -> None:
        """End it."""
        self.closed = True

    def told(self) -> list[Unit]:
        """What a worker gets."""
        self.world.wait(lambda: bool(self.lines) or self.closed)
        if not self.lines:
            raise Over
        return [Unit(*words) for words in json.loads(self.lines.pop(0))]


class Popen:
    """A worker process in the place of :class:`subprocess.Popen`."""

    def __init__(self, world: World, words: Sequence[str], pass_fds: tuple[int]) -> None:
        world.step("start a worker")
        me = world.current
        assert me is not None
        self.world, self.stdin, self.answers = world, Input(world), os.dup(pass_fds[0])
        place = Place(Path(words[4]))
        self.process = world.spawn("worker", me.node, lambda: self._main(place), world.rng.uniform(0.2, 3))
        self.stdin.process = self.process
        self.process.held.add(self.answers)
        self.pid = self.process.pid
        # its input ends with whoever started it, and with that the worker
        me.at_end.append(lambda: world.later(world.rng.uniform(0, 0.2), lambda: world.kill(self.process)))

    @property
    def returncode(self) -> int:
        """Of a process that has ended."""
        return 0 if self.process.alive else -9

    def wait(self) -> int:
        """It has been killed before."""
        assert self.process.ended
        return self.returncode

    def _main(self, place: Place) -> None:
        with suppress(Over):
            worker.work(place, self.stdin.told, self._say)

    def _say(self, **answer: Any) -> None:
        data = json.dumps(answer).encode() + b"\n"
        cut = self.world.rng.randrange(len(data))
        for part in (data[:cut], data[cut:]):
            self.world.step("answer")
            try:
                os.write(self.answers, part)
            except BrokenPipeError:
                raise Over from None


class Selector(selectors.PollSelector):
    """Waits in virtual time."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """See :mod:`selectors`."""
        there = super().select
        self.world.wait(lambda: bool(there(0)), float("inf") if timeout is None else timeout)
        return there(0)


class Cluster:
    """Slurm: jobs of tasks, each a process on a node that may go down, be lost, or run a task twice."""

    def __init__(self, world: World, faulty: Callable[[], bool]) -> None:
        self.world, self.faulty = world, faulty
        self.tasks: dict[tuple[str, int], Process | None] = {}
        self._jobs, self._cancelled = 0, set[str]()

    def run(self, words: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        """``subprocess.run`` of one of Slurm's commands."""
        self.world.step(words[0])
        code, out, err = getattr(self, f"_{words[0]}")(words)
        self.world.step(f"{words[0]} returns")
        return subprocess.CompletedProcess(list(words), code, out, err)

    def _sbatch(self, words: Sequence[str]) -> tuple[int, str, str]:
        if self.faulty():
            return 1, "", "sbatch: error: Batch job submission failed"
        text = Path(words[-1]).read_text()
        count = int(re.findall(r"--array=0-(\d+)", text)[0]) + 1
        cores = int(re.findall(r"--cpus-per-task=(\d+)", text)[0])
        study, job = shlex.split(text.splitlines()[-1])[5:7]
        self._jobs += 1
        number = str(self._jobs)
        for task in range(count):
            self._start(number, task, partial(share.run, Place(Path(study)), job, task, jobs=cores))
        if self.faulty():
            return 1, "", "sbatch: error: Socket timed out on send/recv operation"
        return 0, f"{number};cluster\n", ""

    def _start(self, number: str, task: int, main: Callable[[], Any]) -> None:
        rng = self.world.rng
        if self.faulty():  # it is never seen again
            return
        process = self.world.spawn(f"task {number}_{task}", rng.choice(NODES), main, rng.uniform(0, 5))
        self.tasks[number, task] = process

        def ended() -> None:
            self.tasks[number, task] = None
            again = not process.alive or self.faulty()  # requeued, or run once more
            if number not in self._cancelled and again and rng.random() < 0.5:
                self._start(number, task, main)

        process.at_end.append(ended)

    def _squeue(self, words: Sequence[str]) -> tuple[int, str, str]:
        if self.faulty():
            return 1, "", BUSY
        number = words[3].partition("=")[2]
        there = [task for (job, task), process in self.tasks.items() if job == number and process is not None]
        return 0, "".join(f"{task}\n" for task in there), ""

    def _scancel(self, words: Sequence[str]) -> tuple[int, str, str]:
        if self.faulty():
            return 1, "", BUSY
        self._cancelled.add(words[1])
        for (job, _), process in list(self.tasks.items()):
            if job == words[1] and process is not None:
                self.world.kill(process)
        return 0, "", ""


class RayError(Exception):
    """Of Ray."""


class FakeRay(ModuleType):
    """Ray's calls that the executor makes."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, world: World, faulty: Callable[[], bool]) -> None:
        super().__init__("ray")
        self.__spec__ = ModuleSpec("ray", None)
        self._world, self._faulty = world, faulty

    def init(self, **_: Any) -> None:
        """Start it."""
        self._world.step("ray.init")

    def put(self, what: Any) -> Any:
        """Share it."""
        return what

    def remote(self, **_: Any) -> Callable[[Callable[..., Any]], Any]:
        """A function that runs in a process of Ray's."""

        def start(call: Callable[..., Any], *given: Any) -> Process:
            world = self._world
            me = world.current
            assert me is not None
            process = world.spawn("ray task", "node-1", lambda: call(*given), world.rng.uniform(0, 3))
            if self._faulty():  # it is never begun
                process.wake = float("inf")
            me.at_end.append(lambda: world.later(0.1, lambda: world.kill(process)))
            return process

        return lambda call: SimpleNamespace(remote=lambda *given: start(call, *given))

    def wait(self, tasks: list[Process], num_returns: int, timeout: float) -> tuple[list[Process], None]:
        """Until one has ended."""
        if not tasks:
            raise ValueError("ray.wait: no tasks")
        self._world.wait(lambda: any(one.ended for one in tasks), timeout)
        self._world.step("ray.wait")
        return [one for one in tasks if one.ended][:num_returns], None

    def get(self, task: Process) -> Any:
        """What it returned."""
        if not task.alive or task.error is not None:
            raise RayError(str(task.error))
        return task.result

    def cancel(self, task: Process, force: bool) -> None:
        """End it."""
        self._world.step("ray.cancel")
        self._world.kill(task)

    def shutdown(self) -> None:
        """End all."""

    def cluster_resources(self) -> dict[str, float]:
        """Two cores."""
        return {"CPU": 2.0}


class _Os:
    """``os`` of the local executor."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def pipe(self) -> tuple[int, int]:
        """A pipe whose ends close with the process."""
        ends = os.pipe()
        if self._world.current is not None:
            self._world.current.held |= set(ends)
        return ends

    def killpg(self, pid: int, _: int) -> None:
        """End a process."""
        me = self._world.current
        if me is not None and not me.alive:
            raise Killed
        for one in self._world.processes:
            if one.pid == pid:
                if one.ended:
                    raise ProcessLookupError
                self._world.kill(one)


@contextmanager
def connected(world: World, faulty: Callable[[], bool]) -> Iterator[Cluster]:
    """Until the block ends, executors start processes of the world, and time is its own."""

    def now() -> float:
        return world.now

    cluster = Cluster(world, faulty)
    clock = SimpleNamespace(monotonic=now, sleep=world.sleep, strftime=lambda _: "job-")
    started = SimpleNamespace(
        Popen=lambda words, pass_fds, **_: Popen(world, words, pass_fds),
        **{name: getattr(subprocess, name) for name in ("PIPE", "DEVNULL")},
    )
    chosen = SimpleNamespace(DefaultSelector=lambda: Selector(world), EVENT_READ=selectors.EVENT_READ)
    drawn = SimpleNamespace(token_hex=lambda size: f"{world.rng.getrandbits(8 * size):0{2 * size}x}")
    assert conduct.Conductor.__init__.__kwdefaults__ is not None
    with ExitStack() as held:
        for module, name, other in (
            (local, "subprocess", started),
            (local, "selectors", chosen),
            (local, "time", clock),
            (local, "os", _Os(world)),
            (worker, "time", clock),
            (slurm, "subprocess", cluster),
            (slurm, "shutil", SimpleNamespace(which=lambda command: command)),
            (slurm, "secrets", drawn),
            (slurm, "time", clock),
            (ray, "time", clock),
        ):
            held.enter_context(patch.object(module, name, other))
        held.enter_context(patch.dict(conduct.Conductor.__init__.__kwdefaults__, clock=now))
        held.enter_context(patch.dict(sys.modules, ray=FakeRay(world, faulty)))
        ray.CARRIERS.clear()
        yield cluster
        ray.CARRIERS.clear()
