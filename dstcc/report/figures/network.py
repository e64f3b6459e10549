"""What nodes held and links carried over mission time, under the contacts of the links, on one axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.report.model import Section
from dstcc.report.numbers import quantity
from dstcc.report.tables import Tables

from .links import BAR_IN, Scene, draw_contacts, scene_of
from .looks import Looks
from .section import SectionFigure, Shown, register
from .style import (
    INK,
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
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

PANEL_IN = 0.85
MOST_PANELS = 8
"""Of nodes, and of links: more do not fit a page."""
HEADROOM = 1.3
"""Above the lines, for a panel's title."""
POINTS = 400
"""Most points a line."""


Drawn = tuple[str, list[tuple["NDArray[Any]", "NDArray[Any]", str, Any]]]
"""A panel: its title, and lines with their times, values, colour and dashes."""


def network_figure(section: Section, tables: Tables, looks: Looks, salt: str, *, narrow: bool = False) -> str:
    """Contacts, a panel for what each node holds, and one for what each link carries; a line an algorithm."""
    trials = section.representative
    scene = scene_of(section, trials, tables)
    nodes, links = _names(section, tables)
    styles, lines = focus([trial.algorithm for trial in trials], looks)
    held: list[Drawn] = [(f"held in {short(node)} (MB)", []) for node in nodes]
    sent: list[Drawn] = [(f"over {short(link)} (kbit/s)", []) for link in links]
    for trial in trials:
        colour, dashes = styles[trial.algorithm]["color"], styles[trial.algorithm]["linestyle"]
        rows = tables.nodes(trial)
        for node, (_title, drawn) in zip(nodes, held, strict=True):
            drawn.append(
                (*thinned(rows["t_s"], rows["held_bytes"] / 1e6, rows["node"] == node), colour, dashes)
            )
        rows = tables.hops(trial)
        for link, (_title, drawn) in zip(links, sent, strict=True):
            mine = rows["link"] == link
            slot_s = np.diff(rows["t_s"][mine], prepend=0.0)
            bits = rows["sent_packets"][mine] * 8 * section.segment_bytes / np.maximum(slot_s, 1e-9)
            all_of_it = np.ones(int(mine.sum()), dtype=bool)
            drawn.append((*thinned(rows["t_s"][mine], bits / 1e3, all_of_it), colour, dashes))
    return draw_network(scene, [*held, *sent], lines, f"{salt}-network", narrow=narrow)


def draw_network(
    scene: Scene,
    panels: Sequence[Drawn],
    lines: list[tuple[str, str, Any]],
    salt: str,
    *,
    narrow: bool = False,
) -> str:
    """Contacts of the scene's links and below them the panels, on one time axis; ``lines`` are the legend's."""
    heights = [BAR_IN * len(scene.names), *[PANEL_IN] * len(panels)]

    def draw(figure: Figure) -> None:
        bars, *others = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[
            :, 0
        ]
        draw_contacts(bars, scene)
        for axes, (title, drawn) in zip(others, panels, strict=True):
            for t_s, values, colour, dashes in drawn:
                axes.plot(t_s / scene.clock.factor, values, color=colour, linestyle=dashes, linewidth=1.2)
            axes.text(0.005, 0.96, title, transform=axes.transAxes, va="top", color=INK)
            axes.set_ylim(bottom=0, top=max(axes.get_ylim()[1], 1e-3) * HEADROOM)
            axes.locator_params(axis="y", nbins=3)
            quiet_ticks(axes)
        last = others[-1] if others else bars
        last.set_xlim(0, scene.end_s / scene.clock.factor)
        name_times(last, scene.dates, scene.clock)
        lay_stacked(figure, lines, narrow=narrow, hspace=0.2)

    height = sum(heights) + 0.75 + legend_above(None, lines, legend_chars(narrow))
    return draw_svg(salt, height, draw, width_in=width_in(narrow))


def thinned(
    t_s: NDArray[Any], values: NDArray[Any], which: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The rows of one name; of many the greatest of so many neighbours."""
    t_s, values = t_s[which], values[which]
    step = -(-len(t_s) // POINTS)
    if step <= 1:
        return t_s, values
    starts = np.arange(0, len(t_s), step)
    return t_s[starts], np.maximum.reduceat(values, starts)


def _names(section: Section, tables: Tables) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The nodes on the way and the links that have a panel."""
    trial = section.representative[0]
    nodes = dict.fromkeys(str(name) for name in tables.nodes(trial)["node"])
    links = dict.fromkeys(str(name) for name in tables.hops(trial)["link"])
    return tuple(nodes)[:MOST_PANELS], tuple(links)[:MOST_PANELS]


def _label(shown: Shown) -> str:
    said = []
    for trial in shown.section.representative:
        held = Tables().nodes(trial)
        most = {
            str(node): float(held["held_bytes"][held["node"] == node].max(initial=0))
            for node in dict.fromkeys(held["node"])
        }
        dropped = int(held["dropped_packets"].sum() + held["lost_in_restarts_packets"].sum())
        words = ", ".join(f"at most {quantity('bytes', size)} in {node}" for node, size in most.items())
        said.append(f"{trial.algorithm}: {words}, {dropped:,} packets dropped there")
    return f"What nodes held and links carried over mission time, {shown.representative}. {'; '.join(said)}."


def _caption(shown: Shown) -> str:
    return (
        "Bars: when each link is up. Below: what each node holds for links that are away or busy, then what each link "
        f"carries of data, others’ datagrams too, in packets of full size ({shown.representative})."
    )


def network_rows(section: Section, tables: Tables) -> Iterator[Sequence[Any]]:
    """Each node and each link over time; the empty columns are the other kind's."""
    yield (
        "algorithm",
        "t_s",
        "node",
        "held_bytes",
        "dropped_packets",
        "link",
        "sent_packets",
        "up_sent_packets",
    )
    for trial in section.representative:
        nodes, hops = tables.nodes(trial), tables.hops(trial)
        of_nodes = (nodes[name].tolist() for name in ("t_s", "node", "held_bytes", "dropped_packets"))
        for values in zip(*of_nodes, strict=True):
            yield trial.algorithm, *values, None, None, None
        of_hops = (hops[name].tolist() for name in ("t_s", "link", "sent_packets", "up_sent_packets"))
        for t_s, *rest in zip(*of_hops, strict=True):
            yield trial.algorithm, t_s, None, None, None, *rest


def _wanted(section: Section) -> bool:
    """Whether the shown trials went over nodes."""
    return bool(section.representative) and all(
        trial.run.nodes().num_rows > 0 for trial in section.representative
    )


register(
    SectionFigure(
        "network",
        "What nodes held and links carried",
        "delivery",
        network_figure,
        _label,
        _caption,
        network_rows,
        _wanted,
    )
)
