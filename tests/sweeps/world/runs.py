"""A run of the world: one study, some calls of its sweep with faults, a last one without, and what must be true.

After each call, whatever ended it:

* every result that was kept is there, and every file of the folder that has its name is whole;
* a call raises only what befell it, and none waits for ever (in virtual time);
* nothing is carried that had a result when the call began, and two calls do not carry at the same time;
* readers see every result of a part from the moment on when one saw it.

After the last: the bytes are those of a sweep that nothing disturbed, and nothing else is in the folder but hidden
files of processes on other nodes.
"""

from __future__ import annotations

import copy
import errno
import os
import shutil
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partialmethod
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq

from dstcc import engine
from dstcc.atomic import HIDDEN
from dstcc.errors import DstccError, InputError, RunError
from dstcc.metrics import METRICS
from dstcc.sweeps import work, worker
from dstcc.sweeps.call import Sweep, local, ray, slurm
from dstcc.sweeps.executors.base import Executor
from dstcc.sweeps.pieces import Failed
from dstcc.sweeps.places import Place
from dstcc.sweeps.plan import Unit
from dstcc.sweeps.query import whole_table
from dstcc.sweeps.results import read_part
from tests.made_results import toy_bound, toy_simulate
from tests.sweeps.made import STUDY, contents, sweep, write

from .disk import Disk
from .machines import NODES, connected
from .processes import Process, StuckError, World

LIMIT_S = 60.0
"""Of a trial."""
LIFE_S = 50_000.0
"""Of virtual time, in which a call of a few faults must come to an end."""
KINDS = ("kill", "power", "full", "broken", "slow", "interrupt", "kill another", "node")
"""What befalls a process at a step."""
FATAL = (errno.ENOSPC, errno.EIO)
MEMORY = Path("/dev/shm")


class Bench:
    """A study, and what its sweep gives undisturbed; made once for all runs."""

    def __init__(self, home: Path) -> None:
        study = write(home / "given")
        with (
            patch.object(engine, "simulate", toy_simulate),
            patch.object(engine, "clairvoyant_weight", toy_bound),
            patch.object(work, "METRICS", METRICS[:2]),  # fewer columns take less time
        ):
            sweep(study, home / "whole")
            self.asked = Sweep(study, home / "unused")
            text = STUDY.replace("[1e-3, 1e-2]", '{values = [1e-3, 1e-2], as = "loss"}')
            self.edited = Sweep(write(home / "edited", text), home / "unused")
            assert [one.key for one in self.edited.plan.units] == [one.key for one in self.asked.plan.units]
            columns = work.result_columns(False, self.asked.plan.layers)
            assert self.asked.plan.schema != self.edited.plan.schema  # made here, with these columns
        self.wanted = contents(home / "whole")
        rows = pq.read_table(home / "whole" / "trials").to_pylist()
        self.rows = {row["key"]: {name: row[name] for name in columns} for row in rows}


@dataclass
class Call:
    """One call of the sweep: its process, and what was there before."""

    process: Process
    before: frozenset[str]
    carried: Counter[str] = field(default_factory=Counter)


class Faults:
    """What befalls whom: a few faults, each so many steps after the one before."""

    def __init__(self, rng: Random, kinds: Sequence[str]) -> None:
        self.rng, self.kinds, self.left = rng, kinds, 0
        self._next = 0
        self.struck: list[str] = []

    def begin(self, count: int) -> None:
        """A call with so many."""
        self.left = count
        self._draw()

    def _draw(self) -> None:
        self._next = 1 + int(self.rng.expovariate(1 / self.rng.choice((5, 40, 150))))

    def falls(self) -> str | None:
        """What happens at this step."""
        if self.left == 0:
            return None
        self._next -= 1
        if self._next > 0:
            return None
        self.left -= 1
        self._draw()
        self.struck.append(self.rng.choice(self.kinds))
        return self.struck[-1]

    def misleads(self) -> bool:
        """Whether a machine does something else than it was asked."""
        if self.left == 0 or self.rng.random() > 0.15:
            return False
        self.left -= 1
        self.struck.append("machine")
        return True


