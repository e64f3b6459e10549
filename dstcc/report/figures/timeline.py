"""The fate of each chunk: when it was sent and complete after its capture, and which layers Earth played."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.arrays import Arrays
from dstcc.clock import Clock
from dstcc.report.model import Section, Trial
from dstcc.report.numbers import Unit, unit_for
from dstcc.report.tables import Tables

from .looks import Looks
from .section import SectionFigure, finding, register
from .style import (
    INK,
    LEGEND_ROW_IN,
    MUTED,
    bands,
    draw_bands,
    layer_name,
    level_colours,
    name_times,
    one_line,
    quiet_ticks,
    set_margins,
    width_in,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from .style import Rows

ROW_IN = 1.9
ABOVE_IN, BELOW_IN = 0.25, 0.48
"""For a name above the rows that stay together, and the time axis below them."""
BINS, NARROW_BINS = 280, 90
"""Most columns of the played strip; with fewer chunks than that each has one column."""
SENT = "#8f98a3"
HEADROOM = 1.12
DOT_AREA = 4000.0
"""Total area of all dots of a row, in pt²: with few chunks the dots are larger."""
EDGE_ROW = 0.028
"""Height of a layer's row of marks at the upper edge, as a share of the panel."""
NEAR_ZERO = 0.02
"""A time axis that would start before this share of its length starts at zero."""
BEYOND_DEADLINE = 2.5
"""The axis ends at this many playout delays; later arrivals are shown at its upper edge."""


@dataclass(frozen=True)
class Scene:
    """The settings that all rows of the figure share."""

    levels: tuple[int, ...]
    looks: Looks
    dates: Clock
    clock: Unit
    delay: Unit
    top_s: float
    """Upper end of the delay axes."""
    shown: str
    """Label of the line of the times at which chunks are shown."""
    seeds_differ: bool
    """Whether each row shows its trial's seed; else the caption shows it once."""
    bins: int
    """Most columns of the played strip."""


def timeline_figure(
    section: Section, tables: Tables, looks: Looks, salt: str, *, narrow: bool = False
) -> str:
    """One trial per algorithm, each with a panel of delays and a strip of the layers played."""
    trials = section.representative
    columns = [tables.chunks(trial) for trial in trials]
    top = _top(columns)
    clock = unit_for("seconds", [float(c["capture_s"].max(initial=0.0)) for c in columns])
    shown = "shown" if section.waits else "playout\ndeadline"
    bins = NARROW_BINS if narrow else BINS
    differ = len({trial.seed for trial in trials}) > 1
    delay = unit_for("seconds", [top])
    scene = Scene(section.levels, looks, section.clock, clock, delay, top, shown, differ, bins)

    # first byte sent and not played have entries, too
    more_in = LEGEND_ROW_IN * ((len(section.levels) + 2) // 2 - 1) if narrow else 0.0

    def draw(figure: Figure) -> Rows:
        layout = figure.add_gridspec(
            len(trials) * 3, 1, height_ratios=[10, 2.0, 3.0] * len(trials), hspace=0.06
        )
        rows: list[tuple[Axes, Axes]] = []
        for row, (trial, chunks) in enumerate(zip(trials, columns, strict=True)):
            panel = figure.add_subplot(layout[row * 3], sharex=rows[0][0] if rows else None)
            strip = figure.add_subplot(layout[row * 3 + 1], sharex=panel)
            _row(panel, strip, trial, chunks, scene)
            rows.append((panel, strip))
        for band in [range(len(rows))] if narrow else bands(len(rows)):
            strip = rows[band[-1]][1]
            name_times(strip, scene.dates, clock, "captured at")
            strip.tick_params(labelbottom=True)
        _legend(figure, section.levels, 2 if narrow else 0)
        # The last row's gap is below the axes: the bottom margin includes it.
        set_margins(figure, left=0.73, right=0.92, top=0.55 + more_in, bottom=0.12)
        return [figure.axes] if narrow else rows

    return draw_bands(
        f"{salt}-timeline",
        ROW_IN * len(trials) + 0.75 + more_in,
        draw,
        width_in=width_in(narrow),
        above_in=ABOVE_IN,
        below_in=BELOW_IN,
    )


def _row(panel: Axes, strip: Axes, trial: Trial, chunks: Arrays, scene: Scene) -> None:
    _delays(panel, chunks, scene)
    _deadline(panel, chunks, scene)
    _strip(strip, chunks, scene.levels, scene.clock, scene.bins)
    colour = scene.looks[trial.algorithm].colour
    panel.set_title(one_line(trial.algorithm), loc="left", color=colour, weight="bold", pad=3)
    if scene.seeds_differ:
        panel.set_title(f"seed {trial.seed}", loc="right", color=MUTED, pad=3)
    panel.set_ylabel(f"delay ({scene.delay.name})")
    panel.set(ylim=(0, scene.top_s / scene.delay.factor), xlim=_limits(chunks, scene.clock))
    for axes in (panel, strip):
        axes.tick_params(labelbottom=False)
        quiet_ticks(axes)


def _delays(axes: Axes, chunks: Arrays, scene: Scene) -> None:
    """Grey: first byte sent. Colour: complete, by layer. At the upper edge: later than the axis, or never."""
    capture = chunks["capture_s"] / scene.clock.factor
    sent = (chunks["first_sent_s"] - chunks["capture_s"]) / scene.delay.factor
    took = chunks["complete_s"] - chunks["capture_s"]
    late = ~(took <= scene.top_s)
    shades = level_colours(scene.levels)
    size = min(12.0, max(2.2, DOT_AREA / max(1, capture.size)))
    dots: dict[str, Any] = {"s": size, "linewidths": 0, "rasterized": True}
    axes.scatter(capture, sent, color=SENT, zorder=2, **dots)
    for layer in map(int, np.unique(chunks["layer"])[::-1]):
        here, colour = chunks["layer"] == layer, shades[layer]
        axes.scatter(capture[here], took[here] / scene.delay.factor, color=colour, zorder=3, **dots)
        gone = capture[here & late]
        height = np.full(gone.size, 1.0 - EDGE_ROW * (layer + 0.5))
        edge: dict[str, Any] = {"marker": "|", "s": 9, "linewidths": 0.6, "rasterized": True}
        axes.scatter(gone, height, color=colour, zorder=3, transform=axes.get_xaxis_transform(), **edge)
    if late.any():
        _label_right(axes, "later or never", (1.0, 1.0), "axes fraction", va="bottom", color=MUTED)


def _deadline(axes: Axes, chunks: Arrays, scene: Scene) -> None:
    """The time after capture at which a chunk is played, if there is one."""
    deadline = (chunks["deadline_s"] - chunks["capture_s"]) / scene.delay.factor
    if not np.isfinite(deadline).any():
        return
    order = np.argsort(chunks["capture_s"], kind="stable")
    capture = chunks["capture_s"][order] / scene.clock.factor
    axes.plot(capture, deadline[order], color=INK, linewidth=1.0, linestyle=(0, (4, 2)))
    at = (1.0, float(np.nanmedian(deadline)))
    _label_right(axes, scene.shown, at, ("axes fraction", "data"), va="center", color=INK)


def _label_right(axes: Axes, text: str, at: tuple[float, float], coordinates: Any, **look: Any) -> None:
    """A small label to the right of the axes."""
    axes.annotate(text, at, (5, 0), xycoords=coordinates, textcoords="offset points", fontsize=8, **look)


def _strip(axes: Axes, chunks: Arrays, levels: tuple[int, ...], clock: Unit, bins: int) -> None:
    """Shares of the levels played, over capture time."""
    base = chunks["layer"] == 0
    capture, played = chunks["capture_s"][base], chunks["played_level"][base]
    order = np.argsort(capture, kind="stable")
    groups = np.array_split(order, min(bins, order.size)) if order.size else []
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


def _legend(figure: Figure, levels: tuple[int, ...], columns: int) -> None:
    """Above the panels; in one row unless ``columns`` says otherwise."""
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
        handles=handles,
        loc="upper center",
        ncols=columns or len(handles),
        handletextpad=0.1,
        columnspacing=1.4,
    )


