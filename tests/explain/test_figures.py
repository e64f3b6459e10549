"""The figures of an explanation, read back: lines by their numbers, rows, colours and places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from math import nan
from typing import Any

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from dstcc.clock import Clock
from dstcc.explain import Explanation, figures, page
from dstcc.explain.figures import (
    BELIEF,
    BOUND,
    CHANNEL,
    _colours,
    _stretches,
    channel_loss,
    choice_figure,
    loss_figure,
    rate_figure,
)
from dstcc.report.figures.looks import COLOURS
from dstcc.report.figures.style import NOT_PLAYED
from tests.explain.made import decided, made

TOLD = made(
    [
        decided(0.0, {"window": "×1"}, pacing_bps=[1e5, 2e5, 3e5], loss=[0.1, 0.2, 0.4], rate_bps=[1e6] * 3),
        decided(
            50.0, {"window": "×2"}, pacing_bps=[4e5, 5e5, 7e5], loss=[0.3, 0.2, 0.6], rate_bps=[2e6, 3e6, 5e6]
        ),
    ],
    [[10, 4], [0, 8]],
    [[1, 3], [0, 2]],
)


def panels_of(monkeypatch: pytest.MonkeyPatch, draw: Callable[..., str], told: Explanation) -> Any:
    """What a figure asks to be drawn: a link's name and limit, and its lines' names, colours, times and values."""
    seen: list[Any] = []

    def keep(panels: Any, *how: Any, **more: Any) -> str:
        lines = [
            (name, limit, [(one.name, one.colour, one.t_s.tolist(), one.y.tolist()) for one in own])
            for name, own, limit in panels
        ]
        seen.append((lines, how, more))
        return ""

    monkeypatch.setattr(figures, "draw_panels", keep)
    draw(told)
    draw(told, narrow=True)
    return seen


def test_losses_are_drawn_as_believed_and_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the second link the belief is the mean of its two subflows."""
    wide, narrow = panels_of(monkeypatch, loss_figure, TOLD)
    times = [0.0, 50.0]
    near, far = wide[0]
    assert near == (
        *("near", None),
        [("believed", BELIEF, times, [0.1, 0.3]), ("channel loss", CHANNEL, times, [0.1, 0.75])],
    )
    assert far[2][0] == ("believed", BELIEF, times, pytest.approx([0.3, 0.4]))
    assert far[2][1] == ("channel loss", CHANNEL, times, pytest.approx([nan, 0.25], nan_ok=True))
    assert wide[1] == ("bps", "explain-loss", "", TOLD.clock) and narrow[1][1] == "explain-loss-narrow"
    assert (wide[2], narrow[2]) == ({"floor": 1e-6, "narrow": False}, {"floor": 1e-6, "narrow": True})


def test_a_beliefs_ends_are_drawn_where_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    told = made(
        [decided(0.0, loss_low=[0.1] * 3, loss_high=[0.2, 0.3, 0.5])],
        [[1], [1]],
        [[0], [0]],
    )
    told = replace(told, links=tuple(replace(link, reported=True) for link in told.links))
    wide, _ = panels_of(monkeypatch, loss_figure, told)
    assert [one[:2] for one in wide[0][0][2]] == [
        ("reported loss", CHANNEL),
        ("believed, 5th percentile", BOUND),
        ("believed, 95th percentile", BOUND),
    ]
    assert wide[0][1][2][2][3] == pytest.approx([0.4])


def test_rates_are_of_all_subflows_of_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    wide, narrow = panels_of(monkeypatch, rate_figure, TOLD)
    times = [0.0, 50.0]
    near, far = wide[0]
    assert near == (
        *("near", 1e6),
        [("believed", BELIEF, times, [1e6, 2e6]), ("pacing rate", CHANNEL, times, [1e5, 4e5])],
    )
    assert far == (
        *("far", 2e6),
        [("believed", BELIEF, times, [2e6, 8e6]), ("pacing rate", CHANNEL, times, [5e5, 1.2e6])],
    )
    assert wide[1] == ("bps", "explain-rate", "link rate", TOLD.clock) and wide[2] == {"narrow": False}
    assert narrow[2] == {"narrow": True}
    later = made([decided(0.0), decided(1.0, rate_bps=[1e6] * 3)], [[1, 1]] * 2, [[0, 0]] * 2)
    believed = panels_of(monkeypatch, rate_figure, later)[0][0][0][2][0]
    assert believed[3] == pytest.approx([nan, 1e6], nan_ok=True)
    nothing = made([decided(0.0)], [[1], [1]], [[0], [0]])
    assert [len(lines) for _, _, lines in panels_of(monkeypatch, rate_figure, nothing)[0][0]] == [1, 1]


