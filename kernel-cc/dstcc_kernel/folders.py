"""A folder's contents where others may have made it: however deep, and read without following a link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterator
from itertools import chain
from pathlib import Path

LONGEST_SHOWN = 200
"""Characters of a path that is named."""
LONGEST_PATH = 1024
"""Bytes of a path in a folder that is kept: with that of the folder before it, it is to be opened (4,096 at most)."""


def _ignore(_error: OSError) -> None:
    """What is gone, or cannot be read, is not there."""


def _unless_gone(error: OSError) -> None:
    if error.errno not in (errno.ENOENT, errno.ENOTDIR):
        raise error


def below(folder: Path, on_error: Callable[[OSError], None] = _ignore) -> Iterator[os.DirEntry[str]]:
    """All entries below, a folder before what is in it, each folder's by their names. :func:`os.walk` of Python 3.11
    calls itself for each level."""
    waiting = [os.fspath(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as opened:
                entries = sorted(opened, key=lambda entry: entry.name)
        except OSError as error:
            on_error(error)
            continue
        yield from entries
        waiting += [entry.path for entry in reversed(entries) if entry.is_dir(follow_symlinks=False)]


def bytes_below(folder: Path) -> int:
    """What lies in a folder on the disk; errors as :func:`taken_below`."""
    return taken_below(folder)[0]


def taken_below(folder: Path) -> tuple[int, int]:
    """The bytes that lie in a folder on the disk, and the number of its entries.

    Raises :class:`OSError` for a folder in it that cannot be looked into, or lies too deep: anything may lie there.
    """
    used = entries = 0
    for entry in below(folder, _unless_gone):
        entries += 1
        try:
            used += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue  # it has gone meanwhile
    return used, entries


def keep_only_files(folder: Path, but: Collection[str] = ()) -> None:
    """Remove what is neither file nor folder, and the special rights of what is, and give a folder's owner the usual
    ones; but for what has these names in it."""
    with os.scandir(folder) as opened:
        tops = [top for top in opened if top.name not in but]
    for top in tops:
        # a folder is looked into after it has its rights, a link after it has gone
        for entry in chain((top,), below(Path(top.path))):
            mode = entry.stat(follow_symlinks=False).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                Path(entry.path).unlink()
                continue
            meant = stat.S_IMODE(mode) & 0o777 | (0o700 if stat.S_ISDIR(mode) else 0)
            if meant != stat.S_IMODE(mode):
                Path(entry.path).chmod(meant)
