"""The parts of a figure's style that are a rule of their own: luminance, names that fit, legends, shorter SVG."""

from __future__ import annotations

import pytest

from dstcc.report.figures import style
from dstcc.report.figures.looks import looks
from dstcc.report.figures.style import (
    BAND_ROWS,
    FOCUS,
    LABEL_CHARS,
    LEGEND_ROW_IN,
    MUTED,
    SPINE,
    _inline,
    _joined,
    bands,
    focus,
    layer_name,
    legend_above,
    level_colours,
    luminance,
    one_line,
    short,
    standalone,
)
from dstcc.report.mark import PICTURE_MARK
from dstcc.version import __version__


@pytest.mark.parametrize(
    ("colour", "value"),
    [
        ("#000000", 0.0),
        ("#ffffff", 1.0),
        ("#ff0000", 0.2126),
        ("#00ff00", 0.7152),
        ("#0000ff", 0.0722),
        ("#0a0a0a", 10 / 255 / 12.92),  # 0.0392: below WCAG's 0.04045 it is a line
        ("#0b0b0b", ((11 / 255 + 0.055) / 1.055) ** 2.4),
        ("#00800a", 0.7152 * ((128 / 255 + 0.055) / 1.055) ** 2.4 + 0.0722 * 10 / 255 / 12.92),
    ],
)
def test_luminance_is_that_of_wcag(colour: str, value: float) -> None:
    assert luminance(colour) == pytest.approx(value, rel=1e-12)


def test_levels_are_brighter_the_more_is_played() -> None:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    viridis = colormaps["viridis"]
    for levels, shares in (
        (range(-1, 1), [0.27]),
        (range(-1, 2), [0.27, 0.75]),
        (range(-1, 3), [0.27, 0.51, 0.75]),
    ):
        found = level_colours(tuple(levels))
        assert found == {-1: style.NOT_PLAYED} | {n: to_hex(viridis(share)) for n, share in enumerate(shares)}
    assert [layer_name(layer) for layer in range(3)] == ["base layer", "EL1", "EL2"]


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("a" * LABEL_CHARS, "a" * LABEL_CHARS),
        ("a" * (LABEL_CHARS + 1), "a" * (LABEL_CHARS - 1) + "…"),
        ("a\tb\u200b  c\n", "a b c"),
        # a mark and the space before it take 11 of 27 characters
        ("a" * 16 + " (transfer)", "a" * 16 + " (transfer)"),
        ("a" * 17 + " (transfer)", "a" * 17 + "\n(transfer)"),
        ("a (learned) b", "a b (learned)"),
    ],
)
def test_a_name_fits_the_margin(name: str, fits: str) -> None:
    assert short(name) == fits
    assert one_line(name) == fits.replace("\n", " ")


def test_of_many_lines_the_best_and_the_last_have_looks_of_their_own() -> None:
    names = [f"rule {letter}" for letter in "abcdefgh"]
    of = looks(names)
    few, all_lines = focus(names[: FOCUS + 1], of)
    assert [line[0] for line in all_lines] == names[: FOCUS + 1]
    assert all(few[name]["color"] == of[name].colour and few[name]["linewidth"] == 1.5 for name in few)
    many, lines = focus(names, of)
    assert lines == [
        *((name, of[name].colour, of[name].dashes) for name in [*names[:5], names[-1]]),
        ("2 others", SPINE, "-"),
    ]
    assert many["rule f"] == {"color": SPINE, "linestyle": "-", "linewidth": 0.9, "zorder": 0.9}


def test_a_legend_has_as_many_columns_as_fit() -> None:
    lines = [("a" * 12, MUTED, "-")] * 7
    for chars, rows in (
        (20, 7),
        (39, 7),
        (40, 4),
        (59, 4),
        (60, 3),
        (139, 2),
        (140, 1),
        (1000, 1),
    ):  # 8 for each line
        assert legend_above(None, lines, chars) == pytest.approx(rows * LEGEND_ROW_IN)
    assert legend_above(None, lines, 140, more={}) == pytest.approx(2 * LEGEND_ROW_IN)
    assert legend_above(None, lines[:1], 5) == pytest.approx(LEGEND_ROW_IN)


def test_rows_stay_together_by_threes() -> None:
    assert BAND_ROWS == 3
    assert [list(band) for band in bands(7)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert bands(0) == [] and [list(band) for band in bands(3)] == [[0, 1, 2]]


def test_an_inline_picture_has_short_numbers_and_the_pages_colours() -> None:
    svg = (
        '<?xml version="1.0"?>\n<svg xmlns:xlink="x" width="9pt" viewBox="0 0 9 4" version="1.1">\n'
        "<metadata>\n <by>somebody</by>\n</metadata>\n"
        ' <g id="axes_1"><path id="m1" d="M 1.23456 -7.000\nL 10.5 20"/></g>'
        f"<text style=\"font: 9px 'DejaVu Sans', sans; fill: {style.INK}\">1.23456</text></svg>\n\n"
    )
    assert _inline(svg) == (
        '<svg viewBox="0 0 9 4" aria-hidden="true">\n<g><path id="m1" d="M 1.23 -7L 10.5 20"/></g>'
        '<text style="font: 9px var(--font); fill: var(--ink)">1.23456</text></svg>'
    )


def test_bands_are_put_below_each_other_in_a_file() -> None:
    parts = [
        f'<svg viewBox="0 0 9.5 {height}" aria-hidden="true"><p{height}/></svg>' for height in (4, 2.5, 1)
    ]
    assert _joined(parts[0]) == parts[0]
    assert _joined("".join(parts)) == (
        '<svg viewBox="0 0 9.5 7.5" aria-hidden="true">'
        '<svg y="0" width="9.5" height="4" viewBox="0 0 9.5 4" aria-hidden="true"><p4/></svg>'
        '<svg y="4" width="9.5" height="2.5" viewBox="0 0 9.5 2.5" aria-hidden="true"><p2.5/></svg>'
        '<svg y="6.5" width="9.5" height="1" viewBox="0 0 9.5 1" aria-hidden="true"><p1/></svg></svg>'
    )
    inner = '<svg viewBox="0 0 1 1" aria-hidden="true"><a fill="var(--ink)" font="9px var(--font)"/></svg>'
    assert standalone(inner, "a < b") == (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 1 1">'
        f"{PICTURE_MARK}{__version__}</metadata><title>a &lt; b</title>"
        '<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<a fill="{style.INK}" font="9px system-ui, \'DejaVu Sans\', sans-serif"/></svg>\n'
    )
    assert "<title>" not in standalone(inner)
