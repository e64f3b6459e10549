"""Window, round-trip time and throughput over mission time: a row per algorithm, a column per link."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.arrays import Arrays
from dstcc.clock import Clock
from dstcc.report.model import Section, Trial, TrialLink
from dstcc.report.numbers import Unit, quantity, unit_for
from dstcc.report.tables import Tables

from .looks import Looks
from .style import (
    INK,
    MUTED,
    align_ylabels,
    bands,
    draw_bands,
    name_times,
    one_line,
    quiet_ticks,
    set_margins,
    short,
    width_in,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from .style import Rows

ROW_IN = 1.5
ABOVE_IN, BELOW_IN = 0.48, 0.52
"""For the links' names above the rows that stay together, and the time axis below them."""
LEAST_RISE = 1.25
"""An axis that does not start at zero ends at least a quarter above its start, so that jitter looks small."""
MAX_WINDOW_SEGMENTS = 10**9
"""Larger than any window that a scenario can set: a sender that reports it has no window and only paces."""
MANY = 4
"""Most lines of one colour that can be read. More lines (lanes with a window each) are drawn as one: the sum of their
windows and rates, which the dashed line bounds, or the mean of their round-trip times."""
POINTS = 700
"""Most points per line: more would share pixels even on a wide screen."""


@dataclass(frozen=True)
class Quantity:
    """The quantity that one figure shows."""

    key: str
    title: str
    kind: str
    log: bool
    from_zero: bool
    reference: Callable[[TrialLink, int], float | None]
    """The limit that the link sets, a dashed line; takes the link and a segment's size on the wire in bytes."""
    reference_name: str
    metric: str = ""
    """The metric of a trial that sums the figure up, for its alternative text."""
    mean: bool = False
    """Whether the line of many lanes of a link is their mean, not their sum."""


QUANTITIES = (
    Quantity(
        "cwnd_segments",
        "Congestion window",
        "count",
        True,
        False,
        lambda link, wire: link.bdp_segments(wire),
        "BDP",
    ),
    Quantity(
        "srtt_s",
        "Smoothed round-trip time",
        "seconds",
        False,
        False,
        lambda link, _: link.rtt_s,
        "propagation",
        metric="mean_rtt_s",
        mean=True,
    ),
    Quantity(
        "rate_bps",
        "Throughput",
        "bps",
        False,
        True,
        lambda link, _: link.rate_bps,
        "link rate",
        metric="throughput_bps",
    ),
)


@dataclass(frozen=True)
class Scene:
    """The settings that all panels of a figure share."""

    what: Quantity
    trials: tuple[Trial, ...]
    links: tuple[str, ...]
    looks: Looks
    clock: Unit
    unit: Unit
    dates: Clock
    wire_bytes: int
    """A full segment with its headers."""


def transport_figure(
    section: Section, tables: Tables, what: Quantity, looks: Looks, salt: str, *, narrow: bool = False
) -> str:
    """The small multiples as SVG; rows share a column's axes, so that heights compare."""
    trials = tuple(
        trial
        for trial in section.representative
        if trial.algorithm not in without_line(section, tables, what)
    )
    end_s = math.inf if section.waits else _last_deadline_s(trials, tables)
    columns = [_clip_rows(tables.samples(trial), end_s) for trial in trials]
    links = tuple(dict.fromkeys(str(name) for samples in columns for name in samples["link"]))
    clock = unit_for("seconds", [float(samples["t_s"].max(initial=0.0)) for samples in columns])
    limits = [what.reference(link, section.segment_bytes) or 0.0 for trial in trials for link in trial.links]
    tops = [_top(y) for samples in columns for link in links for _, y in lines(samples, link, what)]
    unit = unit_for(what.kind, [*limits, *tops])
    scene = Scene(what, trials, links, looks, clock, unit, section.clock, section.segment_bytes)

    def draw(figure: Figure) -> Rows:
        grid = _grid(figure, len(trials), len(links), narrow)
        for row, (trial, samples) in enumerate(zip(trials, columns, strict=True)):
            for axes, link in zip(grid[row], links, strict=True):
                _lines(axes, samples, link, looks[trial.algorithm].colour, scene)
                _reference(axes, _find(trial, link), scene)
        _dress(figure, grid, scene, narrow)
        return [figure.axes] if narrow else list(grid)

    rows = len(trials) * len(links) if narrow else len(trials)
    return draw_bands(
        f"{salt}-{what.key}",
        ROW_IN * rows + ABOVE_IN + BELOW_IN,
        draw,
        width_in=width_in(narrow),
        above_in=ABOVE_IN,
        below_in=BELOW_IN,
    )


