"""``dstcc sweep``, ``query`` and ``report`` on a study, as a person calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from dstcc_cli.main import main
from dstcc_cli.sweep import duration_words, progress_line

from dstcc.sweeps.conduct import Progress
from tests.sweeps.made import STUDY, TRIALS, sweep, write


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write(tmp_path / "given")


def dstcc(*words: object, code: int = 0) -> str:
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code == code, done.output
    return done.output if code == 0 else done.stderr


def test_a_sweep_its_report_and_a_question(tmp_path: Path, study: Path) -> None:
    out = tmp_path / "out"
    said = json.loads(dstcc("sweep", study, "-o", out, "--jobs", 1, "--json"))
    assert {key: said[key] for key in ("sweep", "engine", "cells", "done", "failed", "skipped")} == {
        "sweep": "study",
        "engine": "local",
        "cells": 2,
        "done": TRIALS,
        "failed": 0,
        "skipped": 0,
    }
    assert f"{TRIALS} of {TRIALS} trials of 2 points" in dstcc("sweep", study, "-o", out)
    assert "wrote" in dstcc("report", out, "-o", tmp_path / "page.html")
    for ending in ("md", "csv", "json"):
        dstcc("report", out, "-o", tmp_path / f"page.{ending}")
    for ending in ("html", "md", "csv", "json"):
        dstcc("report", out, "-o", tmp_path / f"page.{ending}", "--force")
    count = "SELECT congestion, count(*) AS n, NULL AS nothing FROM trials GROUP BY ALL ORDER BY ALL"
    assert json.loads(dstcc("query", out, count, "--json"))[0] == {
        "congestion": "cubic",
        "n": 4,
        "nothing": None,
    }
    assert dstcc("query", out, count, "--format", "csv") == "congestion,n,nothing\ncubic,4,\nnewreno,4,\n"
    assert "newreno" in dstcc("query", out, count)
    assert "must be one SELECT, and is DROP" in dstcc("query", out, "DROP VIEW trials", code=2)
    assert "a page of its own" in dstcc("report", out, out, "-o", tmp_path / "two.html", code=2)


def test_workers_import_nothing_from_the_current_folder(
    tmp_path: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    for name in ("dstcc/__init__.py", "queue.py", "numpy.py"):
        (here / name).parent.mkdir(exist_ok=True, parents=True)
        (here / name).write_text("raise SystemExit('a stranger's file')")
    monkeypatch.chdir(here)
    assert json.loads(dstcc("sweep", study, "-o", tmp_path / "out", "--jobs", 2, "--json"))["done"] == TRIALS


def test_a_dry_run_measures_and_keeps_nothing(tmp_path: Path, study: Path) -> None:
    said = json.loads(dstcc("sweep", study, "-o", tmp_path / "out", "--dry-run", "--json"))
    assert (said["cells"], said["trials"], said["missing"], said["left_out"]) == (2, TRIALS, TRIALS, 0)
    assert said["measured"] == 4 and 0 <= said["low_s"] <= said["high_s"]
    assert not (tmp_path / "out").exists()
    assert "trials that were measured now" in dstcc("sweep", study, "--dry-run")


def test_a_dry_run_runs_nobodys_python(tmp_path: Path) -> None:
    study = write(tmp_path, STUDY.replace("seeds", 'congestion = "mine.py:Mine"\nseeds'))
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Mine:\n    pass\n")
    assert "its own Python is not run" in dstcc("sweep", study, "--dry-run", "--allow-extensions")
    assert not (tmp_path / "ran").exists()
    assert "runs only if you say so: --allow-extensions" in dstcc(
        "sweep", study, "-o", tmp_path / "out", code=2
    )


def test_merging(tmp_path: Path, study: Path) -> None:
    sweep(write(tmp_path / "half", STUDY.replace("seeds = 2", "seeds = 1")), tmp_path / "theirs")
    said = json.loads(dstcc("sweep", study, "-o", tmp_path / "out", "--merge", tmp_path / "theirs", "--json"))
    assert said == {"sweep": "study", "trials": TRIALS, "done": 4, "missing": 4}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("{study}",), "needs -o DIR, or --dry-run"),
        (("none.toml", "-o", "x"), "none.toml: no such study"),
        (("{study}", "-o", "{study}"), "is no folder"),
        (("{study}", "-o", "x", "--trial-limit", "-3"), "a time above 0"),
        (("{study}", "-o", "x", "--engine", "slrm"), "'slrm' is not"),
        (("{study}", "-o", "x", "--merge", "none"), "no study"),
        (("{study}", "-o", "x", "--tasks", "3"), "--script, --tasks and --slurm are of --engine slurm"),
        (("{study}", "-o", "x", "--engine", "slurm", "--address", "a:1"), "--address is of --engine ray"),
    ],
)
def test_mistakes(
    tmp_path: Path, study: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in dstcc("sweep", *(word.replace("{study}", str(study)) for word in words), code=2)


def test_a_script_for_slurm_is_printed_and_kept(tmp_path: Path, study: Path) -> None:
    out = tmp_path / "out"
    words = ("sweep", study, "-o", out, "--engine", "slurm", "--script", "--tasks", 2, "--jobs", 3)
    done = CliRunner().invoke(main, [*map(str, words), "--slurm", "--partition=long"])
    (kept,) = (out / "jobs").glob("*/job.sh")
    assert done.stdout == kept.read_text()
    assert done.stderr == f"dstcc: submit it with: sbatch {kept}\n"
    lines = done.stdout.splitlines()
    for line in ("#SBATCH --array=0-1", "#SBATCH --cpus-per-task=3", "#SBATCH --partition=long"):
        assert line in lines
    said = json.loads(dstcc(*words, "--json"))
    assert Path(said["script"]).parent.parent == out / "jobs" and said["script"] != str(kept)
    sweep(study, out)
    assert json.loads(dstcc(*words, "--json")) == {"script": None}
    assert CliRunner().invoke(main, list(map(str, words))).stderr == "dstcc: every trial has its result\n"


def test_failures_are_listed_up_to_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dstcc_cli.sweep.SHOWN_FAILURES", 1)
    study = write(tmp_path, STUDY.replace("seeds = 2", 'congestion = "bad.py:Bad"\nseeds = 1'))
    (tmp_path / "bad.py").write_text(
        "class Bad:\n    def __init__(self, setup):\n        raise ValueError('no')\n    def on_ack(self, view): ...\n"
    )
    out = tmp_path / "out"
    said = dstcc(
        "sweep", study, "-o", out, "--allow-extensions", "--retries", 1, "--jobs", 1, code=1
    ).splitlines()
    assert len([line for line in said if "failed 2 times: " in line]) == 1 and "ValueError: no" in said
    more, where = said[-2:]
    assert more == "dstcc: and 1 more" and where == f"dstcc: why, with tracebacks: {out / 'failed'}"


def test_progress_in_words() -> None:
    assert progress_line(Progress(100, 3, 0, None)) == "3 of 100 trials, no estimate yet"
    assert progress_line(Progress(100, 3, 2, (60, 600))) == "3 of 100 trials, 2 failed, 60 s to 10 min left"
    assert progress_line(Progress(100, 99, 0, (1.0, 1.2))) == "99 of 100 trials, about 1 s left"
    assert [duration_words(one) for one in (5, 300, 7200, 3e5)] == ["5 s", "5 min", "2.0 h", "3.5 d"]
