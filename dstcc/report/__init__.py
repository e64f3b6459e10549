"""Compare runs: one self-contained HTML page, or the same summary as Markdown, CSV or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .load import load_report
from .mark import REPORT
from .model import Report

if TYPE_CHECKING:
    from .pictures import Screenings

__all__ = ["FORMATS", "REPORT", "Report", "load_report", "render"]

FORMATS = ("html", "md", "csv", "json")


def render(report: Report, form: str, screenings: Screenings | None = None) -> str:
    """The report in one of :data:`FORMATS`; the same runs give the same text.

    ``screenings`` are the pictures of the HTML page, see :func:`dstcc.report.pictures.screen`; ``None``: it has none.
    """
    from . import text

    if form == "html":
        from .page import render_html

        return render_html(report, screenings)
    return {"md": text.render_markdown, "csv": text.render_csv, "json": text.render_json}[form](report)
