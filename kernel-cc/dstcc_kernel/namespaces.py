"""Linux's namespaces and mounts, by the system calls that Python 3.11 has no functions for."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x20000000, 0x10000000, 0x40000000
CLONE_NEWUTS = 0x4000000
"""sched.h."""
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 0x1000, 0x4000, 1 << 18
MNT_DETACH = 2
"""sys/mount.h."""
EVERYBODY = "0 0 4294967295\n"
"""A namespace's users are the guest's: whose files are whose stays as it is."""
_LIBC = ctypes.CDLL(None, use_errno=True)


def mount(kind: str, source: str, target: Path, flags: int = 0, options: str = "") -> None:
    """mount(2)."""
    words = (source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), options.encode())
    _called(_LIBC.mount(*words), str(target))


def unmount(target: Path) -> None:
    """umount2(2), lazily."""
    _called(_LIBC.umount2(os.fsencode(target), MNT_DETACH), str(target))


def unshare(kind: int) -> None:
    """unshare(2)."""
    _called(_LIBC.unshare(kind), "unshare")


def enter(namespace: int, kind: int) -> None:
    """setns(2)."""
    _called(_LIBC.setns(namespace, kind), "setns")


def new_users() -> int:
    """A user namespace with all users; an open file that holds it."""
    return _made(CLONE_NEWUSER, "user", None)


def new_network(users: int) -> int:
    """A network namespace of which the root of ``users`` is root."""
    return _made(CLONE_NEWNET, "net", users)


def new_mounts(users: int) -> int:
    """What is mounted here, for the root of ``users``: it can add to it, and take away nothing of it."""
    return _made(CLONE_NEWNS, "mnt", users)


def _made(kind: int, name: str, users: int | None) -> int:
    """A new namespace, made by a child, which is in ``users`` then."""
    told, tell = os.pipe()
    hold, let_go = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(let_go)
            if users is not None:
                enter(users, CLONE_NEWUSER)
            unshare(kind)
            os.write(tell, b"1")
            os.read(hold, 1)
        finally:
            os._exit(0)
    os.close(tell)
    os.close(hold)
    try:
        if not os.read(told, 1):
            raise OSError(f"no {name} namespace can be made in the guest")
        if kind == CLONE_NEWUSER:
            for map_of in ("uid_map", "gid_map"):
                Path("/proc", str(child), map_of).write_text(EVERYBODY)
        return os.open(f"/proc/{child}/ns/{name}", os.O_RDONLY)
    finally:
        os.close(told)
        os.close(let_go)
        os.waitpid(child, 0)


def _called(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
