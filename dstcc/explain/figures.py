"""The figures of an explanation: belief beside the channel, choices over time, and what was played."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dstcc.report.figures.looks import COLOURS
from dstcc.report.figures.panels import Line, Panel, draw_panels
from dstcc.report.figures.style import INK, NOT_PLAYED, draw_svg, quiet_ticks
from dstcc.report.numbers import unit_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from .explanation import Explanation, LinkTruth

    FloatArray = NDArray[np.float64]

POINTS = 40
"""Most points of a line of the channel: more decisions are taken together."""
LEAST_LOSS = 1e-6
"""What no loss at all is drawn as."""
MOST_CHOICES = 8
"""Choices of one kind with a colour of their own: the most frequent ones."""
ROW_IN, AXIS_IN, LEGEND_IN = 0.34, 0.55, 0.2
CHANNEL, BELIEF, BOUND = COLOURS[1], COLOURS[0], COLOURS[2]
BOUNDS = {"loss_low": "believed: 5 % are below", "loss_high": "believed: 5 % are above"}


def loss_figure(told: Explanation) -> str:
    """The loss believed and that of the channel, a panel a link, on an axis of powers of ten."""
    panels: list[Panel] = []
    for link in told.links:
        t_s, share = channel_loss(told, link)
        lines = [Line("of the channel, packets sent then", t_s, share, CHANNEL)]
        held = told.believed_of(link, "loss")
        if np.isfinite(held).any():
            lines.insert(0, Line("believed", told.t_s, held, BELIEF))
        for name, words in BOUNDS.items():
            bound = told.believed_of(link, name)
            if np.isfinite(bound).any():
                lines.append(Line(words, told.t_s, bound, BOUND))
        panels.append((link.name, lines, None))
    return draw_panels(panels, "bps", "explain-loss", "", floor=LEAST_LOSS)


def rate_figure(told: Explanation) -> str:
    """The rate believed and the rate that the policy asked for, a panel a link."""
    panels: list[Panel] = []
    for link in told.links:
        mine = list(link.subflows)
        paced = np.array([float(decision.saw["pacing_bps"][mine].sum()) for decision in told.decisions])
        lines = [Line("paced at", told.t_s, paced, CHANNEL)]
        if any("rate_bps" in decision.believed for decision in told.decisions):
            held = told.believed_of(link, "rate_bps") * len(mine)
            lines.insert(0, Line("believed", told.t_s, held, BELIEF))
        panels.append((link.name, lines, link.rate_bps))
    return draw_panels(panels, "bps", "explain-rate", "the link's")


def choice_figure(told: Explanation) -> str:
    """A row for each thing that is decided, coloured by what was chosen; below, the colours of each row."""
    choices = told.choices()
    clock = unit_for("seconds", [told.end_s])
    edges = np.append(told.t_s, told.end_s) / clock.factor
    keys = {name: _colours(chosen) for name, chosen in choices.items()}
    legend_in = LEGEND_IN * sum(2 + len(colours) // 4 for colours in keys.values())
    height_in = ROW_IN * len(choices) + AXIS_IN + legend_in + 0.2

    def draw(figure: Figure) -> None:
        top = 1 - 0.1 / height_in
        bottom = (AXIS_IN + legend_in) / height_in
        axes = figure.add_axes((0.19, bottom, 0.79, top - bottom))
        for row, (name, chosen) in enumerate(choices.items()):
            for begin, end, choice in _stretches(chosen):
                colour = keys[name].get(choice, NOT_PLAYED)
                axes.broken_barh(
                    [(edges[begin], edges[end] - edges[begin])], (-row - 0.4, 0.8), color=colour, linewidth=0
                )
        axes.set_yticks([-row for row in range(len(choices))], list(choices))
        axes.set_xlim(0, edges[-1])
        axes.set_ylim(-len(choices) + 0.4, 0.6)
        axes.set_xlabel(f"mission time ({clock.name})")
        quiet_ticks(axes)
        axes.set_axisbelow(True)
        axes.grid(visible=False)
        at = bottom - AXIS_IN / height_in
        for name, colours in keys.items():
            at -= LEGEND_IN / height_in
            figure.text(0.01, at, name, color=INK, va="center", ha="left", fontweight="bold")
            for place, (choice, colour) in enumerate(colours.items()):
                if place and place % 4 == 0:
                    at -= LEGEND_IN / height_in
                x = 0.19 + 0.2 * (place % 4)
                figure.text(x, at, "■", color=colour, va="center")
                figure.text(x + 0.015, at, choice, color=INK, va="center")
            at -= 0.5 * LEGEND_IN / height_in

    return draw_svg("explain-choices", height_in, draw)


def channel_loss(told: Explanation, link: LinkTruth) -> tuple[FloatArray, FloatArray]:
    """Times, and the share that the channel lost of what was sent around them: at most :data:`POINTS` of both."""
    groups = np.array_split(np.arange(len(told.decisions)), min(POINTS, max(len(told.decisions), 1)))
    sent = np.array([link.sent[group].sum() for group in groups], dtype=np.float64)
    lost = np.array([link.lost[group].sum() for group in groups], dtype=np.float64)
    t_s = np.array([told.t_s[group].mean() if len(group) else np.nan for group in groups])
    return t_s, np.where(sent > 0, lost / np.maximum(sent, 1), np.nan)


def _colours(chosen: list[str]) -> dict[str, str]:
    """A colour for each of the most frequent choices."""
    names = sorted(set(chosen), key=lambda name: (-chosen.count(name), name))[:MOST_CHOICES]
    return dict(zip(names, COLOURS, strict=False))


def _stretches(chosen: list[str]) -> list[tuple[int, int, str]]:
    """Where the same choice stands several times in a row: from, to, which."""
    found: list[tuple[int, int, str]] = []
    for place, choice in enumerate(chosen):
        if found and found[-1][2] == choice:
            found[-1] = found[-1][0], place + 1, choice
        else:
            found.append((place, place + 1, choice))
    return found
