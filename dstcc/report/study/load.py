"""A study's tables, reduced to what its page shows.

A value is a mean over seeds: of each seed first the mean over all points it is pooled from, then the mean of these,
with Student's 95 % interval over the seeds. So the grid counts as chosen and the seeds as drawn.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from dstcc.errors import RunError
from dstcc.report.catalogue import METRICS, Metric
from dstcc.report.numbers import Unit, unit_for_row
from dstcc.run.reading import typed
from dstcc.sweeps.places import PROGRAMS, STUDY, TRAININGS, Place
from dstcc.sweeps.query import dataset, rows_in
from dstcc.sweeps.results import GLOB, read_steadily
from dstcc.sweeps.study import load_study
from dstcc.version import __version__

from .moving import moves_with

SHOWN = (
    "weighted_layers",
    "playback_ratio",
    "full_quality_ratio",
    "goodput_bps",
    "completion_s",
    "mean_rtt_s",
)
"""Metrics with a figure, those without a value in any trial left out."""
SCORE = Metric(
    "score", "Score", "score", +1, "Trainings", "What the recipe's evaluation measures, on seeds apart."
)
CONFIDENCE = 0.95
SUCCEEDED = Metric(
    "succeeded", "Succeeded", "share", +1, "Programs", "Share of runs whose program ended by itself with 0."
)
UNSHOWN = ("exit_code", "ended_s", "mission_s")
"""Numbers of runs of programs without a figure: ``succeeded`` and ``completed_s`` say more."""
KINDS = {"_s": "seconds", "_bps": "bps", "_bytes": "bytes"}
"""What numbers are by the ending of their key."""


@dataclass(frozen=True)
class Mean:
    """A mean over seeds."""

    value: float
    low: float | None
    high: float | None
    """Its interval; ``None`` with one seed."""
    trials: int


@dataclass(frozen=True)
class Axis:
    """What varied."""

    key: str
    column: str
    values: tuple[Any, ...]
    """As the study has them."""
    moves: tuple[str, ...] = ()
    """What else changes with it, in words."""

    @property
    def unit(self) -> Unit | None:
        """For its values, where they are seconds, rates or sizes; ``None`` for other numbers and for texts."""
        kind = next((kind for end, kind in KINDS.items() if self.key.endswith(end)), None)
        return unit_for_row(kind, map(float, self.values)) if kind and self.numeric else None

    @property
    def title(self) -> str:
        """Its column with the unit of its labels."""
        if self.unit is None:
            return self.column
        bare = next(
            (self.column.removesuffix(end) for end in KINDS if self.column.endswith(end)), self.column
        )
        return f"{bare} ({self.unit.name})"

    @property
    def numeric(self) -> bool:
        """Whether all its values are numbers."""
        return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.values)


@dataclass(frozen=True)
class StudyReport:
    """A study as its page shows it."""

    path: Path
    about: Mapping[str, Any]
    study: str
    """Its file."""
    axes: tuple[Axis, ...]
    algorithms: tuple[str, ...]
    metrics: tuple[Metric, ...]
    seeds: int
    trials: int
    """With a result."""
    counts: Mapping[str, int]
    """The same by algorithm."""
    overall: Mapping[tuple[str, str], Mean]
    """By metric and algorithm."""
    along: Mapping[tuple[str, str, str], Mapping[Any, Mean]]
    """By axis, metric and algorithm: by the axis's value."""
    failures: tuple[Mapping[str, Any], ...]

    @property
    def alike(self) -> bool:
        """Whether all algorithms have as many results, so that means over the grid can be compared."""
        return len(set(self.counts.values())) <= 1

    @property
    def missing(self) -> int:
        """Trials without a result."""
        return max(0, int(self.about["trials"]) - self.trials)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "dstcc_version": __version__,
            "study": self.about["name"],
            "points": self.about["points"],
            "trials": self.about["trials"],
            "results": self.trials,
            "failed": len(self.failures),
            "overall": [
                {"metric": metric, "algorithm": algorithm, **_words(mean)}
                for (metric, algorithm), mean in self.overall.items()
            ],
            "along": [
                {"axis": axis, "metric": metric, "algorithm": algorithm, "at": value, **_words(mean)}
                for (axis, metric, algorithm), means in self.along.items()
                for value, mean in means.items()
            ],
        }


def _words(mean: Mean) -> dict[str, Any]:
    return {"mean": mean.value, "low": mean.low, "high": mean.high, "trials": mean.trials}


def load_study_report(path: Path) -> StudyReport:
    """Read a study's folder, also while its sweep runs; raises :class:`RunError` naming what cannot be used."""
    place = Place(Path(path))
    about = place.about()
    study = load_study(place.path / STUDY, folder=Path(about["folder"]))
    axes = tuple(
        Axis(one["key"], one["column"], tuple(map(_as_column, one["values"])), moves_with(study, one["key"]))
        for one in about["axes"]
    )
    if len({file.stem for file in _scenarios(place)}) > 1:
        names = tuple(sorted({file.stem for file in _scenarios(place)}))
        axes = (Axis("scenario", "scenario", names), *axes)
    shown = _metrics(place, about["kind"])
    table = read_steadily(place, lambda: _read(place, axes, shown))
    rows = table.num_rows
    metrics = tuple(one for one in shown if rows and table[one.key].null_count < rows)
    algorithms = tuple(sorted(set(table["algorithm"].to_pylist()) if table.num_rows else ()))
    overall = {
        (metric.key, key[0]): mean
        for metric in metrics
        for key, mean in _means(table, [], metric.key).items()
    }
    counted = table["algorithm"].value_counts().to_pylist() if rows else []
    along: dict[tuple[str, str, str], dict[Any, Mean]] = {}
    for axis in axes:
        for metric in metrics:
            for (algorithm, value), mean in _means(table, [axis.column], metric.key).items():
                along.setdefault((axis.column, metric.key, algorithm), {})[value] = mean
    return StudyReport(
        Path(path),
        about,
        place.text(),
        axes,
        algorithms,
        metrics,
        len(set(table["seed"].to_pylist())) if table.num_rows else 0,
        table.num_rows,
        {one["values"]: one["counts"] for one in counted},
        overall,
        along,
        tuple(place.failures()),
    )


