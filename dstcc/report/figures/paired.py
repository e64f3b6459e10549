"""Each algorithm minus the reference, seed by seed: dots are seeds, bars the 95 % interval of their mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dstcc.report.catalogue import METRIC, PAIRED, Metric
from dstcc.report.model import Section, paired
from dstcc.report.numbers import unit_for

from .looks import Looks
from .style import INK, MUTED, draw_svg, quiet_ticks, set_margins, short, width_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEFT_IN = 2.1
"""Room for the names."""


def paired_metrics(section: Section) -> tuple[Metric, ...]:
    """The metrics with a paired difference for at least one algorithm."""
    return tuple(METRIC[key] for key in PAIRED if paired(section, key))


def paired_figure(section: Section, looks: Looks, salt: str, *, narrow: bool = False) -> str:
    """A panel per metric, a row per algorithm; the reference is at zero."""
    metrics = paired_metrics(section)
    others = [algorithm for algorithm in section.finished if algorithm is not section.reference]

    def draw(figure: Figure) -> None:
        shape = (len(metrics), 1) if narrow else (1, len(metrics))
        grid = list(figure.subplots(*shape, sharey=True, squeeze=False).flat)
        for axes, metric in zip(grid, metrics, strict=True):
            _panel(axes, section, metric, looks)
        grid[0].set(ylim=(len(others) - 0.5, -0.5), yticks=range(len(others)))
        grid[0].set_yticklabels([short(algorithm.name) for algorithm in others])
        for axes in grid:
            axes.tick_params(axis="y", labelcolor=INK)
        hspace = 0.85 / (figure.get_figheight() / len(grid) - 0.85) if narrow else 0.2
        set_margins(figure, left=LEFT_IN, right=0.17, top=0.32, bottom=0.52, wspace=0.12, hspace=hspace)

    panel_in = 0.95 + 0.36 * len(others)
    height = panel_in * (len(metrics) if narrow else 1)
    return draw_svg(f"{salt}-paired", height, draw, width_in=width_in(narrow))


def _panel(axes: Axes, section: Section, metric: Metric, looks: Looks) -> None:
    differences = paired(section, metric.key)
    unit = unit_for(
        metric.kind, [bound for difference in differences.values() for bound in difference.mean.bounds()]
    )
    others = [algorithm for algorithm in section.finished if algorithm is not section.reference]
    axes.axvline(0.0, color=INK, linewidth=1.0)
    for row, algorithm in enumerate(others):
        difference = differences.get(algorithm.name)
        if difference is None:
            continue
        colour = looks[algorithm.name].colour
        dots = [value / unit.factor for value in difference.differences]
        low, high = difference.mean.bounds()
        axes.scatter(dots, [row + 0.2] * len(dots), s=9, color=colour, alpha=0.45, linewidths=0, zorder=2)
        axes.plot([low / unit.factor, high / unit.factor], [row, row], color=colour, linewidth=2.2, zorder=3)
        axes.plot([difference.mean.value / unit.factor], [row], "o", color=colour, markersize=6, zorder=4)
    axes.set_title(metric.label, loc="left", color=INK, weight="bold")
    points = "percentage points" if metric.kind == "share" else unit.name
    axes.set_xlabel(f"difference ({points})", color=MUTED)
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.08)
    axes.spines["left"].set_visible(False)
    quiet_ticks(axes)
    axes.locator_params(axis="x", nbins=5)
