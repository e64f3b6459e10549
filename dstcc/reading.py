"""Files that others may have written, read with limits: regular, not too large, and of the type that is expected.

A FIFO or a device in a file's place would hold a command up or fill its memory, and so would a file that grew. What is
too deep or too long for its parser is an error like any other.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from .errors import DstccError

MOST_BYTES = 64 * 2**20
"""Of a text file: a run's record has some kilobytes, a scenario fewer."""
MOST_HASHED = 64 * 2**30
"""Of a video; a sparse file of exabytes takes no room on the disk, and years to be read."""
LONGEST_REASON = 240
"""Characters of what a parser says, of which the end names the line."""
MOST_DEPTH = 64
"""Tables and lists within each other; a scenario has 6. Python's own limit is some hundreds of calls."""
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.?)*+"?|'[^'\n]*+'?)"""
_TOKEN = re.compile(
    r"""(?s:\"{3}(?:[^"\\]|\\.|"(?!""))*+(?:\"{3})?|'{3}(?:[^']|'(?!''))*+(?:'{3})?)|#[^\n]*+|"""
    rf"({_PART}(?:[ \t]*+\.[ \t]*+{_PART})*+)"
)
"""Long strings, comments, and keys with much that is none, such as numbers; each ends somewhere, closed or not, so that
the time is in the length of the text."""
_PARTS = re.compile(_PART)


def check_depth(document: object, where: str, error: type[DstccError], most: int = MOST_DEPTH) -> None:
    """Raise ``error`` for a document whose tables and lists are nested deeper than ``most``; without recursion."""
    level = [document]
    for _ in range(most + 1):
        level = [
            item
            for one in level
            if isinstance(one, (dict, list, tuple))
            for item in (one.values() if isinstance(one, dict) else one)
            if isinstance(item, (dict, list, tuple))
        ]
        if not level:
            return
    raise error(f"{where}: nested deeper than {MOST_DEPTH} tables and lists")


def check_regular(path: Path, error: type[DstccError], most: int | None = None) -> None:
    """Raise ``error`` for a folder, a device or a FIFO, and for a file of more than ``most`` bytes; what cannot be
    looked at is left to whoever opens it."""
    if "\0" in str(path):
        raise error(f"{str(path)!r}: no file has a NUL in its name")
    with suppress(OSError):
        _check(path, path.stat(), error, most)


def _check(path: Path, found: os.stat_result, error: type[DstccError], most: int | None) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = "is a folder" if stat.S_ISDIR(found.st_mode) else "is not a regular file"
        raise error(f"{path}: cannot be read: {kind}")
    if most is not None and found.st_size > most:
        raise error(f"{path}: has more than {_size(most)}, which none of these has")


def _size(most: int) -> str:
    return f"{most / 2**30:g} GiB" if most >= 2**30 else f"{most / 2**20:g} MiB"


@contextmanager
def opened(
    path: Path, error: type[DstccError], most: int | None = MOST_BYTES, *, follow: bool = True
) -> Iterator[tuple[BinaryIO, int]]:
    """A regular file, open, and its size; raises ``error`` naming it, also for what goes wrong while it is read.

    Without ``follow`` a link in the file's place is such an error.
    :class:`FileNotFoundError` is raised as it is. The file is looked at after it was opened (which waits for nobody),
    since another one may have got its name meanwhile.
    """
    if "\0" in str(path):
        raise error(f"{str(path)!r}: no file has a NUL in its name")
    try:
        with open(path, "rb", opener=_open_nonblocking if follow else no_link) as file:
            found = os.fstat(file.fileno())
            _check(path, found, error, most)
            yield file, found.st_size
            if file.read(1):
                raise error(f"{path}: grew while it was read")
    except FileNotFoundError:
        raise
    except IsADirectoryError:
        raise error(f"{path}: cannot be read: is a folder") from None
    except OSError as problem:
        raise error(f"{path}: cannot be read ({problem.strerror})") from None


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file, and a pipe without waiting for who writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)


def no_link(path: str, flags: int) -> int:
    """Likewise, for :func:`open`, and no link; a file that is made is its owner's."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW, 0o600)


def read_bytes(path: Path, error: type[DstccError], most: int = MOST_BYTES, *, follow: bool = True) -> bytes:
    """All of a regular file of at most so many bytes; errors as :func:`opened`."""
    with opened(path, error, most, follow=follow) as (file, size):
        return b"".join(_blocks(file, size))


def file_sha256(path: Path, error: type[DstccError], most: int = MOST_HASHED) -> str:
    """The SHA-256 of a regular file; errors as :func:`opened`, and ``error`` for a file that is missing."""
    digest = hashlib.sha256()
    try:
        with opened(path, error, most) as (file, size):
            for block in _blocks(file, size):
                digest.update(block)
    except FileNotFoundError as problem:
        raise error(f"{path}: cannot be read ({problem.strerror})") from None
    return digest.hexdigest()


def json_sha256(document: Any) -> str:
    """The SHA-256 of what JSON can hold, in whatever order its keys are."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _blocks(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The first ``size`` bytes of a file, or fewer where it became shorter."""
    while size > 0 and (block := file.read(min(size, 1 << 20))):
        size -= len(block)
        yield block


def read_text(path: Path, error: type[DstccError], most: int = MOST_BYTES, *, follow: bool = True) -> str:
    """The same as UTF-8."""
    try:
        return read_bytes(path, error, most, follow=follow).decode()
    except UnicodeDecodeError as problem:
        raise error(f"{path}: not UTF-8 at byte {problem.start}") from None


def read_json(path: Path, error: type[DstccError], most: int = MOST_BYTES, *, follow: bool = True) -> Any:
    """The same as JSON."""
    text = read_text(path, error, most, follow=follow)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise error(f"{path}: not JSON ({_brief(problem)})") from None
    check_depth(document, str(path), error)
    return document


def read_toml(path: Path, error: type[DstccError], most: int = MOST_BYTES) -> dict[str, Any]:
    """The same as TOML."""
    text = read_text(path, error, most)
    try:
        document = parse_toml(text)
    except (ValueError, RecursionError) as problem:
        raise error(f"{path}: not TOML ({_brief(problem)})") from None
    check_depth(document, str(path), error)
    return document


def parse_toml(text: str) -> dict[str, Any]:
    """TOML as Python's parser reads it, but that a key of too many parts is a :class:`ValueError`: the parser takes
    time in the square of their number, minutes for a key of 100 kB."""
    if text.count(".") >= MOST_DEPTH:
        for found in _TOKEN.finditer(text):
            key = found[1] or ""
            if key.count(".") >= MOST_DEPTH < len(_PARTS.findall(key)):
                line = text.count("\n", 0, found.start()) + 1
                raise ValueError(f"line {line}: a key of more than {MOST_DEPTH} parts")
    return tomllib.loads(text)


def _brief(problem: Exception) -> str:
    if isinstance(problem, RecursionError):
        return "nested too deeply"
    text = str(problem).partition(";")[0]
    return (
        text
        if len(text) <= LONGEST_REASON
        else f"{text[: LONGEST_REASON // 2]} ... {text[-LONGEST_REASON // 2 :]}"
    )
