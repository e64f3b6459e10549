"""What programs print, line by line with the mission time of each, into a log per end host."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from dstcc.errors import CONTROL, KernelError, printable
from dstcc.reading import opened

from .mission import STDERR, STDOUT

LINE_END = re.compile(rb"[\r\n]")
"""A meter that returns to the line's start has a line for each of its states."""
LONGEST = 1 << 16
CUT = "the log ends here: it has grown to the size of its host's disk"
STREAMS = ("out", "err")
LINE = re.compile(rb"\d+\.\d+ (\d+) (out|err) ([^\n]*)\n")
LONGEST_LINE = 1 << 20
"""Bytes: each of those that are read at once may be written out as four, as ``\\x1b``."""
BEYOND = 4 << 20
"""By which a log is larger than its host's disk at most: what came with the line that filled it."""


def log_of(host: str) -> str:
    """The name of an end host's log: lines of mission time (s), program's number, stream and text."""
    return f"{host}.log"


class Logs:
    """The logs of all end hosts, and what the first program prints as it is."""

    def __init__(self, folder: Path, hosts: Sequence[str], scale: float, most_bytes: int) -> None:
        self._files = {host: (folder / log_of(host)).open("wb", buffering=0) for host in hosts}
        self._raw = {
            stream: (folder / name).open("wb", buffering=0)
            for stream, name in zip(STREAMS, (STDOUT, STDERR), strict=True)
        }
        self._scale, self._most = scale, most_bytes
        self._room = dict.fromkeys((*self._files, *STREAMS), most_bytes)
        self._parts: dict[tuple[str, int, str], bytes] = {}

    @property
    def cut(self) -> list[str]:
        """The end hosts whose logs are not whole."""
        return [host for host in self._files if self._room[host] <= 0]

    def add(self, t_ns: int, host: str, number: int, stream: str, data: bytes) -> None:
        """Take what a program printed."""
        if number == 0 and self._room[stream] > 0:
            self._room[stream] -= len(data)
            self._raw[stream].write(data)
        key = host, number, stream
        *lines, part = LINE_END.split(self._parts.get(key, b"") + data)
        if len(part) > LONGEST:
            lines.append(part)
            part = b""
        self._parts[key] = part
        self._write(t_ns, host, number, stream, [line for line in lines if line])

    def close(self, t_ns: int) -> None:
        """Write the lines that have no end."""
        for (host, number, stream), part in sorted(self._parts.items()):
            if part:
                self._write(t_ns, host, number, stream, [part])
        for file in (*self._files.values(), *self._raw.values()):
            file.close()

    def _write(self, t_ns: int, host: str, number: int, stream: str, lines: list[bytes]) -> None:
        if not lines or self._room[host] <= 0:
            return
        head = f"{t_ns / 1e9 * self._scale:.6f} {number + 1} {stream} ".encode()
        text = b"".join(head + _printable(line) + b"\n" for line in lines)
        self._room[host] -= len(text)
        if self._room[host] <= 0:
            text += f"{t_ns / 1e9 * self._scale:.6f} 0 err {CUT}\n".encode()
        self._files[host].write(text)


def _printable(line: bytes) -> bytes:
    """What a terminal would obey, or cannot decode, is written out in a log, as ``\\x1b``."""
    return printable(line.decode(errors="backslashreplace")).encode()


def kept_log(source: Path, to: Path, disk_mb: int) -> int:
    """Copy a log that a guest left, where it left one, and leave out what :class:`Logs` does not write; the number of
    such lines. Code in the guest's kernel may have written them; a log that was cut off may end in the middle of one.

    Raises :class:`~dstcc.errors.KernelError` for what is no file, or longer than a log can be.
    """
    wrong = 0
    try:
        with (
            opened(source, KernelError, (disk_mb << 20) + BEYOND, follow=False) as (file, _),
            to.open("xb") as copy,
        ):
            while line := file.readline(LONGEST_LINE):
                if _is_ours(line):
                    copy.write(line)
                else:
                    wrong += 1
    except FileNotFoundError:
        pass
    return wrong


def _is_ours(line: bytes) -> bool:
    try:
        return LINE.fullmatch(line) is not None and CONTROL.search(line[:-1].decode()) is None
    except UnicodeDecodeError:
        return False


def lines_of(log: Path) -> Iterator[tuple[int, str, str]]:
    """Each line's program, stream and text, of a log that was copied."""
    if log.exists():
        with log.open("rb") as file:
            for line in file:
                if found := LINE.fullmatch(line):
                    yield int(found[1]), found[2].decode(), found[3].decode()
