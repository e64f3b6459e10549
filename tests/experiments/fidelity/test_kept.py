"""Runs of the kernel on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.errors import InputError
from experiments.fidelity.cells import grid
from experiments.fidelity.kept import read_runs, write_runs
from experiments.fidelity.measure import Seen


def test_every_cell_of_the_grid_comes_back_as_it_was_written(tmp_path: Path) -> None:
    runs = {cell: {1: Seen(1e6, 0.5, 0.25), 3: Seen(2e6, 0.5, 0.0, 0.75)} for cell in grid()}
    write_runs(tmp_path / "kernel.csv", runs, ["where from", "how"])
    assert read_runs(tmp_path / "kernel.csv") == runs
    assert (tmp_path / "kernel.csv").read_text().startswith("# where from\n# how\n")


def test_a_file_from_before_queues_had_shares_is_of_full_ones(tmp_path: Path) -> None:
    cell = next(grid())._replace(longer_us=0.0)
    write_runs(tmp_path / "kernel.csv", {cell: {1: Seen(1e6, 0.5, 0.25)}}, ["made by hand"])
    *_, last = names = (tmp_path / "kernel.csv").read_text().splitlines()[1].split(",")
    at, seed = names.index("queue_share"), names.index("seed")
    lines = (tmp_path / "kernel.csv").read_text().splitlines()
    older = [",".join(words[:at] + words[seed:]) for words in (line.split(",") for line in lines[1:])]
    (tmp_path / "kernel.csv").write_text("\n".join(older) + "\n")
    assert last != "queue_share" and cell.queue_share == 1
    assert read_runs(tmp_path / "kernel.csv") == {cell: {1: Seen(1e6, 0.5, 0.25)}}


def test_no_file_is_no_runs_and_a_broken_line_is_named(tmp_path: Path) -> None:
    assert read_runs(tmp_path / "none.csv") == {}
    cell = next(grid())
    write_runs(tmp_path / "kernel.csv", {cell: {1: Seen(1e6, 0.5, 0.25)}}, [])
    text = (tmp_path / "kernel.csv").read_text().replace(",1000000,", ",much,")
    (tmp_path / "kernel.csv").write_text(text)
    with pytest.raises(InputError, match=r"kernel\.csv.*much.*not a run of the kernel"):
        read_runs(tmp_path / "kernel.csv")
