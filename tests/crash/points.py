"""Commands that are killed, or whose writes fail, at any of their calls; and what must be true after that.

    python -m tests.crash.points [-n POINTS] [--seed K] [--memory] [COMMAND]...

Each point is a command, one of its writing calls (open, mkdir, write, fsync, rename below its folder), and what happens
there: SIGKILL, or ENOSPC, EACCES, EIO. Checked after each:

* what has the name that the user gave is the old version, or nothing where there was none, or the new version whole
  (sweeps, trainings and reproductions fill their folder while they run: it only has to be one that they go on with);
* a command that ended with 0 left the new version;
* a call that fails ends the command with 1, without a traceback, and the message names the path that the user gave;
  nothing else stays, but the kept trials of a run;
* the same command once more (with --resume, where it has it) then gives the same bytes as if nothing had happened, and
  leaves nothing else.

With --memory it is one of the allocations of Python, or of this project's extensions, that fails, whatever it is for:
then the command ends with 1 and a reason, which may leave a whole run with a trial that failed, or is done as if
nothing had happened. (Arrow and others end the process where an allocation of theirs fails, and so does pybind11 where
it cannot register an object: that is as good as a kill.) A site is a function of
this project within which something allocates, or an instruction of its compiled code. Each is struck once, in the
command that comes to it first, at one of its first three allocations (with -n a sample of them; and beyond their
number in the other commands that reach them, anywhere).

And once for each command: all that was written below its folder was flushed to the disk before it got its name.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import faulthandler
import importlib
import io
import itertools
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import traceback
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import click

from dstcc.errors import RunError
from dstcc.parquet import read_parquet
from dstcc.scenario import load_scenario
from dstcc.sums import NAME, read_sums

from .commands import COMMANDS, INPUTS, PASSING, WHEN_AND_WHERE, write_inputs

ROOT = Path(__file__).resolve().parents[2]
REGISTERS = "::init_instance<"
"""Of pybind11's functions the one that ends the process where it cannot register an object."""
LIMIT_S = 300.0
"""No command takes a hundredth of it: it waits for something that does not come."""
NAMES = {0: "SIGKILL", errno.ENOSPC: "ENOSPC", errno.EACCES: "EACCES", errno.EIO: "EIO"}


def compiled() -> Path:
    """The library that is preloaded."""
    made = ROOT / "build/crash/faults.so"
    sources = [Path(__file__).with_name(name) for name in ("faults.c", "allocations.c")]
    if not made.exists() or made.stat().st_mtime < max(one.stat().st_mtime for one in sources):
        made.parent.mkdir(parents=True, exist_ok=True)
        part = made.with_name(f"faults.{os.getpid()}.so")
        subprocess.run(
            [
                *("gcc", "-O1", "-Wall", "-Wextra", "-fexceptions", "-shared", "-fPIC", *map(str, sources)),
                *(f"-I{sysconfig.get_path('include')}", "-o", str(part), "-ldl", "-lstdc++"),
            ],
            check=True,
        )
        part.replace(made)
    return made


def start(words: Sequence[str], *, keep: bool = True) -> subprocess.CompletedProcess[str]:
    """This module's command line in a process with the library; what it says is kept, or passed on as it comes."""
    command = [sys.executable, "-m", "tests.crash.points", "--inside", *words]
    preload = {"LD_PRELOAD": str(compiled()), "OPENBLAS_NUM_THREADS": "1"}
    if "--memory" in words:  # each object by itself, not from a pool
        preload |= {"PYTHONMALLOC": "malloc", "ARROW_DEFAULT_MEMORY_POOL": "system", "PYTHONHASHSEED": "0"}
    path = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    environment = {**os.environ, **preload, **path}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=keep, text=True, check=False)


@dataclass(frozen=True)
class Site:
    """Where something is allocated."""

    number: int
    name: str
    allocations: int
    first: int
    """How many allocations the command has before the first one here."""


