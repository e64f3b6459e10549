"""The links and what was delivered over mission time: contacts, Eb/N0, the Sun's angle, and megabytes, on one axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.arrays import Arrays
from dstcc.clock import Clock
from dstcc.report.model import Section, Trial
from dstcc.report.numbers import Unit, quantity, unit_for
from dstcc.report.tables import Tables

from .looks import Looks
from .section import SectionFigure, Shown, register
from .style import (
    INK,
    NOT_PLAYED,
    draw_svg,
    focus,
    lay_stacked,
    legend_above,
    legend_chars,
    name_times,
    quiet_ticks,
    short,
    width_in,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


MOST_STEPS = 60
"""Of what was delivered: a line of more cannot be read."""
STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400)
"""Lengths of a step that people count in; longer ones are whole days."""
BAR_IN, FLAT_IN, CURVE_IN, HOME_IN = 0.3, 0.45, 0.9, 1.7
SUN_FAR_DEG = 20.0
"""The Sun's angle is a line of little height where it never comes below this: it does nothing to the link."""
LINK_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
CURVES = (("ebn0_db", "Eb/N0 (dB)"), ("sun_earth_probe_deg", "Sun (°)"))
"""Columns with a panel where a link has values, and their labels."""
SAID = {
    "ebn0_db": ("Eb/N0", "Eb/N0 is that of the data direction while the link is up."),
    "sun_earth_probe_deg": (
        "the Sun’s angle",
        "The Sun’s angle is the one between the Sun and the spacecraft, as seen from the Earth.",
    ),
}
"""What an alternative text calls a panel, and the caption's sentence of it."""
LEGEND_HEADROOM = 0.45
"""Of the height of Eb/N0's curves, above them: there its legend stands."""
DAY_S = 86_400.0


@dataclass(frozen=True)
class Scene:
    """What all panels share."""

    names: tuple[str, ...]
    """Of the links."""
    links: dict[str, Arrays]
    clock: Unit
    end_s: float
    dates: Clock


def links_figure(section: Section, tables: Tables, looks: Looks, salt: str, *, narrow: bool = False) -> str:
    """A bar of contacts for each link, Eb/N0 and the Sun's angle where there are any, and a line an algorithm."""
    trials = section.representative
    scene = scene_of(section, trials, tables)
    curves = [(column, label) for column, label in CURVES if column in _known(scene.links)]
    heights = [BAR_IN * len(scene.names)] * bool(scene.names)
    heights += [_height(scene, column) for column, _ in curves] + [HOME_IN]
    styles, lines = focus([trial.algorithm for trial in trials], looks)

    def draw(figure: Figure) -> None:
        panels = list(
            figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        )
        if scene.names:
            draw_contacts(panels[0], scene)
        for axes, (column, label) in zip(panels[-1 - len(curves) : -1], curves, strict=True):
            _curve(axes, scene, column, label)
        _home(panels[-1], trials, tables, scene, styles)
        panels[-1].set_xlim(0, scene.end_s / scene.clock.factor)
        name_times(panels[-1], scene.dates, scene.clock)
        lay_stacked(figure, lines, narrow=narrow, hspace=0.16)

    height = sum(heights) + 0.75 + legend_above(None, lines, legend_chars(narrow))
    return draw_svg(f"{salt}-links", height, draw, width_in=width_in(narrow))


def home_by_step(trial: Trial, tables: Tables, edges_s: NDArray[Any]) -> NDArray[Any]:
    """Bytes of the layers that were played, by the step of mission time in which each was complete on Earth."""
    columns = tables.chunks(trial)
    home = (columns["layer"] <= columns["played_level"]) & np.isfinite(columns["complete_s"])
    return np.histogram(columns["complete_s"][home], edges_s, weights=columns["bytes"][home])[0]


def steps(trials: tuple[Trial, ...], tables: Tables) -> NDArray[Any]:
    """The edges of the steps in which the figure counts what was delivered, in mission seconds."""
    return _edges(_end_s(trials, tables))


def _end_s(trials: tuple[Trial, ...], tables: Tables) -> float:
    """A little after the last that was delivered in time, or where nothing did, after the last that came."""
    # A sender that goes on for weeks after every deadline would squeeze what is of interest to the left edge.
    chunks = [tables.chunks(trial) for trial in trials]
    played = max((_last_s(one, one["layer"] <= one["played_level"]) for one in chunks), default=0.0)
    came = played or max((_last_s(one, np.True_) for one in chunks), default=0.0)
    return came * 1.02 or 1.0


def _last_s(chunks: Arrays, which: Any) -> float:
    """When the last of these layers was complete on Earth; 0 where none was."""
    complete = chunks["complete_s"]
    return float(complete[which & np.isfinite(complete)].max(initial=0.0))


def _known(links: dict[str, Arrays]) -> tuple[str, ...]:
    """The columns of :data:`CURVES` of which a link has values."""
    return tuple(
        column for column, _ in CURVES if any(np.isfinite(rows[column]).any() for rows in links.values())
    )


def scene_of(section: Section, trials: tuple[Trial, ...], tables: Tables) -> Scene:
    """The links of some trials, and the time that a figure of them shows."""
    rows = tables.links(trials[0])
    names = tuple(dict.fromkeys(str(name) for name in rows["link"]))
    links = {name: {key: values[rows["link"] == name] for key, values in rows.items()} for name in names}
    end_s = _end_s(trials, tables)
    return Scene(names, links, unit_for("seconds", [end_s]), end_s, section.clock)


def _height(scene: Scene, column: str) -> float:
    if column == "ebn0_db":
        return CURVE_IN
    nearest = min(float(np.nanmin(rows[column], initial=180.0)) for rows in scene.links.values())
    return CURVE_IN if nearest < SUN_FAR_DEG else FLAT_IN


