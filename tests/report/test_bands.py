"""Figures of many rows come in parts, so that a printed page can end between them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from dstcc.report import load_report
from dstcc.report.figures.looks import looks
from dstcc.report.figures.style import BAND_ROWS, bands, standalone
from dstcc.report.figures.timeline import timeline_figure
from dstcc.report.figures.transport import QUANTITIES, transport_figure
from dstcc.report.model import Section
from dstcc.report.tables import Tables
from tests.report.conftest import RunFactory
from tests.report.synthetic_run import RunSpec

NAMES = tuple(f"control-{i}" for i in range(BAND_ROWS + 2))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def section(make_run: RunFactory) -> Section:
    (section,) = load_report([make_run(RunSpec(congestion=NAMES, chunks=60, seeds=(1,)))]).sections
    return section


def draw(section: Section, figure: str, *, narrow: bool = False) -> str:
    styles = looks([algorithm.name for algorithm in section.algorithms])
    if figure == "timeline":
        return timeline_figure(section, Tables(), styles, "salt", narrow=narrow)
    return transport_figure(section, Tables(), QUANTITIES[0], styles, "salt", narrow=narrow)


def parts_of(svg: str) -> list[str]:
    return [f"<svg {part}" for part in svg.split("<svg ")[1:]]


def test_each_row_is_in_one_band() -> None:
    assert bands(1) == [range(1)]
    assert bands(BAND_ROWS) == [range(BAND_ROWS)]
    assert bands(2 * BAND_ROWS + 1)[-1] == range(2 * BAND_ROWS, 2 * BAND_ROWS + 1)


@pytest.mark.parametrize("figure", ["timeline", "transport"])
def test_a_part_has_its_rows_and_no_others(section: Section, figure: str) -> None:
    parts = parts_of(draw(section, figure))
    named = [re.findall(r"control-\d+", part) for part in parts]
    assert [len(names) for names in named] == [BAND_ROWS, 2]
    assert len({name for names in named for name in names}) == len(NAMES)
    for part in parts:
        assert part.count("mission time") == (1 if figure == "timeline" else 2)
        width, height = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', part)[0])
        for y in re.findall(r"<text [^>]*translate\([\d.]+ (-?[\d.]+)\)", part):
            assert 0 < float(y) <= height < width


@pytest.mark.parametrize("figure", ["timeline", "transport"])
def test_on_a_phone_a_figure_is_one_part(section: Section, figure: str) -> None:
    assert len(parts_of(draw(section, figure, narrow=True))) == 1


def test_the_parts_are_one_picture_in_a_file(section: Section) -> None:
    svg = draw(section, "timeline")
    picture = ElementTree.fromstring(standalone(svg, "what it says"))
    _x, _y, width, height = map(float, picture.attrib["viewBox"].split())
    parts = picture.findall(f"{SVG}svg")
    assert len(parts) == len(parts_of(svg))
    tops = [float(part.attrib["y"]) for part in parts]
    heights = [float(part.attrib["height"]) for part in parts]
    assert tops[0] == 0
    assert all(
        top + high == pytest.approx(below)
        for (top, high), below in zip(zip(tops, heights, strict=True), tops[1:], strict=False)
    )
    assert tops[-1] + heights[-1] == pytest.approx(height)
    assert {float(part.attrib["width"]) for part in parts} == {width}
    assert picture.findtext(f"{SVG}title") == "what it says"
