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
nothing had happened. (Arrow and others end the process where an allocation of theirs fails.)

And once for each command: all that was written below its folder was flushed to the disk before it got its name.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import importlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from unittest.mock import patch

import click

from dstcc.errors import RunError
from dstcc.parquet import read_parquet
from dstcc.sums import NAME, read_sums

from .commands import COMMANDS, INPUTS, PASSING, WHEN_AND_WHERE, write_inputs

ROOT = Path(__file__).resolve().parents[2]
NO_MEMORY = errno.ENOMEM
ERRORS = {"SIGKILL": 0, "ENOSPC": errno.ENOSPC, "EACCES": errno.EACCES, "EIO": errno.EIO}


def compiled() -> Path:
    """The library that is preloaded."""
    made = ROOT / "build/crash/faults.so"
    source = Path(__file__).with_name("faults.c")
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        made.parent.mkdir(parents=True, exist_ok=True)
        part = made.with_name(f"faults.{os.getpid()}.so")
        subprocess.run(
            [
                *("gcc", "-O1", "-Wall", "-Wextra", "-fexceptions", "-shared", "-fPIC", str(source)),
                *("-o", str(part), "-ldl", "-lstdc++"),
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
class Done:
    """How a command in a process of its own ended."""

    code: int
    """Below 0: by that signal."""
    said: str
    calls: int
    log: tuple[tuple[str, str, str], ...]
    allocations: int = 0


def run(folder: Path, words: Sequence[str], point: int = 0, error: int = 0) -> Done:
    """Run a dstcc command in a fork of this process, in ``folder``; at its call number ``point`` the fault strikes.

    With :data:`NO_MEMORY` as the error it is the allocation of that number which fails.
    """
    library = ctypes.CDLL(None)
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as log:
        child = os.fork()
        if child == 0:
            code = 70
            try:
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                os.chdir(folder)
                code = _command(library, folder, words, (point, error), log.fileno())
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        said.seek(0)
        log.seek(0)
        lines = [line.split("\t") for line in log.read().decode().splitlines()]
        noted = tuple((one[0], one[1], one[2]) for one in lines if len(one) == 3)
        allocations = sum(int(path) for what, path, _ in noted if what == "allocations")
        noted = tuple(one for one in noted if one[0] != "allocations")
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return Done(code, said.read().decode(errors="replace"), len(noted), noted, allocations)


def _command(
    library: ctypes.CDLL, folder: Path, words: Sequence[str], fault: tuple[int, int], log: int
) -> int:
    point, error = fault if fault[1] != NO_MEMORY else (0, 0)
    library.crash_arm(os.fsencode(folder), ctypes.c_long(point), ctypes.c_long(error), log)
    code, over = 70, ctypes.c_long(-1)
    library.crash_memory(ctypes.c_long(fault[0] if fault[1] == NO_MEMORY else 0))
    try:
        _main(words)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        allocations = library.crash_memory(over)
        library.crash_arm(b"/nowhere", ctypes.c_long(0), ctypes.c_long(0), -1)
        os.write(log, f"allocations\t{allocations}\t\n".encode())
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    return code


def _main(words: Sequence[str]) -> None:
    """The command; a paper that it names is a folder here."""
    from dstcc_cli.main import main

    sys.argv = ["dstcc", *words]
    if words[0] == "reproduce":
        from dstcc.papers import model

        model.load_paper = lambda name: model.read_paper(Path(name).absolute())
    main(list(words))


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
        self.allocations: dict[str, int] = {}
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
            self.expected[name], self.calls[name] = found, done.calls
            self.allocations[name] = done.allocations
            self.problems += [
                f"{name}: {path} has its name, and was not flushed" for path in unflushed(done.log)
            ]

    def strike(self, name: str, point: int, what: str) -> Iterator[str]:
        """One point; a sentence for each thing that is not as it must be."""
        of = self.allocations[name] if what == "ENOMEM" else self.calls[name]
        command, where = COMMANDS[name], f"{name}, call {point} of {of}, {what}"
        with room(self.templates[name]) as folder:
            target = folder / command.output
            there = {one.name for one in folder.iterdir()}
            done = run(folder, command.words, point, NO_MEMORY if what == "ENOMEM" else ERRORS[what])
            self.ends[done.code] += 1
            yield from (f"{where}: {rule}" for rule in self._after(name, target, done, what))
            others = left_over(folder, there | {command.output})
            kept = f".{command.output}.kept"
            if what != "SIGKILL" and (strange := [one for one in others if one != kept]):
                yield f"{where}: {', '.join(strange)} stayed"
            words = command.words
            if done.code == 0 or (content(target) == self.expected[name] and not command.before):
                return
            if what == "ENOMEM" and trials_failed(target):
                return
            if kept in others or (command.grows and target.exists()):
                words = (*words, *command.again)
            again = run(folder, words)
            if again.code != 0:
                yield f"{where}: the same command again ended with {again.code}: {again.said[-300:]}"
            elif content(target) != self.expected[name]:
                yield f"{where}: the same command again gave other bytes"
            if strange := left_over(folder, there | {command.output}):
                yield f"{where}: after the same command again {', '.join(strange)} stayed"

    def _after(self, name: str, target: Path, done: Done, what: str) -> Iterator[str]:
        try:
            found = content(target)
        except (ValueError, OSError) as error:
            yield f"{target.name} is torn ({error})"
            return
        if what == "ENOMEM" and done.code == 1 and trials_failed(target):
            return
        if found not in (self.old[name], self.expected[name]) and not COMMANDS[name].grows:
            yield f"{target.name} is neither the old nor the new version"
        if done.code == 0 and found != self.expected[name]:
            yield f"ended with 0, and {target.name} is not there"
        if "Traceback" in done.said:
            yield f"a traceback: {done.said[-600:]}"
        if what != "SIGKILL" and done.code != 0:
            if done.code != 1:
                yield f"ended with {done.code}: {done.said[-300:]}"
            if what == "ENOMEM":
                return
            if re.search(rf"(?<![\w.]){re.escape(target.name)}(?![\w.-])", done.said) is None:
                yield f"the message does not name {target.name}: {done.said[-300:]}"


def strike(names: Sequence[str], points: int, seed: int, memory: bool) -> tuple[Counter[int], list[str]]:
    """So many random points, of calls or with ``memory`` of allocations; how they ended, and what was wrong."""
    rng = Random(seed)
    with tempfile.TemporaryDirectory(prefix="dstcc-crash-") as home:
        bench = Bench(names, Path(home).resolve())
        wrong = list(bench.problems)
        print(*wrong, sep="\n", end="\n" if wrong else "", flush=True)
        for number in range(points):
            name = names[number % len(names)]
            what = "ENOMEM" if memory else ("SIGKILL", *ERRORS)[rng.randrange(len(ERRORS) + 1)]
            most = bench.allocations[name] if memory else bench.calls[name]
            for finding in bench.strike(name, rng.randint(1, most), what):
                print(finding, flush=True)
                wrong.append(finding)
            if number % 100 == 99:
                print(f"{number + 1} points", file=sys.stderr, flush=True)
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


def _modules(folder: Path, words: Sequence[str]) -> list[str]:
    """What a command imports."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            try:
                os.chdir(folder)
                silent = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silent, 1)
                os.dup2(silent, 2)
                with contextlib.suppress(SystemExit):
                    _main(words)
            finally:
                os.write(said.fileno(), "\n".join(sys.modules).encode())
                os._exit(0)
        os.waitpid(child, 0)
        said.seek(0)
        return [one for one in said.read().decode().splitlines() if one not in sys.modules]


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("-n", "--points", type=click.IntRange(1), default=1000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--memory", is_flag=True, help="An allocation fails instead of a call.")
@click.option("--inside", is_flag=True, hidden=True)
def main(names: tuple[str, ...], points: int, seed: int, memory: bool, inside: bool) -> None:
    """Strike."""
    if strange := [name for name in names if name not in COMMANDS]:
        raise click.UsageError(f"{strange[0]}: one of {', '.join(COMMANDS)}")
    if not inside:
        words = [*names, "-n", str(points), "--seed", str(seed), *(["--memory"] if memory else [])]
        sys.exit(start(words, keep=False).returncode)
    _at_one_commit()
    _warm(names or tuple(COMMANDS))
    ends, wrong = strike(names or tuple(COMMANDS), points, seed, memory)
    codes = ", ".join(f"{count} with {code}" for code, count in sorted(ends.items()))
    print(f"{points} points of {', '.join(names or COMMANDS)}: {len(wrong)} findings ({codes})")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    sys.stdout = io.TextIOWrapper(sys.stdout.buffer, line_buffering=True)
    main()
