"""Finished trials of a run in progress, so that an interrupted run can go on with them.

They lie beside the run, in ``.NAME.kept``: a store of trials by their hashes (:mod:`.entries`), and in ``run.json``
what the run is, so that a command that means another one is told of it. A lock tells whether a process works on them.
The folder goes when the run is in its place.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dstcc.atomic import atomic_write, said_of
from dstcc.errors import InputError, RunError
from dstcc.reading import read_json

from .entries import Entries, Tables
from .tables import TrialRow

IDENTITY = "run.json"
LOCK = "lock"
LOG = "-log-"
"""Between a trial's hash and the name of one of its packet logs."""
SHORT = 12
"""Characters of a hash that a message shows."""
REMEDY = "without --resume and with --force the run starts anew"


class Kept:
    """The kept trials of one run; a context manager that holds their lock."""

    def __init__(self, path: Path, identity: Mapping[str, Any], *, resume: bool, force: bool) -> None:
        """For the run at ``path``. ``identity`` is what its trials have in common.

        Raises :class:`InputError` where trials are kept and neither ``resume`` nor ``force`` says what to do with
        them, where they are another run's, and where another process works on them.
        """
        self._folder = kept_folder(path)
        self._entries = _entries(self._folder)
        self._identity = json.loads(json.dumps(identity))
        self._path, self._resume, self._force = path, resume, force
        self._lock: int | None = None

    def __enter__(self) -> Kept:
        """Take the lock, and look at what is there."""
        if not self._resume and not self._force and (count := kept_trials(self._path)):
            raise InputError(
                f"{self._path}: an interrupted run has left {count} completed trials next to it: --resume continues "
                "it, --force discards them"
            )
        with said_of(self._path):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise InputError(f"{self._path}: another process is writing this run") from None
        try:
            with said_of(self._path):
                self._begin()
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def _begin(self) -> None:
        if self._resume and (self._folder / IDENTITY).exists():
            if difference := _difference(_read_json(self._folder / IDENTITY), self._identity):
                raise InputError(
                    f"{self._path}: the completed trials are of another run: {difference}. What began them (the same "
                    "command and version) continues with them; --force without --resume discards them"
                )
            return
        for file in self._folder.iterdir():
            if file.is_dir() and not file.is_symlink():
                shutil.rmtree(file)
            elif file.name != LOCK:
                file.unlink()
        atomic_write(self._folder / IDENTITY, json.dumps(self._identity, indent=1))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Remove everything when the run is in its place, or when nothing was kept."""
        if kind is None or not kept_trials(self._path):
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)

    def has(self, key: str) -> bool:
        """Whether the trial of that hash is kept."""
        return self._entries.has(key)

    def load(self, key: str) -> tuple[TrialRow, Tables]:
        """A kept trial. Raises :class:`RunError` for a damaged one."""
        document, tables = self._entries.load(key)
        return TrialRow(**document), tables

    def take_logs(self, key: str, folder: Path) -> None:
        """Put the packet logs of a kept trial into a folder."""
        head = f"{key}{LOG}"
        for file in self._folder.glob(f"{head}*"):
            _copy(file, folder / file.name.removeprefix(head))

    def save(self, key: str, row: TrialRow, tables: Tables, logs: Sequence[Path] = ()) -> None:
        """Keep a trial, with its packet logs."""
        with said_of(self._path):
            for log in logs:
                kept = self._folder / f"{key}{LOG}{log.name}"
                kept.unlink(missing_ok=True)
                _copy(log, kept)
            self._entries.save(key, vars(row), tables)


def _copy(file: Path, to: Path) -> None:
    """Logs may have gigabytes, and nobody changes them: another name for the same bytes where that can be."""
    try:
        os.link(file, to)
    except OSError:
        shutil.copyfile(file, to)


def kept_folder(path: Path) -> Path:
    """Where the trials of an interrupted run at ``path`` are kept."""
    absolute = Path(path).absolute()
    return absolute.parent / f".{absolute.name}.kept"


def kept_trials(path: Path) -> int:
    """How many trials of an interrupted run at ``path`` are kept."""
    return len(list(_entries(kept_folder(path)).found()))


def _entries(folder: Path) -> Entries:
    return Entries(folder, REMEDY)


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


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = read_json(path, RunError)
    except (OSError, RunError) as error:
        raise RunError(f"{path}: damaged ({error}); {REMEDY}") from None
    if not isinstance(document, dict):
        raise RunError(f"{path}: damaged; {REMEDY}")
    return document
