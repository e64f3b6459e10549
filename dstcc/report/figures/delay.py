"""Delay of layers from capture to completion: a cumulative distribution per layer, a line per algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.report.model import Algorithm, Section
from dstcc.report.numbers import Unit, unit_for
from dstcc.report.tables import Tables

from .looks import Looks
from .section import SectionFigure, Shown, finding, register
from .style import (
    INK,
    MUTED,
    draw_svg,
    focus,
    layer_name,
    legend_above,
    legend_chars,
    quiet_ticks,
    set_margins,
    width_in,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

COLUMNS = 4
LEFT_IN = 0.84
PANEL_IN = 2.5
QUANTILES = 400
DEADLINE: dict[str, Any] = {"color": INK, "linewidth": 1.0, "linestyle": (0, (4, 2))}
BEYOND_DEADLINE = 2.5


def delay_figure(section: Section, tables: Tables, looks: Looks, salt: str, *, narrow: bool = False) -> str:
    """All finished trials pooled; layers that never completed keep their line below 100 %."""
    gathered, deadlines = _gather(section, tables)
    deadline = max(deadlines, default=0.0)
    layers = sorted({layer for _, layer in gathered})
    right = _right(gathered, deadline)
    unit = unit_for("seconds", [right])
    columns = 1 if narrow else min(COLUMNS, max(1, len(layers)))
    rows = -(-len(layers) // columns)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes, layer in zip(grid.flat, layers, strict=False):
            for algorithm in section.pictured:
                values, total = gathered[algorithm.name, layer]
                x, y = _steps(values, total, right)
                axes.plot(x / unit.factor, y, drawstyle="steps-post", **styles[algorithm.name])
            _dress(axes, layer, deadlines, unit)
        for axes in grid.flat[len(layers) :]:
            axes.set_visible(False)
        grid[0][0].set_xlim(0, right / unit.factor)
        _frame(figure, grid, unit, legend_above(figure, lines, chars, **extra))

    styles, lines = focus([algorithm.name for algorithm in section.pictured], looks)
    chars = legend_chars(narrow)
    extra = {"playout deadline": DEADLINE} if deadlines else {}
    height = PANEL_IN * rows + 0.7 + legend_above(None, lines, chars, **extra)
    return draw_svg(f"{salt}-delay", height, draw, width_in=width_in(narrow))


def curves(section: Section, tables: Tables) -> dict[tuple[str, int], tuple[NDArray[Any], NDArray[Any]]]:
    """(algorithm, layer) → delays in seconds and the share of the layer's parts that are complete within each."""
    gathered, deadlines = _gather(section, tables)
    right = _right(gathered, max(deadlines, default=0.0))
    return {key: _steps(values, total, right) for key, (values, total) in gathered.items()}


def _right(curves: dict[tuple[str, int], tuple[NDArray[Any], int]], deadline: float) -> float:
    """Where the axis ends, in seconds."""
    longest = max((float(values[-1]) for values, _ in curves.values() if values.size), default=1.0)
    return max(deadline * 1.45, min(longest, deadline * BEYOND_DEADLINE)) if deadline else longest * 1.02


def _gather(
    section: Section, tables: Tables
) -> tuple[dict[tuple[str, int], tuple[NDArray[Any], int]], list[float]]:
    """(algorithm, layer) → sorted delays in s, and the number of layers sent; the trials' playout delays."""
    curves: dict[tuple[str, int], tuple[NDArray[Any], int]] = {}
    deadlines: list[float] = []
    for algorithm in section.pictured:
        delays, layer, deadline = _delays(algorithm, tables)
        if deadline.size and not section.waits:
            deadlines += [float(deadline.min()), float(deadline.max())]
        for index in range(max(section.levels) + 1):
            here = delays[layer == index]
            curves[algorithm.name, index] = (np.sort(here[np.isfinite(here)]), int(here.size))
    return curves, deadlines


def _delays(algorithm: Algorithm, tables: Tables) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    columns = [tables.chunks(trial) for trial in algorithm.finished]
    delays = np.concatenate([c["complete_s"] - c["capture_s"] for c in columns])
    deadline = np.concatenate([c["deadline_s"] - c["capture_s"] for c in columns])
    return delays, np.concatenate([c["layer"] for c in columns]), deadline[np.isfinite(deadline)]


def _steps(values: NDArray[Any], total: int, right: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """A curve of at most :data:`QUANTILES` points, extended horizontally to the right edge."""
    if values.size == 0:
        return np.array([0.0, right]), np.zeros(2)
    ranks = np.unique(np.linspace(0, values.size - 1, QUANTILES).astype(int))
    x = np.concatenate([[0.0, values[0]], values[ranks], [max(right, float(values[-1]))]])
    y = np.concatenate([[0.0, 0.0], (ranks + 1) / total, [values.size / total]])
    return x, y


def _dress(axes: Axes, layer: int, deadlines: list[float], unit: Unit) -> None:
    axes.set_title(layer_name(layer), loc="left", color=INK, weight="bold")
    if deadlines:
        first, last = min(deadlines) / unit.factor, max(deadlines) / unit.factor
        for edge in {first, last}:
            axes.axvline(edge, zorder=1, **DEADLINE)
        axes.axvspan(first, last, color=MUTED, alpha=0.13, linewidth=0, zorder=0)
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0], labels=["0 %", "25 %", "50 %", "75 %", "100 %"])
    quiet_ticks(axes)


def _frame(figure: Figure, grid: Any, unit: Unit, above_in: float) -> None:
    for axes in grid[-1]:
        axes.set_xlabel(f"capture to complete ({unit.name})")
    for row in grid:
        row[0].set_ylabel("share of layers")
    set_margins(figure, left=LEFT_IN, right=0.11, top=0.3 + above_in, bottom=0.5, wspace=0.08, hspace=0.3)


def _caption(shown: Shown) -> str:
    deadline = (
        "; only what lies left of the playout deadline was in time to play (a band where the deadline differs "
        "by seed)."
    )
    chosen = f" Shown: {shown.chosen}." if shown.chosen else ""
    return (
        "Cumulative distribution of the time from capture to complete, all trials of an algorithm together. A "
        f"line that ends below 100 % left layers undelivered{'.' if shown.section.waits else deadline}{chosen}"
    )


def delay_rows(section: Section, tables: Tables) -> Iterator[Sequence[Any]]:
    """The curves of the delivery delay: share of a layer's parts that are complete within a delay."""
    yield "algorithm", "layer", "delay_s", "share"
    for (name, layer), (delay_s, share) in curves(section, tables).items():
        for x, y in zip(delay_s.tolist(), share.tolist(), strict=True):
            yield name, layer, x, y


register(
    SectionFigure(
        "delay",
        "Delivery delay",
        "delivery",
        delay_figure,
        lambda shown: (
            "Cumulative share of layers complete within a delay after capture, per layer and algorithm. Base layers in "
            f"time: {finding(shown.section.pictured, 'playback_ratio')}."
        ),
        _caption,
        delay_rows,
    )
)
