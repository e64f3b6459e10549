"""What may make room for an output: its own kind, and never by way of a link, a mount, an input."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from dstcc.errors import InputError
from dstcc.outputs import Kind, check_new, check_output, obstacle, stranger

FOLDER = Kind("a box", lambda path: stranger(path, {"box.json", "in/a", "in/b"}), folder=True)
FILE = Kind("a note", lambda path: None if path.read_bytes().startswith(b"ours") else "has no mark")


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """A folder that is ours."""
    made = tmp_path / "box"
    (made / "in").mkdir(parents=True)
    (made / "box.json").write_text("{}")
    (made / "in" / "a").write_text("a")
    return made


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """A file that is ours."""
    made = tmp_path / "note"
    made.write_text("ours, indeed")
    return made


def refused(
    path: Path, kind: Kind, message: str, *, force: bool = True, inputs: tuple[Path, ...] = ()
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        check_output(path, kind, force=force, inputs=inputs)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_its_own_makes_room_with_force_only(box: Path, note: Path) -> None:
    for path, kind in ((box, FOLDER), (note, FILE)):
        check_output(path, kind, force=True)
        refused(path, kind, "already exists; --force replaces it$", force=False)
        check_output(path.with_name("new"), kind, force=False)


def test_what_is_not_its_own_stays_and_force_is_not_promised(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    clip.write_bytes(b"mine")
    refused(clip, FILE, "has no mark, and --force replaces nothing but a note that dstcc wrote")
    refused(clip, FILE, "only if it is a note of dstcc's, but it has no mark", force=False)
    refused(clip, FOLDER, "is a file, and")
    refused(tmp_path, FILE, "is a folder, and")


def test_nobody_loses_by_what_is_empty(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    check_output(tmp_path / "folder", FOLDER, force=True)
    check_output(tmp_path / "file", FILE, force=True)
    refused(tmp_path / "folder", FILE, "is a folder")


@pytest.mark.parametrize("name", ["notes.txt", "in/c", "in/deep/a", ".hidden", "new/", "box.json.bak"])
def test_one_file_of_the_users_keeps_a_folder(box: Path, name: str) -> None:
    mine = box / name
    if name.endswith("/"):
        mine.mkdir()
    else:
        mine.parent.mkdir(exist_ok=True)
        mine.write_text("mine")
    assert stranger(box, {"box.json", "in/a", "in/b"}) in (name.rstrip("/"), "in/deep")
    with pytest.raises(InputError):
        check_output(box, FOLDER, force=True)


def test_a_known_name_must_be_a_plain_file(box: Path, tmp_path: Path) -> None:
    for name, put in (
        ("box.json", lambda path: path.symlink_to(tmp_path / "elsewhere")),
        ("in/a", lambda path: path.mkdir()),
        ("in/b", os.mkfifo),
    ):
        (box / name).unlink(missing_ok=True)
        put(box / name)
        assert stranger(box, {"box.json", "in/a", "in/b"}) == name
        (box / name).rmdir() if (box / name).is_dir() else (box / name).unlink()
    (box / "in").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (box / "in").symlink_to(tmp_path / "elsewhere")
    assert stranger(box, {"box.json", "in/a"}) == "in"


def test_links_sockets_and_devices_stay(box: Path, note: Path, tmp_path: Path) -> None:
    for target in (box, note, tmp_path / "nowhere"):
        link = tmp_path / f"to-{target.name}"
        link.symlink_to(target)
        for kind in (FOLDER, FILE):
            refused(link, kind, "is a symbolic link")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    for path in (tmp_path / "pipe", tmp_path / "socket", Path("/dev/null")):
        refused(path, FILE, "is neither a file nor a folder")


def test_the_current_folder_and_those_above_it_stay(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(box / "in")
    for path in (Path(), Path(".."), box, Path("/")):
        assert obstacle(path, FOLDER) is not None
    refused(Path(), FOLDER, "is the current folder, or holds it")
    refused(box, FOLDER, "is the current folder, or holds it")


def test_a_mount_point_stays(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_mount", lambda self: self == box)
    refused(box, FOLDER, "is a mount point")


def test_what_cannot_be_looked_into_stays(note: Path) -> None:
    def unreadable(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    refused(note, Kind("a note", unreadable), r"cannot be looked into \(Permission denied\)")


@pytest.mark.parametrize("force", [False, True])
def test_an_input_stays_by_whatever_name(note: Path, tmp_path: Path, force: bool) -> None:
    """Another spelling, a second name of the file, a link to it on either side."""
    (tmp_path / "hard").hardlink_to(note)
    (tmp_path / "soft").symlink_to(note)
    for output in (note, tmp_path / "box" / ".." / "note", tmp_path / "hard", tmp_path / "soft"):
        for given in (note, tmp_path / "hard", tmp_path / "soft"):
            (tmp_path / "box").mkdir(exist_ok=True)
            refused(output, FILE, "is what the command reads", force=force, inputs=(given,))


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_with_an_input_in_it_stays(box: Path, tmp_path: Path, force: bool) -> None:
    (tmp_path / "way").symlink_to(box / "in")
    (tmp_path / "far").write_text("")
    (box / "in" / "b").symlink_to(tmp_path / "far")
    for given in (box / "box.json", box / "in" / "a", tmp_path / "way" / "a", box / "in" / "b", box / "in"):
        refused(
            box, FOLDER, "which the command reads, and no output replaces that", force=force, inputs=(given,)
        )
    refused(box, FOLDER, "is what the command reads", force=force, inputs=(box,))


def test_inputs_that_are_elsewhere_or_nowhere_do_not_matter(box: Path, note: Path) -> None:
    check_output(box, FOLDER, force=True, inputs=(note, box / "none", box.parent / "box2"))


def test_a_new_output_needs_a_free_name(box: Path, tmp_path: Path) -> None:
    check_new(tmp_path / "new", "--resume continues")
    (tmp_path / "dangling").symlink_to("nowhere")
    for path in (box, tmp_path / "dangling"):
        with pytest.raises(InputError, match="already exists; --resume continues"):
            check_new(path, "--resume continues")
    with pytest.raises(InputError, match="is not a folder"):
        check_new(box / "box.json" / "new", "")
