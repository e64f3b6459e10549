"""What a command's output may replace: nothing; with ``--force`` an output of dstcc; never an input.

One rule for every command, checked before the work and again when the output is renamed into place:

* Without ``--force`` no existing file or folder is replaced.
* With ``--force`` an output of the same command is replaced. A :class:`Kind` recognises its outputs by the mark inside;
  a folder is recognised only if it holds nothing but the files that the command writes. Empty files and folders are
  not recognised.
* An input is never replaced, under whatever name: nor a folder that holds one, nor a second name of one.
* A link, a device, a mount point, the current folder and the folders above it are never replaced.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

from .errors import InputError
from .frozen import dataclass

MARK_BYTES = 4096
"""Bytes at the beginning of a text file that are searched for its mark."""
MAX_NAME_BYTES = 200
"""A file system allows 255; the hidden name under which an output is written is longer than its final name."""


@dataclass(frozen=True)
class Kind:
    """A kind of output, which can be recognised on disk."""

    name: str
    """Its name in messages: ``a run``."""
    wrong: Callable[[Path], str | None]
    """Why a file or folder is not of this kind, like ``has no run.json``; ``None`` when it is. Only the content counts;
    an unreadable file raises :class:`OSError`."""
    folder: bool = False


def obstacle(path: Path, kind: Kind) -> str | None:
    """Why the file or folder at ``path`` may not be replaced by an output of ``kind``; ``None`` if it may."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return "is a symbolic link"
        if stat.S_ISDIR(mode):
            return _of_folder(path, kind) if kind.folder else "is a folder"
        if not stat.S_ISREG(mode):
            return "is neither a file nor a folder"
        if not path.stat().st_size:
            return None
        return "is a file" if kind.folder else kind.wrong(path)
    except OSError as error:
        return f"cannot be looked into ({error.strerror})"


def check_output(path: Path, kind: Kind, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Raise :class:`InputError` unless an output of ``kind`` may be put at ``path``.

    ``inputs`` are the files and folders that the command reads; missing ones are ignored. Commands check before long
    work, and again when they have read which other files the scenario names.
    """
    path = Path(path)
    _check_name(path)
    if not os.path.lexists(path):
        return
    read = _clash(path, inputs)
    if read is not None:
        raise InputError(f"{path}: {read}, and no output replaces that")
    reason = obstacle(path, kind)
    if not force:
        rule = "" if reason is None else f" only if it is {kind.name} of dstcc's, but it {reason}"
        raise InputError(f"{path}: already exists; --force replaces it{rule}")
    if reason is not None:
        raise InputError(f"{path}: {reason}, and --force replaces nothing but {kind.name} that dstcc wrote")


def check_new(path: Path, remedy: str) -> None:
    """Raise :class:`InputError` if ``path`` exists; ``remedy`` says what the user can do."""
    _check_name(Path(path))
    if os.path.lexists(path):
        raise InputError(f"{path}: already exists; {remedy}")


def stranger(folder: Path, known: Collection[str]) -> str | None:
    """An entry of ``folder`` that is neither a regular file of ``known`` (``a``, ``b/c``) nor a parent of one."""
    folders = {parent.as_posix() for name in known for parent in Path(name).parents}
    for root, below, files in os.walk(folder, onerror=_raise):
        here = Path(root)
        for name in sorted(below):
            within = (here / name).relative_to(folder).as_posix()
            if within not in folders or (here / name).is_symlink():
                return within
        for name in sorted(files):
            within = (here / name).relative_to(folder).as_posix()
            if within not in known or not stat.S_ISREG((here / name).lstat().st_mode):
                return within
    return None


def beginning(path: Path) -> str:
    """The beginning of a file as text; bytes that are not text are replaced."""
    with path.open("rb") as file:
        return file.read(MARK_BYTES).decode("utf-8", errors="replace")


def _check_name(path: Path) -> None:
    """Raise :class:`InputError` for a name that an output cannot have."""
    try:
        length = len(path.name.encode())
    except UnicodeEncodeError:
        raise InputError(f"{path}: no output has a name that is not UTF-8") from None
    if "\0" in str(path) or length > MAX_NAME_BYTES:
        raise InputError(f"{path}: no output has a name with a NUL or of more than {MAX_NAME_BYTES} bytes")
    parent = next((folder for folder in path.absolute().parents if folder.exists()), path)
    if not parent.is_dir():
        raise InputError(f"{path}: cannot be made, {parent} is not a folder")


def _of_folder(path: Path, kind: Kind) -> str | None:
    if path.absolute().is_mount():
        return "is a mount point"
    if any(_same(path, here) for here in (Path.cwd(), *Path.cwd().parents)):
        return "is the current folder, or holds it"
    return kind.wrong(path) if any(path.iterdir()) else None


def _clash(path: Path, inputs: Iterable[Path]) -> str | None:
    """The input that ``path`` is, or holds; files are compared by identity (device and inode), not by name."""
    for given in map(Path, inputs):
        with suppress(OSError):
            if _same(path, given):
                return "is what the command reads"
            real = given.resolve(strict=True)
            if any(_same(path, above) for above in (*real.parents, *given.absolute().parents)):
                return f"holds {given}, which the command reads"
    return None


def _same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(one.stat(), other.stat())
    return False


def _raise(error: OSError) -> None:
    raise error


ANYTHING = Kind("anything", lambda _path: None)
"""For files that only the program writes, as in the cache."""
