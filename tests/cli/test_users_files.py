"""No command replaces a file of the user's, with ``--force`` or without: exit code 2, a line, nothing lost."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from dstcc_cli.main import main

from dstcc.run import load_run
from tests.quick import QUICK
from tests.report.synthetic_run import RunSpec, build_run
from tests.undrawn import leave_undrawn

CLIP = Path(__file__).parents[2] / "examples" / "clips" / "big-buck-bunny.mp4"
SYNTHETIC = "synthetic = {chunk_s = 1.0, layer_bps = [8000, 8000]}"
MINE = "class Mine:\n    def on_ack(self, ack):\n        return 10\n"
ENCODE = ("--height", "64", "--preset", "ultrafast", "--no-quality")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one of everything that dstcc writes, and what it was made from."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copy(CLIP, folder / "clip.mp4")
    (folder / "mine.py").write_text(MINE)
    (folder / "s.toml").write_text(QUICK)
    (folder / "film.toml").write_text(QUICK.replace(SYNTHETIC, 'stream = "stream"'))
    (folder / "lab.toml").write_text(
        'summary = "m"\nreferences = ["m"]\n[link]\nrate_bps = 1e6\ndelay_s = 1\nloss = {packet = 0}\n'
    )
    for words in (
        ("encode", folder / "clip.mp4", "-o", folder / "stream", *ENCODE),
        ("emulate", folder / "film.toml", "-o", folder / "run", "--no-quality"),
        ("report", folder / "run", "-o", folder / "report.html"),
        ("play", folder / "run", "-o", folder / "earth.mp4"),
        ("links", folder / "lab.toml", "--netem", folder / "n.sh", "--trace", folder / "t.csv"),
        ("links", "--code", "ccsds-c2", "--plot", folder / "c.png"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            leave_undrawn(patch)
            done = CliRunner().invoke(main, [str(word) for word in words])
        assert done.exit_code == 0, done.stderr
    return folder


@pytest.fixture
def home(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it to work in."""
    shutil.copytree(made, tmp_path / "home")
    monkeypatch.chdir(tmp_path / "home")
    monkeypatch.setenv("DSTCC_CACHE", str(tmp_path / "cache"))
    (tmp_path / "home" / "video").mkdir()
    (tmp_path / "home" / "video" / "wedding.mp4").write_bytes(b"the only copy")
    return tmp_path / "home"


def digest(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def refused(home: Path, words: str, message: str) -> None:
    """The command says so in a line, with --force and without, and every file is as it was."""
    before = digest(home)
    for force in ([], ["--force"]):
        done = CliRunner().invoke(main, [*words.split(), *force])
        assert done.exit_code == 2, (words, done.output, done.exception)
        assert message in done.stderr
        assert done.stderr.startswith("dstcc: ")
        assert done.stderr.count("\n") == 1
        assert digest(home) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("encode clip.mp4 -o video", "has no manifest.json"),
        ("encode clip.mp4 -o clip.mp4", "is what the command reads"),
        ("encode clip.mp4 -o .", "holds clip.mp4, which the command reads"),
        ("encode clip.mp4 -o ..", "holds clip.mp4, which the command reads"),
        ("encode clip.mp4 -o run", "has no manifest.json"),
        ("encode clip.mp4 -o s.toml", "is a file"),
        ("emulate s.toml -o s.toml", "is what the command reads"),
        ("emulate s.toml -o video", "has no run.json"),
        ("emulate s.toml -o stream", "has no run.json"),
        ("emulate s.toml -o clip.mp4", "is a file"),
        ("emulate run/scenario.toml -o run", "run: holds run/scenario.toml, which the command reads"),
        ("emulate film.toml -o stream", "is what the command reads"),
        ("emulate film.toml -o clip.mp4", "is what the command reads"),
        ("emulate s.toml --congestion mine.py:Mine -o mine.py", "is what the command reads"),
        ("emulate s.toml --set link.0.profile=lab.toml -o lab.toml", "is what the command reads"),
        ("report run -o run/run.json", "has no mark of a report"),
        ("report run -o run", "is a folder"),
        ("report run -o s.toml --format md", "has no mark of a report"),
        ("report run -o earth.mp4 --format html", "has no mark of a report"),
        ("play run -o clip.mp4", "is what the command reads"),
        ("play run -o video/wedding.mp4", "has no mark of a video of dstcc play"),
        ("play run -o run/trials.parquet", "has no mark of a video"),
        ("play run -o video", "is a folder"),
        ("links lab.toml --netem video/deploy.sh", "has no mark of an export"),
        ("links lab.toml --trace lab.toml", "is what the command reads"),
        ("links lab.toml --trace report.html", "has no mark of an export"),
        ("links --code ccsds-c2 --plot video/me.png", "has no mark of a picture"),
        ("links --code ccsds-c2 --plot video/me.svg", "has no mark of a picture"),
    ],
)
def test_what_the_user_has_stays(home: Path, words: str, message: str) -> None:
    (home / "video" / "deploy.sh").write_text("#!/bin/sh\n# mine\n")
    (home / "video" / "me.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (home / "video" / "me.svg").write_text("<svg><title>dstcc links</title></svg>")
    refused(home, words, message)


@pytest.mark.parametrize(
    ("words", "folder"),
    [("encode clip.mp4 -o stream", "stream"), ("emulate s.toml -o run", "run")],
)
def test_a_users_file_in_a_folder_of_ours_keeps_it_all(home: Path, words: str, folder: str) -> None:
    for name in ("notes.txt", "payload/000000-9.bin", "mine.pcapng", "report.html"):
        path = home / folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
        shown = "payload" if folder == "run" and "/" in name else name
        refused(home, words, f"holds {shown}, which is no part")
        path.unlink()
        if folder == "run" and "/" in name:
            path.parent.rmdir()


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"schema": 1}', "[" * 9999, '{"name": "my-package", "version": "1"}', "{}"]
)
def test_a_json_of_the_users_makes_no_folder_ours(home: Path, text: str) -> None:
    for name, words in (("manifest.json", "encode clip.mp4 -o app"), ("run.json", "emulate s.toml -o app")):
        (home / "app").mkdir()
        (home / "app" / name).write_text(text)
        refused(home, words, f"has a {name} that is")
        shutil.rmtree(home / "app")


