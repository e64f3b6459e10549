"""The papers that are shipped: well formed, each number with its place, each cell there, figures run.

Those of two papers are run in `make test`, of all in `make test-slow`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dstcc.papers.carry import plan
from dstcc.papers.cells import key_of
from dstcc.papers.model import Figure, load_paper
from dstcc.papers.places import papers_here
from dstcc.papers.reproduce import Reproduced, reproduce
from dstcc.papers.write import file_name

TINY = {
    "iodst": ("table 1",),
    "mpquic-rl": ("12", "13", "14"),
    "pbq": ("10b",),
    "po-mptcp": ("7",),
    "qaware": ("8",),
}
"""Figures of each paper that a seed and a point are enough for."""


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
            for planned in plan(figure, paper, quick):
                assert planned.cells
                first = {(who, x): cell for (who, x, _), cell in reversed(planned.cells.items())}
                keys = [key_of(cell) for cell in first.values()]
                assert len(set(keys)) == len(keys) or planned.setting, figure.id


def cut(figure: Figure) -> Figure:
    """The figure under ``--quick`` with one seed and one point, a video of seconds where a client asks for it, and a
    half of a training."""
    first = next(one for one in figure.point if one.quick)
    changed: dict[str, Any] = {"quick_seeds": 1, "point": (first,)}
    if figure.kind == "dash":
        changed["quick_set"] = ("video.loop_to_s=12",)
    if figure.kind == "training":
        changed["quick_steps"] = figure.quick_steps // 2
    return figure.model_copy(update=changed)


def check_page(made: Reproduced, figures: tuple[Figure, ...]) -> None:
    """Each figure is there, in the page and by itself, and has a row for each of its numbers."""
    page = (made.folder / "index.html").read_text()
    for figure in figures:
        if figure.kind != "links":  # a table has no picture
            picture = made.folder / "figures" / f"{file_name(figure)}.svg"
            assert picture.read_text().startswith("<?xml"), figure.id
        assert figure.heading in page
    compared = {number.figure for number in made.paper.number} & {figure.id for figure in figures}
    assert {row.figure for row in made.rows} == compared


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("pbq", "po-mptcp") else pytest.mark.slow)
        for name in papers_here()
    ],
)
def test_every_figure_runs_quickly_to_the_page(name: str, tmp_path: Path) -> None:
    paper = load_paper(name)
    short = paper.model_copy(update={"figure": tuple(cut(one) for one in paper.figure)})
    made = reproduce(short, tmp_path, quick=True, jobs=1)
    check_page(made, short.chosen(()))
    measured = [row for row in made.rows if row.figure in TINY[name]]
    assert all(row.measured is not None and row.verdict != "not measured" for row in measured)


@pytest.mark.slow
@pytest.mark.parametrize("name", papers_here())
def test_quick_runs_to_the_page(name: str, tmp_path: Path) -> None:
    paper = load_paper(name)
    check_page(reproduce(paper, tmp_path, quick=True), paper.chosen(()))


def test_the_full_run_has_ten_seeds_where_the_simulator_is_fast() -> None:
    for name in papers_here():
        for figure in load_paper(name).figure:
            assert figure.seeds >= 10 or figure.kind in ("training", "dash") or figure.extra, figure.id
