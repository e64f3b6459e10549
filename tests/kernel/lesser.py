"""A host that has not all that confines a guest: ``python tests/kernel/lesser.py KINDS COMMAND...`` runs one there.

KINDS, with commas between them:

* ``user-namespaces``: none can be made (``user.max_user_namespaces`` is 0), by an ordinary user;
* the name of a system call that a host without it answers with ENOSYS, as an older kernel does;
* ``filters``: whoever wants to set one of seccomp's may not.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

NOBODY = 65534
NEWUSER = 0x10000000
EPERM, EINVAL, ENOSYS = 1, 22, 38
CALLS = {"landlock": 444, "mount_setattr": 442, "seccomp": 317}
PRCTL, SET_SECCOMP = 157, 22
FILTERS = {"seccomp": EINVAL, "filters": EPERM}
"""What ``prctl()`` says to who sets a filter."""
LIBC = ctypes.CDLL(None, use_errno=True)


def words(*kinds: str) -> list[str]:
    """What stands before a command."""
    return [sys.executable, str(Path(__file__)), ",".join(kinds)]


def refuse(kinds: Iterable[str]) -> None:
    """Have the kernel answer as one that has not these calls."""
    load, equals, answers = 0x20, 0x15, 0x06
    allow, error = 0x7FFF0000, 0x00050000
    program = [(load, 0, 0, 0)]
    for kind in kinds:
        if kind in CALLS:
            program += [(equals, 0, 1, CALLS[kind]), (answers, 0, 0, error | ENOSYS)]
        if kind in FILTERS:
            first_argument = 16
            program += [(equals, 0, 4, PRCTL), (load, 0, 0, first_argument), (equals, 0, 1, SET_SECCOMP)]
            program += [(answers, 0, 0, error | FILTERS[kind]), (answers, 0, 0, allow)]
    program.append((answers, 0, 0, allow))
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in program))
    whole = struct.pack("HxxxxxxP", len(program), ctypes.addressof(text))
    assert LIBC.prctl(SET_SECCOMP, 2, ctypes.create_string_buffer(whole), 0, 0) == 0


def without_user_namespaces() -> None:
    """Become an ordinary user of a user namespace in which no other can be made."""
    ready, go = os.pipe()
    done, end = os.pipe()
    own = os.getpid()
    if os.fork() == 0:
        os.read(ready, 1)
        for name in ("uid_map", "gid_map"):
            Path("/proc", str(own), name).write_text("0 0 4294967295\n")
        os._exit(os.write(end, b"1") - 1)
    assert LIBC.unshare(NEWUSER) == 0
    os.write(go, b"1")
    os.read(done, 1)
    os.wait()
    Path("/proc/sys/user/max_user_namespaces").write_text("0")
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def main() -> None:
    """See the docstring of the module."""
    kinds, command = sys.argv[1].split(","), sys.argv[2:]
    refuse(kinds)
    if "user-namespaces" in kinds:
        without_user_namespaces()
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
