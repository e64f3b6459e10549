"""The disk of a simulated world: a real folder, reached by the calls that the product makes, each of which may fail.

What was written and not flushed may be lost when the power fails: of a file its end, of a folder its last changes of
names. That is what POSIX leaves open, whatever a file system of today does.
"""

# ruff: noqa: PTH100, PTH110, PTH112, PTH113, PTH115, PTH118, PTH120, PTH202
from __future__ import annotations

import errno
import io
import os
import pathlib
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq

from .processes import Killed, World


@dataclass
class Change:
    """Of a name in a folder, which has not been flushed; ``undo`` takes it back."""

    name: str
    undo: Callable[[], None]

    @property
    def folder(self) -> str:
        """That holds the name."""
        return os.path.dirname(self.name)


class Entries(list[Any]):
    """What ``os.scandir`` gives."""

    def __enter__(self) -> Entries:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def close(self) -> None:
        """Nothing is open."""


class Disk:
    """The files below ``root``, as the processes of a world see them."""

    def __init__(self, world: World, root: Path) -> None:
        self.world, self.root = world, str(root)
        self.full = False
        self.broken = 0
        """So many of the next calls that write fail with EIO."""
        self._dirty: set[str] = set()
        self._changes: list[Change] = []
        self._order: dict[str, int] = {}
        """When a name was made, which is the order that a folder is read in."""
        self._real = {name: getattr(os, name) for name in CALLS}

    # ---------------------------------------------------------------------------------------- faults

    def lose(self) -> None:
        """The power failed: of each folder the last changes that were not flushed, of each file the end."""
        rng = self.world.rng
        kept = {}
        for folder in dict.fromkeys(one.folder for one in self._changes):
            kept[folder] = rng.randint(0, sum(one.folder == folder for one in self._changes))
        lost = []
        for one in self._changes:
            kept[one.folder] -= 1
            if kept[one.folder] < 0:
                lost.append(one)
        for one in reversed(lost):
            one.undo()
        for name in sorted(self._dirty):
            if os.path.isfile(name):
                self._real["truncate"](name, rng.randint(0, os.path.getsize(name)))
        self._dirty.clear()
        self._changes.clear()

    def unflushed(self) -> set[str]:
        """The names of which a power failure may leave nothing."""
        return {one.name for one in self._changes}

    def _write_fault(self, path: str) -> None:
        if self.broken:
            self.broken -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    def _room(self, path: str) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    # ----------------------------------------------------------------------------------------- calls

    def _ours(self, path: Any) -> str | None:
        """The name of a file of the world, for a process of the world."""
        if self.world.current is None or isinstance(path, int):
            return None
        name = os.path.abspath(os.fsdecode(os.fspath(path)))
        return name if name.startswith(self.root) else None

    def _made(self, name: str) -> None:
        self._order[name] = len(self._order)

    def _change(self, name: str, undo: Callable[[], None]) -> None:
        self._changes.append(Change(name, undo))

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """``os.open``."""
        name = self._ours(path)
        if name is None:
            return int(self._real["open"](path, flags, mode, dir_fd=dir_fd))
        new = bool(flags & os.O_CREAT) and not os.path.exists(name)
        self.world.step(f"open {name[len(self.root) :] if not new else 'new'}")
        if new:
            self._write_fault(name)
            self._room(name)
        handle = int(self._real["open"](path, flags, mode))
        me = self.world.current
        if name.endswith("/lock") and me is not None:
            me.held.add(handle)
        if new:
            self._made(name)
            self._change(name, lambda: self._remove(name))
        return handle

    def close(self, handle: int) -> None:
        """``os.close``."""
        if self.world.current is not None:
            self.world.current.held.discard(handle)
        self._real["close"](handle)

    def _remove(self, name: str) -> None:
        self._dirty.discard(name)
        if os.path.isdir(name):
            shutil.rmtree(name, ignore_errors=True)
        elif os.path.lexists(name):
            self._real["unlink"](name)

    def _put(self, name: str, data: bytes) -> None:
        if os.path.isdir(os.path.dirname(name)):
            handle = self._real["open"](name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.write(handle, data)
            os.close(handle)

    def write(self, path: Any, put: Callable[[], Any], data: bytes = b"torn") -> Any:
        """A file's whole content; a full disk takes the beginning of ``data``."""
        name = self._ours(path)
        if name is None:
            return put()
        new = not os.path.exists(name)
        try:
            self.world.step("write")
            self._write_fault(name)
            self._room(name)
        except (Killed, OSError):
            if not new:
                self._put(name, data[: len(data) // 2])
                self._dirty.add(name)
            raise
        done = put()
        if new:
            self._made(name)
            self._change(name, lambda: self._remove(name))
        self._dirty.add(name)
        return done

    def fsync(self, handle: int) -> None:
        """``os.fsync``."""
        if self.world.current is None:
            return
        name = os.readlink(f"/proc/self/fd/{handle}")
        self.world.step("fsync")
        self._write_fault(name)
        self._dirty.discard(name)
        self._changes = [one for one in self._changes if one.folder != name]

    def replace(self, path: Any, to: Any, **_: Any) -> None:
        """``os.replace``."""
        name, target = self._ours(path), self._ours(to)
        if name is None or target is None:
            self._real["replace"](path, to)
            return
        self.world.step("rename")
        self._write_fault(name)
        old = Path(target).read_bytes() if os.path.exists(target) else None
        new = Path(name).read_bytes()
        dirty = name in self._dirty
        self._real["replace"](path, to)
        self._dirty -= {name, target}
        if dirty:
            self._dirty.add(target)
        self._made(target)

        def undo() -> None:
            self._put(name, new)
            self._remove(target)
            if old is not None:
                self._put(target, old)

        self._change(target, undo)

    def unlink(self, path: Any, **_: Any) -> None:
        """``os.unlink``."""
        name = self._ours(path)
        if name is None:
            self._real["unlink"](path, **_)
            return
        self.world.step("unlink")
        old = Path(name).read_bytes() if os.path.isfile(name) else None
        self._real["unlink"](path)
        if old is not None:
            data, dirty = old, name in self._dirty
            self._dirty.discard(name)

            def undo() -> None:
                self._put(name, data)
                if dirty:
                    self._dirty.add(name)

            self._change(name, undo)

    def mkdir(self, path: Any, mode: int = 0o777, **_: Any) -> None:
        """``os.mkdir``."""
        name = self._ours(path)
        if name is None:
            self._real["mkdir"](path, mode, **_)
            return
        self.world.step("mkdir")
        if not os.path.exists(name):
            self._write_fault(name)
            self._room(name)
        self._real["mkdir"](path, mode)
        self._made(name)
        self._change(name, lambda: self._remove(name))

    def scandir(self, path: Any = ".") -> Any:
        """``os.scandir``."""
        name = self._ours(path)
        if name is None:
            return self._real["scandir"](path)
        self.world.step("scandir")
        with self._real["scandir"](path) as found:
            return Entries(sorted(found, key=lambda one: self._order.get(os.path.join(name, one.name), -1)))

    def listdir(self, path: Any = ".") -> list[str]:
        """``os.listdir``."""
        name = self._ours(path)
        if name is None:
            return list(self._real["listdir"](path))
        return [one.name for one in self.scandir(path)]

    def kill(self, pid: int, number: int) -> None:
        """``os.kill``: whether a process of the world is there."""
        if self.world.current is None:
            self._real["kill"](pid, number)
        elif not any(one.pid == pid and one.alive and not one.ended for one in self.world.processes):
            raise ProcessLookupError

    def getpid(self) -> int:
        """``os.getpid``."""
        me = self.world.current
        return int(self._real["getpid"]()) if me is None else me.pid

    def truncate(self, path: Any, length: int) -> None:
        """``os.truncate``, which the product does not call."""
        self._real["truncate"](path, length)

    @contextmanager
    def mounted(self) -> Iterator[None]:
        """Until the block ends, files below the root are reached by these calls."""
        with ExitStack() as held:
            for name in CALLS:
                held.enter_context(patch.object(os, name, getattr(self, name)))
            write_bytes, write_text = pathlib.Path.write_bytes, pathlib.Path.write_text
            write_table, copyfile, opened = pq.write_table, shutil.copyfile, io.open
            read_schema, parquet = pq.read_schema, pq.ParquetFile
            host = socket.gethostname

            def looked(call: Callable[..., Any]) -> Callable[..., Any]:
                def look(path: Any, *rest: Any, **options: Any) -> Any:
                    if self._ours(path) is not None:
                        self.world.step("read")
                    return call(path, *rest, **options)

                return look

            def written(path: Path, data: bytes) -> Any:
                return self.write(path, lambda: write_bytes(path, data), bytes(data))

            def texted(path: Path, data: str, **options: Any) -> Any:
                return self.write(path, lambda: write_text(path, data, **options), data.encode())

            def tabled(table: Any, path: Any, **options: Any) -> Any:
                return self.write(path, lambda: write_table(table, path, **options))

            def copied(source: Any, path: Any, **options: Any) -> Any:
                return self.write(path, lambda: copyfile(source, path, **options))

            def named() -> str:
                me = self.world.current
                return host() if me is None else me.node

            held.enter_context(patch.object(pathlib.Path, "write_bytes", written))
            held.enter_context(patch.object(pathlib.Path, "write_text", texted))
            held.enter_context(patch.object(pq, "write_table", tabled))
            held.enter_context(patch.object(pq, "read_schema", looked(read_schema)))
            held.enter_context(patch.object(pq, "ParquetFile", looked(parquet)))
            held.enter_context(patch.object(shutil, "copyfile", copied))
            held.enter_context(patch.object(io, "open", looked(opened)))
            held.enter_context(patch.object(socket, "gethostname", named))
            held.enter_context(patch.object(tempfile, "tempdir", f"{self.root}/tmp"))
            yield


CALLS = (
    *("open", "fsync", "replace", "unlink", "mkdir", "scandir", "listdir", "kill", "getpid"),
    *("close", "truncate"),
)
"""Of ``os``, that go through the disk."""
