"""What trials play: the part that experiments over scenarios have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dstcc.run.backends import backend_of
from dstcc.run.trials import Judge, iter_trials, load_controllers, trial_keys
from dstcc.scenario import Scenario, load_scenario, load_source, parse_override

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


def plays(
    scenario: Scenario, *, jobs: int | None = 1, backend: str = "simulator", steered: bool = False
) -> list[Trial]:
    """Its trials, without scores of pictures; or those under its own controllers only."""
    source, carrier = load_source(scenario), backend_of(backend)
    policies = load_controllers(scenario, source)
    carrier.check(scenario, source, policies)
    keys = [key for key in trial_keys(scenario) if not steered or (key.controller and key.variant is None)]
    judge = Judge(source, wanted=False)
    trials = iter_trials(scenario, source, judge, backend=carrier, policies=policies, jobs=jobs, only=keys)
    return list(trials)
