"""An entry of a store comes back as it was put there, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dstcc import atomic
from dstcc.errors import RunError
from dstcc.run import entries
from dstcc.run.entries import Entries
from dstcc.run.gather import Column, Words

KEY, OTHER = "ab" + "0" * 30, "cd" + "1" * 30


@pytest.fixture
def store(tmp_path: Path) -> Entries:
    return Entries(tmp_path / "kept")


def test_columns_come_back_as_they_were(store: Entries) -> None:
    columns: list[Column] = [
        Words(("a", "b"), np.array([0, 1, 1], np.int8)),
        np.array([1.5, np.nan, np.inf]),
        np.array([1, -2, 3], np.int64),
        np.array([True, False, True]),
    ]
    store.save(KEY, {}, {"chunks": columns})
    back = store.load(KEY)[1]["chunks"]
    assert isinstance(back[0], Words) and back[0].words == ("a", "b")
    assert back[0].numbers.dtype == np.int8 and back[0].numbers.tolist() == [0, 1, 1]
    for one, other in zip(columns[1:], back[1:], strict=True):
        assert isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_columns_come_back_in_their_order_however_many(store: Entries) -> None:
    columns = [np.array([place]) for place in range(12)]
    store.save(KEY, {}, {"one": columns, "none": []})
    tables = store.load(KEY)[1]
    assert list(tables) == ["one", "none"]
    assert [int(column[0]) for column in tables["one"]] == list(range(12))  # type: ignore[index]
    assert tables["none"] == []


def test_a_document_comes_back_and_belongs_to_its_hash(store: Entries) -> None:
    document = {"row": {"seed": 1, "b": None, "a": 0.1}, "text": "µ"}
    store.save(KEY, document)
    store.save(OTHER, {"row": 2})
    assert store.load(KEY) == (document, {}) and store.load(OTHER)[0] == {"row": 2}
    assert store.has(KEY) and store.has(OTHER) and not store.has("ab" + "2" * 30)
    assert sorted(store.found()) == [KEY, OTHER]
    with pytest.raises(FileNotFoundError):
        store.load("ab" + "2" * 30)


def test_a_folder_that_is_not_there_has_nothing(store: Entries) -> None:
    assert list(store.found()) == [] and not store.has(KEY)
    store.discard(KEY)


def test_only_whole_entries_are_found(store: Entries) -> None:
    """A table without its document, hidden siblings of a write, other people's files, and folders of other names."""
    store.save(KEY, {})
    below = store.folder / KEY[:2]
    for name in (
        f"{OTHER}-chunks.arrow",
        f".{OTHER}.json.x",
        f"{OTHER}.json.x",
        f"{OTHER[:-1]}.json",
        "notes.json",
    ):
        (below / name).write_text("x")
    (below / f"{OTHER}.JSON").write_text("x")
    for folder in ("abc", "a", "AB", ".x"):
        (store.folder / folder).mkdir()
        (store.folder / folder / f"{OTHER}.json").write_text("x")
    (store.folder / "ef").write_text("a file")
    assert list(store.found()) == [KEY]


def test_an_entry_that_is_discarded_is_gone_with_its_tables_and_no_other_is(store: Entries) -> None:
    near = KEY[:-1] + "1"
    for key in (KEY, near):
        store.save(key, {}, {"chunks": [np.arange(3)], "links": [np.arange(2)]})
    store.discard(KEY)
    assert not store.has(KEY) and list(store.found()) == [near]
    assert {path.name for path in (store.folder / "ab").iterdir()} == {
        f"{near}.json",
        f"{near}-chunks.arrow",
        f"{near}-links.arrow",
    }
    store.discard(KEY)
    (store.folder / "ab" / f"{near}-links.arrow").unlink()
    store.discard(near)
    assert list((store.folder / "ab").iterdir()) == []


def _changed(store: Entries, **values: object) -> Path:
    path = store.folder / KEY[:2] / f"{KEY}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
    return path


