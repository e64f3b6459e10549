"""What an end host leaves in its folder, and what becomes of it on the machine's disk: no guest is needed for that."""

from __future__ import annotations

import errno
import os
import stat
from itertools import chain
from pathlib import Path

import pytest
from dstcc_kernel.endhosts import keeping
from dstcc_kernel.endhosts.keeping import DEEP, NAMELESS, PLAIN, _copied, _Disk, copy_sparse, keep
from dstcc_kernel.folders import LONGEST_PATH, below, bytes_below, keep_only_files
from dstcc_kernel.remains import remove

MB = 1 << 20


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        ((0, b"begin"),),
        ((3 * MB, b"end"),),
        ((0, b"begin"), (2 * MB, b"m" * MB), (5 * MB, b"end")),
    ],
)
@pytest.mark.parametrize("behind", [0, 4 * MB])
def test_a_copy_has_the_bytes_and_the_holes(
    pieces: tuple[tuple[int, bytes], ...], behind: int, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    with whole.open("wb") as file:
        for at, data in pieces:
            file.seek(at)
            file.write(data)
        file.truncate(file.tell() + behind)
    copy_sparse(whole, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == whole.read_bytes()
    assert (tmp_path / "copy").stat().st_blocks <= whole.stat().st_blocks


def test_a_file_that_becomes_shorter_is_copied_as_far_as_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, seek = tmp_path / "whole", os.lseek
    whole.write_bytes(b"beginning")

    def shortened(handle: int, at: int, whence: int) -> int:
        found = seek(handle, at, whence)
        if whence == os.SEEK_HOLE:
            os.truncate(whole, 5)
        return found

    monkeypatch.setattr(os, "lseek", shortened)
    copy_sparse(whole, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"begin" + bytes(4)


def names(folder: Path) -> list[str]:
    """Of what is in it."""
    return sorted(path.name for path in folder.iterdir())


def kept(path: Path, within: str, to: Path, disk: _Disk | None = None) -> str | None:
    """What is said of one entry of a folder, on a disk of one MB that has no room left."""
    (entry,) = (one for one in os.scandir(path.parent) if one.name == path.name)
    return _copied(entry, within, to, disk or _Disk(1, 0))


def test_a_file_has_as_many_names_as_the_disk_has_room_for(tmp_path: Path) -> None:
    # Three further names of a file of 64 kB are copies; there is room for two of them.
    home, to = tmp_path / "home", tmp_path / "to"
    home.mkdir()
    to.mkdir()
    (home / "a").write_bytes(b"x" * 65_536)
    for name in "bcd":
        (home / name).hardlink_to(home / "a")
    (home / "other").write_bytes(b"x" * 65_536)
    taken, more = (
        (home / "a").stat().st_blocks * 512,
        "further names, whose files are more than --disk (1 MB)",
    )
    for room, said in (
        (2 * taken, [None, None, None, more, None]),
        (2 * taken - 1, [None, None, more, more, None]),
    ):
        disk = _Disk(1, room)
        assert [kept(home / name, name, to, disk) for name in ("a", "b", "c", "d", "other")] == said
        remove(to)
        to.mkdir()


def test_holes_of_a_further_name_take_no_room(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home/a").touch()
    os.truncate(tmp_path / "home/a", MB)
    (tmp_path / "home/b").hardlink_to(tmp_path / "home/a")
    disk = _Disk(1, 1024)
    assert [kept(tmp_path / "home" / name, name, tmp_path / "to", disk) for name in "ab"] == [None, None]


def test_files_and_folders_are_kept_and_all_else_is_named(tmp_path: Path) -> None:
    home, to = tmp_path / "home", tmp_path / "to"
    home.mkdir()
    to.mkdir()
    (home / "file").write_text("text")
    (home / "file").chmod(0o6751)
    os.utime(home / "file", ns=(5, 1_000_000_007))
    (home / "secret").write_text("x")
    (home / "secret").chmod(0o000)
    (home / "folder").mkdir()
    (home / "link").symlink_to("/etc/passwd")
    os.mknod(home / "socket", stat.S_IFSOCK | 0o600)  # a pipe would hold up who opens it
    (home / "long").touch()
    os.truncate(home / "long", MB + 1)
    (home / "just").touch()
    os.truncate(home / "just", MB)
    said = {name: kept(home / name, name, to) for name in names(home)}
    assert said == {
        "file": None,
        "folder": None,
        "just": None,
        "link": PLAIN,
        "long": "longer than --disk (1 MB)",
        "secret": None,
        "socket": PLAIN,
    }
    assert names(to) == ["file", "folder", "just", "secret"]
    status = (to / "file").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_mtime_ns) == (0o751, 1_000_000_007)
    assert stat.S_IMODE((to / "secret").stat().st_mode) == 0o600


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An end host's folder, beside the run's, as a guest has them."""
    monkeypatch.setattr(keeping, "folder_of", lambda name: tmp_path / "run" / name)
    monkeypatch.setattr(keeping, "AT", tmp_path / "at")
    (tmp_path / "at").mkdir()
    (tmp_path / "run/craft/tmp").mkdir(parents=True)
    return tmp_path / "run/craft"


def test_all_of_an_end_hosts_folder_is_kept_but_an_empty_tmp(home: Path, tmp_path: Path) -> None:
    (home / "a/b").mkdir(parents=True)
    (home / "a/b/file").write_text("text")
    assert keep("craft", 1) == {}
    assert [os.path.relpath(one.path, tmp_path) for one in below(tmp_path / "at")] == [
        *("at/craft", "at/craft/a", "at/craft/a/b", "at/craft/a/b/file")
    ]


def test_a_tmp_that_is_in_use_is_kept_too(home: Path, tmp_path: Path) -> None:
    (home / "tmp/file").write_text("text")
    assert keep("craft", 1) == {}
    assert names(tmp_path / "at/craft/tmp") == ["file"]


def test_the_disks_room_is_what_its_file_system_has(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A further name of a file of 64 kB, on disks with 128 kB, in blocks of 1 kB, and with 32."""
    for name in ("a", "b"):
        (home / name).write_bytes(b"x" * 65_536) if name == "a" else (home / name).hardlink_to(home / "a")
    for blocks, left in ((128, []), (32, ["craft/b"])):
        free = os.statvfs_result((4096, 1024, 10**6, 10**6, blocks, 0, 0, 0, 0, 255))
        monkeypatch.setattr(os, "statvfs", lambda _, free=free: free)
        assert list(chain(*keep("craft", 1).values())) == left
        remove(tmp_path / "at/craft")
        (home / "tmp").mkdir()


def test_what_is_left_out_is_named_by_its_reason(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that cannot be read, files that cannot be copied, names that a terminal would obey or that are long."""
    scan = os.scandir

    def refused(path: str) -> object:
        if os.fspath(path).endswith("/closed"):
            raise PermissionError(errno.EACCES, "refused", path)
        return scan(path)

    def copied(source: Path, _to: Path) -> None:
        raise OSError(*((errno.EIO, "x") if source.name == "broken" else ("no number",)))

    (home / "closed").mkdir()
    (home / "a\x1b[2J\n").mkdir()
    os.mknod(home / "a\x1b[2J\n/socket", stat.S_IFSOCK)
    long = "n" * 150
    (home / long).mkdir()
    for length in (43, 44):  # "craft/" + 150 + "/" + 43 are 200
        os.mknod(home / long / ("p" * length), stat.S_IFSOCK)
    (home / "broken").touch()
    (home / "odd").touch()
    monkeypatch.setattr(os, "scandir", refused)
    monkeypatch.setattr(keeping, "copy_sparse", copied)
    assert keep("craft", 1) == {
        "Permission denied": ["craft/closed"],
        os.strerror(errno.EIO): ["craft/broken", "craft/odd"],
        PLAIN: [
            "craft/a\\x1b[2J\\n/socket",
            f"craft/{long}/{'p' * 43}",
            f"craft/{long}/{'p' * 40}...",
        ],
    }


def test_a_disk_that_is_full_is_no_file_that_is_left_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_source: Path, _to: Path) -> None:
        raise OSError(errno.ENOSPC, "full")

    (home / "file").touch()
    monkeypatch.setattr(keeping, "copy_sparse", full)
    with pytest.raises(OSError, match="full"):
        keep("craft", 1)


def test_a_path_is_as_long_as_its_bytes_are(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/file").touch()
    assert kept(tmp_path / "home/file", "λ" * (LONGEST_PATH // 2 + 1), tmp_path) == DEEP
    assert kept(tmp_path / "home/file", "not-\udcff-text", tmp_path) == NAMELESS
    longest = "/".join(["d" * 254] * 4)  # 4 * 255 bytes with their slashes, less the first
    (tmp_path / longest).mkdir(parents=True)
    assert kept(tmp_path / "home/file", f"{longest}/file", tmp_path) is None  # 1,024 bytes
    assert kept(tmp_path / "home/file", f"{longest}/file2", tmp_path) == DEEP


def test_what_lies_below_is_all_of_it_and_behind_no_link(tmp_path: Path) -> None:
    home, beside = tmp_path / "home", tmp_path / "beside"
    for path in (home / "a/b", home / "c", beside):
        path.mkdir(parents=True)
    (beside / "secret").write_bytes(b"x" * MB)
    (home / "a/b/file").write_bytes(b"x" * 10_000)
    (home / "c/hole").touch()
    os.truncate(home / "c/hole", 100 * MB)
    (home / "out").symlink_to(beside)
    assert [os.path.relpath(entry.path, home) for entry in below(home)] == [
        "a",
        "c",
        "out",
        "a/b",
        "a/b/file",
        "c/hole",
    ]
    assert 10_000 <= bytes_below(home) < MB


def test_what_is_neither_file_nor_folder_goes_and_so_do_special_rights(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in/pipe")
    (tmp_path / "in/link").symlink_to("/etc")
    (tmp_path / "group").touch()
    (tmp_path / "group").chmod(0o2755)
    (tmp_path / "user").touch()
    (tmp_path / "user").chmod(0o4755)
    os.mkfifo(tmp_path / "stays")
    keep_only_files(tmp_path, but=("stays",))
    assert names(tmp_path) == ["group", "in", "stays", "user"]
    assert names(tmp_path / "in") == []
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("group", "user")] == [0o755, 0o755]
