"""What a figure draws, in words and numbers that a test can compare and a reader can check: one mark a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch
from matplotlib.text import Annotation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text

MOST = 12
"""Values of a mark; of more their number, ends, extremes and sum."""


def described(figure: Figure) -> str:
    """Its size, panels, legends and marks."""
    lines = [f"figure {numbers(figure.get_size_inches())} in, {figure.dpi:g} dpi"]
    for legend in figure.legends:
        lines += of_legend(legend)
    for axes in figure.axes:
        lines += of_axes(axes)
    return "\n".join(lines) + "\n"


def of_axes(axes: Axes) -> Iterator[str]:
    yield f"\npanel {numbers(axes.get_position().bounds)}{'' if axes.get_visible() else ' hidden'}"
    for side in ("left", "center", "right"):
        title: Text = getattr(axes, {"left": "_left_title", "center": "title", "right": "_right_title"}[side])
        if title.get_text():
            yield f"  title {side} {of_text(title)} y={title.get_transform().transform((0, 1))[1]:.4g}"
    yield f"  x {of_axis(axes.xaxis)}"
    yield f"  y {of_axis(axes.yaxis)}"
    spines = " ".join(name for name, spine in axes.spines.items() if spine.get_visible())
    yield f"  spines {spines}; marks {'above' if axes.get_axisbelow() is True else 'among'} the grid"
    yield from (f"  {of_mark(one, axes)}" for one in [*axes.lines, *axes.collections, *axes.patches])
    yield from (f"  {of_label(one, axes)}" for one in axes.texts)
    if (legend := axes.get_legend()) is not None:
        yield from (f"  {line}" for line in of_legend(legend))


def of_axis(axis: Axis) -> str:
    """Label, scale, limits, ticks within them, grid."""
    low, high = axis.get_view_interval()
    parts = [f"{axis.get_scale()} {numbers((low, high))}"]
    if axis.get_label_text():
        label = axis.get_label()
        parts.append(f"{of_text(label)} at {numbers(label.get_position())}")
    ticks: list[Any] = [
        one for one in axis.get_major_ticks() if min(low, high) <= one.get_loc() <= max(low, high)
    ]
    labels = axis.get_ticklabels()
    shown = [
        f"{at:.4g}={text.get_text()!r}"
        for at, text in zip(axis.get_majorticklocs(), labels, strict=False)
        if min(low, high) <= at <= max(low, high)
    ]
    parts.append(f"ticks {', '.join(shown)}")
    if labels:
        first, last = labels[0], labels[-1]
        look = f"{first.get_color()} {first.get_fontsize():g} pt {first.get_horizontalalignment()}"
        parts.append(f"{look}..{last.get_horizontalalignment()}")
    if ticks:
        one = ticks[0]
        parts.append(f"length {one.tick1line.get_markersize():g} pad {one.get_pad():g}")
        parts.append(f"labels {one.label1.get_visible()} grid {one.gridline.get_visible()}")
    parts.append(f"{len(axis.get_minorticklocs())} minor")
    if (most := getattr(axis.get_major_locator(), "_nbins", "auto")) != "auto":
        parts.append(f"at most {most}")
    return "; ".join(parts)


def of_mark(one: Any, axes: Axes) -> str:
    """A line, a set of dots, an area."""
    if isinstance(one, Line2D):
        x, y = (np.asarray(values, dtype=float) for values in one.get_data(orig=False))
        where = "" if one.get_transform() == axes.transData else " across"
        return f"line {of_line(one)}{where} x {series(x)} y {series(y)}"
    if isinstance(one, Collection):
        return of_collection(one, axes)
    look = f"{to_hex(one.get_facecolor())} lw {one.get_linewidth():g} {to_hex(one.get_edgecolor())}"
    look += f" {dashes(one.get_linestyle())} z {one.get_zorder():g} alpha {one.get_alpha()}"
    if isinstance(one, StepPatch):
        values, edges, base = one.get_data()
        area = "area" if one.get_fill() else "steps"
        based = "" if base is None else f" from {series(np.atleast_1d(np.asarray(base, dtype=float)))}"
        return f"{area} {look} {series(values)} at {series(edges)}{based}"
    box = one.get_path().get_extents(one.get_patch_transform())
    return f"box {look} {numbers((box.x0, box.x1, box.y0, box.y1))}"


def of_collection(one: Any, axes: Axes) -> str:
    """Dots, or areas."""
    look = f"{colours(one.get_facecolor())} lw {numbers(one.get_linewidth())} z {one.get_zorder():g}"
    look += f" alpha {one.get_alpha()}{' pixels' if one.get_rasterized() else ''}"
    name = type(one).__name__
    if name == "PathCollection" and not len(one.get_offsets()):
        return f"dots {look} none"
    if name == "PathCollection":
        x, y = np.asarray(one.get_offsets(), dtype=float).T
        where = "" if one.get_offset_transform() == axes.transData else " at the edge"
        form = numbers(one.get_paths()[0].get_extents().bounds)
        return f"dots {look} size {numbers(one.get_sizes())} form {form}{where} x {series(x)} y {series(y)}"
    if name == "LineCollection":
        look += f" {colours(one.get_edgecolor())}"
    return f"{name} {look} " + " ".join(f"[{points(path.vertices)}]" for path in one.get_paths())


def of_line(one: Any) -> str:
    """How a line looks."""
    name = str(one.get_label())
    look = f"{to_hex(one.get_color())} {dashes(one._unscaled_dash_pattern)} lw {one.get_linewidth():g}"
    look += f" {one.get_drawstyle()} z {one.get_zorder():g}"
    if one.get_marker() not in ("None", None, ""):
        look += f" marker {one.get_marker()} {one.get_markersize():g}"
    return look if name.startswith("_") else f"{look} {name!r}"


def of_legend(legend: Any) -> Iterator[str]:
    """Its place, measures and entries."""
    at = legend.get_bbox_to_anchor().transformed(legend.axes.transAxes.inverted()) if legend.axes else None
    measures = [
        *(legend.handletextpad, legend.columnspacing, legend.handlelength, legend.handleheight),
        legend.borderaxespad,
    ]
    where = "" if at is None else f" at {numbers(at.bounds)}"
    yield f"legend {legend._loc} columns {legend._ncols} measures {numbers(measures)}{where}"
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        look = of_line(handle) if isinstance(handle, Line2D) else to_hex(handle.get_facecolor())
        yield f"  {text.get_text()!r} {look}"


def of_label(one: Text, axes: Axes) -> str:
    """A text within a panel."""
    if isinstance(one, Annotation):
        where = f"at {numbers(one.xy)} of {one.xycoords} by {numbers(one.xyann)}"
    else:
        of = "" if one.get_transform() == axes.transData else " of the panel"
        where = f"at {numbers(one.get_position())}{of}"
    return f"text {of_text(one)} {one.get_horizontalalignment()} {one.get_verticalalignment()} {where}"


def of_text(one: Any) -> str:
    """Its words and how they look."""
    turned = f" turned {one.get_rotation():g}" if one.get_rotation() else ""
    weight = f" {one.get_weight()}" if one.get_weight() != "normal" else ""
    return f"{one.get_text()!r} {to_hex(one.get_color())} {one.get_fontsize():g} pt{weight}{turned}"


def dashes(pattern: Any) -> str:
    """A line's style."""
    if isinstance(pattern, str):
        return pattern
    return "-" if pattern[1] is None else f"({numbers(pattern[1])})"


def colours(many: Any) -> str:
    """Those of a set of marks, each once."""
    return " ".join(dict.fromkeys(to_hex(one) for one in many)) or "none"


def numbers(values: Iterable[float]) -> str:
    """To four digits."""
    return " ".join(f"{float(one):.4g}".replace("-0 ", "0 ") for one in values)


def series(values: Any) -> str:
    """All values, or of many what sums them up."""
    values = np.asarray(values, dtype=float)
    if len(values) <= MOST:
        return numbers(values)
    ends = f"{values[0]:.4g}..{values[-1]:.4g}"
    extremes = f"{np.nanmin(values):.4g} to {np.nanmax(values):.4g}"
    return f"{len(values)} values {ends}, {extremes}, sum {np.nansum(values):.4g}"


def points(corners: Any) -> str:
    """Corners of an area."""
    x, y = np.asarray(corners, dtype=float).T
    return f"x {series(x)} y {series(y)}"
