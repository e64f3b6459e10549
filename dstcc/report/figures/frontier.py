"""Weighted layers over the playout delay: a line per algorithm, and the clairvoyant bound.

The figure is narrow, so that its text is legible on a phone without scrolling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dstcc.report.frontier import BOUND_NAME, Frontier
from dstcc.stats import Estimate

from .looks import Looks
from .style import FONT_PT, INK, NARROW_CHARS, NARROW_IN, draw_svg, legend_above, quiet_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLOT_IN = 2.7
MARGIN = 0.04
"""Of the range of delays, at either side."""
BEYOND = 2.0
"""Percent that the axis extends beyond 0 and 100, so that a line at either end is visible."""
BOUND_LOOK: dict[str, Any] = {"color": INK, "linewidth": 1.0, "linestyle": (0, (4, 2))}
MARKERS = "osD^v<>PXphd"
"""One for each algorithm of the figure, in the order of its lines."""


def frontier_figure(frontier: Frontier, looks: Looks, salt: str) -> str:
    """Whiskers are 95 % intervals."""
    names = frontier.pictured
    bounded = any(one is not None for one in frontier.bound)
    lines = [(name, looks[name].colour, looks[name].dashes) for name in names]
    extra = {BOUND_NAME: BOUND_LOOK} if bounded else {}

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        if bounded:
            x, y, _ = _points(frontier, frontier.bound)
            axes.plot(x, y, zorder=1, **BOUND_LOOK)
        for name, marker in zip(names, MARKERS, strict=False):
            x, y, whiskers = _points(frontier, frontier.line(name))
            axes.errorbar(
                x, y, yerr=whiskers, color=looks[name].colour, linestyle=looks[name].dashes, linewidth=1.6,
                marker=marker, markersize=4, elinewidth=1.0, capsize=2.0,
            )  # fmt: skip
        _dress(axes, frontier)
        above = legend_above(figure, lines, NARROW_CHARS, **extra)
        height = figure.get_figheight()
        figure.subplots_adjust(left=0.13, right=0.985, top=1 - (0.1 + above) / height, bottom=0.45 / height)

    rows = legend_above(None, lines, NARROW_CHARS, **extra)
    return draw_svg(f"{salt}-frontier", PLOT_IN + 0.55 + rows, draw, width_in=NARROW_IN)


def _points(
    frontier: Frontier, line: tuple[Estimate | None, ...]
) -> tuple[list[float], list[float], list[list[float]]]:
    """Delays and values in percent where there are some, and the whiskers' lengths below and above."""
    known = [(delay, one) for delay, one in zip(frontier.delays, line, strict=True) if one is not None]
    values = [one.value for _, one in known]
    below = [max(0.0, one.value - one.bounds()[0]) * 100 for _, one in known]
    above = [max(0.0, one.bounds()[1] - one.value) * 100 for _, one in known]
    return [delay for delay, _ in known], [value * 100 for value in values], [below, above]


def _dress(axes: Axes, frontier: Frontier) -> None:
    first, last = frontier.delays[0], frontier.delays[-1]
    space = MARGIN * (last - first)
    axes.set(xlim=(first - space, last + space), ylim=(-BEYOND, 100 + BEYOND))
    axes.set_yticks([0, 25, 50, 75, 100], labels=["0", "25", "50", "75", "100 %"])
    axes.locator_params(axis="x", nbins=8)
    axes.set_xlabel("playout delay (round trips of the longest link)", fontsize=FONT_PT)
    quiet_ticks(axes)
