"""Too little memory (`ulimit -v`, a small machine) as an error like any other: one line, no traceback, no hang."""

from __future__ import annotations

import errno
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from mmap import mmap

from dstcc.errors import MissingCapabilityError

LEAST_BYTES = 1 << 30
"""Addresses that the libraries of `emulate` and `report` need, with some 200 MB to work in."""
LEAST_STACK = 512 << 10
"""Of stack: in 128 kB a parser of nested text ends the process. In 64 kB Python itself does, before any of this."""
LACKS_MEMORY = (
    "there is not enough memory, or not enough threads, for this command here (see `ulimit -a`); "
    "nothing half-written was left"
)
OF_MEMORY = (
    "failed to map segment from shared object",
    "annot allocate memory",
    "can't allocate",
    "can't start new thread",
    "Failed to launch worker thread",
    "ailed to allocate ",
    "failed to load glyph",
    "error return without exception set",
    "without setting an exception",
    ", not PosixPath",
    "PyObject pointer is null",
)
"""What libraries say for want of memory in errors of other kinds: the loader, torch, Python, Arrow, DuckDB, and
FreeType, which reads fonts through Python; Python of one whose MemoryError got lost, as in pyarrow's
``from_pylist``, and of a path, which is none to it where there is no memory to ask it; and extensions in Rust."""
BLAS = frozenset({"numpy", "scipy", "scipy.linalg"})
"""Modules whose import may load OpenBLAS."""
BLAS_BYTES = 128 << 20
"""Its code (25 MB), a buffer of 32 MB for its thread, and as much for what is imported with it."""


def least_memory() -> None:
    """Refuse to start under a limit (`ulimit -v`, `-s`) of fewer addresses, or of less stack, than the libraries need.

    Below it Arrow, pandas, the loader or parsers fail anywhere in their code: with errors of any kind, or with SIGSEGV.
    """
    stack = resource.getrlimit(resource.RLIMIT_STACK)[0]
    if stack != resource.RLIM_INFINITY and stack < LEAST_STACK:
        raise MissingCapabilityError(
            f"`ulimit -s` leaves {stack >> 10} kB of stack: a command needs {LEAST_STACK >> 10} at least"
        )
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < LEAST_BYTES:
        raise MissingCapabilityError(
            f"`ulimit -v` leaves {limit >> 20} MB of memory: a command needs {LEAST_BYTES >> 20} at least"
        )


def lacks_memory(error: BaseException) -> bool:
    """Whether an error, or one that it came of, is that memory or a thread could not be had."""
    seen: list[BaseException] = []
    while error not in seen:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        if any(words in str(error) for words in OF_MEMORY):
            return True
        seen.append(error)
        error = error.__cause__ or error.__context__ or error
    return False


def guard() -> None:
    """Let an import of OpenBLAS raise :class:`MemoryError` where there is no memory for it.

    OpenBLAS itself asks again without end. It gets one thread, as in a sweep's workers: trials have theirs.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if not any(isinstance(one, _Guard) for one in sys.meta_path):
        sys.meta_path.insert(0, _Guard())


@contextmanager
def unraised() -> Iterator[None]:
    """Say nothing of a MemoryError that nobody can catch, as of a generator that is closed: its result is there."""
    before = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_value is None or not lacks_memory(unraisable.exc_value):
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


class _Guard:
    """A finder that finds nothing."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Raise where there is no memory for a module of :data:`BLAS`; others find it."""
        if name in BLAS:
            try:
                mmap(-1, BLAS_BYTES).close()
            except OSError:
                raise MemoryError(f"no memory for {name}") from None
        return None
