"""``[expect]``: holding trials against a scenario's bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from dstcc.errors import ScenarioError
from dstcc.metrics import Metrics
from dstcc.scenario.bounds import Bound, parse_bound

MISSED = 3
"""Exit code of a command whose trials missed a bound."""


class Judged(Protocol):
    """A trial, as far as bounds look at it."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def congestion(self) -> str:
        """Its congestion control."""

    @property
    def scheduler(self) -> str:
        """Its scheduler."""

    @property
    def variant(self) -> str | None:
        """The label of its variant."""

    @property
    def metrics(self) -> Metrics | None:
        """``None`` when it failed; no bound looks at it then."""


@dataclass(frozen=True)
class Miss:
    """A bound that a trial missed."""

    trial: str
    metric: str
    bound: str
    value: float | None

    def __str__(self) -> str:
        value = "none" if self.value is None else f"{self.value:.6g}"
        return f"{self.trial}: {self.metric} is {value}, expected {self.bound}"


def check(expect: Mapping[str, str], trials: Iterable[Judged], *, where: str) -> list[Miss]:
    """Every bound that a trial misses; each covered trial must keep it by itself.

    Raises :class:`~dstcc.errors.ScenarioError`, naming the file ``where``, for a layer that the video lacks.
    """
    done = [trial for trial in trials if trial.metrics is not None]
    misses: list[Miss] = []
    for key, text in expect.items():
        bound = parse_bound(key, text, None)
        covered = [trial for trial in done if bound.covers(trial.congestion, trial.scheduler, trial.variant)]
        misses += [miss for trial in covered for miss in _miss(bound, trial, where)]
    return misses


def idle(expect: Mapping[str, str], trials: Iterable[Judged]) -> list[str]:
    """The keys of bounds on algorithms that no trial is of: they say nothing of what was run."""
    tried = {(trial.congestion, trial.scheduler, trial.variant) for trial in trials}
    bounds = [parse_bound(key, text, None) for key, text in expect.items()]
    return [bound.key for bound in bounds if not any(bound.covers(*names) for names in tried)]


def _miss(bound: Bound, trial: Judged, where: str) -> list[Miss]:
    values = trial.metrics.flat() if trial.metrics else {}
    if bound.metric not in values:
        raise ScenarioError(f"{where}: expect.{bound.key}: the video has no such layer ({', '.join(values)})")
    value = values[bound.metric]
    return [] if bound.holds(value) else [Miss(trial.id, bound.metric, bound.text, value)]
