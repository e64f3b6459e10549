"""Out of the guest's kernel: a module there makes the host's system calls. What it did is looked for on the host.

Each of these gets out of a build without the defences that it names, and stays within ours.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from dstcc_kernel import guest, programs
from dstcc_kernel.confinement import lacking

from dstcc.errors import KernelError

from .undefended import without

pytestmark = pytest.mark.kernel
WALL_S = 240.0
HERE = Path(__file__).parent
SPARE_MB = 16
"""What may lie in the guest's folder here."""
FAR = 1 << 41
"""Two terabytes."""
STAYS_S = 20
"""So long a process of the module's stays."""


@dataclass(frozen=True)
class Attempt:
    """What the module is told, and how its success shows, given the console's text."""

    path: Path | str = ""
    number: int = 0
    escaped: Callable[[str], bool] = field(default=lambda console: ": DONE " in console)


Setting = Callable[[Path, Path], Iterator[Attempt]]
"""Given a folder of the host, and the one that the guest may write to."""


def sleeper(_folder: Path, _out: Path) -> Iterator[Attempt]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield Attempt(
            number=process.pid, escaped=lambda console: ": DONE " in console or process.poll() is not None
        )
        process.kill()


def listener(_folder: Path, _out: Path) -> Iterator[Attempt]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Attempt(number=server.getsockname()[1], escaped=lambda _: _called(server))


def named_socket(folder: Path, _out: Path) -> Iterator[Attempt]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
        server.listen()
        yield Attempt(folder / "socket", escaped=lambda _: _called(server))


def abstract_socket(_folder: Path, _out: Path) -> Iterator[Attempt]:
    name = f"dstcc-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        yield Attempt(name, escaped=lambda _: _called(server))


def _called(server: socket.socket) -> bool:
    server.settimeout(2)
    try:
        caller, _ = server.accept()
    except TimeoutError:
        return False
    with caller:
        return caller.recv(3) == b"out"


def staying(_folder: Path, out: Path) -> Iterator[Attempt]:
    yield Attempt(out / "alive", escaped=lambda console: ": DONE " in console and _comes_back(out / "alive"))


def _comes_back(path: Path) -> bool:
    path.unlink(missing_ok=True)
    time.sleep(1)
    return path.exists()


def new_file(folder: Path, _out: Path) -> Iterator[Attempt]:
    yield Attempt(folder / "new", escaped=lambda _: (folder / "new").exists())


def old_file(folder: Path, _out: Path) -> Iterator[Attempt]:
    (folder / "old").write_text("mine")
    yield Attempt(
        folder / "old",
        escaped=lambda _: not (folder / "old").exists() or (folder / "old").read_text() != "mine",
    )


def others_pipe(folder: Path, _out: Path) -> Iterator[Attempt]:
    os.mkfifo(folder / "pipe")
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    yield Attempt(folder / "pipe", escaped=lambda _: os.read(reader, 3) == b"out")
    os.close(reader)


def readable_file(folder: Path, _out: Path) -> Iterator[Attempt]:
    (folder / "old").write_text("mine")
    yield Attempt(folder / "old")


def shell(_folder: Path, out: Path) -> Iterator[Attempt]:
    yield Attempt(f"echo>{out}/executed", escaped=lambda _: (out / "executed").exists())


def only_asked(_folder: Path, _out: Path) -> Iterator[Attempt]:
    yield Attempt()


def others_command(_folder: Path, _out: Path) -> Iterator[Attempt]:
    yield Attempt(f"/proc/{os.getpid()}/cmdline")


def machines_processors(_folder: Path, _out: Path) -> Iterator[Attempt]:
    yield Attempt("/sys/devices/system/cpu/online")


def device(_folder: Path, _out: Path) -> Iterator[Attempt]:
    yield Attempt("/dev/zero")


def with_users_rights(_folder: Path, out: Path) -> Iterator[Attempt]:
    path = out / "setuid"
    yield Attempt(path, escaped=lambda _: path.exists() and bool(path.stat().st_mode & 0o6000))


def pipe(_folder: Path, out: Path) -> Iterator[Attempt]:
    yield Attempt(out / "pipe", escaped=lambda _: (out / "pipe").is_fifo())


def link(_folder: Path, out: Path) -> Iterator[Attempt]:
    yield Attempt(out / "link", escaped=lambda _: (out / "link").is_symlink())


def far_file(_folder: Path, out: Path) -> Iterator[Attempt]:
    path = out / "far"
    yield Attempt(path, FAR, escaped=lambda _: path.exists() and path.stat().st_size > FAR)


def much_memory(_folder: Path, _out: Path) -> Iterator[Attempt]:
    yield Attempt(number=64 << 30)


