"""``[expect]``: checking trials against a scenario's bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dstcc.errors import ScenarioError
from dstcc.metrics import Metrics
from dstcc.scenario.bounds import OF_PROGRAMS, Bound, parse_bound

if TYPE_CHECKING:
    from dstcc.run import Trial, TrialRow

MISSED = 3
"""Exit code of a command whose trials missed a bound."""


@dataclass(frozen=True)
class Miss:
    """A bound that a trial missed."""

    trial: str
    metric: str
    bound: str
    value: float | None

    why: str = ""
    """Why there is no value, or why none was reachable; else empty."""

    def __str__(self) -> str:
        said = "has no value" if self.value is None else f"is {self.value:.6g}"
        reason = f" ({self.why})" if self.why else ""
        return f"{self.trial}: {self.metric} {said}{reason}, expected {self.bound}"


OUT_OF_REACH = "no sender could have had a layer there in time"
_TIMED = 'with playout.mode = "deadline" only'
_UNTIMED = 'with playout.mode = "stall" only'
_PICTURES = "no pictures were scored"
_ALONE = "no flow competes for a link"
_REASONS = {
    "startup_s": "nothing was shown",
    "completion_s": "not every layer arrived",
    **dict.fromkeys(("psnr_db", "ssim", "vmaf"), _PICTURES),
    **dict.fromkeys(("fairness_jain", "own_share", "flows_bps"), _ALONE),
    "guard_actions": "no controller drives it",
    "oracle_ratio": _TIMED,
}
"""Why a metric may have no value; all others have none if nothing was sent or nothing arrived."""


def out_of_reach(metrics: Metrics) -> bool:
    """Whether no sender could have delivered any layer by its deadline, so that ``oracle_ratio`` is undefined."""
    values = metrics.values
    return values["oracle_ratio"] is None and values["stalls"] is None and values["weighted_layers"] == 0


def unseen(expect: Mapping[str, str], trials: Iterable[Trial | TrialRow]) -> list[str]:
    """The keys of bounds that are skipped for a trial: their metric has no value as nothing was reachable."""
    away = [trial for trial in trials if trial.metrics is not None and out_of_reach(trial.metrics)]
    keys = []
    for bound in _of_trials(expect):
        covered = [trial for trial in away if _covers(bound, trial)]
        if any(trial.metrics and trial.metrics.flat().get(bound.metric) is None for trial in covered):
            keys.append(bound.key)
    return keys


def check(expect: Mapping[str, str], trials: Iterable[Trial | TrialRow], *, where: str) -> list[Miss]:
    """Every bound that a trial misses; each covered trial must keep it. Bounds that :func:`unseen` names are skipped.

    Raises :class:`~dstcc.errors.ScenarioError`, naming the file ``where``, for a layer that the video lacks.
    """
    done = [trial for trial in trials if trial.metrics is not None]
    misses: list[Miss] = []
    for bound in _of_trials(expect):
        covered = [trial for trial in done if _covers(bound, trial)]
        misses += [miss for trial in covered for miss in _miss(bound, trial, where)]
    return misses


def idle(expect: Mapping[str, str], trials: Iterable[Trial | TrialRow]) -> list[str]:
    """The keys of bounds on contenders of which there is no trial."""
    tried = list(trials)
    return [bound.key for bound in _of_trials(expect) if not any(_covers(bound, trial) for trial in tried)]


def about_trials(expect: Mapping[str, str]) -> bool:
    """Whether a bound is on trials."""
    return any(not key.startswith(OF_PROGRAMS) for key in expect)


def check_programs(
    expect: Mapping[str, str], numbers: Mapping[str, float | None], *, where: str
) -> list[Miss]:
    """Every bound on programs that a run's ``numbers`` miss (:mod:`dstcc.run.program_numbers`).

    Raises :class:`~dstcc.errors.ScenarioError`, naming the file ``where``, for a number that the run has not.
    """
    misses = []
    for key, text in expect.items():
        if not key.startswith(OF_PROGRAMS):
            continue
        bound = parse_bound(key, text)
        if bound.metric not in numbers:
            raise ScenarioError(
                f"{where}: expect.{key}: the run has no such number; there are {', '.join(numbers)}"
            )
        if not bound.holds(value := numbers[bound.metric]):
            misses.append(Miss("programs", bound.metric, bound.text, value))
    return misses


def _of_trials(expect: Mapping[str, str]) -> Iterator[Bound]:
    for key, text in expect.items():
        if not key.startswith(OF_PROGRAMS):
            yield parse_bound(key, text, None)


def _covers(bound: Bound, trial: Trial | TrialRow) -> bool:
    key = trial.key
    return bound.covers(key.congestion, key.scheduler, key.variant, key.controller)


def _miss(bound: Bound, trial: Trial | TrialRow, where: str) -> list[Miss]:
    values = trial.metrics.flat() if trial.metrics else {}
    if bound.metric not in values:
        raise ScenarioError(f"{where}: expect.{bound.key}: the video has no such layer ({', '.join(values)})")
    value = values[bound.metric]
    away = trial.metrics is not None and out_of_reach(trial.metrics)
    if bound.holds(value) or (value is None and away):
        return []
    why = OUT_OF_REACH if away else "" if value is not None else _reason(bound.metric, values)
    return [Miss(trial.id, bound.metric, bound.text, value, why)]


def _reason(metric: str, values: Mapping[str, float | None]) -> str:
    if metric in ("startup_s", "stall_s", "stalls") and values["stalls"] is None:
        return _UNTIMED
    return _REASONS.get(metric, "nothing was sent or nothing arrived")
