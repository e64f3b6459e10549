"""Exports of a run: that each format says what the run says."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from dstcc_cli import export as command
from dstcc_cli.main import main

import dstcc
from dstcc.errors import DstccError, InputError, RunError
from dstcc.export import FORMATS, export_run
from dstcc.run import Run, load_run
from dstcc.run.backends import Simulator
from dstcc.run.qlog import VERSIONS
from dstcc.run.replay import replay
from dstcc.wire import ENDS
from tests.quick import QUICK

IDS = ["cubic+minrtt/s1", "cubic+minrtt/s2", "newreno+minrtt/s1", "newreno+minrtt/s2"]


def scenario(folder: Path, algorithms: str = '["cubic", "newreno"]') -> Path:
    """Forty chunks of two layers of 1000 bytes, over a link that loses a packet in twenty."""
    path, text = folder / "s.toml", QUICK.replace("loop_to_s = 5", "loop_to_s = 40")
    end = f"[transport]\ncongestion = {algorithms}\n[playout]\ndelay_s = 20\n[run]\nseeds = 2\n"
    path.write_text(f"{text}loss = {{packet = 0.05}}\n{end}")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("export")
    made = dstcc.emulate(scenario(folder), folder / "run", logs=["qlog", "pcapng"])
    assert made.ids == IDS
    return load_run(folder / "run")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_csv_has_the_tables_rows(run: Run, tmp_path: Path) -> None:
    done = export_run(run, tmp_path / "out", "csv", trials=[IDS[2], IDS[0]])
    assert done.files == ("trials.csv", "chunks.csv", "samples.csv")
    assert [row["id"] for row in rows(tmp_path / "out" / "trials.csv")] == [IDS[0], IDS[2]]
    for name, whose in (("trials", "id"), ("chunks", "trial"), ("samples", "trial")):
        table = pq.read_table(run.path / f"{name}.parquet")
        kept = [row for row in table.to_pylist() if row[whose] in (IDS[0], IDS[2])]
        read = rows(tmp_path / "out" / f"{name}.csv")
        assert list(read[0]) == table.column_names
        assert len(read) == len(kept)
        for row, text in zip(kept, read, strict=True):
            for key, value in row.items():
                if isinstance(value, float):
                    assert float(text[key]) == pytest.approx(value, rel=1e-9)
                elif value is None:
                    assert text[key] == ""
                else:
                    assert text[key] == (str(value).lower() if isinstance(value, bool) else str(value))


def test_iperf3_adds_up(run: Run, tmp_path: Path) -> None:
    export_run(run, tmp_path / "out", "iperf3", trials=[IDS[0]])
    document = json.loads((tmp_path / "out" / "cubic+minrtt_s1.json").read_text())
    intervals, end = document["intervals"], document["end"]
    samples = [row for row in run.samples().to_pylist() if row["trial"] == IDS[0]]
    assert [one["sum"]["end"] for one in intervals] == sorted({row["t_s"] for row in samples})
    assert intervals[0]["sum"]["start"] == 0
    assert all(before["sum"]["end"] == after["sum"]["start"] for before, after in pairwise(intervals))
    # forty chunks of two layers of 1000 bytes, all there in the end; the last ACK is still on its way then
    assert end["sum_received"]["bytes"] == 80_000
    assert 76_000 < sum(one["sum"]["bytes"] for one in intervals) == end["sum_sent"]["bytes"] <= 80_000
    again = sum(row["retransmitted_segments"] for row in samples)
    assert end["sum_sent"]["retransmits"] == end["streams"][0]["sender"]["retransmits"] == again > 0
    last = intervals[-1]["streams"][0]
    assert last["snd_cwnd"] == samples[-1]["cwnd_segments"] * 1460
    assert last["rtt"] == round(samples[-1]["srtt_s"] * 1e6)
    assert last["bits_per_second"] * last["seconds"] / 8 == pytest.approx(last["bytes"], abs=0.51)
    sender = end["streams"][0]["sender"]
    assert 100_000 <= sender["min_rtt"] <= sender["mean_rtt"] <= sender["max_rtt"]


def test_packets_are_those_of_the_run_itself(run: Run, tmp_path: Path) -> None:
    """What a run wrote when it was made, its repetition writes."""
    export_run(run, tmp_path / "caps", "pcapng")
    export_run(run, tmp_path / "logs", "qlog")
    for trial in IDS:
        name = trial.replace("/", "_")
        assert (tmp_path / "logs" / f"{name}.sqlog").read_bytes() == (run.path / f"{name}.qlog").read_bytes()
        for end in ENDS:
            made = run.path / f"{name}.{end}.pcapng"
            assert (tmp_path / "caps" / made.name).read_bytes() == made.read_bytes()


def test_a_version_of_qlog(run: Run, tmp_path: Path) -> None:
    export_run(run, tmp_path / "out", "qlog", trials=[IDS[0]], version="0.4")
    head = (tmp_path / "out" / "cubic+minrtt_s1.sqlog").read_text().split("\x1e")[1]
    assert json.loads(head)["qlog_version"] == "0.4"


def test_a_repetition_that_differs_is_no_repetition(tmp_path: Path) -> None:
    made = dstcc.emulate(scenario(tmp_path), tmp_path / "run")
    toml = made.path / "scenario.toml"
    (made.path / "SHA256SUMS").unlink()
    toml.write_text(toml.read_text().replace("packet = 0.05", "packet = 0.4"))
    with pytest.raises(RunError, match=r"trial 'cubic\+minrtt/s1' comes out otherwise now \(\w+ "):
        replay(load_run(made.path), IDS[0])


def test_what_cannot_be_repeated(run: Run, tmp_path: Path) -> None:
    def other(**changed: object) -> Run:
        return Run(run.path, run.meta | changed, run.scenario, run.trials)

    with pytest.raises(RunError, match=r"no trial 'cubic\+minrtt/s3'; did you mean"):
        replay(run, "cubic+minrtt/s3")
    with pytest.raises(RunError, match="backend 'kernel'; only the simulator"):
        replay(other(backend="kernel"), IDS[0])
    failed = [row | {"status": "failed", "error": "it broke"} for row in run.trials]
    with pytest.raises(RunError, match=r"failed \(it broke\)"):
        replay(Run(run.path, run.meta, run.scenario, failed), IDS[0])
    with pytest.raises(RunError, match="no completed trial"):
        export_run(Run(run.path, run.meta, run.scenario, failed), tmp_path / "out", "csv")
    with pytest.raises(InputError, match="only qlog has versions"):
        export_run(run, tmp_path / "out", "csv", version="0.3")
    assert list(tmp_path.iterdir()) == []


def test_a_repetition_without_memory_is_no_bad_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Docs say 1 of work that failed, and 2 of what cannot be used."""

    def refused(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Simulator, "carry", refused)
    with pytest.raises(DstccError, match="failed when it was repeated") as caught:
        replay(run, IDS[0])
    assert caught.value.exit_code == 1


