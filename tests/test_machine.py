"""The machine that a run is made on, and where its program came from."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dstcc import machine as module
from dstcc.machine import cores, git_commit, machine


def test_the_machine_is_that_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    info = "processor\t: 0\nmodel name\t: Some Chip: 3 GHz \nmodel name\t: Another\n"
    monkeypatch.setattr(Path, "read_text", lambda *_args, **_keys: info)
    assert machine() == {
        "system": platform.system(),
        "release": platform.release(),
        "architecture": platform.machine(),
        "processor": "Some Chip: 3 GHz",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    monkeypatch.setattr(Path, "read_text", lambda *_args, **_keys: "Hardware: none\n")
    assert machine()["processor"] == ""

    def missing(*_args: object, **_keys: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert machine()["processor"] == platform.processor()


def test_a_commit_is_that_of_the_source_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "dstcc"
    package.mkdir()
    monkeypatch.setattr(module, "__file__", str(package / "machine.py"))
    assert git_commit() is None, "it is installed"
    (tmp_path / ".git").mkdir()
    asked: list[Any] = []

    def said(command: list[str], **_keys: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, stdout="abc\n")

    monkeypatch.setattr(subprocess, "run", said)
    assert git_commit() == "abc"
    assert asked == [["git", "-C", str(tmp_path), "rev-parse", "HEAD"]]

    def fails(command: list[str], **keys: object) -> subprocess.CompletedProcess[str]:
        assert keys["check"] is True and keys["capture_output"] is True and keys["text"] is True
        raise subprocess.CalledProcessError(128, command)

    monkeypatch.setattr(subprocess, "run", fails)
    assert git_commit() is None


@pytest.mark.parametrize(("said", "count"), [(7, 7), (1, 1), (None, 1)])
def test_a_machine_has_a_core_at_least(monkeypatch: pytest.MonkeyPatch, said: int | None, count: int) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: said)
    assert cores() == count
