"""The style of every figure, and its conversion to inline SVG that is the same, byte for byte, every time.

Text stays text in the SVG, in the page's font; colours of :data:`THEMED` become CSS variables, so a page
can be light or dark.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from dstcc.clock import Clock
from dstcc.report.mark import PICTURE_MARK
from dstcc.report.model import MARKS, plain_name
from dstcc.version import __version__

from .looks import COLOURS, Look, Looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dstcc.report.numbers import Unit

    Rows = Sequence[Sequence[Axes]]

WIDTH_IN = 11.2
NARROW_IN = 4.7
"""338 pt: on a phone of 390 px a point is about a pixel."""
FONT_PT = 9.0
RASTER_DPI, NARROW_DPI = 144, 96
"""Of what is drawn as pixels; a phone's figure is a second one, and dots are most of a page's bytes."""

INK = "#1b2430"
MUTED = "#5c6874"
GRID = "#e4e8ec"
SPINE = "#a3adb7"
NOT_PLAYED = "#b4bcc5"
THEMED = {INK: "ink", MUTED: "muted", GRID: "grid", SPINE: "spine"} | {
    colour: f"a{index}" for index, colour in enumerate(COLOURS)
}
LEVEL_RANGE = (0.27, 0.75)
"""The part of viridis with enough contrast to white and to black."""
LABEL_CHARS = 27
"""Characters that fit the margin at the left of the bars."""
LEGEND_CHARS, LEGEND_KEY_CHARS = 170, 8
"""Characters that fit the width of a figure, and those that a legend's line and gaps take."""
NARROW_CHARS = 58
LEGEND_ROW_IN = 0.19
OPENED = r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)"'
"""How an element begins."""
FOCUS = 6
"""Lines with looks of their own in a figure of more than one line more."""
BAND_ROWS = 3
"""Rows of a figure of many that stay together: as many fit on a page of paper."""

RC: dict[Any, Any] = {
    "axes.edgecolor": SPINE,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": MUTED,
    "axes.labelsize": FONT_PT,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": FONT_PT,
    "axes.titley": 1.0,  # else each title is laid out anew over all ticks
    "axes.unicode_minus": True,
    "figure.facecolor": "none",
    "font.family": "DejaVu Sans",
    "font.size": FONT_PT,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": FONT_PT,
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
    "svg.fonttype": "none",
    "svg.image_inline": True,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": SPINE,
    "xtick.labelcolor": MUTED,
    "xtick.labelsize": FONT_PT - 0.5,
    "ytick.color": SPINE,
    "ytick.labelcolor": MUTED,
    "ytick.labelsize": FONT_PT - 0.5,
}


def draw_svg(
    name: str, height_in: float, draw: Callable[[Figure], None], *, width_in: float = WIDTH_IN
) -> str:
    """An ``<svg>`` element that ``draw`` has filled.

    ``name`` salts the element ids: figures of one page must not share them.
    """

    def one_row(figure: Figure) -> Rows:
        draw(figure)
        return [figure.axes]

    return draw_bands(name, height_in, one_row, width_in=width_in)


def draw_bands(
    name: str,
    height_in: float,
    draw: Callable[[Figure], Rows],
    *,
    width_in: float = WIDTH_IN,
    above_in: float = 0.0,
    below_in: float = 0.0,
) -> str:
    """A figure of rows from top to bottom as ``<svg>`` elements below each other, :data:`BAND_ROWS` rows in each, so
    that a printed page can end between them.

    ``draw`` returns the axes of each row. Between two bands ``above_in`` is kept for what stands above a row, and
    ``below_in`` for what stands below one: the first row of :func:`bands` and the last have it.
    """
    import matplotlib
    from matplotlib.figure import Figure

    dpi = NARROW_DPI if width_in == NARROW_IN else RASTER_DPI
    with matplotlib.rc_context({**RC, "svg.hashsalt": f"dstcc-{name}"}), warnings.catch_warnings():
        # A name may hold characters that matplotlib's own font lacks; the reader's browser draws the text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=(width_in, height_in), dpi=dpi)
        rows = draw(figure)
        return "".join(_saved(figure, rows, band, (above_in, below_in)) for band in bands(len(rows)))


def bands(rows: int) -> list[range]:
    """Rows that stay together."""
    return [range(first, min(first + BAND_ROWS, rows)) for first in range(0, rows, BAND_ROWS)]


def _saved(figure: Figure, rows: Rows, band: range, margins_in: tuple[float, float]) -> str:
    """The part of a figure that has these rows, as an ``<svg>`` element."""
    from matplotlib.transforms import Bbox

    shown = [axes for row in band for axes in rows[row]]
    first, last = band.start == 0, band.stop == len(rows)
    for axes in figure.axes:
        axes.set_visible(axes in shown)
    for legend in figure.legends:
        legend.set_visible(first)
    width, height = figure.get_size_inches()
    places = [axes.get_position() for axes in shown]
    bottom = 0.0 if last else min(place.y0 for place in places) * height - margins_in[1]
    top = height if first else max(place.y1 for place in places) * height + margins_in[0]
    buffer = io.StringIO()
    figure.savefig(
        buffer,
        format="svg",
        dpi=figure.dpi,
        transparent=True,
        bbox_inches=None if first and last else Bbox([[0, bottom], [width, top]]),
        metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
    )
    return _inline(buffer.getvalue())


