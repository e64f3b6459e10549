"""``dstcc report -o FILE.pdf``: two pages to hand over."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner
from dstcc_cli.main import main

from dstcc.errors import MissingCapabilityError
from dstcc.report import browser, load_report
from dstcc.report.browser import PAPERS, to_pdf, to_png
from dstcc.report.mark import REPORT
from dstcc.report.pictures import Screening, Thumb
from dstcc.report.sheet import FILMS, ROWS, STILLS, _shown, _strip, caution, render_sheet
from tests.report.conftest import RunFactory
from tests.report.synthetic_run import RunSpec

PT_PER_MM = 72 / 25.4
PX_PER_MM = 96 / 25.4


def film(states: str) -> tuple[Thumb, ...]:
    """Pictures whose states are letters."""
    return tuple(Thumb(b"", letter, frozen=False) for letter in states)


def screening(**films: str) -> Screening:
    moments = tuple(str(k) for k in range(len(next(iter(films.values())))))
    return Screening(moments, tuple((name, film(one)) for name, one in films.items()), "", "", 1.0, ())


def test_the_moments_are_those_at_which_pictures_differ() -> None:
    """Of six moments three have two looks each; the fourth is the first of the others."""
    moments, strip = _strip(screening(best="aaaaaa", worst="abaabb"), ["best", "worst"])
    assert moments == ["0", "1", "4", "5"]
    assert [(name, "".join(thumb.state for thumb in thumbs)) for name, thumbs in strip] == [
        ("best", "aaaa"),
        ("worst", "abbb"),
    ]


def test_algorithms_that_look_alike_have_one_row_and_the_last_has_one() -> None:
    films = {"a": "xx", "b": "xx", "c": "xy", "d": "yy", "e": "yz"}
    _, strip = _strip(screening(**films), list(films))
    assert [name for name, _ in strip] == ["a", "c", "e"]
    assert (len(strip), len(strip[0][1])) == (FILMS, min(STILLS, 2))


def test_the_tables_have_what_the_sentence_names_and_the_best_of_the_others() -> None:
    ranked = [f"a{k}" for k in range(20)] + ["cubic in one stream"]
    shown = _shown(ranked, "a0 delivers all; cubic in one stream none")
    assert shown == [*ranked[: ROWS - 1], "cubic in one stream"]
    assert _shown(["b", "a"], "a is best") == ["b", "a"]


@pytest.mark.parametrize(
    ("seeds", "said"), [(1, "One seed: there are no intervals"), (4, "4 seeds: an interval"), (10, "")]
)
def test_few_seeds_are_cautioned_of(make_run: RunFactory, seeds: int, said: str) -> None:
    report = load_report([make_run(RunSpec(seeds=tuple(range(1, seeds + 1))))])
    text = caution(report.sections)
    assert text.startswith(said) and bool(text) == bool(said)
    assert said in render_sheet(report, None, PAPERS["a4"])


def test_a_sheet_has_two_pages_and_asks_the_network_for_nothing(make_run: RunFactory) -> None:
    page = render_sheet(load_report([make_run(RunSpec())]), None, PAPERS["letter"])
    assert page.count('<div class="sheet">') == browser.PAGES == 2
    assert "215.9mm 279.4mm" in page and "://" not in re.sub(r'"http://www\.w3\.org/[^"]*"', "", page)


def test_names_of_a_pdfs_elements_are_counted_from_one() -> None:
    made = b"/ID (node00000025) /Names [(node00000025) 1 (node00000031) 2] node7 (node00000031)"
    counted = b"/ID (node00000001) /Names [(node00000001) 1 (node00000002) 2] node7 (node00000002)"
    assert browser._numbered(made) == counted == browser._numbered(made.replace(b"25", b"28"))


@pytest.mark.parametrize(
    "paper", [pytest.param(paper, marks=() if paper == "a4" else pytest.mark.slow) for paper in PAPERS]
)
def test_pdf_and_picture_are_of_the_paper_and_are_known_as_reports(
    make_run: RunFactory, tmp_path: Path, paper: str
) -> None:
    page = render_sheet(load_report([make_run(RunSpec())]), None, PAPERS[paper])
    pdf, png = to_pdf(page), to_png(page, PAPERS[paper])
    assert pdf == to_pdf(page), "without the time at which it was printed"
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert len(boxes) == browser.PAGES
    size = PAPERS[paper]
    for box in boxes:
        assert tuple(map(float, box)) == pytest.approx(
            (size.width_mm * PT_PER_MM, size.height_mm * PT_PER_MM), abs=1
        )
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == pytest.approx(
        (2 * size.width_mm * PX_PER_MM, 4 * size.height_mm * PX_PER_MM), abs=4
    )
    length = int.from_bytes(png[33:37], "big")
    assert zlib.crc32(png[37 : 41 + length]) == int.from_bytes(png[41 + length : 45 + length], "big")
    for name, data in (("a.pdf", pdf), ("a.png", png)):
        (tmp_path / name).write_bytes(data)
        assert REPORT.wrong(tmp_path / name) is None
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.4\nof somebody else\n%%EOF\n")
    (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    for name in ("b.pdf", "b.png"):
        assert REPORT.wrong(tmp_path / name) == "has no mark of a report of dstcc"


def test_a_machine_without_a_browser_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingCapabilityError, match=r"none of chromium, .* apt install chromium"):
        browser.find()
    monkeypatch.setenv(browser.OWN, "/nowhere/chrome")
    with pytest.raises(MissingCapabilityError, match="DSTCC_CHROMIUM=/nowhere/chrome is no program"):
        browser.find()


def test_a_browser_that_prints_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "chrome"
    program.write_text("#!/bin/sh\necho 'no memory' >&2\nexit 5\n")
    program.chmod(0o755)
    monkeypatch.setenv(browser.OWN, str(program))
    with pytest.raises(MissingCapabilityError, match="exit code 5: no memory"):
        to_pdf("<p>")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "a.html", "--paper", "a4"], "--paper: of pdf and png, not of html"),
        (["-o", "-", "--format", "pdf"], "is no text for stdout; give -o FILE.pdf"),
        (["-o", "a.html", "--data"], "--data: the numbers of --figures, which is not given"),
        (["-o", "a.jpg"], "no report has the ending .jpg; one of .html, .md, .csv, .json, .pdf, .png"),
    ],
)
def test_options_that_do_not_go_together_are_named(
    make_run: RunFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    said: str,
) -> None:
    run = make_run(RunSpec())
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["report", str(run), *options])
    assert done.exit_code == 2 and said in done.stderr


def test_the_command_writes_both_and_replaces_them_with_force_only(
    make_run: RunFactory, tmp_path: Path
) -> None:
    run, out = make_run(RunSpec()), tmp_path / "week.pdf"
    command = ["report", str(run), "-o", str(out), "--no-pictures"]
    assert CliRunner().invoke(main, command).exit_code == 0
    assert out.read_bytes().startswith(b"%PDF-")
    assert CliRunner().invoke(main, command).exit_code == 2
    assert CliRunner().invoke(main, [*command, "--force", "--paper", "letter"]).exit_code == 0
