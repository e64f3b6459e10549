"""A store of finished trials: a file each, named by the trial's hash (:mod:`.identity`).

An entry is a JSON document with its checksum, and beside it the trial's tables as Arrow files, whose checksums it has;
these are written before. Each file is written under another name, flushed and renamed, so that an entry is whole or
absent whatever stops the process. Stores are merged by copying files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dstcc.atomic import atomic_write, make_folder, sweep_folder
from dstcc.errors import RunError
from dstcc.reading import json_sha256, read_bytes, read_json

from .gather import Column, Words

NAME = re.compile(r"[0-9a-f]{32}")
FOLDER = re.compile(r"[0-9a-f]{2}")
MOST_TABLE = 1 << 36
"""Bytes of a trial's table."""


Tables = Mapping[str, Sequence[Column]]
"""A trial's rows by the name of the table."""


@dataclass(frozen=True)
class Entries:
    """Finished trials below one folder, which need not exist."""

    folder: Path
    remedy: str = "remove it, and the trial runs again"
    """What an error about a damaged entry says to do."""

    def has(self, key: str) -> bool:
        """Whether the trial of that hash is there."""
        return self._file(key).exists()

    def found(self) -> Iterator[str]:
        """The hashes of all that are there, in no order."""
        with suppress(FileNotFoundError):
            for below in os.scandir(self.folder):
                if FOLDER.fullmatch(below.name) and below.is_dir():
                    yield from (
                        file.name[:-5]
                        for file in os.scandir(below.path)
                        if file.name.endswith(".json") and NAME.fullmatch(file.name[:-5])
                    )

    def load(self, key: str) -> tuple[dict[str, Any], Tables]:
        """An entry's document and tables.

        Raises :class:`RunError` naming a damaged file, and FileNotFoundError where there is none.
        """
        path = self._file(key)
        document = self._read(path)
        tables = {
            name: self._columns(key, name, digest) for name, digest in (document["tables"] or {}).items()
        }
        return document["document"], tables

    def save(self, key: str, kept: Mapping[str, Any], tables: Tables | None = None) -> None:
        """Keep a trial; it is on disk when this returns. Raises OSError, and the entry is then absent."""
        path = self._file(key)
        make_folder(path.parent)
        digests = {
            name: _write_columns(self._table(key, name), columns) for name, columns in (tables or {}).items()
        }
        whole = {"key": key, "tables": digests, "document": kept}
        text = json.dumps({"sha256": json_sha256(whole), **whole})
        atomic_write(path, text, sweep=False)

    def discard(self, key: str) -> None:
        """Remove an entry, if it is there: its document first, which says that it is whole."""
        path = self._file(key)
        path.unlink(missing_ok=True)
        for table in path.parent.glob(f"{key}-*.arrow"):
            table.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what ended processes of this machine were about to keep."""
        with suppress(FileNotFoundError):
            for below in self.folder.iterdir():
                if FOLDER.fullmatch(below.name):
                    sweep_folder(below)

    def _file(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    def _table(self, key: str, name: str) -> Path:
        return self.folder / key[:2] / f"{key}-{name}.arrow"

    def _read(self, path: Path) -> dict[str, Any]:
        whole = read_json(path, RunError)
        shaped = isinstance(whole, dict) and isinstance(whole.get("document"), dict)
        shaped = shaped and isinstance(whole.get("tables") or {}, dict)
        if not shaped or whole.pop("sha256", None) != json_sha256(whole) or whole.get("key") != path.stem:
            raise RunError(f"{path}: damaged; {self.remedy}")
        return dict(whole)

    def _columns(self, key: str, name: str, digest: str) -> list[Column]:
        path = self._table(key, name)
        try:
            data = read_bytes(path, RunError, MOST_TABLE)
            if hashlib.sha256(data).hexdigest() != digest:
                raise RunError(f"{path}: damaged, its checksum does not match; {self.remedy}")
            table = pa.ipc.open_file(pa.py_buffer(data)).read_all().combine_chunks()
            return [_column(column.combine_chunks()) for column in table.columns]
        except (OSError, pa.ArrowException) as error:
            raise RunError(f"{path}: damaged ({error}); {self.remedy}") from None


def _write_columns(path: Path, columns: Sequence[Column]) -> str:
    """A column of text keeps its words and numbers, a column of numbers its type; NaN stays NaN. The file's SHA-256."""
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(column.numbers), pa.array(column.words, pa.string()))
        if isinstance(column, Words)
        else pa.array(column)
        for column in columns
    ]
    table = pa.table(arrays, names=[str(place) for place in range(len(arrays))])
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    data = sink.getvalue().to_pybytes()
    atomic_write(path, data, sweep=False)
    return hashlib.sha256(data).hexdigest()


def _column(array: pa.Array) -> Column:
    if isinstance(array, pa.DictionaryArray):
        return Words(tuple(array.dictionary.to_pylist()), np.array(array.indices))
    return np.array(array.to_numpy(zero_copy_only=False))