@pytest.mark.parametrize(("decisions", "points"), [(0, 1), (1, 1), (40, 40), (41, 40), (80, 40)])
def test_the_channel_has_forty_points_at_most(decisions: int, points: int) -> None:
    told = made(
        [decided(float(n)) for n in range(decisions)],
        [[2] * decisions] * 2,
        [[1] * decisions, [0] * decisions],
    )
    t_s, share = channel_loss(told, told.links[0])
    assert len(t_s) == len(share) == points
    if decisions == 80:  # pairs
        assert t_s == pytest.approx(0.5 + 2 * np.arange(40)) and share == pytest.approx([0.5] * 40)
    if decisions == 0:
        assert np.isnan(t_s).all() and np.isnan(share).all()


def test_decisions_that_are_taken_together_are_weighed_by_what_was_sent() -> None:
    """Of 41 the first two are one point: 3 of 4 and 0 of 2 are a half."""
    told = made(
        [decided(float(n)) for n in range(41)], [[4, 2, 1] + [0] * 38] * 2, [[3, 0, 1] + [0] * 38] * 2
    )
    t_s, share = channel_loss(told, told.links[0])
    assert share[:3] == pytest.approx([0.5, 1.0, nan], nan_ok=True) and t_s[0] == 0.5


def test_the_most_frequent_choices_have_a_colour_and_equal_ones_the_same() -> None:
    """Seven colours; of two equally frequent choices the first by name goes first."""
    many = {"window": ["b", "a", "c", "c"], "layer": ["c", "d", "d"]}
    keys = _colours(many)
    assert keys["window"] == {"c": COLOURS[0], "a": COLOURS[1], "b": COLOURS[2]}
    assert keys["layer"] == {"d": COLOURS[1], "c": COLOURS[0]} and list(keys["layer"]) == ["d", "c"]
    whole = _colours({"x": list("abcdefghijk")})["x"]
    assert whole == dict(zip("abcdefg", COLOURS, strict=True))


def test_stretches_are_of_the_same_choice() -> None:
    assert _stretches(list("aabca")) == [(0, 2, "a"), (2, 3, "b"), (3, 4, "c"), (4, 5, "a")]
    assert _stretches([]) == []


def drawn(monkeypatch: pytest.MonkeyPatch, told: Explanation, *, narrow: bool) -> tuple[Figure, str]:
    """The figure of choices."""
    seen: list[tuple[Figure, str]] = []

    def keep(salt: str, height_in: float, draw: Callable[[Figure], None], *, width_in: float) -> str:
        with rc_context({"axes.grid": True}):
            seen.append((Figure(figsize=(width_in, height_in)), salt))
            draw(seen[0][0])
        return ""

    monkeypatch.setattr(figures, "draw_svg", keep)
    choice_figure(told, narrow=narrow)
    return seen[0]


LONG = made(
    [
        decided(0.0, {"window": "×1", "layer 0": "sub"}),
        decided(600.0, {"window": "×1", "layer 0": "none"}),
        decided(1200.0, {"window": "×2"}),
        *(decided(1800.0 + n, {"window": f"×{n + 3}", "layer 0": "sub"}) for n in range(4)),
    ],
    [[1] * 7] * 2,
    [[0] * 7] * 2,
    end_s=7200.0,
)
"""Six windows, of which the first is the most frequent; and where a layer goes, once by the guard."""


