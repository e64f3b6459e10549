"""The cache folder: where it is, and what is said where it cannot be."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from dstcc.cache import CACHE_VARIABLE, cache_folder, require_folder, written
from dstcc.errors import MissingCapabilityError


def test_it_is_where_the_variable_says_or_in_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    monkeypatch.setenv("HOME", str(tmp_path))
    for unset in ("", None):
        monkeypatch.delenv(CACHE_VARIABLE) if unset is None else monkeypatch.setenv(CACHE_VARIABLE, unset)
        assert cache_folder() == tmp_path / ".cache" / "dstcc"


def test_a_file_in_its_place_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "new" / "cache"))
    require_folder()
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    require_folder()
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for place in ("file", "file/below", "dangling"):
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / place))
        rule = f"the cache {tmp_path / place}: {tmp_path / place.split('/')[0]} is no folder; {CACHE_VARIABLE} names"
        with pytest.raises(MissingCapabilityError, match=rule), written():
            raise AssertionError


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
@pytest.mark.parametrize("place", ["cache/some", "elsewhere", None])
def test_only_errors_of_the_cache_are_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, place: str | None
) -> None:
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    error = OSError(number, "no", *([] if place is None else [str(tmp_path / place)]))
    told = number != errno.ENOSPC and place == "cache/some"
    with pytest.raises(MissingCapabilityError if told else OSError) as raised, written():
        raise error
    assert (raised.value is error) != told
    if told:
        assert f"the cache {tmp_path / 'cache'} cannot be written (" in str(raised.value)
