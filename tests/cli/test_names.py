"""Names that a shell lets one give and a program stumbles over: each works, or is refused in a line before the work."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from dstcc_cli.output import emit_json

from dstcc.run import load_run
from tests.apart import dstcc
from tests.quick import QUICK

CLIP = Path(__file__).parents[2] / "examples" / "clips" / "big-buck-bunny.mp4"
RAW = os.fsdecode(b"r\xff")
"""A name of bytes that are no UTF-8."""
SMALL = ("--height", "32", "--preset", "ultrafast", "--no-quality")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(QUICK)


def refused(message: str, *words: str) -> None:
    before = set(Path().iterdir())
    done = dstcc(*words)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert set(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (RAW, "no output has a name that is not UTF-8"),
        ("x" * 201, "of more than 200 bytes"),
        ("é" * 101, "of more than 200 bytes"),
        ("/", "/: "),
        ("s.toml/run", "s.toml is not a folder"),
    ],
)
def test_names_that_no_run_has_are_refused_before_the_work(name: str, message: str) -> None:
    refused(message, "emulate", "s.toml", "-o", name, "--force")


def test_the_longest_name_works() -> None:
    assert dstcc("emulate", "s.toml", "-o", "x" * 200).returncode == 0
    assert load_run(Path("x" * 200)).trials


def test_a_scenario_with_another_name_runs_and_is_recorded() -> None:
    Path(f"{RAW}.toml").write_text(QUICK)
    assert dstcc("emulate", f"{RAW}.toml", "-o", "run", "--json").returncode == 0
    assert json.loads(Path("run/run.json").read_text())["argv"][2] == "r\\udcff.toml"
    assert dstcc("report", "run", "-o", "r.html").returncode == 0


def test_a_video_that_no_manifest_can_name_is_refused() -> None:
    Path(f"{RAW}.mp4").write_bytes(CLIP.read_bytes())
    refused("its path is not UTF-8", "encode", f"{RAW}.mp4", "-o", "stream", *SMALL)


def test_markup_in_names_is_text() -> None:
    name = "[bold]x[green]:key:"
    assert dstcc("emulate", "s.toml", "-o", "run", "--set", 'scenario.name="[/x]"').returncode == 0
    done = dstcc("encode", str(CLIP), "-o", name, *SMALL)
    assert (done.returncode, f"{name}: 5.28 s" in done.stdout) == (0, True), done.stderr
    done = dstcc("report", "run", "-o", "[y].md")
    assert "wrote [y].md" in done.stdout


def test_markup_in_a_name_is_text_to_a_progress_bar_too() -> None:
    main_end, end = pty.openpty()
    words = ["emulate", "s.toml", "-o", "run", "--set", 'scenario.name="[/x]"']
    done = subprocess.run([sys.executable, "-P", "-m", "dstcc_cli", *words], stderr=end, check=False)
    os.close(end)
    os.close(main_end)
    assert done.returncode == 0


@pytest.mark.parametrize("key", ["video.stream", "video.input", "link.0.profile", "link.0.contacts"])
def test_a_path_with_a_nul_is_refused(key: str) -> None:
    refused("no path has a NUL character", "emulate", "s.toml", "-o", "run", "--set", f'{key}="a\\u0000/b"')


def test_json_escapes_what_is_not_utf8(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    emit_json({"stream": RAW, "é": 1})
    written = capsysbinary.readouterr().out
    assert json.loads(written) == {"stream": RAW, "é": 1}
    assert "é".encode() in written
