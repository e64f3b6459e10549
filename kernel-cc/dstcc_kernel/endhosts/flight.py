"""``dstcc run`` without its command line: a mission in a guest, and what it leaves, put in a folder as a whole."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dstcc.atomic import atomic_directory
from dstcc.errors import DstccError, InputError, KernelError, MissingCapabilityError
from dstcc.outputs import check_output
from dstcc.reading import no_link
from dstcc.scenario import Scenario, files_of

from .. import guest
from ..backend import built
from ..folders import keep_only_files
from ..native import program
from ..programs import programs
from ..remains import ends_of, message_of, remove
from .inside import PRELOAD, READ
from .keyboard import Typing
from .mission import AT, ERROR, HERE, MISSION, PLAYER, RUNNING, STDERR, STDOUT, TOO_LONG, Mission
from .native_bpf import check_program
from .outcome import OUTPUT, digest
from .own_module import build_bpf, build_module, check_folder
from .planning import Options, memory_mb, out_mb, plan
from .said import read_outcome, read_running
from .spinning import busy_program

WORK = ".guest"
"""Of the folder while the guest runs: what it has at :data:`AT`."""
MODULE = "module.ko"
PACKAGES = ("dstcc", "dstcc_kernel")
WALL_S = 600.0
"""Wall time that a run may take unless told otherwise."""
STILL = 0.25
"""Of the wall limit: without a sample for so long, mission time stands."""
POLL_S = 0.05
LAST_BYTES = 4096
Tell = Callable[[str, bytes], None]
"""Takes what the first program prints (``stdout`` or ``stderr``, bytes) while it runs."""


@dataclass(frozen=True)
class Flown:
    """What came of a run."""

    meta: dict[str, Any]
    """``run.json``."""
    problem: str | None
    """What went wrong beside the programs' own failures."""

    @property
    def exit_code(self) -> int:
        """The first program's, or 1 where it has none."""
        code = self.meta["exit_code"]
        return 1 if self.problem is not None or code is None else int(code)


def fly(
    path: Path,
    scenario: Scenario,
    options: Options,
    *,
    argv: Sequence[str],
    wall_s: float = WALL_S,
    force: bool = False,
    inputs: Sequence[Path] = (),
    tell: Tell = lambda _stream, _data: None,
    keys: int | None = None,
) -> Flown:
    """Run the programs of ``options`` over the scenario's links and put what they leave at ``path``.

    ``keys`` is the file that a shell's are read from. A run whose wall limit has passed leaves what was written until
    then, and has a problem that names the program.
    Raises :class:`~dstcc.errors.InputError` for what cannot run or may not be replaced, and
    :class:`~dstcc.errors.DstccError` where the guest itself failed; then nothing is left.
    """
    mission = plan(scenario, options)
    check_output(path, OUTPUT, force=force, inputs=[*inputs, *files_of(scenario)])
    built()
    if options.module is not None and options.bpf is not None:
        raise InputError("--bpf: cannot be combined with --module")
    if options.module is not None:
        check_folder(options.module)
    if options.bpf is not None:
        check_program(options.bpf)
    if options.module is not None or options.bpf is not None:
        mission = replace(mission, module=str(AT / MODULE))
    started = time.monotonic()
    with atomic_directory(path, replaces=OUTPUT if force else None) as folder:
        work = folder / WORK
        work.mkdir()
        try:
            _furnish(work, mission, options)
            problem = _boot(work, mission, seed=scenario.run.seed, wall_s=wall_s, tell=tell, keys=keys)
            meta = digest(
                folder,
                work,
                scenario,
                mission,
                options,
                argv=argv,
                wall_s=time.monotonic() - started,
                problem=problem,
            )
        finally:
            remove(work)
    return Flown(meta, problem)


def _furnish(work: Path, mission: Mission, options: Options) -> None:
    """What the guest finds in :data:`AT`: the mission, the Python packages that carry it out, the caller's folder."""
    (work / "lib").mkdir()
    for name in PACKAGES:
        (work / "lib" / name).symlink_to(_home(name))
    (work / HERE.name).symlink_to(options.here.resolve())
    shutil.copy(programs() / PRELOAD, work / PRELOAD)
    if mission.network is not None:
        shutil.copy(program(PLAYER), work / PLAYER)
    if options.module is not None:
        build_module(options.module, built().kernel, work / MODULE)
    if options.bpf is not None:
        build_bpf(options.bpf, built().kernel, work / MODULE)
    mission.write(work / MISSION)


def _home(package: str) -> Path:
    __import__(package)
    return Path(str(sys.modules[package].__file__)).resolve().parent


