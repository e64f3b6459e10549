"""The data of a report: trials pooled by scenario, one summary row per algorithm.

A *section* holds all trials that can be compared: those of the same scenario (by its hash), backend and scale. Runs
that share these pool their trials; other runs become separate sections. Each section has a *reference*, which is
subtracted from the others seed by seed: the best algorithm unless one is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

from dstcc.algorithms import RECONSTRUCTED
from dstcc.clock import Clock
from dstcc.stats import SAME, Estimate, Paired, estimate, paired_difference
from dstcc.wire import HEADER_BYTES

from .catalogue import METRIC, METRICS, RANKING, Metric

if TYPE_CHECKING:
    from dstcc.run import Run

MSS_BYTES = 1460
"""The scenario format's default payload of a full segment."""
TRANSFER = "(transfer)"
"""The mark of an algorithm that sends without TCP."""
LEARNED = "(learned)"
"""The mark of a trained controller."""
MARKS = (TRANSFER, LEARNED, RECONSTRUCTED)
PICTURED = 12
"""Most panels or lines of a figure that a reader can distinguish."""


@dataclass(frozen=True)
class TrialLink:
    """A link as one trial drew it."""

    name: str
    rate_bps: float | None
    rtt_s: float | None
    outages: int = 0

    def bdp_segments(self, wire_bytes: int) -> float | None:
        """The bandwidth-delay product in segments of ``wire_bytes``."""
        if self.rate_bps is None or self.rtt_s is None:
            return None
        return self.rate_bps * self.rtt_s / 8 / wire_bytes


@dataclass(frozen=True)
class Trial:
    """One algorithm with one seed."""

    run: Run
    id: str
    algorithm: str
    congestion: str | None
    scheduler: str | None
    controller: str | None
    variant: str | None
    """The label of the scenario's variant that it ran."""
    seed: int
    ok: bool
    error: str
    metrics: Mapping[str, float]
    """The metrics that have a value."""
    played: Mapping[int, float]
    """Highest layer played (−1 none) → share of chunks."""
    links: tuple[TrialLink, ...]
    contacts: tuple[Mapping[str, float], ...] = ()
    """What each contact delivered, see docs/metrics.md; empty where links have no outages."""

    @property
    def footing(self) -> Mapping[str, Any] | None:
        """What the trial's algorithm knew and was given, from its run; ``None`` where the run does not record it."""
        known: Sequence[Mapping[str, Any]] = self.run.meta.get("algorithms") or ()
        name = self.id.rpartition("/s")[0]
        return next((one for one in known if one.get("name") == name), None)


