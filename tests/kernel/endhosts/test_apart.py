"""What an end host's programs see and may do (``apart.py``, ``namespaces.py``), on this machine's kernel: no guest is
needed for that. All is done by processes in namespaces of their own."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import stat
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dstcc_kernel import namespaces
from dstcc_kernel.endhosts import apart

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces of which others are root")
LIBC = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWPID, NEWUSER, NEWNET = 0x20000, 0x20000000, 0x10000000, 0x40000000
RDONLY, NOSUID, NODEV, REMOUNT, BIND, REC, PRIVATE, SHARED = 1, 2, 4, 32, 0x1000, 0x4000, 1 << 18, 1 << 20
"""include/uapi/linux/sched.h and mount.h."""
HOME, AT, HERE, PRELOAD = (Path("/run", name) for name in ("craft", "dstcc", "here", "preload.so"))
SAYS = Path("/proc/version")
"""In the place of User-Mode Linux's exit code, which this kernel has not."""
NAMES = "10.1.0.2 earth\n"


def called(result: int) -> str:
    """The name of a system call's error."""
    return "DONE" if result == 0 else errno.errorcode[ctypes.get_errno()]


def mounted(kind: str, source: str, target: str | Path, flags: int = 0) -> str:
    return called(
        LIBC.mount(source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), None)
    )


def names(folder: str) -> list[str]:
    """Of what is in it."""
    return sorted(path.name for path in Path(folder).iterdir())


