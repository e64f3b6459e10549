"""Sockets and links over mission time: a panel a link."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dstcc.report.figures.links import Scene
from dstcc.report.figures.looks import COLOURS, DASHES
from dstcc.report.figures.network import Drawn, draw_network, thinned
from dstcc.report.figures.panels import Line, Panel
from dstcc.report.figures.style import INK, short
from dstcc.report.numbers import unit_for

from .load import Columns, ProgramRun, finite, of_link

MOST_PANELS = 12
"""Of a network's figure."""
MOST_SOCKETS = 6
"""Lines of a panel: the sockets that moved most."""
WAYS = (("down", "to Earth", COLOURS[0]), ("up", "to the spacecraft", COLOURS[1]))
LEGEND: list[tuple[str, str, Any]] = [
    ("from its first node", COLOURS[0], "-"),
    ("back", COLOURS[1], DASHES[1]),
    ("held", INK, "-"),
]
"""Of a network's figure."""
LIVE = ("established", "close-wait", "fin-wait-1", "fin-wait-2")


def socket_panels(
    run: ProgramRun, column: str, limit: Callable[[dict[str, object]], float | None]
) -> list[Panel]:
    """A panel for each link that had sockets: one line a socket."""
    panels: list[Panel] = []
    for link in run.meta.get("paths", run.meta["links"]):
        mine = of_link(run.sockets, link["name"])
        lines = []
        for place, (name, socket) in enumerate(_busiest(mine)):
            values = finite(socket[column])
            values[~np.isin(socket["state"], LIVE)] = np.nan
            colour = COLOURS[place % len(COLOURS)]
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


def network_figure(run: ProgramRun, *, narrow: bool = False) -> str:
    """Contacts of the links, what each node holds and what each link carries over them, on one time axis."""
    end_s = max(float(run.meta["mission_s"]), 1e-9)
    links = run.meta["links"]
    contacts = {link["name"]: _contacts(link["contacts"]) for link in links}
    scene = Scene(tuple(contacts), contacts, unit_for("seconds", [end_s]), end_s, run.clock)
    panels: list[Drawn] = []
    for host in stores(run):
        mine = of_node(run, host)
        everything = np.ones(len(mine["t_s"]), dtype=bool)
        line = thinned(finite(mine["t_s"]), finite(mine["held_bytes"]) / 1e3, everything)
        panels.append((f"held in {host} (kB)", [(*line, INK, "-")]))
    for link in links:
        lines = []
        for (way, _, _), (_, colour, dashes) in zip(WAYS, LEGEND, strict=False):
            t_s, bps = _rate(of_link(run.links, link["name"]), way)
            lines.append((*thinned(t_s, bps / 1e3, np.ones(len(t_s), dtype=bool)), colour, dashes))
        panels.append((f"over {short(link['name'])} (kbit/s)", lines))
    return draw_network(scene, panels[:MOST_PANELS], LEGEND, "programs-network" + "n" * narrow, narrow=narrow)


def stores(run: ProgramRun) -> list[str]:
    """The hosts of the nodes that store."""
    return [node["host"] for node in run.meta["nodes"] if node["storage_bytes"] > 0]


def of_node(run: ProgramRun, host: str) -> Columns:
    """The rows of one node."""
    mine = run.nodes["node"] == host
    return {name: values[mine] for name, values in run.nodes.items()}


def _contacts(contacts: list[list[float]]) -> dict[str, NDArray[Any]]:
    """As rows of times from which a link is open or not."""
    edges = [(0.0, False), *((t_s, not end) for pair in contacts for end, t_s in enumerate(pair))]
    return {
        "t_s": np.array([t_s for t_s, _ in edges], dtype=np.float64),
        "open": np.array([is_open for _, is_open in edges], dtype=bool),
    }


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
