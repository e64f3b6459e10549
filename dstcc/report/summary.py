"""The summary: the same rows for every format, as data and as text."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from dstcc.stats import Paired, Profile
from dstcc.version import __version__

from .catalogue import METRIC, PAIRED, Metric
from .comparison import HEADLINE, compare, compare_pooled
from .contacts import contact_documents
from .controllers import Controller, controllers_of
from .footing import Footing, footing_of
from .frontier import document as frontier_document
from .frontier import frontiers
from .model import Algorithm, Report, Section, best_of, paired
from .numbers import Unit, unit_for, unit_for_row, with_interval
from .pooled import Pooled, pool, pooled_profiles, section_profiles
from .ranking import PLAYED, SENT, Beside, Ranked, ranking
from .verdict import pooled_verdict, verdict


@dataclass(frozen=True)
class Cell:
    """An algorithm's value of a metric, as text in the row's unit."""

    value: str
    interval: str
    """``80.1–86.0``; empty with fewer than two seeds."""
    note: str
    """A note if not every finished trial has a value."""
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


@dataclass(frozen=True)
class PairedRow:
    """An algorithm's differences to the reference, in the order of the metrics; a dash for a missing one."""

    algorithm: str
    cells: tuple[tuple[str, str, str], ...]
    """Mean with unit, its interval, seeds won."""


def paired_table(columns: list[tuple[Metric, dict[str, Paired]]]) -> list[PairedRow]:
    """A row for each algorithm that has a difference in any of the metrics."""
    texts = [
        {name: _paired_cell(metric, differences, name) for name in differences}
        for metric, differences in columns
    ]
    names = dict.fromkeys(name for column in texts for name in column)
    return [PairedRow(name, tuple(column.get(name, ("–", "", "")) for column in texts)) for name in names]


def section_differences(section: Section) -> list[tuple[Metric, dict[str, Paired]]]:
    """The metrics that can be compared seed by seed, and the differences to the reference."""
    differences = [(METRIC[key], paired(section, key)) for key in PAIRED]
    return [(metric, by_algorithm) for metric, by_algorithm in differences if by_algorithm]


def mean_differences(section: Section, metric: Metric) -> Iterator[tuple[str, str]]:
    """Each algorithm's mean difference to the reference, as text."""
    differences = paired(section, metric.key)
    for name in differences:
        yield name, _paired_cell(metric, differences, name)[0]


def pooled_table(pooled: Pooled) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each algorithm with value and interval of each metric, in percent."""
    columns = [[pooled.estimate(name, metric) for name in pooled.names] for metric in pooled.metrics]
    units = [unit_for("share", [one.value for one in column]) for column in columns]
    cells = [
        [with_interval(one, unit) for one in column] for unit, column in zip(units, columns, strict=True)
    ]
    return list(zip(pooled.names, map(list, zip(*cells, strict=True)), strict=True))


def section_ranking(section: Section) -> list[Ranked]:
    """The ranking of a section; empty without a leader."""
    comparison = compare(section)
    return ranking(comparison, {a.name: _compared(a) for a in section.finished}) if comparison else []


def pooled_ranking(pooled: Pooled) -> list[Ranked]:
    """As :func:`section_ranking`, over all scenarios."""
    comparison = compare_pooled(pooled)
    if comparison is None:
        return []
    beside = {}
    for name in pooled.names:
        values = list(chain(*pooled.strata(name, HEADLINE)))
        played = pooled.estimate(name, PLAYED) if PLAYED in pooled.metrics else None
        beside[name] = Beside(fmean(values), min(values), played, None)
    return ranking(comparison, beside)


def _compared(algorithm: Algorithm) -> Beside:
    values, found = list(algorithm.by_seed(HEADLINE.key).values()), algorithm.estimates
    sent = found.get(SENT.key)
    return Beside(
        fmean(values) if values else math.nan,
        min(values, default=math.nan),
        found.get(PLAYED.key),
        sent.value if sent else None,
    )


def won(metric: Metric, one: Paired) -> int:
    """Seeds at which the algorithm did better than the reference."""
    return one.above if metric.better > 0 else one.below


def document(report: Report) -> dict[str, Any]:
    """The summary as plain data, for JSON and for programs."""
    pooled = pool(report)
    return {
        "dstcc_version": __version__,
        "sections": [_section_document(section) for section in report.sections],
        "frontiers": [frontier_document(one) for one in frontiers(report)],
        "all_scenarios": _pooled_document(pooled) if pooled else None,
    }


def command_line(section: Section) -> tuple[str, ...]:
    """The command of each run, quoted for a shell."""
    given: list[list[str]] = [run.meta.get("argv") or [] for run in section.runs]
    return tuple(
        shlex.join([Path(argv[0]).name, *map(str, argv[1:])]) if argv else "not recorded" for argv in given
    )


def _row(section: Section, metric: Metric) -> SummaryRow:
    estimates = {a.name: a.estimates[metric.key] for a in section.finished if metric.key in a.estimates}
    bounds = [bound for estimate in estimates.values() for bound in (estimate.value, *estimate.bounds())]
    unit = unit_for_row(metric.kind, bounds).telling_apart(
        [estimate.value for estimate in estimates.values()]
    )
    shown = {
        name: unit.trimmed([estimate.value]).number(estimate.value) for name, estimate in estimates.items()
    }
    marks = _marks(section, metric, shown)
    cells = tuple(
        _cell(algorithm, metric, unit, marks.get(algorithm.name, "")) for algorithm in section.finished
    )
    return SummaryRow(metric, unit.name, cells)


def _marks(section: Section, metric: Metric, shown: dict[str, str]) -> dict[str, str]:
    """Mark each algorithm that is best or close; a value that is shown as the best one's gets the same mark."""
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
    count = len(algorithm.finished)
    note = "" if one.n == count else f"{one.n} of {count} trials"
    return Cell(*with_interval(one, unit.trimmed([one.value]), unit.trimmed(one.bounds())), note, mark)


