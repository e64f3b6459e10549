"""A study's folder: what lies where in it, and what tells it from other folders.

::

    study.json   what it is: schema, dstcc's version, the study's file and folder, how it was called
    study.toml   the study's file, as it was given
    trials/      the results, in Parquet: part-*.parquet, a row a trial (docs/sweeps.md)
    others/      results that the study does not ask for (now): of another version, of values it had before, copied in
    parts.json   the parts that are in order and without a trial twice
    fresh/       results that are in no part yet, a file each
    failed/      of each trial that failed in the end, why
    trainings/   with --train: the trainings' folders, with their policies
    jobs/        of Slurm: scripts, shares and logs
    lock         held by the process that conducts the sweep
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dstcc.atomic import atomic_write, is_sibling, make_folder
from dstcc.errors import InputError, RunError
from dstcc.outputs import Kind, check_output
from dstcc.reading import read_json, read_text
from dstcc.run.entries import Entries
from dstcc.run.record import Whole, misshapen
from dstcc.scenario.work import in_force
from dstcc.trust import all_allowed
from dstcc.version import __version__

SCHEMA = 1
ABOUT, STUDY = "study.json", "study.toml"
KINDS = TRIALS, TRAININGS, PROGRAMS = "trials", "trainings", "programs"
"""What a study has a row of."""
SHAPE = Whole(
    dstcc_version=(str,),
    kind=(str,),
    name=(str,),
    description=(str,),
    folder=(str,),
    argv=[(str,)],
    made_by=[(str,)],
    points=(int,),
    trials=(int,),
    axes=[Whole(key=(str,), column=(str,), values=(list,))],
    limits={},
    created=(str,),
)
"""Of ``study.json``."""


class Place:
    """A study's folder, and by their names what lies in it."""

    def __init__(self, path: Path) -> None:
        """What lies in it need not be there."""
        self.path = path
        folders = ("trials", "others", "failed", "trainings", "jobs")
        self.trials, self.others, self.failed, self.trainings, self.jobs = (path / name for name in folders)
        self.parts, self.fresh = path / "parts.json", Entries(path / "fresh")

    def about(self) -> dict[str, Any]:
        """``study.json``; raises :class:`RunError` for a folder that is no study, or of another schema."""
        path = self.path / ABOUT
        try:
            about = read_json(path, RunError)
        except FileNotFoundError:
            raise RunError(f"{self.path}: no study: it has no {ABOUT}") from None
        if not isinstance(about, dict) or about.get("kind") not in KINDS:
            raise RunError(f"{path}: not of a study of dstcc's")
        if about.get("schema") != SCHEMA:
            raise RunError(f"{path}: schema {about.get('schema')!r}, but this version reads {SCHEMA}")
        if (problem := misshapen(about, SHAPE)) is not None:
            raise RunError(f"{path}: {problem}")
        return about

    def text(self) -> str:
        """The study's file, as it was given; raises :class:`RunError`."""
        try:
            return read_text(self.path / STUDY, RunError)
        except FileNotFoundError:
            raise RunError(f"{self.path / STUDY}: no such study") from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder; raises :class:`InputError` where another process does."""
        make_folder(self.path)
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(f"{self.path}: another process conducts this sweep") from None
            yield
        finally:
            os.close(handle)

    def begin(
        self, name: str, text: str, folder: Path, *, kind: str, argv: Sequence[str], more: Mapping[str, Any]
    ) -> None:
        """Make the folder, or take it up again with the study as it is now; ``more`` is what its plan says.

        Raises :class:`InputError` where something else is there, and for a study of another of :data:`KINDS`.
        """
        make_folder(self.path)
        there = self.about() if (self.path / ABOUT).exists() else None
        if there is not None and there["kind"] != kind:
            raise InputError(
                f"{self.path}: a study of {there['kind']}; one of {kind} needs a folder of its own"
            )
        about = {
            "schema": SCHEMA,
            "dstcc_version": __version__,
            "kind": kind,
            "name": name,
            "folder": str(folder),
            **more,
            "allow_extensions": all_allowed(),
            "limits": in_force(),
            "argv": [word.encode("utf-8", "backslashreplace").decode() for word in argv],
            "created": there["created"] if there else datetime.now(UTC).isoformat(timespec="seconds"),
        }
        # First what tells it from a folder of somebody else's: a process may be killed between the two.
        atomic_write(self.path / ABOUT, json.dumps(about, indent=1, ensure_ascii=False) + "\n")
        atomic_write(self.path / STUDY, text)
        make_folder(self.fresh.folder)

    def failures(self) -> list[dict[str, Any]]:
        """What failed in the end, by trial; a file that is damaged is left out."""
        found = []
        for file in sorted(self.failed.glob("*.json")):
            with suppress(RunError, FileNotFoundError):
                document = read_json(file, RunError)
                if isinstance(document, dict) and isinstance(document.get("trial"), str):
                    found.append(document)
        return found

    def fail(self, key: str, document: Mapping[str, Any]) -> None:
        """Note that a trial failed."""
        make_folder(self.failed)
        atomic_write(self.failed / f"{key}.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")

    def unfail(self, key: str) -> None:
        """Forget that it did."""
        (self.failed / f"{key}.json").unlink(missing_ok=True)


def is_study(path: Path) -> bool:
    """Whether a folder is a study's."""
    return (Path(path) / ABOUT).is_file()


def _no_study(path: Path) -> str | None:
    try:
        Place(path).about()
    except RunError as error:
        return f"is none ({error})"
    return None


FOLDER = Kind("a study", _no_study, folder=True)


def check_place(path: Path, inputs: Sequence[Path]) -> None:
    """Raise :class:`InputError` unless ``path`` is free, empty but for a lock, or a study's folder."""
    if not os.path.lexists(path):
        check_output(path, FOLDER, force=False)
    elif not path.is_dir():
        raise InputError(f"{path}: is no folder; -o takes the folder of a study")
    elif not is_study(path) and any(
        entry.name != "lock" and not is_sibling(entry, path / ABOUT) for entry in path.iterdir()
    ):
        raise InputError(f"{path}: holds something, and is no study of dstcc's; -o takes a folder of its own")
    for given in inputs:
        if given.absolute().resolve().is_relative_to(path.absolute().resolve()):
            raise InputError(f"{path}: holds {given}, which the command reads; -o takes a folder of its own")
