"""A folder's checksums, as coreutils' ``sha256sum`` writes and checks them: what rotted or was edited is named."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .atomic import atomic_write
from .errors import DstccError
from .reading import file_sha256, read_text

NAME = "SHA256SUMS"
LINE = re.compile(r"(\\?)([0-9a-f]{64})  (.+)")
ESCAPED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
"""Of a name; its line then begins with a backslash."""


@dataclass(frozen=True)
class Sums:
    """What a folder's files were when they were written."""

    folder: Path
    known: Mapping[str, str]
    """Name (``a/b``) → SHA-256; none of a folder without the list, of which nothing is checked."""
    error: type[DstccError]
    _checked: set[str] = field(default_factory=set, compare=False)

    def check(self, *names: str) -> None:
        """Raise unless each of these files is as it was written; a file is read once, one that is not listed never."""
        for name in names:
            if name in self._checked or name not in self.known:
                continue
            if file_sha256(self.folder / name, self.error) != self.known[name]:
                raise self.error(
                    f"{self.folder / name}: changed since it was written: {NAME} has another checksum. "
                    f"Restore it; without {NAME} it is read as it is"
                )
            self._checked.add(name)


def write_sums(folder: Path, error: type[DstccError], names: Iterable[str] | None = None) -> None:
    """List the regular files of ``folder`` and of the folders in it; or those of ``names`` (``a/b``)."""
    files = sorted(_regular(folder) if names is None else _regular(folder) & set(names))
    atomic_write(folder / NAME, "".join(_line(name, file_sha256(folder / name, error)) for name in files))


def read_sums(folder: Path, error: type[DstccError]) -> Sums:
    """A folder's list; raises ``error`` for one that is damaged."""
    try:
        text = read_text(folder / NAME, error)
    except FileNotFoundError:
        return Sums(folder, {}, error)
    known: dict[str, str] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        parts = LINE.fullmatch(line)
        name = "" if parts is None else _unescaped(parts[3]) if parts[1] else parts[3]
        if parts is None or name in known:
            raise error(f"{folder / NAME}: line {number} is no checksum with a name, or names a file again")
        known[name] = parts[2]
    return Sums(folder, known, error)


def _regular(folder: Path) -> set[str]:
    paths = (Path(root) / name for root, _, names in os.walk(folder) for name in names)
    return {
        path.relative_to(folder).as_posix()
        for path in paths
        if stat.S_ISREG(path.lstat().st_mode) and path != folder / NAME
    }


def _line(name: str, digest: str) -> str:
    escaped = "".join(ESCAPED.get(one, one) for one in name)
    return f"{'' if escaped == name else chr(92)}{digest}  {escaped}\n"


def _unescaped(name: str) -> str:
    back = {escape[1]: plain for plain, escape in ESCAPED.items()}
    return re.sub(r"\\(.)", lambda found: back.get(found[1], found[0]), name)
