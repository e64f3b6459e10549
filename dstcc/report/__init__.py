"""Compare runs: one self-contained HTML page, or the same summary as Markdown, CSV or JSON.

The names below are imported when they are first used: a dry run needs only a sentence of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dstcc.lazy import names_of

if TYPE_CHECKING:
    from .load import load_report
    from .mark import REPORT
    from .model import Report
    from .writing import FORMATS, format_of, render, write_report

__all__ = ["FORMATS", "REPORT", "Report", "format_of", "load_report", "render", "write_report"]

__getattr__ = names_of(
    __name__,
    {
        "load_report": "load",
        "REPORT": "mark",
        "Report": "model",
        **dict.fromkeys(("FORMATS", "format_of", "render", "write_report"), "writing"),
    },
)
