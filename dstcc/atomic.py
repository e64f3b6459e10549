"""Files and folders that appear whole or not at all.

Output is first written to a hidden sibling, flushed to the disk and then renamed, so that a crash, a full disk or
Ctrl-C leaves the old version or the new one, never a part. The sibling's name holds the id of the process that writes
it; the sibling of a killed process is removed when the same target is next written. :mod:`dstcc.outputs` decides what
may be replaced.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
import socket
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import InputError
from .outputs import ANYTHING, Kind, obstacle

AT_FDCWD = -100
"""``renameat2``: relative paths are relative to the working folder (fcntl.h)."""
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
"""``renameat2``: fail where the new name is taken; swap the two names (linux/fs.h)."""
SUFFIX = ".tmp"
HIDDEN = re.compile(rf"\..+\.([0-9a-f]{{8}})-([0-9]{{1,9}})\.[^.]+{re.escape(SUFFIX)}")
"""A sibling's name: of whom, the machine, the process, and a drawn word."""
OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO)
"""Errors of a disk or a folder that the user can mend."""


def atomic_write(
    path: Path, data: bytes | str, *, replaces: Kind | None = ANYTHING, sweep: bool = True
) -> None:
    """Write the file ``path``, ``data`` (text as UTF-8), in one step; the rest as for :func:`atomic_file`.

    Raises :class:`OSError` when the disk is full or the folder cannot be written; the old file then stays.
    """
    with atomic_file(path, replaces=replaces, sweep=sweep) as temporary:
        temporary.write_bytes(data.encode() if isinstance(data, str) else data)


@contextmanager
def atomic_file(path: Path, *, replaces: Kind | None = ANYTHING, sweep: bool = True) -> Iterator[Path]:
    """Yield a hidden empty sibling file to write; it becomes ``path`` when the block ends without error.

    A file at ``path`` by then is replaced if it is of the kind ``replaces``, else :class:`InputError` is raised.
    Leaving the block by any exception removes the new file and leaves the old. Without ``sweep`` the folder, which may
    have thousands of files, is not looked through, and siblings that killed processes left stay.
    """
    given, path = Path(path), _located(path)
    with _named(given, path):
        if sweep:
            _sweep(path)
        handle, name = tempfile.mkstemp(prefix=_prefix(path), suffix=SUFFIX, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        with _named(given, path):
            yield temporary
            _fsync_file(temporary)
            temporary.chmod(0o666 & ~_umask())
            if replaces is ANYTHING:
                temporary.replace(path)
            else:
                _put(temporary, path, replaces)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    with _named(given, path):
        _fsync_folder(path.parent)


@contextmanager
def atomic_directory(path: Path, *, replaces: Kind | None = None) -> Iterator[Path]:
    """Yield a hidden sibling folder to fill; it becomes ``path`` when the block ends without error.

    A folder at ``path`` is replaced if it is of the kind ``replaces``, but only after the new folder is complete.
    Leaving the block by any exception (``KeyboardInterrupt`` included) removes the temporary folder and leaves the
    old.

    Raises :class:`InputError`, before the block and after it, when something else is at ``path``.
    """
    given, path = Path(path), _located(path)
    _check(path, replaces)
    with _named(given, path):
        make_folder(path.parent)
        _sweep(path)
    # Named before it is made, so that an interrupt at any moment finds it inside the block that removes it.
    temporary = path.parent / f"{_prefix(path)}{secrets.token_hex(4)}{SUFFIX}"
    try:
        with _named(given, path):
            temporary.mkdir(mode=0o700)
            yield temporary
            _fsync_tree(temporary)
            temporary.chmod(0o777 & ~_umask())
            _put(temporary, path, replaces)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    with _named(given, path):
        _fsync_folder(path.parent)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it; its name is on the disk when this returns, whoever made it."""
    path = Path(path).absolute()
    made = [one for one in path.parents if not one.exists()]
    path.mkdir(parents=True, exist_ok=True)
    with _named(path, path):
        for one in (path, *made):
            _fsync_folder(one.parent)


def remove_file(path: Path) -> None:
    """Remove a file, if it is there; it is gone from the disk when this returns."""
    path.unlink(missing_ok=True)
    _fsync_folder(path.parent)


def sweep_folder(folder: Path) -> None:
    """Remove what ended processes of this machine were about to put into ``folder``, under any name."""
    with suppress(FileNotFoundError):
        for entry in folder.iterdir():
            owner = HIDDEN.fullmatch(entry.name)
            if owner and owner[1] == _machine() and not _alive(int(owner[2])):
                _remove(entry)


@contextmanager
def _named(given: Path, path: Path) -> Iterator[None]:
    """Let a disk that is full, or a place that cannot be written, be said of the path that was ``given``.

    Libraries name no file, or one of a hidden name beside it.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in OF_WRITING or not _is_unnamed(error.filename, path):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(given)) from error