def many_processes(_folder: Path, _out: Path) -> Iterator[Attempt]:
    if any(part.startswith("limit of processes") for part in lacking()):
        pytest.skip("root's processes are bounded from Linux 6.14 on")
    yield Attempt(number=5000)


def shared_memory(_folder: Path, _out: Path) -> Iterator[Attempt]:
    """A segment of System V's by its key: anybody of the machine who is the same user finds it."""
    libc, key = ctypes.CDLL(None), 0x64730000 | os.getpid() & 0xFFFF
    segment = libc.shmget(key, 4096, 0o1600)  # IPC_CREAT
    assert segment >= 0
    yield Attempt(number=key)
    libc.shmctl(segment, 0, None)


TRACING = ("PID namespace", "Landlock", "users' namespace", "dropped capabilities")
"""Each of these forbids to trace others."""
ESCAPES: dict[str, tuple[str, Setting, tuple[str, ...]]] = {
    "kills a process": ("kill", sleeper, ("PID namespace", "Landlock")),
    "calls a TCP port": ("tcp", listener, ("seccomp", "network namespace", "Landlock")),
    "calls a socket by its path": ("unix", named_socket, ("seccomp",)),
    "calls an abstract socket": ("abstract", abstract_socket, ("seccomp", "network namespace", "Landlock")),
    "forks what stays": ("stay", staying, ("PID namespace", "sweep")),
    "makes a file": ("create", new_file, ("read-only mounts", "Landlock")),
    "overwrites a file": ("overwrite", old_file, ("read-only mounts", "Landlock")),
    "removes a file": ("remove", old_file, ("read-only mounts", "Landlock")),
    "writes into a pipe": ("overwrite", others_pipe, ("Landlock",)),
    "locks a file": ("lock", readable_file, ("seccomp",)),
    "limits a process": ("limits", sleeper, ("seccomp", "PID namespace")),
    "runs a program": ("execute", shell, ("seccomp",)),
    "mounts": ("remount", new_file, ("seccomp", "Landlock", "dropped capabilities")),
    "makes a user namespace": ("unshare", only_asked, ("seccomp",)),
    "traces a process": ("trace", sleeper, ("seccomp", *TRACING)),
    "reads a process's memory": ("peek", sleeper, ("seccomp", *TRACING)),
    "reads /proc": ("read", others_command, ("own /proc",)),
    "reads /sys": ("read", machines_processors, ("own /proc",)),
    "reads a device": ("read", device, ("read-only mounts",)),
    "makes a set-user-id program": ("setuid", with_users_rights, ("seccomp",)),
    "makes a pipe": ("fifo", pipe, ("seccomp", "Landlock")),
    "makes a link": ("symlink", link, ("seccomp", "Landlock")),
    "makes a file of terabytes": ("far", far_file, ("limit of files",)),
    "maps memory": ("memory", much_memory, ("limit of addresses",)),
    "makes processes": ("forks", many_processes, ("limit of processes",)),
    "opens many files": ("descriptors", only_asked, ("limit of descriptors",)),
    "watches files": ("inotify", only_asked, ("seccomp",)),
    "finds shared memory": ("shared", shared_memory, ("seccomp", "IPC namespace")),
}
"""What each is told to do, where, and the defences that hold it."""


