"""The report as Markdown, CSV and JSON: the same summary rows without the figures."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any

from dstcc.spreadsheet import records_csv
from dstcc.stats import Paired, Profile

from .catalogue import Metric
from .contacts import contact_table
from .controllers import controllers_of
from .decision import decide
from .footing import footings_of, legend
from .frontier import BOUND_NAME, Frontier, frontiers, table, titles
from .least_delay import words
from .mark import CSV_COLUMNS, comment
from .model import Report, Section
from .numbers import UNKNOWN, grouped
from .pooled import Pooled, pool, pooled_profiles, section_profiles
from .printed import table_lines
from .ranking import Ranked, headings, leader_of
from .summary import (
    Cell,
    command_line,
    document,
    paired_table,
    pooled_ranking,
    pooled_table,
    section_differences,
    section_ranking,
    summary_table,
)
from .tables import Tables
from .verdict import pooled_verdict, verdict

ALL = "all scenarios"
PROFILE_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""The values of τ at which Markdown lists the profiles."""


def render_json(report: Report) -> str:
    """The summary as one JSON document."""
    return json.dumps(document(report), indent=2, ensure_ascii=False) + "\n"


def render_csv(report: Report) -> str:
    """The summary in long form, see :data:`CSV_COLUMNS`."""
    return records_csv(CSV_COLUMNS, _records(report))


def _records(report: Report) -> Iterator[dict[str, Any]]:
    whole = document(report)
    together = whole["all_scenarios"]
    for section in (*whole["sections"], *([{"scenario": ALL, **together}] if together else [])):
        for row in section["rows"]:
            whole_row = {**section, **row, **_footing_columns(row["footing"])}
            shared = {key: value for key, value in whole_row.items() if key in CSV_COLUMNS}
            yield from ({**shared, **measured} for measured in _measured(row))
            differences = section["paired"].get(row["algorithm"], {})
            yield from (
                {**shared, "metric": f"paired.{key}", "against": section["reference"], **one}
                for key, one in differences.items()
            )
    for frontier in whole["frontiers"]:
        shared = {key: frontier[key] for key in ("scenario", "backend", "scale")}
        for row in frontier["rows"]:
            named = {"algorithm": row["algorithm"] or BOUND_NAME, "metric": f"frontier.{frontier['metric']}"}
            yield {**shared, **row, **named}


def _footing_columns(footing: dict[str, Any] | None) -> dict[str, Any]:
    if footing is None:
        return {}
    kept = {key: footing[key] for key in ("ordering_domains", "windows", "copies")}
    return {**kept, "knows": " ".join(footing["knows"]), "own_scale": footing["scale"]}


def render_markdown(report: Report) -> str:
    """A document for a README or a pull request."""
    pooled = pool(report)
    together = _pooled(pooled) if pooled else ()
    sections = zip(report.sections, titles(report), strict=True)
    lines = [line for section, title in sections for line in _section(section, title)]
    lines += [line for one in frontiers(report) for line in _frontier(one)] + [*together]
    return "\n".join([*lines, comment()])


