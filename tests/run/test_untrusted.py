"""Runs that somebody damaged, or made up: a clear error that names the file, and nothing else."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import dstcc
from dstcc.errors import DstccError, RunError
from dstcc.export import export_run
from dstcc.reading import MOST_BYTES, opened, read_bytes, read_json, read_toml
from dstcc.report import load_report, render
from dstcc.run import load_run
from tests.apart import dstcc as apart
from tests.quick import QUICK

DAMAGED = Path(__file__).parents[1] / "fuzz/corpus/run/f0e0b881bd9181a0"
"""Chunks whose first column chunk is of a type that there is none of; a byte says before that they are chunks."""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    (folder / "s.toml").write_text(QUICK + "outages = [[1, 2]]\n")
    return dstcc.emulate(folder / "s.toml", folder / "run", congestion=["cubic", "bbr"], seeds=2).path


@pytest.fixture
def run(good: Path, tmp_path: Path) -> Path:
    shutil.copytree(good, tmp_path / "run", ignore=shutil.ignore_patterns("SHA256SUMS"))
    return tmp_path / "run"


def use(path: Path) -> None:
    """All that reads a run's record and tables."""
    report = load_report((path,))
    for form in ("html", "csv", "json"):
        render(report, form)
    loaded = load_run(path)
    for row in loaded.trials:
        loaded.levels(str(row["id"]))
    export_run(loaded, path.with_name("iperf3"), "iperf3", force=True)
    export_run(loaded, path.with_name("csv"), "csv", force=True)


def record(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads((path / "run.json").read_text())
    change(document)
    (path / "run.json").write_text(json.dumps(document))


def table(path: Path, name: str, column: str, values: Callable[[int, pa.DataType], pa.Array]) -> None:
    file = path / f"{name}.parquet"
    rows = pq.read_table(file)
    place = rows.column_names.index(column)
    new = values(rows.num_rows, rows.schema.field(place).type)
    pq.write_table(rows.set_column(place, column, new), file)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(seeds=5), r"run\.json: seeds: must be a list"),
        (lambda d: d.update(scale=float("inf")), r"run\.json: scale: is beyond all numbers of a run"),
        (lambda d: d.update(wall_s=10**400), r"run\.json: wall_s: is beyond all numbers of a run"),
        (lambda d: d.update(scale=float("nan")), r"run\.json: scale: must be a number"),
        (lambda d: d["algorithms"][0].pop("knows"), r"algorithms\.0\.knows: is missing"),
        (
            lambda d: d["algorithms"][1].update(windows=None),
            r"algorithms\.1\.windows: must be a whole number",
        ),
        (lambda d: d["algorithms"][0].update(scale="[/red]"), r"algorithms\.0\.scale: must be a number"),
        (lambda d: d.update(algorithms=[5]), r"algorithms\.0: must be a table"),
        (
            lambda d: d.update(controllers=[{"trained_on": [{"sha256": "x"}]}]),
            r"trained_on\.0\.scenario: is missing",
        ),
        (lambda d: d.update(schema=10**400), r"run\.json: schema 1000"),
    ],
)
def test_a_record_of_other_types(run: Path, change: Any, said: str) -> None:
    record(run, change)
    with pytest.raises(RunError, match=said):
        use(run)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"schema": ' + "9" * 6_000 + "}", "not JSON"),
        ('{"schema"', "not JSON"),
        ("[1]", "schema None"),
        ("\xff", "not UTF-8"),
    ],
)
def test_a_record_that_is_no_record(run: Path, text: str, said: str) -> None:
    (run / "run.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(RunError, match=said):
        use(run)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "mss_bytes = 1460",
            'mss_bytes = "x"',
            r"scenario\.toml: transport\.mss_bytes: must be a whole number",
        ),
        ("[playout]", "[[playout]]", r"playout: must be a table"),
        ("[run]", "[[", r"scenario\.toml: not TOML"),
    ],
)
def test_a_scenario_of_other_types(run: Path, before: str, after: str, said: str) -> None:
    file = run / "scenario.toml"
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after))
    with pytest.raises(RunError, match=said):
        use(run)


