"""One job in a guest: the virtual-time kernel booted on the host's own file tree, and switched off after it.

The guest sees the host's files read-only and one folder of them writable; it runs as root whoever runs it, and
idle time in it passes at once. What it does is a function of kernel, job and seed: its entropy is seeded
(``host.c``), its clock starts at a fixed date and stands still while it computes, addresses are not randomised, and
the kernel's command line, which is entropy too, never differs.

    run ──> boot ──────────────> keeper ──────────> kernel ─────────────> init ──> job
            ends all processes   is confined to     gives up the host's   says how the job ended
                                 the run's folder   system calls (host.so)

Whatever runs in it, its kernel's modules too, can do on the host what ``boot`` and ``host.so`` leave: see
``kernel-cc/lab/confine.c`` and ``filter.c``; :func:`.confinement.lacking` says what this host does not leave out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dstcc.errors import KernelError, MissingCapabilityError

from .folders import bytes_below, taken_below
from .programs import programs
from .remains import ends_of, message_of
from .running import bound_to, processor, remove_leftovers, room, started

CONSOLE = "console.log"
"""File in the run's folder with all that the kernel and the job printed."""
START_NS = 1_767_225_600 * 10**9
"""The guest's clock at boot, Unix time: 2026-01-01T00:00:00Z in every run."""
PREFIX, JOB = "dstcc-guest-", "job"
"""Of the folders that guests boot from, and the file in them that says what to run (``init.c``)."""
SMALLEST_MB = 64
"""Below that the kernel does not reach its first process."""
SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The job's ``PATH``: root's."""
PATIENCE_S = 2.5
"""How long ``boot`` may take to end a guest's processes; it needs milliseconds, and gives up after 1.5 s."""
OUT_MB = 1 << 20
"""What a job may leave in its folder unless told otherwise."""
OWN_MB, OWN_FILES = 64, 4096
"""What may lie in the folder that a guest boots from, which can be in this machine's memory: its first process and a
few small files. Its memory has no name there."""
LOOK_S = 0.5
"""Between two looks at what it has left there."""
SPARE_MB = 1024
"""Of addresses, beside the guest's memory: its kernel with its libraries maps some 100."""

STARTS = "dstcc: the job starts"
SAID, ENDED = "said", "ended"
"""The folder, and the file in it, in which the guest's first process says how the job ended. What it prints of it on
the console anybody can print there."""
ENDS, LONGEST_END = re.compile(r"(\d{1,3}) (\d{1,12}\.\d{9})"), 64
"""What it says: the exit code and the guest's clock."""
REPORT = re.compile(
    r"(?:(?:BUG|WARNING|UBSAN|kmemleak):|INFO: (?:possible|trying|inconsistent)) .*|Kernel panic.*"
)
"""How the kernel's own complaints begin: KASAN's and lockdep's are of the kinds BUG and WARNING."""


class GuestError(KernelError):
    """A guest that ended without its job's end: ``problem``, and ``console``, the log of all that it said."""

    def __init__(self, problem: str, console: Path) -> None:
        super().__init__(problem, console)
        self.problem, self.console = problem, console

    def __str__(self) -> str:
        return f"{self.problem} ({self.console} has all it said)"


@dataclass(frozen=True)
class GuestResult:
    """How a job ended."""

    exit_code: int
    """The job's, or 128 + the signal that ended it."""
    console: Path
    """The log of all it and its kernel printed."""
    virtual_s: float
    """The guest's clock at the end, seconds since its boot."""
    wall_s: float
    reports: tuple[str, ...]
    """First lines of what the kernel complained of (KASAN, lockdep, kmemleak, UBSAN, warnings); none is good."""