@contextmanager
def said_of(given: Path) -> Iterator[None]:
    """Let a full disk, or a place that cannot be written, be said of ``given`` where it meets hidden siblings."""
    with _named(given, _located(given)):
        yield


def _is_unnamed(name: object, path: Path) -> bool:
    """Whether an error's file is one that nobody named: none, in a hidden sibling, or the folder that these lie in."""
    if not isinstance(name, (str, Path)):
        return True
    hidden, where = f".{path.name}.", Path(name).absolute()
    return where == path.parent or any(part.startswith(hidden) for part in where.parts)


def is_sibling(entry: Path, path: Path) -> bool:
    """Whether an entry beside ``path`` is what a process, perhaps a killed one, was about to put there."""
    return entry.name.startswith(f".{path.name}.")


def _located(path: Path) -> Path:
    """The absolute path with every link resolved but the last component's."""
    path = Path(path).absolute()
    return path.resolve() if path.name in ("", "..") else path.parent.resolve() / path.name


def _check(path: Path, replaces: Kind | None) -> None:
    """Raise :class:`InputError` unless ``path`` is free or of the kind ``replaces``."""
    parent = next((folder for folder in path.parents if folder.exists()), path)
    if not parent.is_dir():
        raise InputError(f"{path}: cannot be made, {parent} is not a folder")
    if not os.path.lexists(path):
        return
    reason = "already exists" if replaces is None else obstacle(path, replaces)
    if reason is not None:
        raise InputError(f"{path}: {reason}, and is not replaced")


def _local(path: Path) -> str:
    """Prefix of the names of this machine's temporary siblings of ``path``.

    It includes the machine because a process id has no meaning on another machine that shares the disk.
    """
    return f".{path.name}.{_machine()}-"


def _machine() -> str:
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def _prefix(path: Path) -> str:
    return f"{_local(path)}{os.getpid()}."


def _sweep(path: Path) -> None:
    """Remove the siblings that ended processes of this machine left beside ``path``."""
    left = re.compile(rf"{re.escape(_local(path))}([0-9]{{1,9}})\.[^.]+{re.escape(SUFFIX)}")
    for entry in path.parent.iterdir():
        owner = left.fullmatch(entry.name)
        if owner and not _alive(int(owner[1])):
            _remove(entry)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's process
        pass
    return True


def _put(new: Path, path: Path, replaces: Kind | None) -> None:
    """Rename ``new`` to ``path`` and remove the old ``path``, in one step where the system can."""
    if _rename(new, path, RENAME_NOREPLACE):
        return
    _check(path, replaces)
    if not os.path.lexists(path):  # a file system without RENAME_NOREPLACE
        new.rename(path)
    elif _rename(new, path, RENAME_EXCHANGE):
        try:
            _check(
                new, replaces
            )  # once more where nobody else looks for it: what was added since is not lost
        except InputError as error:
            _rename(new, path, RENAME_EXCHANGE)
            raise InputError(str(error).replace(str(new), str(path))) from None
        _remove(new)
    else:  # nor RENAME_EXCHANGE: two renames
        old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent)) / path.name
        try:
            path.rename(old)
            new.rename(path)
        except BaseException:
            if os.path.lexists(old) and not os.path.lexists(path):
                old.rename(path)
            with suppress(OSError):
                old.parent.rmdir()
            raise
        _remove(old)
        old.parent.rmdir()


def _rename(one: Path, other: Path, flags: int) -> bool:
    """Linux's ``renameat2``; False where that is refused or does not exist."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    done: int = call(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), flags)
    return done == 0


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _fsync_tree(folder: Path) -> None:
    for root, _folders, files in os.walk(folder):
        for name in files:
            _fsync_file(Path(root) / name)
        _fsync_folder(Path(root))


def _fsync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _fsync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno in OF_WRITING:  # else the file system has no fsync of folders
            raise
    finally:
        os.close(handle)


def _umask() -> int:
    """The process's file mode mask (POSIX has no call that only reads it; Linux tells it in /proc)."""
    with Path("/proc/self/status").open() as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022
