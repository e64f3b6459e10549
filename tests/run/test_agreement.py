"""Runs whose tables somebody edited or mixed up: an error that names the table and the trial."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dstcc
from dstcc.errors import RunError
from dstcc.export import export_run
from dstcc.report import load_report
from dstcc.run import load_run
from tests.quick import QUICK

FIRST = "cubic+minrtt/s1"
TABLES = {"chunks": "capture_s", "samples": "t_s"}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    (folder / "s.toml").write_text(QUICK + "outages = [[1, 2]]\n")
    return dstcc.emulate(folder / "s.toml", folder / "run", congestion=["cubic", "bbr"], seeds=2).path


@pytest.fixture
def run(good: Path, tmp_path: Path) -> Path:
    shutil.copytree(good, tmp_path / "run", ignore=shutil.ignore_patterns("SHA256SUMS"))
    return tmp_path / "run"


def edit(run: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
    file = run / f"{name}.parquet"
    changed = change(pq.read_table(file))
    pq.write_table(changed, file)


def put(column: str, value: object, row: int = 0) -> Callable[[pa.Table], pa.Table]:
    """A change of one value."""

    def change(rows: pa.Table) -> pa.Table:
        place = rows.column_names.index(column)
        values = rows[column].to_pylist()
        values[row] = value
        return rows.set_column(place, column, pa.array(values, rows.schema.field(place).type))

    return change


def without(row: int) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: pa.concat_tables([rows.slice(0, row), rows.slice(row + 1)])


def again(row: int) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: pa.concat_tables([rows, rows.slice(row, 1)])


def backwards(rows: pa.Table) -> pa.Table:
    return rows.take(np.arange(rows.num_rows)[::-1])


def read(run: Path) -> None:
    loaded = load_run(run)
    load_report((run,))
    for row in loaded.trials:
        for name, column in TABLES.items():
            loaded.rows(name, row["id"], (column,))
    loaded.links()


def test_what_emulate_wrote_agrees(run: Path) -> None:
    read(run)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (again(0), rf"trial '{FIRST}' is there 2 times".replace("+", r"\+")),
        (without(3), "trials: 3, but run.json says 4"),
        (lambda rows: rows.slice(0, 0), "trials: 0, but run.json says 4"),
        (put("id", "x"), r"trial 'x' must be named 'cubic\+minrtt/s1'"),
        (put("scheduler", "rr"), r"must be named 'cubic\+rr/s1'"),
        (put("seed", 2), r"must be named 'cubic\+minrtt/s2'"),
        (lambda rows: put("seed", 7)(put("id", "cubic+minrtt/s7")(rows)), "run.json has no seed 7"),
        (
            lambda rows: put("congestion", "cubix")(put("id", "cubix+minrtt/s1")(rows)),
            r"run.json has no algorithm 'cubix\+minrtt'",
        ),
        (put("weighted_layers", 5.0), "column weighted_layers has 5.0, which no run has"),
        (put("playback_ratio", -0.5), "column playback_ratio has -0.5"),
        (put("layers_played.0", 2.0), "column layers_played.0 has 2.0"),
        (put("goodput_bps", float("inf")), "column goodput_bps has a value that is not finite"),
        (put("bytes_in_time", float("nan")), "column bytes_in_time has a value that is not finite"),
        (put("sent_bytes", -1.0), "column sent_bytes has -1.0"),
        (
            lambda rows: rows.set_column(
                rows.column_names.index("weighted_layers"), "weighted_layers", pa.array(["x"] * rows.num_rows)
            ),
            "column weighted_layers is string, must be double",
        ),
    ],
)
def test_trials_that_are_not_the_runs(run: Path, change: Callable[[pa.Table], pa.Table], said: str) -> None:
    edit(run, "trials", change)
    with pytest.raises(RunError, match=rf"trials\.parquet: .*{said}"):
        read(run)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (again(0), "must have equally many"),
        (without(0), "must have equally many"),
        (put("layer", 1), "has no row, or two, of a chunk's layer"),
        (put("chunk", 77), "has no row, or two, of a chunk's layer"),
        (put("played_level", -1, row=8), "has two played levels of a chunk"),
        (
            lambda rows: put("played_level", -1, row=9)(put("played_level", -1, row=8)(rows)),
            "layers_played.none .* but trials.parquet says",
        ),
    ],
)
def test_chunks_that_are_not_the_trials(run: Path, change: Callable[[pa.Table], pa.Table], said: str) -> None:
    edit(run, "chunks", change)
    with pytest.raises(RunError, match=rf"chunks\.parquet: trial '.*{said}"):
        read(run)


@pytest.mark.parametrize("change", [again(0), backwards, put("t_s", 0.0, row=1)])
def test_samples_that_go_back_in_time(run: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    edit(run, "samples", change)
    with pytest.raises(RunError, match=r"samples\.parquet: trial '.*does not come after the sample before"):
        read(run)


@pytest.mark.parametrize("name", ["samples", "links"])
def test_links_of_another_run(run: Path, name: str) -> None:
    edit(run, name, put("link", "relay"))
    with pytest.raises(RunError, match=rf"{name}\.parquet: run\.json has no link 'relay'"):
        read(run)


@pytest.mark.parametrize("column", ["seed", "link", "t_s", "open"])
def test_links_without_a_value(run: Path, column: str) -> None:
    edit(run, "links", put(column, None))
    with pytest.raises(RunError, match=rf"links\.parquet: column {column} has no value in 1 rows"):
        read(run)


def test_links_that_go_back_in_time(run: Path) -> None:
    edit(run, "links", backwards)
    with pytest.raises(RunError, match=r"links\.parquet: seed ., link a: t_s = .* does not come after"):
        read(run)


@pytest.mark.parametrize(
    ("name", "column"), [("chunks", "capture_s"), ("samples", "t_s"), ("trials", "end_s")]
)
def test_a_time_before_the_mission(run: Path, name: str, column: str) -> None:
    edit(run, name, put(column, -1.0))
    with pytest.raises(RunError, match=rf"{name}\.parquet: column {column} has -1\.0, which no run has"):
        read(run)


def test_the_order_of_trials_and_chunks_is_free(run: Path) -> None:
    def seen() -> tuple[list[int], dict[str, object]]:
        shown = load_report((run,)).sections[0].algorithms
        return load_run(run).levels(FIRST), {one.name: one.estimates for one in shown}

    before = seen()
    edit(run, "trials", backwards)
    edit(run, "chunks", backwards)
    read(run)
    assert seen() == before


def test_an_older_run_that_does_not_count_its_trials_is_read(run: Path) -> None:
    text = (run / "run.json").read_text()
    (run / "run.json").write_text(text.replace('"trials": 4,\n', ""))
    edit(run, "trials", without(3))
    load_run(run)


def test_an_export_names_what_it_cannot_use(run: Path) -> None:
    edit(run, "samples", backwards)
    with pytest.raises(RunError, match="does not come after"):
        export_run(load_run(run), run.with_name("out"), "iperf3")
