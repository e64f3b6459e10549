"""The page in a real browser: everything is there, visible, and nothing is asked of the network.

`make test-slow` has the page of seven algorithms, the dark one, and the script for screenshots.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dstcc.report import load_report, render
from tests.report.synthetic_run import RunSpec, build_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FIGURES = 9
CM = 2.54 / 96
"""Of a pixel."""
PAPER_CM = (29.7 - 2.4, 21.0 - 2.4)
"""A page on its side within its margins."""
HEADING_CM = 1.4
SCREENSHOT = Path(__file__).parents[2] / "scripts" / "screenshot.py"


def find_chromium() -> str:
    program = shutil.which("chromium")
    if program is None:
        pytest.fail("this test opens the report in Chromium, which is missing: apt-get install chromium")
    return program


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    run = build_run(folder / "run", RunSpec(congestion=("cubic", "bbr-scaled"), chunks=90))
    path = folder / "report.html"
    path.write_text(render(load_report([run]), "html"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def seven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of seven algorithms, which are more than two parts of a figure have."""
    folder = tmp_path_factory.mktemp("seven")
    run = build_run(folder / "run", RunSpec(congestion=tuple(f"control-{i}" for i in range(7)), chunks=60))
    path = folder / "report.html"
    path.write_text(render(load_report([run]), "html"), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("width", "scheme"), [(1200, "light"), pytest.param(1200, "dark", marks=pytest.mark.slow), (390, "light")]
)
def test_the_page_is_whole_and_quiet(browser: Browser, report: Path, width: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri(), wait_until="load")
    assert_visible(page)
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()]
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow == 0
    hidden = page.locator(".scroll:has(table.ranking)").evaluate(
        "part => part.scrollWidth - part.clientWidth"
    )
    assert hidden == 0 or width < 1000  # the first table is read without scrolling
    page.close()


def assert_visible(page: Page) -> None:
    assert page.locator("figure .plot:visible").count() == FIGURES
    for figure in [
        *page.locator("figure svg:visible").all(),
        page.locator("table.summary"),
        page.locator("table.links"),
    ]:
        assert figure.is_visible()
        box = figure.bounding_box()
        assert box is not None
        assert box["width"] > 300
        assert box["height"] > 60
    assert page.locator("table.summary tbody td").count() >= 2 * 10
    assert page.locator("p.verdict").inner_text()


@pytest.mark.parametrize("width", [1200, 390])
def test_labels_of_a_figure_do_not_overlap(browser: Browser, report: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(report.as_uri())
    overlaps = page.evaluate(
        """() => [...document.querySelectorAll('figure svg')].flatMap(svg => {
            if (!svg.getClientRects().length) return [];
            const texts = [...svg.querySelectorAll('text')];
            const boxes = texts.map(t => [t.textContent, t.getBoundingClientRect()]);
            const pairs = [];
            for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
                const [a, b] = [boxes[i][1], boxes[j][1]];
                const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (wide > 1 && high > 4) pairs.push([boxes[i][0], boxes[j][0]]);
            }
            return pairs;
        })"""
    )
    page.close()
    assert overlaps == []


def test_figures_are_legible_on_a_phone_without_scrolling(browser: Browser, report: Path) -> None:
    """At 390 pixels no figure is wider than the page, and no letter of one is smaller than 8 pixels."""
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(report.as_uri())
    plots = page.locator("figure .plot:visible")
    assert plots.count() == FIGURES
    for plot in plots.all():
        assert plot.evaluate("plot => plot.scrollWidth <= plot.clientWidth")
        sizes = plot.evaluate(
            """plot => [...plot.querySelectorAll('text')].map(text => {
                const turned = text.getScreenCTM();
                return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(turned.a, turned.b);
            })"""
        )
        assert min(sizes) >= 8.0
    page.close()


def test_headings_stay_with_what_they_head_in_print(browser: Browser, report: Path) -> None:
    page = browser.new_page()
    page.goto(report.as_uri())
    page.emulate_media(media="print")
    kept = page.evaluate("[...document.querySelectorAll('h2, h3')].map(h => getComputedStyle(h).breakAfter)")
    assert set(kept) == {"avoid"}
    assert page.locator(".plot.narrow:visible").count() == 0
    page.close()


def test_paper_has_the_definitions_and_whole_tables(browser: Browser, report: Path) -> None:
    page = browser.new_page()
    page.goto(report.as_uri())
    assert not page.locator(".glossary").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".glossary").is_visible()
    kept = page.evaluate("[...document.querySelectorAll('table')].map(t => getComputedStyle(t).breakInside)")
    assert set(kept) == {"avoid"}
    page.close()


@pytest.mark.slow
def test_figures_of_seven_algorithms_are_legible_on_paper(browser: Browser, seven: Path) -> None:
    """No letter of a figure is smaller than 6.5 pt, no part is higher than a page, and each part of one with a row
    an algorithm has its time axis."""
    page = browser.new_page(viewport={"width": round(PAPER_CM[0] / CM), "height": 700})
    page.goto(seven.as_uri())
    sheet = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", page.pdf(prefer_css_page_size=True))
    assert sheet is not None
    assert float(sheet[1]) > float(sheet[2])
    page.emulate_media(media="print")
    parts = page.evaluate(
        """() => [...document.querySelectorAll('figure svg')].filter(svg => svg.getClientRects().length).map(svg => ({
            height: svg.getBoundingClientRect().height,
            times: svg.textContent.includes('mission time'),
            beside: svg.parentElement.querySelectorAll('svg').length,
            sizes: [...svg.querySelectorAll('text')].map(text => {
                const turned = text.getScreenCTM();
                return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(turned.a, turned.b);
            }),
        }))"""
    )
    page.close()
    assert min(size for part in parts for size in part["sizes"]) * 72 / 96 >= 6.5
    assert max(part["height"] for part in parts) * CM <= PAPER_CM[1] - HEADING_CM
    rows = [part for part in parts if part["beside"] > 1]
    assert len(rows) == 4 * 3  # the chunks, windows, round trips and rates: three, three and one
    assert all(part["times"] for part in rows)


def test_the_contents_lead_to_their_sections_by_keyboard(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(report.as_uri())
    last = page.locator("nav.contents a").last
    for _ in range(60):
        page.keyboard.press("Tab")
        if last.evaluate("link => link === document.activeElement"):
            break
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash === '#glossary'")
    assert page.locator("#glossary").evaluate("h => h.getBoundingClientRect().top < innerHeight")
    page.close()


def test_the_glossary_unfolds(browser: Browser, report: Path) -> None:
    page = browser.new_page()
    page.goto(report.as_uri())
    glossary = page.locator("dl.glossary")
    assert not glossary.is_visible()
    page.get_by_text("Every metric and term of this page").click()
    assert glossary.is_visible()
    page.close()


@pytest.mark.slow
def test_the_screenshot_script_writes_a_picture(report: Path, tmp_path: Path) -> None:
    find_chromium()
    picture = tmp_path / "report.png"
    subprocess.run([sys.executable, str(SCREENSHOT), str(report), str(picture)], check=True, timeout=120)
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert int.from_bytes(data[16:20], "big") == 1200
