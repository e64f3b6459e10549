"""A row for each published number: what was measured in its place, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.arrays import Float64Array
from dstcc.stats import Estimate

from .estimates import estimate
from .model import ALONE, BETWEEN, OTHER, Figure, Measure, Number, Paper
from .verdict import judge

if TYPE_CHECKING:
    from .carry import Results


ZERO_WHERE_NOTHING_CAME = "_bps"
"""A rate without a value is that of a trial which delivered nothing."""


@dataclass(frozen=True)
class PublishedRow:
    """A published number beside the measured one."""

    figure: str
    quantity: str
    published: float | tuple[float, float] | None
    """``None`` where the paper claims an order."""
    measured: float | None
    low: float | None
    high: float | None
    verdict: str
    unit: str
    claim: str
    seeds: int
    place: str
    source: str
    note: str
    setting: str = ""
    """Of a map: the axis and the value, or the axis alone where it is about all values."""

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


COLUMNS = tuple(PublishedRow.__dataclass_fields__)


def rows_of(paper: Paper, results: Iterable[Results]) -> list[PublishedRow]:
    """The rows of the figures that were run, in the order of ``published.toml``."""
    by_id = {one.figure.id: one for one in results if one.setting is None}
    return [
        row
        for number in paper.number
        if number.figure in by_id
        for row in rows_of_number(number, by_id[number.figure])
    ]


def rows_of_number(number: Number, results: Results) -> Iterable[PublishedRow]:
    """Its row, or one for each of the others that it is compared with."""
    others = number.measure.over or (None,)
    for other in others:
        measured = measure(number.measure, other, results)
        effect = number.measure.kind not in ALONE or bool(number.claim)
        yield PublishedRow(
            figure=number.figure,
            quantity=number.quantity.replace(OTHER, other or ""),
            published=number.published,
            measured=measured.value if measured else None,
            low=measured.low if measured else None,
            high=measured.high if measured else None,
            verdict=judge(
                measured,
                number.published,
                effect=effect,
                unit=number.unit,
                drawn=results.figure.kind != "links",
            ),
            unit=number.unit,
            claim=number.claim,
            seeds=measured.n if measured else 0,
            place=number.place,
            source=number.source,
            note=number.note,
            setting=results.setting.words if results.setting else "",
        )


def measure(asked: Measure, other: str | None, results: Results) -> Estimate | None:
    """What came out; ``None`` where no point of it was run, or no seed has a value."""
    points = [point.x for point in results.points if not asked.at or point.x in asked.at]
    names = (*asked.whose, *((other,) if other else ()))
    if not points or not all(results.at(name, x) for name in names for x in points):
        return None
    if asked.kind in BETWEEN:
        first, last = (
            np.concatenate([_values(asked.metric, name, [x], results) for name in asked.whose]) * asked.times
            for x in asked.at
        )
        return estimate(asked.kind, last, first, asked.across) if len(points) == len(asked.at) else None
    each = [_values(asked.metric, name, points, results) for name in asked.whose]
    ours = np.concatenate(each) * asked.times
    others = ours if other is None else _values(asked.metric, other, points, results) * asked.times
    return estimate(asked.kind, ours, others, asked.across)


def mean_of(metric: str, name: str, x: float | str, results: Results) -> Estimate | None:
    """A metric's mean at one point."""
    if not results.at(name, x):
        return None
    values = _values(metric, name, [x], results)
    return estimate("level", values, values, "most")


def metrics_of(figure: Figure, paper: Paper) -> tuple[str, ...]:
    """What is measured of a figure: the metric that is drawn first."""
    own = [number.measure.metric for number in paper.number if number.figure == figure.id]
    first = [figure.plot.y] if figure.plot.kind in ("lines", "dots", "bars") else []
    return tuple(dict.fromkeys([*first, *own]))


def _values(metric: str, name: str, points: list[float | str], results: Results) -> Float64Array:
    """(points, seeds); NaN where a seed has no value."""
    return np.array([[_value(one.values, metric) for one in results.at(name, x)] for x in points])


def _value(values: dict[str, float | None], metric: str) -> float:
    value = values.get(metric)
    if value is not None:
        return value
    return 0.0 if metric in values and metric.endswith(ZERO_WHERE_NOTHING_CAME) else float("nan")
