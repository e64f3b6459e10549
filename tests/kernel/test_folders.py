"""What lies in a folder that somebody else filled, and what of it stays."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from dstcc_kernel import folders
from dstcc_kernel.folders import below, bytes_below, keep_only_files, taken_below


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """Two files below a folder, and a link out of it to a large file and to a folder."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/large").write_bytes(bytes(1 << 20))
    home = tmp_path / "home"
    (home / "a/b").mkdir(parents=True)
    (home / "a/b/file").write_bytes(bytes(10_000))
    (home / "z").write_bytes(bytes(5_000))
    (home / "link").symlink_to(tmp_path / "outside/large")
    (home / "away").symlink_to(tmp_path / "outside")
    return home


def test_what_lies_there_is_counted_without_following_a_link(filled: Path) -> None:
    names = ["a", "a/b", "a/b/file", "away", "link", "z"]
    on_disk = sum(os.lstat(filled / name).st_blocks for name in names) * 512
    assert taken_below(filled) == (on_disk, len(names))
    assert bytes_below(filled) == on_disk < 1 << 20


def test_a_folder_that_cannot_be_read_hides_no_other(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def refused(path: str) -> object:
        if path.endswith("/a"):
            raise PermissionError(13, "refused", path)
        return scan(path)

    (filled / "y").mkdir()
    (filled / "y/inner").touch()
    monkeypatch.setattr(os, "scandir", refused)
    said: list[str] = []
    found = [entry.name for entry in below(filled, lambda error: said.append(str(error.filename)))]
    assert found == ["a", "away", "link", "y", "z", "inner"]
    assert said == [str(filled / "a")]


def test_an_entry_that_has_gone_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        def __init__(self, blocks: int | None) -> None:
            self.blocks = blocks

        def stat(self, *, follow_symlinks: bool) -> os.stat_result:
            assert not follow_symlinks
            if self.blocks is None:
                raise FileNotFoundError
            return os.stat_result((0,) * 10, {"st_blocks": self.blocks})

    monkeypatch.setattr(folders, "below", lambda *_: iter((Entry(1), Entry(None), Entry(4))))
    assert taken_below(Path()) == (5 * 512, 3)


@pytest.mark.parametrize("right", [stat.S_ISUID, stat.S_ISGID, stat.S_ISVTX])
def test_special_rights_go_and_others_stay(filled: Path, right: int) -> None:
    special, plain = filled / "a/b/file", filled / "z"
    special.chmod(right | 0o751)
    plain.chmod(0o751)
    untouched = plain.stat().st_ctime_ns
    keep_only_files(filled)
    assert stat.S_IMODE(special.stat().st_mode) == 0o751
    assert (stat.S_IMODE(plain.stat().st_mode), plain.stat().st_ctime_ns) == (0o751, untouched)


def test_a_link_goes_and_what_it_leads_to_stays(filled: Path) -> None:
    outside = filled.parent / "outside/large"
    outside.chmod(0o4755)
    os.mkfifo(outside.parent / "pipe")
    os.mkfifo(filled / "a/pipe")
    keep_only_files(filled)
    assert sorted(entry.name for entry in below(filled)) == ["a", "b", "file", "z"]
    assert stat.S_IMODE(outside.stat().st_mode) == 0o4755
    assert (outside.parent / "pipe").is_fifo()


def test_names_that_are_left_out_keep_what_they_are(filled: Path) -> None:
    keep_only_files(filled, but=("link", "away"))
    assert (filled / "link").is_symlink() and (filled / "away").is_symlink()


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        (FileNotFoundError(2, "x"), True),
        (NotADirectoryError(20, "x"), True),
        (PermissionError(13, "x"), False),
    ],
)
def test_what_cannot_be_looked_into_is_not_counted_as_empty(
    error: OSError, counts: bool, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for what has gone meanwhile."""
    scan = os.scandir

    def refused(path: str) -> object:
        if path.endswith("/a"):
            raise error
        return scan(path)

    monkeypatch.setattr(os, "scandir", refused)
    if counts:
        assert taken_below(filled)[1] == 4
    else:
        with pytest.raises(PermissionError):
            taken_below(filled)


def test_a_folder_gets_its_owners_rights_and_a_file_keeps_what_it_has(filled: Path) -> None:
    (filled / "z").chmod(0)
    for name in ("a/b", "a"):
        (filled / name).chmod(0o050)
    keep_only_files(filled)
    assert [stat.S_IMODE((filled / name).stat().st_mode) for name in ("a", "a/b", "z")] == [0o750, 0o750, 0]
