"""Finished trials of a run that is under way, on disk, so that an interrupted run can go on with them.

They lie beside the run, in ``.NAME.kept``: what the run is (``run.json``), and of each finished trial its two tables as
Arrow files and the rest as JSON, which is written last and so says that the trial is whole. A lock tells whether a
process works on them. The folder goes when the run is in its place.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dstcc.atomic import atomic_write
from dstcc.errors import InputError, RunError

from .gather import Column, Words

IDENTITY = "run.json"
LOCK = "lock"
SHORT = 12
"""Characters of a hash that a message shows."""


@dataclass(frozen=True)
class Record:
    """What a run's files take from a trial."""

    row: dict[str, Any]
    """Of ``trials.parquet``."""
    done: dict[str, Any]
    """The fields of :class:`dstcc.run.directory.Done`."""
    chunks: Sequence[Column] | None = None
    samples: Sequence[Column] | None = None
    warnings: tuple[str, ...] = ()
    """What became known with this trial."""


class Kept:
    """The kept trials of one run; a context manager that holds their lock."""

    def __init__(self, path: Path, identity: Mapping[str, Any], *, resume: bool, force: bool) -> None:
        """For the run at ``path``. ``identity`` is all that decides what a trial's rows are.

        Raises :class:`InputError` where trials are kept and neither ``resume`` nor ``force`` says what to do with
        them, where they are another run's, and where another process works on them.
        """
        self._folder = kept_folder(path)
        self._identity = json.loads(json.dumps(identity))
        self._path, self._resume, self._force = path, resume, force
        self._lock: int | None = None

    def __enter__(self) -> Kept:
        """Take the lock, and look at what is there."""
        if not self._resume and not self._force and (count := kept_trials(self._path)):
            raise InputError(
                f"{self._path}: {count} finished trials of an interrupted run are kept beside it: --resume goes on "
                "with them, --force drops them"
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise InputError(f"{self._path}: another process is writing this run") from None
        try:
            self._begin()
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def _begin(self) -> None:
        if self._resume and (self._folder / IDENTITY).exists():
            if difference := _difference(_read_json(self._folder / IDENTITY), self._identity):
                raise InputError(
                    f"{self._path}: the kept trials are of another run: {difference}. The same command goes on with "
                    "them; --force without --resume drops them"
                )
            return
        for file in self._folder.iterdir():
            if file.name != LOCK:
                file.unlink()
        atomic_write(self._folder / IDENTITY, json.dumps(self._identity, indent=1))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Remove everything when the run is in its place, or when nothing was kept."""
        if kind is None or not kept_trials(self._path):
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)

    def has(self, place: int) -> bool:
        """Whether the trial of that place in the run's order is kept."""
        return (self._folder / f"{place}.json").exists()

    def load(self, place: int) -> Record:
        """A kept trial. Raises :class:`RunError` for a damaged one."""
        document = _read_json(self._folder / f"{place}.json")
        tables = {name: _read_columns(self._file(place, name)) for name in document["tables"]}
        return Record(
            document["row"],
            document["done"],
            tables.get("chunks"),
            tables.get("samples"),
            tuple(document["warnings"]),
        )

    def save(self, place: int, record: Record) -> None:
        """Keep a trial."""
        tables = {
            name: columns for name in ("chunks", "samples") if (columns := getattr(record, name)) is not None
        }
        for name, columns in tables.items():
            _write_columns(self._file(place, name), columns)
        document = {
            "row": record.row,
            "done": record.done,
            "warnings": record.warnings,
            "tables": list(tables),
        }
        atomic_write(self._folder / f"{place}.json", json.dumps(document))

    def _file(self, place: int, name: str) -> Path:
        return self._folder / f"{place}-{name}.arrow"


def kept_folder(path: Path) -> Path:
    """Where the trials of an interrupted run at ``path`` are kept."""
    absolute = Path(path).absolute()
    return absolute.parent / f".{absolute.name}.kept"


def kept_trials(path: Path) -> int:
    """How many trials of an interrupted run at ``path`` are kept."""
    folder = kept_folder(path)
    return sum(file.stem.isdecimal() for file in folder.glob("*.json")) if folder.is_dir() else 0


def _difference(kept: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """The first value that differs, in words; empty if none does."""
    for key in dict.fromkeys([*asked, *kept]):
        old, new = kept.get(key), asked.get(key)
        if old != new:
            return f"{key.replace('_', ' ')} was {_short(old)} and is {_short(new)}"
    return ""


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} of them" if len(value) > 1 else str(*value)
    text = str(value)
    return f"{text[:SHORT]}…" if len(text) > 3 * SHORT else text


def _write_columns(path: Path, columns: Sequence[Column]) -> None:
    """A column of text keeps its words and numbers, a column of numbers its type; NaN stays NaN."""
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(column.numbers), pa.array(column.words, pa.string()))
        if isinstance(column, Words)
        else pa.array(column)
        for column in columns
    ]
    table = pa.table(arrays, names=[str(place) for place in range(len(arrays))])
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    temporary = path.with_suffix(".part")
    with (
        pa.OSFile(str(temporary), "wb") as file,
        pa.ipc.new_file(file, table.schema, options=options) as writer,
    ):
        writer.write_table(table)
    temporary.replace(path)


def _read_columns(path: Path) -> list[Column]:
    try:
        with pa.memory_map(str(path)) as file:
            table = pa.ipc.open_file(file).read_all().combine_chunks()
            return [_column(column.combine_chunks()) for column in table.columns]
    except (OSError, pa.ArrowException) as error:
        raise RunError(
            f"{path}: damaged ({error}); without --resume and with --force the run starts anew"
        ) from None


def _column(array: pa.Array) -> Column:
    if isinstance(array, pa.DictionaryArray):
        return Words(tuple(array.dictionary.to_pylist()), np.array(array.indices))
    return np.array(array.to_numpy(zero_copy_only=False))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise RunError(
            f"{path}: damaged ({error}); without --resume and with --force the run starts anew"
        ) from None
    if not isinstance(document, dict):
        raise RunError(f"{path}: damaged; without --resume and with --force the run starts anew")
    return document
