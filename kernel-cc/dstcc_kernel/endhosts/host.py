"""One end host: a process that is PID 1 of a namespace of its own, starts the host's programs and says how they end.

Its programs see the machine's files read-only, one folder of their own (``/run/HOST``, in memory, so that times of
files are the guest's and a full one is full), names of the other host, and no process of it; they are root of the host
and not of the guest (:mod:`.apart`), as PID 1 is. When PID 1 is killed, the kernel ends all of them, whatever they
forked.

PID 1 is told over a socket, a line each: ``start N``, ``end N SIGNAL``, ``type N HEX``, ``look N``; it says
``ended N STATUS`` (as :func:`os.waitstatus_to_exitcode`), ``failed N MESSAGE`` or ``looked N HOW``.
"""

from __future__ import annotations

import fcntl
import os
import resource
import select
import signal
import socket
import subprocess
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Never

from ..namespaces import CLONE_NEWNET, CLONE_NEWPID, CLONE_NEWUTS, enter, new_mounts, unshare
from .apart import RUN, become, furnish
from .mission import VARIABLE, Program

RELAYED = 1 << 14
"""Bytes of a terminal's output that are passed on at once: no more than a pipe has room for."""
GUARDED = "-900"
"""The kernel's ``oom_score_adj`` of what looks after programs: where memory ends, one of them goes."""


def folder_of(host: str) -> Path:
    """Where a guest has an end host's own files."""
    return RUN / host


@dataclass
class Output:
    """The reading ends of a program's standard output and error."""

    out: int
    err: int


@dataclass(frozen=True)
class Furniture:
    """What an end host is made of."""

    name: str
    users: int
    """Its user namespace, as an open file."""
    network: int
    """Likewise its network namespace, whose root is that of ``users``."""
    programs: Mapping[int, Program]
    environment: Mapping[str, str]
    hosts_file: str
    shared: Sequence[Path]
    """Files and links of the guest's ``/run`` that it sees."""
    terminal: int | None = None
    """The number of a program of its that has a pseudo-terminal."""


Pipes = Mapping[int, tuple[tuple[int, int], tuple[int, int]]]
"""Of each program: standard output and error."""


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

    def type(self, number: int, keys: bytes) -> None:
        """Give a program on a pseudo-terminal what was typed."""
        self._line.sendall(f"type {number} {keys.hex()}\n".encode())

    def look(self, number: int) -> None:
        """Ask whether such a program is a shell that waits for keys; the answer is ``looked N 0``, ``1`` or ``2``."""
        self._line.sendall(f"look {number}\n".encode())

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


def launch(given: Furniture) -> EndHost:
    """Start PID 1 of an end host; its programs wait for :meth:`EndHost.start`."""
    near, far = socket.socketpair()
    pipes = {number: (os.pipe(), os.pipe()) for number in given.programs}
    home = os.open("/proc/self/ns/pid", os.O_RDONLY)
    unshare(CLONE_NEWPID)
    pid = os.fork()
    if pid == 0:
        near.close()
        _first_process(far, given, pipes)
    enter(home, CLONE_NEWPID)
    os.close(home)
    far.close()
    outputs = {}
    for number, (out, err) in pipes.items():
        os.close(out[1])
        os.close(err[1])
        outputs[number] = Output(out[0], err[0])
    return EndHost(given.name, pid, near, outputs)


