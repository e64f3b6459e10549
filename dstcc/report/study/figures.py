"""A metric over what varied: a line for each algorithm with its interval, as plain SVG."""

from __future__ import annotations

import math
from dataclasses import replace
from html import escape
from typing import Any

from dstcc.report.catalogue import Metric
from dstcc.report.figures.looks import COLOURS, Look
from dstcc.report.numbers import unit_for

from .load import Axis, Mean, StudyReport

WIDTH, NARROW, HEIGHT = 760, 350, 300
"""Of a picture, and of one for a phone, in pixels of text of 12."""
LEFT, RIGHT, TOP, BOTTOM = 74, 16, 14, 46
FAR_APART = 30.0
"""Positive values of which the largest is so many times the least stand on a logarithmic axis."""
TICKS = 5
"""About so many values stand at the vertical axis, round ones."""
ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
LABEL_WIDTH = 60
"""Pixels that a label of the axis takes, with the gap beside it."""


def figure(
    report: StudyReport, axis: Axis, metric: Metric, looks: dict[str, Look], *, narrow: bool = False
) -> str:
    """The picture; empty where there is nothing to show."""
    width = NARROW if narrow else WIDTH
    lines = {name: report.along.get((axis.column, metric.key, name), {}) for name in report.algorithms}
    points = [(value, mean) for means in lines.values() for value, mean in means.items()]
    if not points:
        return ""
    values = [value for value in axis.values if any(value == one for one, _ in points)]
    across = _positions(axis, values, width)
    ends = [end for _, mean in points for end in (mean.value, mean.low, mean.high) if end is not None]
    unit = unit_for(metric.kind, ends)
    ticks = _ticks(min(ends), max(ends), unit.factor, share=metric.kind == "share")
    low, high = ticks[0], ticks[-1]

    def y(value: float) -> float:
        return TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" font-size="12" fill="currentColor">'
    ]
    decimals = max(_decimals(value / unit.factor) for value in ticks)
    unit = replace(unit, decimals=decimals)
    for value in ticks:
        text = f"{unit.number(value)}{' ' + unit.name if unit.name else ''}"
        at = f"{y(value):.1f}"
        parts += [
            f'<line x1="{LEFT}" x2="{width - RIGHT}" y1="{at}" y2="{at}" stroke="currentColor" stroke-opacity="0.15"/>',
            f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{escape(text)}</text>',
        ]
    stride = math.ceil(len(values) * LABEL_WIDTH / (width - LEFT - RIGHT))
    below = HEIGHT - BOTTOM + 18
    for value in values[::stride]:
        parts.append(
            f'<text x="{across[value]:.1f}" y="{below}" text-anchor="middle">{escape(label(value, axis))}</text>'
        )
    middle = (LEFT + width - RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{HEIGHT - 6}" text-anchor="middle">{escape(axis.title)}</text>')
    for name, means in lines.items():
        places = [(across[value], means[value]) for value in values if value in means]
        parts += _line(places, y, looks[name], joined=axis.numeric)
    return "".join([*parts, "</svg>"])


def label(value: Any, axis: Axis | None = None) -> str:
    """A value in a few characters, in the unit of its axis if that has one (:attr:`Axis.title` names it)."""
    if axis is not None and axis.unit is not None and value is not None:
        return f"{value / axis.unit.factor:.4g}"
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    text = (
        f"{value:g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    )
    return text if len(text) <= 18 else f"{text[:17]}…"


def _positions(axis: Axis, values: list[Any], width: int) -> dict[Any, float]:
    """Where each value stands: numbers by what they are, others side by side."""
    span = width - RIGHT - LEFT - 40
    if axis.numeric and len(values) > 1:
        logarithmic = min(values) > 0 and max(values) / min(values) >= FAR_APART
        at = [math.log(value) if logarithmic else float(value) for value in values]
        low, high = min(at), max(at)
        return {v: LEFT + 20 + (one - low) / (high - low) * span for v, one in zip(values, at, strict=True)}
    step = span / max(1, len(values))
    return {value: LEFT + 20 + step * (place + 0.5) for place, value in enumerate(values)}


def _ticks(low: float, high: float, factor: float, *, share: bool) -> list[float]:
    """Round values in a unit of ``factor`` base units, from at most ``low`` to at least ``high``; of shares 0 to 1."""
    if share:
        low, high = 0.0, max(1.0, high)
    elif high <= low:
        low, high = low - (abs(low) or factor) / 2, high + (abs(high) or factor) / 2
    rough = (high - low) / factor / (TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one for one in ROUND if one * power >= rough * (1 - 1e-9)) * power
    first, last = math.floor(low / factor / step + 1e-9), math.ceil(high / factor / step - 1e-9)
    return [number * step * factor for number in range(first, last + 1)]


def _decimals(value: float) -> int:
    """How many decimals show a round value."""
    return next((digits for digits in range(6) if math.isclose(round(value, digits), value, abs_tol=1e-9)), 6)


def _line(places: list[tuple[float, Mean]], y: Any, look: Look, *, joined: bool) -> list[str]:
    """One algorithm: its interval as a band or as whiskers, its means as a line or as dots."""
    colour = f"var(--a{COLOURS.index(look.colour)})"
    dash = (
        ""
        if look.dashes == "-"
        else f' stroke-dasharray="{" ".join(f"{3 * one:g}" for one in look.dashes[1])}"'
    )
    drawn = []
    for x, mean in places:
        if mean.low is not None and mean.high is not None:
            drawn.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y(mean.low):.1f}" y2="{y(mean.high):.1f}" stroke="{colour}" '
                'stroke-width="1.5"/>'
            )
        drawn.append(f'<circle cx="{x:.1f}" cy="{y(mean.value):.1f}" r="3" fill="{colour}"/>')
    if joined and len(places) > 1:
        path = " ".join(f"{x:.1f},{y(mean.value):.1f}" for x, mean in places)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
    return drawn