@pytest.mark.parametrize("narrow", [False, True])
def test_choices_have_a_row_each_in_the_colours_below_them(
    monkeypatch: pytest.MonkeyPatch, narrow: bool
) -> None:
    """In hours. Six choices in rows of four; a row of the key has 0.2 inches, and half of that is before the next."""
    figure, salt = drawn(monkeypatch, LONG, narrow=narrow)
    assert salt == ("explain-choices-narrow" if narrow else "explain-choices")
    (axes,) = figure.axes
    width, height = figure.get_size_inches()
    legend_in = 0.2 * (2 + 0.5) + 0.2 * (1 + 0.5)
    assert (width, height) == pytest.approx((4.7 if narrow else 11.2, 0.34 * 2 + 0.55 + legend_in + 0.2))
    left, bottom = 0.4 if narrow else 0.19, (0.55 + legend_in) / height
    box = axes.get_position()
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx((left, bottom, 0.98, 1 - 0.1 / height))
    keys = _colours(LONG.choices())
    bars = [
        (*(float(value) for value in path.get_extents().bounds), to_hex(np.asarray(bars.get_facecolor())[0]))
        for bars in axes.collections
        for path in bars.get_paths()
    ]
    hour = 3600.0
    windows = [("×1", 0, 1200), ("×2", 1200, 1800), *((f"×{n}", 1797 + n, 1798 + n) for n in range(3, 6))]
    windows.append(("×6", 1803, 7200))
    layers = [("sub", 0, 600), ("none", 600, 1200), ("fell back", 1200, 1800), ("sub", 1800, 7200)]
    wanted = [
        ((begin / hour, -row - 0.4, (end - begin) / hour, 0.8), keys[name][choice])
        for row, (name, own) in enumerate((("window", windows), ("layer 0", layers)))
        for choice, begin, end in own
    ]
    assert [bar[:4] for bar in bars] == [pytest.approx(place, abs=1e-9) for place, _ in wanted]
    assert [bar[4] for bar in bars] == [colour for _, colour in wanted]
    assert {np.asarray(one.get_linewidth())[0] for one in axes.collections} == {0}
    assert axes.get_xlim() == (0, 2.0) and axes.get_ylim() == pytest.approx((-1.6, 0.6))
    assert [
        (tick, label.get_text())
        for tick, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    ] == [
        (0, "window"),
        (-1, "layer 0"),
    ]
    assert axes.get_xlabel() == "mission time (h)" and axes.get_axisbelow() is True
    assert not axes.xaxis.get_gridlines()[0].get_visible()
    row_of_key, x0, key = 0.2 / height, left, 0.17 / width
    top = bottom - 0.55 / height - row_of_key
    column = (1 - left) / 4
    texts = [(*text.get_position(), text.get_text()) for text in figure.texts]
    expected = [(0.01, top, "window")]
    for place, choice in enumerate(keys["window"]):
        x, y = x0 + column * (place % 4), top - row_of_key * (place // 4)
        expected += [(x, y, "■"), (x + key, y, choice)]
    below = top - 2.5 * row_of_key
    expected.append((0.01, below, "layer 0"))
    for place, choice in enumerate(keys["layer 0"]):
        x = x0 + (1 - left) * place / (3 if narrow else 4)
        expected += [(x, below, "■"), (x + key, below, choice)]
    if narrow:  # 2.82 inches: "fell back" takes 0.34 and 9 characters of 0.06, so three fit
        assert int(0.6 * 4.7 / (0.34 + 0.06 * 9)) == 3
    assert [text[2] for text in texts] == [text[2] for text in expected]
    assert [text[:2] for text in texts] == [pytest.approx(text[:2]) for text in expected]
    colours = [text.get_color() for text in figure.texts if text.get_text() == "■"]
    assert colours == [*keys["window"].values(), *keys["layer 0"].values()]


def test_a_rare_choice_is_grey(monkeypatch: pytest.MonkeyPatch) -> None:
    told = made(
        [decided(float(n), {"x": one}) for n, one in enumerate("aabbccddeeffggh")],
        [[1] * 15] * 2,
        [[0] * 15] * 2,
    )
    figure, _ = drawn(monkeypatch, told, narrow=False)
    faces = [to_hex(np.asarray(one.get_facecolor())[0]) for one in figure.axes[0].collections]
    assert faces == [*COLOURS, NOT_PLAYED]


def test_what_is_said_of_a_figure() -> None:
    assert page._loss_said(TOLD) == (
        "Loss of each link over mission time, believed and true. "
        "near: believed 0.2 on average, the channel lost 0.29 of what was sent; "  # 4 of 14
        "far: believed 0.35 on average, the channel lost 0.25 of what was sent."
    )
    assert page._rate_said(TOLD) == (
        "Rate of each link over mission time, believed and used. "
        "near: paced at 250\u202fkb/s on average of the link's 1\u202fMb/s; "
        "far: paced at 850\u202fkb/s on average of the link's 2\u202fMb/s."
    )
    assert page._choices_said(TOLD) == (
        "What was chosen over mission time, the most frequent choice of each. window: ×1, 50%."
    )
    nothing = made([], [[], []], [[], []])
    assert page._loss_said(nothing).endswith("near: nothing sent; far: nothing sent.")
    bare = replace(nothing, links=tuple(replace(link, rate_bps=0.0, reported=True) for link in nothing.links))
    assert page._rate_said(bare).endswith("near: no decision; far: no decision.")
    heard = replace(
        TOLD, links=tuple(replace(link, reported=True, sent=link.sent[:1]) for link in TOLD.links[:1])
    )
    assert page._loss_said(heard).endswith("lost by feedback: 0.4 of what was sent.")


def test_a_part_begins_at_a_moment_of_the_mission() -> None:
    assert page.moment(TOLD, 90.0) == "90\u202fs"
    dated = replace(TOLD, clock=Clock(datetime(2028, 3, 11, 22, 14, 5)))
    assert page.moment(dated, 90.0) == "2028-03-11 22:15:35"  # parts of 10 s
    assert page.moment(replace(dated, end_s=6000.0), 90.0) == "2028-03-11 22:15"  # of 600 s
