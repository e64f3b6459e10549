"""Files that a guest left, read on the host. Code in its kernel may have written anything into them, and put anything
in their place: what is no regular file, a link, and what is longer than it can be, is an error that names file and
rule.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from dstcc.errors import KernelError
from dstcc.reading import MOST_BYTES, opened, read_json, read_text

from .folders import LONGEST_PATH, LONGEST_SHOWN, below

LONGEST_MESSAGE = 1 << 16
"""Bytes of a message for the user."""
SHOWN = 1 << 24
"""Bytes of a log's beginning, and of its end, that are looked at; a guest may have printed without end."""


def message_of(path: Path, most: int = LONGEST_MESSAGE) -> str:
    """A short text; :class:`FileNotFoundError` where it is not there."""
    return read_text(path, KernelError, most, follow=False).strip()


def document_of(path: Path) -> Any:
    """A JSON document."""
    return read_json(path, KernelError, MOST_BYTES, follow=False)


def ends_of(path: Path, shown: int = SHOWN) -> str:
    """A log, or the beginning and the end of a long one."""
    with opened(path, KernelError, None, follow=False) as (file, size):
        text = file.read(shown)
        if size > shown:
            file.seek(max(shown, size - shown))
            text += b"\n" * (size > 2 * shown) + file.read(shown)
        file.seek(size)
    return text.decode(errors="replace")


def remove(folder: Path) -> None:
    """Remove a folder whose contents others made: however deep, and whatever rights its folders have lost.

    What is a folder's folder becomes its neighbour, so that no path gets long. (:func:`shutil.rmtree` calls itself for
    each level.)
    """
    free = (name for number in count() if not os.path.lexists(name := folder / f".{number}"))
    while tops := _entries(folder):
        for top in tops:
            if not _is_folder(top):
                Path(top.path).unlink()
                continue
            for entry in _entries(Path(top.path)):
                if _is_folder(entry):
                    Path(entry.path).chmod(0o700)  # to be moved a folder must be its owner's to write
                    Path(entry.path).rename(next(free))
                else:
                    Path(entry.path).unlink()
            Path(top.path).rmdir()
    folder.rmdir()


def discard(folder: Path) -> None:
    """Remove as much of a folder as can be, where others may still write to it."""
    with suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        with suppress(OSError):
            remove(folder)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    folder.chmod(0o700)
    with os.scandir(folder) as opened:
        return list(opened)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def check_names(folder: Path) -> None:
    """Raise :class:`~dstcc.errors.KernelError` for what is no name to keep: not UTF-8, or too long with its folders'.

    Nothing is said of a folder that is not there.
    """
    if not folder.exists():
        return

    def refuse(error: OSError) -> NoReturn:
        raise KernelError(f"{folder.name}: cannot be looked through ({error.strerror})")

    for entry in below(folder, refuse):
        within = f"{folder.name}/{os.path.relpath(entry.path, folder)}"
        try:
            length = len(within.encode())
        except UnicodeEncodeError:
            raise KernelError(f"{within!a}: a name that is not UTF-8") from None
        if length > len(folder.name) + 1 + LONGEST_PATH:
            raise KernelError(f"{within[:LONGEST_SHOWN]}...: has more than {LONGEST_PATH:,} bytes")
