"""Checksums of a folder: those of ``sha256sum``, and a file that is not as it was written is named."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstcc.errors import RunError
from dstcc.sums import NAME, read_sums, write_sums

ODD = ("a b", "back\\slash", "new\nline", "re\rturn", "both\\n", "ü", " leading")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "below").mkdir()
    for number, name in enumerate(ODD):
        (tmp_path / "below" / name).write_bytes(b"%d" % number)
    (tmp_path / "run.json").write_bytes(b"{}")
    (tmp_path / "link").symlink_to("/etc/passwd")
    write_sums(tmp_path, RunError)
    return tmp_path


def test_sha256sum_checks_them(folder: Path) -> None:
    said = subprocess.run(
        ["sha256sum", "--check", "--strict", NAME], check=False, cwd=folder, capture_output=True, text=True
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.count(": OK\n") == len(ODD) + 1


def test_the_list_is_that_of_sha256sum(folder: Path) -> None:
    names = sorted([f"below/{name}" for name in ODD] + ["run.json"])
    said = subprocess.run(["sha256sum", "--", *names], cwd=folder, capture_output=True, check=True)
    assert (folder / NAME).read_bytes() == said.stdout


def test_each_changed_file_is_named(folder: Path) -> None:
    for name in [*(f"below/{odd}" for odd in ODD), "run.json"]:
        path = folder / name
        data = path.read_bytes()
        path.write_bytes(bytes([data[0] ^ 1, *data[1:]]))
        with pytest.raises(RunError, match="changed since it was written") as raised:
            read_sums(folder, RunError).check(name)
        assert str(path) in str(raised.value)
        path.write_bytes(data)
        read_sums(folder, RunError).check(name)


def test_without_the_list_nothing_is_checked(folder: Path) -> None:
    (folder / NAME).unlink()
    (folder / "run.json").write_bytes(b"other")
    read_sums(folder, RunError).check("run.json")


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "run.json").unlink()
    with pytest.raises(RunError, match=r"run\.json: cannot be read"):
        read_sums(folder, RunError).check("run.json")


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=4))
def test_a_damaged_list_is_an_error_or_another_list(place: int, bytes_: bytes) -> None:
    whole = b"".join(b"%064x  %s\n" % (number, name.encode()) for number, name in enumerate(("a", "b", "c")))
    damaged = whole[: place % len(whole)] + bytes_ + whole[place % len(whole) :]
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / NAME).write_bytes(damaged)
        try:
            known = read_sums(Path(name), RunError).known
        except RunError as error:
            assert NAME in str(error)
        else:
            assert all(len(digest) == 64 for digest in known.values())


def test_a_list_that_names_a_file_again_is_refused(tmp_path: Path) -> None:
    line = f"{'0' * 64}  a\n"
    (tmp_path / NAME).write_text(line + line)
    with pytest.raises(RunError, match="line 2"):
        read_sums(tmp_path, RunError)


def test_only_what_is_named_is_listed(folder: Path) -> None:
    (folder / ".work").mkdir()
    (folder / ".work/log").write_bytes(b"")
    write_sums(folder, RunError, ["run.json", "link", NAME, "missing"])
    assert set(read_sums(folder, RunError).known) == {"run.json"}
