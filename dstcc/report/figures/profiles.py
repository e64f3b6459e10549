"""Performance profiles: the share of trials that reach a value or more, a line per algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.report.catalogue import Metric
from dstcc.stats import Profile

from .looks import Looks
from .style import INK, draw_svg, focus, legend_above, legend_chars, quiet_ticks, set_margins, width_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

Panels = list[tuple[Metric, dict[str, Profile]]]

BANDED = 4
"""With more algorithms than this, bands would hide each other: only the named algorithms get bands."""
MARGIN = 0.06
"""Margin beyond the least and the greatest value, as a share of the axis."""
BEYOND = 1.5
"""Percent that the axis extends beyond 0 and 100, so that a line at either end is visible."""


def profile_figure(panels: Panels, looks: Looks, named: set[str], salt: str, *, narrow: bool = False) -> str:
    """A panel per metric; ``named`` algorithms keep their bands when there are many."""
    names = list(dict.fromkeys(name for _, profiles in panels for name in profiles))
    styles, lines = focus(names, looks)

    def draw(figure: Figure) -> None:
        shape = (len(panels), 1) if narrow else (1, len(panels))
        grid = list(figure.subplots(*shape, sharey=True, squeeze=False).flat)
        for axes, (metric, profiles) in zip(grid, panels, strict=True):
            left, right = _limits(profiles)
            for name, profile in profiles.items():
                x, y, low, high = _steps(profile, left, right)
                axes.plot(x, y, drawstyle="steps-pre", **styles[name])
                if low is not None and (len(names) <= BANDED or name in named):
                    axes.fill_between(
                        x, low, high, step="pre", color=looks[name].colour, alpha=0.14, linewidth=0
                    )
            _dress(axes, metric, left, right)
        for axes in grid if narrow else grid[:1]:
            axes.set_ylabel("share of trials")
        above = legend_above(figure, lines, legend_chars(narrow))
        set_margins(figure, left=0.84, right=0.16, top=0.28 + above, bottom=0.5, wspace=0.08, hspace=0.5)

    rows = legend_above(None, lines, legend_chars(narrow))
    height = rows + (0.35 + 2.4 * len(panels) if narrow else 2.75)
    return draw_svg(f"{salt}-profiles", height, draw, width_in=width_in(narrow))


def _steps(
    profile: Profile, left: float, right: float
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]:
    """τ in percent and shares, from the left edge to the right edge, where the share is 0."""
    x = np.concatenate([[left], profile.tau * 100, [right]])

    def whole(values: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([[1.0], values, [0.0]])

    if profile.low is None or profile.high is None:
        return x, whole(profile.share), None, None
    return x, whole(profile.share), whole(profile.low), whole(profile.high)


def _limits(profiles: dict[str, Profile]) -> tuple[float, float]:
    low = min(float(one.tau[0]) for one in profiles.values()) * 100
    high = max(float(one.tau[-1]) for one in profiles.values()) * 100
    space = MARGIN * (high - low)
    return max(low - space, -BEYOND), min(high + space, 100 + BEYOND)


def _dress(axes: Axes, metric: Metric, left: float, right: float) -> None:
    axes.set_title(metric.label, loc="left", color=INK, weight="bold")
    axes.set(xlim=(left, right), ylim=(-0.02, 1.03))
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0], labels=["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.locator_params(axis="x", nbins=6)
    axes.set_xlabel("τ: this much or more (%)")
    quiet_ticks(axes)
