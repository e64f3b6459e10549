"""Trials' rows on their way into a Parquet file: columns are gathered and written many trials at a time.

A group of rows costs the same for one trial as for twenty, in time and in bytes. What trials repeat, such as when their
chunks are captured, is packed only within a group.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

GROUP_ROWS = 1 << 16
"""A group is written as soon as it has so many rows: some 8 MB of memory."""
SPLIT, DELTA, PLAIN = "BYTE_STREAM_SPLIT", "DELTA_BINARY_PACKED", "PLAIN"
"""Parquet's encodings for times that hardly repeat, for numbers that count up, and for small numbers in long runs:
compression alone packs these as well as a dictionary does, in half the time."""
SLIGHT, STRONG = "lz4", "zstd"
"""Compressions. Of what is split the bytes hardly repeat: the first leaves a few percent more of them in three quarters
of the time."""


@dataclass(frozen=True)
class Words:
    """A column of text: of each row the number of its word."""

    words: tuple[str, ...]
    numbers: NDArray[np.integer[Any]]


Column = Words | np.ndarray[Any, np.dtype[Any]]
"""A trial's values of one column, one a row; a float that is NaN is null where the schema allows it."""


class TableFile(AbstractContextManager["TableFile"]):
    """A Parquet file that takes rows trial by trial; a context manager.

    ``split``, ``counting`` and ``plain`` name the columns that are not kept as a dictionary of their values.
    """

    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        *,
        split: Collection[str] = (),
        counting: Collection[str] = (),
        plain: Collection[str] = (),
    ) -> None:
        """Open ``path``; an empty file has the schema alone."""
        self._schema = pa.schema([_numbered(field) for field in schema])
        encoding = dict.fromkeys(split, SPLIT) | dict.fromkeys(counting, DELTA) | dict.fromkeys(plain, PLAIN)
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            store_schema=False,  # else readers would get numbers for words
            compression={name: SLIGHT if name in split else STRONG for name in schema.names},
            use_dictionary=[name for name in schema.names if name not in encoding],
            column_encoding=encoding,
            write_statistics=["trial"],
            write_batch_size=GROUP_ROWS,
        )
        self._waiting: list[Sequence[Column]] = []
        self._rows = 0
        self._rooms: dict[int, NDArray[Any]] = {}

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write what waits, unless something went wrong."""
        try:
            if kind is None:
                self._flush()
        finally:
            self._writer.close()

    def add(self, columns: Sequence[Column]) -> None:
        """A trial's rows, in the order of the schema's columns."""
        self._waiting.append(columns)
        self._rows += len(columns[-1]) if isinstance(columns[-1], np.ndarray) else len(columns[-1].numbers)
        if self._rows >= GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            arrays = [
                self._array(place, field, [columns[place] for columns in self._waiting])
                for place, field in enumerate(self._schema)
            ]
            self._writer.write_table(
                pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=self._rows
            )
        self._waiting, self._rows = [], 0

    def _array(self, place: int, field: pa.Field, parts: list[Column]) -> pa.Array:
        words = [part for part in parts if isinstance(part, Words)]
        if words:
            known: dict[str, int] = {}
            indices = [
                np.array([known.setdefault(word, len(known)) for word in part.words], np.int32)
                for part in words
            ]
            numbers = [
                mine[part.numbers] if len(mine) > 1 else np.full(len(part.numbers), mine[0])
                for mine, part in zip(indices, words, strict=True)
            ]
            return pa.DictionaryArray.from_arrays(self._joined(place, numbers), pa.array(known, pa.string()))
        values = self._joined(place, [part for part in parts if isinstance(part, np.ndarray)])
        return pa.array(values, from_pandas=field.nullable).cast(field.type)

    def _joined(self, place: int, parts: list[NDArray[Any]]) -> NDArray[Any]:
        """A column's values one after the other, where those of the group before were: new memory costs more than all
        else that is done with them."""
        dtype = np.result_type(*parts)
        room = self._rooms.get(place)
        if room is None or len(room) < self._rows or room.dtype != dtype:
            room = self._rooms[place] = np.empty(self._rows + self._rows // 8, dtype)
        joined: NDArray[Any] = np.concatenate(parts, out=room[: self._rows])
        return joined


def _numbered(field: pa.Field) -> pa.Field:
    """A column of text as it is handed over: in numbers, so that no row's word is copied."""
    return field.with_type(pa.dictionary(pa.int32(), pa.string())) if field.type == pa.string() else field
