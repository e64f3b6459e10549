"""A run of which a file rotted or was edited: whoever reads it names the file, and draws nothing of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import dstcc
from dstcc.errors import DstccError, RunError
from dstcc.export import export_run
from dstcc.report import load_report, render
from dstcc.run import load_run
from dstcc.run.replay import replay
from dstcc.sums import NAME
from tests.quick import QUICK

TABLES = ("trials", "chunks", "samples", "links")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    (folder / "s.toml").write_text(QUICK)
    return dstcc.emulate(folder / "s.toml", folder / "run", congestion="cubic", seeds=1).path


@pytest.fixture
def run(good: Path, tmp_path: Path) -> Path:
    shutil.copytree(good, tmp_path / "run")
    return tmp_path / "run"


def use(path: Path) -> None:
    """All that reads a run."""
    render(load_report((path,)), "html")
    loaded = load_run(path)
    loaded.levels(str(loaded.trials[0]["id"]))
    loaded.links()
    replay(loaded, str(loaded.trials[0]["id"]))
    export_run(loaded, path.with_name("csv"), "csv", force=True)


@pytest.mark.usefixtures("undrawn")
def test_a_whole_run_is_read_and_sha256sum_agrees(run: Path) -> None:
    use(run)
    assert (
        subprocess.run(["sha256sum", "--check", "--quiet", "--strict", NAME], cwd=run, check=False).returncode
        == 0
    )


@pytest.mark.parametrize("places", [3, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["run.json", "scenario.toml", *(f"{table}.parquet" for table in TABLES)])
def test_a_flipped_bit_is_named(run: Path, name: str, places: int) -> None:
    whole = (run / name).read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // places)):
        (run / name).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DstccError, match=name.replace(".", r"\.")):
            use(run)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("table", TABLES)
def test_an_edited_table_is_named(run: Path, table: str) -> None:
    """As whole as ours, with its values turned round: what no other check can tell."""
    path = run / f"{table}.parquet"
    rows = pq.read_table(path)
    column = {"trials": "goodput_bps", "chunks": "first_sent_s", "samples": "cwnd_segments", "links": "t_s"}[
        table
    ]
    edited = pc.multiply(rows[column], 1.5).cast(rows[column].type, safe=False)
    pq.write_table(rows.set_column(rows.column_names.index(column), column, edited), path)
    with pytest.raises(RunError, match=f"{table}.parquet: changed since it was written: {NAME} has"):
        use(run)
    (run / NAME).unlink()
    load_report((run,))


def test_an_edited_record_is_named(run: Path) -> None:
    meta = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(meta | {"git_commit": "0" * 40}))
    with pytest.raises(RunError, match=r"run\.json: changed since it was written"):
        load_run(run)
