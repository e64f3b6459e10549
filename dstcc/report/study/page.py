"""The page of a study, in the report's style."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dstcc.report.catalogue import Metric
from dstcc.report.figures.looks import COLOURS, Look, looks
from dstcc.report.mark import STUDY_COLUMNS, comment
from dstcc.report.numbers import SPACE, quantity, unit_for_row
from dstcc.report.printed import table_lines
from dstcc.report.template import TEMPLATES, Plot, fill
from dstcc.spreadsheet import records_csv
from dstcc.stats import few_seeds

from .figures import figure, label
from .load import Axis, Mean, StudyReport
from .moving import SAME_AXIS

SHOWN_FAILURES = 50


@dataclass(frozen=True)
class Figure:
    """A metric over an axis."""

    title: str
    plot: Plot


def render_study(report: StudyReport, form: str = "html") -> str:
    """The page, or the same numbers as ``md``, ``csv`` or ``json``; the same study gives the same bytes."""
    if form == "json":
        return json.dumps(report.document(), indent=1, ensure_ascii=False) + "\n"
    if form == "csv":
        return _csv(report)
    if form == "md":
        return _markdown(report)
    styles = looks(report.algorithms)
    return fill(
        TEMPLATES / "study.html",
        report=report,
        about=report.about,
        verdict=verdict(report),
        legend=[(name, _swatch(styles[name])) for name in report.algorithms],
        axes=report.axes,
        span=axis_span,
        sections=[(axis, list(_figures(report, axis, styles))) for axis in report.axes],
        cell=lambda metric, name: cell(report, metric, name),
        pooled_over=lambda axis: pooled_over(report, axis),
        failures=report.failures[:SHOWN_FAILURES],
        command=shlex.join(["dstcc", *report.about["argv"][1:]]),
    )


def verdict(report: StudyReport) -> str:
    """What there is, and who is best over the whole grid."""
    said = f"{report.trials:,} of {report.about['trials']:,} trials at {report.about['points']:,} points"
    said += f", {report.seeds:,} seeds" if report.seeds != 1 else ", one seed"
    said += f", {len(report.failures):,} failed." if report.failures else "."
    said = f"{said} {few_seeds(report.seeds)}".rstrip()
    if not report.metrics or len(report.algorithms) < 2 or not report.alike:
        return said
    metric = report.metrics[0]
    means = {name: mean.value for (key, name), mean in report.overall.items() if key == metric.key}
    best = max(means, key=lambda name: means[name] * (metric.better or 1))
    value = quantity(metric.kind, means[best])
    return f"Over the complete grid {best} has the best mean {metric.label.lower()}, {value}. {said}"


def axis_span(axis: Axis) -> str:
    """An axis's values in a few words."""
    texts = [label(value, axis) for value in axis.values]
    unit = f" {axis.unit.name}" if axis.unit else ""
    return (", ".join(texts) if len(texts) <= 6 else f"{texts[0]} … {texts[-1]}") + unit


def pooled_over(report: StudyReport, axis: Axis) -> str:
    """What a mean in the figures of an axis is taken over, and what else changes along it."""
    together = {text.removesuffix(SAME_AXIS) for text in axis.moves}
    others = [one.column for one in report.axes if one.column not in {axis.column, *together}]
    over = ", ".join(["seeds", *others])
    said = f"Means over {over}, with Student's 95 % interval over the seeds."
    return f"{said} With {axis.column} also change: {'; '.join(axis.moves)}." if axis.moves else said


def cell(report: StudyReport, metric: Metric, name: str) -> tuple[str, str]:
    """A mean and its interval as text."""
    mean = report.overall.get((metric.key, name))
    if mean is None:
        return "–", ""
    row = [one.value for (key, _), one in report.overall.items() if key == metric.key]
    unit = unit_for_row(metric.kind, row)
    value = f"{unit.number(mean.value)}{SPACE + unit.name if unit.name else ''}"
    return value, _interval(mean, unit)


def _interval(mean: Mean, unit: Any) -> str:
    return (
        ""
        if mean.low is None or mean.high is None
        else f"{unit.number(mean.low)} to {unit.number(mean.high)}"
    )


def _figures(report: StudyReport, axis: Axis, styles: dict[str, Look]) -> Iterator[Figure]:
    for metric in report.metrics:
        if svg := figure(report, axis, metric, styles):
            plot = Plot(
                svg, _finding(report, axis, metric), figure(report, axis, metric, styles, narrow=True)
            )
            yield Figure(metric.label, plot)


def _finding(report: StudyReport, axis: Axis, metric: Metric) -> str:
    """A figure in words: each algorithm's mean at the first and at the last value of the axis."""
    lines = {name: report.along.get((axis.column, metric.key, name), {}) for name in report.algorithms}
    unit = unit_for_row(metric.kind, [mean.value for means in lines.values() for mean in means.values()])
    ends_in = SPACE + axis.unit.name if axis.unit else ""
    said = []
    for name, means in lines.items():
        ends = [(value, means[value]) for value in axis.values if value in means]
        texts = [
            f"{unit.number(mean.value)}{SPACE + unit.name if unit.name else ''} at {label(value, axis)}{ends_in}"
            for value, mean in dict.fromkeys([ends[0], ends[-1]] if ends else [])
        ]
        if texts:
            said.append(f"{name} {' and '.join(texts)}")
    return f"{metric.label} over {axis.column}: {'; '.join(said)}."


def _swatch(look: Look) -> str:
    """A sample of a line."""
    dash = (
        ""
        if look.dashes == "-"
        else f' stroke-dasharray="{" ".join(f"{3 * one:g}" for one in look.dashes[1])}"'
    )
    colour = f"var(--a{COLOURS.index(look.colour)})"
    line = f'<line x1="0" x2="28" y1="6" y2="6" stroke="{colour}" stroke-width="3"{dash}/>'
    return f'<svg width="28" height="12" viewBox="0 0 28 12" aria-hidden="true">{line}</svg>'


def _csv(report: StudyReport) -> str:
    document = report.document()
    return records_csv(STUDY_COLUMNS, [*document["overall"], *document["along"]])


def _markdown(report: StudyReport) -> str:
    lines = [f"# {report.about['name']}", "", verdict(report), ""]
    if report.axes:
        lines += ["| varied | column | values | |", "|---|---|---|---|"]
        lines += [
            f"| `{one.key}` | {one.column} | {len(one.values)} | {axis_span(one)} |" for one in report.axes
        ]
        lines.append("")
    rows = [["algorithm", "trials", *(metric.label for metric in report.metrics)]]
    for name in report.algorithms:
        shown = [cell(report, metric, name) for metric in report.metrics]
        cells = [f"{value} ({span})" if span else value for value, span in shown]
        rows.append([name, f"{report.counts[name]:,}", *cells])
    lines += table_lines("l" * len(rows[0]), *rows)
    for one in report.failures[:SHOWN_FAILURES]:
        lines += [f"Failed: {one['trial']}: {one['error']}", ""]
    return "\n".join([*lines, comment()])
