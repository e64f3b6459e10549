"""What ``dstcc reproduce`` leaves in its folder.

::

    reproduction.json  which paper, from what; the folder's mark
    rows.json, .csv    a row per published number; rows.md: the same as a table for people
    figures/*.svg      each figure, published and measured; *.csv what is drawn, *.md its table
    index.html         all of it on one page that needs no network
    cells/             finished cells, so that an interrupted run goes on
"""

from __future__ import annotations

import json
import re
from math import isfinite
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from dstcc.atomic import atomic_write, is_sibling
from dstcc.errors import InputError
from dstcc.reading import read_json
from dstcc.report.printed import table_lines
from dstcc.report.template import fill
from dstcc.spreadsheet import to_csv
from dstcc.stats import Estimate, few_seeds
from dstcc.version import __version__

from .carry import Results
from .cells import engine_digest
from .figures import draw, standalone
from .maps import Map
from .model import Figure, Paper
from .rows import COLUMNS, PublishedRow, mean_of, metrics_of
from .verdict import REPRODUCED

MARK, CELLS, FIGURES = "reproduction.json", "cells", "figures"
SCHEMA = 1
TEMPLATE = Path(__file__).parent / "page.html"
BELOW = 1
"""Its headings stand so many levels lower on the page, where one of the second level is above them."""
SCROLLED = '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'


def open_folder(folder: Path, paper: Paper) -> None:
    """Make a reproduction's folder, or see to it that one that is there is this paper's; raises :class:`InputError`."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is no folder, and is not replaced")
    if folder.is_dir() and any(not is_sibling(one, folder / MARK) for one in folder.iterdir()):
        there = _paper_of(folder)
        if there != paper.about.name:
            what = f"a reproduction of {there}" if there else "not empty, and no reproduction of a paper"
            raise InputError(f"{folder}: is {what}; name another folder for {paper.about.name}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"{folder}: cannot be made") from None
    except NotADirectoryError:
        raise InputError(f"{folder}: cannot be made, what should hold it is no folder") from None
    mark = {
        "schema": SCHEMA,
        "paper": paper.about.name,
        "dstcc_version": __version__,
        "engine": engine_digest(),
    }
    atomic_write(folder / MARK, json.dumps(mark, indent=2) + "\n")


def _paper_of(folder: Path) -> str | None:
    try:
        mark = read_json(folder / MARK, InputError)
        return str(mark["paper"]) if mark["schema"] == SCHEMA else None
    except (OSError, InputError, KeyError, TypeError):
        return None


def document(paper: Paper, rows: list[PublishedRow]) -> dict[str, Any]:
    """As ``dstcc reproduce --json`` prints it."""
    return {"paper": paper.about.name, "rows": [_finite(row.document()) for row in rows]}


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity."""
    return {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in row.items()}