@dataclass(frozen=True)
class Fault:
    """What happens at which call of a command (``error`` 0: its process ends), or at which allocation of a site."""

    point: int = 0
    error: int = 0
    site: Site | None = None


@dataclass(frozen=True)
class Done:
    """How a command in a process of its own ended."""

    code: int
    """Below 0: by that signal."""
    said: str
    log: tuple[tuple[str, str, str], ...]
    """Its calls."""
    sites: tuple[Site, ...] = ()


def run(folder: Path, words: Sequence[str], fault: Fault | None = None) -> Done:
    """Run a dstcc command in a fork of this process, in ``folder``, where a fault may strike; sites need --memory."""
    library = ctypes.CDLL(None)
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as log:
        child = os.fork()
        if child == 0:
            code = 70
            try:
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                os.chdir(folder)
                code = _command(library, folder, words, fault or Fault(), log.fileno())
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(code)
        _, status = _ended(child)
        said.seek(0)
        log.seek(0)
        lines = [line.split("\t") for line in log.read().decode().splitlines()]
        calls = tuple((one[0], one[1], one[2]) for one in lines if one[0] != "site")
        sites = tuple(
            Site(int(number), name, int(count), int(first))
            for what, numbers, name in lines
            if what == "site"
            for number, count, first in [numbers.split()]
        )
        return Done(os.waitstatus_to_exitcode(status), said.read().decode(errors="replace"), calls, sites)


def _ended(child: int) -> tuple[int, int]:
    """Wait for a child, which says where it is and ends by SIGABRT if it does not end by itself."""
    handle = os.pidfd_open(child)
    try:
        waited = select.poll()
        waited.register(handle, select.POLLIN)
        if not waited.poll(LIMIT_S * 1000):
            os.kill(child, signal.SIGABRT)
    finally:
        os.close(handle)
    return os.waitpid(child, 0)


def _command(library: ctypes.CDLL, folder: Path, words: Sequence[str], fault: Fault, log: int) -> int:
    from dstcc_cli.main import main  # what strikes is of the command

    asked = list(words)
    sys.argv = ["dstcc", *words]
    point = 0 if fault.site else fault.point
    library.crash_arm(os.fsencode(folder), ctypes.c_long(point), ctypes.c_long(fault.error), log)
    code = 70
    if "PYTHONMALLOC" in os.environ:
        number = fault.site.number if fault.site else 0
        library.crash_memory(os.fsencode(ROOT), ctypes.c_uint64(number), ctypes.c_long(fault.point))
    try:
        _main(main, asked)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        library.crash_memory_over(log)
        library.crash_arm(b"/nowhere", ctypes.c_long(0), ctypes.c_long(0), -1)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    return code


def _main(main: Callable[[list[str]], Any], words: list[str]) -> None:
    """The command; a paper that it names is a folder here."""
    if words[0] == "reproduce":
        from dstcc.papers import model

        model.load_paper = lambda name: model.read_paper(Path(name).absolute())
    main(words)


def content(path: Path) -> dict[str, bytes] | None:
    """The files of an output by their names, without what says when and where it was made; ``None``: none is there."""
    if not os.path.lexists(path):
        return None
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    found = {}
    for file in files:
        if not file.name.startswith(PASSING):
            rest = WHEN_AND_WHERE.get(file.name, bytes)
            found[str(file.relative_to(path.parent))] = rest(file.read_bytes())
    return found


def trials_failed(run: Path) -> bool:
    """Whether this is a run, whole, in which trials failed."""
    if not (run / NAME).is_file():
        return False
    sums = read_sums(run, RunError)
    sums.check(*sums.known)
    return "failed" in read_parquet(run / "trials.parquet", ["status"])["status"].to_pylist()


def left_over(folder: Path, wanted: set[str]) -> list[str]:
    """What else lies in a folder."""
    return sorted(one.name for one in folder.iterdir() if one.name not in wanted)