def swatch(look: Look) -> tuple[str, int]:
    """CSS variable of an algorithm's colour, and the form of its swatch."""
    return THEMED[look.colour], look.turn


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb`` (WCAG 2.2): 0 for black, 1 for white."""
    shares = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares)
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def level_colours(levels: tuple[int, ...]) -> dict[int, str]:
    """A colour for each highest layer played; −1, not played, is grey, and more layers are brighter."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    layers = [level for level in levels if level >= 0]
    low, high = LEVEL_RANGE
    steps = max(1, len(layers) - 1)
    shades = {
        level: to_hex(colormaps["viridis"](low + (high - low) * i / steps)) for i, level in enumerate(layers)
    }
    return {-1: NOT_PLAYED, **shades}


def layer_name(layer: int) -> str:
    """``BL``, ``EL1`` …"""
    return "base layer" if layer == 0 else f"EL{layer}"


def short(name: str) -> str:
    """A name that fits a figure's margin, on one line; its marks are on a second line unless they fit."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    marks = " ".join(one for one in MARKS if flat.endswith(one) or f" {one} " in flat)
    flat = plain_name(flat)
    line = flat if len(flat) <= LABEL_CHARS else f"{flat[: LABEL_CHARS - 1]}…"
    if not marks:
        return line
    return f"{line}{' ' if len(line) + 1 + len(marks) <= LABEL_CHARS else chr(10)}{marks}"


def one_line(name: str) -> str:
    """As :func:`short`, with the marks behind the name."""
    return short(name).replace("\n", " ")


def focus(names: Sequence[str], looks: Looks) -> tuple[dict[str, dict[str, Any]], list[tuple[str, str, Any]]]:
    """How each line of a figure is drawn, and the lines of its legend. ``names`` begin with the best algorithm: where
    there are many, the first ones and the last have their own looks, and the others are grey."""
    few = len(names) <= FOCUS + 1
    shown = set(names) if few else {*names[: FOCUS - 1], names[-1]}
    styles: dict[str, dict[str, Any]] = {
        name: {"color": looks[name].colour, "linestyle": looks[name].dashes, "linewidth": 1.5}
        if name in shown
        else {"color": SPINE, "linestyle": "-", "linewidth": 0.9, "zorder": 0.9}
        for name in names
    }
    lines = [(name, looks[name].colour, looks[name].dashes) for name in names if name in shown]
    return styles, lines if few else [*lines, (f"{len(names) - len(shown)} others", SPINE, "-")]


def legend_above(
    figure: Figure | None, lines: list[tuple[str, str, Any]], chars: int = LEGEND_CHARS, /, **extra: Any
) -> float:
    """A legend of lines (algorithm, colour, style) over the axes; its height in inches, also without a figure.

    ``extra`` maps a label to the look of one line more; ``chars`` fit the figure's width.
    """
    labels = [one_line(name) for name, _, _ in lines] + list(extra)
    columns = max(1, min(len(labels), int(chars / (max(map(len, labels)) + LEGEND_KEY_CHARS))))
    if figure is not None:
        from matplotlib.lines import Line2D

        looks = [{"color": colour, "linestyle": style} for _, colour, style in lines] + list(extra.values())
        handles = [
            Line2D([], [], **{"linewidth": 1.5, **look}, label=label)
            for look, label in zip(looks, labels, strict=True)
        ]
        figure.legend(handles=handles, loc="upper center", ncols=columns, borderaxespad=0.2)
    return LEGEND_ROW_IN * -(-len(labels) // columns)


def lay_stacked(figure: Figure, lines: list[tuple[str, str, Any]], *, narrow: bool, hspace: float) -> None:
    """Panels one above the other, of one time axis, below the legend of their lines."""
    above = legend_above(figure, lines, legend_chars(narrow))
    set_margins(figure, left=1.12, right=0.17, top=0.12 + above, bottom=0.48, hspace=hspace)
    align_ylabels(figure)


def set_margins(
    figure: Figure, *, left: float, right: float, top: float, bottom: float, **between: float
) -> None:
    """Around the axes, in inches; ``between`` them are matplotlib's ``wspace`` and ``hspace``."""
    width, height = figure.get_size_inches()
    figure.subplots_adjust(
        left=left / width, right=1 - right / width, top=1 - top / height, bottom=bottom / height, **between
    )