def write(
    folder: Path,
    paper: Paper,
    results: list[Results],
    rows: list[PublishedRow],
    maps: list[Map],
    *,
    quick: bool,
) -> None:
    """Write all but the cells; the same results give the same bytes."""
    (folder / FIGURES).mkdir(exist_ok=True)
    plots = {}
    results = [one for one in results if one.setting is None]
    own_rows = [row for row in rows if not row.setting]
    for one in results:
        own = [row for row in own_rows if row.figure == one.figure.id]
        if one.figure.kind == "links":
            continue
        svg = draw(one, own, paper.about.name)
        plots[one.figure.id] = svg
        name = file_name(one.figure)
        atomic_write(folder / FIGURES / f"{name}.svg", standalone(svg))
        atomic_write(folder / FIGURES / f"{name}.csv", _drawn(one, paper))
        if one.figure.plot.kind in ("lines", "dots", "bars"):
            atomic_write(folder / FIGURES / f"{name}.md", table(one))
    atomic_write(
        folder / "rows.json",
        json.dumps(document(paper, rows), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
    )
    atomic_write(folder / "rows.md", markdown(rows))
    atomic_write(folder / "rows.csv", to_csv([COLUMNS, *(_plain(row) for row in rows)]))
    atomic_write(folder / "index.html", _page(paper, results, own_rows, maps, plots=plots, quick=quick))


def markdown(rows: list[PublishedRow]) -> str:
    """The rows as a table."""
    columns = ("figure", "quantity", "published", "measured", "95 %", "verdict")
    mapped = any(row.setting for row in rows)
    table = [("setting", *columns) if mapped else columns]
    for row in rows:
        unit = f" {row.unit}" if row.unit else ""
        published = f"*{row.claim}*" if row.published is None else f"{said(row.published)}{unit}"
        cells = (
            *((row.setting,) if mapped else ()),
            row.figure,
            row.quantity,
            published,
            said(row.measured) + (unit if row.measured is not None else ""),
            interval(row),
            row.verdict,
        )
        table.append(cells)
    return "\n".join(table_lines("l" * len(table[0]), *table))


def table(results: Results) -> str:
    """What a figure draws, an algorithm a row and a point a column: mean and interval, in the figure's unit."""
    plot = results.figure.plot
    columns = [f"{point.x:,g}" if isinstance(point.x, float) else str(point.x) for point in results.points]
    rows = [["algorithm", *columns]]
    for name in results.names:
        cells = [name]
        for point in results.points:
            mean = mean_of(plot.y, name, point.x, results)
            cells.append("–" if mean is None else _measured(mean, plot.times))
        rows.append(cells)
    return "\n".join(table_lines("l" * len(rows[0]), *rows))


def _measured(mean: Estimate, times: float) -> str:
    value, low, high = (
        "–" if one is None else f"{one * times:,.1f}" for one in (mean.value, mean.low, mean.high)
    )
    return f"{value} ({low} to {high})" if mean.low is not None else value


def file_name(figure: Figure) -> str:
    """A figure's files, without the ending."""
    return re.sub(r"[^A-Za-z0-9]+", "-", f"figure-{figure.id}")


def _plain(row: PublishedRow) -> list[Any]:
    values = row.document()
    published = values["published"]
    if isinstance(published, tuple):
        values["published"] = f"{published[0]:g} to {published[1]:g}"
    return [values[name] for name in COLUMNS]


def _drawn(results: Results, paper: Paper) -> str:
    figure = results.figure
    lines: list[Any] = [("algorithm", "x", "metric", "mean", "low", "high", "seeds")]
    metrics = metrics_of(figure, paper)
    if figure.plot.kind == "stack":
        first = results.at(results.names[0], results.points[0].x)[0].values
        metrics = (*(name for name in first if name.startswith("layers_played.")), *metrics)
    for name in results.names:
        for point in results.points:
            for metric in metrics:
                one = mean_of(metric, name, point.x, results)
                if one is not None:
                    lines.append((name, point.x, metric, one.value, one.low, one.high, one.n))
    return to_csv(lines)


def said(value: float | tuple[float, float] | None) -> str:
    """A number for people: three figures, or a range."""
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return f"{said(value[0])} to {said(value[1])}"
    if not isfinite(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 100 else f"{value:.3g}"


def interval(row: PublishedRow) -> str:
    """The interval, or a dash."""
    return "–" if row.low is None or row.high is None else f"{said(row.low)} to {said(row.high)}"


def _page(
    paper: Paper,
    results: list[Results],
    rows: list[PublishedRow],
    maps: list[Map],
    *,
    plots: dict[str, str],
    quick: bool,
) -> str:
    sections = [
        (
            one.figure,
            [row for row in rows if row.figure == one.figure.id],
            plots.get(one.figure.id),
            file_name(one.figure),
        )
        for one in results
    ]
    seeds = {one.figure.id: one.figure.count(quick) for one in results}
    return fill(
        TEMPLATE,
        paper=paper,
        sections=sections,
        rows=rows,
        maps=maps,
        seeds=seeds,
        few_seeds=few_seeds,
        quick=quick,
        said=said,
        interval=interval,
        held=sum(row.verdict.startswith(REPRODUCED) for row in rows),
        engine=engine_digest()[:12],
        readme=prose(paper.readme),
    )


def prose(readme: str) -> str:
    """A README as a part of the page: the text below its title as HTML. What is HTML in it is shown as text; links of
    paths, which do not lead anywhere from the page, are their text."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    text = re.sub(r"\A# .*\n", "", readme)
    text = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
    html = reader.render(text)
    html = html.replace("<table>", SCROLLED).replace("</table>", "</table></div>")
    return re.sub(r"<(/?)h([1-5])>", lambda tag: f"<{tag[1]}h{int(tag[2]) + BELOW}>", html)
