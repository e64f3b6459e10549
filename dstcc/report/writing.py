"""A report as text, and as files: the page, and its clips beside it where they are many."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dstcc.atomic import atomic_directory, atomic_write
from dstcc.errors import CONTROL, InputError
from dstcc.outputs import check_output
from dstcc.spreadsheet import to_csv

from . import text
from .browser import PAPERS, to_pdf, to_png
from .mark import FIGURES, REPORT
from .model import Report

if TYPE_CHECKING:
    from .pictures import Screenings

FORMATS = ("html", "md", "csv", "json")
PRINTED = ("pdf", "png")
"""Formats of the two pages to hand over, which a browser prints."""
_ENDINGS = {f".{form}": form for form in (*FORMATS, *PRINTED)} | {
    ".htm": "html",
    ".markdown": "md",
    "": "html",
}


def format_of(output: Path) -> str:
    """The one of :data:`FORMATS` and :data:`PRINTED` that a file's ending says, HTML without one.

    Raises :class:`InputError` for others.
    """
    ending = output.suffix.lower()
    if ending not in _ENDINGS:
        known = ", ".join(f".{form}" for form in (*FORMATS, *PRINTED))
        raise InputError(f"{output}: no report has the ending {ending}; one of {known}")
    return _ENDINGS[ending]


def render(report: Report, form: str, screenings: Screenings | None = None) -> str:
    """The report in one of :data:`FORMATS`; the same runs give the same text.

    ``screenings`` are the pictures of the HTML page, see :func:`dstcc.report.pictures.screen`; ``None``: it has none.
    """
    if form == "html":
        from .page import render_html

        said = render_html(report, screenings)
    else:
        said = {"md": text.render_markdown, "csv": text.render_csv, "json": text.render_json}[form](report)
    return CONTROL.sub("\ufffd", said)


def write_report(
    report: Report,
    output: Path,
    form: str,
    screenings: Screenings | None = None,
    *,
    figures: bool = False,
    data: bool = False,
    paper: str = "a4",
    force: bool = False,
) -> int:
    """Write the report whole or not at all, its clips before it; returns the size of all in bytes.

    ``figures`` also writes each figure of a page as SVG into a folder beside it, with ``data`` its numbers as CSV, too.
    ``paper`` is that of PDF and PNG, of :data:`dstcc.report.browser.PAPERS`. Raises
    :class:`~dstcc.errors.MissingCapabilityError` for these where there is no browser.
    """
    if form in PRINTED:
        printed = _printed(report, form, screenings, paper)
        atomic_write(output, printed, replaces=REPORT if force else None)
        return len(printed)
    beside = 0
    if screenings is not None and not screenings.embeddable:
        screenings = _put_beside(screenings, output, force=force)
        beside = sum(map(len, screenings.clips.values()))
    if figures and form == "html":
        text_of_page, size = _with_figures(report, output, screenings, data=data, force=force)
        beside += size
    else:
        text_of_page = render(report, form, screenings)
    page = text_of_page.encode()
    atomic_write(output, page, replaces=REPORT if force else None)
    return len(page) + beside


def _printed(report: Report, form: str, screenings: Screenings | None, paper: str) -> bytes:
    """The two pages to hand over."""
    from .sheet import render_sheet

    page = CONTROL.sub("\ufffd", render_sheet(report, screenings, PAPERS[paper]))
    return to_pdf(page) if form == "pdf" else to_png(page, PAPERS[paper])


def _put_beside(screenings: Screenings, output: Path, *, force: bool) -> Screenings:
    """Write the clips into a folder beside the page."""
    from .pictures import CLIPS

    folder = output.with_name(f"{output.stem}-clips")
    check_output(folder, CLIPS, force=force)
    with atomic_directory(folder, replaces=CLIPS if force else None) as made:
        for name, clip in screenings.clips.items():
            (made / name).write_bytes(clip)
    return replace(screenings, folder=folder.name)


def _with_figures(
    report: Report, output: Path, screenings: Screenings | None, *, data: bool, force: bool
) -> tuple[str, int]:
    """Write the figures into a folder beside the page; the page and the size of the folder in bytes."""
    from .figures.style import standalone
    from .page import draw_page

    folder = output.with_name(f"{output.stem}-figures")
    check_output(folder, FIGURES, force=force)
    page, plots = draw_page(report, screenings, folder.name, data=data)
    files = {f"{plot.name}.svg": standalone(plot.svg, plot.label) for plot in plots}
    if data:
        files |= {f"{plot.name}.csv": to_csv(plot.rows()) for plot in plots}
    with atomic_directory(folder, replaces=FIGURES if force else None) as made:
        for name, content in files.items():
            (made / name).write_text(content, encoding="utf-8")
    return page, sum(len(content.encode()) for content in files.values())
