"""The figures of an explanation: belief beside the channel, choices over time, and what was played."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dstcc.arrays import Float64Array
from dstcc.report.figures.looks import COLOURS
from dstcc.report.figures.panels import Line, Panel, draw_panels
from dstcc.report.figures.style import INK, NOT_PLAYED, draw_svg, name_times, quiet_ticks, width_in
from dstcc.report.numbers import unit_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.figure import Figure

    from .explanation import Explanation, LinkTruth


POINTS = 40
"""Most points of a line of the channel: more decisions are taken together."""
LEAST_LOSS = 1e-6
"""What no loss at all is drawn as."""
MOST_CHOICES = 8
"""Choices of one kind with a colour of their own: the most frequent ones."""
ROW_IN, AXIS_IN, LEGEND_IN, KEY_IN = 0.34, 0.55, 0.2, 0.17
MOST_COLUMNS, CHARACTER_IN = 4, 0.06
"""Of the choices below the figure; the width of a character."""
CHANNEL, BELIEF, BOUND = COLOURS[1], COLOURS[0], COLOURS[2]
BOUNDS = {"loss_low": "believed, 5th percentile", "loss_high": "believed, 95th percentile"}


def loss_figure(told: Explanation, *, narrow: bool = False) -> str:
    """The loss believed and that of the channel, a panel a link, on an axis of powers of ten."""
    panels: list[Panel] = []
    for link in told.links:
        t_s, share = channel_loss(told, link)
        lines = [Line("reported loss" if link.reported else "channel loss", t_s, share, CHANNEL)]
        held = told.believed_of(link, "loss")
        if np.isfinite(held).any():
            lines.insert(0, Line("believed", told.t_s, held, BELIEF))
        for name, words in BOUNDS.items():
            bound = told.believed_of(link, name)
            if np.isfinite(bound).any():
                lines.append(Line(words, told.t_s, bound, BOUND))
        panels.append((link.name, lines, None))
    return draw_panels(panels, "bps", _salt("loss", narrow), "", told.clock, floor=LEAST_LOSS, narrow=narrow)


def rate_figure(told: Explanation, *, narrow: bool = False) -> str:
    """The rate believed and the rate that the policy asked for, a panel a link."""
    panels: list[Panel] = []
    for link in told.links:
        mine = list(link.subflows)
        paced = np.array([float(decision.saw["pacing_bps"][mine].sum()) for decision in told.decisions])
        lines = [Line("pacing rate", told.t_s, paced, CHANNEL)]
        if any("rate_bps" in decision.believed for decision in told.decisions):
            held = told.believed_of(link, "rate_bps") * len(mine)
            lines.insert(0, Line("believed", told.t_s, held, BELIEF))
        panels.append((link.name, lines, link.rate_bps))
    return draw_panels(panels, "bps", _salt("rate", narrow), "link rate", told.clock, narrow=narrow)


def choice_figure(told: Explanation, *, narrow: bool = False) -> str:
    """A row for each thing that is decided, coloured by what was chosen; below, the colours of each row."""
    choices = told.choices()
    clock = unit_for("seconds", [told.end_s])
    edges = np.append(told.t_s, told.end_s) / clock.factor
    keys = _colours(choices)
    left = 0.4 if narrow else 0.19
    columns = {name: _columns(colours, (1 - left) * width_in(narrow)) for name, colours in keys.items()}
    legend_in = LEGEND_IN * sum(0.5 + -(-len(colours) // columns[name]) for name, colours in keys.items())
    height_in = ROW_IN * len(choices) + AXIS_IN + legend_in + 0.2

    def draw(figure: Figure) -> None:
        top = 1 - 0.1 / height_in
        bottom = (AXIS_IN + legend_in) / height_in
        axes = figure.add_axes((left, bottom, 0.98 - left, top - bottom))
        for row, (name, chosen) in enumerate(choices.items()):
            for begin, end, choice in _stretches(chosen):
                colour = keys[name].get(choice, NOT_PLAYED)
                axes.broken_barh(
                    [(edges[begin], edges[end] - edges[begin])], (-row - 0.4, 0.8), color=colour, linewidth=0
                )
        axes.set_yticks([-row for row in range(len(choices))], list(choices))
        axes.set_xlim(0, edges[-1])
        axes.set_ylim(-len(choices) + 0.4, 0.6)
        name_times(axes, told.clock, clock)
        quiet_ticks(axes)
        axes.set_axisbelow(True)
        axes.grid(visible=False)
        at = bottom - AXIS_IN / height_in
        for name, colours in keys.items():
            at -= LEGEND_IN / height_in
            figure.text(0.01, at, name, color=INK, va="center", ha="left", fontweight="bold")
            for place, (choice, colour) in enumerate(colours.items()):
                if place and place % columns[name] == 0:
                    at -= LEGEND_IN / height_in
                x = left + (1 - left) * (place % columns[name]) / columns[name]
                figure.text(x, at, "■", color=colour, va="center")
                figure.text(x + KEY_IN / figure.get_figwidth(), at, choice, color=INK, va="center")
            at -= 0.5 * LEGEND_IN / height_in

    return draw_svg(_salt("choices", narrow), height_in, draw, width_in=width_in(narrow))


def _columns(choices: Iterable[str], space_in: float) -> int:
    """How many choices fit next to each other below the figure."""
    longest = max(map(len, choices))
    return max(1, min(MOST_COLUMNS, int(space_in / (2 * KEY_IN + CHARACTER_IN * longest))))


def _salt(key: str, narrow: bool) -> str:
    return f"explain-{key}{'-narrow' if narrow else ''}"


def channel_loss(told: Explanation, link: LinkTruth) -> tuple[Float64Array, Float64Array]:
    """Times, and the share that the channel lost of what was sent around them: at most :data:`POINTS` of both."""
    groups = np.array_split(np.arange(len(told.decisions)), min(POINTS, max(len(told.decisions), 1)))
    sent = np.array([link.sent[group].sum() for group in groups], dtype=np.float64)
    lost = np.array([link.lost[group].sum() for group in groups], dtype=np.float64)
    t_s = np.array([told.t_s[group].mean() if len(group) else np.nan for group in groups])
    return t_s, np.where(sent > 0, lost / np.maximum(sent, 1), np.nan)


def _colours(choices: dict[str, list[str]]) -> dict[str, dict[str, str]]:
    """For each thing that is decided, a colour of its most frequent choices; what is called the same looks the same."""
    keys: dict[str, dict[str, str]] = {}
    known: dict[str, str] = {}
    for decided, chosen in choices.items():
        names = sorted(set(chosen), key=lambda name: (-chosen.count(name), name))[:MOST_CHOICES]
        mine = {name: known[name] for name in names if name in known}
        free = [colour for colour in COLOURS if colour not in mine.values()]
        mine.update(zip((name for name in names if name not in mine), free, strict=False))
        known = {**mine, **known}
        keys[decided] = {name: mine[name] for name in names if name in mine}
    return keys


def _stretches(chosen: list[str]) -> list[tuple[int, int, str]]:
    """Where the same choice stands several times in a row: from, to, which."""
    found: list[tuple[int, int, str]] = []
    for place, choice in enumerate(chosen):
        if found and found[-1][2] == choice:
            found[-1] = found[-1][0], place + 1, choice
        else:
            found.append((place, place + 1, choice))
    return found
