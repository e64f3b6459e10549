from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dstcc.errors import InputError, RunError
from dstcc.metrics import METRICS
from dstcc.run import Finished, load_run, write_run
from dstcc.run import directory as run_directory
from dstcc.run.tables import CHUNKS, SAMPLES, _coded
from dstcc.scenario import any_delay_hash, load_scenario, load_source, parse_override, parse_scenario

FILES = [
    "SHA256SUMS",
    "chunks.parquet",
    "links.parquet",
    "run.json",
    "samples.parquet",
    "scenario.toml",
    "trials.parquet",
]


def write(path: Path, scenario_file: Path, *overrides: str, force: bool = False) -> Finished:
    scenario = load_scenario(scenario_file, [parse_override(text) for text in overrides])
    return write_run(path, scenario, load_source(scenario), argv=["dstcc", "emulate"], force=force, jobs=2)


@pytest.fixture
def run_path(tmp_path: Path, scenario_file: Path, toy: None) -> Path:
    write(tmp_path / "run", scenario_file)
    return tmp_path / "run"


def test_a_run_has_its_files(run_path: Path) -> None:
    assert sorted(path.name for path in run_path.iterdir()) == FILES


def test_run_json(run_path: Path) -> None:
    meta = json.loads((run_path / "run.json").read_text())
    assert meta["schema"] == 1
    assert meta["argv"] == ["dstcc", "emulate"]
    assert (meta["scenario_name"], meta["backend"], meta["scale"]) == ("toy", "simulator", 1.0)
    assert (meta["seeds"], meta["trials"]) == ([1, 2], 4)
    [note] = meta["warnings"]
    assert note == "link a: up_rate_bps is not given: acknowledgements have the data's rate, 80,000 bit/s"
    assert len(meta["scenario_sha256"]) == 64
    assert meta["video"] == {"name": "synthetic", "manifest_sha256": None}
    assert meta["links"][0].keys() == {
        "name",
        "rate_bps",
        "up_rate_bps",
        "rtt_s",
        "delay_s",
        "loss",
        "outages",
        "outage_s",
    }
    assert {"dstcc_version", "git_commit", "created", "machine", "wall_s"} <= meta.keys()


def test_run_json_has_the_hash_that_any_delay_shares(tmp_path: Path, scenario_file: Path, toy: None) -> None:
    scenario = load_scenario(scenario_file, [parse_override("playout.delay_rtts=3")])
    finished = write(tmp_path / "run", scenario_file, "playout.delay_rtts=3")
    assert any_delay_hash(scenario) is not None
    assert finished.meta["any_delay_sha256"] == any_delay_hash(scenario)


def test_the_scenario_in_the_run_is_the_scenario(run_path: Path, scenario_file: Path) -> None:
    text = (run_path / "scenario.toml").read_text()
    assert text.startswith("# dstcc ")
    assert parse_scenario(tomllib.loads(text), source="run") == load_scenario(scenario_file)


def test_trials_rows(run_path: Path) -> None:
    rows = load_run(run_path).trials
    assert [row["id"] for row in rows] == [
        f"{name}+minrtt/s{seed}" for name in ("cubic", "newreno") for seed in (1, 2)
    ]
    assert rows[0]["controller"] is None
    assert rows[0]["error"] is None
    assert rows[0]["layers_played.1"] == 1.0
    assert rows[2]["layers_played.0"] == 1.0
    assert all(name in rows[0] for name in METRICS)
    links = json.loads(rows[0]["links"])
    assert 2 <= links[0]["delay_s"] <= 4
    assert links == json.loads(rows[2]["links"])
    assert links != json.loads(rows[1]["links"])


