"""``emulate --backend kernel --pcapng``: what the kernel's devices saw, in mission time."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from dstcc_cli.main import main
from dstcc_kernel.backend import HEADERS_BYTES, PREFIX

from dstcc.api import emulate
from dstcc.errors import InputError

SCENARIO = """
[scenario]
name = "logged"
[video]
synthetic = {chunk_s = 10.0, layer_bps = [100_000, 50_000]}
loop_to_s = 60
[[link]]
name = "near"
rate_bps = 2_000_000
up_rate_bps = "rate_bps"
delay_s = 50
loss = {packet = 1e-2}
[[link]]
name = "far"
rate_bps = 1_000_000
up_rate_bps = "rate_bps"
delay_s = 80
[playout]
delay_s = 900
[transport]
congestion = ["cubic"]
scheduler = ["linux"]
[run]
scale = 10
"""
MISSION_0 = 946_684_800.0
"""1 January 2000."""
pytestmark = [pytest.mark.usefixtures("kernel")]


def emulated(folder: Path, *more: str, code: int = 0) -> tuple[Path, str]:
    folder.mkdir()
    (folder / "s.toml").write_text(SCENARIO)
    words = ["emulate", str(folder / "s.toml"), "--backend", "kernel", "-o", str(folder / "run"), *more]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == code, done.stderr
    return folder / "run", done.stderr


def fields(path: Path, *names: str) -> list[list[str]]:
    tshark = shutil.which("tshark")
    assert tshark is not None, "apt install tshark"
    words = [tshark, "-r", str(path), "-T", "fields", *(word for name in names for word in ("-e", name))]
    return [
        line.split("\t")
        for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    ]


def own_folders() -> set[Path]:
    """This process's temporary folders of trials."""
    return set(Path(tempfile.gettempdir()).glob(f"{PREFIX}{os.getpid()}-*"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With logs."""
    before = own_folders()
    found, _ = emulated(tmp_path_factory.mktemp("packets") / "logged", "--pcapng")
    assert own_folders() <= before
    return found


def test_each_end_has_what_it_sends_and_what_comes(run: Path) -> None:
    names = "frame.time_epoch", "ip.src", "tcp.srcport", "ip.id", "tcp.len", "frame.cap_len"
    sent, came = (fields(run / f"cubic+linux_s1.{end}.pcapng", *names) for end in ("spacecraft", "earth"))
    assert 0 <= float(sent[0][0]) - MISSION_0 < 0.01
    own = [row for row in sent if row[1].endswith(".1") and int(row[4]) > 0]
    arrived = {tuple(row[1:4]): float(row[0]) for row in came if row[1].endswith(".1") and int(row[4]) > 0}
    for source, delay_s in (("10.1.0.1", 50.0), ("10.2.0.1", 80.0)):
        took = [
            arrived[key] - float(row[0])
            for row in own
            if (key := tuple(row[1:4])) in arrived and key[0] == source
        ]
        assert min(took) == pytest.approx(delay_s, abs=0.02)  # and some milliseconds on the line
    assert 0 < 1 - len(arrived) / len(own) < 0.03
    (trial,) = pq.read_table(run / "trials.parquet").to_pylist()
    lost = 1 - len(arrived) / len(own)
    assert 0 < lost < 0.03
    assert sum(int(row[4]) for row in own) == trial["sent_bytes"]
    assert max(int(row[5]) for row in own) <= HEADERS_BYTES


def test_looking_moves_times_by_less_than_a_millisecond(run: Path, tmp_path: Path) -> None:
    unlogged, _ = emulated(tmp_path / "plain")
    logged, plain = (pq.read_table(folder / "chunks.parquet") for folder in (run, unlogged))
    assert logged.column_names == plain.column_names
    for name in logged.column_names:
        for one, other in zip(logged[name].to_pylist(), plain[name].to_pylist(), strict=True):
            assert one == (pytest.approx(other, abs=1e-3) if isinstance(other, float) else other), name


def test_python_refuses_what_the_command_refuses(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    with pytest.raises(InputError, match="--qlog: in the simulator only"):
        emulate(tmp_path / "s.toml", tmp_path / "run", backend="kernel", logs="qlog")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--qlog",), "--qlog: in the simulator only"),
        (
            ("--pcapng", "--set", "transport.restart={at_s = [100], boot_s = 5, spool = true}"),
            "transport.restart makes several",
        ),
    ],
)
def test_what_has_no_log_is_refused(tmp_path: Path, more: tuple[str, ...], said: str) -> None:
    run, stderr = emulated(tmp_path / "refused", *more, code=2)
    assert said in stderr
    assert not run.exists()
