"""Processes that take turns: each step of one is followed by a step of whichever a seed draws; time is virtual."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from greenlet import getcurrent, greenlet

SWITCH = 0.3
"""Of a process's steps, the share after which another may go on."""
STEP_S = 0.001
"""That a step takes."""


class Killed(BaseException):
    """What ends a process that was killed, wherever it is; nothing that it does afterwards has an effect."""


class StuckError(Exception):
    """No process can go on, or none comes to an end."""


@dataclass
class Timer:
    """Something that happens later."""

    at: float
    number: int
    what: Callable[[], None]

    def __lt__(self, other: Timer) -> bool:
        """By time, then in the order in which they were set."""
        return (self.at, self.number) < (other.at, other.number)


class Process(greenlet):  # type: ignore[misc]
    """A process on a node; ``main`` is its program."""

    def __init__(self, world: World, name: str, node: str, main: Callable[[], Any]) -> None:
        super().__init__(self._whole, world.hub)
        self.world, self.name, self.node, self._main = world, name, node, main
        self.above = world.current
        """The process that started it."""
        self.pid = 100 + len(world.processes)
        self.alive, self.ended = True, False
        self.wake, self.ready = 0.0, None
        self.interrupted = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.held: set[int] = set()
        """Open files that end with it: locks and pipes."""
        self.at_end: list[Callable[[], None]] = []

    wake: float
    """Until then it sleeps, unless it is ``ready`` before."""
    ready: Callable[[], bool] | None

    def _whole(self) -> None:
        try:
            self.result = self._main()
        except Killed:
            self.alive = False
        except BaseException as error:  # whoever judges the run looks at it
            self.error = error
        self.end()

    def end(self) -> None:
        """It is gone: its files are closed, and who waits for it knows."""
        self.ended = True
        self.world.note(self, "end")
        held, self.held = self.held, set()
        for handle in held:
            os.close(handle)
        for last in self.at_end:
            last()

    @property
    def may_run(self) -> bool:
        """Whether its time has come."""
        return self.wake <= self.world.now or (self.ready is not None and self.ready())


class World:
    """The scheduler. ``strike`` is asked at each step of a process what befalls it."""

    def __init__(self, seed: int, strike: Callable[[Process, str], None]) -> None:
        self.rng, self.now, self.hub = Random(seed), 1000.0, getcurrent()
        self.processes: list[Process] = []
        self.steps = 0
        self.trace: list[tuple[float, int, str]] = []
        """(time, process, what) of every step, which two runs of a seed have in common."""
        self._strike, self._timers, self._set = strike, list[Timer](), 0

    @property
    def current(self) -> Process | None:
        """The process whose code runs; ``None`` in the test's own."""
        me = getcurrent()
        return me if isinstance(me, Process) and me.world is self else None

    def spawn(self, name: str, node: str, main: Callable[[], Any], after_s: float = 0.0) -> Process:
        """Start a process."""
        process = Process(self, name, node, main)
        process.wake = self.now + after_s
        self.processes.append(process)
        self.note(process, f"start {name} on {node}")
        return process

    def note(self, process: Process, what: str) -> None:
        """Write into the trace."""
        self.trace.append((round(self.now, 6), process.pid, what))

    def later(self, seconds: float, what: Callable[[], None]) -> None:
        """Do something at that time."""
        self._set += 1
        heapq.heappush(self._timers, Timer(self.now + seconds, self._set, what))

    def step(self, what: str) -> None:
        """The process that calls is about to do something that others see."""
        me = self.current
        if me is None:
            return
        self._go_on(me)
        self.steps += 1
        self.note(me, what)
        self._strike(me, what)
        if self.rng.random() < SWITCH:
            self.sleep(STEP_S)

    def sleep(self, seconds: float) -> None:
        """Let others run for so long."""
        self.wait(None, seconds)

    def wait(self, ready: Callable[[], bool] | None, seconds: float = float("inf")) -> None:
        """Wait until something is so, for so long at most."""
        me = self.current
        assert me is not None
        self._go_on(me)
        me.wake, me.ready = self.now + seconds, ready
        self.hub.switch()
        me.wake, me.ready = 0.0, None
        self._go_on(me)

    def _go_on(self, me: Process) -> None:
        if not me.alive:
            raise Killed
        if me.interrupted:
            me.interrupted = False
            raise KeyboardInterrupt

    def kill(self, process: Process) -> None:
        """End a process at once; its own call does not return."""
        if process.ended or not process.alive:
            return
        self.note(process, "killed")
        process.alive = False
        me = getcurrent()
        if process is me:
            raise Killed
        if process:
            process.parent = me
            process.throw(Killed)
        else:  # it had not begun
            process.end()

    def interrupt(self, process: Process) -> None:
        """Ctrl-C."""
        process.interrupted, process.ready = True, lambda: True

    def kill_all(self) -> None:
        """End every process, the one that calls last."""
        for process in self.processes:
            if process is not self.current:
                self.kill(process)
        if self.current is not None:
            self.kill(self.current)

    def run(self, until: Process | None, limit_s: float = float("inf")) -> None:
        """Let processes take turns until one has ended, or all have; :class:`StuckError` after ``limit_s``."""
        last = self.now + limit_s
        while True:
            while self._timers and self._timers[0].at <= self.now:
                heapq.heappop(self._timers).what()
            there = [one for one in self.processes if not one.ended]
            if not there or (until is not None and until.ended):
                return
            able = [one for one in there if one.may_run]
            if able:
                (able[0] if len(able) == 1 else self.rng.choice(able)).switch()
                self.now += STEP_S
                continue
            moments = [one.wake for one in there] + [one.at for one in self._timers[:1]]
            self.now = max(self.now, min(moments, default=float("inf")))
            if self.now > last:
                names = ", ".join(one.name for one in there)
                raise StuckError(f"after {limit_s:g} s there are still {names}")
