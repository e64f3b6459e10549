"""What a figure is, and the helpers all of them measure with."""

from __future__ import annotations

import operator
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measured:
    """What came out of measuring one figure."""

    value: float
    unit: str
    against: str
    """What ``ratio`` compares with, in words; empty for nothing."""
    ratio: float | None = None
    repeats: tuple[float, ...] = ()
    """The values that ``value`` is the median of."""
    details: Mapping[str, object] = field(default_factory=dict)
    """Whatever else the JSON document should hold."""
    notes: tuple[str, ...] = ()
    """Lines printed below the table."""


@dataclass(frozen=True)
class Goal:
    """A bound on the value or the ratio of a figure."""

    on: str
    """``value`` or ``ratio``."""
    sign: str
    """``<=`` or ``>=``."""
    bound: float

    def met(self, measured: Measured) -> bool:
        found = measured.value if self.on == "value" else measured.ratio
        compare = {"<=": operator.le, ">=": operator.ge}[self.sign]
        return found is not None and bool(compare(found, self.bound))

    def __str__(self) -> str:
        return f"{self.on} {self.sign} {self.bound:g}"


@dataclass(frozen=True)
class Figure:
    """A named measurement."""

    name: str
    measure: Callable[[], Measured]
    goal: Goal | None = None


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds this process spends in ``work``, all its threads together."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def core_s(work: Callable[[], object]) -> float:
    """CPU seconds this thread spends in ``work``, which starts no other: idle ones of libraries do not count."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def child_cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of the child processes that ``work`` starts and waits for, and of their own children."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    begin = spent()
    work()
    return spent() - begin


def by_turns(repeats: int, *measures: Callable[[], float]) -> list[tuple[float, ...]]:
    """Take every measure once, then all again: a change of the machine's mood meets them alike."""
    rounds = [tuple(measure() for measure in measures) for _ in range(repeats)]
    return list(zip(*rounds, strict=True))


def median_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Median of the ratios, turn by turn."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))
