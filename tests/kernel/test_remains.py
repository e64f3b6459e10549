"""What a guest leaves is read on the host, and code in its kernel may have written it: nothing is taken for granted."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dstcc_kernel import guest, outcome
from dstcc_kernel.capture import BLOCK
from dstcc_kernel.endhosts import flight
from dstcc_kernel.endhosts.inside import READ
from dstcc_kernel.endhosts.logs import BEYOND, kept_log
from dstcc_kernel.endhosts.mission import CRAFT, OUTCOME, RUNNING, Mission
from dstcc_kernel.endhosts.packets import write_capture
from dstcc_kernel.endhosts.records import write_tables
from dstcc_kernel.endhosts.said import read_devices, read_outcome, read_running
from dstcc_kernel.folders import LONGEST_PATH, keep_only_files, taken_below
from dstcc_kernel.remains import check_names, discard, ends_of, message_of, remove

from dstcc.errors import DstccError, KernelError

DEVICES = [{"down": 3, "up": 4}]


def hole(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


Put = Callable[[Path], None]
IN_ITS_PLACE: dict[str, tuple[Put, str]] = {
    "a pipe that nobody writes to": (os.mkfifo, "is not a regular file"),
    "a folder": (Path.mkdir, "is a folder"),
    "a link": (lambda path: path.symlink_to("/etc/passwd"), "Too many levels of symbolic links"),
    "a terabyte of hole": (hole, "has more than"),
}
READERS: dict[str, tuple[str, Callable[[Path, Mission], object]]] = {
    "how the job ended": (guest.ENDED, lambda path, _: guest._ended(path)),
    "a message": ("error.txt", lambda path, _: message_of(path)),
    "how the mission ended": (OUTCOME, lambda path, mission: read_outcome(path.parent, mission)),
    "how far it is": (RUNNING, lambda path, mission: read_running(path.parent, mission)),
    "devices": ("devices.json", lambda path, mission: read_devices(path.parent, mission)),
    "records": ("samples.bin", lambda path, mission: write_tables(path, mission, DEVICES, path.parent)),
    "a ring": (
        "craft0.ring",
        lambda path, mission: write_capture(path.parent / "p", path.parent, mission, 0),
    ),
    "a log": ("craft.log", lambda path, _: kept_log(path, path.parent / "kept", 1)),
    "a trial's result": ("result.bin", lambda path, _: outcome._parted(path)),
}


@pytest.mark.parametrize("what", IN_ITS_PLACE)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_refused_by_its_name(
    reader: str, what: str, tmp_path: Path, mission: Mission
) -> None:
    """At once: no pipe is waited for, no link is followed, nothing that is too long is read."""
    (name, read), (put, said) = READERS[reader], IN_ITS_PLACE[what]
    put(tmp_path / name)
    with pytest.raises(DstccError, match=f"{name}: .*{said}"):
        read(tmp_path / name, mission)


def test_a_message_has_64_kib_at_most(tmp_path: Path) -> None:
    (tmp_path / "error.txt").write_text("x" * 65_536)
    assert message_of(tmp_path / "error.txt") == "x" * 65_536
    (tmp_path / "error.txt").write_text("x" * 65_537)
    with pytest.raises(KernelError, match="has more than"):
        message_of(tmp_path / "error.txt")


def test_a_log_without_end_is_looked_at_from_both_sides(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_bytes(b"begins\n")
    os.truncate(log, 1 << 40)
    with log.open("ab") as file:
        file.write(b"\nends\n")
    text = ends_of(log, 1000)
    assert (text[:7], text[-6:], len(text)) == ("begins\n", "\nends\n", 2001)
    log.write_bytes(b"0123456789")
    assert [ends_of(log, shown) for shown in (4, 5, 9, 10)] == ["0123\n6789", *["0123456789"] * 3]


def test_a_job_ends_with_a_code_and_a_time(tmp_path: Path) -> None:
    said = tmp_path / "ended"
    assert guest._ended(said) is None
    said.touch()  # as it is while the job runs
    assert guest._ended(said) is None
    said.write_text("137 12.000000003\n")
    assert guest._ended(said) == (137, 12.000000003)
    for wrong in ("0", "x 1.0", "0 nan", "-1 1.000000000", "0 1e400", "0 1.000000000 2"):
        said.write_text(wrong)
        with pytest.raises(KernelError, match="ended: must be an exit code and seconds"):
            guest._ended(said)


# ---------------------------------------------------------------------------------------------------- rings


def block(*packets: bytes, count: int | None = None, first: int = 48) -> bytes:
    head = struct.pack("=5I", 1, 0, 1, len(packets) if count is None else count, first).ljust(48, b"\0")
    return (head + b"".join(packets)).ljust(BLOCK, b"\0")


def packet(
    *, step: int = 176, kept: int = 54, size: int = 54, start: int = 80, seconds: int = 1_767_225_600
) -> bytes:
    head = struct.pack("=6IHH", step, seconds, 5, kept, size, 0, start, 94).ljust(58, b"\0") + b"\4"
    return (head.ljust(80, b"\0") + bytes(12) + b"\x08\0" + bytes(40)).ljust(176, b"\0")


WRONG_RINGS = [
    (block(packet(step=0), packet()), "on the next one"),  # 2 of 2^32 times the same
    (block(packet(step=0), count=1 << 31), "a block of 2147483648 packets"),
    (bytes(BLOCK), "a block of 0 packets"),
    (block(packet())[:-1], "its last block is cut short"),
    (block(packet(), first=BLOCK), "a packet that lies beyond its block"),
    (block(packet(step=BLOCK), packet()), "a packet that lies beyond its block"),
    (block(packet(kept=1 << 20, size=1 << 20)), "a packet that lies beyond its block"),
    (block(packet(kept=54, size=53)), "a packet that lies beyond its block, or"),
]


@pytest.mark.parametrize(
    ("data", "said"), WRONG_RINGS, ids=[f"{n} {said}" for n, (_, said) in enumerate(WRONG_RINGS)]
)
def test_rings_that_there_cannot_be_are_refused(
    data: bytes, said: str, tmp_path: Path, mission: Mission
) -> None:
    for device in ("craft0", "up0", "earth0", "down0"):
        (tmp_path / f"{device}.ring").touch()
    (tmp_path / "up0.ring").write_bytes(data)
    with pytest.raises(KernelError, match=f"^up0.ring: .*{said}"):
        write_capture(tmp_path / "p", tmp_path, mission, 0)


def test_a_capture_has_the_packets_of_all_rings_by_time(tmp_path: Path, mission: Mission) -> None:
    seconds = 1_767_225_600
    seen: dict[str, tuple[int, ...]] = {"craft0": (1, 4), "up0": (2,), "earth0": (3, 5), "down0": ()}
    for device, when in seen.items():
        data = b"".join(block(packet(seconds=seconds + second)) for second in when)
        (tmp_path / f"{device}.ring").write_bytes(data)
    write_capture(tmp_path / "p", tmp_path, mission, 0)
    text, at = (tmp_path / "p").read_bytes(), 0
    times: list[tuple[int, int]] = []
    while at < len(text):
        kind, size = struct.unpack_from("<II", text, at)
        if kind == 6:
            high, low = struct.unpack_from("<II", text, at + 12)
            times.append(((high << 32 | low) // 10**9 - seconds, struct.unpack_from("<I", text, at + 8)[0]))
        at += size
    assert times == [(1, 0), (2, 0), (3, 1), (4, 0), (5, 1)]


# ------------------------------------------------------------------------------------------------ logs, names, folders


def test_of_a_log_lines_of_ours_are_kept(tmp_path: Path) -> None:
    ours = b"1.000000 1 out one\n2.500000 2 err \xc3\xa9\ttwo\n3.000000 0 err \n"
    others = b"forged\n1.0 1 out \x1b[2J\n1.0 1 out \xff\n1.0 1 sideways x\n4.000000 1 out cut"
    (tmp_path / "craft.log").write_bytes(
        others.partition(b"\n")[0] + b"\n" + ours + others.partition(b"\n")[2]
    )
    assert kept_log(tmp_path / "craft.log", tmp_path / "kept", 1) == 5
    assert (tmp_path / "kept").read_bytes() == ours
    assert kept_log(tmp_path / "none.log", tmp_path / "nothing", 1) == 0
    assert not (tmp_path / "nothing").exists()
    os.truncate(tmp_path / "craft.log", (1 << 20) + BEYOND + 1)
    with pytest.raises(KernelError, match="has more than"):
        kept_log(tmp_path / "craft.log", tmp_path / "longer", 1)


def test_names_that_are_none_are_refused(tmp_path: Path) -> None:
    home = tmp_path / "craft"
    check_names(home)
    deep = home.joinpath(*(["d" * 255] * (LONGEST_PATH // 256)))
    deep.mkdir(parents=True)
    check_names(home)  # 4 of 256 with their slashes, less the first: 1,023 bytes
    longest = home.joinpath(*(["d" * 255] * 3), "e" * 128, "e" * 127)  # 3 * 256 + 129 + 127 bytes
    longest.mkdir(parents=True)
    check_names(home)
    (deep / "x").touch()
    with pytest.raises(KernelError, match=r"^craft/ddd.*: has more than 1,024 bytes"):
        check_names(home)
    (deep / "x").unlink()
    Path(os.fsdecode(os.fsencode(home) + b"/not-\xff")).touch()
    with pytest.raises(KernelError, match=r"not-\\udcff': a name that is not UTF-8"):
        check_names(home)


@contextmanager
def deep(folder: Path) -> Iterator[Path]:
    """1,200 levels of folders: more than Python calls itself, and 61,200 bytes of path. Gone whatever happens."""
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d" * 50, dir_fd=here)
        below = os.open("d" * 50, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)
    try:
        yield folder
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)


def test_what_lies_too_deep_is_no_place_to_hide_and_goes(tmp_path: Path) -> None:
    with deep(tmp_path / "deep") as folder:
        with pytest.raises(OSError, match="File name too long"):
            taken_below(tmp_path)
        with pytest.raises(KernelError, match=r"^deep/ddd.*: has more than 1,024 bytes"):
            check_names(folder)
        remove(folder)
        assert not folder.exists()
    with deep(tmp_path / "deep") as folder:
        discard(folder)
        assert not folder.exists()


def closed_and_removed(home: Path) -> list[object]:
    """What becomes of folders that are closed to their owner."""

    def close() -> None:
        (home / "a/b/c").mkdir(parents=True)
        (home / "a/b/c/file").write_bytes(bytes(9000))
        (home / "a/b").chmod(0)
        (home / "a").chmod(0o400)

    said: list[object] = []
    close()
    try:
        taken_below(home)
    except PermissionError:
        said.append("refused")
    keep_only_files(home)
    said += [taken_below(home)[1], oct((home / "a/b").stat().st_mode & 0o777)]
    (home / "a/b").chmod(0)
    (home / "a").chmod(0)
    remove(home / "a")
    return [*said, [path.name for path in home.iterdir()]]


def test_a_folder_that_is_closed_is_no_place_to_hide_and_goes(tmp_path: Path) -> None:
    """To an ordinary user, whose rights over its own files a module can take away."""
    for parent in [tmp_path, *list(tmp_path.parents)[:-2]]:
        parent.chmod(parent.stat().st_mode | 0o011)
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o777)
    (tmp_path / "said").touch()
    child = os.fork()
    if child == 0:
        with (tmp_path / "said").open("w") as file:
            try:
                if os.geteuid() == 0:
                    os.setresuid(65534, 65534, 65534)
                file.write(json.dumps(closed_and_removed(tmp_path / "home")))
            except BaseException as error:
                file.write(repr(error))
            finally:
                file.flush()
                os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / "said").read_text() == '["refused", 4, "0o700", []]'


def test_what_cannot_be_discarded_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where others still write to it."""

    def stopped(folder: Path, *, ignore_errors: bool = False) -> None:
        if not ignore_errors:
            raise OSError(str(folder))

    (tmp_path / "theirs").mkdir()
    monkeypatch.setattr(shutil, "rmtree", stopped)
    monkeypatch.setattr(Path, "rmdir", stopped)
    discard(tmp_path / "theirs")
    assert (tmp_path / "theirs").exists()


