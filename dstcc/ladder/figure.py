"""The ladder as a picture: a row a baseline, a picture a scenario, each mean with its interval."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, Any

from dstcc.report.figures.looks import COLOURS
from dstcc.report.figures.style import (
    INK,
    MUTED,
    draw_svg,
    quiet_ticks,
    set_margins,
    short,
    standalone,
    width_in,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from .baselines import Baseline, Ladder

ROW_IN, ABOVE_IN, BELOW_IN = 0.38, 0.34, 0.5
LEFT_IN, RIGHT_IN = 2.1, 0.75
LINE = {
    "clairvoyant": COLOURS[6],
    "planner-law": COLOURS[0],
    "controller": COLOURS[3],
    "planner-belief": COLOURS[5],
    "best-constant": COLOURS[1],
    "tuned-rule": COLOURS[2],
    "random": MUTED,
}
"""By kind of baseline."""
STEPS = 50
"""Parts of the whole weight, on which an axis begins and ends."""


def baselines_figure(scenario: str, baselines: Sequence[Baseline], salt: str, *, narrow: bool = False) -> str:
    """The baselines of one scenario as SVG; ``salt`` as in :func:`~dstcc.report.figures.style.draw_svg`."""
    ends = [end for baseline in baselines for end in baseline.estimate.bounds()]
    low, high = floor(min(ends) * STEPS) / STEPS, ceil(max(ends) * STEPS) / STEPS
    height_in = ABOVE_IN + ROW_IN * len(baselines) + BELOW_IN

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        for row, baseline in enumerate(baselines):
            estimate, colour = baseline.estimate, LINE[baseline.baseline]
            axes.plot(estimate.bounds(), [row, row], color=colour, linewidth=3)
            axes.plot([estimate.value], [row], "o", color=colour, markersize=6)
            place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
            axes.annotate(f"{estimate.value:.4f}", (1, row), (6, 0), va="center", color=INK, **place)
        axes.set(ylim=(len(baselines) - 0.5, -0.5), yticks=range(len(baselines)))
        axes.set_yticklabels([f"{baseline.label}\n{short(baseline.name)}" for baseline in baselines])
        axes.set_xlim(low, max(high, low + 1 / STEPS))
        axes.set_xlabel("weighted layers, share of the most")
        axes.set_title(short(scenario), loc="left", color=INK, weight="bold")
        axes.spines["left"].set_visible(False)
        axes.grid(axis="y", visible=False)
        quiet_ticks(axes)
        axes.tick_params(axis="y", labelcolor=INK)
        axes.locator_params(axis="x", nbins=5)
        set_margins(figure, left=LEFT_IN, right=RIGHT_IN, top=ABOVE_IN, bottom=BELOW_IN)

    return draw_svg(f"ladder-{salt}", height_in, draw, width_in=width_in(narrow))


def whole(ladder: Ladder, label: str) -> str:
    """All scenarios below each other, as a file of its own."""
    parts = [
        baselines_figure(name, ladder.baselines_of(name), str(i)) for i, name in enumerate(ladder.scenarios)
    ]
    return standalone("".join(parts), label)
