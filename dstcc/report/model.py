"""What a report is about: runs read, trials pooled by scenario, one summary row an algorithm.

A *section* is everything that can be compared: the same scenario (by its hash), backend and scale. Runs that
share these pool their trials; the rest become sections of their own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from dstcc.algorithms import algorithm_name, mark
from dstcc.errors import RunError
from dstcc.stats import Estimate, estimate, paired_difference

from .catalogue import METRIC, METRICS, RANKING, Metric

if TYPE_CHECKING:
    import pyarrow as pa

    from dstcc.run import Run

MSS_BYTES, HEADER_BYTES = 1460, 40
"""The scenario format's default payload of a full segment, and the headers on top of it."""
TIE = 1e-9
"""Values this close (relative) are the same result."""


@dataclass(frozen=True)
class TrialLink:
    """A link as one trial drew it."""

    name: str
    rate_bps: float | None
    rtt_s: float | None

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
    seed: int
    ok: bool
    error: str
    metrics: Mapping[str, float]
    """Only those that have a value."""
    played: Mapping[int, float]
    """Highest layer played (−1 none) → share of chunks."""
    links: tuple[TrialLink, ...]

    def rows(self, table: pa.Table) -> pa.Table:
        """The rows of ``table`` (chunks or samples of this trial's run) that are this trial's."""
        import pyarrow.compute as pc

        return table.filter(pc.equal(table["trial"], self.id))


