"""What an end host leaves of its own folder: the files and folders, in the run's folder on the machine's disk.

A file with holes is copied with them: it takes no more there than it took in the guest, where ``--disk`` bounds it. A
file of several names is a file by each of them, as far as the disk would have had room for that.
What is not kept is named with the reason: links, pipes and the like; a file that is longer than the disk, holes or
not; further names of a large file; a name that is no text; a path that is too long.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from ..folders import LONGEST_PATH, LONGEST_SHOWN, below
from .host import folder_of
from .mission import AT

CHUNK = 1 << 20
PLAIN, NAMELESS, DEEP = "neither file nor folder", "a name that is not UTF-8", os.strerror(errno.ENAMETOOLONG)


@dataclass
class _Disk:
    """What of an end host's disk its files leave to the copies that further names of them become."""

    mb: int
    room: int
    named: set[int] = field(default_factory=set)

    def refuses(self, status: os.stat_result) -> str | None:
        """This file, or this further name of it, and why."""
        if status.st_size > self.mb << 20:
            return f"longer than --disk ({self.mb} MB)"
        further = status.st_blocks * 512 if status.st_ino in self.named else 0
        if further > self.room:
            return f"further names, whose files are more than --disk ({self.mb} MB)"
        self.room -= further
        self.named.add(status.st_ino)
        return None


def keep(name: str, disk_mb: int) -> dict[str, list[str]]:
    """Copy an end host's files out of the guest; what was left there, by reason."""
    home, to = folder_of(name), AT / name
    left: dict[str, list[str]] = defaultdict(list)
    free = os.statvfs(home)
    disk = _Disk(disk_mb, free.f_bavail * free.f_frsize)
    to.mkdir()
    if not any((home / "tmp").iterdir()):
        (home / "tmp").rmdir()

    def leave(error: OSError) -> None:
        left[os.strerror(error.errno or errno.EIO)].append(_within(name, home, str(error.filename)))

    for entry in below(home, leave):
        try:
            reason = _copied(entry, os.path.relpath(entry.path, home), to, disk)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
            reason = os.strerror(error.errno or errno.EIO)
        if reason is not None:
            left[reason].append(_within(name, home, entry.path))
    return dict(left)


def _within(name: str, home: Path, path: str) -> str:
    text = os.fsencode(f"{name}/{os.path.relpath(path, home)}").decode(errors="backslashreplace")
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def _copied(entry: os.DirEntry[str], within: str, folder: Path, disk: _Disk) -> str | None:
    """Copy a file, or make a folder; why not, if not."""
    if not _is_text(within):
        return NAMELESS
    if len(os.fsencode(within)) > LONGEST_PATH:
        return DEEP
    to = folder / within
    status = entry.stat(follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        to.mkdir()
        return None
    if not stat.S_ISREG(status.st_mode):
        return PLAIN
    if reason := disk.refuses(status):
        return reason
    copy_sparse(Path(entry.path), to)
    to.chmod(stat.S_IMODE(status.st_mode) & 0o777 | 0o600)
    os.utime(to, ns=(status.st_mtime_ns, status.st_mtime_ns))
    return None


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def copy_sparse(source: Path, to: Path) -> None:
    """Copy a file; its holes stay holes."""
    with source.open("rb", buffering=0) as file, to.open("xb") as copy:
        size, at = os.fstat(file.fileno()).st_size, 0
        while at < size:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                break  # a hole up to the end
            at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            file.seek(start)
            copy.seek(start)
            while start < at:
                data = file.read(min(CHUNK, at - start))
                if not data:
                    break
                copy.write(data)
                start += len(data)
        copy.truncate(size)
