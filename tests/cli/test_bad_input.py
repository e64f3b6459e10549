"""Bad input through real processes: an exit code, a line naming file and rule, nothing left behind."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from dstcc.run import load_run
from tests import apart
from tests.quick import QUICK

CLIP = Path(__file__).parents[2] / "examples" / "clips" / "big-buck-bunny.mp4"
LONG = ("video.loop_to_s=1e5", "link.0.rate_bps=1e9", "video.synthetic.layer_bps=[1e8]")
"""Overrides that make the mission too long to finish in a test."""

# A shell may start us with SIGINT ignored; a user's terminal does not.
PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from dstcc_cli.main import main; main(sys.argv[1:])"
)
COMMAND = [sys.executable, "-c", PROGRAM]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSTCC_CACHE", str(tmp_path / "cache"))
    Path("s.toml").write_text(QUICK)


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small stream of the example clip."""
    path = tmp_path_factory.mktemp("stream") / "stream"
    done = dstcc("encode", CLIP, "-o", path, "--height", "64", "--preset", "ultrafast", "--no-quality")
    assert done.returncode == 0, done.stderr
    return path


def dstcc(*args: object, **options: Any) -> subprocess.CompletedProcess[str]:
    if not options:
        return apart.dstcc(*args)
    command = [*COMMAND, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def emulate(*settings: str, scenario: str = "s.toml", out: str = "run") -> subprocess.CompletedProcess[str]:
    return dstcc("emulate", scenario, "-o", out, *(word for text in settings for word in ("--set", text)))


def refused(done: subprocess.CompletedProcess[str], message: str, code: int = 2) -> None:
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def left() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


def sound(path: Path) -> None:
    with av.open(path, "w") as file:
        stream = file.add_stream("aac", rate=8000)
        silence = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), format="fltp", layout="mono")
        silence.sample_rate, silence.pts = 8000, 0
        file.mux(stream.encode(silence))
        file.mux(stream.encode(None))


def no_frames(path: Path) -> None:
    with av.open(path, "w", format="matroska") as file:
        stream = file.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        file.start_encoding()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _path: None, "clip.mp4: no such file"),
        (lambda path: path.write_bytes(CLIP.read_bytes()[:500_000]), "clip.mp4: "),
        (lambda path: path.write_bytes(b"no video" * 99), "clip.mp4: not a video file"),
        (lambda path: path.write_bytes(b""), "clip.mp4: not a video file"),
        (sound, "clip.mp4: has no video stream"),
        (no_frames, "clip.mp4: "),
    ],
    ids=["missing", "truncated", "junk", "empty", "sound", "no-frames"],
)
def test_videos(make: Callable[[Path], object], message: str) -> None:
    make(Path("clip.mp4"))
    refused(dstcc("encode", "clip.mp4", "-o", "stream"), message)
    assert not Path("stream").exists()


def test_a_video_in_a_scenario(tmp_path: Path) -> None:
    Path("clip.mp4").write_bytes(CLIP.read_bytes()[:500_000])
    refused(emulate("video.input=clip.mp4"), f"{tmp_path / 'clip.mp4'}: ")
    assert not Path("run").exists()


def test_a_corrupt_payload_is_named(stream: Path) -> None:
    payload = sorted((stream / "payload").iterdir())[-1]
    whole = payload.read_bytes()
    try:
        payload.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        refused(emulate(f"video.stream={stream}"), f"{payload}: corrupt: its SHA-256")
    finally:
        payload.write_bytes(whole)


def test_a_corrupt_manifest_is_named(stream: Path) -> None:
    manifest = stream / "manifest.json"
    whole = manifest.read_text()
    try:
        for broken in (whole[:-40], json.dumps(json.loads(whole) | {"chunks": []})):
            manifest.write_text(broken)
            refused(emulate(f"video.stream={stream}"), f"{manifest}: ")
    finally:
        manifest.write_text(whole)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("link.0.rate=5", "link.0.rate: unknown key; did you mean 'rate_bps'?"),
        ("transport.congestion=cubik", "transport.congestion: 'cubik': no such congestion control"),
        ("transport.scheduler=minrt", "did you mean 'minrtt'?"),
        ("link.0.rate_bps=-5", "link.0.rate_bps = -5: must be between"),
        ("link.0.delay_s=nan", "link.0.delay_s = nan: input should be a finite number"),
        ("link.0.delay_s=[[9, 1], [3, 2]]", "link.0.delay_s: times must rise"),
        (
            "link.0.loss={ebn0_db = 1, code = 'ccsds-c3'}",
            "link.0.loss.code = 'ccsds-c3': no such code",
        ),
    ],
)
def test_scenario_values(setting: str, message: str) -> None:
    refused(emulate(setting), f"dstcc: s.toml: {message}" if ":" in message else message)
    assert not Path("run").exists()


