"""Files and names that hold a command up, fill its memory or steer a terminal: one line, exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dstcc_cli.main import main

from dstcc.errors import printable
from tests.quick import QUICK

ESCAPE = "\x1b[2J"
ENDS = ("--set", "link.0.source=2", "--set", "link.0.destination=1")
"""Between which a contact plan has contacts."""


def dstcc(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.mark.parametrize("put", [os.mkfifo, lambda path: Path(path).symlink_to("/dev/zero"), os.mkdir])
@pytest.mark.parametrize(
    "words",
    [
        ["emulate", "FILE", "--dry-run"],
        ["emulate", "s.toml", "--dry-run", "--controller", "FILE.safetensors"],
        ["emulate", "s.toml", "--dry-run", "--congestion", "FILE.py:Mine"],
        ["emulate", "s.toml", "--dry-run", "--set", "link.0.contacts=FILE", *ENDS],
        ["emulate", "s.toml", "--dry-run", "--set", "link.0.profile=FILE.toml"],
        ["links", "FILE.toml"],
    ],
)
def test_what_is_no_regular_file(words, put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(QUICK)
    named = [word.replace("FILE", "odd") for word in words]
    name = next(word for word in named if "odd" in word).partition("=")[2] or next(
        w for w in named if "odd" in w
    )
    put(name.partition(":")[0])
    done = dstcc(*named)
    assert done.exit_code == 2
    assert (
        "is not a regular file" in done.stderr
        or "is a folder" in done.stderr
        or "no such policy" in done.stderr
    )


def test_a_payload_that_grew_is_not_read(tmp_path: Path) -> None:
    from dstcc_svc import encode, load_manifest, verify
    from dstcc_svc.stream import Stream

    from dstcc.errors import StreamError

    clip = Path(__file__).parents[2] / "examples" / "clips" / "big-buck-bunny.mp4"
    encode(clip, tmp_path / "s", height=90, preset="ultrafast", quality=False)
    layer = load_manifest(tmp_path / "s").chunks[0].layers[0]
    os.truncate(tmp_path / "s" / layer.file, 1 << 40)  # sparse
    with pytest.raises(StreamError, match=f"1099511627776 bytes, the manifest says {layer.bytes}"):
        Stream.open(tmp_path / "s").payload(layer)
    with pytest.raises(StreamError):
        verify(tmp_path / "s")


def test_names_do_not_reach_the_terminal_as_commands(tmp_path: Path) -> None:
    missing = dstcc("emulate", tmp_path / f"a{ESCAPE}.toml", "--dry-run")
    assert missing.exit_code == 2
    assert ESCAPE not in missing.output
    assert r"a\x1b[2J.toml" in missing.output
    usage = dstcc("emulate", "--controller", "x", f"--{ESCAPE}")
    assert usage.exit_code == 2
    assert "\x1b" not in usage.output
    text = QUICK.replace('"quick"', r'"q[/red]\u001b[2J"').replace('"a"', r'"l\u009b2J"')
    (tmp_path / "s.toml").write_text(text)
    done = dstcc("emulate", tmp_path / "s.toml", "-o", tmp_path / "run")
    assert done.exit_code == 0
    for shown in (
        done,
        dstcc("emulate", tmp_path / "s.toml", "--dry-run"),
        dstcc("report", tmp_path / "run", "-o", "-"),
    ):
        assert "\x1b" not in shown.output
        assert "\x9b" not in shown.output
        assert "[/red" in shown.output.replace("\\", "")


def test_bytes_of_a_command_line_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(QUICK)
    words = [sys.executable, "-m", "dstcc_cli", "emulate", "s.toml", "--dry-run", "--set"]
    done = subprocess.run(
        [*words, b'transport.congestion=["a\xff"]'], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "transport.congestion.0: 'a\\udcff' is not Unicode" in done.stderr


def test_what_is_printable() -> None:
    assert printable("1\u202f000 é\n\tx\u00a0") == "1\u202f000 é\n\tx\u00a0"
    assert printable("\x00\x07\x1b\x7f\x9b\r") == r"\x00\x07\x1b\x7f\x9b\x0d"


def test_a_closed_stdout_is_said() -> None:
    command = [sys.executable, "-m", "dstcc_cli", "links"]
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "dstcc: stdout is closed; `> /dev/null` leaves the output out\n"


@pytest.mark.parametrize("method", ["__init__", "on_ack"])
def test_an_extension_that_ends_the_process_fails_its_trial(method: str, tmp_path: Path) -> None:
    first = "raise SystemExit(0)" if method == "__init__" else "pass"
    answer = "raise SystemExit(0)" if method == "on_ack" else "return 10"
    (tmp_path / "mine.py").write_text(
        f"class Mine:\n    def __init__(self, setup):\n        {first}\n    def on_ack(self, view):\n        {answer}\n"
    )
    (tmp_path / "s.toml").write_text(QUICK)
    names = ["--congestion", tmp_path / "mine.py:Mine", "--congestion", "cubic"]
    done = dstcc("emulate", tmp_path / "s.toml", "-o", tmp_path / "run", *names)
    assert done.exit_code == 1
    assert "1 of 2 trials" in done.stdout
    assert f"{method}" in done.stderr
    assert "SystemExit" in done.stderr
    assert (tmp_path / "run" / "run.json").is_file()
