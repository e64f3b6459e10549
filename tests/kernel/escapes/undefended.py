"""A dstcc without one of its defences: a copy of the sources with that line changed, for the tests that break out.

A defence that a test does not name, in a build from here, is there. Each text must be where it says, once.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import dstcc_kernel
import pytest
from dstcc_kernel import programs, sources
from dstcc_kernel.endhosts import flight, logs

Change = tuple[str, str, str]
"""A file below ``kernel-cc``, what it says, and what it says in the copy."""
CONFINE, BOOT, FILTER, INIT = "lab/confine.c", "lab/boot.c", "lab/filter.c", "lab/init.c"
APART, HOST, INSIDE, KEEPING, LOGS = (
    f"dstcc_kernel/endhosts/{name}.py" for name in ("apart", "host", "inside", "keeping", "logs")
)
DEFENCES: Mapping[str, tuple[Change, ...]] = MappingProxyType(
    {
        # on the host
        "users' namespace": ((CONFINE, "child = fork_into(CLONE_NEWUSER | apart);", "child = -1;"),),
        "PID namespace": ((CONFINE, "CLONE_NEWPID | ", ""),),
        "network namespace": ((CONFINE, "CLONE_NEWNET | ", ""),),
        "IPC namespace": ((CONFINE, "CLONE_NEWIPC | ", ""),),
        "sweep": ((BOOT, "\t\t\tkill_children();\n", "\t\t\t(void)kill_children;\n"),),
        "end of patience": ((BOOT, "turn < PATIENCE_MS", "turn < 100 * PATIENCE_MS"),),
        "read-only mounts": ((CONFINE, 'if (change_mount("/", 1, closed, 0))', "if (!closed)"),),
        "own /proc": ((CONFINE, 'if (hide("/proc", "/proc/cpuinfo") || hide("/sys", NULL))', "if (!hide)"),),
        "Landlock": ((CONFINE, "if (narrow_by_landlock(here, out))", "if (!narrow_by_landlock)"),),
        "dropped capabilities": ((CONFINE, "if (drop_rights())", "if (!drop_rights)"),),
        "limit of files": ((CONFINE, "\tlimit(RLIMIT_FSIZE, most->file_bytes);\n", ""),),
        "limit of addresses": ((CONFINE, "\t\tlimit(RLIMIT_AS, most->address_bytes);\n", "\t\t;\n"),),
        "limit of processes": ((CONFINE, "#define OWN_PROCESSES 4096", "#define OWN_PROCESSES 65536"),),
        "limit of descriptors": ((CONFINE, "#define FILES 16384", "#define FILES 65536"),),
        "seccomp": (
            (FILTER, "\twrite_program();\n", "\tif (all.filter)\n\t\treturn;\n\twrite_program();\n"),
        ),
        # in the guest
        "limit of tasks": ((INIT, '#define TASKS "2048"', '#define TASKS "30000"'),),
        "helpers without rights": ((INIT, '\tset_up("/proc/sys/kernel/usermodehelper/bset", "0 0");\n', ""),),
        "user namespace": ((APART, "    enter(users, CLONE_NEWUSER)\n    enter(mounts, CLONE_NEWNS)\n", ""),),
        "locked modules": ((INSIDE, "    lock()\n", ""),),
        "hosts' PID namespaces": ((HOST, "    unshare(CLONE_NEWPID)\n", ""),),
        "own devices": ((APART, "    _own_devices()\n", ""),),
        "own /run": ((APART, "    _own_run(home, shared)\n", ""),),
        "read-only settings": (
            (APART, '    mount("none", "none", settings, MS_REMOUNT | MS_BIND | MS_RDONLY)\n', ""),
        ),
        "room for further names": ((KEEPING, "if further > self.room:", "if further < 0:"),),
        "read-only /sys": (
            (APART, '    mount("none", "none", SYS, MS_REMOUNT | MS_BIND | MS_RDONLY)\n', ""),
        ),
        "hidden exit code": ((APART, 'mount("none", str(DEV / "null"), EXIT_CODE, MS_BIND)', "pass"),),
        "kept log": ((INSIDE, '    Path("/proc/sys/kernel/dmesg_restrict").write_text("1")\n', ""),),
        "holes": (
            (
                KEEPING,
                "    copy_sparse(Path(entry.path), to)\n",
                "    to.write_bytes(Path(entry.path).read_bytes())\n",
            ),
        ),
        "length of files": ((KEEPING, "if status.st_size > self.mb << 20:", "if self.mb < 0:"),),
        "links left out": (
            (KEEPING, "entry.stat(follow_symlinks=False)", "entry.stat(follow_symlinks=True)"),
        ),
        "number of files": ((INSIDE, "nr_inodes={FILES_PER_MB * mission.disk_mb},", ""),),
        "written-out controls": ((LOGS, "head + _printable(line)", "head + line"),),
    }
)

READERS: Mapping[str, tuple[object, str, object]] = MappingProxyType(
    {"lines of ours": (logs, "_is_ours", lambda _line: True)}
)
"""Of the host's own: what is put in the place of a function."""


@contextmanager
def without(names: tuple[str, ...], folder: Path) -> Iterator[None]:
    """Run guests of a dstcc that lacks these of its defences; its copy lies in ``folder``."""
    home = Path(str(dstcc_kernel.__file__)).parent
    lab, package = folder / "lab", folder / "dstcc_kernel"
    if not lab.exists():
        shutil.copytree(sources.folder("lab"), lab)
        shutil.copytree(home, package, ignore=shutil.ignore_patterns("__pycache__", "sources"))
    assert set(names) <= DEFENCES.keys() | READERS.keys()
    for name in names:
        for file, text, other in DEFENCES.get(name, ()):
            path = folder / file
            said = path.read_text()
            assert said.count(text) == 1, f"{name}: {file} does not say {text!r} once"
            path.write_text(said.replace(text, other))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(programs, "folder", lambda name: lab if name == "lab" else sources.folder(name))
        patch.setattr(programs, "cache_folder", lambda: folder / "cache")
        own = flight._home
        patch.setattr(flight, "_home", lambda name: package if name == "dstcc_kernel" else own(name))
        for name in READERS.keys() & set(names):
            patch.setattr(*READERS[name])
        yield
