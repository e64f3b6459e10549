"""Processes that carry this process's trials, for who leaves without waiting for the threads that run them.

Ctrl-C and SIGTERM end the command at once; threads that wait for a guest would never get to end it. So each process is
started here, and :func:`end_all` ends them all.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dstcc.errors import KernelError

_LOCK = threading.Lock()
_RUNNING: set[subprocess.Popen[bytes]] = set()
_ENDED = threading.Event()


@contextmanager
def started(command: list[str], **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process as :class:`subprocess.Popen` does, known to :func:`end_all` for as long as the block runs.

    Raises :class:`~dstcc.errors.KernelError` where all have been ended.
    """
    with _LOCK:
        if _ENDED.is_set():
            raise KernelError("this process is about to end: no trial starts any more")
        process = subprocess.Popen(command, **how)
        _RUNNING.add(process)
    try:
        yield process
    finally:
        with _LOCK:
            _RUNNING.discard(process)


def end_all(patience_s: float) -> None:
    """End every such process, and let no other start. Each has so long to end by itself once it is asked to."""
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
