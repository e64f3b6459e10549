"""The links over mission time, by the places of their marks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from dstcc.clock import Clock
from dstcc.report.figures.links import (
    CURVE_IN,
    CURVES,
    FLAT_IN,
    Scene,
    _curve,
    _edges,
    _height,
    _open,
    _step_text,
    draw_contacts,
)
from dstcc.report.numbers import Unit

NAN = float("nan")
MINUTES = Unit(60.0, "min", 0)


def rows(up: list[bool], ebn0: list[float] | None = None, sun: list[float] | None = None) -> dict[str, Any]:
    """A minute from one row to the next."""
    count = len(up)
    return {
        "t_s": np.arange(count) * 60.0,
        "open": np.array(up),
        "ebn0_db": np.array([NAN] * count if ebn0 is None else ebn0),
        "sun_earth_probe_deg": np.array([NAN] * count if sun is None else sun),
    }


def scene(**links: dict[str, Any]) -> Scene:
    return Scene(tuple(links), links, MINUTES, 240.0, Clock())


@pytest.mark.parametrize(
    ("up", "spans"),
    [
        ([True, True, False, True, True], [(0.0, 120.0), (180.0, 60.0)]),  # the last one ends with the table
        ([False, True, False, False, False], [(60.0, 60.0)]),
        ([True, True, True, True, True], [(0.0, 240.0)]),
        ([False] * 5, []),
    ],
)
def test_a_contact_is_from_the_row_that_is_up_to_the_one_that_is_not(
    up: list[bool], spans: list[tuple[float, float]]
) -> None:
    assert _open(scene(mars=rows(up)), "mars") == spans


def test_each_link_has_a_row_of_bars() -> None:
    axes = Figure().add_subplot()
    draw_contacts(axes, scene(mars=rows([True, False, True, True]), moon=rows([False, True, False, False])))
    bars = [
        [(box.x0, box.x1, (box.y0 + box.y1) / 2) for box in (path.get_extents() for path in one.get_paths())]
        for one in axes.collections
    ]
    assert bars == [
        [(0.0, 1.0, pytest.approx(0.0)), (2.0, 3.0, pytest.approx(0.0))],
        [(1.0, 2.0, pytest.approx(1.0))],
    ]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["mars", "moon"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first is above


def test_ebn0_is_shown_while_the_link_is_up() -> None:
    axes = Figure().add_subplot()
    up = [True, False, True]
    given = scene(
        mars=rows(up, ebn0=[3.0, 9.0, 4.0]), moon=rows(up, ebn0=[5.0, 5.0, 6.0]), cable=rows(up)
    )  # of the last nothing is known
    _curve(axes, given, *CURVES[0])
    drawn = {str(line.get_label()): np.asarray(line.get_ydata(), dtype=float) for line in axes.lines}
    assert list(drawn) == ["mars", "moon"]
    assert np.array_equal(drawn["mars"], [3.0, NAN, 4.0], equal_nan=True)
    assert np.asarray(axes.lines[0].get_xdata()).tolist() == [0.0, 1.0, 2.0]  # minutes
    assert axes.lines[0].get_linestyle() != axes.lines[1].get_linestyle()
    legend = axes.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == ["mars", "moon"]
    assert axes.get_ylim()[1] > 6.0 + 0.3 * 3.0  # room for it above


def test_the_suns_angle_begins_at_nought_and_is_flat_where_it_does_nothing() -> None:
    near, far = rows([False, True], sun=[30.0, 19.0]), rows([True, True], sun=[30.0, 21.0])
    axes = Figure().add_subplot()
    _curve(axes, scene(mars=near), *CURVES[1])
    assert np.asarray(axes.lines[0].get_ydata()).tolist() == [30.0, 19.0]  # also while the link is down
    assert axes.get_ylim()[0] == 0 and axes.get_legend() is None
    heights = [_height(scene(mars=far, moon=one), "sun_earth_probe_deg") for one in (far, near)]
    assert heights == [FLAT_IN, CURVE_IN]
    assert _height(scene(mars=far), "ebn0_db") == CURVE_IN


@pytest.mark.parametrize(
    ("end_s", "step_s", "words"),
    [
        (60.0, 1.0, "1 s"),  # 60 steps at most
        (61.0, 2.0, "2 s"),
        (7 * 86_400.0, 86_400.0, "a day"),
        (7 * 86_400.0 - 1, 14_400.0, "4 h"),  # 168 h by 60 are 2.8
        (61 * 86_400.0, 2 * 86_400.0, "48 h"),
    ],
)
def test_steps_are_lengths_that_people_count_in(end_s: float, step_s: float, words: str) -> None:
    edges = _edges(end_s)
    assert set(np.diff(edges)) == {step_s} and edges[-2] < end_s <= edges[-1]
    assert _step_text(edges).replace("\u202f", " ") == words