def run(
    kernel: Path,
    argv: list[str],
    *,
    out: Path,
    seed: int,
    memory_mb: int,
    wall_s: float,
    environment: Mapping[str, str] | None = None,
    at: Path | None = None,
    at_limit: Callable[[int], None] | None = None,
    at_start: Callable[[int], None] | None = None,
    out_mb: int = OUT_MB,
) -> GuestResult:
    """Boot ``kernel``, run ``argv`` as its only job, switch it off.

    ``out`` is the folder that the job may write to, made if needed, at the same path in the guest and outside. The
    job runs in the current folder, as root, without input; its environment is ``PATH``, this process's
    ``PYTHONPATH``, settings that keep Python's results repeatable, and ``environment``. ``seed``
    (0..2^64 - 1) is all the chance there is in the guest. ``memory_mb`` is its memory; what it does not touch
    costs nothing.

    ``at`` is where the guest has ``out``, and runs the job, if not at the paths of here: what is seen in the guest
    then does not depend on these. ``at_start`` is called with the process id of ``boot`` (the guest's processes are
    its descendants) once that is there, and ``at_limit`` when ``wall_s`` has passed, while the guest still runs.

    ``out_mb`` is how much may lie in ``out`` on this machine's disk.

    Whatever happens, no process of the guest outlives this call, and what it wrote to ``out`` stays. Raises
    :class:`KernelError` when the guest runs for more than ``wall_s`` seconds, writes too much, or dies without its
    job's end.
    """
    if memory_mb < SMALLEST_MB:
        raise ValueError(f"memory_mb = {memory_mb}: a guest needs at least {SMALLEST_MB}")
    kernel, out = kernel.resolve(), out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    kit = programs()
    console = out / CONSOLE
    started = time.monotonic()
    with _scratch(memory_mb) as scratch:
        _furnish(scratch, kit, argv, out, environment or {}, at=at)
        limits = [str(max(memory_mb, out_mb)), str(_address_mb(kernel, memory_mb))]
        command = [str(kit / "boot"), *limits, str(kit / "host.so"), str(kernel), *_words(memory_mb)]
        problem = _boot(
            command,
            scratch,
            console,
            out,
            seed=seed,
            wall_s=wall_s,
            at_limit=at_limit,
            at_start=at_start,
            out_mb=out_mb,
        )
        ended = _ended(scratch / SAID / ENDED)
    if problem is not None:
        raise GuestError(f"the guest was stopped: {problem}", console)
    text = ends_of(console)
    if ended is None:
        raise GuestError(f"the guest died: {_last_words(text)}", console)
    return GuestResult(ended[0], console, ended[1], time.monotonic() - started, reports(text))


def _ended(path: Path) -> tuple[int, float] | None:
    """The job's exit code and the virtual seconds since boot; ``None`` of one that did not end."""
    try:
        text = message_of(path, LONGEST_END)
    except FileNotFoundError:
        return None
    if not text:  # it is made before the job starts
        return None
    said = ENDS.fullmatch(text)
    if said is None:
        raise KernelError(f"{path.name}: must be an exit code and seconds")
    return int(said[1]), float(said[2])


def _address_mb(kernel: Path, memory_mb: int) -> int:
    """What a process of the guest may map; 0, no limit, where the kernel shadows all addresses (KASAN)."""
    config = kernel.parent / "config"
    watched = config.exists() and "CONFIG_KASAN=y" in config.read_text()
    return 0 if watched else memory_mb + SPARE_MB


def reports(console: str) -> tuple[str, ...]:
    """The kernel's complaints in a console's text, a line each; those from before the job are not the job's."""
    of_job = console.partition(STARTS)[2] or console
    return tuple(match[0] for line in of_job.splitlines() if (match := REPORT.match(line.strip())))


def sweep() -> None:
    """Remove the small folders of guests whose runner was killed; their processes ended with it."""
    for parent in _scratch_parents():
        remove_leftovers(parent, PREFIX, JOB)


def _furnish(
    scratch: Path, kit: Path, argv: list[str], out: Path, environment: Mapping[str, str], *, at: Path | None
) -> None:
    """Fill the folder that the guest boots from (see ``init.c``)."""
    settings = {
        "HOME": "/run",
        "TMPDIR": "/run",
        "LC_ALL": "C.UTF-8",
        "PATH": SEARCH,
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
    }
    if "PYTHONPATH" in os.environ:
        settings["PYTHONPATH"] = os.environ["PYTHONPATH"]
    variables = [f"{name}={value}" for name, value in (settings | dict(environment)).items()]
    strings = [str(at or out), str(at or Path.cwd()), str(len(argv)), *argv, *variables]
    (scratch / JOB).write_bytes(b"".join(os.fsencode(text) + b"\0" for text in strings))
    (scratch / "tree").symlink_to("/")
    (scratch / "out").symlink_to(out)
    (scratch / "host").mkdir()
    (scratch / SAID).mkdir()
    shutil.copy(kit / "init", scratch / "init")


