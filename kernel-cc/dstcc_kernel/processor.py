"""One of the machine's processors for each guest.

A guest and the programs in it are processes that take turns. On one processor a turn is a switch; on two it wakes an
idle one, which takes several times as long.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_guests: dict[int, int] = {}


@contextmanager
def processor() -> Iterator[int]:
    """One that this process has the fewest guests on; processes side by side begin with different ones."""
    mine = sorted(os.sched_getaffinity(0))
    with _lock:
        first = os.getpid() % len(mine)
        chosen = min(mine[first:] + mine[:first], key=lambda number: _guests.get(number, 0))
        _guests[chosen] = _guests.get(chosen, 0) + 1
    try:
        yield chosen
    finally:
        with _lock:
            _guests[chosen] -= 1


@contextmanager
def bound_to(number: int) -> Iterator[None]:
    """What this thread starts meanwhile runs on that processor only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {number})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