def in_a_child(work: Callable[[], dict[str, Any]], spaces: int = 0) -> dict[str, Any]:
    """What a child process finds out that is in new namespaces, and in a view of files that is its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            assert LIBC.unshare(spaces) == 0
            said = work()
        except BaseException:
            said = {"failed": traceback.format_exc()}
        try:
            os.write(writer, json.dumps(said).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    said = json.loads(text)
    assert "failed" not in said, said["failed"]
    return dict(said)


def own_files() -> None:
    """A view of this machine's files with a ``/run`` as a guest has it, and one more process to look at it from
    outside: its mounts are shared with the namespaces that are made of it."""
    for step in (
        mounted("none", "none", "/", REC | PRIVATE),
        mounted("none", "none", "/", REC | SHARED),
        mounted("tmpfs", "tmpfs", "/run"),
    ):
        assert step == "DONE"
    for folder in (HOME, AT):
        folder.mkdir()
        assert mounted("tmpfs", "tmpfs", folder) == "DONE"
    (HOME / "mine").write_text("mine")
    (AT / "mission.json").write_text("{}")
    HERE.symlink_to("/somewhere")
    PRELOAD.write_bytes(b"\x7fELF")
    Path("/run/others").write_text("theirs")


def mounts() -> dict[str, list[str]]:
    """Of each mount its kind and flags; of those that lie over each other the topmost."""
    rows = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return {
        row[4]: [row[row.index("-") + 1], *sorted({"ro", "nosuid", "nodev"} & {*row[5].split(",")})]
        for row in rows
    }


def room(path: str) -> list[int]:
    """Bytes and entries."""
    found = os.statvfs(path)
    return [found.f_blocks * found.f_frsize, found.f_files]


def view() -> dict[str, Any]:
    """What is seen from here."""
    return {
        "/run": names("/run"),
        "/dev": names("/dev"),
        "here": str(HERE.readlink()),
        "preload": [PRELOAD.read_bytes().hex(), stat.S_IMODE(PRELOAD.stat().st_mode)],
        "mine": (HOME / "mine").read_text(),
        "links": {name: str(Path("/dev", name).readlink()) for name in ("fd", "stdin", "stdout", "stderr")},
        "devices": [Path("/dev", name).stat().st_rdev for name in apart.DEVICES],
        "shm": stat.S_IMODE(Path("/dev/shm").stat().st_mode),
        "/etc": {
            path: Path(path).read_text()
            for path in ("/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/gai.conf")
            if Path(path).exists()
        },
        "says": SAYS.read_text(),
        "own processes": str(Path("/proc/self").readlink()) == str(os.getpid())
        and Path("/proc/1/status").exists(),
        "mounts": mounts(),
        "read-only": [
            path
            for path in ("/sys", "/proc/sys", "/proc/sys/net", "/run", "/dev", "/dev/null", str(HOME))
            if os.statvfs(path).f_flag & os.ST_RDONLY
        ],
        "rooms": [room("/run"), room("/dev")],
    }


def furnished() -> dict[str, Any]:
    """What the first process of an end host sees after it was furnished, and what others see after that."""
    own_files()
    before = mounts()
    os.chdir(AT)  # what is in use goes, too

    def first_process() -> dict[str, Any]:
        apart.EXIT_CODE = SAYS
        apart.furnish(HOME, NAMES, (HERE, PRELOAD))
        (HOME / "new").write_text("new")
        return {"seen": view(), "program": program()}

    assert LIBC.unshare(NEWPID) == 0
    said = in_a_child(first_process)
    return {**said, "outside": mounts() == before, "new": (HOME / "new").read_text()}


def program() -> dict[str, Any]:
    """What a program is and may do."""
    users = namespaces.new_users()
    spaces = namespaces.new_mounts(users)
    networks = {"own": namespaces.new_network(users), "another's": os.open("/proc/self/ns/net", os.O_RDONLY)}

    def ask() -> dict[str, Any]:
        Path("/proc/self/oom_score_adj").write_text("300")
        initial = Path("/proc/self/ns/user").stat().st_ino
        apart.become(users, spaces, HOME)
        (HOME / "m").mkdir()
        entered = {name: called(LIBC.setns(handle, NEWNET)) for name, handle in networks.items()}
        return {
            "users": [Path("/proc/self", name).read_text().split() for name in ("uid_map", "gid_map")],
            "another user's": Path("/proc/self/ns/user").stat().st_ino == initial,
            "oom": Path("/proc/self/oom_score_adj").read_text(),
            "cwd": str(Path.cwd()),
            "networks": entered,
            "mount": mounted("tmpfs", "tmpfs", HOME / "m"),
            "write to /sys": mounted("none", "none", "/sys", REMOUNT | BIND),
            "write to settings": mounted("none", "none", "/proc/sys", REMOUNT | BIND),
            "take /sys away": called(LIBC.umount2(b"/sys", 2)),
            "take the exit code's cover away": called(LIBC.umount2(os.fsencode(SAYS), 2)),
            "take /run away": called(LIBC.umount2(b"/run", 2)),
            "/run": names("/run"),
        }

    return in_a_child(ask)


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    """All of it."""
    return in_a_child(furnished, NEWNS)


def test_an_end_host_sees_its_own_files_and_what_it_shares(said: dict[str, Any]) -> None:
    seen = said["seen"]
    assert seen["/run"] == [
        "craft",
        "gai.conf",
        "here",
        "hosts",
        "nsswitch.conf",
        "preload.so",
        "resolv.conf",
    ]
    assert (seen["here"], seen["preload"]) == ("/somewhere", ["7f454c46", 0o755])
    assert (seen["mine"], said["new"]) == ("mine", "new")  # the folder itself, not a copy
    assert seen["own processes"]
    assert seen["rooms"][0] == [16 << 20, 4096]


def test_names_are_its_own(said: dict[str, Any]) -> None:
    meant = {
        "/etc/hosts": NAMES,
        "/etc/nsswitch.conf": apart.NAMES,
        "/etc/resolv.conf": "",
        "/etc/gai.conf": apart.IPV4_FIRST,
    }
    assert "hosts: files" in apart.NAMES and "dns" not in apart.NAMES
    assert said["seen"]["/etc"] == {path: meant[path] for path in said["seen"]["/etc"]} != {}


def test_its_devices_say_nothing_and_change_nothing(said: dict[str, Any]) -> None:
    seen = said["seen"]
    meant = ["fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty"]
    assert seen["/dev"] == [*meant, "urandom", "zero"]
    assert seen["devices"] == [os.makedev(1, minor) for minor in (3, 5, 7, 8, 9)] + [os.makedev(5, 0)]
    assert seen["links"] == {
        "fd": "/proc/self/fd",
        **{name: f"/proc/self/fd/{number}" for number, name in enumerate(("stdin", "stdout", "stderr"))},
    }
    assert seen["shm"] == 0o1777
    assert seen["rooms"][1] == [4096, 64]
    assert seen["says"] == ""


def test_what_root_may_write_to_by_its_name_is_read_only_but_for_the_networks_settings(
    said: dict[str, Any],
) -> None:
    found = said["seen"]["mounts"]
    assert said["seen"]["read-only"] == ["/sys", "/proc/sys"]
    assert found["/run"] == found["/dev/shm"] == ["tmpfs", "nodev", "nosuid"]
    assert found["/dev"] == ["tmpfs", "nosuid"] and "nodev" not in found["/dev/null"]
    assert str(AT) not in found and found[str(HOME)][0] == "tmpfs"


def test_nobody_else_sees_other_files_for_that(said: dict[str, Any]) -> None:
    assert said["outside"]


def test_a_program_is_root_of_what_is_its_own_alone(said: dict[str, Any]) -> None:
    """It adds to what it sees, and takes no cover away."""
    program = said["program"]
    assert program["users"] == [["0", "0", "4294967295"]] * 2 and not program["another user's"]
    assert program["oom"] == "0\n" and program["cwd"] == str(HOME)
    assert program["networks"] == {"own": "DONE", "another's": "EPERM"}
    assert program["mount"] == "DONE"
    assert program["write to /sys"] == program["write to settings"] == "EPERM"
    for what in ("take /sys away", "take the exit code's cover away", "take /run away"):
        assert program[what] == "EINVAL"
    assert program["/run"] == [
        "craft",
        "gai.conf",
        "here",
        "hosts",
        "nsswitch.conf",
        "preload.so",
        "resolv.conf",
    ]


def test_a_namespace_is_one_open_file_that_no_program_inherits() -> None:
    def count() -> dict[str, Any]:
        before = set(names("/proc/self/fd"))
        handles = [namespaces.new_users()]
        handles += [make(handles[0]) for make in (namespaces.new_network, namespaces.new_mounts)]
        new = set(names("/proc/self/fd")) - before
        try:
            left = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            left = None
        kinds = [str(Path(f"/proc/self/fd/{handle}").readlink()).partition(":")[0] for handle in handles]
        return {
            "new": sorted(map(int, new)) == sorted(handles),
            "left": left,
            "kinds": kinds,
            "inherited": [os.get_inheritable(handle) for handle in handles],
        }

    assert in_a_child(count) == {
        "new": True,
        "left": None,
        "kinds": ["user", "net", "mnt"],
        "inherited": [False] * 3,
    }


def test_numbers_are_linuxs() -> None:
    spaces = ("CLONE_NEWNS", "CLONE_NEWPID", "CLONE_NEWUSER", "CLONE_NEWNET")
    assert [getattr(namespaces, name) for name in spaces] == [NEWNS, NEWPID, NEWUSER, NEWNET]
    flags = ("RDONLY", "NOSUID", "NODEV", "REMOUNT", "BIND", "REC", "PRIVATE")
    meant = [RDONLY, NOSUID, NODEV, REMOUNT, BIND, REC, PRIVATE]
    assert [getattr(namespaces, f"MS_{name}") for name in flags] == meant
    assert namespaces.MNT_DETACH == 2


def test_a_call_that_fails_says_what_and_why(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=rf"{tmp_path}/none: No such file") as caught:
        namespaces.mount("tmpfs", "tmpfs", tmp_path / "none")
    assert caught.value.errno == errno.ENOENT
    for call, said in (
        (lambda: namespaces.unmount(tmp_path), f"{tmp_path}: Invalid argument"),
        (lambda: namespaces.unshare(0x7F), "unshare: Invalid argument"),
        (lambda: namespaces.enter(-1, NEWNS), "setns: Bad file descriptor"),
        (lambda: namespaces._made(0x7F, "odd", None), "no odd namespace can be made in the guest"),
    ):
        with pytest.raises(OSError, match=said):
            call()
