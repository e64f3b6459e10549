"""Two pages to hand over, as PDF or as a picture: a sentence, a table, a figure, pictures.

A browser lays them out (:mod:`dstcc.report.browser`), the same that people read the full report with.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from dstcc.stats import few_seeds

from .browser import Paper
from .figures import style
from .figures.looks import looks as looks_of
from .frontier import titles
from .model import Report, Section, plain_name
from .page import PooledView, SectionView
from .pictures import Screening, Screenings, Thumb
from .pooled import pool
from .template import TEMPLATES, fill

ROWS = 7
"""Most algorithms of a table."""
FILMS, STILLS = 3, 4
"""Most algorithms with pictures, and pictures of each."""


Strip = list[tuple[str, tuple[Thumb, ...]]]


def render_sheet(report: Report, screenings: Screenings | None, paper: Paper) -> str:
    """The two pages as HTML; the same runs give the same bytes."""
    looks = looks_of(report.algorithms)
    named = titles(report)
    pooled = pool(report)
    single = len(report.sections) == 1
    screening = screenings.by_section[0] if single and screenings is not None else ""
    view = SectionView(report.sections[0], named[0], 1, looks, screening)
    table = PooledView(pooled, looks) if pooled else view
    sentence = view.decision.sentence if single and view.decision else table.verdict
    ranked = [row.name for row, _ in table.ranking.rows]
    shown = _shown(ranked, sentence)
    moments, strip = _strip(view.screening, shown)
    seeds = sorted({seed for section in report.sections for seed in section.seeds})
    return fill(
        TEMPLATES / "sheet.html",
        paper=paper,
        title=view.name if single else f"{len(named)} scenarios compared",
        sentence=sentence,
        caution=caution(report.sections),
        table=table.ranking,
        left_out=len(ranked) - len(shown),
        figure=view.layers(shown, on_paper=True) if single and view.algorithms else None,
        view=view if single else None,
        names=shown,
        moments=moments,
        strip=strip,
        scenarios=named,
        seeds=", ".join(map(str, seeds)) if len(seeds) <= ROWS else f"{seeds[0]} to {seeds[-1]}",
        places=" ".join(shlex.quote(str(run.path)) for section in report.sections for run in section.runs),
        swatch=lambda name: style.swatch(looks[name]),
    )


def caution(sections: Sequence[Section]) -> str:
    """What few seeds mean; empty for enough of them."""
    return few_seeds(min(len(section.seeds) for section in sections))


def _shown(ranked: Sequence[str], sentence: str) -> list[str]:
    """The algorithms of the tables: those that the sentence names, and the best of the others."""
    named = [name for name in ranked if plain_name(name) in sentence][:ROWS]
    room = ROWS - len(named)
    best = [name for name in ranked if name not in named][:room]
    return [name for name in ranked if name in {*named, *best}]


def _strip(screening: Screening | None, names: Sequence[str]) -> tuple[list[str], Strip]:
    """The moments at which pictures differ most; of algorithms that look alike the best one, and always the last."""
    if screening is None:
        return [], []
    films = {name: thumbs for name, thumbs in screening.strip if name in names}
    looks: dict[tuple[str, ...], str] = {}
    for name in filter(films.__contains__, names):
        looks.setdefault(tuple(thumb.state for thumb in films[name]), name)
    different = list(looks.values())
    chosen = different if len(different) <= FILMS else [*different[: FILMS - 1], different[-1]]
    differing = sorted(
        range(len(screening.moments)), key=lambda k: (-len({films[one][k].state for one in chosen}), k)
    )
    kept = sorted(differing[:STILLS])
    return (
        [screening.moments[k] for k in kept],
        [(plain_name(one), tuple(films[one][k] for k in kept)) for one in chosen],
    )
