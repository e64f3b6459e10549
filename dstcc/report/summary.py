"""The summary: the same rows for every format, as data and as text."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dstcc.version import __version__

from .catalogue import Metric
from .model import Algorithm, Report, Section, best_of
from .numbers import Unit, unit_for_row
from .verdict import verdict


@dataclass(frozen=True)
class Cell:
    """An algorithm's value of a metric, as text in the row's unit."""

    value: str
    interval: str
    """``80.1–86.0``; empty with fewer than two seeds."""
    note: str
    """Says so when not every finished trial has a value."""
    mark: str
    """``best``, ``close`` (its interval overlaps the best one's) or empty."""


@dataclass(frozen=True)
class SummaryRow:
    """A metric and its cell for each algorithm."""

    metric: Metric
    unit: str
    cells: tuple[Cell, ...]


def summary_table(section: Section) -> tuple[SummaryRow, ...]:
    """A row for each metric that has a value, a cell for each algorithm that finished."""
    return tuple(_row(section, metric) for metric in section.metrics)


def document(report: Report) -> dict[str, Any]:
    """The summary as plain data, for JSON and for programs."""
    return {
        "dstcc_version": __version__,
        "sections": [_section_document(section) for section in report.sections],
    }


def command_line(section: Section) -> tuple[str, ...]:
    """The command of each run, quoted for a shell."""
    return tuple(_command(run.meta.get("argv") or []) for run in section.runs)


def _command(argv: list[str]) -> str:
    if not argv:
        return "not recorded"
    return shlex.join([Path(argv[0]).name, *map(str, argv[1:])])


def _row(section: Section, metric: Metric) -> SummaryRow:
    found = {a.name: a.estimates[metric.key] for a in section.finished if metric.key in a.estimates}
    bounds = [bound for one in found.values() for bound in (one.value, *one.bounds())]
    unit = unit_for_row(metric.kind, bounds).telling_apart([one.value for one in found.values()])
    marks = _marks(section, metric, {name: unit.number(one.value) for name, one in found.items()})
    cells = tuple(
        _cell(algorithm, metric, unit, marks.get(algorithm.name, "")) for algorithm in section.finished
    )
    return SummaryRow(metric, unit.name, cells)


def _marks(section: Section, metric: Metric, shown: dict[str, str]) -> dict[str, str]:
    """Mark each algorithm that is best or close; what reads like the best is marked like it."""
    winners, close = best_of(section, metric)
    texts = {shown[name] for name in winners}
    rivals = {algorithm.name for algorithm in section.finished if algorithm.complete(metric.key)}
    winners |= {name for name in rivals if shown[name] in texts}
    if winners == rivals:
        return {}
    return dict.fromkeys(close, "close") | dict.fromkeys(winners, "best")


def _cell(algorithm: Algorithm, metric: Metric, unit: Unit, mark: str) -> Cell:
    one = algorithm.estimates.get(metric.key)
    if one is None:
        return Cell("–", "", "", "")
    low, high = one.bounds()
    interval = f"{unit.number(low)}–{unit.number(high)}" if one.has_interval else ""
    count = len(algorithm.finished)
    note = "" if one.n == count else f"{one.n} of {count} trials"
    return Cell(unit.number(one.value), interval, note, mark)


def _section_document(section: Section) -> dict[str, Any]:
    return {
        "scenario": section.name,
        "scenario_sha256": section.meta.get("scenario_sha256"),
        "backend": section.meta.get("backend"),
        "scale": section.meta.get("scale"),
        "seeds": list(section.seeds),
        "best": section.best.name if section.best else None,
        "verdict": verdict(section),
        "runs": [
            {
                "path": str(run.path),
                "command": command,
                "dstcc_version": run.meta.get("dstcc_version"),
                "git_commit": run.meta.get("git_commit"),
            }
            for run, command in zip(section.runs, command_line(section), strict=True)
        ],
        "rows": [_algorithm_document(algorithm) for algorithm in section.algorithms],
        "failed": [
            {"id": trial.id, "seed": trial.seed, "error": trial.error}
            for trial in section.trials
            if not trial.ok
        ],
        "notes": list(section.notes),
    }


def _algorithm_document(algorithm: Algorithm) -> dict[str, Any]:
    first = algorithm.trials[0]
    return {
        "algorithm": algorithm.name,
        "congestion": first.congestion,
        "scheduler": first.scheduler,
        "controller": first.controller,
        "trials": len(algorithm.trials),
        "failed": len(algorithm.trials) - len(algorithm.finished),
        "metrics": {
            key: {"value": one.value, "low": one.low, "high": one.high, "n": one.n}
            for key, one in algorithm.estimates.items()
        },
        "layers_played": {
            "none" if level < 0 else str(level): share
            for level, share in (algorithm.played.items() if algorithm.finished else ())
        },
    }