def test_chunk_rows(run_path: Path) -> None:
    table = load_run(run_path).chunks()
    assert table.schema.equals(CHUNKS)
    rows = table.to_pylist()
    assert len(rows) == 4 * 3 * 2
    first = rows[0]
    assert (first["trial"], first["chunk"], first["layer"]) == ("cubic+minrtt/s1", 0, 0)
    assert (first["capture_s"], first["release_s"], first["deadline_s"]) == (1.0, 1.0, 11.0)
    assert first["played_level"] == 1
    lost = [row for row in rows if row["trial"] == "newreno+minrtt/s1" and row["layer"] == 1]
    assert [row["complete_s"] for row in lost] == [None] * 3
    assert all(row["given_up"] and row["played_level"] == 0 for row in lost)


def test_sample_rows(run_path: Path) -> None:
    table = load_run(run_path).samples()
    assert table.schema.equals(SAMPLES)
    first, second, third = table.slice(0, 3).to_pylist()
    assert first["link"] == "a"
    assert (first["srtt_s"], second["srtt_s"]) == (None, 2.0)
    # 1, 0 and 2 segments marked lost beside 1000 bytes acknowledged, which are 1000/1460 of a segment
    acknowledged = 1000 / 1460
    assert [row["loss"] for row in (first, second, third)] == pytest.approx(
        [1 / (1 + acknowledged), 0.0, 2 / (2 + acknowledged)]
    )
    # the slot is a quarter of the drawn RTT, 1 to 2 s, and the toy's samples end at 1, 2 and 3 s
    assert all(row["rate_bps"] > 0 for row in (first, second, third))


def test_a_failed_trial_has_a_row_and_no_chunks(tmp_path: Path, scenario_file: Path, toy: None) -> None:
    finished = write(tmp_path / "run", scenario_file, 'transport.congestion=["bbr", "cubic"]', "run.seeds=1")
    assert [trial.status for trial in finished.trials] == ["failed", "ok"]
    run = load_run(tmp_path / "run")
    assert run.trials[0]["status"] == "failed"
    assert "no bbr" in run.trials[0]["error"]
    assert run.trials[0]["weighted_layers"] is None
    assert set(run.chunks()["trial"].to_pylist()) == {"cubic+minrtt/s1"}


def test_a_run_of_only_failed_trials_can_be_read(tmp_path: Path, scenario_file: Path, toy: None) -> None:
    write(tmp_path / "run", scenario_file, "transport.congestion=bbr")
    run = load_run(tmp_path / "run")
    assert run.chunks().num_rows == run.samples().num_rows == 0


def test_a_trial_that_is_not_there_is_answered_with_the_nearest(run_path: Path) -> None:
    run = load_run(run_path)
    first, last = run.trials[0]["id"], run.trials[-1]["id"]
    for asked, near in ((f"x{last}", last), ("zz", first)):
        with pytest.raises(RunError, match=re.escape(f"no trial '{asked}'; did you mean '{near}'?")):
            run.trial(asked)


def test_an_existing_run_stays_without_force(run_path: Path, scenario_file: Path) -> None:
    before = (run_path / "run.json").read_text()
    with pytest.raises(InputError, match="--force"):
        write(run_path, scenario_file)
    assert (run_path / "run.json").read_text() == before
    write(run_path, scenario_file, "scenario.name=new", force=True)
    assert load_run(run_path).meta["scenario_name"] == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_run_that_is_stopped_leaves_nothing(
    tmp_path: Path, scenario_file: Path, toy: None, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def stop(*_: object) -> None:
        raise error

    monkeypatch.setattr(run_directory, "rows_of", stop)
    with pytest.raises((KeyboardInterrupt, OSError)):
        write(tmp_path / "run", scenario_file)
    assert [path.name for path in tmp_path.iterdir()] == ["toy.toml"]


def test_a_run_of_before_has_no_links(run_path: Path) -> None:
    (run_path / "links.parquet").unlink()
    assert load_run(run_path).links().num_rows == 0


@pytest.mark.parametrize("name", [name for name in FILES if name not in ("links.parquet", "SHA256SUMS")])
def test_a_missing_file_is_named(run_path: Path, name: str) -> None:
    (run_path / name).unlink()
    with pytest.raises(RunError, match=rf"{name}: missing"):
        load_run(run_path)


@pytest.mark.parametrize("name", FILES[1:])
def test_a_damaged_file_is_named(run_path: Path, name: str) -> None:
    (run_path / name).write_bytes(b"\x00\xff not this")
    with pytest.raises(RunError, match=name):
        load_run(run_path)


def test_a_file_cut_short_is_named(run_path: Path) -> None:
    path = run_path / "chunks.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RunError, match=r"chunks\.parquet"):
        load_run(run_path)


def test_other_schemas_are_refused(run_path: Path) -> None:
    path = run_path / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 99}))
    with pytest.raises(RunError, match=r"run\.json: schema 99, but this version reads 1"):
        load_run(run_path)
    path.write_text("[]")
    with pytest.raises(RunError, match=r"run\.json: schema None"):
        load_run(run_path)