@pytest.mark.parametrize(
    ("name", "column", "values", "said"),
    [
        ("trials", "seed", lambda n, _: pa.array([[1]] * n), r"column seed is list<.*>, must be int64"),
        ("trials", "status", pa.nulls, "column status has no value in 4 rows"),
        ("trials", "end_s", lambda n, _: pa.array([1e300] * n), "column end_s has 1e.300, which no run has"),
        (
            "trials",
            "links",
            lambda n, _: pa.array(['[{"rate_bps": "x"}]'] * n),
            r"links\.0\.rate_bps: must be a",
        ),
        ("trials", "contacts", lambda n, _: pa.array(['[{"a": 1}]'] * n), r"contacts\.0\.from_s: is missing"),
        ("trials", "links", lambda n, _: pa.array(["[" * 100_000] * n), "row cannot be used"),
        (
            "chunks",
            "played_level",
            lambda n, _: pa.array(["x"] * n),
            "column played_level is string, must be int8",
        ),
        (
            "chunks",
            "layer",
            lambda n, kind: pa.array([-3] * n, kind),
            "column layer has -3, which no run has",
        ),
        ("chunks", "capture_s", lambda n, _: pa.array([float("nan")] * n), "not finite, which no run has"),
        ("chunks", "trial", lambda n, _: pa.array(["other"] * n), "has no rows of trial"),
        ("samples", "rate_bps", lambda n, _: pa.array([-1.0] * n), "column rate_bps has -1.0"),
        ("samples", "t_s", lambda n, _: pa.array([b"\xff"] * n), "column t_s is binary, must be double"),
        ("links", "t_s", lambda n, _: pa.array([[1.0]] * n), "column t_s is list"),
    ],
)
def test_a_table_of_other_types(run: Path, name: str, column: str, values: Any, said: str) -> None:
    table(run, name, column, values)
    with pytest.raises(RunError, match=rf"{name}\.parquet: .*{said}"):
        use(run)


@pytest.mark.parametrize(("name", "column"), [("trials", b"status"), ("chunks", b"layer")])
def test_a_column_whose_name_is_no_text(run: Path, name: str, column: bytes) -> None:
    path = run / f"{name}.parquet"
    path.write_bytes(path.read_bytes().replace(column, b"\xff" * len(column)))
    with pytest.raises(RunError, match=rf"{name}\.parquet: not a Parquet file"):
        use(run)


@pytest.mark.parametrize(("name", "column"), [("trials", "congestion"), ("trials", "id")])
def test_text_that_is_not_unicode(run: Path, name: str, column: str) -> None:
    """Parquet's reader takes any bytes for text; found by `make fuzz ONLY=run`."""

    def values(count: int, _: pa.DataType) -> pa.Array:
        ends = np.arange(count + 1, dtype=np.int32) * 2
        return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(b"\xe2(" * count))

    table(run, name, column, values)
    with pytest.raises(RunError, match=rf"{name}\.parquet: damaged \(.*UTF8"):
        use(run)


@pytest.mark.usefixtures("undrawn")
def test_a_type_that_loses_nothing_is_read(run: Path) -> None:
    """Another writer's 64 bits for our 8."""
    before = load_run(run).levels("cubic+minrtt/s1")
    levels = load_run(run).chunks()["played_level"].to_pylist()
    table(run, "chunks", "played_level", lambda _, __: pa.array(levels, pa.int64()))
    use(run)
    assert load_run(run).levels("cubic+minrtt/s1") == before


@pytest.mark.usefixtures("undrawn")
def test_devices_and_folders_are_no_files(run: Path, tmp_path: Path) -> None:
    for name in ("run.json", "scenario.toml", "chunks.parquet"):
        kept = (run / name).read_bytes()
        for put in (os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir):
            (run / name).unlink()
            put(run / name)
            with pytest.raises(
                RunError, match=rf"{name}: (cannot be read: )?is (not a regular file|a folder)"
            ):
                use(run)
            (run / name).rmdir() if put is Path.mkdir else (run / name).unlink()
            (run / name).write_bytes(kept)
    use(run)