def _boot(
    work: Path, mission: Mission, *, seed: int, wall_s: float, tell: Tell, keys: int | None
) -> str | None:
    """Run the guest; why it was stopped, if it was."""
    # -S: no site-packages, whose place differs between checkouts; -P: nothing from the current folder
    words = [_python(), "-S", "-P", "-m", "dstcc_kernel.endhosts.inside"]
    seen: list[tuple[int | None, float]] = []

    def look(boot: int) -> None:
        try:
            still_s = time.time() - (work / RUNNING).lstat().st_mtime
        except OSError:
            still_s = 0.0
        seen.append((busy_program(boot), still_s))

    typing = Typing(work, keys) if keys is not None else None
    try:
        with _telling(work, mission, tell), typing or nullcontext():
            guest.run(
                built().kernel,
                words,
                out=work,
                seed=seed,
                memory_mb=memory_mb(mission),
                wall_s=wall_s,
                environment={"PYTHONPATH": str(AT / "lib")},
                at=AT,
                at_limit=look,
                at_start=typing.begin if typing is not None else None,
                out_mb=out_mb(mission),
            )
    except MissingCapabilityError as error:
        smaller = "--disk makes the hosts' folders smaller"
        if mission.network is not None:
            smaller += ", storage_bytes what nodes hold"
        raise MissingCapabilityError(f"{error}; {smaller}") from None
    except guest.GuestError as error:
        if not seen:  # the console goes with the run, which is none
            raise KernelError(f"{error.problem}; its last words: {_last_words(work)}") from None
        return _stopped(work, mission, wall_s, *seen[0])
    finally:
        keep_only_files(work, but=("lib", HERE.name))
    try:
        said = message_of(work / ERROR)
    except FileNotFoundError:
        said = None
    if said is not None:
        raise DstccError(said)
    outcome = read_outcome(work, mission)
    if not outcome:
        raise KernelError(f"the guest left no result; its last words: {_last_words(work)}")
    if outcome["reason"] == TOO_LONG:
        return (
            f"{mission.programs[0].label} had not ended after 100 days of its clock (--for ends it earlier)"
        )
    return None


def _python() -> str:
    """The interpreter without its virtual environment, so that its place is the machine's, not the checkout's."""
    return str(getattr(sys, "_base_executable", sys.executable))


def _last_words(work: Path) -> str:
    return " / ".join(ends_of(work / guest.CONSOLE, LAST_BYTES).strip().splitlines()[-3:])


def _stopped(work: Path, mission: Mission, wall_s: float, busy: int | None, still_s: float) -> str:
    """Why a run was ended from outside: a program that never waits, or one that never ends."""
    until_ns, numbers = read_running(work, mission)
    until_s = until_ns / 1e9 * mission.scale
    running = ", ".join(mission.programs[number].label for number in numbers) or "the guest"
    if busy is not None and busy < len(mission.programs) and still_s > STILL * wall_s:
        return (
            f"{mission.programs[busy].label} computes without waiting: mission time stood at {until_s:.6g} s for "
            f"{still_s:.0f} s, until the limit of {wall_s:g} s had passed (--wall)"
        )
    return (
        f"the limit of {wall_s:g} s passed (--wall) at mission time {until_s:.6g} s; {running} still ran "
        "(--for ends a run at a mission time)"
    )


@contextmanager
def _telling(work: Path, mission: Mission, tell: Tell) -> Iterator[None]:
    """Hand over what the first program prints as it comes."""
    done = threading.Event()
    followed = [_Followed(work / name, name, mission.disk_mb << 20) for name in (STDOUT, STDERR)]
    thread = threading.Thread(target=_follow, args=(followed, tell, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    for one in followed:
        if one.problem is not None:
            raise KernelError(one.problem)


def _follow(followed: Sequence[_Followed], tell: Tell, done: threading.Event) -> None:
    while True:
        last = done.wait(POLL_S)
        for one in followed:
            for data in one.fresh():
                tell(one.name, data)
        if last:
            return


@dataclass
class _Followed:
    """A file that grows in a guest, which may put anything in its place: no link is followed, no pipe waited for, and
    no more read than :class:`~.logs.Logs` lets it grow."""

    path: Path
    name: str
    most: int
    at: int = 0
    problem: str | None = None

    def fresh(self) -> Iterator[bytes]:
        """What has come since the last call."""
        if self.problem is not None:
            return
        try:
            with open(self.path, "rb", opener=no_link) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise OSError(errno.EINVAL, "is not a regular file")
                file.seek(self.at)
                while data := file.read(READ):
                    self.at += len(data)
                    if self.at > self.most + READ:
                        raise OSError(errno.EFBIG, f"has more than {self.most >> 20:,} MB")
                    yield data
        except FileNotFoundError:
            return
        except OSError as error:
            self.problem = f"{self.name}: what CMD prints cannot be read: {error.strerror}"
