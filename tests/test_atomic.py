from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from dstcc import atomic
from dstcc.atomic import atomic_directory, atomic_write
from dstcc.errors import InputError
from dstcc.outputs import Kind, stranger

OWN = Kind("a run", lambda path: stranger(path, {"x", "old", "new"}), folder=True)
NOTE = Kind("a note", lambda path: None if path.read_text() == "old" else "is not the old note")


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

    monkeypatch.setattr(os, "fsync", full)
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
    with pytest.raises(error), atomic_directory(target, replaces=OWN) as folder:
        (folder / "x").write_text("new")
        raise error
    assert (target / "x").read_text() == "old"
    assert names(tmp_path) == ["run"]


@pytest.mark.parametrize("exchange", [True, False])
def test_its_own_is_replaced_with_or_without_the_atomic_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(atomic, "_rename", lambda _one, _other, _flags: False)
    target = tmp_path / "run"
    target.mkdir()
    (target / "old").write_text("")
    with atomic_directory(target, replaces=OWN) as folder:
        (folder / "new").write_text("")
    assert names(target) == ["new"]
    assert names(tmp_path) == ["run"]


def test_each_new_folder_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(atomic, "_fsync_folder", synced.append)
    (tmp_path / "a").mkdir()
    atomic.make_folder(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").is_dir()
    assert sorted(synced) == [tmp_path / "a", tmp_path / "a" / "b"]
    synced.clear()
    atomic.make_folder(tmp_path / "a" / "b" / "c")
    assert synced == [tmp_path / "a" / "b"], "whoever made it"
    synced.clear()
    with atomic_directory(tmp_path / "run") as folder:
        (folder / "below").mkdir()
    assert synced[-1] == tmp_path and {path.name for path in synced[:-1]} >= {"below"}
    (tmp_path / "file").write_text("")
    synced.clear()
    for _ in range(2):
        atomic.remove_file(tmp_path / "file")
    assert synced == [tmp_path] * 2 and not (tmp_path / "file").exists()


def test_where_there_is_no_such_rename_a_plain_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "_rename", lambda _one, _other, _flags: False)
    with atomic_directory(tmp_path / "run") as folder:
        (folder / "new").write_text("")
    atomic.atomic_write(tmp_path / "file", "text")
    assert names(tmp_path / "run") == ["new"] and (tmp_path / "file").read_text() == "text"
    assert names(tmp_path) == ["file", "run"]


def test_what_is_there_stays_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="already exists"), atomic_directory(tmp_path):
        pass


@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize("mine", ["notes.txt", "x"])
def test_what_appears_meanwhile_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool, mine: str
) -> None:
    """A folder that was free when the work began, or its own: at the end it is looked at again."""
    if not exchange:
        monkeypatch.setattr(atomic, "_rename", lambda _one, _other, _flags: False)
    target = tmp_path / "run"
    replaces = OWN if mine == "notes.txt" else None
    with pytest.raises(InputError), atomic_directory(target, replaces=replaces) as folder:
        (folder / "new").write_text("")
        target.mkdir()
        (target / mine).write_text("mine")
    assert (target / mine).read_text() == "mine"
    assert names(tmp_path) == ["run"]


def test_what_is_added_in_the_last_moment_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the last look and the swap of the names somebody writes into the old folder: it comes back."""
    target = tmp_path / "run"
    target.mkdir()
    (target / "old").write_text("")
    swap = atomic._rename

    def late(one: Path, other: Path, flags: int) -> bool:
        if flags == atomic.RENAME_EXCHANGE and (target / "old").exists():
            (target / "notes.txt").write_text("mine")
        return swap(one, other, flags)

    monkeypatch.setattr(atomic, "_rename", late)
    with (
        pytest.raises(InputError, match=f"{target}: notes"),
        atomic_directory(target, replaces=Kind("a run", lambda path: stranger(path, {"old"}), folder=True)),
    ):
        pass
    assert names(target) == ["notes.txt", "old"]
    assert names(tmp_path) == ["run"]


def test_a_swap_that_the_system_refuses_leaves_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "_rename", lambda _one, _other, _flags: False)
    target = tmp_path / "run"
    target.mkdir()
    (target / "old").write_text("")
    plain = Path.rename

    def refused(self: Path, to: Path) -> Path:
        if to == target and self.suffix == ".tmp":
            raise OSError(5, "Input/output error")
        return plain(self, to)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(OSError, match="Input"), atomic_directory(target, replaces=OWN):
        pass
    assert names(target) == ["old"]
    assert names(tmp_path) == ["run"]


def test_a_file_is_replaced_if_it_is_of_its_kind(tmp_path: Path) -> None:
    target = tmp_path / "note"
    atomic_write(target, "old", replaces=None)
    with pytest.raises(InputError, match="already exists"):
        atomic_write(target, "newer", replaces=None)
    atomic_write(target, "new", replaces=NOTE)
    with pytest.raises(InputError, match="is not the old note"):
        atomic_write(target, "newer", replaces=NOTE)
    assert target.read_text() == "new"
    assert names(tmp_path) == ["note"]


def test_a_folder_above_a_link_is_where_the_link_leads(tmp_path: Path) -> None:
    """``link/../run`` lies beside what the link points to, as the system has it, not beside the link."""
    (tmp_path / "far" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "below")
    with atomic_directory(tmp_path / "link" / ".." / "run"):
        pass
    assert names(tmp_path) == ["far", "link"]
    assert names(tmp_path / "far") == ["below", "run"]


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
        with atomic_directory(tmp_path / "run", replaces=OWN) as second:
            assert first.exists()
            assert first != second
        shutil.rmtree(tmp_path / "run")
    monkeypatch.setattr(socket, "gethostname", lambda: "another machine")
    assert killed_writer(tmp_path / "deep").returncode == -9
    with atomic_directory(tmp_path / "deep" / "run"):
        pass
    assert len(names(tmp_path / "deep")) == 3, "a process id means nothing on another machine"


def test_a_store_of_thousands_is_not_looked_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write would otherwise list all that is there."""

    def listed(_path: Path) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr("dstcc.atomic._sweep", listed)
    atomic_write(tmp_path / "entry.json", "1", sweep=False)
    assert (tmp_path / "entry.json").read_text() == "1" and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(AssertionError):
        atomic_write(tmp_path / "entry.json", "2")