class Run:
    """What happens under one seed."""

    def __init__(self, seed: int, bench: Bench, folder: Path) -> None:
        self.seed, self.bench = seed, bench
        self.world = World(seed, self._strike)
        rng = self.world.rng
        kinds = rng.sample(KINDS, rng.randint(1, len(KINDS)))
        self.faults = Faults(rng, kinds)
        self.disk = Disk(self.world, folder)
        self.place = Place(folder / "study")
        (folder / "tmp").mkdir()
        self.asked, self.edited = copy.copy(bench.asked), copy.copy(bench.edited)
        self.asked.place = self.edited.place = self.place
        self.kept: set[str] = set()
        self.calls: list[Call] = []
        self.conducting: Process | None = None
        self.problems: list[str] = []
        self._seen: set[str] = set()

    def wrong(self, what: str) -> None:
        """Something is not as it must be."""
        self.problems.append(f"seed {self.seed}: {what}")

    # -------------------------------------------------------------------------------------- faults

    def _strike(self, process: Process, what: str) -> None:
        kind = self.faults.falls()
        if kind is None:
            return
        self.world.note(process, f"! {kind}")
        if kind in ("kill another", "node"):
            self._kill_others(process, kind)
        else:
            getattr(self, f"_{kind}")(process)

    def _kill_others(self, process: Process, kind: str) -> None:
        others = [one for one in self.world.processes if not one.ended and one is not process]
        if kind == "node":
            others = [one for one in others if one.node == NODES[1]]
        elif others:
            others = [self.world.rng.choice(others)]
        for one in others:
            self.world.kill(one)

    def _kill(self, process: Process) -> None:
        self.world.kill(process)

    def _power(self, process: Process) -> None:
        for one in self.world.processes:
            if one is not process:
                self.world.kill(one)
        self.disk.lose()
        self.world.kill(process)

    def _full(self, _: Process) -> None:
        self.disk.full = True
        if (until := self.world.rng.choice((0.5, 20.0, None))) is not None:
            self.world.later(until, lambda: setattr(self.disk, "full", False))

    def _broken(self, _: Process) -> None:
        self.disk.broken = 1

    def _slow(self, _: Process) -> None:
        self.world.sleep(self.world.rng.choice((1.0, 10.0, 3 * LIMIT_S)))

    def _interrupt(self, _: Process) -> None:
        if self.conducting is not None:
            self.world.interrupt(self.conducting)

    # --------------------------------------------------------------------------- the study's work

    def _call_of(self, process: Process | None) -> Call | None:
        """Whose work a worker does."""
        while process is not None:
            for one in self.calls:
                if one.process is process:
                    return one
            process = process.above
        return None

    def _work(self, study: Any, **_: Any) -> Any:
        """In the place of :class:`dstcc.sweeps.work.Work`: trials take a drawn time and give what they always give."""
        plan = self.bench.asked.plan

        def cell(number: int) -> Any:
            own = [place for place, unit in enumerate(plan.units) if unit.cell == number]
            pieces = [plan.pieces[place] for place in own]
            keys = {piece.id: piece.key for piece in pieces}

            def carry(ids: Sequence[str]) -> Iterator[tuple[str, dict[str, Any] | Failed]]:
                for name in ids:
                    yield name, self._carry(keys[name])

            return SimpleNamespace(layers=plan.layers, extended=False, pieces=pieces, run=carry)

        return SimpleNamespace(study=study, points=plan.points, train=False, cell=cell)

    def _carry(self, key: str) -> dict[str, Any] | Failed:
        world = self.world
        call = self._call_of(world.current)
        if call is not None:
            call.carried[key] += 1
            if key in call.before:
                self.wrong(f"{key} was carried, and had a result before the call began")
        world.step("carry")
        world.sleep(world.rng.expovariate(1 / 2.0))
        if self.faults.misleads():
            return Failed("a trial that fails", None)
        return dict(self.bench.rows[key])

    def _keep(self, place: Place, unit: Unit, row: dict[str, Any]) -> None:
        KEEP(place, unit, row)
        self.kept.add(unit.key)

    # --------------------------------------------------------------------------------------- calls

    def _executor(self) -> Callable[[Place, float], Executor]:
        rng = self.world.rng
        return rng.choice((local(1), local(2), local(2), slurm(rng.randint(1, 3), rng.randint(1, 2)), ray()))

    def _call(self, asked: Sweep, executor: Callable[[Place, float], Executor]) -> Process:
        """Somebody calls the sweep of a study."""

        retries = self.world.rng.choice((0, 1, 2))

        def main() -> Any:
            return asked.run(executor, limit_s=LIMIT_S, retries=retries)

        process = self.world.spawn("conductor", "node-0", main)
        self.calls.append(Call(process, frozenset(self.kept)))
        return process

    def _call_beside(self, process: Process) -> None:
        if not process.ended:
            self._call(self.asked, local(1))

    @contextmanager
    def conduct(self, place: Place) -> Iterator[None]:
        """While a conductor holds the folder, no other does."""
        with LOCKED(place):
            if self.conducting is not None and not self.conducting.ended:
                self.wrong("two calls conduct one sweep")
            self.conducting = self.world.current
            try:
                yield
            finally:
                self.conducting = None

    def _read(self) -> None:
        """Somebody who reads the study again and again."""
        while True:
            self.world.sleep(self.world.rng.expovariate(1 / 10.0))
            try:
                self.place.about()
            except RunError:
                continue
            seen = set(whole_table(self.place)["key"].to_pylist())
            if lost := self._seen - seen:
                self.wrong(f"a reader no longer sees {len(lost)} results")
            self._seen = seen

    def _judge(self, process: Process) -> None:
        """Why a process ended."""
        error = process.error
        if error is None or (process.name == "worker" and process.above and not process.above.alive):
            return
        struck = self.faults.struck
        fine = (
            (isinstance(error, OSError) and error.errno in FATAL and {"full", "broken"} & set(struck))
            or (isinstance(error, KeyboardInterrupt) and "interrupt" in struck)
            or (isinstance(error, InputError) and "another process conducts" in str(error))
            or (isinstance(error, DstccError) and str(error).startswith("sbatch") and "machine" in struck)
        )
        if not fine:
            self.wrong(f"{process.name} raised {type(error).__name__}: {error}")

    def _life(self, count: int) -> Process:
        """One call, with so many faults; perhaps with another beside it, and with a reader."""
        world, rng = self.world, self.world.rng
        self.disk.full, self.disk.broken = False, 0
        self.faults.begin(count)
        first = len(world.processes)
        asked = self.asked if count == 0 or rng.random() < 0.8 else self.edited
        process = self._call(asked, self._executor())
        reader = world.spawn("reader", "node-0", self._read) if rng.random() < 0.25 else None
        if rng.random() < 0.2:
            world.later(rng.uniform(0, 8), lambda: self._call_beside(process))
        try:
            world.run(process, LIFE_S)
            if rng.random() < 0.5:  # the next comes at once, whatever of this one still runs
                world.run(world.spawn("pause", "node-0", lambda: world.sleep(rng.uniform(0, 30))), LIFE_S)
        except StuckError as error:
            self.wrong(str(error))
            world.kill_all()
        if reader is not None:
            world.kill(reader)
        for one in world.processes[first:]:
            self._judge(one)
        self._look()
        return process

    def _look(self) -> set[str]:
        """What lies in the folder now; what a worker has yet to flush, the power may still take."""
        found: set[str] = set()
        for folder in (self.place.trials, self.place.others):
            for part in folder.glob("part-*.parquet"):
                with self._whole(part):
                    found |= set(read_part(part, ["key"])["key"].to_pylist())
        for key in self.place.fresh.found():
            with self._whole(self.place.path / "fresh" / key):
                self.place.fresh.load(key)
                found.add(key)
        if lost := self.kept - found:
            self.wrong(f"{len(lost)} results that were kept are lost")
            self.kept = found
        self.kept |= found - {Path(name).stem for name in self.disk.unflushed()}
        return found

    @contextmanager
    def _whole(self, path: Path) -> Iterator[None]:
        try:
            yield
        except RunError as error:
            self.wrong(f"{path.name}: {error}")
            with suppress(OSError):
                path.unlink()

    def _last(self) -> None:
        """A call that nothing disturbs, after all others have ended."""
        try:
            self.world.run(None, LIFE_S)
        except StuckError as error:
            self.wrong(str(error))
            self.world.kill_all()
        before = self._look()
        process = self._life(0)
        if process.error is not None or process.result is None:
            self.wrong(f"the last call ended with {process.error!r}")
            return
        swept = process.result
        if (swept.skipped, swept.done, swept.failed) != (len(before), len(self.bench.rows) - len(before), ()):
            self.wrong(f"of {len(before)} kept the last call skipped {swept.skipped}, carried {swept.done}")
        self.world.run(None, LIFE_S)
        twice = [key for call in self.calls for key in call.carried if call.process is process]
        if len(twice) != swept.done:
            self.wrong("the last call carried a trial twice")
        there = contents(self.place.path)
        mine = f"{zlib.crc32(process.node.encode()):08x}"
        for name in [name for name in there if (owner := HIDDEN.fullmatch(name)) and owner[1] != mine]:
            del there[name]  # whether its process lives, nobody on another node can say
        if there != self.bench.wanted:
            self.wrong("the last call gave other bytes")
        # what a process on another machine left is not known to be nobody's
        left = sorted(
            str(path.relative_to(self.place.path))
            for path in self.place.path.rglob("*")
            if path.is_file()
            and path.relative_to(self.place.path).parts[0] not in ("trials", "jobs")
            and not any(f".{zlib.crc32(node.encode()):08x}-" in path.name for node in NODES)
        )
        if left != ["lock", "parts.json", "study.json", "study.toml"]:
            self.wrong(f"after the last call there are {', '.join(left)}")

    def play(self) -> list[str]:
        """All of it; what was wrong."""
        rng = self.world.rng

        with (
            self.disk.mounted(),
            connected(self.world, self.faults.misleads),
            patch.object(worker, "Work", self._work),
            patch.object(worker, "keep", self._keep),
            patch.object(Place, "locked", partialmethod(_locked, self)),
        ):
            try:
                for _ in range(rng.randint(1, 3)):
                    self._life(rng.choice((0, 1, 2, 4, 8)))
                self._last()
            finally:
                with suppress(BaseException):
                    self.world.kill_all()
        return self.problems


KEEP, LOCKED = worker.keep, Place.locked


def _locked(place: Place, run: Run) -> AbstractContextManager[None]:
    """In the place of :meth:`Place.locked`."""
    return run.conduct(place)


def play(seed: int, bench: Bench) -> Run:
    """Run one seed in a folder of its own."""
    room = MEMORY if os.access(MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="dstcc-world-", dir=room))
    try:
        run = Run(seed, bench, folder)
        run.play()
        return run
    finally:
        shutil.rmtree(folder, ignore_errors=True)
