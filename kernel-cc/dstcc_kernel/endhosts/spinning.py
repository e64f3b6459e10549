"""Which program of a guest computes without ever waiting, seen from outside.

A guest's programs are processes of the host that the kernel traces, without names of their own there. Each has a
variable in its environment that says which one it is, at the top of its stack; the one that uses the processor is busy.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from .mission import VARIABLE

LOOK_S = 0.5
STACK_BYTES = 1 << 18
"""From a process's topmost address down: environment and arguments lie there."""


def busy_program(boot: int) -> int | None:
    """The number of the program that computes most below the process ``boot``; ``None`` if none does."""
    before = _processor_ticks(boot)
    time.sleep(LOOK_S)
    used = {pid: ticks - before.get(pid, ticks) for pid, ticks in _processor_ticks(boot).items()}
    for pid, ticks in sorted(used.items(), key=lambda entry: -entry[1]):
        number = _number(pid) if ticks else None
        if number is not None:
            return number
    return None


def _processor_ticks(boot: int) -> dict[int, int]:
    """Processor time of all processes below ``boot``."""
    found = {pid: _fields(pid) for pid in below(boot)}
    return {pid: int(fields[11]) + int(fields[12]) for pid, fields in found.items() if fields}


def below(boot: int) -> dict[int, int]:
    """``boot`` and all processes below it, with their parents."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*"):
        if fields := _fields(int(path.name)):
            parents[int(path.name)] = int(fields[1])
    found, new = set[int](), {boot}
    while new:
        found |= new
        new = {pid for pid, parent in parents.items() if parent in new} - found
    return {pid: parents[pid] for pid in found if pid in parents}


def _fields(pid: int) -> list[str]:
    """Of a process's state behind its name; none of one that has ended."""
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _number(pid: int) -> int | None:
    """What the environment of a guest's process says; ``None`` for the kernel itself."""
    try:
        maps = Path("/proc", str(pid), "maps").read_text().splitlines()
        with Path("/proc", str(pid), "mem").open("rb", buffering=0) as memory:
            for line in reversed(maps):
                low, _, high = line.split()[0].partition("-")
                start, end = int(low, 16), int(high, 16)
                found = _search(memory.fileno(), max(start, end - STACK_BYTES), end)
                if found is not None:
                    return found
    except OSError:
        return None
    return None


def _search(memory: int, start: int, end: int) -> int | None:
    try:
        text = os.pread(memory, end - start, start)
    except (OSError, OverflowError):
        return None
    found = re.search(rf"\0{VARIABLE}=(\d+)\0".encode(), text)
    return int(found[1]) if found else None
