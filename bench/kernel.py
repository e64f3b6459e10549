"""The virtual-time kernel: what it takes to build, to run nothing, and to run the demo's mission."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dstcc_kernel import build, guest

from .figure import Measured, child_cpu_s
from .missions import DEMO
from .nets import MSS

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


def demo_s() -> Measured:
    """``dstcc emulate --backend kernel`` on the demo's scenario under CUBIC, boot to metrics."""
    said: list[str] = []

    def emulate() -> None:
        with tempfile.TemporaryDirectory() as folder:
            words = ["emulate", str(DEMO), "--backend", "kernel", "--congestion", "cubic", "--json"]
            command = [sys.executable, "-m", "dstcc_cli", *words, "--output", f"{folder}/run"]
            said.append(subprocess.run(command, capture_output=True, text=True, check=False).stdout)

    begin = time.monotonic()
    emulate()  # encodes the clip and scores it, if no run did before
    first = time.monotonic() - begin
    begin = time.monotonic()
    cpu = child_cpu_s(emulate)
    wall = time.monotonic() - begin
    packets = json.loads(said[-1])["trials"][0]["metrics"]["sent_bytes"] / MSS
    notes = (
        f"{wall:.0f} s of wall clock ({first:.0f} s the first time), {packets:,.0f} data packets,"
        f" {packets / cpu:,.0f} a CPU second",
    )
    return Measured(cpu, "s CPU", "", details={"wall_s": wall, "data_packets": packets}, notes=notes)
