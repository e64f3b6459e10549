"""The page of a run of programs, in the report's style."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dstcc.report.figures.panels import Panel, draw_panels
from dstcc.report.numbers import quantity
from dstcc.report.template import TEMPLATES, Plot, fill

from .figures import loss_panels, network_figure, of_node, rate_panels, socket_panels
from .load import ProgramRun, finite

NETWORK_CAPTION = (
    "Bars: when each link is up. Below: what each node stores for links that are away or busy, then what each link "
    "delivers at its other end, headers included."
)


@dataclass(frozen=True)
class Figure:
    """A figure with its words."""

    key: str
    title: str
    plot: Plot
    caption: str


def render_program_run(run: ProgramRun) -> str:
    """The page; the same run gives the same bytes."""
    return fill(
        TEMPLATES / "programs.html",
        run=run,
        meta=run.meta,
        verdict=_verdict(run),
        figures=list(_figures(run)),
        nodes=node_rows(run),
        command=shlex.join(["dstcc", *run.meta["argv"][1:]]),
        line_of=shlex.join,
        quantity=quantity,
        ended=run.clock.reading if run.clock.dated else partial(quantity, "seconds"),
    )


def _verdict(run: ProgramRun) -> str:
    meta = run.meta
    first = meta["programs"][0]
    if meta["problem"]:
        return str(meta["problem"])
    how = "was ended" if first["ended_by_dstcc"] else "ended"
    ended_s = meta["mission_s"] if first["ended_s"] is None else first["ended_s"]
    when = f", at {run.clock.reading(ended_s)}" if run.clock.dated else ""
    return (
        f"{first['argv'][0]} {how} with exit code {first['exit_code']} after "
        f"{quantity('seconds', ended_s)} of mission time{when}."
    )


def _figures(run: ProgramRun) -> Iterator[Figure]:
    if "nodes" in run.meta:
        svg, narrow = network_figure(run), network_figure(run, narrow=True)
        said = f"What nodes held and links carried over mission time. {' '.join(_held(run))}"
        yield Figure("network", "What nodes held and links carried", Plot(svg, said, narrow), NETWORK_CAPTION)
    sockets = "The sockets that moved most; a socket's name is its host, its port and the other end's."
    found: tuple[tuple[str, str, list[Panel], str, str, str], ...] = (
        (
            "rtt",
            "Smoothed round-trip time",
            socket_panels(run, "rtt_s", lambda link: float(str(link["rtt_s"]))),
            "seconds",
            "propagation",
            f"TCP's estimate of the round trip. {sockets}",
        ),
        (
            "cwnd",
            "Congestion window",
            socket_panels(run, "cwnd_segments", lambda _: None),
            "count",
            "",
            f"In segments. {sockets}",
        ),
        (
            "acked",
            "Bytes acknowledged",
            socket_panels(run, "acked_bytes", lambda _: None),
            "bytes",
            "",
            f"What has arrived and is known to have. {sockets}",
        ),
        (
            "rate",
            "What the links delivered",
            [] if "nodes" in run.meta else rate_panels(run),
            "bps",
            "link rate",
            "All that left a link at its other end between two samples, headers included.",
        ),
        (
            "lost",
            "Packets lost",
            loss_panels(run),
            "count",
            "",
            "So far: lost on the way (losses and outages), and dropped by a full queue.",
        ),
    )
    for key, title, panels, kind, limit_name, caption in found:
        if panels:
            svg = draw_panels(panels, kind, f"programs-{key}", limit_name, run.clock)
            narrow = draw_panels(panels, kind, f"programs-{key}n", limit_name, run.clock, narrow=True)
            said = f"{title} over mission time. At most: {'; '.join(_most(panels, kind))}."
            yield Figure(key, title, Plot(svg, said, narrow), caption)


def _held(run: ProgramRun) -> Iterator[str]:
    for row in node_rows(run):
        yield f"{row['host']} held at most {quantity('bytes', row['most_bytes'])}."


def node_rows(run: ProgramRun) -> list[dict[str, Any]]:
    """What each node that stores held at most and on average, and what it dropped."""
    rows = []
    for node in run.meta.get("nodes", ()):
        if node["storage_bytes"] == 0:
            continue
        mine = of_node(run, node["host"])
        t_s, held = finite(mine["t_s"]), finite(mine["held_bytes"])
        span_s = float(t_s[-1] - t_s[0]) if len(t_s) else 0.0
        rows.append(
            {
                **node,
                "most_bytes": float(held.max(initial=0.0)),
                "mean_bytes": float((held[:-1] * np.diff(t_s)).sum()) / span_s if span_s > 0 else 0.0,
                "dropped": int(finite(mine["dropped_packets"]).max(initial=0.0)),
                "lost": int(finite(mine["lost_in_restarts_packets"]).max(initial=0.0)),
            }
        )
    return rows


def _most(panels: list[Panel], kind: str) -> Iterator[str]:
    """For each link, the greatest value of each of its lines."""
    for link, lines, _limit in panels:
        tops = [(line.name, line.y[np.isfinite(line.y)]) for line in lines]
        said = ", ".join(f"{name} {quantity(kind, float(y.max()))}" for name, y in tops if y.size)
        yield f"on {link} {said or 'nothing'}"