def test_a_trial_without_packets_says_so(tmp_path: Path) -> None:
    path = scenario(tmp_path, algorithms='["ltp"]')
    path.write_text(path.read_text().replace("loss = {packet = 0.05}", "outages = [[0, 100_000]]"))
    made = dstcc.emulate(path, tmp_path / "run", logs=["qlog"])
    assert not list(made.path.glob("*.qlog"))
    with pytest.raises(RunError, match="it has no packets"):
        export_run(load_run(made.path), tmp_path / "out", "pcapng")
    assert not (tmp_path / "out").exists()


def test_a_sender_that_restarts_is_exported(tmp_path: Path) -> None:
    """Alike when the trial is repeated and at once."""
    path = scenario(tmp_path, algorithms='["ltp", "cubic"]')
    path.write_text(f"{path.read_text()}[transport.restart]\nat_s = [9]\nboot_s = 2\nspool = true\n")
    made = dstcc.emulate(path, tmp_path / "run", logs=["pcapng"])
    export_run(load_run(made.path), tmp_path / "out", "pcapng")
    written = sorted((tmp_path / "out").glob("*.pcapng"))
    assert len(written) == 2 * len(made.ids) == 8
    for file in written:
        assert file.read_bytes() == (made.path / file.name).read_bytes() and file.stat().st_size > 1000


def test_only_an_export_is_replaced(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_run(run, out, "csv")
    with pytest.raises(InputError, match="already exists"):
        export_run(run, out, "iperf3")
    export_run(run, out, "iperf3", force=True)
    assert {path.suffix for path in out.iterdir()} == {".json"}
    (out / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds mine\.txt"):
        export_run(run, out, "csv", force=True)
    assert (out / "mine.txt").read_text() == "mine"
    with pytest.raises(InputError):
        export_run(run, run.path, "csv", force=True)


def cli(*words: object) -> Result:
    return CliRunner().invoke(main, ["export", *map(str, words)])


def test_the_command(run: Run, tmp_path: Path) -> None:
    assert (*FORMATS, "ionrc") == command.FORMATS  # of a scenario, not of a run
    assert command.QLOG_VERSIONS == VERSIONS
    done = cli(run.path, "--format", "csv", "-o", tmp_path / "a", "--trial", IDS[1], "--json")
    assert done.exit_code == 0
    files = ["trials.csv", "chunks.csv", "samples.csv"]
    said = {"export": str(tmp_path / "a"), "format": "csv", "trials": [IDS[1]], "files": files}
    assert json.loads(done.stdout) == said
    wrong = cli(run.path, "--format", "csv", "-o", tmp_path / "b", "--trial", "cubic")
    assert wrong.exit_code == 2
    assert "no trial 'cubic'" in wrong.stderr
    assert cli(run.path, "-o", tmp_path / "b", "--format", "xml").exit_code == 2
