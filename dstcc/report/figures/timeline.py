"""What became of each chunk: when it was sent and complete after its capture, and what Earth played of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.report.model import Section, Trial
from dstcc.report.numbers import Unit, unit_for
from dstcc.report.tables import Tables

from .style import INK, MUTED, draw_svg, layer_name, level_colours, quiet_ticks, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec
    from numpy.typing import NDArray

    from dstcc.report.tables import Columns

ROW_IN = 1.9
BINS = 280
"""Columns of the played strip; a chunk has a column of its own when there are no more of them."""
SENT = "#8f98a3"
HEADROOM = 1.12
NEAR_ZERO = 0.02
"""A time axis that would start before this share of its length starts at zero."""
BEYOND_DEADLINE = 2.5
"""The axis ends at this many playout delays; what comes later still is shown at its upper edge."""


def timeline_figure(section: Section, tables: Tables, colours: dict[str, str], salt: str) -> str:
    """One trial an algorithm, each with a panel of delays and a strip of what was played."""
    trials = section.representative
    columns = [tables.chunks(trial) for trial in trials]
    top = _top(columns)
    clock = unit_for("seconds", [float(np.nanmax(c["capture_s"], initial=0.0)) for c in columns])
    delay = unit_for("seconds", [top])

    def draw(figure: Figure) -> None:
        layout = figure.add_gridspec(
            len(trials) * 3, 1, height_ratios=[10, 2.0, 3.0] * len(trials), hspace=0.06
        )
        shared: Axes | None = None
        for row, (trial, chunks) in enumerate(zip(trials, columns, strict=True)):
            shared = _row(figure, layout, row, trial, chunks, section, (clock, delay), top, colours, shared)
        if shared is not None:
            shared.set_xlabel(f"captured at mission time ({clock.name})")
            shared.tick_params(labelbottom=True)
        _legend(figure, section.levels)
        height = figure.get_figheight()
        # The last row's gap lies below the axes: the bottom margin counts it in.
        figure.subplots_adjust(left=0.065, right=0.925, top=1 - 0.55 / height, bottom=0.12 / height)

    return draw_svg(f"{salt}-timeline", ROW_IN * len(trials) + 0.75, draw)


def _row(
    figure: Figure,
    layout: GridSpec,
    row: int,
    trial: Trial,
    chunks: Columns,
    section: Section,
    units: tuple[Unit, Unit],
    top: float,
    colours: dict[str, str],
    shared: Axes | None,
) -> Axes:
    clock, delay = units
    panel = figure.add_subplot(layout[row * 3], sharex=shared)
    strip = figure.add_subplot(layout[row * 3 + 1], sharex=panel)
    _delays(panel, chunks, section.levels, units, top)
    _strip(strip, chunks, section.levels, clock)
    panel.set_title(short(trial.algorithm), loc="left", color=colours[trial.algorithm], weight="bold", pad=3)
    panel.set_title(f"seed {trial.seed}", loc="right", color=MUTED, pad=3)
    panel.set_ylabel(f"delay ({delay.name})")
    panel.set(ylim=(0, top / delay.factor), xlim=_limits(chunks, clock))
    panel.tick_params(labelbottom=False)
    strip.tick_params(labelbottom=False)
    for axes in (panel, strip):
        quiet_ticks(axes)
    return strip


def _delays(
    axes: Axes, chunks: Columns, levels: tuple[int, ...], units: tuple[Unit, Unit], top: float
) -> None:
    """Grey: first byte sent. Colour: complete, by layer. At the upper edge: later than the axis, or never."""
    clock, delay = units
    capture = chunks["capture_s"] / clock.factor
    dots: dict[str, Any] = {"s": 2.2, "linewidths": 0, "rasterized": True}
    axes.scatter(
        capture, (chunks["first_sent_s"] - chunks["capture_s"]) / delay.factor, color=SENT, zorder=2, **dots
    )
    shades = level_colours(levels)
    took = chunks["complete_s"] - chunks["capture_s"]
    late = ~(took <= top)
    for layer in np.unique(chunks["layer"])[::-1]:
        here = chunks["layer"] == layer
        colour = shades.get(int(layer), INK)
        axes.scatter(capture[here], took[here] / delay.factor, color=colour, zorder=3, **dots)
        height = 1.0 - 0.028 * (int(layer) + 0.5)
        axes.scatter(
            capture[here & late],
            np.full(int((here & late).sum()), height),
            color=colour,
            marker="|",
            s=9,
            linewidths=0.6,
            transform=axes.get_xaxis_transform(),
            zorder=3,
            rasterized=True,
        )
    deadline = chunks["deadline_s"] - chunks["capture_s"]
    if np.isfinite(deadline).any():
        order = np.argsort(capture, kind="stable")
        axes.plot(
            capture[order], deadline[order] / delay.factor, color=INK, linewidth=1.0, linestyle=(0, (4, 2))
        )
        axes.annotate(
            "playout\ndeadline",
            (1.0, float(np.nanmedian(deadline)) / delay.factor),
            (5, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    if late.any():
        axes.annotate(
            "later or never", (1.0, 1.0), (5, -2), xycoords="axes fraction", textcoords="offset points", va="top",
            color=MUTED, fontsize=8,
        )  # fmt: skip


def _strip(axes: Axes, chunks: Columns, levels: tuple[int, ...], clock: Unit) -> None:
    """Shares of the levels played, over capture time."""
    base = chunks["layer"] == 0
    capture, played = chunks["capture_s"][base], chunks["played_level"][base]
    order = np.argsort(capture, kind="stable")
    groups = np.array_split(order, min(BINS, order.size)) if order.size else []
    starts = np.array([capture[group[0]] for group in groups])
    edges = np.append(starts, capture.max(initial=0.0) + _spacing(capture[order])) / clock.factor
    shades = level_colours(levels)
    bottom: NDArray[Any] = np.zeros(len(groups))
    for level in reversed(levels):
        share = np.array([float(np.mean(played[group] == level)) for group in groups])
        if share.any():
            axes.stairs(bottom + share, edges, baseline=bottom, fill=True, color=shades[level], linewidth=0)
        bottom = bottom + share
    axes.set(ylim=(0, 1), yticks=[])
    axes.set_ylabel("played", rotation=0, ha="right", va="center")
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)


def _legend(figure: Figure, levels: tuple[int, ...]) -> None:
    from matplotlib.lines import Line2D

    shades = level_colours(levels)

    def dot(colour: str, label: str) -> Line2D:
        return Line2D([], [], marker="o", linestyle="", markersize=4, color=colour, label=label)

    handles = [dot(SENT, "first byte sent")]
    handles += [
        dot(shades[level], f"{layer_name(level)} complete / played") for level in levels if level >= 0
    ]
    handles.append(
        Line2D([], [], marker="s", linestyle="", markersize=6, color=shades[-1], label="not played")
    )
    figure.legend(
        handles=handles, loc="upper center", ncols=len(handles), handletextpad=0.1, columnspacing=1.4
    )


def _top(columns: list[Columns]) -> float:
    """Upper end of the delay axis in seconds: all delays, unless they dwarf the playout delay."""
    delays = [c["complete_s"] - c["capture_s"] for c in columns]
    longest = max((float(np.nanmax(d)) for d in delays if np.isfinite(d).any()), default=1.0)
    deadlines = [c["deadline_s"] - c["capture_s"] for c in columns]
    limit = max((float(np.nanmax(d)) for d in deadlines if np.isfinite(d).any()), default=0.0)
    return max(limit, min(longest, limit * BEYOND_DEADLINE) if limit else longest, 1e-3) * HEADROOM


def _limits(chunks: Columns, clock: Unit) -> tuple[float, float]:
    capture = chunks["capture_s"]
    if capture.size == 0:
        return 0.0, 1.0
    start, stop = float(capture.min()), float(capture.max()) + _spacing(np.unique(capture))
    if start < NEAR_ZERO * stop:
        start = 0.0
    return start / clock.factor, stop / clock.factor


def _spacing(capture: NDArray[Any]) -> float:
    return float(np.median(np.diff(capture))) if capture.size > 1 else 1.0