def width_in(narrow: bool) -> float:
    """Of a figure for a phone or for any other page."""
    return NARROW_IN if narrow else WIDTH_IN


def legend_chars(narrow: bool) -> int:
    """Characters of a legend that fit that width; on a phone its margins count for more."""
    return NARROW_CHARS if narrow else LEGEND_CHARS


def quiet_ticks(axes: Axes) -> None:
    """Keep the grid, drop the tick marks."""
    axes.tick_params(length=0, pad=4)


def name_times(axes: Axes, clock: Clock, unit: Unit, what: str = "") -> None:
    """Label the times of axes whose limits are set and whose x are mission seconds in ``unit``; ``what`` says of what
    they are the times, like ``captured at``."""
    if not clock.dated:
        axes.set_xlabel(f"{what} mission time ({unit.name})".lstrip())
        return
    from dstcc.report.times import Moments, Names

    begins_s = axes.get_xlim()[0] * unit.factor
    axes.set_xlabel(f"{what} UTC, from {clock.moment(begins_s)}".lstrip())
    axes.xaxis.set_major_locator(Moments(clock, unit.factor))
    axes.xaxis.set_major_formatter(Names(clock, unit.factor))


def in_light_colours(svg: str) -> str:
    """A figure that needs no page: the page's colours and fonts by their values, and no note that it has a text."""
    for colour, variable in THEMED.items():
        svg = svg.replace(f"var(--{variable})", colour)
    svg = svg.replace("var(--font)", "system-ui, 'DejaVu Sans', sans-serif")
    return svg.replace(' aria-hidden="true"', "", 1)


def standalone(svg: str, label: str = "") -> str:
    """A figure of a page as a file of its own, in the light colours on white, with its alternative text as its title.

    Bands of a figure stand below each other in it. The same figure gives the same bytes.
    """
    head = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    opened = in_light_colours(_joined(svg)).replace("<svg ", head, 1)
    at = opened.index(">") + 1
    title = f"<title>{escape(label)}</title>" if label else ""
    mark = f"{PICTURE_MARK}{__version__}</metadata>"
    return f'{opened[:at]}{mark}{title}<rect width="100%" height="100%" fill="#ffffff"/>{opened[at:]}\n'


def _joined(svg: str) -> str:
    """Several elements of :func:`draw_bands` as one."""
    sizes = [(float(width), float(height)) for width, height in re.findall(OPENED, svg)]
    if len(sizes) < 2:
        return svg
    total = f"0 0 {sizes[0][0]:g} {sum(height for _, height in sizes):g}"
    tops = iter(accumulate((height for _, height in sizes), initial=0.0))
    body = re.sub(
        OPENED, lambda one: f'<svg y="{next(tops):g}" width="{one[1]}" height="{one[2]}" {one[0][5:]}', svg
    )
    return f'<svg viewBox="{total}" aria-hidden="true">{body}</svg>'


def _inline(svg: str) -> str:
    """Strip what an inline element does not need, shorten coordinates, let the page set font and colours."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(
        r'<svg [^>]*?viewBox="([^"]+)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">', body, count=1
    )
    body = re.sub(r'<g id="[A-Za-z0-9.]+_\d+"', "<g", body)
    body = re.sub(r"\bd=\"[^\"]*\"", _short_path, body)
    body = re.sub(r"font: ([^;\"]*?)'DejaVu Sans'[^;\"]*", r"font: \1var(--font)", body)
    for colour, variable in THEMED.items():
        body = body.replace(colour, f"var(--{variable})")
    return body.strip()


def _short_path(match: re.Match[str]) -> str:
    text = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), match[0])
    return text.replace("\n", "")


def align_ylabels(figure: Figure) -> None:
    """Put the labels of all vertical axes, which stand above each other, at one distance, left of the widest tick's.

    :meth:`Figure.align_ylabels` has each axis measure the ticks of all at each drawing.
    """
    from matplotlib.backends.backend_svg import RendererSVG

    dpi, figure.dpi = figure.dpi, 72.0  # an SVG's
    width, height = figure.get_size_inches() * 72
    renderer = RendererSVG(width, height, io.StringIO())  # type: ignore[no-untyped-call]
    axes = [one for one in figure.axes if one.get_ylabel()]
    for one in axes:
        one.yaxis.label.set_visible(False)
    boxes = [one.yaxis.get_tightbbox(renderer) for one in axes]
    for one in axes:
        one.yaxis.label.set_visible(True)
    gaps = [one.bbox.x0 - box.x0 for one, box in zip(axes, boxes, strict=True) if box is not None]
    for one in axes:
        left = max(gaps, default=0.0) + one.yaxis.labelpad
        one.yaxis.set_label_coords(-left / one.bbox.width, 0.5)
    for axis in (axis for one in figure.axes for axis in (one.xaxis, one.yaxis)):
        if not axis.get_label_text():
            axis.set_label_coords(0.0, 0.0)
    figure.dpi = dpi
