"""The virtual-time kernel: what it takes to build, and what a guest takes that does nothing but start Python."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from dstcc_kernel import build, guest

from .figure import Measured, child_cpu_s

REPEATS = 5
MEMORY_MB = 512


def build_cpu_s() -> Measured:
    """Processor seconds that the build of the cached kernel took, from its own record; builds it if it is not there."""
    build.kernel()
    found = {"plain": build.find(), "debug": build.find(debug=True)}
    seconds = {name: built.facts["cpu_s"] for name, built in found.items() if built}
    notes = (f"debug {seconds['debug']:.0f} s",) if "debug" in seconds else ()
    return Measured(seconds["plain"], "s CPU", "", details=seconds, notes=notes)


def guest_s() -> Measured:
    """Processor seconds of a guest from boot to power-off."""
    kernel = build.kernel()
    job = [sys.executable, "-S", "-c", "pass"]
    walls = []

    def boot() -> None:
        with tempfile.TemporaryDirectory() as out:
            begin = time.monotonic()
            guest.run(kernel, job, out=Path(out), seed=1, memory_mb=MEMORY_MB, wall_s=60)
            walls.append(time.monotonic() - begin)

    boot()  # the kernel and Python's files come into the page cache
    walls.clear()
    repeats = tuple(child_cpu_s(boot) for _ in range(REPEATS))
    notes = (f"wall, median: {statistics.median(walls):.2f} s",)
    return Measured(statistics.median(repeats), "s CPU", "", repeats=repeats, notes=notes)
