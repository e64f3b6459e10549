"""``nodes.parquet`` and ``hops.parquet`` of runs with nodes; runs without have neither."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dstcc.api import emulate
from dstcc.errors import RunError
from dstcc.export import tables as csv
from dstcc.export.packets import write_qlogs
from dstcc.run import load_run

NET = """
[scenario]
name = "one orbiter"
duration_s = 900
[video]
synthetic = {chunk_s = 2.0, layer_bps = [20_000, 20_000]}
loop_to_s = 100
[[node]]
name = "rover"
[[node]]
name = "orbiter"
storage_bytes = 100_000
[[node]]
name = "earth"
[[link]]
name = "uhf"
from = "rover"
to = "orbiter"
rate_bps = 200_000
delay_s = 0.01
[[link]]
name = "x-band"
from = "orbiter"
to = "earth"
rate_bps = 100_000
delay_s = 100
outages = [[0, 60]]
[[link]]
name = "direct"
from = "rover"
to = "earth"
rate_bps = 5_000
delay_s = 100
[[path]]
name = "relayed"
via = ["uhf", "x-band"]
[[path]]
via = ["direct"]
[transport]
congestion = "open-loop"
[playout]
delay_s = 500
[run]
slot_s = 10
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("net")
    (folder / "net.toml").write_text(NET)
    emulate(folder / "net.toml", folder / "run", quality=False)
    return folder / "run"


def test_a_node_holds_what_waits_for_its_link(run: Path) -> None:
    nodes = load_run(run).nodes().to_pydict()
    assert set(nodes["node"]) == {"orbiter"} and nodes["t_s"] == sorted(nodes["t_s"])
    held = dict(zip(nodes["t_s"], nodes["held_bytes"], strict=True))
    assert 0 < held[10.0] < held[20.0] <= 100_000, "40 kbit/s come, nothing leaves"
    assert max(held.values()) <= 100_000 and held[max(held)] == 0
    dropped = dict(zip(nodes["t_s"], nodes["dropped_packets"], strict=True))
    assert dropped[10.0] == 0 and sum(dropped.values()) > 0, "100 kB are full after 20 s"
    assert sum(nodes["lost_in_restarts_packets"]) == 0


def test_a_link_says_what_was_put_on_it(run: Path) -> None:
    rows = load_run(run).hops().to_pylist()
    assert {row["link"] for row in rows} == {"uhf", "x-band", "direct"}
    sent = {
        name: sum(row["sent_packets"] for row in rows if row["link"] == name) for name in ("uhf", "x-band")
    }
    dropped = sum(row["dropped_packets"] for row in load_run(run).nodes().to_pylist())
    assert sent["uhf"] == sent["x-band"] + dropped, (
        "what came left or was dropped: acknowledgements found room"
    )
    assert all(row["sent_packets"] == 0 for row in rows if row["link"] == "x-band" and row["t_s"] < 60)


def test_contacts_are_each_links_and_samples_each_paths(run: Path) -> None:
    whole = load_run(run)
    assert set(whole.links()["link"].to_pylist()) == {"uhf", "x-band", "direct"}
    assert set(whole.samples()["link"].to_pylist()) == {"relayed", "direct"}
    meta = json.loads((run / "run.json").read_text())
    assert [link["name"] for link in meta["links"]] == ["relayed", "direct"]
    assert {hop["name"]: hop["outage_s"] for hop in meta["hops"]}["x-band"] == 60


def test_csv_has_them(run: Path, tmp_path: Path) -> None:
    whole = load_run(run)
    names = [name for names in csv.write(whole, [whole.trials[0]["id"]], tmp_path) for name in names]
    assert names == ["trials.csv", "chunks.csv", "samples.csv", "nodes.csv", "hops.csv"]
    assert len((tmp_path / "nodes.csv").read_text().splitlines()) == 1 + whole.nodes().num_rows


def test_a_packet_log_says_what_was_lost_on_the_way(run: Path, tmp_path: Path) -> None:
    """Of what came through the first link the orbiter, whose storage is full after 20 s, drops some: sent, and lost."""
    list(write_qlogs(load_run(run), ["open-loop+minrtt/s1"], tmp_path))
    (written,) = (file for file in tmp_path.rglob("*") if "qlog" in file.name)
    records = [json.loads(line) for line in written.read_text().split("\x1e") if line]
    sent = [one for one in records if one.get("name") == "transport:packet_sent"]
    dropped = sum(row["dropped_packets"] for row in load_run(run).nodes().to_pylist())
    assert dropped > 50
    lost = [one for one in sent if "lost on the link" in json.dumps(one)]
    assert len(lost) == dropped, "no link loses a packet here, and the queue of 64,000 bytes drops none"


def test_packet_logs_are_refused_where_nodes_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split = NET.replace("storage_bytes", 'forwards = "split"\nstorage_bytes').replace(
        '"open-loop"', '"cubic"\nmode = "lanes"'
    )
    (tmp_path / "net.toml").write_text(split)
    emulate(tmp_path / "net.toml", tmp_path / "run", quality=False)
    monkeypatch.setattr("dstcc.run.replay.iter_trials", None)
    read = load_run(tmp_path / "run")
    with pytest.raises(RunError, match="'orbiter' ends connections, and packets are kept of one only"):
        list(write_qlogs(read, [read.trials[0]["id"]], tmp_path))


@pytest.fixture(scope="module")
def by_custody(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("custody")
    (folder / "net.toml").write_text(
        NET.replace("storage_bytes", 'forwards = "custody"\nstorage_bytes').replace("open-loop", "ltp")
    )
    emulate(folder / "net.toml", folder / "run", quality=False)
    return folder / "run"


def test_tables_of_a_node_that_takes_custody_have_the_same_slots(by_custody: Path) -> None:
    whole = load_run(by_custody)
    nodes, hops = whole.nodes().to_pylist(), whole.hops().to_pylist()
    ends = set(whole.samples()["t_s"].to_pylist())
    assert {row["t_s"] for row in nodes} == {row["t_s"] for row in hops} == ends
    assert {row["link"] for row in hops} == {"uhf", "x-band", "direct"}
    held = [row["held_bytes"] for row in nodes]
    assert 0 < max(held) <= 100_000


def test_a_missing_or_damaged_table_is_named(run: Path, tmp_path: Path) -> None:
    whole = load_run(run)
    table = pq.read_table(run / "nodes.parquet")
    copy = tmp_path / "run"
    copy.mkdir()
    for file in run.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    pq.write_table(table.drop_columns(["held_bytes"]), copy / "nodes.parquet")
    with pytest.raises(RunError, match=r"nodes\.parquet: lacks the column held_bytes"):
        load_run(copy).nodes()
    (copy / "nodes.parquet").unlink()
    with pytest.raises(RunError, match=r"nodes\.parquet: missing"):
        load_run(copy).nodes()
    assert whole.nodes().num_rows > 0


def test_a_run_without_nodes_has_neither(tmp_path: Path) -> None:
    plain = """
[scenario]
name = "plain"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [1000]}
loop_to_s = 5
[[link]]
name = "a"
rate_bps = 100_000
delay_s = 1
"""
    (tmp_path / "plain.toml").write_text(plain)
    emulate(tmp_path / "plain.toml", tmp_path / "run", quality=False)
    assert not (tmp_path / "run" / "nodes.parquet").exists()
    whole = load_run(tmp_path / "run")
    assert whole.nodes().num_rows == whole.hops().num_rows == 0
    assert "hops" not in whole.meta