@pytest.mark.usefixtures("undrawn")
def test_what_dstcc_wrote_makes_room(home: Path) -> None:
    for words in (
        f"encode clip.mp4 -o stream --layers 2 {' '.join(ENCODE)}",
        "emulate s.toml -o run --seed 7 --qlog --pcapng",
        "emulate s.toml -o run --seed 8",  # the packet logs are of the run
        "report run -o report.html --format md",
        "report run -o report.html",
        "links lab.toml --netem n.sh --trace t.csv --duration 1200",
        "links lab.toml --netem t.csv --trace n.sh --duration 1200",
        "links --code ccsds-c2 --plot c.png",
    ):
        assert CliRunner().invoke(main, words.split()).exit_code == 2
        done = CliRunner().invoke(main, [*words.split(), "--force"])
        assert done.exit_code == 0, (words, done.stderr)
    assert load_run(home / "run").meta["seeds"] == [8]
    assert sorted(path.name for path in (home / "run").iterdir()) == [
        "SHA256SUMS",
        "chunks.parquet",
        "links.parquet",
        "run.json",
        "samples.parquet",
        "scenario.toml",
        "trials.parquet",
    ]


def test_a_video_of_dstcc_that_is_the_source_stays(home: Path) -> None:
    """What was made by play and is cut into layers again is an input like any other."""
    for words in (
        f"encode earth.mp4 -o again {' '.join(ENCODE)}",
        "emulate film.toml --set video.stream=again -o second --no-quality",
        "play second -o fresh.mp4",
        "play second -o fresh.mp4 --force",
    ):
        done = CliRunner().invoke(main, words.split())
        assert done.exit_code == 0, done.stderr
    refused(home, "play second -o earth.mp4", "earth.mp4: is what the command reads")


@pytest.mark.usefixtures("undrawn")
def test_a_report_may_lie_beside_the_tables(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", RunSpec(congestion=("cubic",), chunks=4, seeds=(1,)))
    for force in ([], ["--force"]):
        assert (
            CliRunner().invoke(main, ["report", str(run), "-o", str(run / "r.html"), *force]).exit_code == 0
        )


def test_a_training_is_never_in_the_place_of_something_else(home: Path) -> None:
    pytest.importorskip("torch")
    before = digest(home)
    for words, message in (
        ("train s.toml -o s.toml", "s.toml: already exists; --resume continues"),
        ("train s.toml -o video", "video: already exists; --resume continues"),
        ("train s.toml -o video --resume", "video: holds no checkpoint of dstcc train"),
        ("train s.toml -o s.toml --resume", "s.toml: "),
        ("train s.toml -o run --resume", "run: holds no checkpoint of dstcc train"),
    ):
        done = CliRunner().invoke(main, words.split())
        assert (done.exit_code, message in done.stderr) == (2, True), (words, done.stderr, done.exception)
    assert digest(home) == before


def test_a_dry_run_asks_nothing_of_the_output(home: Path) -> None:
    done = CliRunner().invoke(main, ["emulate", "s.toml", "-o", "s.toml", "--dry-run", "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)