def draw_contacts(axes: Axes, scene: Scene) -> None:
    """A bar of contacts for each link."""
    for row, name in enumerate(scene.names):
        spans = [
            (begin / scene.clock.factor, length / scene.clock.factor) for begin, length in _open(scene, name)
        ]
        axes.broken_barh(spans, (row - 0.32, 0.64), facecolors=INK, linewidth=0)
        axes.axhline(row, color=NOT_PLAYED, linewidth=0.7, zorder=0)
    axes.set(ylim=(len(scene.names) - 0.5, -0.5), yticks=range(len(scene.names)))
    axes.set_yticklabels([short(name)[:16] for name in scene.names], color=INK)
    axes.grid(axis="y", visible=False)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    quiet_ticks(axes)


def _open(scene: Scene, name: str) -> list[tuple[float, float]]:
    """When a link is up: beginning and length in seconds."""
    rows = scene.links[name]
    up = np.concatenate([[False], rows["open"].astype(bool), [False]])
    times = np.append(rows["t_s"], rows["t_s"][-1])
    changes = np.flatnonzero(up[1:] != up[:-1])
    pairs = zip(changes[::2], changes[1::2], strict=True)
    return [(float(times[begin]), float(times[end] - times[begin])) for begin, end in pairs]


def _curve(axes: Axes, scene: Scene, column: str, label: str) -> None:
    """A line a link; Eb/N0 only while the link is up."""
    for name, dashes in zip(scene.names, LINK_DASHES * len(scene.names), strict=False):
        rows = scene.links[name]
        values = np.where(rows["open"], rows[column], np.nan) if column == "ebn0_db" else rows[column]
        if np.isfinite(values).any():
            axes.plot(
                rows["t_s"] / scene.clock.factor,
                values,
                color=INK,
                linestyle=dashes,
                linewidth=1.1,
                label=name,
            )
    if len(axes.lines) > 1 and column == "ebn0_db":
        low, high = axes.get_ylim()
        axes.set_ylim(top=high + (high - low) * LEGEND_HEADROOM)
        axes.legend(loc="upper right", ncols=len(axes.lines), borderaxespad=0.1)
    if column == "sun_earth_probe_deg":
        axes.set_ylim(bottom=0)
    axes.set_ylabel(label)
    axes.locator_params(axis="y", nbins=4 if axes.get_position().height > 0.1 else 2)
    quiet_ticks(axes)


def _home(
    axes: Axes, trials: tuple[Trial, ...], tables: Tables, scene: Scene, styles: dict[str, dict[str, Any]]
) -> None:
    edges = _edges(scene.end_s)
    for trial in trials:
        sums = home_by_step(trial, tables, edges) / 1e6
        axes.stairs(sums, edges / scene.clock.factor, **styles[trial.algorithm])
    axes.set_ylim(bottom=0)
    axes.set_axisbelow(True)
    axes.set_ylabel(f"delivered (MB in {_step_text(edges)})")
    quiet_ticks(axes)


def _edges(end_s: float) -> NDArray[Any]:
    """Days of a mission of a week or more, else the shortest steps of :data:`STEPS_S` that are not too many."""
    least_s = max(end_s / MOST_STEPS, DAY_S if end_s >= 7 * DAY_S else 0.0)
    step_s = next((one for one in STEPS_S if one >= least_s), DAY_S * np.ceil(least_s / DAY_S))
    return np.arange(0.0, end_s + step_s, step_s)


def _step_text(edges: NDArray[Any]) -> str:
    step = float(edges[1] - edges[0])
    return "a day" if step == DAY_S else quantity("seconds", step)


def _label(shown: Shown) -> str:
    said = []
    for trial in shown.section.representative:
        passes = len(trial.contacts)
        home = trial.metrics.get("bytes_in_time")
        if home is not None:
            over = f" in {passes} contacts" if passes > 1 else ""
            said.append(f"{trial.algorithm}: {home / 1e6:,.0f} MB in time{over}")
    panels = ", ".join(["Contacts", *(SAID[column][0] for column in _panels(shown))])
    return f"{panels} and what was delivered over mission time, {shown.representative}. {'; '.join(said)}."


def _caption(shown: Shown) -> str:
    panels = "".join(f" {SAID[column][1]}" for column in _panels(shown))
    return (
        f"Bars: when each link is up, by the spacecraft’s clock.{panels} Below: what was complete on Earth in each "
        f"step and was played ({shown.representative})."
    )


def _panels(shown: Shown) -> tuple[str, ...]:
    """Which of :data:`CURVES` the figure has."""
    return _known({"": Tables().links(shown.section.representative[0])})


def links_rows(section: Section, tables: Tables) -> Iterator[Sequence[Any]]:
    """Each link over time, then what was delivered; the empty columns are the other kind's."""
    yield "link", "t_s", "up", *(column for column, _ in CURVES), "algorithm", "from_s", "to_s", "bytes"
    trials = section.representative
    rows = tables.links(trials[0])
    columns = (rows["link"], rows["t_s"], rows["open"].astype(int), *(rows[column] for column, _ in CURVES))
    for values in zip(*(column.tolist() for column in columns), strict=True):
        yield *values, None, None, None, None
    edges = steps(trials, tables)
    for trial in trials:
        home = home_by_step(trial, tables, edges)
        for begin, end, size in zip(edges[:-1].tolist(), edges[1:].tolist(), home.tolist(), strict=True):
            yield *[None] * (3 + len(CURVES)), trial.algorithm, begin, end, size


register(
    SectionFigure(
        "links", "The links and what was delivered", "delivery", links_figure, _label, _caption, links_rows
    )
)
