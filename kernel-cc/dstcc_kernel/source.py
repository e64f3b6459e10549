"""The kernel's source: Debian's package ``linux-source-6.1``, and the part of it that the build needs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from dstcc.errors import MissingCapabilityError

PACKAGE = "linux-source-6.1"
"""6.1 carries MPTCP connections whatever the first RTT; later sources give up after the third SYN timeout."""
ARCHIVE = Path("/usr/src", f"{PACKAGE}.tar.xz")

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


def version() -> str | None:
    """The installed package's version (``6.1.192-2``), or ``None`` when there is none."""
    if not ARCHIVE.exists():
        return None
    command = ["dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", PACKAGE]
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
        raise MissingCapabilityError(f"the kernel's source is not here: apt install {PACKAGE}")
    return installed


def unpack_command(folder: Path) -> list[str]:
    """The command that fills ``folder`` with what the build needs."""
    left_out = [f"--exclude={PACKAGE}/{pattern}" for pattern in LEFT_OUT]
    return ["tar", "-xf", str(ARCHIVE), "-C", str(folder), "--strip-components=1", *left_out]
