"""Stacked bars: the share of chunks played up to each layer (figure 4 of paper 1)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from dstcc.layers import level_name
from dstcc.report.model import Algorithm, Section

from .style import (
    INK,
    LEGEND_ROW_IN,
    draw_svg,
    level_colours,
    luminance,
    one_line,
    quiet_ticks,
    short,
    width_in,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEGEND_IN, NARROW_ROW_IN = 0.36, 0.62
NAMES_IN, PAPER_IN = 2.13, 7.4
"""Of the margin with the names; of the text of a page."""
EVEN = 0.179
"""Luminance of a background from which black and white differ alike."""
LABELLED_SHARE = 0.045
"""A narrower segment has no room for its number."""


def layers_figure(
    section: Section,
    salt: str,
    *,
    narrow: bool = False,
    names: Collection[str] | None = None,
    on_paper: bool = False,
) -> str:
    """The bars as SVG, full quality at the left and not played at the right; a row for each algorithm of ``names``, or
    for all. ``on_paper`` the figure is as wide as the text of a page, so that its letters keep their size."""
    wide_in = PAPER_IN if on_paper else width_in(narrow)
    rows = [one for one in section.finished if names is None or one.name in names]
    columns = 2 if narrow else 3 if on_paper else len(section.levels)
    above_in = LEGEND_IN + LEGEND_ROW_IN * (-(-len(section.levels) // columns) - 1)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for row, algorithm in enumerate(rows):
            _bar(axes, row, algorithm, section.levels)
            if narrow:
                axes.text(0, row - 0.42, one_line(algorithm.name), color=INK, va="bottom")
        axes.set(ylim=(len(rows) - 0.5, -0.9 if narrow else -0.5), xlim=(0, 1))
        axes.set_yticks([] if narrow else range(len(rows)))
        if not narrow:
            axes.set_yticklabels([short(algorithm.name) for algorithm in rows], color=INK)
        axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1.0], labels=["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"])
        outer = axes.get_xticklabels()  # they would stand half outside the picture
        if narrow:
            outer[0].set_horizontalalignment("left")
        if narrow or on_paper:
            outer[-1].set_horizontalalignment("right")
        axes.set_xlabel("share of chunks")
        axes.grid(axis="y", visible=False)
        axes.set_axisbelow(True)
        axes.spines["left"].set_visible(False)
        quiet_ticks(axes)
        handles, labels = axes.get_legend_handles_labels()
        unique = dict(zip(labels, handles, strict=True))
        figure.legend(
            unique.values(),
            unique.keys(),
            loc="upper center",
            ncols=columns,
            handlelength=1.1,
            handleheight=1.1,
        )
        height = figure.get_figheight()
        left = 0.02 if narrow else NAMES_IN / wide_in
        figure.subplots_adjust(
            left=left, right=0.96 if narrow else 0.98, top=1 - above_in / height, bottom=0.5 / height
        )

    row_in = NARROW_ROW_IN if narrow else 0.42
    return draw_svg(f"{salt}-layers", above_in + 0.59 + row_in * len(rows), draw, width_in=wide_in)


def _bar(axes: Axes, row: int, algorithm: Algorithm, levels: tuple[int, ...]) -> None:
    colours = level_colours(levels)
    left = 0.0
    for level in reversed(levels):
        share = algorithm.played.get(level, 0.0)
        axes.barh(
            row, share, left=left, height=0.68, color=colours[level], label=level_name(level, len(levels) - 1)
        )
        if share >= LABELLED_SHARE:
            axes.text(
                left + share / 2,
                row,
                percent(share),
                ha="center",
                va="center",
                color=_contrast(colours[level]),
            )
        left += share


def percent(share: float) -> str:
    """Whole percents, but never 100 % for less than all."""
    almost = 0.995 <= share < 1.0
    return f"{int(share * 1000) / 10:.1f} %" if almost else f"{share * 100:.0f} %"


def _contrast(colour: str) -> str:
    """White or black, whichever differs more from a background: 4.5 to 1 or more on any (WCAG 2.2)."""
    return "#ffffff" if luminance(colour) < EVEN else "#000000"
