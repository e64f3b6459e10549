"""What figures hold before they become SVG: panels that stand apart, scales, legends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dstcc.report import load_report
from dstcc.report.catalogue import METRIC
from dstcc.report.figures import profiles, style, timeline
from dstcc.report.figures import section as sections
from dstcc.report.figures.delay import delay_figure
from dstcc.report.figures.frontier import _points
from dstcc.report.figures.links import links_figure
from dstcc.report.figures.looks import looks
from dstcc.report.figures.section import FIGURES
from dstcc.report.figures.style import layer_name
from dstcc.report.figures.timeline import timeline_figure
from dstcc.report.figures.transport import LEAST_RISE, POINTS, QUANTITIES, _thin, transport_figure
from dstcc.report.model import Section
from dstcc.report.tables import Tables
from dstcc.stats import Estimate
from tests.report.synthetic_run import RunSpec, build_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPEC = RunSpec(congestion=("cubic", "bbr-scaled"), chunks=60, seeds=(1,))
Draw = Callable[..., "Figure"]


@pytest.fixture(scope="module")
def section(tmp_path_factory: pytest.TempPathFactory) -> Section:
    (one,) = load_report([build_run(tmp_path_factory.mktemp("drawn") / "run", SPEC)]).sections
    return one


@pytest.fixture
def draw(section: Section, monkeypatch: pytest.MonkeyPatch) -> Draw:
    """Draws a figure of the section and returns it."""
    drawn: list[Figure] = []

    def keep(figure: Figure, *_: object) -> str:
        drawn.append(figure)
        return ""

    monkeypatch.setattr(style, "_saved", keep)

    def make(figure: Callable[..., str], *what: Any, narrow: bool = False) -> Figure:
        figure(
            section, Tables(), *what, looks([one.name for one in section.algorithms]), "salt", narrow=narrow
        )
        return drawn[-1]

    return make


def apart(figure: Figure, *, pairs: bool = False) -> None:
    """Whether all words are within the figure, and those of one panel out of the others'; ``pairs`` have one space."""
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    for box in boxes:
        assert box is not None and figure.bbox.containsx(box.x0) and figure.bbox.containsx(box.x1)
        assert figure.bbox.containsy(box.y0) and figure.bbox.containsy(box.y1)
    for (first, one), (second, other) in combinations(enumerate(boxes), 2):
        assert (pairs and first // 2 == second // 2) or not one.overlaps(other)


def test_delays_have_a_panel_a_layer_of_shares_from_nothing_to_all(draw: Draw) -> None:
    figure = draw(delay_figure)
    apart(figure)
    assert [axes.get_title("left") for axes in figure.axes] == [layer_name(layer) for layer in range(3)]
    for axes in figure.axes:
        low, high = axes.get_ylim()
        assert low == 0 and 1 < high < 1.1
    first = figure.axes[0]
    assert [text.get_text() for text in first.get_yticklabels()] == [
        f"{100 * at:g} %" for at in first.get_yticks()
    ]


def test_shares_of_a_profile_stand_at_their_places() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    profiles._dress(axes, METRIC["playback_ratio"], 0.0, 100.0)
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        f"{100 * at:g} %" for at in axes.get_yticks()
    ]


def test_a_timeline_names_algorithms_and_levels_and_covers_all_that_was_captured(draw: Draw) -> None:
    figure = draw(timeline_figure, narrow=True)
    apart(figure, pairs=True)
    panels, strips = figure.axes[::2], figure.axes[1::2]
    assert [axes.get_title("left") for axes in panels] == ["bbr-scaled+minrtt", "cubic+minrtt"]
    (legend,) = figure.legends
    layers = [f"{layer_name(layer)} complete / played" for layer in range(3)]
    assert [text.get_text() for text in legend.get_texts()] == ["first byte sent", *layers, "not played"]
    for axes in strips:  # chunks of a second each are captured at 1, 2 .. 60 s
        ends = [one.get_extents() for one in axes.patches]
        factor = 60.0 if axes.get_xlim()[1] < 10 else 1.0
        at = axes.transData.inverted()
        assert min(at.transform(end)[0, 0] for end in ends) * factor == pytest.approx(1.0)
        assert max(at.transform(end)[1, 0] for end in ends) * factor == pytest.approx(61.0)


