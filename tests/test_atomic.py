from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dstcc import atomic
from dstcc.atomic import atomic_directory, atomic_write
from dstcc.errors import InputError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_write_replaces_the_whole_file(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    atomic_write(target, "old and long")
    atomic_write(target, b"new")
    assert target.read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


def test_a_write_that_fails_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.txt"
    atomic_write(target, "old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        atomic_write(target, "new")
    assert target.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_directory_appears_only_when_complete(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "run"
    with atomic_directory(target) as folder:
        (folder / "x").write_text("1")
        assert not target.exists()
    assert (target / "x").read_text() == "1"
    assert names(target.parent) == ["run"]
    assert target.stat().st_mode & 0o500 == 0o500


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, OSError])
def test_directory_keeps_the_old_one_on_any_exception(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "run"
    with atomic_directory(target) as folder:
        (folder / "x").write_text("old")
    with pytest.raises(error), atomic_directory(target, force=True) as folder:
        (folder / "x").write_text("new")
        raise error
    assert (target / "x").read_text() == "old"
    assert names(tmp_path) == ["run"]


@pytest.mark.parametrize("exchange", [True, False])
def test_force_replaces_with_or_without_the_atomic_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(atomic, "_exchange", lambda _one, _other: False)
    target = tmp_path / "run"
    target.mkdir()
    (target / "old").write_text("")
    with atomic_directory(target, force=True) as folder:
        (folder / "new").write_text("")
    assert names(target) == ["new"]
    assert names(tmp_path) == ["run"]


def test_force_replaces_a_file_too(tmp_path: Path) -> None:
    target = tmp_path / "run"
    target.write_text("a file")
    with atomic_directory(target, force=True) as folder:
        (folder / "new").write_text("")
    assert names(target) == ["new"]
    assert names(tmp_path) == ["run"]


def test_existing_path_is_refused_naming_force(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"already exists; --force"), atomic_directory(tmp_path):
        pass


def test_a_file_as_parent_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="not a folder"), atomic_directory(tmp_path / "file" / "run"):
        pass


def killed_writer(folder: Path) -> subprocess.CompletedProcess[str]:
    """Leave a half-written folder and a half-written file behind, as SIGKILL does."""
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom dstcc.atomic import atomic_directory, atomic_file\n"
        "folder = Path(sys.argv[1])\nfolder.mkdir(exist_ok=True)\n"
        "with atomic_directory(folder / 'run') as run, atomic_file(folder / 'run.html') as page:\n"
        "    (run / 'half').touch()\n    page.write_text('half')\n    os.kill(os.getpid(), 9)"
    )
    return subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=False)


def test_what_a_killed_process_left_goes_with_the_next_write_of_the_same_target(tmp_path: Path) -> None:
    assert killed_writer(tmp_path).returncode == -9
    assert len(names(tmp_path)) == 2
    with atomic_directory(tmp_path / "other"):
        pass
    assert len(names(tmp_path)) == 3, "what others left is not touched"
    with atomic_directory(tmp_path / "run"):
        pass
    assert sorted(name[:9] for name in names(tmp_path)) == [".run.html", "other", "run"]
    atomic_write(tmp_path / "run.html", "whole")
    assert names(tmp_path) == ["other", "run", "run.html"]


def test_writers_at_work_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with atomic_directory(tmp_path / "run") as first:
        with atomic_directory(tmp_path / "run", force=True) as second:
            assert first.exists()
            assert first != second
        shutil.rmtree(tmp_path / "run")
    monkeypatch.setattr(atomic.socket, "gethostname", lambda: "another machine")
    assert killed_writer(tmp_path / "deep").returncode == -9
    with atomic_directory(tmp_path / "deep" / "run"):
        pass
    assert len(names(tmp_path / "deep")) == 3, "a process id means nothing on another machine"
