"""The kernels' sources: Debian's packages ``linux-source-VERSION``, the parts that the build needs, what it adds.

Which version is meant is said once for a process and all that it starts, in the environment: ``DSTCC_KERNEL``, else
:data:`DEFAULT`. ``--kernel`` of the commands sets it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from types import MappingProxyType

from dstcc.errors import InputError, MissingCapabilityError
from dstcc.frozen import dataclass

from .sources import folder

VARIABLE = "DSTCC_KERNEL"
SOURCES = Path("/usr/src")
"""Where the packages put their archives."""


BESIDE = 844
"""Bytes of memory that a segment takes beside its payload: one of 1,460 bytes 2 KiB and its ``sk_buff`` in all."""
MEASURED = 536
"""TCP_MSS_DEFAULT: shorter segments say nothing of the receive window's share in its buffer."""


@dataclass(frozen=True)
class Release:
    """A kernel version that can be built."""

    name: str
    lacks: frozenset[str] = frozenset()
    """Symbols of our configuration that its source has not, as it does what they ask for by itself."""
    adds: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Symbols and values beside those of all versions."""
    patch: str = ""
    """A file of ``kernel-cc/mptcp``; its scheduler is then built in. "": the source stays as it is."""
    receiver: str = "linux-6.12"
    """In :class:`~dstcc.engine.TcpConstants` the name of a receiver that does as its own."""
    scheduler: str = "linux"
    """Likewise its MPTCP's own scheduler among :data:`~dstcc.algorithms.SCHEDULERS`."""

    def window_256(self, mss_bytes: int) -> int:
        """The 256ths of its receive buffer, as the kernel counts that, to which a receiver's window grows.

        A half on 6.1; later as much as payload has in the memory of a full segment.
        """
        if self.receiver == "linux-6.1" or mss_bytes < MEASURED:
            return 128
        return mss_bytes * 256 // (mss_bytes + BESIDE)

    @property
    def package(self) -> str:
        """Debian's name of the source."""
        return f"linux-source-{self.name}"

    @property
    def archive(self) -> Path:
        """What the package brings."""
        return SOURCES / f"{self.package}.tar.xz"

    @property
    def tools(self) -> dict[str, str]:
        """Programs and packages that its build needs beside every build's."""
        return {"patch": "patch"} if self.patch else {}


RELEASES = {
    release.name: release
    for release in (
        Release("6.1", receiver="linux-6.1", scheduler="linux-6.1"),
        Release(
            "6.12",
            lacks=frozenset({"CONFIG_RANDOM_TRUST_BOOTLOADER"}),  # since 6.2 a kernel always does
            adds=MappingProxyType({"CONFIG_MPTCP_DSTCC": "y"}),
            patch="6.12.patch",
        ),
    )
}
"""By name, the oldest first."""
SHARED_SINCE = (6, 6)
"""Linux whose receive window is the share that payload has in a segment's memory (``scaling_ratio``)."""
DEFAULT = "6.12"
"""It can send each layer of a stream on a subflow of its own."""
SCHEDULER = {"dstcc.c": "net/mptcp", "mptcp_dstcc.h": "include/net"}
"""Files of ``kernel-cc/mptcp``, and where in a patched source they go."""

LEFT_OUT = (
    "Documentation/?*/*",  # Kconfig reads only the top level
    "tools/testing",
    "tools/perf",
    "sound/*.[ch]",
    "drivers/[!bcnt]*/*.[chS]",  # of the drivers only base, char, net and tty are compiled
    "drivers/[cnt][!hety]*/*.[chS]",
    "drivers/net/*/*.[chS]",
    "arch/[!uxK]*/*.[chS]",  # of the architectures only um and x86
    "arch/*.dts*",
)
"""Patterns of ``tar --exclude`` below the source's folder: 1.5 GB become 260 MB. Every Kconfig file stays."""


def release() -> Release:
    """The version that is meant; raises :class:`InputError` where ``DSTCC_KERNEL`` names none of :data:`RELEASES`."""
    name = os.environ.get(VARIABLE) or DEFAULT
    if name not in RELEASES:
        raise InputError(f"{VARIABLE}={name}: dstcc builds Linux {' and '.join(RELEASES)}")
    return RELEASES[name]


def running(version: str) -> Release:
    """Of :data:`RELEASES` the one whose receiver a running kernel has, by what ``uname -r`` says of that."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    newer = numbers is None or (int(numbers[1]), int(numbers[2])) >= SHARED_SINCE
    return RELEASES["6.12" if newer else "6.1"]


@contextmanager
def using(name: str) -> Iterator[None]:
    """Mean a version of :data:`RELEASES` in a block, in this process and in those that it starts."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = name
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def version() -> str | None:
    """The installed package's version (``6.1.192-2``), or ``None`` when there is none."""
    meant = release()
    if not meant.archive.exists():
        return None
    command = ["dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", meant.package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    state, _, installed = done.stdout.partition(" ")
    return installed if done.returncode == 0 and state == "installed" else None


def needed_version() -> str:
    """:func:`version`, or :class:`MissingCapabilityError` with how to get the package."""
    installed = version()
    if installed is None:
        raise MissingCapabilityError(f"the kernel's source is not here: apt install {release().package}")
    return installed


def unpack_command(tree: Path) -> list[str]:
    """The command that fills ``tree`` with what the build needs."""
    meant = release()
    left_out = [f"--exclude={meant.package}/{pattern}" for pattern in LEFT_OUT]
    return ["tar", "-xf", str(meant.archive), "-C", str(tree), "--strip-components=1", *left_out]


def added() -> list[Path]:
    """The files of ours that the source gets."""
    patch = release().patch
    return [folder("mptcp") / name for name in (patch, *SCHEDULER)] if patch else []


def patch_command(tree: Path) -> list[str] | None:
    """Put our scheduler into an unpacked source; the command that joins it to the rest, which fails where a line of the
    source is not the one that the patch was made for. ``None``: nothing is added."""
    patch = release().patch
    if not patch:
        return None
    for name, place in SCHEDULER.items():
        shutil.copy(folder("mptcp") / name, tree / place)
    options = ["--strip=1", "--fuzz=0", "--batch", "--forward", "--no-backup-if-mismatch"]
    return ["patch", *options, f"--directory={tree}", f"--input={folder('mptcp') / patch}"]
