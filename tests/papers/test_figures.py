"""What the figures of papers draw, by the places of their marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas

from dstcc.layers import level_name
from dstcc.papers import figures
from dstcc.papers.carry import Results
from dstcc.papers.cells import Outcome
from dstcc.papers.figures import DRAWN, WINDOW, _compare, _panels, _smooth, draw, standalone
from dstcc.papers.model import Figure, Plot, Point
from dstcc.papers.rows import PublishedRow
from dstcc.report.figures.looks import looks
from dstcc.report.figures.style import GRID, MUTED, level_colours

COLOURS = {"ours": "#ff0000", "theirs": "#0000ff"}
DASHES = {"ours": "-", "theirs": "--"}


def results(kind: Any, values: Mapping[Any, Any], *, points: Any = (0.0,), **plot: Any) -> Results:
    """Of two algorithms; a value is a metric's, a list of numbers a series'."""
    figure = Figure(
        id="1",
        title="made",
        scenario="small.toml",
        seeds=2,
        quick_seeds=1,
        algorithms=("ours", "theirs"),
        point=tuple(Point(x=x) for x in points),
        plot=Plot(kind=kind, y="y", y_label="kbit/s", **plot),
    )
    outcomes = {
        place: Outcome({}, value) if isinstance(value, dict) else Outcome({"y": value})
        for place, value in values.items()
    }
    return Results(figure, False, outcomes)


def drawn(given: Results) -> Axes:
    axes = Canvas().add_subplot()
    DRAWN[given.figure.plot.kind](axes, given, COLOURS, DASHES)
    return axes


def lines(axes: Axes, colour: str) -> list[tuple[list[float], list[float]]]:
    """The lines of a colour, as numbers."""
    return [
        ([float(x) for x in np.asarray(line.get_xdata())], [float(y) for y in np.asarray(line.get_ydata())])
        for line in axes.lines
        if line.get_color() == colour
    ]


def spans(axes: Axes) -> list[list[list[float]]]:
    """The ends of what vlines and hlines drew."""
    return [
        [[float(value) for value in end] for end in path]
        for collection in axes.collections
        for path in collection.get_segments()  # type: ignore[attr-defined]
    ]


def test_lines_have_the_mean_of_the_seeds_at_each_point() -> None:
    values = {
        ("ours", 10.0, 1): 1000.0,
        ("ours", 10.0, 2): 3000.0,
        ("ours", 20.0, 1): 500.0,
        ("ours", 20.0, 2): 700.0,
    }
    axes = drawn(results("lines", values, points=(10.0, 20.0), times=1e-3, x_label="s"))
    assert lines(axes, "#ff0000") == [([10.0, 20.0], [2.0, 0.6])]
    assert lines(axes, "#0000ff") == []  # nothing is known of it
    (band,) = axes.collections
    box = band.get_datalim(axes.transData)
    assert (box.x0, box.x1) == (10.0, 20.0) and box.y0 < 0.6 and box.y1 > 2.0
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("s", "kbit/s")
    assert axes.get_ylim()[0] == 0


def test_points_with_names_stand_beside_each_other() -> None:
    values = {("ours", "near", 1): 5.0, ("ours", "far", 1): 7.0}
    axes = drawn(results("lines", values, points=("near", "far")))
    assert lines(axes, "#ff0000") == [([0.0, 1.0], [5.0, 7.0])]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["near", "far"]
    axes = drawn(results("lines", {("ours", 10.0, 1): 5.0}, points=("near", 10.0), log_x=True))
    assert lines(axes, "#ff0000") == [([1.0], [5.0])] and axes.get_xscale() == "linear"


def test_one_point_has_a_line_from_the_least_to_the_most() -> None:
    axes = drawn(results("lines", {("ours", 10.0, 1): 1.0, ("ours", 10.0, 2): 3.0}, points=(10.0,)))
    assert lines(axes, "#ff0000") == [([0.0], [2.0])]
    ((low, high),) = spans(axes)
    assert low == [0.0, pytest.approx(1.0)] and high == [
        0.0,
        pytest.approx(3.0),
    ]  # the resamples' mean: 1, 2 or 3


@pytest.mark.parametrize("log", [False, True])
def test_dots_have_a_row_an_algorithm(log: bool) -> None:
    axes = drawn(results("dots", {("ours", 0.0, 1): 20.0, ("theirs", 0.0, 1): 5.0}, log_y=log, times=2.0))
    assert lines(axes, "#ff0000") == [([40.0], [0.0])] and lines(axes, "#0000ff") == [([10.0], [1.0])]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["ours", "theirs"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first is above
    assert axes.get_xscale() == ("log" if log else "linear")
    if log:
        written = axes.xaxis.get_minor_formatter()
        assert [written(value, None) for value in (20.0, 30.0)] == ["20", ""]  # no more than fit
    else:
        assert axes.get_xlim()[0] == 0


def test_bars_of_a_point_stand_side_by_side() -> None:
    """Two of 0.4 each, around the point's place; one that is not known leaves its own free."""
    values = {("ours", "a", 1): 4.0, ("theirs", "a", 1): 2.0, ("theirs", "b", 1): 8.0}
    axes = drawn(results("bars", values, points=("a", "b"), times=0.5))
    bars = [(round(bar.get_x() + bar.get_width() / 2, 9), bar.get_height()) for bar in axes.patches]  # type: ignore[attr-defined]
    assert bars == [(-0.2, 2.0), (0.2, 1.0), (1.2, 4.0)]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["a", "b"]


