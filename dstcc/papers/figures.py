"""A paper's figures: what was measured, and below it each published number beside the measured one."""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.layers import level_name
from dstcc.report.figures.looks import looks
from dstcc.report.figures.style import (
    GRID,
    INK,
    MUTED,
    draw_svg,
    in_light_colours,
    legend_above,
    level_colours,
    quiet_ticks,
)

from .rows import PublishedRow, mean_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from .carry import Results

WIDTH_IN = 9.4
PLOT_IN, ROW_IN, HEAD_IN, FOOT_IN = 3.1, 0.26, 0.45, 0.6
LEFT = 0.12
NAMES = 0.46
"""Where the comparison's own axes begin, as a share of the width: its quantities are written to the left of it."""
QUANTITY_CHARS = 66
NAMED_ROWS = ("stack", "dots")
"""Plots with a line per algorithm, which need no legend."""
MOST_LINES = 6
"""In one plot of lines; of more algorithms each has a panel."""
COLUMNS, PANEL_IN = 4, 1.35
WINDOW = 0.05
"""Of a learning curve's episodes, over which it is averaged."""
SHADE = 0.15


def draw(results: Results, rows: list[PublishedRow], salt: str) -> str:
    """The figure as an inline ``<svg>``."""
    figure = results.figure
    compared = [row for row in rows if row.published is not None]
    shown = looks(figure.names)  # of all, so that an algorithm looks the same with --quick
    colours = {name: look.colour for name, look in shown.items()}
    dashes = {name: look.dashes for name, look in shown.items()}
    stacked = figure.plot.kind in NAMED_ROWS
    panels = figure.plot.kind == "lines" and len(results.names) > MOST_LINES
    lines = [] if stacked or panels else [(name, colours[name], dashes[name]) for name in results.names]
    chars = round(170 * WIDTH_IN / 11.2)
    legend_in = legend_above(None, lines, chars) if lines else 0.0
    rows_of_panels = -(-len(results.names) // COLUMNS)
    plot_in = (
        PANEL_IN * rows_of_panels if panels else PLOT_IN + (0.22 * len(results.names) - 1.6 if stacked else 0)
    )
    below_in = HEAD_IN + ROW_IN * len(compared) + FOOT_IN if compared else 0.1
    height = legend_in + 0.2 + plot_in + FOOT_IN + below_in

    def fill(canvas: Canvas) -> None:
        if lines:
            legend_above(canvas, lines, chars)
        left = 0.3 if stacked else LEFT
        place = (left, (below_in + FOOT_IN) / height, 0.97 - left, plot_in / height)
        if panels:
            _panels(canvas, place, results, colours)
        else:
            axes = canvas.add_axes(place)
            DRAWN[figure.plot.kind](axes, results, colours, dashes)
            quiet_ticks(axes)
        if compared:
            part = ROW_IN * len(compared) / height
            _compare(canvas.add_axes((NAMES, FOOT_IN / height, 0.97 - NAMES, part)), compared)

    return draw_svg(f"{salt}-{figure.id}", height, fill, width_in=WIDTH_IN)


def standalone(svg: str) -> str:
    """The same as a file of its own: in light colours, with fonts by name."""
    svg = in_light_colours(svg)
    box = re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)"', svg)
    size = f' width="{box[1]}pt" height="{box[2]}pt"' if box else ""
    links = ' xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + svg.replace("<svg", f"<svg{links}{size}", 1) + "\n"