@dataclass(frozen=True)
class Algorithm:
    """An algorithm's trials of one scenario, and their statistics."""

    name: str
    trials: tuple[Trial, ...]

    @cached_property
    def finished(self) -> tuple[Trial, ...]:
        """The trials that did not fail."""
        return tuple(trial for trial in self.trials if trial.ok)

    @property
    def whole(self) -> bool:
        """Whether no trial failed."""
        return len(self.finished) == len(self.trials)

    def by_seed(self, key: str) -> dict[int, float]:
        """Seed → value of a metric, for the trials that have one."""
        return {trial.seed: trial.metrics[key] for trial in self.finished if key in trial.metrics}

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Metric key → estimate over the seeds that have a value."""
        values = {metric.key: list(self.by_seed(metric.key).values()) for metric in METRICS}
        return {key: estimate(samples) for key, samples in values.items() if samples}

    def complete(self, key: str) -> bool:
        """Whether every trial has a value of the metric."""
        return len(self.by_seed(key)) == len(self.trials) > 0

    @cached_property
    def played(self) -> dict[int, float]:
        """Highest layer played → mean share of chunks over the finished trials."""
        levels = sorted({level for trial in self.finished for level in trial.played})
        count = len(self.finished)
        return {
            level: sum(trial.played.get(level, 0.0) for trial in self.finished) / count for level in levels
        }


@dataclass(frozen=True)
class Section:
    """One scenario on one backend at one scale, and all runs of it."""

    runs: tuple[Run, ...]
    algorithms: tuple[Algorithm, ...]
    notes: tuple[str, ...] = field(default=())
    against: str | None = None
    """The name of the reference, if one was chosen and is here."""
    comparisons: int = 1
    """How many comparisons of algorithms the page makes: one for each scenario, and one of all together."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """``run.json`` of the first run."""
        return self.runs[0].meta

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The scenario as resolved."""
        return self.runs[0].scenario

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.meta.get("scenario_name") or "unnamed scenario")

    @property
    def clock(self) -> Clock:
        """What moments of the mission are shown as."""
        return Clock.of(self.scenario)

    @property
    def waits(self) -> bool:
        """Whether playout waits for base layers (``stall`` mode) instead of keeping a deadline."""
        return (self.scenario.get("playout") or {}).get("mode") == "stall"

    @property
    def segment_bytes(self) -> int:
        """A full segment on the wire: payload and headers."""
        return int((self.scenario.get("transport") or {}).get("mss_bytes", MSS_BYTES)) + HEADER_BYTES

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial, algorithm by algorithm."""
        return tuple(trial for algorithm in self.algorithms for trial in algorithm.trials)

    @cached_property
    def finished(self) -> tuple[Algorithm, ...]:
        """The algorithms with at least one trial that did not fail, the one with the most video first."""

        def most(algorithm: Algorithm) -> float:
            one = algorithm.estimates.get(RANKING[0])
            return one.value if one else -math.inf

        return tuple(sorted((a for a in self.algorithms if a.finished), key=most, reverse=True))

    @property
    def pictured(self) -> tuple[Algorithm, ...]:
        """The algorithms that figures show: where there are many, the best ones and the last."""
        if len(self.finished) <= PICTURED:
            return self.finished
        return (*self.finished[: PICTURED - 1], self.finished[-1])

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """Every seed of the section."""
        return tuple(sorted({trial.seed for trial in self.trials}))

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of which at least one trial has a value; guard actions only where the guard acted."""
        idle = not any(trial.metrics.get("guard_actions") for trial in self.trials)
        known = {key for algorithm in self.finished for key in algorithm.estimates}
        return tuple(m for m in METRICS if m.key in known and not (idle and m.key == "guard_actions"))

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """−1 (not played) and every layer of the video."""
        highest = max((level for trial in self.trials for level in trial.played), default=-1)
        return tuple(range(-1, highest + 1))

    @cached_property
    def best(self) -> Algorithm | None:
        """The first by :data:`RANKING`, of those without failed trials if there are any; None when nothing finished."""

        def rank(algorithm: Algorithm) -> tuple[float, ...]:
            estimates = (algorithm.estimates.get(key) for key in RANKING)
            return (
                algorithm.whole,
                *(one.value if one else -math.inf for one in estimates),
            )

        return max(self.finished, key=rank, default=None)

    @cached_property
    def reference(self) -> Algorithm | None:
        """The algorithm that the others are compared with seed by seed: the chosen one, or the best."""
        return next((a for a in self.finished if a.name == self.against), self.best)

    @cached_property
    def split_seeds(self) -> frozenset[int]:
        """Seeds of which two trials drew different links: they cannot be compared seed by seed."""
        drawn: dict[int, set[tuple[TrialLink, ...]]] = {}
        for trial in self.trials:
            if trial.ok:
                drawn.setdefault(trial.seed, set()).add(trial.links)
        return frozenset(seed for seed, links in drawn.items() if len(links) > 1)

    @cached_property
    def representative(self) -> tuple[Trial, ...]:
        """One trial of each algorithm in the figures, of one seed where possible: of the seeds that most of them
        finished, the one closest to the mean."""
        if not self.finished:
            return ()
        counts = {seed: sum(seed in _seeds(a) for a in self.finished) for seed in self.seeds}
        shared = [seed for seed, count in counts.items() if count == max(counts.values())]
        means = {seed: self._mean_played(seed) for seed in shared}
        middle = median(means.values())
        chosen = min(shared, key=lambda seed: (abs(means[seed] - middle), seed))
        return tuple(
            next((trial for trial in a.finished if trial.seed == chosen), a.finished[0])
            for a in self.pictured
        )

    def _mean_played(self, seed: int) -> float:
        values = [a.by_seed("weighted_layers").get(seed, 0.0) for a in self.finished]
        return sum(values) / len(values)


@dataclass(frozen=True)
class Report:
    """All sections, and a stable order of the algorithms for their colours."""

    sections: tuple[Section, ...]

    @cached_property
    def algorithms(self) -> tuple[str, ...]:
        """Every algorithm's name, in order of first appearance."""
        names = (algorithm.name for section in self.sections for algorithm in section.algorithms)
        return tuple(dict.fromkeys(names))


def best_of(section: Section, metric: Metric) -> tuple[set[str], set[str]]:
    """Names of the algorithms that hold the best value, and of those whose interval overlaps the best one's.

    Only algorithms of which every trial has a value can be best: a value of one seed of three, or an average without a
    failed trial, does not count.
    """
    rivals = [a for a in section.finished if metric.key in a.estimates and a.complete(metric.key)]
    if metric.better == 0 or len(rivals) < 2:
        return set(), set()
    values = {a.name: a.estimates[metric.key] for a in rivals}
    top = max(values.values(), key=lambda one: metric.better * one.value)
    winners = {
        name for name, one in values.items() if math.isclose(one.value, top.value, rel_tol=SAME, abs_tol=SAME)
    }
    if len(winners) == len(rivals):
        return set(), set()
    close = {name for name, one in values.items() if one.has_interval and one.overlaps(top)} - winners
    return winners, close


def paired(section: Section, key: str, reference: Algorithm | None = None) -> dict[str, Paired]:
    """Algorithm → its paired difference to ``reference`` (or the section's), over their common seeds."""
    reference = reference or section.reference
    if reference is None or key not in METRIC:
        return {}
    differences = {
        a.name: paired_difference(_comparable(section, a, key), _comparable(section, reference, key))
        for a in section.finished
        if a is not reference
    }
    return {name: one for name, one in differences.items() if one is not None}


def differences(section: Section, key: str, name: str, reference: str) -> list[float]:
    """An algorithm's differences to another one over their common seeds."""
    by_name = {a.name: a for a in section.finished}
    one, other = (_comparable(section, by_name[which], key) for which in (name, reference))
    return [one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())]


def plain_name(name: str) -> str:
    """An algorithm's name without its marks."""
    for one in MARKS:
        name = name.replace(f" {one}", "")
    return name


def _comparable(section: Section, algorithm: Algorithm, key: str) -> dict[int, float]:
    values = algorithm.by_seed(key)
    return {seed: value for seed, value in values.items() if seed not in section.split_seeds}


def _seeds(algorithm: Algorithm) -> set[int]:
    return {trial.seed for trial in algorithm.finished}