def test_a_curve_is_the_mean_of_the_seeds_as_far_as_all_go() -> None:
    series = {
        ("ours", 0.0, 1): {"y": [1.0, 2.0, 3.0]},
        ("ours", 0.0, 2): {"y": [3.0, 6.0]},
        ("theirs", 0.0, 1): {"other": [1.0]},
    }
    axes = drawn(results("curve", series, times=10.0, log_x=True))
    assert lines(axes, "#ff0000") == [([1.0, 2.0], [20.0, 40.0])]
    assert lines(axes, "#0000ff") == []
    assert axes.get_xscale() == "log"


def test_a_rate_stands_at_its_time_and_returns_are_smoothed() -> None:
    given = results("curve", {("ours", 0.0, 1): {"rate_bps": [5.0, 6.0], "rate_t_s": [0.5, 1.5]}})
    plot = given.figure.plot
    given.figure.__dict__["plot"] = plot.model_copy(update={"y": "rate_bps"})
    assert lines(drawn(given), "#ff0000") == [([0.5, 1.5], [5.0, 6.0])]
    returns = [0.0] * 40 + [1.0] * 40
    given = results("curve", {("ours", 0.0, 1): {"returns": returns}})
    given.figure.__dict__["plot"] = plot.model_copy(update={"y": "returns"})
    (_, thin), (_, smooth) = lines(drawn(given), "#ff0000")
    assert thin == returns
    assert round(WINDOW * 80) == 4
    assert smooth[38:45] == pytest.approx([0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.0])


def test_smoothing_takes_what_there_is_at_the_beginning() -> None:
    """Of 40 episodes the window is 2."""
    assert _smooth(np.arange(40.0))[:4].tolist() == [0.0, 0.5, 1.5, 2.5]
    assert _smooth(np.array([7.0])).tolist() == [7.0]


def test_boxes_hold_the_values_of_all_seeds() -> None:
    series = {
        ("ours", 0.0, 1): {"y": [1.0, 2.0]},
        ("ours", 0.0, 2): {"y": [3.0]},
        ("theirs", 0.0, 1): {"y": [9.0]},
    }
    axes = drawn(results("boxes", series, times=10.0))
    medians = {
        colour: [y for xs, ys in lines(axes, colour) for y in ys if len(set(ys)) == 1]
        for colour in COLOURS.values()
    }
    assert set(medians["#ff0000"]) >= {20.0} and set(medians["#0000ff"]) == {90.0}
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["ours", "theirs"]


def row(
    published: Any, measured: float | None, low: float | None = None, high: float | None = None
) -> PublishedRow:
    return PublishedRow("1", "throughput", published, measured, low, high, "", "%", "", 1, "", "", "")


