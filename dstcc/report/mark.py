"""The mark by which a report is recognised, in each of its formats."""

from __future__ import annotations

from pathlib import Path

from dstcc.errors import RunError
from dstcc.outputs import MARK_BYTES, Kind, beginning, stranger
from dstcc.reading import read_json
from dstcc.version import __version__

GENERATOR = '<meta name="generator" content="dstcc '
"""In the head of a page."""
PICTURE_MARK = "<metadata>dstcc report "
"""At the head of a figure's file."""
CSV_COLUMNS = (
    "scenario",
    "scenario_sha256",
    "backend",
    "scale",
    "algorithm",
    "congestion",
    "scheduler",
    "controller",
    "variant",
    "knows",
    "ordering_domains",
    "windows",
    "copies",
    "own_scale",
    "standing",
    "trials",
    "failed",
    "metric",
    "value",
    "low",
    "high",
    "n",
    "against",
    "won",
    "even",
    "delay_rtts",
)
"""A row per scenario, algorithm and metric, in base units; ``low`` and ``high`` are empty below two seeds. ``knows``
has the keys of :data:`dstcc.algorithms.KNOWLEDGE` with blanks between; ``own_scale`` is the algorithm's, ``scale`` the
run's.

Metrics ``paired.*`` are mean differences to the algorithm ``against`` at the same seeds. Rows of all scenarios
together have :data:`ALL` for a scenario. Metrics ``frontier.*`` are of runs that differ in the playout delay only, with
that delay in ``delay_rtts``; the bound's rows have :data:`~dstcc.report.frontier.BOUND_NAME` for an algorithm.
"""
STUDY_COLUMNS = ("axis", "at", "metric", "algorithm", "mean", "low", "high", "trials")
"""Of the report of a study as CSV."""
MOST_JSON = 1 << 30
"""Bytes of a report as JSON, which has each trial's metrics."""
COMMENT = "<!-- dstcc report "
"""How the last line of Markdown begins."""
PDF_MARK = b"% dstcc report "
"""How the last line of a PDF begins, a comment behind its end."""
PNG_MARK = b"Software\0dstcc report "
"""In a PNG's tEXt chunk; the version follows."""


def comment() -> str:
    """The last line of Markdown, a comment that is not displayed."""
    return f"{COMMENT}{__version__} -->\n"


def _no_report(path: Path) -> str | None:
    head = beginning(path)
    if (raw := path.read_bytes()).startswith((b"%PDF-", b"\x89PNG")):
        ours = (
            raw.rstrip(b"\n").rpartition(b"\n")[2].startswith(PDF_MARK)
            or b"tEXt" + PNG_MARK in raw[:MARK_BYTES]
        )
    elif head.startswith("<!doctype html>"):
        ours = GENERATOR in head
    elif head.startswith("{"):
        ours = _is_document(path)
    elif head.startswith("# "):
        last = path.read_text(encoding="utf-8", errors="replace").rstrip("\n").rpartition("\n")[2]
        ours = last.startswith(COMMENT)
    else:
        heads = [",".join(columns) + "\n" for columns in (CSV_COLUMNS, STUDY_COLUMNS)]
        ours = any(head.startswith(one) for one in heads)  # a table has no place for a mark
    return None if ours else "has no mark of a report of dstcc"


KEYS = ({"dstcc_version", "sections", "all_scenarios"}, {"dstcc_version", "study", "along"})
"""Of the report of runs as JSON, and of that of a study."""


def _is_document(path: Path) -> bool:
    try:
        document = read_json(path, RunError, MOST_JSON)
    except RunError:
        return False
    return isinstance(document, dict) and any(keys <= document.keys() for keys in KEYS)


def _no_figures(path: Path) -> str | None:
    """Why a folder is not one of figures of ours: each picture has the mark, and may have a table beside it."""
    pictures = sorted(path.glob("*.svg"))
    if not pictures:
        return "holds no figures"
    own = {file.name for picture in pictures for file in (picture, picture.with_suffix(".csv"))}
    other = stranger(path, own)
    if other is not None:
        return f"holds {other}, which is no figure of a report"
    return next(
        (f"{one.name} has no mark of dstcc" for one in pictures if PICTURE_MARK not in beginning(one)), None
    )


FIGURES = Kind("a report's figures", _no_figures, folder=True)
"""The folder beside a report that ``--figures`` writes."""
REPORT = Kind("a report", _no_report)
"""What ``dstcc report`` writes."""
