"""What programs print, line by line with the mission time of each, into a log per end host."""

from __future__ import annotations

import re
from pathlib import Path

from dstcc.characters import printable

from .mission import HOSTS, STDERR, STDOUT

LINE_END = re.compile(rb"[\r\n]")
"""A meter that returns to the line's start has a line for each of its states."""
LONGEST = 1 << 16
CUT = "the log ends here: it has grown to the size of its host's disk"
STREAMS = ("out", "err")


def log_of(host: str) -> str:
    """The name of an end host's log: lines of mission time (s), program's number, stream and text."""
    return f"{host}.log"


class Logs:
    """The logs of all end hosts, and what the first program prints as it is."""

    def __init__(self, folder: Path, scale: float, most_bytes: int) -> None:
        self._files = {host: (folder / log_of(host)).open("wb", buffering=0) for host in HOSTS}
        self._raw = {
            stream: (folder / name).open("wb", buffering=0)
            for stream, name in zip(STREAMS, (STDOUT, STDERR), strict=True)
        }
        self._scale, self._most = scale, most_bytes
        self._room = dict.fromkeys((*HOSTS, *STREAMS), most_bytes)
        self._parts: dict[tuple[str, int, str], bytes] = {}

    @property
    def cut(self) -> list[str]:
        """The end hosts whose logs are not whole."""
        return [host for host in HOSTS if self._room[host] <= 0]

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