def _grid(figure: Figure, trials: int, links: int, narrow: bool) -> Any:
    """Axes by trial and link: a row a trial, or below each other; those of a link share theirs."""
    if not narrow:
        return figure.subplots(trials, links, sharex=True, sharey="col", squeeze=False)
    column = figure.subplots(trials * links, 1, sharex=True, squeeze=False)[:, 0]
    grid = column.reshape(trials, links)
    for row in grid[1:]:
        for axes, first in zip(row, grid[0], strict=True):
            axes.sharey(first)
    return grid


def drawn_lines(
    section: Section, tables: Tables, what: Quantity
) -> Iterator[tuple[str, str, int, NDArray[Any], NDArray[Any]]]:
    """The lines of the figure: algorithm, link, number among the link's lines, times and values."""
    trials = section.representative
    end_s = math.inf if section.waits else _last_deadline_s(trials, tables)
    left_out = without_line(section, tables, what)
    for trial in (trial for trial in trials if trial.algorithm not in left_out):
        samples = _clip_rows(tables.samples(trial), end_s)
        for link in dict.fromkeys(str(name) for name in samples["link"]):
            for number, line in enumerate(lines(samples, link, what)):
                yield trial.algorithm, link, number, *_thin(*line)


def _last_deadline_s(trials: tuple[Trial, ...], tables: Tables) -> float:
    """When the last chunk was due: some senders retransmit for weeks after every deadline has passed."""
    due = [tables.chunks(trial)["deadline_s"] for trial in trials]
    return max((float(times[np.isfinite(times)].max(initial=0.0)) for times in due), default=0.0) or math.inf


def _clip_rows(samples: Arrays, end_s: float) -> Arrays:
    """The rows until ``end_s``; if all are later, the first ones."""
    kept = samples["t_s"] <= max(end_s, float(samples["t_s"].min(initial=math.inf)))
    return {name: values[kept] for name, values in samples.items()}


def _lines(axes: Axes, samples: Arrays, link: str, colour: str, scene: Scene) -> None:
    for line in lines(samples, link, scene.what):
        t, values = _thin(*line)
        t, values = t / scene.clock.factor, values / scene.unit.factor
        axes.plot(t, values, color=colour, linewidth=1.1, drawstyle="steps-pre")


def lines(samples: Arrays, link: str, what: Quantity) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The lines of a link: a subflow each, and one for all where there are more than :data:`MANY`."""
    here, values = samples["link"] == link, _values(samples, what)
    subflows = np.unique(samples["subflow"][here])
    if len(subflows) <= MANY:
        for subflow in subflows:
            chosen = here & (samples["subflow"] == subflow)
            yield samples["t_s"][chosen], values[chosen]
        return
    t, slot = np.unique(samples["t_s"][here], return_inverse=True)
    known = np.isfinite(values[here])
    total = np.bincount(slot[known], values[here][known], len(t))
    count = np.bincount(slot[known], minlength=len(t))
    with np.errstate(invalid="ignore", divide="ignore"):
        yield t, np.where(count > 0, total / (count if what.mean else 1), np.nan)


def _values(samples: Arrays, what: Quantity) -> NDArray[Any]:
    """The quantity as floats; NaN where a sender that only paces reports a window without bound."""
    values: NDArray[Any] = samples[what.key].astype(float)
    return np.where(values > MAX_WINDOW_SEGMENTS, np.nan, values) if what.key == "cwnd_segments" else values


def _windowless(samples: Arrays) -> str:
    """Why there is no line, if there is none."""
    windows = samples["cwnd_segments"]
    if (windows > MAX_WINDOW_SEGMENTS).any():
        return "paced, no window"
    return "" if (windows > 0).any() else "no window"


def without_line(section: Section, tables: Tables, what: Quantity) -> dict[str, str]:
    """The algorithms that the figure has no line of, and why: a window's, of those without one."""
    if what.key != "cwnd_segments":
        return {}
    why = {trial.algorithm: _windowless(tables.samples(trial)) for trial in section.representative}
    return {algorithm: reason for algorithm, reason in why.items() if reason}