def test_a_published_range_is_a_bar_and_a_number_a_diamond() -> None:
    axes = Canvas().add_subplot()
    _compare(
        axes,
        [row((1.0, 2.0), 1.5, 1.2, 1.8), row(3.0, None), row(None, float("inf")), row(4.0, 5.0, None, None)],
    )
    assert spans(axes) == [[[1.0, 0.0], [2.0, 0.0]], [[1.2, 0.0], [1.8, 0.0]]]
    marks = [
        (line.get_marker(), float(np.asarray(line.get_xdata())[0]), float(np.asarray(line.get_ydata())[0]))
        for line in axes.lines
        if line.get_marker() in ("o", "D")
    ]
    assert marks == [("o", 1.5, 0.0), ("D", 3.0, 1.0), ("D", 4.0, 3.0), ("o", 5.0, 3.0)]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["throughput (%)"] * 4
    assert axes.get_xscale() == "linear"


def test_numbers_of_different_size_share_an_axis() -> None:
    axes = Canvas().add_subplot()
    _compare(axes, [row(1.0, 2.0), row(60.0, 99.0)])
    assert axes.get_xscale() == "symlog"
    assert axes.xaxis.get_major_formatter()(1000.0, None) == "1,000"


def test_a_figure_of_its_own_has_its_size_colours_and_fonts() -> None:
    given = results("lines", {("ours", 0.0, 1): 5.0})
    inline = draw(given, [row(1.0, 2.0)], "made")
    assert inline == draw(given, [row(1.0, 2.0)], "made")
    alone = standalone(inline)
    assert "var(--" in inline and "var(--" not in alone
    assert alone.startswith('<?xml version="1.0"') and alone.count("<svg") == 1
    assert ' xmlns="http://www.w3.org/2000/svg"' in alone and 'pt" height="' in alone


def test_what_quick_leaves_out_has_no_place_and_the_others_keep_their_looks() -> None:
    """`mpquic-rl --quick` ended in a traceback: a box plot of no values."""
    whole = results("boxes", {("ours", 0.0, 1): {"y": [1.0, 2.0]}, ("theirs", 0.0, 1): {"y": [3.0]}})
    left_out = whole.figure.model_copy(update={"not_quick": ("ours",)})
    quick = Results(left_out, True, {("theirs", 0.0, 1): whole.outcomes["theirs", 0.0, 1]})
    axes = drawn(quick)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["theirs"]
    assert lines(axes, "#0000ff") and not lines(axes, "#ff0000")
    for kind in ("stack", "lines", "dots", "bars", "curve"):
        given = {"layers_played.none": 0.0, "layers_played.0": 1.0, "y": 1.0}
        plot = left_out.plot.model_copy(update={"kind": kind})
        figure = left_out.model_copy(update={"plot": plot})
        svg = draw(Results(figure, True, {("theirs", 0.0, 1): Outcome(given, {"y": [1.0]})}), [], "made")
        assert ">theirs<" in svg or kind == "curve", kind
        assert ">ours<" not in svg, kind


def test_a_box_of_a_run_in_which_nothing_arrived_is_empty() -> None:
    axes = drawn(results("boxes", {("ours", 0.0, 1): {"y": []}, ("theirs", 0.0, 1): {"y": [9.0]}}))
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["ours", "theirs"]
    assert not lines(axes, "#ff0000")


def test_one_point_of_a_logarithmic_axis_stands_at_its_name_and_zeros_have_no_logarithm() -> None:
    axes = drawn(results("lines", {("ours", 1e-3, 1): 0.0}, points=(1e-3,), log_x=True, log_y=True))
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0.001"]


def test_many_algorithms_have_a_panel_each_with_the_others_in_grey() -> None:
    names = tuple("abcdefg")
    made = results("lines", {(name, x, 1): x for name in names for x in (1.0, 2.0)}, points=(1.0, 2.0))
    given = Results(made.figure.model_copy(update={"algorithms": names}), False, made.outcomes)
    canvas = Canvas()
    _panels(canvas, (0.1, 0.1, 0.8, 0.8), given, dict.fromkeys(names, "#ff0000"))
    assert [axes.get_title(loc="left") for axes in canvas.axes] == list(names)
    for axes in canvas.axes:
        assert len(lines(axes, "#ff0000")) == 1 and len(lines(axes, GRID)) == len(names) - 1
        assert len(axes.collections) == 1, "the interval is of the one in colour"
    ends = {(axes.get_xlim(), axes.get_ylim()) for axes in canvas.axes}
    assert len(ends) == 1, "so that heights compare"
    assert all(f">{name}<" in draw(given, [], "salt") for name in names)


