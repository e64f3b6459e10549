"""Sockets and links over mission time: a panel a link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dstcc.report.figures.style import ALGORITHM_COLOURS, DASHES, INK, MUTED, draw_svg, quiet_ticks, short
from dstcc.report.numbers import Unit, unit_for

from .load import Columns, ProgramRun, finite, of_link

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

MOST_SOCKETS = 6
"""Lines of a panel: the sockets that moved most."""
HEIGHT_IN, AXIS_IN, LEGEND_IN = 2.3, 0.55, 0.2
"""Of a panel; of its times below; of a row of its legend."""
LEAST_RISE = 1.25
WAYS = (("down", "to Earth", ALGORITHM_COLOURS[0]), ("up", "to the craft", ALGORITHM_COLOURS[1]))
LIVE = ("established", "close-wait", "fin-wait-1", "fin-wait-2")


@dataclass(frozen=True)
class Line:
    """A line of a panel."""

    name: str
    t_s: NDArray[np.float64]
    y: NDArray[np.float64]
    colour: str
    dash: object = "-"


Panel = tuple[str, list[Line], float | None]
"""A link's name, its lines, and the limit that the link sets."""


def socket_panels(
    run: ProgramRun, column: str, limit: Callable[[dict[str, object]], float | None]
) -> list[Panel]:
    """A panel for each link that had sockets: one line a socket."""
    panels: list[Panel] = []
    for link in run.meta["links"]:
        mine = of_link(run.sockets, link["name"])
        lines = []
        for place, (name, socket) in enumerate(_busiest(mine)):
            values = finite(socket[column])
            values[~np.isin(socket["state"], LIVE)] = np.nan
            colour = ALGORITHM_COLOURS[place % len(ALGORITHM_COLOURS)]
            lines.append(Line(name, finite(socket["t_s"]), values, colour, DASHES[place % 2]))
        if lines:
            panels.append((link["name"], lines, limit(link)))
    return panels


def rate_panels(run: ProgramRun) -> list[Panel]:
    """What each way of each link delivered between two samples, in bit/s."""
    return [
        (
            link["name"],
            [
                Line(label, *_rate(of_link(run.links, link["name"]), way), colour)
                for way, label, colour in WAYS
            ],
            float(link["rate_bps"]),
        )
        for link in run.meta["links"]
    ]


def loss_panels(run: ProgramRun) -> list[Panel]:
    """Packets lost on each way of each link so far, and dropped by its queue."""
    panels: list[Panel] = []
    for link in run.meta["links"]:
        mine, lines = of_link(run.links, link["name"]), []
        for way, label, colour in WAYS:
            of_way = mine["way"] == way
            for column, what, dash in (
                ("lost_packets", "lost", "-"),
                ("dropped_packets", "dropped", DASHES[2]),
            ):
                counts = finite(mine[column][of_way])
                if counts.any():
                    lines.append(Line(f"{what} {label}", finite(mine["t_s"][of_way]), counts, colour, dash))
        if lines:
            panels.append((link["name"], lines, None))
    return panels


def draw_panels(panels: Sequence[Panel], kind: str, salt: str, limit_name: str) -> str:
    """The panels beside each other as SVG, each with a legend of its own."""
    times = [float(np.nanmax(line.t_s)) for _, lines, _ in panels for line in lines if len(line.t_s)]
    tops = [float(np.nanmax(line.y)) for _, lines, _ in panels for line in lines if np.isfinite(line.y).any()]
    clock = unit_for("seconds", times or [1.0])
    unit = unit_for(kind, [*tops, *(limit for _, _, limit in panels if limit)] or [1.0])
    rows = -(-max(len(lines) + (limit is not None) for _, lines, limit in panels) // 2)
    below_in = AXIS_IN + LEGEND_IN * rows
    height_in = HEIGHT_IN + below_in

    def draw(figure: Figure) -> None:
        grid = figure.subplots(1, len(panels), squeeze=False, sharex=True)[0]
        for axes, (name, lines, limit) in zip(grid, panels, strict=True):
            top = limit or 0.0
            for line in lines:
                axes.plot(
                    line.t_s / clock.factor,
                    line.y / unit.factor,
                    color=line.colour,
                    linestyle=line.dash,
                    linewidth=1.4,
                    label=line.name,
                )
                top = max(top, float(np.nanmax(line.y)) if np.isfinite(line.y).any() else 0.0)
            if limit:
                axes.axhline(
                    limit / unit.factor, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), label=limit_name
                )
            axes.set_ylim(0, max(top, 1e-12) * LEAST_RISE / unit.factor)
            axes.set_title(short(name), loc="left", color=INK)
            axes.set_xlabel(_labelled("mission time", clock))
            quiet_ticks(axes)
            axes.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2)
        grid[0].set_ylabel(unit.name)
        figure.subplots_adjust(left=0.07, right=0.99, top=0.9, bottom=below_in / height_in, wspace=0.16)

    return draw_svg(salt, height_in, draw)


def _labelled(what: str, unit: Unit) -> str:
    return f"{what} ({unit.name})"


def _busiest(mine: Columns) -> list[tuple[str, dict[str, NDArray[np.float64]]]]:
    """The sockets that moved most bytes, with names that tell them apart."""
    found = []
    keys = list(dict.fromkeys(zip(mine["host"].tolist(), mine["socket"].tolist(), strict=True)))
    for host, socket in keys:
        rows = (mine["host"] == host) & (mine["socket"] == socket)
        one = {name: values[rows] for name, values in mine.items()}
        moved = finite(one["acked_bytes"]).max() + finite(one["received_bytes"]).max()
        found.append(
            (
                moved,
                f"{host} {one['local'][0].rpartition(':')[2]} → {one['remote'][0].rpartition(':')[2]}",
                one,
            )
        )
    found.sort(key=lambda entry: -entry[0])
    return [(name, one) for _moved, name, one in found[:MOST_SOCKETS]]


def _rate(mine: Columns, way: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    of_way = mine["way"] == way
    t_s, delivered = finite(mine["t_s"][of_way]), finite(mine["delivered_bytes"][of_way])
    passed = np.diff(t_s)
    rates = np.divide(8 * np.diff(delivered), passed, out=np.zeros_like(passed), where=passed > 0)
    return t_s[1:], rates
