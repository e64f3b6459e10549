"""Compare runs: one self-contained HTML page, or the same summary as Markdown, CSV or JSON."""

from __future__ import annotations

from .load import load_report
from .mark import REPORT
from .model import Report
from .writing import FORMATS, format_of, render, write_report

__all__ = ["FORMATS", "REPORT", "Report", "format_of", "load_report", "render", "write_report"]