@contextlib.contextmanager
def room(template: Path) -> Iterator[Path]:
    """A copy of the folder that a command starts in."""
    with tempfile.TemporaryDirectory(prefix="dstcc-crash-") as name:
        folder = Path(name, "work")
        shutil.copytree(template, folder)
        yield folder.resolve()


def unflushed(log: Sequence[tuple[str, str, str]]) -> list[str]:
    """Files, by the names that they got, of which not all that was written into them was flushed before.

    A name below a hidden sibling of the output is not yet one: what is renamed to it is still to be flushed.
    """
    dirty: set[str] = set()
    wrong = []
    for what, path, other in log:
        if what == "write":
            dirty.add(path)
        elif what == "fsync":
            dirty.discard(path)
        elif what == "rename":
            moved = {one for one in dirty if one == path or one.startswith(f"{path}/")}
            dirty -= moved
            named = {f"{other}{one.removeprefix(path)}" for one in moved}
            if "/." in other:
                dirty |= named
            else:
                wrong += sorted(named)
    return wrong


class Bench:
    """The commands, each with what it starts in and what it gives undisturbed."""

    def __init__(self, names: Sequence[str], home: Path) -> None:
        self.names = tuple(names)
        self.home = home
        self.templates: dict[str, Path] = {}
        self.expected: dict[str, dict[str, bytes]] = {}
        self.old: dict[str, dict[str, bytes] | None] = {}
        self.calls: dict[str, int] = {}
        self.sites: dict[str, tuple[Site, ...]] = {}
        self.ends: Counter[int] = Counter()
        """How often a command that was struck ended with which code."""
        self.problems: list[str] = []
        base = home / "base"
        base.mkdir()
        write_inputs(base)
        for name, words in INPUTS.items():
            if any(name in COMMANDS[one].needs for one in names):
                self._must(run(base, words))
        for name in names:
            self._prepare(name, base)

    def _must(self, done: Done) -> Done:
        if done.code != 0:
            raise RuntimeError(f"{done.code}: {done.said[-2000:]}")
        return done

    def _prepare(self, name: str, base: Path) -> None:
        command = COMMANDS[name]
        template = self.home / name.replace(" ", "_")
        shutil.copytree(base, template)
        if command.before:
            self._must(run(template, command.before))
        self.templates[name], self.old[name] = template, content(template / command.output)
        with room(template) as folder:
            done = self._must(run(folder, command.words))
            found = content(folder / command.output)
            assert found is not None
            self.expected[name], self.calls[name] = found, len(done.log)
            self.sites[name] = tuple(replace(one, name=_named(one.name)) for one in done.sites)
            self.problems += [
                f"{name}: {path} has its name, and was not flushed" for path in unflushed(done.log)
            ]

    def strike(self, name: str, fault: Fault) -> Iterator[str]:
        """One point; a sentence for each thing that is not as it must be."""
        command, site = COMMANDS[name], fault.site
        where = f"{name}, call {fault.point} of {self.calls[name]}, {NAMES[fault.error]}"
        if site:
            where = f"{name}, allocation {fault.point} of {site.allocations} in {site.name}"
        with room(self.templates[name]) as folder:
            target = folder / command.output
            before = content(folder)
            there = {one.name for one in folder.iterdir()}
            done = run(folder, command.words, fault)
            self.ends[done.code] += 1
            killed = _killed(done, fault)
            yield from (f"{where}: {rule}" for rule in self._after(name, target, done, fault))
            others = left_over(folder, there | {command.output})
            kept = f".{command.output}.kept"
            if not killed and (strange := [one for one in others if one != kept]):
                yield f"{where}: {', '.join(strange)} stayed"
            words = command.words
            if done.code == 0 or (content(target) == self.expected[name] and not command.before):
                return
            if site and (trials_failed(target) or content(folder) == before):
                return  # done, or as if it had not begun
            if kept in others or (command.grows and target.exists()):
                words = (*words, *command.again)
            again = run(folder, words)
            if again.code != 0:
                yield f"{where}: the same command again ended with {again.code}: {again.said[-300:]}"
            elif content(target) != self.expected[name]:
                yield f"{where}: the same command again gave other bytes"
            if strange := left_over(folder, there | {command.output}):
                yield f"{where}: after the same command again {', '.join(strange)} stayed"

    def _after(self, name: str, target: Path, done: Done, fault: Fault) -> Iterator[str]:
        try:
            found = content(target)
        except (ValueError, OSError) as error:
            yield f"{target.name} is torn ({error})"
            return
        if fault.site and done.code == 1 and trials_failed(target):
            return
        if found not in (self.old[name], self.expected[name]) and not COMMANDS[name].grows:
            yield f"{target.name} is neither the old nor the new version"
        if done.code == 0 and found != self.expected[name]:
            yield f"ended with 0, and {target.name} is not there"
        if "Traceback" in done.said:
            yield f"a traceback: {done.said[done.said.index('Traceback') :][-600:]}"
        if not _killed(done, fault) and done.code != 0:
            if done.code != 1:
                yield f"ended with {done.code}: {done.said[-3000 if done.code < 0 else -300 :]}"
            if fault.site:
                return
            if re.search(rf"(?<![\w.]){re.escape(target.name)}(?![\w.-])", done.said) is None:
                yield f"the message does not name {target.name}: {done.said[-300:]}"


