"""Commands killed, or refused by the disk, at random calls: nothing torn, nothing lost, the same bytes afterwards.

``make crash POINTS=1000`` strikes more of them, and every command.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.atomic import atomic_directory, atomic_file, atomic_write

from .commands import COMMANDS
from .points import start, unflushed


def test_random_points_of_two_commands() -> None:
    done = start(["export csv", "emulate", "-n", "4", "--seed", "7"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 points of export csv, emulate: 0 findings" in done.stdout


def test_allocations_that_fail() -> None:
    done = start(["emulate", "-n", "8", "--seed", "1", "--memory"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 points of emulate: 0 findings" in done.stdout
    assert " with 1" in done.stdout  # some ended a command


@pytest.mark.slow
def test_allocations_that_fail_in_every_command() -> None:
    done = start(["-n", "200", "--seed", "2", "--memory"])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_random_points_of_every_command() -> None:
    done = start(["-n", "160", "--seed", "3"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"160 points of {', '.join(COMMANDS)}: 0 findings" in done.stdout


def test_what_is_not_flushed_is_found() -> None:
    log = [("write", "/a/x", ""), ("fsync", "/a/x", ""), ("write", "/a/y", ""), ("rename", "/a", "/b")]
    assert unflushed(log) == ["/b/y"]
    assert unflushed([*log[:3], ("fsync", "/a/y", ""), log[3]]) == []


def test_what_a_library_renames_within_a_hidden_sibling_is_still_to_be_flushed() -> None:
    log = [("write", "/.a.tmp/.x", ""), ("rename", "/.a.tmp/.x", "/.a.tmp/x"), ("rename", "/.a.tmp", "/a")]
    assert unflushed(log) == ["/a/x"]
    assert unflushed([*log[:2], ("fsync", "/.a.tmp/x", ""), log[2]]) == []


@pytest.mark.parametrize("number", [28, 13, 5], ids=["ENOSPC", "EACCES", "EIO"])
def test_an_error_of_the_disk_names_the_path_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Libraries raise without a name, or with that of the hidden sibling."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError) as caught, atomic_directory(Path("run")):
        raise OSError(number, "Error writing bytes to file")
    assert caught.value.filename == "run" and caught.value.errno == number
    with pytest.raises(OSError) as caught, atomic_file(Path("page.html")) as temporary:
        raise OSError(number, "x", str(temporary))
    assert caught.value.filename == "page.html"
    with pytest.raises(OSError) as caught, atomic_directory(Path("run")):
        atomic_write(tmp_path / ".run.kept" / "trial", b"1")
    assert caught.value.errno == 2  # not of writing: as it is
    with pytest.raises(OSError) as caught, atomic_directory(Path("run")):
        raise OSError(number, "x", "/elsewhere/input.bin")
    assert caught.value.filename == "/elsewhere/input.bin"
    assert list(tmp_path.iterdir()) == []
