"""Wrong versions of the product that a world must notice: ``python -m tests.sweeps.world --broken NAME``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

BROKEN: dict[str, tuple[str, str, str]] = {
    "a file is not flushed": (
        "dstcc.atomic",
        "            _fsync_file(temporary)\n            temp",
        "            temp",
    ),
    "a name is not flushed": (
        "dstcc.atomic",
        "        temporary.unlink(missing_ok=True)\n        raise\n    with _named(given, path):\n        _fsync",
        "        temporary.unlink(missing_ok=True)\n        raise\n    if False:\n        _fsync",
    ),
    "a folder's name is not flushed": (
        "dstcc.atomic",
        "        for one in (path, *made):\n            _fsync_folder(one.parent)",
        "        pass",
    ),
    "a name that cannot be flushed is none's business": (
        "dstcc.atomic",
        "        if error.errno in OF_WRITING:",
        "        if False:",
    ),
    "results are written in place": (
        "dstcc.run.entries",
        "atomic_write(path, text, sweep=False)",
        "path.write_bytes(text.encode())",
    ),
    "parts are written in place": (
        "dstcc.sweeps.results",
        "    with atomic_file(path) as temporary:\n        pq",
        "    for temporary in [path]:\n        pq",
    ),
    "nobody locks": ("dstcc.sweeps.places", "fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass"),
    "fresh results go before they are in a part": (
        "dstcc.sweeps.results",
        "    numbers = sorted(plan.place[key] for key in rows)\n",
        "    numbers = sorted(plan.place[key] for key in rows)\n    for key in rows:\n        store.discard(key)\n",
    ),
    "parts go before they are in order": (
        "dstcc.sweeps.results",
        "    trials = [\n        write_part(",
        "    for part in old:\n        part.unlink(missing_ok=True)\n    trials = [\n        write_part(",
    ),
    "a worker answers before it keeps": (
        "dstcc.sweeps.worker",
        "    try:\n        keep(place, unit, outcome)",
        "    say(key=unit.key)\n    try:\n        keep(place, unit, outcome)",
    ),
    "a worker that died is not missed": (
        "dstcc.sweeps.executors.local",
        '            self._gone(worker, f"its worker {_ending(worker.process.returncode)}")\n',
        "",
    ),
    "what a dead worker had is carried by nobody": (
        "dstcc.sweeps.executors.local",
        "for place, unit in enumerate(worker.waiting):",
        "for place, unit in list(enumerate(worker.waiting))[:1]:",
    ),
    "a task of Slurm that is lost is waited for": (
        "dstcc.sweeps.executors.slurm",
        "if now - job.gone.setdefault(task, now) >= GRACE_S:",
        "if False:",
    ),
    "a task of Ray that hangs is not cancelled": (
        "dstcc.sweeps.executors.ray",
        "if not task.cancelled and now",
        "if False and now",
    ),
    "what has a result is carried again": (
        "dstcc.sweeps.results",
        "if not done[number] and unit.key not in fresh]",
        "if not done[number]]",
    ),
    "a trial in two parts counts twice": ("dstcc.sweeps.results", "    own = _once(own)\n", ""),
    "an orphan's temporary file stays": (
        "dstcc.atomic",
        "if owner and owner[1] == _machine() and not _alive(int(owner[2])):",
        "if False:",
    ),
}
"""By what is wrong: the module, its text, and the wrong one."""


class _Loader(SourceFileLoader):
    """Of a module with a wrong text."""

    texts: tuple[str, str]

    def source_to_code(self, data: Any, path: Any, **options: Any) -> Any:  # type: ignore[override]
        """Compile it."""
        right, wrong = self.texts
        text = bytes(data).decode()
        if text.count(right) != 1:
            raise ImportError(f"{path}: stands {text.count(right)} times: {right!r}")
        return super().source_to_code(text.replace(right, wrong), path, **options)

    def get_code(self, fullname: str) -> Any:
        """Never from a cache."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _Finder(MetaPathFinder):
    """Finds one module, broken."""

    def __init__(self, name: str) -> None:
        self.module, *texts = BROKEN[name]
        self.texts = (texts[0], texts[1])

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See :mod:`importlib`."""
        spec = PathFinder.find_spec(fullname, path) if fullname == self.module else None
        if spec is not None and spec.origin is not None:
            loader = _Loader(fullname, spec.origin)
            loader.texts = self.texts
            spec.loader = loader
        return spec


def break_product(name: str) -> None:
    """From now on the product is imported with this wrong text."""
    sys.meta_path.insert(0, _Finder(name))
