"""What nodes held and links carried over mission time, under the contacts of the links, on one axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.report.model import Section
from dstcc.report.numbers import quantity
from dstcc.report.tables import Tables

from .links import BAR_IN, draw_contacts, scene_of
from .looks import Looks
from .section import SectionFigure, Shown, register
from .style import INK, draw_svg, lay_stacked, legend_above, legend_chars, quiet_ticks, short, width_in
from .times import name_times

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


def network_figure(section: Section, tables: Tables, looks: Looks, salt: str, *, narrow: bool = False) -> str:
    """Contacts, a panel for what each node holds, and one for what each link carries; a line an algorithm."""
    trials = section.representative
    scene = scene_of(section, trials, tables)
    nodes, links = _names(section, tables)
    heights = [BAR_IN * len(scene.names), *[PANEL_IN] * (len(nodes) + len(links))]
    lines = [
        (trial.algorithm, looks[trial.algorithm].colour, looks[trial.algorithm].dashes) for trial in trials
    ]

    def draw(figure: Figure) -> None:
        panels = list(
            figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        )
        draw_contacts(panels[0], scene)
        for trial, (_, colour, dashes) in zip(trials, lines, strict=True):
            held, sent = tables.nodes(trial), tables.hops(trial)
            for axes, node in zip(panels[1 : 1 + len(nodes)], nodes, strict=True):
                t_s, values = _line(held["t_s"], held["held_bytes"] / 1e6, held["node"] == node)
                axes.plot(t_s / scene.clock.factor, values, color=colour, linestyle=dashes, linewidth=1.2)
            for axes, link in zip(panels[1 + len(nodes) :], links, strict=True):
                mine = sent["link"] == link
                slot_s = np.diff(sent["t_s"][mine], prepend=0.0)
                bits = sent["sent_packets"][mine] * 8 * section.segment_bytes / np.maximum(slot_s, 1e-9)
                t_s, values = _line(sent["t_s"][mine], bits / 1e3, np.ones(int(mine.sum()), dtype=bool))
                axes.plot(t_s / scene.clock.factor, values, color=colour, linestyle=dashes, linewidth=1.2)
        titles = [
            *(f"held in {short(node)} (MB)" for node in nodes),
            *(f"over {short(link)} (kbit/s)" for link in links),
        ]
        for axes, title in zip(panels[1:], titles, strict=True):
            axes.text(0.005, 0.96, title, transform=axes.transAxes, va="top", color=INK)
            axes.set_ylim(bottom=0, top=max(axes.get_ylim()[1], 1e-3) * HEADROOM)
            axes.locator_params(axis="y", nbins=3)
            quiet_ticks(axes)
        panels[-1].set_xlim(0, scene.end_s / scene.clock.factor)
        name_times(panels[-1], scene.dates, scene.clock)
        lay_stacked(figure, lines, narrow=narrow, hspace=0.2)

    height = sum(heights) + 0.75 + legend_above(None, lines, legend_chars(narrow))
    return draw_svg(f"{salt}-network", height, draw, width_in=width_in(narrow))


def _line(t_s: NDArray[Any], values: NDArray[Any], which: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
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