@pytest.fixture(scope="session")
def module(kernel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The module that breaks out, built for the guest's kernel."""
    folder = tmp_path_factory.mktemp("escapes") / "module"
    folder.mkdir()
    for name in ("Kbuild", "host_calls.h", "dstcc_escape.c"):
        shutil.copy(HERE / name, folder)
    make = ["make", "-C", str(kernel.parent / "tree"), "ARCH=um", f"M={folder}", "W=1", "modules"]
    subprocess.run(make, check=True, capture_output=True)
    return folder / "dstcc_escape.ko"


def load(kernel: Path, module: Path, out: Path, what: str, attempt: Attempt, *, after: str = "") -> str:
    """Boot a guest whose job loads the module; what the console says."""
    words = f"insmod {module} what={what} path={str(attempt.path)!r} number={attempt.number}"
    job = ["sh", "-c", f"{words}{after}"]
    try:
        guest.run(kernel, job, out=out, seed=1, memory_mb=128, wall_s=WALL_S, out_mb=SPARE_MB)
    except KernelError as error:
        return f"{(out / guest.CONSOLE).read_text(errors='replace')}\n{error}"
    return (out / guest.CONSOLE).read_text(errors="replace")


def escapes(name: str, kernel: Path, module: Path, folder: Path) -> bool:
    """Whether it gets out."""
    what, setting, _ = ESCAPES[name]
    outside, out = folder / "outside", folder / "out"
    outside.mkdir(parents=True)
    with contextmanager(setting)(outside, out) as attempt:
        console = load(kernel, module, out, what, attempt)
        assert f"dstcc_escape: {what}: " in console or what == "far", console
        return attempt.escaped(console)


@pytest.mark.parametrize("name", ESCAPES)
def test_it_stays_within(name: str, kernel: Path, module: Path, tmp_path: Path) -> None:
    assert not escapes(name, kernel, module, tmp_path)


@pytest.mark.parametrize("name", ESCAPES)
def test_it_gets_out_where_nothing_holds_it(name: str, kernel: Path, module: Path, tmp_path: Path) -> None:
    with without(ESCAPES[name][2], tmp_path / "build"):
        assert escapes(name, kernel, module, tmp_path)


def test_a_folder_that_fills_ends_the_guest(kernel: Path, module: Path, tmp_path: Path) -> None:
    """64 files of a MB, where 16 MB may lie: none is longer than a file may be."""
    out = tmp_path / "out"
    said = load(kernel, module, out, "fill", Attempt(out), after="; exec sleep 100000000")
    assert f"the guest was stopped: it has written more than {SPARE_MB} MB" in said


def test_so_does_the_folder_that_it_boots_from(
    kernel: Path, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which can lie in the machine's memory. What fills it is 64 MB; the guest's own file there has 1."""
    monkeypatch.setattr(guest, "OWN_MB", SPARE_MB)
    said = load(kernel, module, tmp_path / "out", "fill", Attempt("."), after="; exec sleep 100000000")
    assert f"the guest was stopped: its kernel has written more than {SPARE_MB} MB" in said


def test_a_folder_that_fills_is_nobodys_concern_where_none_looks(
    kernel: Path, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "bytes_below", lambda _: 0)
    out = tmp_path / "out"
    assert "stopped" not in load(kernel, module, out, "fill", Attempt(out))
    assert sum(path.stat().st_size for path in out.glob("piece*")) == 64 << 20


RESTARTS = (
    "open({path!r}, 'a').write('again '); import ctypes, os; os.sync(); ctypes.CDLL(None).reboot(0x1234567)"
)
"""RB_AUTOBOOT: User-Mode Linux runs itself anew, with the same command line."""


@pytest.mark.parametrize(("lacking", "times"), [((), 1), (("seccomp",), 2)])
def test_a_guest_that_restarts_has_ended(
    kernel: Path, tmp_path: Path, lacking: tuple[str, ...], times: int
) -> None:
    """It is stopped the second time by its job."""
    out = tmp_path / "out"
    out.mkdir()
    job = f'test $(wc -w < {out}/turns) = 2 && exit 3; exec {sys.executable} -S -c "$1"'
    code = RESTARTS.format(path=str(out / "turns"))
    (out / "turns").touch()
    argv = ["sh", "-c", job, "sh", code]
    with without(lacking, tmp_path / "build"):
        if lacking:
            assert guest.run(kernel, argv, out=out, seed=1, memory_mb=128, wall_s=WALL_S).exit_code == 3
        else:
            with pytest.raises(KernelError, match="the guest died"):
                guest.run(kernel, argv, out=out, seed=1, memory_mb=128, wall_s=WALL_S)
    assert (out / "turns").read_text() == "again " * times


ENDS_S = 5.0
RUNNER = """
import sys
from pathlib import Path
from dstcc_kernel import guest, programs
kit, kernel, job, out = sys.argv[1:]
guest.programs = lambda: Path(kit)
guest.run(Path(kernel), ["sh", "-c", job], out=Path(out), seed=1, memory_mb=128, wall_s=600)
"""


@pytest.mark.parametrize(
    ("lacking", "in_time"), [((), True), (("PID namespace", "sweep", "end of patience"), False)]
)
def test_a_signal_ends_the_guest_whatever_it_forked(
    kernel: Path, module: Path, tmp_path: Path, lacking: tuple[str, ...], in_time: bool
) -> None:
    """What left the kernel's group, and ignores all but SIGKILL, stays for twenty seconds where nothing ends it."""
    alive = tmp_path / "out" / "alive"
    with without(lacking, tmp_path / "build"):
        kit = programs.programs()
    job = f"insmod {module} what=stay path={alive}; exec sleep 100000000"
    words = [sys.executable, "-c", RUNNER, str(kit), str(kernel), job, str(alive.parent)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as runner:
        while not alive.exists():
            assert runner.poll() is None, runner.communicate()
            time.sleep(0.05)
        asked = time.monotonic()
        os.kill(only_child(runner.pid), signal.SIGTERM)
        runner.wait()
        assert (time.monotonic() - asked < ENDS_S) == in_time
        assert not _comes_back(alive)


def only_child(of: int) -> int:
    """The process that another one started."""
    (child,) = (
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/stat")
        if path.read_text().rpartition(")")[2].split()[1] == str(of)
    )
    return child