def _top(columns: list[Arrays]) -> float:
    """Upper end of the delay axis in seconds: all delays, unless they dwarf the playout delay."""
    delays = [c["complete_s"] - c["capture_s"] for c in columns]
    longest = max((float(np.nanmax(d)) for d in delays if np.isfinite(d).any()), default=1.0)
    deadlines = [c["deadline_s"] - c["capture_s"] for c in columns]
    limit = max((float(np.nanmax(d)) for d in deadlines if np.isfinite(d).any()), default=0.0)
    return max(limit, min(longest, limit * BEYOND_DEADLINE) if limit else longest, 1e-3) * HEADROOM


def _limits(chunks: Arrays, clock: Unit) -> tuple[float, float]:
    capture = chunks["capture_s"]
    if capture.size == 0:
        return 0.0, 1.0
    start, stop = float(capture.min()), float(capture.max()) + _spacing(np.unique(capture))
    if start < NEAR_ZERO * stop:
        start = 0.0
    return start / clock.factor, stop / clock.factor


def _spacing(capture: NDArray[Any]) -> float:
    return float(np.median(np.diff(capture))) if capture.size > 1 else 1.0


def timeline_rows(section: Section, tables: Tables) -> Iterator[Sequence[Any]]:
    """The level at which each chunk was played; sending and completion of every layer are in ``chunks.parquet``."""
    yield "algorithm", "chunk", "capture_s", "played_level"
    for trial in section.representative:
        columns = tables.chunks(trial)
        base = columns["layer"] == 0
        order = np.argsort(columns["chunk"][base], kind="stable")
        picked = (columns[name][base][order].tolist() for name in ("chunk", "capture_s", "played_level"))
        for chunk, capture_s, level in zip(*picked, strict=True):
            yield trial.algorithm, chunk, capture_s, level


register(
    SectionFigure(
        "timeline",
        "Each chunk over time",
        "time",
        timeline_figure,
        lambda shown: (
            "For every chunk, by capture time: when its first byte was sent, when each layer was complete, "
            f"the playout deadline, and the share played at each level; {shown.representative}. Chunks played: "
            f"{finding(shown.section.pictured, 'playback_ratio')}."
        ),
        lambda shown: (
            f"One trial an algorithm ({shown.representative}). Each dot is a layer of a chunk: height is the time "
            "after the chunk’s capture at which its first byte was sent (grey) or all of it was complete (colour). "
            "Marks at the upper edge came later than the axis shows, or never. The strip below each panel is the "
            "share of chunks played at each level."
        ),
        timeline_rows,
    )
)
