"""Compare runs: one self-contained HTML page, or the same summary as Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Callable

from .load import load_report
from .mark import REPORT
from .model import Report

__all__ = ["FORMATS", "REPORT", "Report", "load_report", "render"]

FORMATS = ("html", "md", "csv", "json")


def render(report: Report, form: str) -> str:
    """The report in one of :data:`FORMATS`; the same runs give the same text."""
    return _renderer(form)(report)


def _renderer(form: str) -> Callable[[Report], str]:
    from . import text

    if form == "html":
        from .page import render_html

        return render_html
    return {"md": text.render_markdown, "csv": text.render_csv, "json": text.render_json}[form]