def calls_to_strike(bench: Bench, points: int, rng: Random) -> Iterator[tuple[str, Fault]]:
    """So many, of the commands in turn; two fifths are killed."""
    for number in range(points):
        name = bench.names[number % len(bench.names)]
        error = (0, *NAMES)[rng.randrange(len(NAMES) + 1)]
        yield name, Fault(rng.randint(1, bench.calls[name]), error)


def allocations_to_strike(
    bench: Bench, points: int | None, rng: Random, within: str
) -> Iterator[tuple[str, Fault]]:
    """So many, or one at each site whose name has ``within`` in it."""
    first: dict[int, tuple[str, Site]] = {}
    others: list[tuple[str, Site]] = []
    reached = [(name, site) for name in bench.names for site in bench.sites[name] if within in site.name]
    for name, site in sorted(reached, key=lambda one: (one[1].first, one[1].number, one[0])):
        if first.setdefault(site.number, (name, site)) != (name, site):
            others.append((name, site))
    print(f"{len(first)} sites, {len(others)} in other commands too", flush=True)
    order = list(first.values())
    rng.shuffle(order)
    rng.shuffle(others)
    again = itertools.cycle((*others, *order))
    for number, (name, site) in enumerate(itertools.chain(order, again)):
        if number == (points or len(order)):
            break
        most = min(3, site.allocations) if number < len(order) else site.allocations
        yield name, Fault(rng.randint(1, most), site=site)


@cache
def _functions(extension: str) -> list[tuple[int, str]]:
    """The functions of a compiled module by where they begin."""
    (path,) = (one for one in ROOT.glob(f"*/*/{extension}") if one.parts[len(ROOT.parts)] != "build")
    done = subprocess.run(["nm", "-C", "--defined-only", path], capture_output=True, text=True, check=True)
    rows = (line.split(" ", 2) for line in done.stdout.splitlines())
    return sorted((int(place, 16), name) for place, kind, name in rows if kind in "tTwW")


def _named(site: str) -> str:
    """A site's name, of compiled code with its function."""
    extension, _, place = site.strip().partition(":")
    if not extension.endswith(".so"):
        return site
    known = _functions(extension)
    at = bisect(known, int(place), key=lambda one: one[0])
    return f"{site.strip()} {known[at - 1][1]}" if at else site


def _killed(done: Done, fault: Fault) -> bool:
    """Whether a command had no chance to say anything, or to clean up."""
    if fault.site:
        return done.code == -signal.SIGABRT and REGISTERS in fault.site.name
    return fault.error == 0


