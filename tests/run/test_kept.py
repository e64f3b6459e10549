"""An interrupted run goes on with its finished trials, and its tables are then those of a run that nobody stopped."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dstcc import engine
from dstcc.errors import InputError, RunError
from dstcc.run import directory, load_run, write_run
from dstcc.run.kept import kept_folder, kept_trials
from dstcc.scenario import load_scenario, load_source, parse_override
from tests.apart import dstcc
from tests.made_results import toy_simulate

TABLES = ("trials", "chunks", "samples", "links")


def run(
    path: Path,
    scenario_file: Path,
    *overrides: str,
    stop_after: int | None = None,
    jobs: int = 1,
    resume: bool = False,
    force: bool = False,
    quality: bool = True,
    logs: frozenset[str] = frozenset(),
) -> None:
    """Write a run that keeps its trials; ``stop_after`` so many of them Ctrl-C stops it."""
    scenario = load_scenario(scenario_file, [parse_override(text) for text in overrides])
    left = [stop_after]

    def advance() -> None:
        if left[0] is not None:
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt

    write_run(
        path,
        scenario,
        load_source(scenario),
        argv=["dstcc"],
        keep=True,
        jobs=jobs,
        advance=advance,
        resume=resume,
        force=force,
        quality=quality,
        logs=logs,
    )


def tables(path: Path) -> dict[str, bytes]:
    return {name: (path / f"{name}.parquet").read_bytes() for name in TABLES}


@pytest.fixture
def stopped(tmp_path: Path, scenario_file: Path, toy: None) -> Path:
    """A run of four trials that was stopped after two."""
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", scenario_file, stop_after=2)
    return tmp_path / "run"


@pytest.mark.parametrize("done", [1, 2, 3, 4])
def test_the_tables_are_the_same_bytes(tmp_path: Path, scenario_file: Path, toy: None, done: int) -> None:
    run(tmp_path / "whole", scenario_file)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", scenario_file, stop_after=done)
    assert not (tmp_path / "run").exists()
    assert kept_trials(tmp_path / "run") == done
    run(tmp_path / "run", scenario_file, resume=True)
    assert tables(tmp_path / "run") == tables(tmp_path / "whole")
    assert not kept_folder(tmp_path / "run").exists()


def test_packet_logs_of_kept_trials_are_there_in_the_end(tmp_path: Path, scenario_file: Path) -> None:
    logs = frozenset({"qlog", "pcapng"})

    def written(path: Path) -> dict[str, bytes]:
        return {
            file.name: file.read_bytes() for file in path.iterdir() if file.suffix in (".qlog", ".pcapng")
        }

    run(tmp_path / "whole", scenario_file, logs=logs)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", scenario_file, stop_after=2, logs=logs)
    with pytest.raises(InputError, match="logs was 2 of them and is"):
        run(tmp_path / "run", scenario_file, resume=True)
    run(tmp_path / "run", scenario_file, resume=True, logs=logs)
    assert written(tmp_path / "run") == written(tmp_path / "whole")
    assert len(written(tmp_path / "run")) == 4 * 3  # a qlog and a capture of each end a trial
    assert not kept_folder(tmp_path / "run").exists()


def test_what_was_said_of_kept_trials_is_said_in_the_end(
    tmp_path: Path, scenario_file: Path, toy: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once each, in the order of the trials."""
    monkeypatch.setattr(directory, "write_logs", lambda _folder, trial, *_: [f"{trial} is cut short"])
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", scenario_file, stop_after=2)
    run(tmp_path / "run", scenario_file, resume=True)
    made = load_run(tmp_path / "run")
    said = [note for note in made.meta["warnings"] if "cut short" in note]
    assert said == [f"{trial['id']} is cut short" for trial in made.trials]


