"""What a command's output may take the place of: nothing; with ``--force`` what dstcc wrote; never what it reads.

One rule for every command, asked before the work and once more when the output takes its place:

* Without ``--force`` nothing that is there is replaced.
* With it, what the same command wrote. A :class:`Kind` knows its own again by the mark inside; a folder is its own only
  if it holds nothing but the files that the command writes. Empty files and folders are nobody's.
* Never what the command reads, by whatever name: an input, a folder that holds one, a second name of one.
* Never a link, a device, a mount point, the current folder or one that holds it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import InputError

MARK_BYTES = 4096
"""How far into a text file its mark is looked for."""
MAX_NAME_BYTES = 200
"""A file system has room for 255; the hidden name under which an output is made is longer than its own."""


@dataclass(frozen=True)
class Kind:
    """A kind of output, known again when it is met."""

    name: str
    """As a message says it: ``a run``."""
    wrong: Callable[[Path], str | None]
    """What of a file or folder is not this kind's, like ``has no run.json``; ``None`` when all of it is. Goes by the
    content alone; what cannot be read raises :class:`OSError`."""
    folder: bool = False


def obstacle(path: Path, kind: Kind) -> str | None:
    """Why what is at ``path`` may not make room for another of ``kind``; ``None`` if it may."""
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

    ``inputs`` are the files and folders that the command reads; those that are not there do not count. Commands ask
    before long work, and again when a scenario has said what else it reads.
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
    """Raise :class:`InputError` where there is something at ``path``; ``remedy`` says what helps."""
    _check_name(Path(path))
    if os.path.lexists(path):
        raise InputError(f"{path}: already exists; {remedy}")


def stranger(folder: Path, known: Collection[str]) -> str | None:
    """An entry of ``folder`` that is none of the regular files ``known`` (``a``, ``b/c``), nor on the way to one."""
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
    """The text that a file begins with; what is no text is read as such all the same."""
    with path.open("rb") as file:
        return file.read(MARK_BYTES).decode("utf-8", errors="replace")


def _check_name(path: Path) -> None:
    """Raise :class:`InputError` for a name that no output can have."""
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
    """What of the inputs ``path`` is, or holds: files are told apart as the system does, not by their names."""
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
"""For files that are the program's own by their name, as in the cache."""