def strike(
    names: Sequence[str], points: int | None, seed: int, within: str | None
) -> tuple[Counter[int], list[str]]:
    """So many random points: how they ended, and what was wrong.

    They are calls, or allocations at the sites that have ``within`` in their names.
    """
    rng = Random(seed)
    with tempfile.TemporaryDirectory(prefix="dstcc-crash-") as home:
        bench = Bench(names, Path(home).resolve())
        wrong = list(bench.problems)
        print(*wrong, sep="\n", end="\n" if wrong else "", flush=True)
        drawn = (
            calls_to_strike(bench, points or 1000, rng)
            if within is None
            else allocations_to_strike(bench, points, rng, within)
        )
        for number, (name, fault) in enumerate(drawn, start=1):
            for finding in bench.strike(name, fault):
                print(finding, flush=True)
                wrong.append(finding)
            if number % 100 == 0:
                print(f"{number} points", file=sys.stderr, flush=True)
    return bench.ends, wrong


def _at_one_commit() -> None:
    """Let runs say the commit of now, though the checkout may get another while the points last."""
    from dstcc.machine import git_commit

    commit = git_commit()
    patch("dstcc.run.directory.git_commit", lambda: commit).start()


def _warm(names: Sequence[str]) -> None:
    """Import what the commands need and let them build what they build once, so that their forks begin at once.

    They run in forks, too: threads that a library starts here would be missing in every later fork.
    """
    with tempfile.TemporaryDirectory(prefix="dstcc-crash-") as name:
        folder = Path(name).resolve()
        write_inputs(folder)
        needed = [
            words for name, words in INPUTS.items() if any(name in COMMANDS[one].needs for one in names)
        ]
        for words in (*needed, *(COMMANDS[one].words for one in names if not COMMANDS[one].before)):
            for module in _modules(folder, words):
                with contextlib.suppress(Exception):
                    importlib.import_module(module)
        load_scenario(folder / "s.toml")  # which compiles its model, a third of what a small command takes


def _modules(folder: Path, words: Sequence[str]) -> list[str]:
    """What a command imports."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            try:
                os.chdir(folder)
                from dstcc_cli.main import main

                silent = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silent, 1)
                os.dup2(silent, 2)
                with contextlib.suppress(SystemExit):
                    sys.argv = ["dstcc", *words]
                    _main(main, list(words))
            finally:
                os.write(said.fileno(), "\n".join(sys.modules).encode())
                os._exit(0)
        os.waitpid(child, 0)
        said.seek(0)
        return [one for one in said.read().decode().splitlines() if one not in sys.modules]


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("-n", "--points", type=click.IntRange(1), help="1000, or with --memory one for each site.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--memory", is_flag=True, help="An allocation fails instead of a call.")
@click.option("--at", default="", help="With --memory only sites whose name has this text in it.")
@click.option("--inside", is_flag=True, hidden=True)
def main(
    names: tuple[str, ...], *, points: int | None, seed: int, memory: bool, at: str, inside: bool
) -> None:
    """Strike."""
    if strange := [name for name in names if name not in COMMANDS]:
        raise click.UsageError(f"{strange[0]}: one of {', '.join(COMMANDS)}")
    if not inside:
        words = [*names, "--seed", str(seed), *(["--memory", "--at", at] if memory else [])]
        words += ["-n", str(points)] if points else []
        sys.exit(start(words, keep=False).returncode)
    faulthandler.enable()
    _at_one_commit()
    _warm(names or tuple(COMMANDS))
    ends, wrong = strike(names or tuple(COMMANDS), points, seed, at if memory else None)
    codes = ", ".join(f"{count} with {code}" for code, count in sorted(ends.items()))
    print(f"{ends.total()} points of {', '.join(names or COMMANDS)}: {len(wrong)} findings ({codes})")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    sys.stdout = io.TextIOWrapper(sys.stdout.buffer, line_buffering=True)
    main()