@dataclass(frozen=True)
class Algorithm:
    """An algorithm's trials of one scenario, and what they come to."""

    name: str
    trials: tuple[Trial, ...]

    @cached_property
    def finished(self) -> tuple[Trial, ...]:
        """The trials that did not fail."""
        return tuple(trial for trial in self.trials if trial.ok)

    def by_seed(self, key: str) -> dict[int, float]:
        """Seed → value of a metric, where there is one."""
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
        """The algorithms with at least one trial that did not fail."""
        return tuple(algorithm for algorithm in self.algorithms if algorithm.finished)

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """Every seed tried."""
        return tuple(sorted({trial.seed for trial in self.trials}))

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of which at least one trial has a value."""
        return tuple(m for m in METRICS if any(m.key in algorithm.estimates for algorithm in self.finished))

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """−1 (not played) and every layer of the video."""
        highest = max((level for trial in self.trials for level in trial.played), default=-1)
        return tuple(range(-1, highest + 1))

    @cached_property
    def best(self) -> Algorithm | None:
        """The first by :data:`RANKING`; None when nothing finished."""

        def rank(algorithm: Algorithm) -> tuple[float, ...]:
            found = (algorithm.estimates.get(key) for key in RANKING)
            return tuple(one.value if one else -math.inf for one in found)

        return max(self.finished, key=rank, default=None)

    @cached_property
    def representative(self) -> tuple[Trial, ...]:
        """One trial an algorithm, of one seed where possible: the most ordinary one most of them finished."""
        if not self.finished:
            return ()
        counts = {seed: sum(seed in _seeds(a) for a in self.finished) for seed in self.seeds}
        shared = [seed for seed, count in counts.items() if count == max(counts.values())]
        means = {seed: self._mean_played(seed) for seed in shared}
        middle = median(means.values())
        chosen = min(shared, key=lambda seed: (abs(means[seed] - middle), seed))
        return tuple(
            next((trial for trial in a.finished if trial.seed == chosen), a.finished[0])
            for a in self.finished
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


def load_report(paths: Sequence[Path]) -> Report:
    """Read and pool runs; :class:`~dstcc.errors.RunError` names the file that cannot be used."""
    from dstcc.run import load_run

    pools: dict[tuple[object, ...], list[Run]] = {}
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise RunError(f"{path}: given twice")
        seen.add(path.resolve())
        run = load_run(path)
        key = (run.meta.get("scenario_sha256"), run.meta.get("backend"), run.meta.get("scale"))
        pools.setdefault(key, []).append(run)
    return Report(tuple(_section(runs) for runs in pools.values()))


def best_of(section: Section, metric: Metric) -> tuple[set[str], set[str]]:
    """Names of the algorithms that hold the best value, and of those whose interval overlaps the best one's.

    Only algorithms of which every trial has a value can win: completing one seed of three is no record, nor
    is an average that lacks a failed trial.
    """
    rivals = [a for a in section.finished if metric.key in a.estimates and a.complete(metric.key)]
    if metric.better == 0 or len(rivals) < 2:
        return set(), set()
    values = {a.name: a.estimates[metric.key] for a in rivals}
    top = max(values.values(), key=lambda one: metric.better * one.value)
    winners = {
        name for name, one in values.items() if math.isclose(one.value, top.value, rel_tol=TIE, abs_tol=TIE)
    }
    if len(winners) == len(rivals):
        return set(), set()
    close = {name for name, one in values.items() if one.has_interval and one.overlaps(top)} - winners
    return winners, close


def paired_to_best(section: Section, key: str) -> dict[str, Estimate]:
    """Algorithm → its paired difference to the best algorithm of the section, over their common seeds."""
    best = section.best
    if best is None or key not in METRIC:
        return {}
    found = {
        a.name: paired_difference(a.by_seed(key), best.by_seed(key))
        for a in section.finished
        if a is not best
    }
    return {name: one for name, one in found.items() if one is not None}


def _seeds(algorithm: Algorithm) -> set[int]:
    return {trial.seed for trial in algorithm.finished}


def _section(runs: list[Run]) -> Section:
    pooled: dict[str, dict[int, Trial]] = {}
    notes = [f"{run.path}: {warning}" for run in runs for warning in run.meta.get("warnings") or ()]
    for run in runs:
        for row in run.trials:
            trial = _trial(run, row)
            known = pooled.setdefault(trial.algorithm, {}).setdefault(trial.seed, trial)
            if known is not trial:
                notes.append(_duplicate_note(known, trial))
    algorithms = tuple(
        Algorithm(name, tuple(trials[seed] for seed in sorted(trials))) for name, trials in pooled.items()
    )
    return Section(tuple(runs), algorithms, tuple(notes))


def _duplicate_note(known: Trial, other: Trial) -> str:
    same = known.ok == other.ok and dict(known.metrics) == dict(other.metrics)
    verdict = (
        "with the same result" if same else "with a DIFFERENT result; compare versions and commits below"
    )
    return f"{other.id} is in {known.run.path} and in {other.run.path}, {verdict}; the first is used."


def _trial(run: Run, row: Mapping[str, Any]) -> Trial:
    try:
        name = row["controller"] or _name(row["congestion"], row["scheduler"])
        return Trial(
            run=run,
            id=str(row["id"]),
            algorithm=str(name),
            congestion=row["congestion"],
            scheduler=row["scheduler"],
            controller=row["controller"],
            seed=int(row["seed"]),
            ok=row["status"] == "ok",
            error=str(row.get("error") or ""),
            metrics={
                metric.key: value for metric in METRICS if (value := _finite(row, metric.key)) is not None
            },
            played=_played(row),
            links=_links(row.get("links")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"{run.path / 'trials.parquet'}: a trial's row cannot be used: {error!r}") from error


def _name(congestion: str, scheduler: str) -> str:
    return f"{algorithm_name(congestion, scheduler)}{mark(congestion, scheduler)}"


def _finite(row: Mapping[str, Any], key: str) -> float | None:
    value = row.get(key)
    return float(value) if value is not None and math.isfinite(value) else None


def _played(row: Mapping[str, Any]) -> dict[int, float]:
    prefix = "layers_played."
    shares = {key.removeprefix(prefix): _finite(row, key) for key in row if key.startswith(prefix)}
    return {-1 if key == "none" else int(key): share for key, share in shares.items() if share is not None}


def _links(text: object) -> tuple[TrialLink, ...]:
    """The drawn links of a trial; a value that is not a plain number (a table over time) is unknown."""
    drawn = json.loads(text) if isinstance(text, str) and text else []
    if isinstance(drawn, Mapping):
        drawn = [{"name": name, **values} for name, values in drawn.items()]
    links = []
    for link in drawn:
        delay, rtt = _number(link.get("delay_s")), _number(link.get("rtt_s"))
        if rtt is None and delay is not None:
            rtt = 2 * delay
        links.append(TrialLink(str(link.get("name", "")), _number(link.get("rate_bps")), rtt))
    return tuple(links)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