def _panels(
    canvas: Canvas, place: tuple[float, float, float, float], results: Results, colours: dict[str, str]
) -> None:
    """A panel for each algorithm: its line in colour with its interval, before those of all others in grey."""
    x, y, width, height = place
    rows = -(-len(results.names) // COLUMNS)
    wide, high = width / COLUMNS, height / rows
    grey, solid = dict.fromkeys(results.names, GRID), dict.fromkeys(results.names, "-")
    first: Axes | None = None
    for number, name in enumerate(results.names):
        row, column = divmod(number, COLUMNS)
        corner = (x + column * wide, y + (rows - 1 - row) * high)
        axes = canvas.add_axes((*corner, 0.9 * wide, 0.68 * high), sharex=first, sharey=first)
        first = first or axes
        others = tuple(other for other in results.names if other != name)
        _lines(axes, results, grey, solid, others, intervals=False)
        _lines(axes, results, colours, solid, (name,))
        axes.set_title(name, loc="left", color=INK)
        quiet_ticks(axes)
        axes.set(xlabel="", ylabel="")
        axes.tick_params(
            labelleft=column == 0, labelbottom=number + COLUMNS >= len(results.names), which="both"
        )
    plot = results.figure.plot
    canvas.text(0.02, y + height / 2, plot.y_label, rotation=90, va="center", color=MUTED)
    bottom = y - 0.75 * FOOT_IN / canvas.get_figheight()
    canvas.text(x + width / 2, bottom, plot.x_label, ha="center", color=MUTED)


def _lines(
    axes: Axes,
    results: Results,
    colours: dict[str, str],
    dashes: dict[str, Any],
    names: tuple[str, ...] | None = None,
    *,
    intervals: bool = True,
) -> None:
    """Of the named algorithms, of all unless given."""
    plot, points = results.figure.plot, [point.x for point in results.points]
    named = any(isinstance(x, str) for x in points) or len(points) == 1
    where = list(range(len(points))) if named else [float(x) for x in points]
    for name in names or results.names:
        means = [mean_of(plot.y, name, x, results) for x in points]
        there = [(x, one) for x, one in zip(where, means, strict=True) if one is not None]
        if not there:
            continue
        xs = [x for x, _ in there]
        values = [one.value * plot.times for _, one in there]
        bounds = [[bound * plot.times for bound in one.bounds()] for _, one in there]
        lows, highs = ([bound[side] for bound in bounds] for side in (0, 1))
        axes.plot(
            xs, values, color=colours[name], linestyle=dashes[name], linewidth=1.5, marker="o", markersize=3.5
        )
        if not intervals:
            continue
        if len(xs) > 1:
            axes.fill_between(xs, lows, highs, color=colours[name], alpha=SHADE, linewidth=0)
        else:
            axes.vlines(xs, lows, highs, color=colours[name], linewidth=1.2)
    if named:
        axes.set_xticks(where, labels=[str(x) for x in points])
        axes.set_xlim(-0.5, len(points) - 0.5)
    _dress(axes, results, log_x=not named)


def _dots(axes: Axes, results: Results, colours: dict[str, str], _dashes: dict[str, Any]) -> None:
    """A figure of one point: a line per algorithm, with its name."""
    plot, names = results.figure.plot, results.names
    for row, name in enumerate(names):
        one = mean_of(plot.y, name, results.points[0].x, results)
        if one is not None:
            axes.plot([one.value * plot.times], [row], marker="o", markersize=5, color=colours[name])
            low, high = (bound * plot.times for bound in one.bounds())
            axes.hlines(row, low, high, color=colours[name], linewidth=1.5)
    axes.set_yticks(range(len(names)), labels=names, color=INK)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(plot.y_label)
    if plot.log_y and axes.dataLim.x1 > 0:
        from matplotlib.ticker import FuncFormatter

        axes.set_xscale("log")
        for formatted in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
            formatted(FuncFormatter(lambda value, _place: f"{value:,g}" if f"{value:g}"[0] in "125" else ""))
    else:
        axes.set_xlim(left=0)


def _bars(axes: Axes, results: Results, colours: dict[str, str], _dashes: dict[str, Any]) -> None:
    plot, points, names = results.figure.plot, results.points, results.names
    width = 0.8 / len(names)
    for index, name in enumerate(names):
        for place, point in enumerate(points):
            one = mean_of(plot.y, name, point.x, results)
            if one is None:
                continue
            x = place + (index - (len(names) - 1) / 2) * width
            axes.bar(x, one.value * plot.times, width * 0.9, color=colours[name])
            low, high = (bound * plot.times for bound in one.bounds())
            axes.vlines(x, low, high, color=INK, linewidth=1.0)
    axes.set_xticks(range(len(points)), labels=[str(point.x) for point in points])
    axes.set_xlim(-0.5, len(points) - 0.5)
    axes.grid(axis="x", visible=False)
    _dress(axes, results)


def _stack(axes: Axes, results: Results, _colours: dict[str, str], _dashes: dict[str, Any]) -> None:
    names, x = results.names, results.points[0].x
    keys = [key for key in results.at(names[0], x)[0].values if key.startswith("layers_played.")]
    levels = sorted(-1 if key.endswith("none") else int(key.rpartition(".")[2]) for key in keys)
    shades = level_colours(tuple(levels))
    for row, name in enumerate(names):
        left = 0.0
        for level in reversed(levels):
            one = mean_of(f"layers_played.{'none' if level < 0 else level}", name, x, results)
            share = one.value * 100 if one else 0.0
            axes.barh(row, share, 0.72, left=left, color=shades[level],
                      label=level_name(level, len(levels) - 1) if row == 0 else None)  # fmt: skip
            left += share
    axes.set(ylim=(len(names) - 0.5, -0.5), xlim=(0, 100), yticks=range(len(names)))
    axes.set_yticklabels(names, color=INK)
    axes.set_xlabel(results.figure.plot.y_label)
    axes.grid(axis="y", visible=False)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(levels), borderaxespad=0.1)


def _curve(axes: Axes, results: Results, colours: dict[str, str], dashes: dict[str, Any]) -> None:
    """A series against its place, or against ``rate_t_s`` where it is a rate; a line per algorithm, the seeds' mean."""
    plot = results.figure.plot
    for name in results.names:
        runs = [one for point in results.points for one in results.at(name, point.x)]
        columns = [np.array(one.series.get(plot.y, [])) for one in runs]
        length = min((column.size for column in columns), default=0)
        if not length:
            continue
        values = np.mean([column[:length] for column in columns], axis=0) * plot.times
        times = runs[0].series.get("rate_t_s") if plot.y == "rate_bps" else None
        x = np.array(times[:length]) if times else np.arange(1, length + 1)
        if plot.y == "returns":
            axes.plot(x, values, color=colours[name], linewidth=0.6, alpha=0.35)
            values = _smooth(values)
        axes.plot(x, values, color=colours[name], linestyle=dashes[name], linewidth=1.4)
    _dress(axes, results)


