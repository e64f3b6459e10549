"""What trials play: the part that experiments over scenarios have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dstcc.run import run_trials
from dstcc.scenario import Scenario, load_scenario, parse_override

if TYPE_CHECKING:
    from dstcc.metrics import Metrics
    from dstcc.run import Trial

PLAYED = "weighted_layers"


def mission(path: Path, *overrides: str) -> Scenario:
    """A scenario with other settings."""
    return load_scenario(path, [parse_override(text) for text in overrides])


def alone(plain: Scenario, transport: str, run: Mapping[str, Any], **more: object) -> Scenario:
    """A scenario under one `[transport]`, given as TOML's keys but for the size of a packet, and without its coding;
    with these keys of `[run]` and tables."""
    keys = parse_override(f"transport={{{transport}, mss_bytes = {plain.transport.mss_bytes}}}").value
    changed = plain.model_dump(exclude_unset=True, exclude={"transport", "coding"}) | more
    changed |= {"transport": keys, "run": changed.get("run", {}) | run}
    return Scenario.model_validate(changed)


def metrics_of(trials: Iterable[Trial]) -> list[Metrics]:
    """Of each trial; ClickException where one failed."""
    done, failed = [], []
    for trial in trials:
        if trial.metrics is None:
            failed.append(f"{trial.id}: {trial.error}")
        else:
            done.append(trial.metrics)
    if failed:
        raise click.ClickException("; ".join(failed))
    return done


def by_metric(trials: Iterable[Trial]) -> dict[str, list[float]]:
    """Metrics by name, a value a trial, of those that have one."""
    values: dict[str, list[float]] = {}
    for metrics in metrics_of(trials):
        for key, value in metrics.flat().items():
            if value is not None:
                values.setdefault(key, []).append(value)
    return values


def values_of(trials: Iterable[Trial], metric: str = PLAYED) -> list[float]:
    """A metric, a value a trial; 0 where it has none."""
    return [float(metrics.flat()[metric] or 0.0) for metrics in metrics_of(trials)]


def plays(scenario: Scenario, *, jobs: int | None = 1) -> list[Trial]:
    """Its trials, without scores of pictures."""
    return run_trials(scenario, quality=False, jobs=jobs)
