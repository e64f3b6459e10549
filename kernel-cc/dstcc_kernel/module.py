"""The congestion control as a kernel module: built against a kernel's tree, loaded into and taken out of a kernel.

A build copies ``kernel-cc/module`` and ``kernel-cc/law`` and runs the kernel's own build on them, so sources stay as
they are and an installed dstcc can build, too.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from dstcc.atomic import atomic_directory
from dstcc.cache import written
from dstcc.errors import KernelError, MissingCapabilityError

from .sources import folder

NAME = "dstcc_cc"
LOCK = ".module-lock"
CALLS = {
    "x86_64": {"finit_module": 313, "delete_module": 176},
    "aarch64": {"finit_module": 273, "delete_module": 106},
}
"""Numbers of system calls."""
REASONS = {
    errno.EPERM: "needs root",
    errno.EEXIST: "the kernel has it already",
    errno.ENOENT: "the kernel has no such module, or it needs another one that is missing",
    errno.ENOEXEC: "built for another kernel",
    errno.EAGAIN: "connections use it",
    errno.EINVAL: "its own start failed; the kernel's log says why",
    errno.ENOSYS: "the running kernel takes no modules",
}
"""What errors of these calls mean."""
COMPLAINT = re.compile(r"^(?:\S.*: (?:fatal )?error: |.*undefined reference to |ERROR: ).*$", re.MULTILINE)
"""A line of a build's output that is an error; what make says of it comes after."""
HOST_TREE = Path("/lib/modules") / platform.release() / "build"
"""Where packages put what the running kernel's modules are built against."""


class BuildError(KernelError):
    """The kernel's build of a module failed."""

    def __init__(self, what: str, output: str) -> None:
        found = COMPLAINT.search(output)
        self.complaint = found[0] if found else None
        """The first error of compiler, linker or modpost, with the place that it names."""
        super().__init__(f"{what}: {self.complaint or 'make failed'}")


def build(tree: Path, out: Path, *, arch: str | None = None, sparse: bool = False) -> Path:
    """Build the module into the folder ``out``, anew; the path of ``dstcc_cc.ko``.

    ``tree`` is the kernel's object tree, ``arch`` its architecture where that is not this machine's. Raises
    :class:`~dstcc.errors.MissingCapabilityError` without a tree or make, :class:`~dstcc.errors.KernelError` with what
    the compiler says; nothing is left of a build that failed.
    """
    if shutil.which("make") is None:
        raise MissingCapabilityError("the module cannot be built: apt install make gcc")
    if not (tree / "Makefile").is_file():
        raise MissingCapabilityError(
            f"{tree}: no tree to build modules against: apt install linux-headers-{platform.release()}"
        )
    shutil.rmtree(out, ignore_errors=True)
    with atomic_directory(out) as work:
        for name in ("law", "module"):
            shutil.copytree(folder(name), work / name)
        make(tree, work / "module", arch, sparse=sparse)
    return out / "module" / f"{NAME}.ko"


def guest_module(kernel: Path) -> Path:
    """The module for a virtual-time kernel of the cache, built unless it is there."""
    tree = kernel.parent / "tree"
    out = kernel.parent / f"module-{checksum()}"
    path = out / "module" / f"{NAME}.ko"
    if path.exists():  # a cache that is only read will do
        return path
    with written():
        lock = (kernel.parent / LOCK).open("w")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # trials run side by side
        return path if path.exists() else build(tree, out, arch="um")


def checksum() -> str:
    """12 hex digits over the sources."""
    digest = hashlib.sha256()
    for name in ("law", "module"):
        for path in sorted(folder(name).rglob("*")):
            if path.is_file():
                digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def lock() -> None:
    """Let the kernel that this runs in take no module any more, whoever asks."""
    Path("/proc/sys/kernel/modules_disabled").write_text("1")


def load(path: Path) -> None:
    """Load a module; raises :class:`~dstcc.errors.KernelError` with the kernel's reason."""
    with path.open("rb") as file:
        _call("finit_module", path.name, file.fileno(), b"", 0)


def unload(name: str = NAME) -> None:
    """Take a module out of the kernel; raises :class:`~dstcc.errors.KernelError` while connections use it."""
    _call("delete_module", name, name.encode(), os.O_NONBLOCK)


def loaded() -> bool:
    """Whether the running kernel has the module."""
    return Path("/sys/module", NAME).is_dir()


def make(tree: Path, directory: Path, arch: str | None, *, sparse: bool = False) -> None:
    """Run the kernel's own build on a folder with a ``Kbuild``; raises :class:`BuildError` where it fails."""
    words = ["make", "-C", str(tree.resolve()), f"M={directory}", "W=1", *([f"ARCH={arch}"] if arch else [])]
    if sparse:
        words.append("C=2")
    # Variables of an outer make, `make test-kernel` for one, are not for the kernel's.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    made = subprocess.run([*words, "modules"], capture_output=True, text=True, check=False, env=environment)
    if made.returncode != 0:
        raise BuildError(f"the module does not build against {tree}", made.stderr)
    if sparse and made.stderr.strip():
        raise KernelError(f"{directory.name}: {made.stderr.strip()}")


def _call(name: str, what: str, *arguments: int | bytes) -> None:
    """A system call that libc has no function for."""
    numbers = CALLS.get(platform.machine())
    if numbers is None:
        raise MissingCapabilityError(
            f"modules cannot be loaded on {platform.machine()}: {', '.join(CALLS)} only"
        )
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    if libc.syscall(ctypes.c_long(numbers[name]), *words) == 0:
        return
    number = ctypes.get_errno()
    raise KernelError(f"{what}: {REASONS.get(number, os.strerror(number))} ({errno.errorcode[number]})")
