"""Tables of cells that both backends play, by the same seeds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np

from dstcc.atomic import atomic_write
from dstcc.run import Trial
from dstcc.scenario import Scenario

from .played import plays

Values = np.ndarray[Any, Any]


def trials_of(scenario: Scenario, backend: str, jobs: int) -> list[Trial]:
    """All of them, by seed."""
    return sorted(plays(scenario, jobs=jobs, backend=backend), key=lambda trial: trial.key.seed)


def numbers_of(trials: Iterable[Trial], *more: Callable[[Trial], float | None]) -> tuple[Values, ...]:
    """`weighted_layers`, throughput and what else is asked, by seed; 0 where a trial has none."""
    rows = []
    for trial in trials:
        if trial.metrics is None or trial.outcome is None:
            raise click.ClickException(f"{trial.id}: {trial.error}")
        metrics = trial.metrics.flat()
        values = (metrics["weighted_layers"], metrics["throughput_bps"], *(one(trial) for one in more))
        rows.append([float(value or 0.0) for value in values])
    return tuple(np.array(rows).T)


def welch(before: Values, after: Values) -> float:
    """The difference of the means by its standard error."""
    error = np.sqrt(before.var(ddof=1) / len(before) + after.var(ddof=1) / len(after))
    return float((after.mean() - before.mean()) / error) if error > 0 else 0.0


def compared(simulated: Values, played: Values) -> tuple[str, ...]:
    """Mean and standard deviation of both, the kernel's mean by the simulator's, and z."""
    spread = [f"{number:.4f}" for one in (simulated, played) for number in (one.mean(), one.std(ddof=1))]
    return (*spread, f"{played.mean() / simulated.mean():.3f}", f"{welch(simulated, played):+.1f}")


def write_table(
    columns: Iterable[str],
    cells: Iterable[str],
    row_of: Callable[[str], tuple[list[str], bool]],
    output: Path | None,
) -> None:
    """Print a row a cell, write them, and leave; exit status 1: a cell is beyond its goal."""
    lines, beyond = [",".join(columns)], []
    click.echo(lines[0])
    for cell in cells:
        row, kept = row_of(cell)
        beyond.extend([] if kept else [cell])
        lines.append(",".join(row))
        click.echo(lines[-1])
    if output is not None:
        atomic_write(output, "\n".join(lines) + "\n")
    if beyond:
        click.echo(f"beyond the goal: {', '.join(beyond)}", err=True)
    sys.exit(int(bool(beyond)))