def test_a_damaged_column_chunk_holds_nothing_up(run: Path) -> None:
    """What a filter of Arrow's datasets waits for without end: in a process of its own, which may take a minute."""
    (run / "chunks.parquet").write_bytes(DAMAGED.read_bytes()[1:])
    done = apart("report", run, "-o", run.with_name("report.html"), timeout_s=60)
    assert done.returncode == 2
    assert f"{run / 'chunks.parquet'}: damaged" in done.stderr


def test_a_trials_rows_are_found_wherever_they_are(run: Path) -> None:
    """In two row groups, between those of another."""
    good = load_run(run)
    rows = good.chunks()
    ids = rows["trial"].unique().to_pylist()
    mine = rows.filter(pc.equal(rows["trial"], ids[0]))
    others = rows.filter(pc.not_equal(rows["trial"], ids[0]))
    before = good.rows("chunks", ids[0], ("layer", "chunk"))
    with pq.ParquetWriter(run / "chunks.parquet", rows.schema) as file:
        for part in (others.slice(0, 3), mine.slice(0, 4), others.slice(3), mine.slice(4)):
            file.write_table(part)
    assert load_run(run).rows("chunks", ids[0], ("layer", "chunk")).equals(before)
    assert before.column_names == ["layer", "chunk"]
    assert before["chunk"].to_pylist() == mine["chunk"].to_pylist()


def test_a_column_that_is_there_twice_is_damage(run: Path) -> None:
    rows = pq.read_table(run / "chunks.parquet")
    pq.write_table(rows.append_column("layer", rows["layer"]), run / "chunks.parquet")
    with pytest.raises(RunError, match=r"chunks\.parquet: .*has the column layer twice"):
        use(run)


def test_a_file_that_grew_is_not_read_whole(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(RunError, match=r"large\.json: has more than 64 MiB"):
        read_json(large, RunError)
    with pytest.raises(RunError, match="has more than 64 MiB"):
        read_toml(large, RunError)
    assert len(read_bytes(large, RunError, MOST_BYTES + 1)) == MOST_BYTES + 1
    with pytest.raises(RunError, match="no file has a NUL"):
        read_bytes(Path("a\0b"), RunError)


VALUES: tuple[Any, ...] = (
    None,
    5,
    -1,
    1e308,
    "x",
    "[/red]",
    "\x1b[2J",
    [],
    {},
    [None],
    [[]],
    {"a": 1},
    True,
    "\0",
    10**30,
    [1, "a"],
)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    for key, below in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(below, (*at, key))


@pytest.mark.parametrize("seed", range(4))
def test_whatever_stands_in_a_record_is_shown_or_refused(run: Path, seed: int) -> None:
    """Each of forty records has a value of another kind somewhere, or lacks a key."""
    chance, good = random.Random(seed), (run / "run.json").read_text()
    refused = 0
    for _ in range(10):
        document = json.loads(good)
        *above, last = chance.choice(list(places(document)))
        inside = document
        for key in above:
            inside = inside[key]
        if chance.random() < 0.3 and isinstance(inside, dict):
            del inside[last]
        else:
            inside[last] = chance.choice(VALUES)
        (run / "run.json").write_text(json.dumps(document))
        try:
            render(load_report((run,)), "csv")
            render(load_report((run,)), "json")
            if not refused:
                render(load_report((run,)), "html")
        except DstccError:
            refused += 1
    assert refused, "hardly any value may stand anywhere"


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"whole")
    with opened(path, RunError) as (file, size):
        assert (file.read(size), size) == (b"whole", 5)
    with (
        pytest.raises(RunError, match=r"log: grew while it was read"),
        opened(path, RunError) as (file, size),
    ):
        file.read(size)
        path.write_bytes(b"whole, and more")