@pytest.mark.parametrize("what", ["a pipe that nobody writes to", "a folder", "a link"])
def test_a_console_is_a_file(what: str, tmp_path: Path) -> None:
    put, said = IN_ITS_PLACE[what]
    put(tmp_path / "console.log")
    with pytest.raises(KernelError, match=f"console.log: .*{said}"):
        ends_of(tmp_path / "console.log")


def test_removing_a_folder_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").touch()
    (tmp_path / "theirs/in").mkdir(parents=True)
    (tmp_path / "theirs/in/link").symlink_to(tmp_path / "mine")
    (tmp_path / "theirs/.0").touch()
    remove(tmp_path / "theirs")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"] and (tmp_path / "mine/file").exists()


# ------------------------------------------------------------------------------------------- while the guest runs


def followed(path: Path, most: int = 100) -> tuple[list[bytes], str | None]:
    one = flight._Followed(path, "stdout", most)
    return list(one.fresh()), one.problem


def test_what_a_program_prints_is_followed_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    one = flight._Followed(path, "stdout", 1 << 20)
    assert list(one.fresh()) == []
    path.write_bytes(b"one")
    assert list(one.fresh()) == [b"one"]
    path.write_bytes(b"onetwo")
    assert (list(one.fresh()), one.problem) == ([b"two"], None)
    path.unlink()
    for put, said in (
        (os.mkfifo, "is not a regular file"),
        (Path.mkdir, "Is a directory"),
        (lambda place: place.symlink_to("/etc/passwd"), "Too many levels of symbolic links"),
    ):
        put(path)
        assert followed(path) == ([], f"stdout: what CMD prints cannot be read: {said}")
        path.rmdir() if path.is_dir() else path.unlink()
    path.touch()
    os.truncate(path, 1 << 40)
    data, problem = followed(path)
    assert problem is not None and problem.endswith("has more than 0 MB")
    assert sum(map(len, data)) <= 100 + READ


def test_a_program_that_cannot_be_followed_is_an_error_of_the_run(tmp_path: Path, mission: Mission) -> None:
    os.mkfifo(tmp_path / "stderr")
    said = "stderr: what CMD prints cannot be read: is not a regular file"
    with (
        pytest.raises(KernelError, match=said),
        flight._telling(tmp_path, mission, lambda _name, _data: None),
    ):
        pass


def test_a_home_that_keeps_only_files_has_them(tmp_path: Path) -> None:
    (tmp_path / CRAFT).mkdir()
    (tmp_path / CRAFT / "link").symlink_to("/")
    keep_only_files(tmp_path)
    assert list((tmp_path / CRAFT).iterdir()) == []
