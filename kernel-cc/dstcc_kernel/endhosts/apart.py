"""The guest's own fence between an end host's programs and all that is not theirs.

They are root of a *user namespace*: over their own network, mounts and processes, and over nothing else in the guest's
kernel. So they load no module, mount no folder of the machine (hostfs), set no clock, end no guest, and see neither the
process that carries out the mission nor its files. What root may write to by its name alone, capabilities or not, is
not in their view or read-only (:func:`furnish`): the console, the kernel's log, its settings beside the network's, and
all of ``/sys``, where a parameter of a congestion control is the other host's too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..namespaces import (
    CLONE_NEWNS,
    CLONE_NEWUSER,
    MS_BIND,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    enter,
    mount,
    unmount,
    unshare,
)
from .mission import AT

RUN, DEV, SYS = Path("/run"), Path("/dev"), Path("/sys")
EXIT_CODE = Path("/proc/exitcode")
"""What User-Mode Linux ends with."""
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
"""Of the guest's those that say nothing and change nothing; ``tty`` is a program's own terminal, if it has one."""
LINKS = {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
TERMINALS = "newinstance,ptmxmode=0666,mode=620"
"""A host's pseudo-terminals are its own."""
RUN_OPTIONS = "size=16m,nr_inodes=4096,mode=755"
NAMES = "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"
"""``/etc/nsswitch.conf``: there is no name server on the way to Mars."""

IPV4_FIRST = "precedence ::ffff:0:0/96 100\n"
"""``/etc/gai.conf``: a name that has addresses of both kinds is IPv4's unless a program asks for the other."""


def become(users: int, mounts: int, folder: Path) -> None:
    """Be root of ``users`` from now on, with their mounts."""
    Path("/proc/self/oom_score_adj").write_text("0")  # a program goes before those that look after it
    enter(users, CLONE_NEWUSER)
    enter(mounts, CLONE_NEWNS)
    os.chdir(folder)


def furnish(home: Path, names: str, shared: Sequence[Path]) -> None:
    """A view of the files of its own: the machine's, its folder ``home``, what it is to see of the guest's ``/run``
    (``shared``), its names; not the run's, nor the other host's."""
    unshare(CLONE_NEWNS)
    mount("none", "none", Path("/"), MS_REC | MS_PRIVATE)
    mount("proc", "proc", Path("/proc"))
    unmount(AT)
    _own_run(home, shared)
    _own_devices()
    files = (("hosts", names), ("nsswitch.conf", NAMES), ("resolv.conf", ""), ("gai.conf", IPV4_FIRST))
    for path, text in ((f"etc/{name}", text) for name, text in files):
        own = RUN / Path(path).name
        own.write_text(text)
        if Path("/", path).exists():
            mount("none", str(own), Path("/", path), MS_BIND)
    if EXIT_CODE.exists():
        mount("none", str(DEV / "null"), EXIT_CODE, MS_BIND)
    settings, network = Path("/proc/sys"), Path("/proc/sys/net")
    mount("none", str(network), network, MS_BIND)
    mount("none", str(settings), settings, MS_BIND | MS_REC)
    mount("none", "none", settings, MS_REMOUNT | MS_BIND | MS_RDONLY)
    mount("none", "none", SYS, MS_REMOUNT | MS_BIND | MS_RDONLY)


def _own_run(home: Path, shared: Sequence[Path]) -> None:
    """``/run`` anew, which no other host sees."""
    kept = {path: path.readlink() if path.is_symlink() else path.read_bytes() for path in shared}
    handle = os.open(home, os.O_PATH)
    mount("tmpfs", "tmpfs", RUN, MS_NOSUID | MS_NODEV, RUN_OPTIONS)
    home.mkdir()
    mount("none", f"/proc/self/fd/{handle}", home, MS_BIND)
    os.close(handle)
    for path, content in kept.items():
        if isinstance(content, bytes):
            path.write_bytes(content)
            path.chmod(0o755)
        else:
            path.symlink_to(content)


def _own_devices() -> None:
    """``/dev`` with what programs expect of it, and neither console nor kernel log."""
    handles = {name: os.open(DEV / name, os.O_PATH) for name in DEVICES}
    mount("tmpfs", "tmpfs", DEV, MS_NOSUID, "size=4k,nr_inodes=64,mode=755")
    for name, handle in handles.items():
        (DEV / name).touch()
        mount("none", f"/proc/self/fd/{handle}", DEV / name, MS_BIND)
        os.close(handle)
    for name, target in LINKS.items():
        (DEV / name).symlink_to(f"/proc/self/{target}")
    (DEV / "pts").mkdir()
    mount("devpts", "devpts", DEV / "pts", MS_NOSUID, TERMINALS)
    (DEV / "ptmx").symlink_to("pts/ptmx")
    (DEV / "shm").mkdir()
    mount("tmpfs", "tmpfs", DEV / "shm", MS_NOSUID | MS_NODEV)
