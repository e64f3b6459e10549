"""The mark by which a report is recognised, in each of its formats."""

from __future__ import annotations

import json
from pathlib import Path

from dstcc.outputs import Kind, beginning
from dstcc.version import __version__

GENERATOR = '<meta name="generator" content="dstcc '
"""In the head of a page."""
COMMENT = "<!-- dstcc report "
"""How the last line of Markdown begins."""


def comment() -> str:
    """The last line of Markdown, a comment that is not displayed."""
    return f"{COMMENT}{__version__} -->\n"


def _no_report(path: Path) -> str | None:
    head = beginning(path)
    if head.startswith("<!doctype html>"):
        ours = GENERATOR in head
    elif head.startswith("{"):
        ours = _is_document(path)
    elif head.startswith("# "):
        last = path.read_text(encoding="utf-8", errors="replace").rstrip("\n").rpartition("\n")[2]
        ours = last.startswith(COMMENT)
    else:
        from .text import CSV_COLUMNS

        ours = head.startswith(",".join(CSV_COLUMNS) + "\n")  # a table has no place for a mark
    return None if ours else "has no mark of a report of dstcc"


def _is_document(path: Path) -> bool:
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and {"dstcc_version", "sections", "all_scenarios"} <= document.keys()


REPORT = Kind("a report", _no_report)
"""What ``dstcc report`` writes."""