def _words(memory_mb: int) -> list[str]:
    """The kernel's command line, which differs between runs by the memory's size alone."""
    return [
        "time-travel=inf-cpu",
        f"time-travel-start={START_NS}",
        f"mem={memory_mb}M",
        "hostfs=.",
        "root=/dev/root",
        "rootfstype=hostfs",
        "ro",
        "init=/init",
        "loglevel=6",
        "con=null",
        "con0=null,fd:1",
        "umid=guest",
        "uml_dir=./",
    ]


def _boot(
    command: list[str],
    scratch: Path,
    console: Path,
    out: Path,
    *,
    seed: int,
    wall_s: float,
    at_limit: Callable[[int], None] | None,
    at_start: Callable[[int], None] | None,
    out_mb: int,
) -> str | None:
    """Run the kernel in ``scratch`` to its end; why it was stopped, if it was."""
    how: dict[str, Any] = {
        "cwd": scratch,
        "env": {"DSTCC_SEED": str(seed), "TMPDIR": "."},
        "stdin": subprocess.DEVNULL,
        "stderr": subprocess.STDOUT,
        "start_new_session": True,  # Ctrl-C is ours to handle
    }
    with console.open("wb") as log, processor() as number, ExitStack() as stack:
        with bound_to(number):
            process = stack.enter_context(started(command, stdout=log, **how))
        try:
            if at_start is not None:
                at_start(process.pid)
            return _wait(process, scratch, out, wall_s=wall_s, at_limit=at_limit, out_mb=out_mb)
        finally:
            _end(process)


def _wait(
    process: subprocess.Popen[bytes],
    scratch: Path,
    out: Path,
    *,
    wall_s: float,
    at_limit: Callable[[int], None] | None,
    out_mb: int,
) -> str | None:
    """Wait for the guest's end, and look at what it writes; why it must be stopped, if it must."""
    until = time.monotonic() + wall_s
    while True:
        left = until - time.monotonic()
        try:
            process.wait(timeout=max(0.0, min(LOOK_S, left)))
        except subprocess.TimeoutExpired:
            if left <= LOOK_S:
                if at_limit is not None:
                    at_limit(process.pid)
                return f"it still ran after {wall_s:g} s"
        try:
            used = bytes_below(out)
            own_bytes, own_files = taken_below(scratch)
        except OSError as error:
            return f"it has made a folder that cannot be looked into ({error.strerror})"
        if used > out_mb << 20:
            return f"it has written more than {out_mb:,} MB"
        if own_bytes > OWN_MB << 20 or own_files > OWN_FILES:
            return f"its kernel has written more than {OWN_MB} MB or {OWN_FILES:,} files beside what it keeps"
        if process.returncode is not None:
            return None


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()  # all others end with it
        process.wait()


@contextmanager
def _scratch(memory_mb: int) -> Iterator[Path]:
    """A small folder to boot from, where the guest's memory can be a file, too; removed at the end."""
    sweep()
    for parent in _scratch_parents():
        state = os.statvfs(parent)
        roomy = state.f_bavail * state.f_frsize >= memory_mb << 20
        if roomy and not state.f_flag & os.ST_NOEXEC and os.access(parent, os.W_OK):
            break
    else:
        places = ", ".join(str(parent) for parent in _scratch_parents())
        raise MissingCapabilityError(
            f"no place for a guest's {memory_mb} MB of memory: none of {places} has the room and may hold programs"
        )
    with room(PREFIX, JOB, parent) as one:
        yield one.folder


def _scratch_parents() -> list[Path]:
    """Where a guest's memory may lie: in memory if possible, else on the disk."""
    return [path for path in (Path("/dev/shm"), Path(tempfile.gettempdir())) if path.is_dir()]


def _last_words(text: str) -> str:
    """The line of a dead guest's console that says most."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("dstcc: the guest", "Kernel panic", "BUG: "))]
    return (telling or lines or ["it printed nothing"])[-1]