def _first_process(line: socket.socket, given: Furniture, pipes: Pipes) -> Never:
    code = 1
    try:
        enter(given.network, CLONE_NEWNET)
        unshare(CLONE_NEWUTS)
        socket.sethostname(given.name)
        furnish(folder_of(given.name), given.hosts_file, given.shared)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _Servant(line, given, pipes, new_mounts(given.users)).serve()
        code = 0
    except BaseException as error:
        with suppress(OSError):
            line.sendall(f"failed -1 {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


class _Servant:
    """PID 1 at work."""

    def __init__(self, line: socket.socket, given: Furniture, pipes: Pipes, mounts: int) -> None:
        self._line, self._given, self._pipes, self._mounts = line, given, pipes, mounts
        self._begun: dict[int, subprocess.Popen[bytes]] = {}
        self._master: int | None = None
        """Our end of the pseudo-terminal, if there is one."""

    def serve(self) -> None:
        """Do as told until the starter is gone."""
        awake, bell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        part = b""
        while True:
            watched: list[socket.socket | int] = [self._line, awake]
            watched += [self._master] if self._master is not None else []
            ready, _, _ = select.select(watched, [], [])
            if self._master in ready:
                self._relay()
            if awake in ready:
                os.read(awake, 4096)
                self._reap()
            if self._line not in ready:
                continue
            got = self._line.recv(4096)
            if not got:
                return
            *lines, part = (part + got).split(b"\n")
            for words in (text.decode().split() for text in lines):
                self._do(words[0], int(words[1]), words[2:])

    def _do(self, what: str, number: int, more: Sequence[str]) -> None:
        if what == "start":
            self._start(number)
        elif what == "type":
            if self._master is not None:
                os.write(self._master, bytes.fromhex(more[0]))
        elif what == "look":
            self._line.sendall(f"looked {number} {self._waits(number)}\n".encode())
        elif number in self._begun:
            with suppress(ProcessLookupError):
                os.killpg(self._begun[number].pid, int(more[0]))

    def _start(self, number: int) -> None:
        """Start a program on its pipes, or on a pseudo-terminal."""
        given, (out, err) = self._given, self._pipes[number]
        stdin, stdout, stderr, become = subprocess.DEVNULL, out[1], err[1], self._become
        ours = {stdout, stderr}
        if number == given.terminal:
            self._master, slave = os.openpty()
            stdin, stdout, stderr, become = slave, slave, slave, self._take_terminal
            ours = {slave, err[1]}  # what comes to the terminal is passed on
        try:
            self._begun[number] = subprocess.Popen(
                list(given.programs[number].argv),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                preexec_fn=become,  # noqa: PLW1509 - there is one thread
                env={**given.environment, VARIABLE: str(number)},
                start_new_session=True,
            )
        except OSError as error:
            self._line.sendall(f"failed {number} {error.strerror}\n".encode())
        for end in ours:
            os.close(end)

    def _take_terminal(self) -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self._become()

    def _relay(self) -> None:
        """Pass on what comes to the terminal, until nobody has it any more."""
        assert self._master is not None and self._given.terminal is not None
        out = self._pipes[self._given.terminal][0][1]
        try:
            data = os.read(self._master, RELAYED)
        except OSError:
            data = b""
        if data:
            os.write(out, data)
        else:
            os.close(self._master)
            os.close(out)
            self._master = None

    def _waits(self, number: int) -> int:
        """1: the shell is in the foreground, sleeps, and has said all, so it waits for keys, and not for a child; 2: it
        is about to; 0: a command runs."""
        shell = self._begun.get(number)
        if self._master is None or shell is None:
            return 0
        if select.select([self._master], [], [], 0)[0]:
            return 2
        try:
            state = Path(f"/proc/{shell.pid}/stat").read_text().rpartition(")")[2].split()[0]
            waits_for = Path(f"/proc/{shell.pid}/wchan").read_text()
            if os.tcgetpgrp(self._master) != shell.pid or "do_wait" in waits_for:
                return 0
            return 1 if state == "S" else 2
        except OSError:
            return 0

    def _become(self) -> None:
        become(self._given.users, self._mounts, folder_of(self._given.name))

    def _reap(self) -> None:
        """Take leave of the processes that ended: programs, and what others left behind."""
        numbers = {process.pid: number for number, process in self._begun.items()}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in numbers:
                code = os.waitstatus_to_exitcode(status)
                self._line.sendall(f"ended {numbers[pid]} {code}\n".encode())
