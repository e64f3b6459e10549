"""No text of a figure stands outside of it, where it would be cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from matplotlib.axis import Tick
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from dstcc.report import load_report
from dstcc.report.browser import PAPERS
from dstcc.report.figures import style
from dstcc.report.page import render_html
from dstcc.report.sheet import render_sheet
from tests.report.synthetic_run import RunSpec, build_run

TOLERATED = 1.0
"""Pixels."""


def cut(figure: Figure) -> list[str]:
    """Texts that are drawn and do not lie in the figure."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    hidden: set[Text] = set()  # of ticks beyond an axis's end
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            ends = sorted(axis.get_view_interval())
            ticks: list[Tick] = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            hidden |= {tick.label1 for tick in ticks if not ends[0] <= tick.get_loc() <= ends[1]}
        if not axes.get_visible():
            hidden.update(axes.findobj(Text))
    found = []
    for text in figure.findobj(Text):
        if text.get_text().strip() and text.get_visible() and text not in hidden:
            box = text.get_window_extent(renderer)
            least, most = min(box.x0, box.y0), (box.x1 - figure.bbox.width, box.y1 - figure.bbox.height)
            if least < -TOLERATED or max(most) > TOLERATED:
                found.append(text.get_text())
    return found


@pytest.mark.parametrize("form", ["page", "sheet"])
def test_no_text_of_a_figure_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """A page has each figure for wide and narrow screens, a sheet its one for paper."""
    found: list[tuple[tuple[float, float], list[str]]] = []

    def look(figure: Figure, *rest: Any) -> str:
        found.append((tuple(figure.get_size_inches()), cut(figure)))
        return "<svg></svg>"

    monkeypatch.setattr(style, "_saved", look)
    report = load_report(
        [build_run(tmp_path / "run", RunSpec(congestion=("cubic", "bbr-scaled"), chunks=200))]
    )
    render_html(report) if form == "page" else render_sheet(report, None, PAPERS["a4"])
    assert found and [one for one in found if one[1]] == []
