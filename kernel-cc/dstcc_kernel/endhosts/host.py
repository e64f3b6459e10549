"""One end host: a process that is PID 1 of a namespace of its own, starts the host's programs and says how they end.

Its programs see the machine's files read-only, one folder of their own (``/run/HOST``, in memory, so that times of
files are the guest's and a full one is full), names of the other host, and no process of it. When PID 1 is killed, the
kernel ends all of them, whatever they forked.

PID 1 is told over a socket, a line each: ``start N``, ``end N SIGNAL``; it says ``ended N STATUS`` (as
:func:`os.waitstatus_to_exitcode`) or ``failed N MESSAGE``.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Never

from ..topology import CLONE_NEWNET
from .mission import AT, HOSTS, VARIABLE, Program

CLONE_NEWNS, CLONE_NEWPID = 0x20000, 0x20000000
MS_RDONLY, MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 1, 0x1000, 0x4000, 1 << 18, 2
"""sys/mount.h."""
RUN = Path("/run")
NAMES = "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"
"""``/etc/nsswitch.conf``: there is no name server on the way to Mars."""
_LIBC = ctypes.CDLL(None, use_errno=True)


def folder_of(host: str) -> Path:
    """Where a guest has an end host's own files."""
    return RUN / host


def mount(kind: str, source: str, target: Path, flags: int = 0, options: str = "") -> None:
    """mount(2)."""
    words = (source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), options.encode())
    _called(_LIBC.mount(*words), str(target))


def unmount(target: Path) -> None:
    """umount2(2), lazily."""
    _called(_LIBC.umount2(os.fsencode(target), MNT_DETACH), str(target))


@dataclass
class Output:
    """The reading ends of a program's standard output and error."""

    out: int
    err: int


@dataclass(frozen=True)
class Furniture:
    """What PID 1 is given."""

    name: str
    network: int
    """Its network namespace, as an open file."""
    programs: Mapping[int, Program]
    pipes: Mapping[int, tuple[tuple[int, int], tuple[int, int]]]
    """Of each program: standard output and error."""
    environment: Mapping[str, str]
    hosts_file: str


class EndHost:
    """An end host as its starter sees it."""

    def __init__(self, name: str, pid: int, line: socket.socket, outputs: dict[int, Output]) -> None:
        self.name, self.pid, self.outputs = name, pid, outputs
        self._line, self._part = line, b""

    def fileno(self) -> int:
        """To wait for: readable when PID 1 says something."""
        return self._line.fileno()

    def start(self, number: int) -> None:
        """Start the program of that number."""
        self._line.sendall(f"start {number}\n".encode())

    def end(self, number: int, how: signal.Signals) -> None:
        """Send a signal to a program and what it forked, unless that went away."""
        self._line.sendall(f"end {number} {int(how)}\n".encode())

    def said(self) -> list[list[str]]:
        """The messages since the last call, in words."""
        got = self._line.recv(1 << 16)
        if not got:
            raise OSError(f"{self.name} is gone: its first process was killed")
        self._part += got
        *lines, self._part = self._part.split(b"\n")
        return [line.decode().split(" ", 2) for line in lines]

    def kill(self) -> None:
        """End all of its processes."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self._line.close()


def launch(
    name: str, network: int, programs: Mapping[int, Program], environment: Mapping[str, str], hosts_file: str
) -> EndHost:
    """Start PID 1 of an end host in the network namespace ``network``; its programs wait for :meth:`EndHost.start`."""
    near, far = socket.socketpair()
    pipes = {number: (os.pipe(), os.pipe()) for number in programs}
    home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    _called(_LIBC.unshare(CLONE_NEWPID), "unshare")
    pid = os.fork()
    if pid == 0:
        near.close()
        _first_process(far, Furniture(name, network, programs, pipes, environment, hosts_file))
    _called(_LIBC.setns(home, CLONE_NEWPID), "setns")
    os.close(home)
    far.close()
    outputs = {}
    for number, (out, err) in pipes.items():
        os.close(out[1])
        os.close(err[1])
        outputs[number] = Output(out[0], err[0])
    return EndHost(name, pid, near, outputs)


def _first_process(line: socket.socket, given: Furniture) -> Never:
    code = 1
    try:
        _called(_LIBC.setns(given.network, CLONE_NEWNET), "setns")
        _furnish(given.name, given.hosts_file)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _serve(line, given)
        code = 0
    except BaseException as error:
        with suppress(OSError):
            line.sendall(f"failed -1 {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def _furnish(name: str, hosts_file: str) -> None:
    """A view of the files of its own: the machine's, its folder, its names; not the run's, nor the other host's."""
    _called(_LIBC.unshare(CLONE_NEWNS), "unshare")
    mount("none", "none", Path("/"), MS_REC | MS_PRIVATE)
    mount("proc", "proc", Path("/proc"))
    for path, text in (
        ("etc/hosts", hosts_file),
        ("etc/nsswitch.conf", NAMES),
        ("etc/resolv.conf", ""),
    ):
        own = RUN / Path(path).name
        own.write_text(text)
        if Path("/", path).exists():
            mount("none", str(own), Path("/", path), MS_BIND)
    for other in HOSTS:
        if other != name:
            unmount(folder_of(other))
    unmount(AT)


def _serve(line: socket.socket, given: Furniture) -> None:
    """Do as told until the starter is gone."""
    awake, bell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
    begun: dict[int, subprocess.Popen[bytes]] = {}
    part = b""
    while True:
        watched: list[socket.socket | int] = [line, awake]
        ready, _, _ = select.select(watched, [], [])
        if awake in ready:
            os.read(awake, 4096)
            _reap(line, begun)
        if line not in ready:
            continue
        got = line.recv(4096)
        if not got:
            return
        *lines, part = (part + got).split(b"\n")
        for words in (text.decode().split() for text in lines):
            number = int(words[1])
            if words[0] == "start":
                _start(line, number, given, begun)
            elif number in begun:
                with suppress(ProcessLookupError):
                    os.killpg(begun[number].pid, int(words[2]))


def _start(
    line: socket.socket, number: int, given: Furniture, begun: dict[int, subprocess.Popen[bytes]]
) -> None:
    out, err = given.pipes[number]
    try:
        begun[number] = subprocess.Popen(
            list(given.programs[number].argv),
            stdin=subprocess.DEVNULL,
            stdout=out[1],
            stderr=err[1],
            cwd=folder_of(given.name),
            env={**given.environment, VARIABLE: str(number)},
            start_new_session=True,
        )
    except OSError as error:
        line.sendall(f"failed {number} {error.strerror}\n".encode())
    os.close(out[1])
    os.close(err[1])


def _reap(line: socket.socket, begun: Mapping[int, subprocess.Popen[bytes]]) -> None:
    """Take leave of the processes that ended: programs, and what others left behind."""
    numbers = {process.pid: number for number, process in begun.items()}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if pid in numbers:
            line.sendall(f"ended {numbers[pid]} {os.waitstatus_to_exitcode(status)}\n".encode())


def _called(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
