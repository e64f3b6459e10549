"""Files that others may have written, read with limits: regular, not too large, and of the type that is expected.

A FIFO or a device in a file's place would hold a command up or fill its memory, and so would a file that grew. What is
too deep or too long for its parser is an error like any other.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

from .errors import DstccError

MOST_BYTES = 64 * 2**20
"""Of a text file: a run's record has some kilobytes, a scenario fewer."""


def check_regular(path: Path, error: type[DstccError]) -> None:
    """Raise ``error`` for a folder, a device or a FIFO; what cannot be looked at is left to whoever opens it."""
    if "\0" in str(path):
        raise error(f"{str(path)!r}: no file has a NUL in its name")
    with suppress(OSError):
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "is a folder" if stat.S_ISDIR(mode) else "is not a regular file"
            raise error(f"{path}: cannot be read: {kind}")


def read_bytes(path: Path, error: type[DstccError], most: int = MOST_BYTES) -> bytes:
    """All of a regular file; raises ``error`` naming it, and :class:`FileNotFoundError` as it is."""
    if "\0" in str(path):
        raise error(f"{str(path)!r}: no file has a NUL in its name")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise error(f"{path}: cannot be read ({problem.strerror})") from None
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        kind = "is a folder" if stat.S_ISDIR(found.st_mode) else "is not a regular file"
        raise error(f"{path}: cannot be read: {kind}")
    with os.fdopen(handle, "rb") as file:
        try:
            data = file.read(min(found.st_size, most) + 1)
        except OSError as problem:
            raise error(f"{path}: cannot be read ({problem.strerror})") from None
    if len(data) > most:
        raise error(f"{path}: has more than {most / 2**20:g} MiB, which none of these has")
    if len(data) > found.st_size:
        raise error(f"{path}: grew while it was read")
    return data


def read_text(path: Path, error: type[DstccError], most: int = MOST_BYTES) -> str:
    """The same as UTF-8."""
    try:
        return read_bytes(path, error, most).decode()
    except UnicodeDecodeError as problem:
        raise error(f"{path}: not UTF-8 at byte {problem.start}") from None


def read_json(path: Path, error: type[DstccError], most: int = MOST_BYTES) -> Any:
    """The same as JSON."""
    text = read_text(path, error, most)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise error(f"{path}: not JSON ({_brief(problem)})") from None


def read_toml(path: Path, error: type[DstccError], most: int = MOST_BYTES) -> dict[str, Any]:
    """The same as TOML."""
    text = read_text(path, error, most)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        raise error(f"{path}: not TOML ({_brief(problem)})") from None


def _brief(problem: Exception) -> str:
    if isinstance(problem, RecursionError):
        return "nested too deeply"
    return str(problem).partition(";")[0]
