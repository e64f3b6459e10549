"""``experiments/paper_times.py``: which cells are timed, and how they are counted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from dstcc.papers.carry import plan_figure
from dstcc.papers.cells import Store, key_of
from dstcc.papers.model import read_paper
from dstcc.papers.reproduce import reproduce
from experiments import paper_times
from tests.papers import made


def test_one_cell_an_algorithm_and_point_counts_for_all_seeds(tmp_path: Path) -> None:
    """Figure 1 has two algorithms at two points and four seeds; the two seeds of figure 2 are among them."""
    made.write_paper(tmp_path / "paper")
    paper = read_paper(tmp_path / "paper")
    ticks = count()  # each run takes one second of this clock
    first, second = paper_times.times(paper, paper.figure, tmp_path / "out", lambda: float(next(ticks)))
    assert (first.timed, first.cells, first.all_s) == (4, 16, 16.0)
    assert (second.timed, second.cells, second.all_s) == (0, 0, 0.0)
    assert len(list((tmp_path / "out/cells").rglob("*.json"))) == 4


def test_a_cell_that_was_timed_is_a_reproductions(tmp_path: Path) -> None:
    made.write_paper(tmp_path / "paper")
    paper = read_paper(tmp_path / "paper")
    list(paper_times.times(paper, paper.figure[:1], tmp_path / "out"))
    planned = plan_figure(paper.figure[0], paper.folder, quick=False)
    store = Store(tmp_path / "out/cells")
    kept = [place for place, cell in planned.cells.items() if store.find(key_of(cell))]
    assert {seed for _name, _x, seed in kept} == {min(seed for _, _, seed in planned.cells)}
    assert len(kept) == 4
    begun: list[tuple[int, int]] = []

    def begin(every: int, finished: int) -> Callable[[], None]:
        begun.append((every, finished))
        return lambda: None

    reproduce(paper, tmp_path / "out", figures=("1",), jobs=1, begin=begin)
    assert begun == [(16, 4)]


def test_an_unknown_paper_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert paper_times.main(["nothing"]) == 2
    assert "nothing" in capsys.readouterr().err
