"""Panels of lines over mission time, one for each link, beside each other, or on a phone below each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dstcc.clock import Clock
from dstcc.report.numbers import unit_for

from .style import INK, MUTED, draw_svg, name_times, quiet_ticks, short, width_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

HEIGHT_IN, AXIS_IN, LEGEND_IN = 2.3, 0.55, 0.2
"""Of a panel; of its times below; of a row of its legend."""
LEAST_RISE = 1.25


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


def draw_panels(
    panels: Sequence[Panel],
    kind: str,
    salt: str,
    limit_name: str,
    dates: Clock,
    *,
    floor: float | None = None,
    narrow: bool = False,
) -> str:
    """The panels as SVG, each with a legend of its own.

    With ``floor`` the values are shares, drawn from there to 1 on an axis of powers of ten; lower ones lie on it.
    """
    times = [float(np.nanmax(line.t_s)) for _, lines, _ in panels for line in lines if len(line.t_s)]
    tops = [float(np.nanmax(line.y)) for _, lines, _ in panels for line in lines if np.isfinite(line.y).any()]
    clock = unit_for("seconds", times or [1.0])
    unit = unit_for(kind, [*tops, *(limit for _, _, limit in panels if limit)] or [1.0])
    columns = 1 if narrow else 2
    rows = -(-max(len(lines) + (limit is not None) for _, lines, limit in panels) // columns)
    below_in = AXIS_IN + LEGEND_IN * rows
    down = len(panels) if narrow else 1
    height_in = (HEIGHT_IN + below_in) * down
    plot_in = 0.9 * HEIGHT_IN
    """Of a panel without its title."""

    def draw(figure: Figure) -> None:
        shape = (len(panels), 1) if narrow else (1, len(panels))
        grid = list(figure.subplots(*shape, squeeze=False, sharex=True).flat)
        for axes, (name, lines, limit) in zip(grid, panels, strict=True):
            top = limit or 0.0
            for line in lines:
                axes.plot(
                    line.t_s / clock.factor,
                    line.y / unit.factor if floor is None else np.maximum(line.y, floor),
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
            if floor is None:
                axes.set_ylim(0, max(top, 1e-12) * LEAST_RISE / unit.factor)
            else:
                axes.set_yscale("log")
                axes.yaxis.set_major_formatter(_power)
                axes.set_ylim(floor / LEAST_RISE, 1)
            axes.set_title(short(name), loc="left", color=INK)
            axes.set_xlim(left=0)
            name_times(axes, dates, clock)
            quiet_ticks(axes)
            axes.tick_params(labelbottom=True)
            axes.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=columns)
        for axes in grid if narrow else grid[:1]:
            axes.set_ylabel(unit.name if floor is None else "share")
        figure.subplots_adjust(
            left=0.78 / figure.get_figwidth(),
            right=0.99,
            top=1 - (HEIGHT_IN - plot_in) / height_in,
            bottom=below_in / height_in,
            wspace=0.16,
            hspace=(HEIGHT_IN + below_in) / plot_in - 1,
        )

    return draw_svg(salt, height_in, draw, width_in=width_in(narrow))


def _power(value: float, _place: int | None) -> str:
    """A power of ten without matplotlib's markup, which an SVG with text would show as it is."""
    exponent = round(np.log10(value))
    return (
        "1" if exponent == 0 else "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    )
