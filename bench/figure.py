"""The type of a figure, and the helpers for measuring."""

from __future__ import annotations

import operator
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measured:
    """The result of measuring one figure."""

    value: float
    unit: str
    against: str
    """The reference of ``ratio``, in words; empty without one."""
    ratio: float | None = None
    repeats: tuple[float, ...] = ()
    """The values that ``value`` is the median of."""
    details: Mapping[str, object] = field(default_factory=dict)
    """Further entries of the JSON document."""
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
        measured_value = measured.value if self.on == "value" else measured.ratio
        compare = {"<=": operator.le, ">=": operator.ge}[self.sign]
        return measured_value is not None and bool(compare(measured_value, self.bound))

    def __str__(self) -> str:
        return f"{self.on} {self.sign} {self.bound:g}"


@dataclass(frozen=True)
class Figure:
    """A named measurement."""

    name: str
    measure: Callable[[], Measured]
    goal: Goal | None = None


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds that this process spends in ``work``, in all its threads."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def core_s(work: Callable[[], object]) -> float:
    """CPU seconds that this thread spends in ``work``, which starts no threads; idle library threads do not count."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def child_cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of the child processes that ``work`` starts and waits for, and of their children."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    begin = spent()
    work()
    return spent() - begin


def interleaved(repeats: int, *measures: Callable[[], float]) -> list[tuple[float, ...]]:
    """Take every measure once, then all again, so that a change of the machine's speed affects all alike."""
    rounds = [tuple(measure() for measure in measures) for _ in range(repeats)]
    return list(zip(*rounds, strict=True))


def median_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Median of the ratios of values that were measured in the same repeat."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))