def _thin(t: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Keep the least and the greatest value of each of :data:`POINTS` / 2 equal spans, so no peak is lost."""
    if t.size <= POINTS:
        return t, values
    edges = np.linspace(0, t.size, POINTS // 2 + 1).astype(int)
    kept: list[int] = []
    for start, stop in pairwise(edges):
        piece = np.nan_to_num(values[start:stop], nan=-1.0)
        kept += sorted({start + int(piece.argmin()), start + int(piece.argmax())})
    return t[kept], values[kept]


def _reference(axes: Axes, link: TrialLink | None, scene: Scene) -> None:
    value = scene.what.reference(link, scene.wire_bytes) if link else None
    if value is not None:
        axes.axhline(value / scene.unit.factor, color=MUTED, linewidth=0.9, linestyle=(0, (4, 2)))


def _dress(figure: Figure, grid: Any, scene: Scene, narrow: bool) -> None:
    unit_name = "segments" if scene.what.kind == "count" else scene.unit.name
    for row, trial in enumerate(scene.trials):
        for axes in grid[row]:
            quiet_ticks(axes)
            axes.margins(x=0.0)
        colour = scene.looks[trial.algorithm].colour
        grid[row][0].set_title(one_line(trial.algorithm), loc="left", color=colour, weight="bold", pad=3)
        grid[row][0].set_ylabel(unit_name)
    grid[0][0].set_xlim(left=0.0)  # which all share
    for column, link in enumerate(scene.links):
        _set_scale(grid[0][column], scene.what)
        heading = _heading(_find(scene.trials[0], link), link, scene)
        place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        for row, trial in zip(grid, scene.trials, strict=True) if narrow else ():
            name = f"{one_line(trial.algorithm)} · {short(link)}"
            row[column].set_title(
                name, loc="left", color=scene.looks[trial.algorithm].colour, weight="bold", pad=3
            )
            row[column].set_ylabel(unit_name)
        for band in () if narrow else bands(len(grid)):
            grid[band[0]][column].annotate(heading, (0, 1), (0, 19), color=INK, weight="bold", **place)
            _name_times(grid[band[-1]][column], scene)
    if narrow:
        _name_times(grid[-1][-1], scene)
    set_margins(figure, left=0.73, right=0.11, top=0.46, bottom=0.48, hspace=0.42, wspace=0.12)
    align_ylabels(figure)


def _name_times(axes: Axes, scene: Scene) -> None:
    name_times(axes, scene.dates, scene.clock)
    axes.tick_params(labelbottom=True)


def _heading(link: TrialLink | None, name: str, scene: Scene) -> str:
    """The link's name and the value of the dashed line."""
    value = scene.what.reference(link, scene.wire_bytes) if link else None
    if value is None:
        return short(name)
    segments = " segments" if scene.what.kind == "count" else ""
    return f"{short(name)} · {scene.what.reference_name} {quantity(scene.what.kind, value)}{segments}"


def _set_scale(axes: Axes, what: Quantity) -> None:
    if what.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: _si(value))
        axes.yaxis.minorticks_off()
        axes.set_ylim(bottom=1, top=axes.get_ylim()[1] * 3)
    elif what.from_zero:
        axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.22)
    else:
        low, high = axes.get_ylim()
        axes.set_ylim(bottom=low * 0.95, top=max(high, low * LEAST_RISE) * 1.08)


def _si(value: float) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:g}{prefix}"
    return f"{value:g}"


def _top(values: NDArray[Any]) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.max(initial=0.0))


def _find(trial: Trial, name: str) -> TrialLink | None:
    return next((link for link in trial.links if link.name == name), None)