def test_an_output_that_exists(stream: Path) -> None:
    Path("run").mkdir()
    refused(emulate(), "run: already exists; --force replaces it")
    refused(dstcc("encode", CLIP, "-o", stream), f"{stream}: already exists; --force replaces it")
    assert list(Path("run").iterdir()) == []


def test_a_full_disk() -> None:
    """A file system of 16 kB, less than a run takes, where only the command sees it: as root or in a namespace."""
    Path("disk").mkdir()
    alone = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    script = 'mount -t tmpfs -o size=16k none disk || exit 99; "$@"; code=$?; ls -A disk; exit $code'
    options = ["--seeds", "40", "--json"]
    command = [*COMMAND, "emulate", "s.toml", "-o", "disk/run", *options]
    done = subprocess.run(
        [*alone, "sh", "-c", script, "sh", *command], capture_output=True, text=True, check=False
    )
    if done.returncode in (1, 99) and "dstcc" not in done.stderr:
        assert os.geteuid() != 0, done.stderr
        pytest.skip(f"neither root nor user namespaces: {done.stderr}; see the file-size limit's test")
    refused(done, "the disk is full", code=1)


def test_a_file_size_limit(uncovered: None) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    refused(
        dstcc("emulate", "s.toml", "-o", "run", preexec_fn=limit), "a file outgrew its size limit", code=1
    )
    assert left() == ["s.toml"]


def interrupt(number: int) -> subprocess.Popen[str]:
    """Send a signal to a command that replaces a run, once the engine has been at work for a second."""
    settings = [word for text in LONG for word in ("--set", text)]
    command = [*COMMAND, "emulate", "s.toml", "-o", "run", "--force", *settings]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(Path.cwd().glob(".run.*.tmp/samples.parquet")):
        time.sleep(0.02)
    ticks = os.sysconf("SC_CLK_TCK")
    begun = used_ticks(process.pid)
    while process.poll() is None and used_ticks(process.pid) < begun + ticks:
        time.sleep(0.02)
    process.send_signal(number)
    return process


def used_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [
        pytest.param(signal.SIGINT, 130, "dstcc: interrupted", marks=pytest.mark.slow),
        (signal.SIGTERM, 143, "dstcc: terminated"),
    ],
)
def test_a_signal_while_the_engine_works_leaves_the_old_run(number: int, code: int, message: str) -> None:
    assert emulate().returncode == 0
    process = interrupt(number)
    _, err = process.communicate()
    assert process.returncode == code
    assert err.strip() == message
    assert left() == ["run", "s.toml"]
    assert load_run(Path("run")).trials[0]["status"] == "ok"


def test_a_killed_command_leaves_the_old_run_and_hinders_no_other() -> None:
    assert emulate().returncode == 0
    interrupt(signal.SIGKILL).communicate()
    assert load_run(Path("run")).trials[0]["status"] == "ok"
    assert len(left()) == 4  # what it wrote, and what it had kept of it
    assert dstcc("emulate", "s.toml", "-o", "run", "--force").returncode == 0
    assert left() == ["run", "s.toml"]


def test_sigterm_while_encoding_leaves_nothing() -> None:
    process = subprocess.Popen([*COMMAND, "encode", CLIP, "-o", "stream"], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(Path.cwd().glob(".stream.*.tmp/payload/*")):
        time.sleep(0.02)
    process.terminate()
    _, err = process.communicate()
    assert (process.returncode, err.strip()) == (143, "dstcc: terminated")
    assert left() == ["s.toml"]
