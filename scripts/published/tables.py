"""Tables as text, printed on a page or by a command: their cells, and which of them differ."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

FENCE = "```"
CUT = "..."
"""A line of a fenced table in the place of lines that the page leaves out."""
_GAP = re.compile(r" {2,}")
_RULE = re.compile(r"[\s─]*─[\s─]*")
_MARK = "<!-- {} -->\n"
_END = "<!-- / -->"


@dataclass(frozen=True)
class PublishedTable:
    """Rows by their first cells; a table of Markdown, or lines of a terminal whose cells two blanks part."""

    columns: tuple[str, ...]
    rows: dict[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Difference:
    """A cell, and what stands in it on the page and in what the command prints."""

    cell: str
    printed: str
    computed: str

    def __str__(self) -> str:
        return f"{self.cell}: the page has {self.printed}, the command prints {self.computed}"


def marked(page: str, name: str) -> str:
    """What stands between the marks of a name. Raises ValueError where a page has no such marks, or has them twice."""
    return _split_marks(page, name)[1]


def placed(page: str, name: str, text: str) -> str:
    """The page with ``text`` between the marks of that name. Raises ValueError as :func:`marked` does."""
    before, _, after = _split_marks(page, name)
    return f"{before}{text}\n{after}"


def _split_marks(page: str, name: str) -> tuple[str, str, str]:
    opening = _MARK.format(name)
    before, opened, rest = page.partition(opening)
    inside, closed, after = rest.partition(_END)
    if not (opened and closed) or "<!--" in inside or opening in after:
        raise ValueError(f"has not one pair of marks {opening.strip()} .. {_END}")
    return before + opened, inside, closed + after


def csv_of(markdown: str) -> str:
    """The cells of a table of Markdown, as CSV."""
    head, body = _markdown(markdown.splitlines())
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *body])
    return text.getvalue()


def markdown_of(text: str) -> str:
    """The rows of a CSV file, as a table of Markdown. Raises ValueError for an empty file."""
    rows = list(csv.reader(io.StringIO(text)))
    if not rows:
        raise ValueError("has no rows")
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def table_of(text: str, keys: int | None = None) -> PublishedTable:
    """The cells of a block. The first ``keys`` cells name a row; unless given, as many as tell all rows apart."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(FENCE)]
    markdown = any(line.startswith("|") for line in lines)
    head, body = _markdown(lines) if markdown else _terminal(lines)
    if keys is None:
        widths = range(1, max(map(len, body), default=1) + 1)
        keys = next((n for n in widths if len({row[:n] for row in body}) == len(body)), 1)
    seen: Counter[tuple[str, ...]] = Counter()
    rows = {}
    for row in body:
        key = row[:keys]
        seen[key] += 1
        rows[key if seen[key] == 1 else (*key, f"({seen[key]})")] = row[keys:]
    return PublishedTable(head, rows)


def _markdown(lines: Sequence[str]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rows = [
        tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
        for line in lines
        if line.startswith("|")
    ]
    return rows[0], rows[2:]


def _terminal(lines: Sequence[str]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rule = next((number for number, line in enumerate(lines) if _RULE.fullmatch(line)), 0)
    head = tuple(_GAP.split(lines[rule - 1].strip())) if rule else ()
    body = [line.strip() for line in lines[rule and rule + 1 :]]
    return head, [tuple(_GAP.split(line)) for line in body if line != CUT]


def differences(
    printed: PublishedTable, computed: PublishedTable, *, part: bool = False
) -> Iterator[Difference]:
    """Every cell in which what a page prints is not what its command gives; with ``part`` it gives some of the rows."""
    if printed.columns != computed.columns:
        yield Difference("columns", " | ".join(printed.columns), " | ".join(computed.columns))
        return
    for key, there in printed.rows.items():
        here = computed.rows.get(key)
        if here is not None:
            yield from _of_row(key, printed.columns, there, here)
        elif not part:
            yield Difference(" ".join(key), "a row", "none")
    for key in computed.rows.keys() - printed.rows.keys():
        yield Difference(" ".join(key), "no such row", " | ".join(computed.rows[key]))


def _of_row(
    key: tuple[str, ...], columns: tuple[str, ...], printed: Sequence[str], computed: Sequence[str]
) -> Iterator[Difference]:
    if len(printed) != len(computed):
        yield Difference(" ".join(key), " | ".join(printed), " | ".join(computed))
        return
    for number, (there, here) in enumerate(zip(printed, computed, strict=True), len(key)):
        if there != here:
            column = columns[number] if number < len(columns) else f"value {number}"
            yield Difference(f"{' '.join(key)}, {column}", there, here)


def shortened(text: str, kept: Sequence[str]) -> list[str]:
    """The lines of a terminal that a page shows: its first table alone, or with ``kept`` the table's head, each line of
    the text that begins as one of these, and dots for what is left out between and behind them."""
    lines = [line.rstrip() for line in text.splitlines()]
    rule = next((number for number, line in enumerate(lines) if _RULE.fullmatch(line)), -1)
    if not kept:
        body = takewhile(str.strip, lines[rule + 1 :])
        return [*lines[rule - 1 : rule + 1], *body] if rule > 0 else [line for line in lines if line]
    shown: list[str] = []
    for number, line in enumerate(lines):
        head = rule > 0 and number in (rule - 1, rule)
        if head or line.strip().startswith(tuple(kept)):
            shown += ([""] if shown and not lines[number - 1] and shown[-1].strip() != CUT else []) + [line]
        elif line and shown and shown[-1].strip() != CUT:
            shown.append(f"{line[: len(line) - len(line.lstrip())]}{CUT}")
    return shown
