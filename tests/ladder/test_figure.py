"""The ladder's figure, read back from its axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure

from dstcc.ladder import figure as ladder_figure
from dstcc.ladder.baselines import Baseline
from dstcc.ladder.figure import LINE, baselines_figure
from dstcc.report.figures.style import INK


def drawn(monkeypatch: pytest.MonkeyPatch, baselines: list[Baseline], *, narrow: bool = False) -> Figure:
    seen: list[Any] = []

    def keep(salt: str, height_in: float, draw: Callable[[Figure], None], *, width_in: float) -> str:
        assert salt == "ladder-salt"
        with rc_context({"axes.grid": True}):
            seen.append(Figure(figsize=(width_in, height_in)))
            draw(seen[0])
        return ""

    monkeypatch.setattr(ladder_figure, "draw_svg", keep)
    baselines_figure("made", baselines, "salt", narrow=narrow)
    figure: Figure = seen[0]
    return figure


THREE = [
    Baseline("made", "clairvoyant", "bound", {1: 0.9, 2: 0.9}),
    Baseline("made", "planner-law", "law", {1: 0.5, 2: 0.75}, clairvoyant=True),
    Baseline("made", "random", "random", {1: 0.413, 2: 0.413}),
]


@pytest.mark.parametrize("narrow", [False, True])
def test_each_baseline_has_a_row_with_its_mean_and_interval(
    monkeypatch: pytest.MonkeyPatch, narrow: bool
) -> None:
    """Inches: 0.38 a row, 0.34 above and 0.5 below; at the left 2.1 for names, at the right 0.75 for means."""
    figure = drawn(monkeypatch, THREE, narrow=narrow)
    (axes,) = figure.axes
    width, height = figure.get_size_inches()
    assert (width, height) == pytest.approx((4.7 if narrow else 11.2, 0.34 + 3 * 0.38 + 0.5))
    box = axes.get_position()
    assert (box.x0, box.x1) == pytest.approx((2.1 / width, 1 - 0.75 / width))
    assert (box.y0, box.y1) == pytest.approx((0.5 / height, 1 - 0.34 / height))
    assert len(axes.lines) == 6
    for row, one in enumerate(THREE):
        line, mark = axes.lines[2 * row : 2 * row + 2]
        colour, (low, high) = LINE[one.baseline], one.estimate.bounds()
        assert np.asarray(line.get_xdata()).tolist() == [low, high]
        assert np.asarray(line.get_ydata()).tolist() == [row, row]
        assert (line.get_color(), line.get_linewidth()) == (colour, 3)
        assert np.asarray(mark.get_xydata()).tolist() == [[one.estimate.value, row]]
        assert (mark.get_color(), mark.get_marker(), mark.get_markersize()) == (colour, "o", 6)
    written: list[Any] = list(axes.texts)
    assert [(text.get_text(), text.xy, text.xyann) for text in written] == [
        (value, (1, row), (6, 0)) for row, value in enumerate(("0.9000", "0.6250", "0.4130"))
    ]
    assert {text.xycoords for text in written} == {("axes fraction", "data")}
    assert axes.get_ylim() == (2.5, -0.5) and axes.get_yticks().tolist() == [0, 1, 2]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        *("clairvoyant\nbound", "planner-law, clairvoyant\nlaw", "random\nrandom")
    ]
    assert axes.get_yticklabels()[0].get_color() == INK
    assert axes.get_xlim() == pytest.approx((0.40, 0.90))  # 0.413 rounded down to a fiftieth
    assert axes.get_xlabel() == "weighted layers, share of the most"
    title = axes.title, axes._left_title  # type: ignore[attr-defined]
    assert [one.get_text() for one in title] == ["", "made"] and title[1].get_weight() == "bold"
    assert not axes.spines["left"].get_visible() and axes.spines["bottom"].get_visible()
    assert axes.xaxis.get_gridlines()[0].get_visible() and not axes.yaxis.get_gridlines()[0].get_visible()
    assert axes.xaxis.get_major_locator()._nbins == 5  # type: ignore[attr-defined]
    assert axes.xaxis.get_major_ticks()[0].tick1line.get_markersize() == 0


@pytest.mark.parametrize(
    ("values", "ends"), [((0.5,), (0.5, 0.52)), ((0.501, 0.519), (0.5, 0.52)), ((0.501, 0.521), (0.5, 0.54))]
)
def test_an_axis_has_a_fiftieth_at_least(
    monkeypatch: pytest.MonkeyPatch, values: tuple[float, ...], ends: tuple[float, float]
) -> None:
    alike = [replace(THREE[0], values={1: value, 2: value}) for value in values]
    assert drawn(monkeypatch, alike).axes[0].get_xlim() == pytest.approx(ends)