def _paired_cell(metric: Metric, differences: dict[str, Paired], name: str) -> tuple[str, str, str]:
    unit = unit_for(
        metric.kind, [bound for difference in differences.values() for bound in difference.mean.bounds()]
    )
    difference = differences[name]
    low, high = difference.mean.bounds()
    points = "pp" if metric.kind == "share" else unit.name
    interval = f"{unit.signed(low)} to {unit.signed(high)}" if difference.mean.has_interval else "no interval"
    even = difference.mean.n - difference.above - difference.below
    text = f"won {won(metric, difference)} of {difference.mean.n}{f', {even} even' if even else ''}"
    return f"{unit.signed(difference.mean.value)} {points}", interval, text


def _pooled_document(pooled: Pooled) -> dict[str, Any]:
    words = {row.name: row.word for row in pooled_ranking(pooled)}
    return {
        "scenarios": [section.name for section in pooled.sections],
        "best": pooled.best,
        "verdict": pooled_verdict(pooled),
        "reference": pooled.reference,
        "rows": [
            {
                "algorithm": name,
                "standing": words.get(name),
                "footing": _document(pooled.footings.get(name)),
                "metrics": {m.key: asdict(pooled.estimate(name, m)) for m in pooled.metrics},
            }
            for name in pooled.names
        ],
        "missing": dict(pooled.missing),
        "paired": _paired_document([(metric, pooled.paired(metric)) for metric in pooled.metrics]),
        "profiles": _profiles_document(pooled_profiles(pooled)),
    }


def _paired_document(columns: list[tuple[Metric, dict[str, Paired]]]) -> dict[str, Any]:
    """Algorithm → metric → mean difference to the reference and how many seeds were won, even, and in all."""
    document: dict[str, Any] = {}
    for metric, differences in columns:
        for name, difference in differences.items():
            document.setdefault(name, {})[metric.key] = asdict(difference.mean) | {
                "won": won(metric, difference),
                "even": difference.mean.n - difference.above - difference.below,
            }
    return document


def _profiles_document(panels: list[tuple[Metric, dict[str, Profile]]]) -> dict[str, Any]:
    """Metric → algorithm → the steps of the profile; ``low`` and ``high`` are null without a band."""
    return {
        metric.key: {
            name: {
                key: None if (values := getattr(one, key)) is None else values.tolist()
                for key in ("tau", "share", "low", "high")
            }
            for name, one in profiles.items()
        }
        for metric, profiles in panels
    }


def _section_document(section: Section) -> dict[str, Any]:
    words = {row.name: row.word for row in section_ranking(section)}
    return {
        "scenario": section.name,
        "scenario_sha256": section.meta.get("scenario_sha256"),
        "backend": section.meta.get("backend"),
        "scale": section.meta.get("scale"),
        "seeds": list(section.seeds),
        "least_playout_delays": section.meta.get("least_playout_delays") or [],
        "best": section.best.name if section.best else None,
        "verdict": verdict(section),
        "reference": section.reference.name if section.reference else None,
        "runs": [
            {
                "path": str(run.path),
                "command": command,
                "dstcc_version": run.meta.get("dstcc_version"),
                "git_commit": run.meta.get("git_commit"),
            }
            for run, command in zip(section.runs, command_line(section), strict=True)
        ],
        "rows": [
            _algorithm_document(algorithm) | {"standing": words.get(algorithm.name)}
            for algorithm in section.algorithms
        ],
        "controllers": [_controller_document(one) for one in controllers_of(section)],
        "contacts": contact_documents(section),
        "paired": _paired_document(section_differences(section)),
        "profiles": _profiles_document(section_profiles(section)),
        "failed": [
            {"id": trial.id, "seed": trial.seed, "error": trial.error}
            for trial in section.trials
            if not trial.ok
        ],
        "notes": list(section.notes),
    }


def _controller_document(one: Controller) -> dict[str, Any]:
    """``trained_on_this_scenario`` is null where the run does not record the training."""
    return {**one.about, "algorithm_name": one.name, "trained_on_this_scenario": one.seen}


def _document(one: Footing | None) -> dict[str, Any] | None:
    """What an algorithm knew and was given; null where runs do not record it, or where it differs between scenarios."""
    return None if one is None else one.document()


def _algorithm_document(algorithm: Algorithm) -> dict[str, Any]:
    first = algorithm.trials[0]
    return {
        "algorithm": algorithm.name,
        "congestion": first.congestion,
        "scheduler": first.scheduler,
        "controller": first.controller,
        "variant": first.variant,
        "footing": _document(footing_of(algorithm)),
        "trials": len(algorithm.trials),
        "failed": len(algorithm.trials) - len(algorithm.finished),
        "metrics": {key: asdict(one) for key, one in algorithm.estimates.items()},
        "layers_played": {
            "none" if level < 0 else str(level): share
            for level, share in (algorithm.played.items() if algorithm.finished else ())
        },
    }