def _smooth(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The mean of the episodes before, as many as :data:`WINDOW` says."""
    window = max(1, round(WINDOW * values.size))
    sums = np.cumsum(np.insert(values, 0, 0.0))
    ends = np.arange(1, values.size + 1)
    begins = np.maximum(ends - window, 0)
    smooth: np.ndarray[Any, Any] = (sums[ends] - sums[begins]) / (ends - begins)
    return smooth


def _boxes(axes: Axes, results: Results, colours: dict[str, str], _dashes: dict[str, Any]) -> None:
    plot, names = results.figure.plot, results.names
    for index, name in enumerate(names):
        runs = [one for point in results.points for one in results.at(name, point.x)]
        values = np.concatenate([np.array(one.series[plot.y]) for one in runs]) * plot.times
        if not values.size:  # nothing arrived
            continue
        axes.boxplot(
            [values], positions=[index], widths=0.6, showfliers=False, whis=(5, 95),
            medianprops={"color": colours[name], "linewidth": 2}, boxprops={"color": colours[name]},
            whiskerprops={"color": MUTED}, capprops={"color": MUTED},
        )  # fmt: skip
    axes.set_xticks(range(len(names)), labels=names)
    axes.set_xlim(-0.6, len(names) - 0.4)
    _dress(axes, results)


def _dress(axes: Axes, results: Results, *, log_x: bool = True) -> None:
    """``log_x``: as the plot has it; false where places stand for points."""
    plot = results.figure.plot
    axes.set_ylabel(plot.y_label)
    if plot.x_label:
        axes.set_xlabel(plot.x_label)
    from matplotlib.ticker import FuncFormatter

    plain = FuncFormatter(lambda value, _place: f"{value:,g}")
    if plot.log_x and log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(plain)
    if plot.log_y and axes.dataLim.y1 > 0:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(plain)
        axes.yaxis.set_minor_formatter(FuncFormatter(lambda _value, _place: ""))
    elif axes.get_ylim()[0] > 0 and plot.kind != "curve":
        axes.set_ylim(bottom=0)


def _round_up(value: float) -> float:
    """To a power of ten."""
    return float(10.0 ** np.ceil(np.log10(value)))


def _compare(axes: Axes, rows: list[PublishedRow]) -> None:
    """A line per published number: published as a diamond (or a bar, of a range), measured as a dot with its interval.
    Numbers of different size share the axis, which is logarithmic away from 0."""
    from matplotlib.ticker import FuncFormatter, NullLocator, SymmetricalLogLocator

    for index, row in enumerate(rows):
        published = row.published
        if isinstance(published, tuple):
            axes.hlines(index, *published, color=MUTED, linewidth=5, alpha=0.4)
        elif published is not None:
            axes.plot([published], [index], marker="D", markersize=6, color=MUTED, linestyle="none")
        if row.measured is not None and isfinite(row.measured):
            axes.plot([row.measured], [index], marker="o", markersize=4.5, color=INK, linestyle="none")
            if row.low is not None and row.high is not None and isfinite(row.high) and isfinite(row.low):
                axes.hlines(index, row.low, row.high, color=INK, linewidth=1.2)
    labels = [_short(f"{row.quantity}{f' ({row.unit})' if row.unit else ''}") for row in rows]
    axes.set_yticks(range(len(rows)), labels=labels, color=INK)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    sizes = [abs(value) for row in rows for value in (row.measured, _least(row)) if value and isfinite(value)]
    if sizes and max(sizes) > 50 * min(sizes):
        axes.set_xscale("symlog", linthresh=_round_up(max(min(sizes), max(sizes) / 1e4)))
        locator = SymmetricalLogLocator(axes.xaxis.get_transform())
        locator.set_params(numticks=7)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:,g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    ends = [value for row in rows for value in (row.low, row.measured, _least(row)) if value is not None]
    if ends and min(ends) >= 0:
        axes.set_xlim(left=0)
    axes.axvline(0, color=GRID, linewidth=1.0, zorder=0)
    axes.set_title("published ◆, measured ● with its 95 % interval", loc="left", color=MUTED)
    quiet_ticks(axes)


def _least(row: PublishedRow) -> float | None:
    return row.published[0] if isinstance(row.published, tuple) else row.published


def _short(text: str) -> str:
    return text if len(text) <= QUANTITY_CHARS else f"{text[: QUANTITY_CHARS - 1]}…"


DRAWN: dict[str, Callable[[Axes, Results, dict[str, str], dict[str, Any]], None]] = {
    "lines": _lines,
    "dots": _dots,
    "bars": _bars,
    "stack": _stack,
    "curve": _curve,
    "boxes": _boxes,
}