@pytest.mark.parametrize(
    "values",
    [
        {"document": {"row": 2}},
        {"document": []},
        {"tables": ["chunks"]},
        {"key": OTHER},
        {"sha256": "0" * 64},
        {"sha256": None},
        {"more": 1},
    ],
)
def test_an_entry_that_was_changed_is_damaged(store: Entries, values: dict[str, object]) -> None:
    store.save(KEY, {"row": 1})
    path = _changed(store, **values)
    with pytest.raises(RunError) as error:
        store.load(KEY)
    assert str(error.value) == f"{path}: damaged; remove it, and the trial runs again"


@pytest.mark.parametrize("text", ["[]", "3", '{"key": 1}'])
def test_json_of_another_shape_is_damaged(store: Entries, text: str) -> None:
    store.save(KEY, {})
    (store.folder / "ab" / f"{KEY}.json").write_text(text)
    with pytest.raises(RunError, match=r"\.json: damaged; mend it"):
        Entries(store.folder, remedy="mend it").load(KEY)


def test_an_entry_under_anothers_name_is_damaged(store: Entries) -> None:
    """Its checksum is right: somebody renamed the file, and the trial is another."""
    store.save(KEY, {"row": 1})
    (store.folder / "cd").mkdir()
    (store.folder / "ab" / f"{KEY}.json").rename(store.folder / "cd" / f"{OTHER}.json")
    with pytest.raises(RunError, match=f"{OTHER}.json: damaged"):
        store.load(OTHER)


@pytest.mark.parametrize("damage", ["gone", "cut", "text"])
def test_a_table_that_is_gone_or_damaged_is_named(store: Entries, damage: str) -> None:
    store.save(KEY, {}, {"chunks": [np.arange(1000)]})
    path = store.folder / "ab" / f"{KEY}-chunks.arrow"
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:200] if damage == "cut" else b"no table")
    with pytest.raises(RunError) as error:
        store.load(KEY)
    assert str(error.value).startswith(f"{path}: ")
    assert str(error.value).endswith("; remove it, and the trial runs again")


def test_an_entry_is_there_only_after_its_tables(store: Entries, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stops the process: its document, which says that it is whole, is written last, and removed first."""
    order = []

    def write(path: Path, data: str | bytes, *, sweep: bool) -> None:
        order.append(path.name)
        atomic.atomic_write(path, data, sweep=sweep)

    monkeypatch.setattr(entries, "atomic_write", write)
    store.save(KEY, {}, {"chunks": [np.arange(3)], "links": [np.arange(3)]})
    assert order == [f"{KEY}-chunks.arrow", f"{KEY}-links.arrow", f"{KEY}.json"]
    gone = []
    real = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        gone.append(path.suffix)
        real(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    store.discard(KEY)
    assert gone == [".json", ".arrow", ".arrow"]


def test_numbers_take_less_than_they_have(store: Entries) -> None:
    """Tables are compressed: 80 kB of the same number."""
    store.save(KEY, {}, {"chunks": [np.zeros(10_000)]})
    assert (store.folder / "ab" / f"{KEY}-chunks.arrow").stat().st_size < 8_000


def test_a_write_does_not_look_for_the_leavings_of_others(
    store: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of many entries is not read through at each write."""
    sweeps = []
    monkeypatch.setattr(entries, "atomic_write", lambda _path, _data, sweep=True: sweeps.append(sweep))
    store.save(KEY, {}, {"chunks": [np.arange(3)]})
    assert sweeps == [False, False]


def test_the_order_of_keys_is_not_part_of_the_checksum(store: Entries) -> None:
    store.save(KEY, {"b": 1, "a": 2})
    path = store.folder / "ab" / f"{KEY}.json"
    whole = json.loads(path.read_text())
    path.write_text(json.dumps(dict(sorted(whole.items(), reverse=True)), indent=1))
    assert store.load(KEY)[0] == {"a": 2, "b": 1}


def test_a_flipped_bit_of_a_table_is_named(store: Entries) -> None:
    """Anywhere in it: Arrow has no checksum of its own."""
    store.save(KEY, {}, {"chunks": [np.arange(100)]})
    path = store.folder / "ab" / f"{KEY}-chunks.arrow"
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(RunError, match=f"{KEY}-chunks.arrow: damaged, its checksum does not match"):
            store.load(KEY)
