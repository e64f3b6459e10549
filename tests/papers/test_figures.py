"""What the figures of papers draw, by the places of their marks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from dstcc.papers.carry import Results
from dstcc.papers.cells import Outcome
from dstcc.papers.figures import DRAWN, WINDOW, _compare, _panels, _smooth, draw, standalone
from dstcc.papers.model import Figure, Plot, Point
from dstcc.papers.rows import PublishedRow
from dstcc.report.figures.style import GRID

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