def test_a_lacking_column_is_named(run_path: Path) -> None:
    path = run_path / "samples.parquet"
    pq.write_table(pq.read_table(path).drop(["srtt_s"]), path)
    with pytest.raises(RunError, match=r"samples\.parquet: lacks the column srtt_s"):
        load_run(run_path)


def test_a_metric_that_came_later_has_no_value_in_a_run(run_path: Path) -> None:
    (run_path / "SHA256SUMS").unlink()
    path, now = run_path / "trials.parquet", load_run(run_path).trials
    pq.write_table(pq.read_table(path).drop(["goodput_bps"]), path)
    assert load_run(run_path).trials == [{**row, "goodput_bps": None} for row in now]
    pq.write_table(pq.read_table(path).drop(["seed"]), path)
    with pytest.raises(RunError, match=r"trials\.parquet: lacks the column seed"):
        load_run(run_path)


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such run"):
        load_run(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="not a run directory"):
        load_run(tmp_path / "file")


def tables(path: Path) -> list[pa.Table]:
    return [pq.read_table(path / name) for name in FILES if name.endswith(".parquet")]


def test_the_same_seed_gives_equal_contents_whatever_the_threads_do(
    tmp_path: Path, scenario_file: Path
) -> None:
    """On the real engine: loss, two controls, two seeds; files equal byte for byte, too."""
    scenario = load_scenario(scenario_file, [parse_override("link.0.loss.packet=0.05")])
    for name, jobs in (("one", 1), ("two", 4)):
        write_run(tmp_path / name, scenario, load_source(scenario), argv=[], jobs=jobs)
    for first, second in zip(tables(tmp_path / "one"), tables(tmp_path / "two"), strict=True):
        assert first.num_rows > 0
        assert first.equals(second)
    for name in FILES:
        if name not in ("run.json", "SHA256SUMS"):
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_another_seed_gives_other_contents(tmp_path: Path, scenario_file: Path) -> None:
    for seed in (1, 2):
        write(tmp_path / str(seed), scenario_file, f"run.seed={seed}", "run.seeds=1")
    first, second = (tables(tmp_path / name)[0] for name in ("1", "2"))
    assert not first.drop(["trial"]).equals(second.drop(["trial"]))


def test_repair_bytes_are_shared_out_among_the_parts_of_a_block() -> None:
    """9 among two parts are 5 and 4, the block of one part has its 4, and what is in no block has none."""
    coding = SimpleNamespace(
        block=np.array([0, 0, -1, 1]),
        repair_bytes=np.array([9, 4]),
        whole=np.array([1, 0]),
        recovered=np.array([0, 1, 0, 1]),
    )
    result: Any = SimpleNamespace(coding=coding)
    block, whole, recovered, repair = (np.asarray(column).tolist() for column in _coded(result, 4))
    assert (block, repair) == ([0, 0, -1, 1], [5, 4, 0, 4])
    assert whole == [True, True, False, False] and recovered == [False, True, False, True]
