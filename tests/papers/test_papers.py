"""The papers that are shipped: well formed, each number with its place, each cell there, one figure run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dstcc.papers.carry import plan_figure
from dstcc.papers.cells import key_of
from dstcc.papers.model import load_paper
from dstcc.papers.places import papers_here
from dstcc.papers.reproduce import reproduce

TINY = {
    "iodst": ("table 1",),
    "mpquic-rl": ("12", "13", "14"),
    "pbq": ("9b",),
    "po-mptcp": ("7",),
    "qaware": ("8",),
}
"""A figure of each paper that takes seconds."""


@pytest.mark.parametrize("name", papers_here())
def test_numbers_have_places_and_figures_have_numbers(name: str) -> None:
    paper = load_paper(name)
    assert paper.about.name == name
    for number in paper.number:
        assert re.search(r"abstract|section|figure|table", number.place, re.IGNORECASE), number.quantity
    compared = {number.figure for number in paper.number}
    assert compared >= {figure.id for figure in paper.figure if not figure.extra}
    for figure in paper.figure:
        assert f"{figure.heading}" in paper.readme or figure.extra, figure.id


@pytest.mark.parametrize("name", papers_here())
def test_every_cell_is_there(name: str) -> None:
    paper = load_paper(name)
    for figure in paper.figure:
        for quick in (True, False):
            planned = plan_figure(figure, paper.folder, quick)
            assert planned.cells
            first = {(who, x): cell for (who, x, _), cell in reversed(planned.cells.items())}
            keys = [key_of(cell) for cell in first.values()]
            assert len(set(keys)) == len(keys), figure.id


@pytest.mark.parametrize("name", papers_here())
def test_a_figure_runs(name: str, tmp_path: Path) -> None:
    paper = load_paper(name)
    short = tuple(
        one.model_copy(update={"quick_set": ("video.loop_to_s=12",)}) if one.kind == "dash" else one
        for one in paper.figure
    )
    made = reproduce(paper.model_copy(update={"figure": short}), tmp_path, figures=TINY[name], quick=True)
    assert {row.figure for row in made.rows} == set(TINY[name])
    assert all(row.measured is not None and row.verdict != "not measured" for row in made.rows)


def test_the_full_run_has_ten_seeds_where_the_simulator_is_fast() -> None:
    for name in papers_here():
        for figure in load_paper(name).figure:
            assert figure.seeds >= 10 or figure.kind in ("training", "dash") or figure.extra, figure.id