def _measured(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key, one in row["metrics"].items():
        yield {"metric": key, **one}
    for level, share in row.get("layers_played", {}).items():
        yield {"metric": f"layers_played.{level}", "value": share, "n": row["trials"] - row["failed"]}


def _section(section: Section, title: str) -> Iterator[str]:
    meta = section.meta
    yield f"# {_escape(title)}"
    yield ""
    box = decide(section, Tables())
    if box is not None:
        yield f"**{_escape(box.sentence)}**"
        yield ""
    yield _escape(verdict(section))
    yield ""
    yield from _ranking_lines(section_ranking(section))
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
    points = [f"- Note: {_escape(note)}" for note in section.notes]
    if delays := section.meta.get("least_playout_delays"):
        points.insert(0, f"- Least playout delay with all in time: {words(delays)}")
    if points:
        yield from (*points, "")
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
    rows = [["Metric", *(_escape(algorithm.name) for algorithm in section.finished)]]
    for row in summary_table(section):
        unit = f" ({row.unit})" if row.unit else ""
        rows.append([f"{row.metric.label}{unit}", *map(_cell, row.cells)])
    for level in section.levels:
        shares = (f"{algorithm.played.get(level, 0.0) * 100:.1f}" for algorithm in section.finished)
        rows.append([f"Highest layer played: {'none' if level < 0 else level} (%)", *shares])
    yield from table_lines("l", *rows)
    yield "**Bold**: best; ≈: its interval overlaps the best one's. In brackets: 95 % interval over seeds."
    yield ""
    yield from _contacts(section)
    differences = section_differences(section)
    if differences and section.reference:
        yield from _differences(section.reference.name, differences)
    yield from _profiles(section_profiles(section))
    yield from _footings(section)
    yield from _controllers(section)


def _ranking_lines(rows: list[Ranked]) -> Iterator[str]:
    if not rows:
        return
    measured = [f"{label} ({unit})" for label, unit in headings()]
    heads = ("Algorithm", "Knows", "Lanes", *measured, f"Compared with {_escape(leader_of(rows))}")
    cells = (
        (
            *(_escape(row.name), row.knows, row.lanes, _with(row.value, row.interval), row.mean, row.worst),
            *(_with(row.played, row.played_interval), row.sent, row.word),
        )
        for row in rows
    )
    yield from table_lines(f"llr{'r' * len(measured)}l", heads, *cells)


def _contacts(section: Section) -> Iterator[str]:
    table = contact_table(section)
    if not table.rows:
        return
    yield f"Megabytes that each contact delivered in time / at full quality (seed {table.seed}):"
    yield ""
    heads = (f"Contact ({table.clock})", "Capacity", *map(_escape, table.names))
    yield from table_lines("l", heads, *((row.when, row.capacity, *row.cells) for row in table.rows))


def _footings(section: Section) -> Iterator[str]:
    """What each algorithm knows and was given, in words."""
    footings = footings_of(section)
    if not footings:
        return
    yield "; ".join(f"{word}: {meaning}" for word, meaning in legend(footings.values())) + "."
    yield ""
    headings = ("Algorithm", "Knows", "Ordering domains", "Windows", "Sends twice", "Scale", "Own settings")
    rows = [(*headings, "What the scale changes")]
    for name, one in footings.items():
        domains = "one a layer" if one.ordering_domains is None else grouped(one.ordering_domains)
        given = (one.twice, f"{one.scale:g}", one.settings, "; ".join(one.distorts))
        rows.append((name, one.known, domains, grouped(one.windows), *given))
    yield from table_lines("llrrlrll", *([_escape(cell) or UNKNOWN for cell in row] for row in rows))


def _controllers(section: Section) -> Iterator[str]:
    controllers = controllers_of(section)
    if not controllers:
        return
    heads = ("Controller", "Algorithm", "Trained on", "Training seed", "On this scenario")
    rows = (
        (*map(_escape, (one.name, one.algorithm, one.training, one.seed)), one.seen_word)
        for one in controllers
    )
    yield from table_lines("lllrl", heads, *rows)


def _pooled(pooled: Pooled) -> Iterator[str]:
    yield "# All scenarios together"
    yield ""
    yield _escape(pooled_verdict(pooled))
    yield ""
    yield from _ranking_lines(pooled_ranking(pooled))
    yield (
        f"Shares over the trials of {len(pooled.sections)} scenarios; 95 % intervals from resampling within each "
        "scenario, where each has two seeds or more."
    )
    yield ""
    heads = ("Algorithm", *(f"{metric.label} (%)" for metric in pooled.metrics))
    rows = ((_escape(name), *(_with(*cell) for cell in cells)) for name, cells in pooled_table(pooled))
    yield from table_lines("l", heads, *rows)
    yield from _differences(pooled.reference, [(metric, pooled.paired(metric)) for metric in pooled.metrics])
    yield from _profiles(pooled_profiles(pooled))


def _frontier(frontier: Frontier) -> Iterator[str]:
    yield f"# Quality over playout delay: {_escape(frontier.name)}"
    yield ""
    yield _escape(frontier.finding)
    yield ""
    yield "Weighted layers (%) over the playout delay, in round trips of the longest link:"
    yield ""
    heads = ("Round trips", BOUND_NAME, *map(_escape, frontier.names))
    rows = table(frontier, frontier.names)
    yield from table_lines("", heads, *((row.delay, *(_with(*cell) for cell in row.cells)) for row in rows))


def _differences(reference: str, columns: list[tuple[Metric, dict[str, Paired]]]) -> Iterator[str]:
    rows = paired_table(columns)
    if not rows:
        return
    yield f"Minus {_escape(reference)} at the same seeds (mean, its 95 % interval, seeds won):"
    yield ""
    heads = ("Algorithm", *(metric.label for metric, _ in columns))
    cells = (
        (_escape(row.algorithm), *(_with(mean, span and f"{span}; {text}") for mean, span, text in row.cells))
        for row in rows
    )
    yield from table_lines("l", heads, *cells)


def _profiles(panels: list[tuple[Metric, dict[str, Profile]]]) -> Iterator[str]:
    for metric, profiles in panels:
        yield f"Share of trials (%) with {metric.label.lower()} of τ or more:"
        yield ""
        heads = ("Algorithm", *(f"τ = {tau * 100:g} %" for tau in PROFILE_SHARES))
        rows = (
            (_escape(name), *(f"{one.at(tau) * 100:.0f}" for tau in PROFILE_SHARES))
            for name, one in profiles.items()
        )
        yield from table_lines("l", heads, *rows)


def _with(value: str, interval: str) -> str:
    return f"{value} ({interval})" if interval else value


def _cell(cell: Cell) -> str:
    value = {"best": f"**{cell.value}**", "close": f"≈ {cell.value}"}.get(cell.mark, cell.value)
    return _with(value, ", ".join(part for part in (cell.interval, cell.note) if part))


def _escape(text: str) -> str:
    """A user's text as one line of Markdown that cannot open a tag, a table cell or emphasis."""
    flat = html.escape(" ".join(text.split()), quote=False)
    for character in "\\`*_[]|#":
        flat = flat.replace(character, f"\\{character}")
    return flat


def _code(text: str) -> str:
    return " ".join(text.split()).replace("`", "'")
