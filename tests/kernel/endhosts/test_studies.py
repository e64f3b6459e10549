"""``[programs]`` of scenarios and studies of them, in guests."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from dstcc_cli.main import main

pytestmark = [pytest.mark.usefixtures("kernel"), pytest.mark.kernel]
LINK = """
[scenario]
name = "near"
[video]
synthetic = {chunk_s = 10.0, layer_bps = [100_000]}
loop_to_s = 60
[[link]]
name = "link"
rate_bps = 2_000_000
delay_s = 0.5
[run]
scale = 1
"""
SHELL = 'ping -q -c {count} earth; cd /proc/sys/net; cat ipv4/tcp_sack core/rmem_max; echo $PATIENCE; echo "$JSON"'
PROGRAMS = f"""
[programs]
run = '''sh -c '{SHELL}' '''
on = {{earth = "sh -c 'exit 3'"}}
words = {{count = 2}}
env = {{PATIENCE = 7, JSON = '{{"pings": 2, "own": {{"ok": true}}}}'}}
sysctl.net.ipv4.tcp_sack = 0
sysctl.net.core.rmem_max = 123_456
json_of = ["craft"]
"""
EXPECT = """
[expect]
programs.exit_code = "== 0"
programs."earth.exit_code" = "== 3"
programs.pings = "== 2"
programs."own.ok" = "== 1"
programs.ended_s = ">= 2, < 3"
programs.up_bytes = "== 168"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "near.toml"
    path.write_text(text)
    return path


def call(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, list(words))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_a_file_says_what_runs_and_holds_it(tmp_path: Path) -> None:
    """Two echoes of 84 bytes, a second apart, each a second long; settings of a host, and one of the whole kernel."""
    path = write(tmp_path, LINK + PROGRAMS + EXPECT)
    code, out, err = call("run", str(path), "-o", str(tmp_path / "o"))
    assert code == 0, err
    assert out.splitlines()[-4:-1] == ["0", "123456", "7"]
    path.write_text(path.read_text().replace('pings = "== 2"', 'pings = "== 3"'))
    code, _, err = call("run", str(path), "-o", str(tmp_path / "p"))
    assert code == 3 and "programs: pings is 2, expected == 3" in err


@pytest.mark.parametrize(
    ("programs", "code", "message"),
    [
        ('run = "echo done"\njson_of = ["craft"]', 1, "its last line must be a JSON object"),
        (
            'run = "true"\nsysctl.net.ipv4.no_such = 1',
            1,
            "programs.sysctl.net.ipv4.no_such = 1: there is no such setting",
        ),
        (
            'run = "true"\nsysctl.net.ipv4.tcp_sack = "x"',
            1,
            "programs.sysctl.net.ipv4.tcp_sack = x: invalid argument",
        ),
        ("run = \"sh -c 'while :; do :; done'\"\nwall_s = 5", 1, "the limit of 5 s"),
    ],
)
def test_a_run_that_fails_is_named(tmp_path: Path, programs: str, code: int, message: str) -> None:
    path = write(tmp_path, f"{LINK}[programs]\n{programs}\n")
    got, _, err = call("run", str(path), "-o", str(tmp_path / "o"))
    assert (got, message in err) == (code, True), err


def test_a_study_gives_the_same_bytes_again(tmp_path: Path) -> None:
    write(tmp_path, LINK + PROGRAMS)
    study = tmp_path / "study.toml"
    study.write_text(
        '[study]\nscenario = "near.toml"\nprograms = true\n[vary]\nprograms.words.count = [1, 3]\n'
        "link.0.loss.packet = [0.0, 0.5]\n"
    )
    parts = []
    for name in ("a", "b"):
        code, _, err = call("sweep", str(study), "-o", str(tmp_path / name), "--jobs", "2")
        assert code == 0, err
        (part,) = (tmp_path / name / "trials").glob("*.parquet")
        parts.append(part.read_bytes())
    assert parts[0] == parts[1]
    rows = pq.read_table(part).to_pylist()
    assert {(row["count"], row["up_packets"]) for row in rows if row["link.0.loss.packet"] == 0} == {
        (1, 1),
        (3, 3),
    }
    assert all(row["pings"] == 2 and row["earth.exit_code"] == 3 for row in rows)
    assert sum(row["lost_packets"] for row in rows if row["link.0.loss.packet"]) > 0