def test_finished_trials_do_not_run_again(
    stopped: Path, scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def counted(config: engine.EngineConfig) -> engine.EngineResult:
        seen.append(config)
        return toy_simulate(config)

    monkeypatch.setattr(engine, "simulate", counted)
    run(stopped, scenario_file, resume=True)
    assert len(seen) == 2


def test_a_second_interrupt_keeps_what_came_since(stopped: Path, scenario_file: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(stopped, scenario_file, resume=True, stop_after=3)
    assert kept_trials(stopped) == 3


def test_another_run_is_refused(stopped: Path, scenario_file: Path) -> None:
    said = (
        r"run: the completed trials are of another run: scenario was .*\. What began them \(the same command and "
        r"version\) continues with them"
    )
    with pytest.raises(InputError, match=said):
        run(stopped, scenario_file, "link.0.loss.packet=1e-2", resume=True)
    assert kept_trials(stopped) == 2


def test_more_seeds_go_on_with_the_kept_ones(tmp_path: Path, stopped: Path, scenario_file: Path) -> None:
    """A trial is found by its hash: the two that were kept are the first two of the six."""
    with pytest.raises(KeyboardInterrupt):
        run(stopped, scenario_file, "run.seeds=3", resume=True, stop_after=3)
    assert kept_trials(stopped) == 3
    run(stopped, scenario_file, "run.seeds=3", resume=True)
    run(tmp_path / "whole", scenario_file, "run.seeds=3")
    assert tables(stopped) == tables(tmp_path / "whole")


def test_another_commit_and_other_options_are_refused(
    stopped: Path, scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="quality was True and is False"):
        run(stopped, scenario_file, resume=True, quality=False)
    monkeypatch.setattr("dstcc.run.directory.git_commit", lambda: "beef")
    with pytest.raises(InputError, match=r"git commit was .* and is beef"):
        run(stopped, scenario_file, resume=True)


def test_kept_trials_are_neither_used_nor_dropped_unasked(stopped: Path, scenario_file: Path) -> None:
    with pytest.raises(
        InputError, match="run: an interrupted run has left 2 completed trials next to it: --resume"
    ):
        run(stopped, scenario_file)
    assert kept_trials(stopped) == 2
    run(stopped, scenario_file, "run.seeds=1", force=True)
    assert stopped.exists() and not kept_folder(stopped).exists()


def test_resume_of_nothing_is_a_run(tmp_path: Path, scenario_file: Path, toy: None) -> None:
    run(tmp_path / "run", scenario_file, resume=True)
    assert (tmp_path / "run").is_dir() and not kept_folder(tmp_path / "run").exists()


def test_two_processes_do_not_keep_the_same_run(stopped: Path, scenario_file: Path) -> None:
    with (kept_folder(stopped) / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="run: another process is writing this run"):
            run(stopped, scenario_file, resume=True)
    run(stopped, scenario_file, resume=True)


@pytest.mark.parametrize("hidden", ["run.json", "-chunks.arrow"])
def test_a_broken_disk_is_said_of_the_run(
    tmp_path: Path, scenario_file: Path, toy: None, monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    """The user gave the run's path, and no other: neither the kept identity's nor a kept trial's."""

    def broken(handle: int) -> None:
        path = str(Path(f"/proc/self/fd/{handle}").readlink())
        if ".run.kept/" in path and hidden in path:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="Input/output error") as caught:
        run(tmp_path / "run", scenario_file)
    assert caught.value.filename == str(tmp_path / "run")


@pytest.mark.parametrize("name", ["??/*[0-9a-f].json", "??/*-chunks.arrow", "run.json"])
def test_a_damaged_file_is_named(stopped: Path, scenario_file: Path, name: str) -> None:
    damaged = min(kept_folder(stopped).glob(name))
    damaged.write_bytes(b"\x00")
    with pytest.raises(RunError, match=rf"{damaged.name}: (damaged|not JSON)"):
        run(stopped, scenario_file, resume=True)


def test_failed_trials_run_again(
    tmp_path: Path, scenario_file: Path, toy: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: engine.EngineConfig) -> engine.EngineResult:
        raise RuntimeError("today only")

    with monkeypatch.context() as patch:
        patch.setattr(engine, "simulate", fail)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "run", scenario_file, stop_after=2)
    assert not kept_folder(tmp_path / "run").exists()


def test_a_killed_command_goes_on(tmp_path: Path, scenario_file: Path) -> None:
    """The real command, interrupted with trials kept, leaves no run; nor does the one that goes on and is killed.
    The next --resume makes the run that nobody stopped."""
    words = [sys.executable, "-m", "dstcc_cli", "emulate", str(scenario_file), "--seeds", "25", "--jobs", "1"]
    assert dstcc(*words[3:], "-o", tmp_path / "whole").returncode == 0
    command = [*words, "-o", str(tmp_path / "run")]
    said = stopped_by(signal.SIGINT, command, lambda: kept_trials(tmp_path / "run") >= 3)
    assert "of 50 trials are kept; to continue: dstcc emulate " in said
    assert f"{tmp_path / 'run'} --resume\n" in said
    kept = kept_trials(tmp_path / "run")
    stopped_by(signal.SIGKILL, [*command, "--resume"], lambda: kept_trials(tmp_path / "run") > kept)
    assert not (tmp_path / "run").exists()
    assert dstcc(*command[3:], "--resume").returncode == 0
    assert tables(tmp_path / "run") == tables(tmp_path / "whole")
    assert "--resume" not in (tmp_path / "run" / "run.json").read_text()


def stopped_by(number: signal.Signals, command: list[str], ready: Callable[[], bool]) -> str:
    """Send a signal to a command as soon as it is ready for it; what it says on stderr."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        wait_until(ready)
        os.kill(process.pid, number)
        said = process.communicate(timeout=60)[1]
    assert process.returncode != 0
    return said


def wait_until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.02)