def _scenarios(place: Place) -> list[Path]:
    return list(load_study(place.path / STUDY).scenarios)


def _metrics(place: Place, kind: str) -> list[Metric]:
    if kind == PROGRAMS:
        parts = dataset(place)
        names = () if parts is None else parts.schema.names[parts.schema.get_field_index("seed") + 1 :]
        return [_of_programs(name) for name in names if "." not in name and name not in UNSHOWN]
    return [SCORE] if kind == TRAININGS else [one for one in METRICS if one.key in SHOWN]


def _of_programs(name: str) -> Metric:
    """A number of a whole run: ours, or one that a program prints, whose unit ends its name."""
    if name == SUCCEEDED.key:
        return SUCCEEDED
    end = next((end for end in KINDS if name.endswith(end)), "")
    label = name.removesuffix(end).replace("_", " ").strip().capitalize() or name
    if end == "_bytes":
        label += " (bytes)"
    return Metric(name, label, KINDS.get(end, "count"), 0, "Programs", "")


def _as_column(value: Any) -> Any:
    """A value as its column has it (:func:`dstcc.sweeps.plan.Plan.about`)."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value


def _read(place: Place, axes: Sequence[Axis], metrics: Sequence[Metric]) -> pa.Table:
    """The columns that the page needs, a row a trial."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = dataset(place)
    names = [
        "key",
        "algorithm",
        "seed",
        *(axis.column for axis in axes),
        *(one.key for one in metrics),
    ]
    if parts is None:
        return pa.table({name: pa.array([], pa.null()) for name in names})
    lacking = [name for name in names if name not in parts.schema.names]
    if lacking:
        raise RunError(
            f"{place.trials}: no part has a column {lacking[0]}; `dstcc sweep` again puts them in order"
        )
    whole = rows_in(place, parts, names)
    types = {
        "key": pa.string(),
        "algorithm": pa.string(),
        "seed": pa.int64(),
        **{one.key: pa.float64() for one in metrics},
    }
    for name, wanted in types.items():
        field = pa.field(name, wanted, nullable=wanted == pa.float64())
        column = typed(place.trials / GLOB, whole.column(name), field)
        whole = whole.set_column(names.index(name), field, column)
    for axis in axes:
        if not _sortable(whole.column(axis.column).type):
            raise RunError(f"{place.trials / GLOB}: column {axis.column} is {whole.column(axis.column).type}")
    if pc.count_distinct(whole["key"]).as_py() == whole.num_rows:
        return whole.drop_columns(["key"])
    # a trial may be in two parts
    first = pa.TableGroupBy(whole, "key", use_threads=False).aggregate(
        [(name, "first") for name in names[1:]]
    )
    return first.drop_columns(["key"]).rename_columns(names[1:])


def _sortable(kind: pa.DataType) -> bool:
    """Whether an axis can have values of a type."""
    import pyarrow.types as of

    return any(
        is_a(kind) for is_a in (of.is_string, of.is_integer, of.is_floating, of.is_boolean, of.is_null)
    )


def _means(table: pa.Table, by: Sequence[str], metric: str) -> dict[tuple[Any, ...], Mean]:
    """A metric's means by algorithm and the columns ``by``, in their order; values that are null are left out."""
    from scipy.special import stdtrit

    if not table.num_rows:
        return {}
    seeded = table.group_by(["algorithm", *by, "seed"]).aggregate([(metric, "mean"), (metric, "count")])
    groups: dict[tuple[Any, ...], list[tuple[float, int]]] = {}
    keys = zip(*(seeded[name].to_pylist() for name in ("algorithm", *by)), strict=True)
    values = zip(seeded[f"{metric}_mean"].to_pylist(), seeded[f"{metric}_count"].to_pylist(), strict=True)
    for key, (value, count) in zip(keys, values, strict=True):
        if value is not None and math.isfinite(value):
            groups.setdefault(key, []).append((value, count))
    found = {}
    for key in sorted(
        groups, key=lambda one: tuple((isinstance(part, str), part is None, part) for part in one)
    ):
        seeds = sorted(value for value, _ in groups[key])  # in one order, whatever threads did
        mean, n = math.fsum(seeds) / len(seeds), len(seeds)
        half = None
        if n > 1:
            deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in seeds) / (n - 1))
            half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * deviation / math.sqrt(n)
        trials = sum(count for _, count in groups[key])
        found[key] = Mean(
            mean, None if half is None else mean - half, None if half is None else mean + half, trials
        )
    return found
