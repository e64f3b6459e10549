"""``make clean``: what the targets made goes, what somebody put beside it stays."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MADE = {
    ".venv/.ready": "",
    ".venv/bin/python": "",
    "demo/stream/manifest.json": "{}",
    "demo/stream/payload/000000-0.bin": "",
    "demo/run/run.json": '{"dstcc_version": "0.1.0"}',
    "demo/run/trials.parquet": "",
    "demo/report.html": '<meta name="generator" content="dstcc 0.1.0">',
    "demo/run/links.parquet": "",
    "demo/earth.mp4": "moov dstcc play 0.1.0",
    "demo/earth-cubic.mp4": "moov dstcc play 0.1.0",
    "build/bench.json": "{}",
    "build/temp.linux/a.o": "",
    "dstcc/engine/_engine.cpython-311.so": "",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree in which everything has been made."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "clean.sh", tmp_path / "scripts")
    put(tmp_path, MADE)
    return tmp_path


def put(tree: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)


def clean(tree: Path, *, venv: str = ".venv", demo: str = "demo") -> str:
    words = [str(tree / "scripts" / "clean.sh"), venv, demo]
    return subprocess.run(words, capture_output=True, text=True, check=True).stderr


def left(tree: Path) -> set[str]:
    return {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()} - {"scripts/clean.sh"}


def test_all_that_was_made_goes(tree: Path) -> None:
    assert clean(tree) == ""
    assert left(tree) == set()
    assert not any((tree / name).exists() for name in (".venv", "demo", "build"))
    assert clean(tree) == ""


def test_what_somebody_put_beside_it_stays(tree: Path) -> None:
    mine = {
        "demo/notes.txt": "",
        "demo/stream/payload/cover.png": "",
        "demo/run/thesis.md": "",
        "demo/earth-wedding.mp4": "the only copy",
        "build/results.csv": "",
        "dist/dstcc-0.1.0.whl": "",
        "dstcc/engine/mine.so": "",
        "runs/mars/run.json": '{"dstcc_version": "0.1.0"}',
    }
    put(tree, mine)
    said = clean(tree)
    assert left(tree) - {"demo/stream/manifest.json"} == mine.keys()
    assert "demo stays" in said and "build stays" in said


def test_another_folder_named_as_the_environment_or_the_demo_stays(tree: Path) -> None:
    put(tree, {"home/project.py": "", "home/report.html": "<p>mine", "home/run/run.json": "{}"})
    said = clean(tree, venv="home", demo=str(tree / "home"))
    assert {"home/project.py", "home/report.html", "home/run/run.json"} <= left(tree)
    assert "home stays, it is no environment" in said