Rect = tuple[float, float, float, float]


def rect(axes: Axes) -> Rect:
    """Left, bottom, width and height of axes, as shares of the figure."""
    box = axes.get_position()
    return box.x0, box.y0, box.width, box.height


def of_names(kind: str, names: tuple[str, ...], **plot: Any) -> Results:
    """One point, at which all of these algorithms have the value 1."""
    made = results(kind, {}, **plot)
    figure = made.figure.model_copy(update={"algorithms": names})
    values = {"y": 1.0, "layers_played.none": 0.25, "layers_played.0": 0.75}
    return Results(figure, False, {(name, 0.0, 1): Outcome(values) for name in names})


def laid_out(
    monkeypatch: pytest.MonkeyPatch, given: Results, rows: list[PublishedRow]
) -> tuple[Canvas, str, float]:
    """The canvas that a figure fills, its name and its height in inches."""
    seen: list[tuple[Canvas, str, float]] = []

    def fill(name: str, height_in: float, fill: Any, *, width_in: float) -> str:
        canvas = Canvas(figsize=(width_in, height_in))
        fill(canvas)
        seen.append((canvas, name, height_in))
        return ""

    monkeypatch.setattr(figures, "draw_svg", fill)
    draw(given, rows, "salt")
    return seen[0]


def test_a_figure_of_lines_has_its_legend_above_and_the_comparison_below(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Heights in inches: legend 0.19, gap 0.2, plot 3.1, its foot 0.6; and below a head of 0.45, 0.26 for each of
    the two numbers (of the claim there is none), and their foot 0.6."""
    canvas, name, height = laid_out(
        monkeypatch, of_names("lines", ("cubic", "bbr")), [row(1.0, 2.0), row(None, 2.0), row(4.0, 2.0)]
    )
    below = 0.45 + 2 * 0.26 + 0.6
    assert (name, height) == ("salt-1", pytest.approx(0.19 + 0.2 + 3.1 + 0.6 + below))
    plot, compared = canvas.axes
    assert rect(plot) == pytest.approx((0.12, (below + 0.6) / height, 0.97 - 0.12, 3.1 / height))
    assert rect(compared) == pytest.approx((0.46, 0.6 / height, 0.97 - 0.46, 0.52 / height))
    (legend,) = canvas.legends
    assert [text.get_text() for text in legend.get_texts()] == ["cubic", "bbr"]
    looked = looks(("cubic", "bbr"))
    for number, one in enumerate(("cubic", "bbr")):
        assert legend.get_lines()[number].get_color() == plot.lines[number].get_color() == looked[one].colour
        assert legend.get_lines()[number].get_linestyle() == plot.lines[number].get_linestyle()
    assert [tick.tick1line.get_markersize() for tick in plot.xaxis.get_major_ticks()] == [0.0]


@pytest.mark.parametrize(
    ("names", "chars", "legend_rows"),
    [(11, 5, 1), (12, 4, 2)],
    ids=["11 of 13 characters fit", "12 of 12 are one too many"],
)
def test_a_legend_has_as_many_columns_as_fit(
    monkeypatch: pytest.MonkeyPatch, names: int, chars: int, legend_rows: int
) -> None:
    """143 characters fit 9.4 inches, 170 fit 11.2; a name takes 8 more than it has. Without numbers to compare there
    are 0.1 inches below."""
    named = tuple(chr(ord("a") + number) * chars for number in range(names))
    _, _, height = laid_out(monkeypatch, of_names("bars", named), [])
    assert height == pytest.approx(0.19 * legend_rows + 0.2 + 3.1 + 0.6 + 0.1)


@pytest.mark.parametrize("kind", ["dots", "stack"])
def test_a_figure_of_rows_is_as_high_as_its_names_need(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """0.22 inches each, and 1.5; there is no legend, and names need room at the left."""
    names = ("cubic", "bbr", "ltp")
    canvas, _, height = laid_out(monkeypatch, of_names(kind, names), [])
    plot_in = 1.5 + 0.22 * len(names)
    assert height == pytest.approx(0.2 + plot_in + 0.6 + 0.1)
    (plot,) = canvas.axes
    assert rect(plot) == pytest.approx((0.3, 0.7 / height, 0.67, plot_in / height))
    assert not canvas.legends


@pytest.mark.parametrize(("count", "panel_rows"), [(6, 0), (7, 2), (8, 2), (9, 3)])
def test_more_than_six_algorithms_have_panels_in_rows_of_four(
    monkeypatch: pytest.MonkeyPatch, count: int, panel_rows: int
) -> None:
    """A row of panels has 1.35 inches. A panel takes 0.9 of its column's width, 0.68 of its row's height."""
    given = of_names("lines", tuple("abcdefghi"[:count]), x_label="s")
    canvas, _, height = laid_out(monkeypatch, given, [])
    if not panel_rows:
        assert len(canvas.axes) == 1 and canvas.legends
        return
    assert height == pytest.approx(0.2 + 1.35 * panel_rows + 0.6 + 0.1)
    assert len(canvas.axes) == count and not canvas.legends
    bottom, high, wide = 0.7 / height, 1.35 / height, 0.85 / 4
    for number, axes in enumerate(canvas.axes):
        row, column = number // 4, number % 4
        corner = (0.12 + column * wide, bottom + (panel_rows - 1 - row) * high)
        assert rect(axes) == pytest.approx((*corner, 0.9 * wide, 0.68 * high))
        outer = axes.xaxis.get_tick_params(which="major"), axes.yaxis.get_tick_params(which="major")
        assert outer[0]["labelbottom"] == (number + 4 >= count), "nothing stands below it"
        assert outer[1]["labelleft"] == (column == 0)
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("", "")
        assert axes.get_title(loc="left") == given.names[number]
        assert [line.get_linestyle() for line in axes.lines] == ["-"] * count
    y_label, x_label = canvas.texts
    assert (y_label.get_text(), x_label.get_text()) == ("kbit/s", "s")
    assert y_label.get_position() == pytest.approx((0.02, bottom + 1.35 * panel_rows / height / 2))
    assert x_label.get_position() == pytest.approx((0.12 + 0.85 / 2, bottom - 0.75 * 0.6 / height))
    assert (y_label.get_rotation(), x_label.get_rotation()) == (90.0, 0.0)


def test_a_file_of_its_own_says_how_large_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert standalone('<svg viewBox="0 0 676.8 12" aria-hidden="true"><a/></svg>') == (
        '<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink" width="676.8pt" height="12pt" '
        'viewBox="0 0 676.8 12"><a/></svg>\n'
    )
    assert standalone("<svg></svg>").endswith('xlink"></svg>\n')  # without a box, without a size
    assert standalone("var(--ink) var(--font)").endswith("#1b2430 system-ui, 'DejaVu Sans', sans-serif\n")


def looked(axes: Axes, colour: str) -> list[tuple[Any, ...]]:
    """Width, marker, its size and opacity of the lines of a colour."""
    return [
        (line.get_linewidth(), line.get_marker(), line.get_markersize(), line.get_alpha())
        for line in axes.lines
        if line.get_color() == colour
    ]


def width_of(drawn: Collection) -> float:
    return float(np.asarray(drawn.get_linewidth())[0])


def test_marks_are_of_these_sizes() -> None:
    values = {(name, x, seed): 1.0 + seed for name in COLOURS for x in (1.0, 2.0) for seed in (1, 2)}
    axes = drawn(results("lines", values, points=(1.0, 2.0)))
    assert looked(axes, "#ff0000") == [(1.5, "o", 3.5, None)]
    assert [(band.get_alpha(), width_of(band)) for band in axes.collections] == [(0.15, 0.0)] * 2
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--"]
    one = drawn(results("lines", {("ours", 1.0, seed): float(seed) for seed in (1, 2)}, points=(1.0,)))
    assert width_of(one.collections[0]) == 1.2
    axes = drawn(results("dots", {("ours", 0.0, seed): float(seed) for seed in (1, 2)}))
    (mark,) = axes.lines
    assert (mark.get_marker(), mark.get_markersize()) == ("o", 5.0)
    assert width_of(axes.collections[0]) == 1.5
    axes = drawn(results("bars", {("ours", 0.0, seed): float(seed) for seed in (1, 2)}))
    assert width_of(axes.collections[0]) == 1.0
    axes = drawn(results("boxes", {(name, 0.0, 1): {"y": [1.0, 2.0]} for name in COLOURS}))
    assert {width for width, *_ in looked(axes, "#ff0000")} == {2.0, 1.0}
    axes = drawn(results("curve", {("ours", 0.0, 1): {"y": [1.0, 2.0]}}))
    assert looked(axes, "#ff0000") == [(1.4, "None", 6.0, None)]
    returns = results("curve", {("ours", 0.0, 1): {"returns": [1.0, 2.0]}})
    returns.figure.__dict__["plot"] = returns.figure.plot.model_copy(update={"y": "returns"})
    assert looked(drawn(returns), "#ff0000") == [(0.6, "None", 6.0, 0.35), (1.4, "None", 6.0, None)]
    compared = Canvas().add_subplot()
    _compare(compared, [row((1.0, 2.0), 1.5, 1.2, 1.8), row(3.0, 3.0)])
    assert [line.get_markersize() for line in compared.lines[:-1]] == [4.5, 6.0, 4.5]
    assert [(width_of(each), each.get_alpha()) for each in compared.collections] == [
        (5.0, 0.4),
        (1.2, None),
    ]
    zero = compared.lines[-1]
    assert (
        np.asarray(zero.get_xdata()).tolist(),
        zero.get_color(),
        zero.get_linewidth(),
        zero.get_zorder(),
    ) == (*([0, 0], GRID, 1.0, 0),)


def test_the_limits_leave_half_a_place_at_either_end() -> None:
    values = {("ours", x, seed): 4.0 for x in ("a", "b", "c") for seed in (1, 2)}
    with rc_context({"axes.grid": True}):
        lines_, bars = (drawn(results(kind, values, points=("a", "b", "c"))) for kind in ("lines", "bars"))
    assert lines_.get_xlim() == bars.get_xlim() == (-0.5, 2.5)
    assert not bars.xaxis.get_gridlines()[0].get_visible() and bars.yaxis.get_gridlines()[0].get_visible()
    assert [bar.get_width() for bar in bars.patches] == pytest.approx([0.9 * 0.4] * 3)  # type: ignore[attr-defined]
    assert drawn(results("dots", {("ours", 0.0, 1): 20.0})).get_ylim() == (1.6, -0.6)
    boxes = drawn(results("boxes", {("ours", 0.0, 1): {"y": [1.0]}, ("theirs", 0.0, 1): {"y": [1.0]}}))
    assert boxes.get_xlim() == (-0.6, 1.6)
    compared = Canvas().add_subplot()
    _compare(compared, [row(1.0, 2.0), row(1.0, 2.0), row(1.0, 2.0)])
    assert compared.get_ylim() == (2.6, -0.6)


def test_intervals_of_bars_and_dots_are_in_their_unit() -> None:
    """Of two seeds of 1 and 3 a resample's mean is 1, 2 or 3; in thousandths."""
    values = {("theirs", 0.0, 1): 1000.0, ("theirs", 0.0, 2): 3000.0}
    (((x, low), (_, high)),) = spans(drawn(results("bars", values, times=1e-3)))
    assert (x, low, high) == pytest.approx((0.2, 1.0, 3.0))
    (((low, y), (high, _)),) = spans(drawn(results("dots", values, times=1e-3)))
    assert (y, low, high) == pytest.approx((1.0, 1.0, 3.0))


def test_boxes_end_at_the_quartiles_and_whiskers_at_5_and_95_percent() -> None:
    """0 to 100 by ones: the whiskers are at 5 and 95, with caps there, and what lies beyond is not drawn. A box is
    0.6 wide."""
    given = results("boxes", {("theirs", 0.0, 1): {"y": [float(value) for value in range(101)]}})
    axes = drawn(Results(given.figure.model_copy(update={"algorithms": ("theirs",)}), False, given.outcomes))
    boxes = lines(axes, "#0000ff")
    assert boxes[0][0] == pytest.approx([-0.3, 0.3, 0.3, -0.3, -0.3])
    assert boxes[0][1] == [25.0, 25.0, 75.0, 75.0, 25.0]
    assert boxes[1][1] == [50.0, 50.0]
    assert sorted(ys for _, ys in lines(axes, MUTED)) == [[5.0, 5.0], [25.0, 5.0], [75.0, 95.0], [95.0, 95.0]]
    assert len(axes.lines) == 6


def test_layers_are_stacked_from_all_of_them_to_none() -> None:
    """A quarter with both, a half with the base layer, a quarter without."""
    layers = {"layers_played.none": 0.25, "layers_played.0": 0.5, "layers_played.1": 0.25, "y": 7.0}
    less = layers | {"layers_played.1": None, "layers_played.0": 0.75}
    given = results("stack", {}, times=3.0)
    outcomes: dict[tuple[str, float | str, int], Outcome] = {
        ("ours", 0.0, 1): Outcome(dict(layers)),
        ("theirs", 0.0, 1): Outcome(dict(less)),
    }
    with rc_context({"axes.grid": True}):
        axes = drawn(Results(given.figure, False, outcomes))
    bars = [
        (*(round(x, 9) for x in (bar.get_x(), bar.get_width(), bar.get_y(), bar.get_height())),)  # type: ignore[attr-defined]
        for bar in axes.patches
    ]
    first, second = -0.36, 0.64
    assert bars == [
        *((0.0, 25.0, first, 0.72), (25.0, 50.0, first, 0.72), (75.0, 25.0, first, 0.72)),
        *((0.0, 0.0, second, 0.72), (0.0, 75.0, second, 0.72), (75.0, 25.0, second, 0.72)),
    ]
    shades = level_colours((-1, 0, 1))
    assert [to_hex(bar.get_facecolor()) for bar in axes.patches] == [
        shades[level] for level in (1, 0, -1)
    ] * 2
    assert (axes.get_xlim(), axes.get_ylim(), axes.get_xlabel()) == ((0, 100), (1.5, -0.5), "kbit/s")
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["ours", "theirs"]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [level_name(level, 2) for level in (1, 0, -1)]
    assert legend.borderaxespad == 0.1 and legend._ncols == 3  # type: ignore[attr-defined]
    grids = (axes.xaxis.get_gridlines()[0], axes.yaxis.get_gridlines()[0])
    assert [grid.get_visible() for grid in grids] == [True, False]


@pytest.mark.parametrize("kind", ["lines", "curve"])
def test_an_axis_begins_at_zero_unless_it_is_logarithmic_or_a_curves(kind: str) -> None:
    made = {"y": 40.0} if kind == "lines" else {}
    values: Any = {("ours", x, 1): Outcome(made, {"y": [40.0, 50.0]}) for x in (1.0, 1000.0)}
    for log in (False, True):
        given = results(kind, {}, points=(1.0, 1000.0), log_y=log, log_x=log)
        axes = drawn(Results(given.figure, False, values))
        assert axes.get_yscale() == axes.get_xscale() == ("log" if log else "linear")
        assert (axes.get_ylim()[0] == 0) == (kind == "lines" and not log)
        if log:
            written = axes.yaxis.get_major_formatter(), axes.xaxis.get_major_formatter()
            assert [each(2000.0, None) for each in written] == ["2,000"] * 2
            assert axes.yaxis.get_minor_formatter()(2000.0, None) == ""


def test_an_axis_of_shares_begins_at_zero_too() -> None:
    axes = drawn(results("lines", {("ours", x, 1): 0.5 + x / 10 for x in (1.0, 2.0)}, points=(1.0, 2.0)))
    assert axes.get_ylim()[0] == 0


def test_below_zero_an_axis_begins_where_its_values_do() -> None:
    axes = drawn(results("lines", {("ours", x, 1): -5.0 - x for x in (1.0, 2.0)}, points=(1.0, 2.0)))
    assert axes.get_ylim()[0] < -7


def compared(*rows: PublishedRow) -> Axes:
    axes = Canvas().add_subplot()
    _compare(axes, list(rows))
    return axes


def test_numbers_share_a_linear_axis_up_to_a_factor_of_fifty() -> None:
    assert compared(row(1.0, 50.0)).get_xscale() == "linear"
    assert compared(row(1.0, -50.5)).get_xscale() == "symlog"
    assert compared(row(1.0, float("inf")), row(None, None)).get_xscale() == "linear"
    assert compared(row((1.0, 99.0), 50.0)).get_xscale() == "linear"  # of a range the lower end


@pytest.mark.parametrize(
    ("least", "most", "linear_to"),
    [
        (0.2, 99.0, 1.0),  # up to the power of ten above the least
        (0.1, 99.0, 0.1),
        (1e-6, 99.0, 1e-2),  # and no less than a ten-thousandth of the most: 0.0099
    ],
)
def test_near_zero_a_shared_axis_is_linear(least: float, most: float, linear_to: float) -> None:
    axes = compared(row(least, most))
    assert axes.xaxis.get_transform().linthresh == pytest.approx(linear_to)  # type: ignore[attr-defined]
    assert axes.xaxis.get_major_locator().numticks == 7  # type: ignore[attr-defined]
    assert len(axes.xaxis.get_minor_locator()()) == 0


def test_the_comparison_begins_at_zero_unless_something_is_below() -> None:
    assert compared(row(5.0, 7.0, 6.0, 8.0)).get_xlim()[0] == 0
    assert compared(row(0.0, 7.0)).get_xlim()[0] == 0
    for below in (row(5.0, 7.0, -1.0, 8.0), row(5.0, -7.0), row(-5.0, 7.0), row((-5.0, 1.0), 7.0)):
        assert compared(below).get_xlim()[0] < -0.5
    assert not compared(row(None, None)).lines[:-1]  # nothing is known


def test_an_interval_without_an_end_is_not_drawn() -> None:
    for low, high in ((None, 2.0), (1.0, None), (1.0, float("inf")), (-float("inf"), 2.0)):
        assert spans(compared(row(1.0, 1.5, low, high))) == []


def test_a_long_quantity_ends_in_dots() -> None:
    """66 characters fit."""
    wanted = {66: "q" * 66, 67: "q" * 65 + "…", 99: "q" * 65 + "…"}
    rows = [replace(row(1.0, 1.0), quantity="q" * length, unit="") for length in wanted]
    labels = [tick.get_text() for tick in compared(*rows).get_yticklabels()]
    assert labels == list(wanted.values())


def test_a_logarithmic_axis_of_dots_has_its_names_where_there_is_room() -> None:
    """A row of zeros has no logarithm."""
    axes = drawn(results("dots", {("ours", 0.0, 1): 0.0, ("theirs", 0.0, 1): 0.0}, log_y=True))
    assert axes.get_xscale() == "linear" and axes.get_xlabel() == "kbit/s"
    assert drawn(results("dots", {("ours", 0.0, 1): 0.5}, log_y=True)).get_xscale() == "log"
    assert drawn(results("lines", {("ours", 0.0, 1): 0.5}, log_y=True)).get_yscale() == "log"
    axes = drawn(results("dots", {("ours", 0.0, 1): 2000.0}, log_y=True))
    for written in (axes.xaxis.get_major_formatter(), axes.xaxis.get_minor_formatter()):
        assert [written(value, None) for value in (1000.0, 2000.0, 5000.0, 4000.0)] == [
            *("1,000", "2,000", "5,000", "")
        ]


@pytest.mark.parametrize(("episodes", "window"), [(29, 1), (31, 2), (200, 10)])
def test_returns_are_smoothed_over_a_twentieth(episodes: int, window: int) -> None:
    """The mean of the last ``window`` of a rising line is half a window below it."""
    values = np.arange(float(episodes))
    assert _smooth(values)[window:] == pytest.approx(values[window:] - (window - 1) / 2)
