"""Parquet files that others may have written: what is read of them, and what is said of damage."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dstcc.parquet import UNREADABLE, parquet_file, places_of, read_parquet, rows_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Three row groups of two rows and one of one."""
    path = tmp_path / "it.parquet"
    words = ["a", "b", "a", "a", "c", "b", "a"]
    table = pa.table({"number": list(range(7)), "word": words, "half": [n / 2 for n in range(7)]})
    pq.write_table(table, path, row_group_size=2)
    return path


def test_rows_and_columns_are_those_asked_for(file: Path) -> None:
    assert read_parquet(file).column_names == ["number", "word", "half"]
    assert read_parquet(file, ["half", "number"]).to_pydict() == {
        "half": [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
        "number": list(range(7)),
    }
    assert read_parquet(file, []).column_names == []
    with parquet_file(file, ["word"]) as opened:
        some = rows_of(opened, ["number", "word"], [3, 1])
        assert some["number"].to_pylist() == [6, 2, 3]
        assert pa.types.is_dictionary(some.schema.field("word").type)
        assert rows_of(opened, groups=[0]).num_columns == 3
        assert rows_of(opened, groups=[]).num_rows == 0


def test_each_word_is_in_its_groups_and_rows(file: Path) -> None:
    places = places_of(file, "word")
    assert places.groups == {"a": [0, 1, 3], "b": [0, 2], "c": [2]}
    assert places.rows == {"a": 4, "b": 2, "c": 1}


def test_what_is_amiss_is_said(file: Path, tmp_path: Path) -> None:
    with pytest.raises(pa.ArrowInvalid, match="lacks the column size"):
        read_parquet(file, ["number", "size"])
    with pytest.raises(OSError, match="is not a regular file"):
        read_parquet(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_parquet(tmp_path / "none.parquet")
    twice = tmp_path / "twice.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1])] * 3, names=["x", "y", "x"]), twice)
    with pytest.raises(pa.ArrowInvalid, match="has the column x twice"):
        read_parquet(twice)


def test_damage_is_an_error_that_is_listed(file: Path) -> None:
    """A checksum of each page; text that is no UTF-8; a file that is cut."""
    pq.write_table(pa.table({"word": ["abcabc"] * 9}), file, write_page_checksum=True, compression="NONE")
    whole = file.read_bytes()
    place = whole.index(b"abcabc")
    file.write_bytes(whole[:place] + b"abdabc" + whole[place + 6 :])
    with pytest.raises(UNREADABLE):
        read_parquet(file)
    file.write_bytes(whole[:-9])
    with pytest.raises(UNREADABLE):
        read_parquet(file)
    pq.write_table(pa.table({"word": [b"\xff\xfe"]}).cast(pa.schema([("word", pa.binary())])), file)
    text = pa.Table.from_arrays(
        [
            pa.StringArray.from_buffers(
                1, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")
            )
        ],
        names=["word"],
    )
    pq.write_table(text, file)
    with pytest.raises(UNREADABLE):
        read_parquet(file)