def test_panels_of_a_link_have_one_scale(draw: Draw) -> None:
    window, rtt, rate = (
        draw(transport_figure, what, narrow=narrow)
        for what, narrow in zip(QUANTITIES, (False, True, False), strict=True)
    )
    for figure in (window, rtt, rate):
        apart(figure)
        first, second, third, fourth = figure.axes  # two algorithms' of one link, then of the other
        assert first.get_ylim() == third.get_ylim() and second.get_ylim() == fourth.get_ylim()
        for axes in figure.axes:
            low, high = axes.get_ylim()
            drawn = np.concatenate([np.ravel(line.get_ydata()) for line in axes.lines])
            assert low <= np.nanmin(drawn) and np.nanmax(drawn) < high
    assert {axes.get_ylim()[0] for axes in window.axes} == {1}, "a window has a segment"
    assert {axes.get_ylim()[0] for axes in rate.axes} == {0}
    for axes in rtt.axes:  # round trips that hardly rise look as if they hardly rose
        low, high = axes.get_ylim()
        assert 0 < LEAST_RISE * low <= high


def test_what_was_delivered_stands_below_the_contacts(draw: Draw) -> None:
    *_, home = draw(links_figure).axes
    assert len(home.lines) + len(home.collections) + len(home.patches) >= 2, "one an algorithm"


def test_curves_stand_between_contacts_and_what_was_delivered(
    draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that is up for the first of three moments: Eb/N0 is of that, the Sun's angle of all."""
    link = {
        "link": np.array(["mars"] * 3),
        "t_s": np.array([0.0, 10.0, 20.0]),
        "open": np.array([True, False, False]),
        "ebn0_db": np.array([3.0, 4.0, 5.0]),
        "sun_earth_probe_deg": np.array([7.0, 8.0, 9.0]),
    }
    monkeypatch.setattr(Tables, "links", lambda *_: link)
    figure = draw(links_figure)
    apart(figure)
    contacts, ebn0, sun, home = figure.axes
    assert [text.get_text() for text in contacts.get_yticklabels()] == ["mars"]
    (signal,), (angle,) = ebn0.lines, sun.lines
    assert np.array_equal(np.asarray(signal.get_ydata()), [3.0, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(np.asarray(angle.get_ydata()), [7.0, 8.0, 9.0])
    assert len(home.lines) + len(home.collections) + len(home.patches) >= 2


def test_a_narrow_timeline_has_room_for_its_legend(section: Section, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two entries beside those of the layers, in two columns: a row of 2, and 2 of 3 or 4."""
    monkeypatch.setattr(timeline, "draw_bands", lambda _name, height_in, *_, **__: str(height_in))

    def height_in(layers: int) -> float:
        of: Any = SimpleNamespace(
            representative=section.representative, levels=range(layers), clock=section.clock, waits=False
        )
        return float(timeline_figure(of, Tables(), {}, "salt", narrow=True))

    row_in = height_in(2) - height_in(0)
    assert row_in > 0
    assert [height_in(n) - height_in(0) for n in (1, 3, 4)] == pytest.approx([0, row_in, 2 * row_in])


def test_a_line_of_many_points_keeps_its_peaks() -> None:
    values = np.zeros(10 * POINTS)
    values[[3, 5777]], values[5555] = 9.0, -4.0
    t, kept = _thin(np.arange(values.size) / 1.0, values)
    assert t.size <= POINTS and (np.diff(t) > 0).all()
    assert {(at, value) for at, value in zip(t, kept, strict=True) if value} == {
        (3, 9),
        (5777, 9),
        (5555, -4),
    }


def test_whiskers_of_a_frontier_are_in_percent() -> None:
    line = (Estimate(0.5, 0.4, 0.75, 3), None, Estimate(0.9, None, None, 1))
    frontier: Any = SimpleNamespace(delays=(1.0, 2.0, 3.0))
    at, values, (below, above) = _points(frontier, line)
    assert (at, values) == ([1.0, 3.0], [50.0, 90.0])
    assert below == pytest.approx([10.0, 0.0]) and above == pytest.approx([25.0, 0.0])


def test_a_figure_that_registers_is_on_the_page_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "FIGURES", {})
    for key in ("b", "a"):
        one = replace(FIGURES["links"], key=key)
        sections.register(one)
        assert sections.FIGURES[key] == one
    with pytest.raises(ValueError, match="two figures are called a"):
        sections.register(one)
    with pytest.raises(ValueError, match="nowhere is none of"):
        sections.register(replace(one, key="c", place="nowhere"))
