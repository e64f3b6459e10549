"""Finding, loading and guarding users' algorithms, whose interface is :mod:`dstcc.extend`."""

from __future__ import annotations

import hashlib
import inspect
import math
import operator
import sys
import traceback
import types
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, NoReturn

from . import trust
from .errors import ExtensionError, InputError
from .extend import CongestionSetup, Item, PathView, SchedulerSetup, SubflowView, seed_of
from .frozen import dataclass
from .reading import read_bytes

GROUPS = {"congestion": "dstcc.congestion", "scheduler": "dstcc.schedulers"}
"""Entry-point group of each kind."""
METHODS = {"congestion": "on_ack", "scheduler": "pick"}
"""The method that makes a class one of the kind."""
MAX_WINDOW = float(1 << 40)
"""Segments: the engine's unlimited window."""
SHOWN = 200
"""Characters of an invalid return value that a message shows."""


@dataclass(frozen=True)
class Extension:
    """A user's class."""

    name: str
    """Its name in tables: the class's name, or the entry point's."""
    kind: str
    """``congestion`` or ``scheduler``."""
    cls: Callable[..., Any]
    origin: str
    """The file, or the package and its version."""
    sha256: str | None
    """Hash of the source file; ``None`` without one."""

    def document(self) -> dict[str, str | None]:
        """The entry in ``run.json``."""
        return {"name": self.name, "kind": self.kind, "origin": self.origin, "sha256": self.sha256}

    def control(self, *, seed: int, subflow: int, **known: Any) -> ControlCalls:
        """Make an instance for a subflow; the engine calls this with the other fields of its setup."""
        instance_seed = seed_of(self.kind, self.name, seed, subflow)
        made = self._make(CongestionSetup(seed=instance_seed, subflow=subflow, **known))
        interval_s = getattr(made, "interval_s", 0.0)
        if not isinstance(interval_s, (int, float)) or not 0 <= interval_s <= 1e9:
            raise ExtensionError(f"{self}: interval_s is {_shown(interval_s)}; must be seconds, 0 or more")
        return ControlCalls(self, made, float(interval_s))

    def scheduler(self, *, seed: int, **known: Any) -> SchedulerCalls:
        """Make an instance for a connection; the engine calls this with the other fields of its setup."""
        return SchedulerCalls(
            self, self._make(SchedulerSetup(seed=seed_of(self.kind, self.name, seed), **known))
        )

    def guard(self, method: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The method with its exceptions turned into :class:`ExtensionError`."""

        def guarded(*arguments: Any) -> Any:
            try:
                return call(*arguments)
            except (Exception, SystemExit) as error:  # Ctrl-C goes on
                self._failed(method, error)

        return guarded

    def _make(self, setup: CongestionSetup | SchedulerSetup) -> Any:
        return self.guard("__init__", self.cls)(setup)

    def _failed(self, method: str, error: BaseException) -> NoReturn:
        trace = error.__traceback__
        user_frames = trace.tb_next if trace is not None else None  # without the frame of dstcc
        details = "".join(traceback.format_exception(type(error), error, user_frames)).rstrip()
        raise ExtensionError(f"{self}: {method} raised {type(error).__name__}: {error}\n{details}") from error

    def __str__(self) -> str:
        return f"{self.name} ({self.origin})"


class ControlCalls:
    """The functions of a congestion control's instance that the engine calls."""

    view = SubflowView

    def __init__(self, extension: Extension, made: Any, interval_s: float) -> None:
        self.interval_s = interval_s
        self.on_ack = _windows(extension, "on_ack", made.on_ack)
        on_loss = getattr(made, "on_loss", None)
        self.on_loss = None if on_loss is None else _windows(extension, "on_loss", on_loss)


class SchedulerCalls:
    """The functions of a scheduler's instance that the engine calls."""

    path_view = PathView
    item_view = Item

    def __init__(self, extension: Extension, made: Any) -> None:
        guarded = extension.guard("pick", made.pick)

        def pick(paths: Any, ready: tuple[int, ...], item: Item, busy: tuple[int, ...]) -> int:
            chosen = guarded(paths, ready, item, busy)
            if chosen is None:
                return -1
            index = _index(chosen)
            if index not in ready:
                rule = f"must be one of ready = {ready}, or None to wait"
                raise ExtensionError(f"{extension}: pick returned {_shown(chosen)}; {rule}")
            return index

        self.pick = pick
        on_ack = getattr(made, "on_ack", None)
        self.on_ack = None if on_ack is None else extension.guard("on_ack", on_ack)


def _windows(extension: Extension, method: str, call: Callable[..., Any]) -> Callable[[SubflowView], Any]:
    """The method with its return values checked; the engine takes a number, or a pair of numbers."""

    def checked(view: SubflowView) -> Any:
        try:
            answer = call(view)
        except (Exception, SystemExit) as error:
            extension._failed(method, error)
        if type(answer) is float and 1.0 <= answer <= MAX_WINDOW:  # the most frequent case
            return answer
        window, pacing = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
        if not _is_in_range(window, 1.0, MAX_WINDOW):
            rule = "a window is a number of segments, at least 1 (and at most 2^40)"
            raise ExtensionError(f"{extension}: {method} returned {_shown(answer)}; {rule}")
        if pacing is None:
            return float(window)
        if not _is_in_range(pacing, math.ulp(0.0), 1e15):
            rule = "a pacing rate is a number of bit/s above 0, or None"
            raise ExtensionError(f"{extension}: {method} returned {_shown(answer)}; {rule}")
        return float(window), float(pacing)

    return checked


def is_file(name: str) -> bool:
    """Whether an algorithm's name is a ``file.py:ClassName``."""
    return ":" in name


def label(name: str) -> str:
    """Its name in tables: the class's name for a ``file.py:ClassName``, else the name."""
    return name.rpartition(":")[2] if is_file(name) else name


def anchored(name: str, folder: Path) -> str:
    """The name; a relative path of its file, if it has one, is resolved against ``folder``."""
    if not is_file(name):
        return name
    path, _, cls = name.rpartition(":")
    return f"{Path(folder, path)}:{cls}"


def load_named(name: str, kind: str) -> Extension:
    """As :func:`load`, of a name that a scenario has: what may not run (:mod:`.trust`) is refused.

    While nothing may run it is only looked at, and what is returned cannot be run.
    """
    if trust.only_looking():
        return look(name, kind)
    if is_file(name) and not trust.may_run(name):
        look(name, kind)
        raise InputError(
            f"{name}: Python that a scenario names runs only if you say so: --allow-extensions, or name it on the "
            "command line"
        )
    return load(name, kind)


def look(name: str, kind: str) -> Extension:
    """What can be known of an extension without running it; raises as :func:`load` does."""
    if not is_file(name):
        point = next(point for point in installed(kind) if point.name == name)
        return Extension(name, kind, _unrun, origin_of(point), None)
    path, cls_name, source = _source_of(name)
    try:
        names = trust.defined(source, str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise InputError(f"{path}{line}: fails on import ({type(error).__name__}: {error})") from None
    if names is not None and cls_name not in names:
        raise InputError(f"{path}: has no class {cls_name}")
    return Extension(cls_name, kind, _unrun, str(path), hashlib.sha256(source).hexdigest())


def _unrun(_setup: object) -> NoReturn:
    raise ExtensionError("an extension that was only looked at cannot run")


def load(name: str, kind: str) -> Extension:
    """Load a ``file.py:ClassName`` or an entry point.

    Raises :class:`InputError` naming the file and the rule when it is missing, fails on import, has no such
    class, or one without the kind's method.
    """
    return _from_file(name, kind) if is_file(name) else _from_entry_point(name, kind)


def installed(kind: str) -> tuple[EntryPoint, ...]:
    """The entry points of the kind, by name."""
    from importlib.metadata import entry_points  # with all of `email`: for names that are not built in

    return tuple(sorted(entry_points(group=GROUPS[kind]), key=lambda point: point.name))


def origin_of(point: EntryPoint) -> str:
    """The package and version that brought an entry point."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _source_of(name: str) -> tuple[Path, str, bytes]:
    """The file of a ``FILE.py:ClassName``, the class's name, and the file's content."""
    path_text, _, cls_name = name.rpartition(":")
    path = Path(path_text)
    if path.suffix != ".py" or not cls_name.isidentifier():
        raise InputError(f"{name}: an extension is named FILE.py:ClassName")
    try:
        return path, cls_name, read_bytes(path, InputError)
    except FileNotFoundError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def _from_file(name: str, kind: str) -> Extension:
    path, cls_name, source = _source_of(name)
    module = _module(path, source)
    cls = getattr(module, cls_name, None)
    if cls is None:
        classes = [n for n, value in vars(module).items() if hasattr(value, METHODS[kind])]
        hint = f"; it has {', '.join(classes)}" if classes else ""
        raise InputError(f"{path}: has no class {cls_name}{hint}")
    return Extension(
        cls_name, kind, _usable(cls, cls_name, kind, path), str(path), hashlib.sha256(source).hexdigest()
    )


@lru_cache(maxsize=64)
def _module(path: Path, source: bytes) -> types.ModuleType:
    """The file as a separate module, executed once per content."""
    module = types.ModuleType(f"dstcc_extension_{hashlib.sha256(source).hexdigest()[:12]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where dataclasses and pickle look
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
        ]
        line = f", line {lines[-1]}" if lines else ""
        raise InputError(f"{path}{line}: fails on import ({type(error).__name__}: {error})") from None
    return module


def _from_entry_point(name: str, kind: str) -> Extension:
    point = next(point for point in installed(kind) if point.name == name)
    origin = origin_of(point)
    try:
        cls = point.load()
    except (Exception, SystemExit) as error:
        raise InputError(f"{name} ({origin}): fails on import ({type(error).__name__}: {error})") from None
    try:
        source = Path(inspect.getsourcefile(cls) or "").read_bytes()
    except (OSError, TypeError):
        return Extension(name, kind, _usable(cls, name, kind, origin), origin, None)
    return Extension(name, kind, _usable(cls, name, kind, origin), origin, hashlib.sha256(source).hexdigest())


def _usable(cls: Any, name: str, kind: str, origin: object) -> Callable[..., Any]:
    if not isinstance(cls, type):
        raise InputError(f"{origin}: {name} is no class")
    if not callable(getattr(cls, METHODS[kind], None)):
        raise InputError(f"{origin}: {name} has no method {METHODS[kind]}, so it is no {_WHAT[kind]}")
    return cls


_WHAT = {"congestion": "congestion control", "scheduler": "scheduler"}


def _index(value: Any) -> int:
    """The value as a whole number, -1 if it is not one (subflows count from 0)."""
    try:
        return -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return -1


def _is_in_range(value: Any, low: float, high: float) -> bool:
    if isinstance(value, bool):
        return False
    try:
        return low <= float(value) <= high if hasattr(value, "__float__") else False
    except (TypeError, ValueError, OverflowError):
        return False


def _shown(value: Any) -> str:
    text = f"{value!r} ({type(value).__name__})"
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
