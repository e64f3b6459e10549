"""The report as Markdown, CSV and JSON: the same summary rows without the figures."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Iterator
from typing import Any

from .model import Report, Section
from .summary import Cell, command_line, document, summary_table
from .verdict import verdict

CSV_COLUMNS = (
    "scenario",
    "scenario_sha256",
    "backend",
    "scale",
    "algorithm",
    "congestion",
    "scheduler",
    "controller",
    "trials",
    "failed",
    "metric",
    "value",
    "low",
    "high",
    "n",
)
"""A row per scenario, algorithm and metric, in base units; ``low`` and ``high`` are empty below two seeds."""


def render_json(report: Report) -> str:
    """The summary as one JSON document."""
    return json.dumps(document(report), indent=2, ensure_ascii=False) + "\n"


def render_csv(report: Report) -> str:
    """The summary in long form, see :data:`CSV_COLUMNS`."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, CSV_COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for section in document(report)["sections"]:
        for row in section["rows"]:
            shared = {key: value for key, value in {**section, **row}.items() if key in CSV_COLUMNS}
            writer.writerows({**shared, **measured} for measured in _measured(row))
    return buffer.getvalue()


def render_markdown(report: Report) -> str:
    """A document for a README or a pull request."""
    return "\n".join(line for section in report.sections for line in _section(section))


def _measured(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key, one in row["metrics"].items():
        yield {"metric": key, **one}
    for level, share in row["layers_played"].items():
        yield {"metric": f"layers_played.{level}", "value": share, "n": row["trials"] - row["failed"]}


def _section(section: Section) -> Iterator[str]:
    meta = section.meta
    yield f"# {_escape(section.name)}"
    yield ""
    yield _escape(verdict(section))
    yield ""
    if section.finished:
        yield from _tables(section)
    failed = [trial for trial in section.trials if not trial.ok]
    if failed:
        yield "Failed trials:"
        yield ""
        yield from (
            f"- `{_code(trial.id)}`: {_escape(trial.error or 'no reason recorded')}" for trial in failed
        )
        yield ""
    yield from (f"- Note: {_escape(note)}" for note in section.notes)
    seeds = ", ".join(map(str, section.seeds))
    version, commit, sha = (
        _code(str(meta.get(key))) for key in ("dstcc_version", "git_commit", "scenario_sha256")
    )
    yield (
        f"dstcc `{version}`, commit `{commit}`, seeds {seeds}, scale {meta.get('scale')}, "
        f"scenario SHA-256 `{sha}`:"
    )
    yield ""
    yield from (f"    {_code(command)}" for command in command_line(section))
    yield ""


def _tables(section: Section) -> Iterator[str]:
    names = [_escape(algorithm.name) for algorithm in section.finished]
    yield f"| Metric | {' | '.join(names)} |"
    yield f"|---|{'---:|' * len(names)}"
    for row in summary_table(section):
        unit = f" ({row.unit})" if row.unit else ""
        yield f"| {row.metric.label}{unit} | {' | '.join(_cell(cell) for cell in row.cells)} |"
    for level in section.levels:
        shares = " | ".join(f"{algorithm.played.get(level, 0.0) * 100:.1f}" for algorithm in section.finished)
        yield f"| Highest layer played: {'none' if level < 0 else level} (%) | {shares} |"
    yield ""
    yield "**Bold**: best; ≈: its interval overlaps the best one's. In brackets: 95 % interval over seeds."
    yield ""


def _cell(cell: Cell) -> str:
    value = {"best": f"**{cell.value}**", "close": f"≈ {cell.value}"}.get(cell.mark, cell.value)
    extra = ", ".join(part for part in (cell.interval, cell.note) if part)
    return f"{value} ({extra})" if extra else value


def _escape(text: str) -> str:
    """User text as one line of Markdown that cannot open a tag, a table cell or emphasis."""
    flat = html.escape(" ".join(text.split()), quote=False)
    for character in "\\`*_[]|#":
        flat = flat.replace(character, f"\\{character}")
    return flat


def _code(text: str) -> str:
    return " ".join(text.split()).replace("`", "'")
