"""Processes that carry this process's trials, and their folders, for who leaves without waiting for the threads.

Ctrl-C and SIGTERM end the command at once; threads that wait for a guest would never get to end it. So each process is
started here and each temporary folder made here, and :func:`end_all` ends the ones and sees the others gone. A thread
may be anywhere by then: it may be about to make its folder, or be filling it. Whoever looks for folders by their names
and contents misses those; their makers do not.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dstcc.errors import KernelError

from .remains import discard

_LOCK = threading.Condition()
"""Of what follows; told whenever a folder is gone."""
_RUNNING: set[subprocess.Popen[bytes]] = set()
_FOLDERS: set[Path] = set()
_ENDED = threading.Event()
_GUESTS: dict[int, int] = {}
"""By processor, how many."""


@dataclass
class Room:
    """A temporary folder."""

    folder: Path
    keep: bool = False
    """Whether it stays when its block ends, for who asks what went wrong."""


@contextmanager
def room(prefix: str, sign: str, parent: Path | None = None) -> Iterator[Room]:
    """A temporary folder with an empty file ``sign`` (see :func:`remove_leftovers`), which goes when the block ends.

    Raises :class:`~dstcc.errors.KernelError` where all have been ended.
    """
    with _LOCK:
        _check_not_ended()
        one = Room(Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent)))
        _FOLDERS.add(one.folder)
    try:
        (one.folder / sign).touch()
        yield one
    finally:
        if not one.keep or _ENDED.is_set():
            discard(one.folder)
        with _LOCK:
            _FOLDERS.discard(one.folder)
            _LOCK.notify_all()


@contextmanager
def started(command: list[str], **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process as :class:`subprocess.Popen` does, known to :func:`end_all` for as long as the block runs.

    Raises :class:`~dstcc.errors.KernelError` where all have been ended.
    """
    with _LOCK:
        _check_not_ended()
        process = subprocess.Popen(command, **how)
        _RUNNING.add(process)
    try:
        yield process
    finally:
        with _LOCK:
            _RUNNING.discard(process)


def _check_not_ended() -> None:
    if _ENDED.is_set():
        raise KernelError("this process is about to end: no trial starts any more")


def end_all(patience_s: float) -> None:
    """End every such process, and let no other start. Each has so long to end by itself once it is asked to.

    Then their threads have so long to leave their folders; those that are still there go all the same.
    """
    with _LOCK:
        _ENDED.set()
        processes = list(_RUNNING)
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(timeout=patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    with _LOCK:
        _LOCK.wait_for(lambda: not _FOLDERS, patience_s)
        folders = list(_FOLDERS)
    for folder in folders:
        discard(folder)


def remove_leftovers(parent: Path, prefix: str, sign: str) -> None:
    """Remove what killed processes left in ``parent``: folders ``PREFIX`` + process + ``-`` + 8 random characters (as
    :func:`tempfile.mkdtemp` has them) that hold a file ``sign`` or nothing (:func:`room` makes them so).

    Whatever else has such a name is somebody's own.
    """
    for left in parent.glob(f"{prefix}*"):
        made = re.fullmatch(rf"{re.escape(prefix)}([0-9]+)-[a-z0-9_]{{8}}", left.name)
        if made is None or left.is_symlink() or not left.is_dir():
            continue
        if Path("/proc", made[1]).exists():
            continue
        if (left / sign).is_file():
            discard(left)
        elif not any(left.iterdir()):
            left.rmdir()


@contextmanager
def processor() -> Iterator[int]:
    """One of the machine's for a guest, on which this process has the fewest; processes side by side begin with
    different ones.

    A guest and the programs in it are processes that take turns. On one processor a turn is a switch; on two it wakes
    an idle one, which takes several times as long.
    """
    mine = sorted(os.sched_getaffinity(0))
    with _LOCK:
        first = os.getpid() % len(mine)
        chosen = min(mine[first:] + mine[:first], key=lambda number: _GUESTS.get(number, 0))
        _GUESTS[chosen] = _GUESTS.get(chosen, 0) + 1
    try:
        yield chosen
    finally:
        with _LOCK:
            _GUESTS[chosen] -= 1


@contextmanager
def bound_to(number: int) -> Iterator[None]:
    """What this thread starts meanwhile runs on that processor only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {number})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
