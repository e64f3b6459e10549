"""The cache folder, for results that can be computed again."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import MissingCapabilityError

CACHE_VARIABLE = "DSTCC_CACHE"
"""Environment variable with the cache folder."""


def cache_folder() -> Path:
    """``$DSTCC_CACHE``, or ``~/.cache/dstcc`` unless that is set."""
    given = os.environ.get(CACHE_VARIABLE)
    return Path(given) if given else Path.home() / ".cache" / "dstcc"


UNUSABLE = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST, errno.ENOENT)
"""Errors of a folder that cannot be made or written."""


def require_folder() -> None:
    """Raise :class:`~dstcc.errors.MissingCapabilityError` where the cache is something else than a folder."""
    path = cache_folder()
    there = next((one for one in (path, *path.absolute().parents) if os.path.lexists(one)), path)
    if not there.is_dir():
        raise MissingCapabilityError(f"the cache {path}: {there} is no folder; {REMEDY}")


@contextmanager
def written() -> Iterator[None]:
    """Have errors of a cache that cannot be written say so: :class:`~dstcc.errors.MissingCapabilityError`."""
    require_folder()
    try:
        yield
    except OSError as error:
        if error.errno not in UNUSABLE or not str(error.filename or "").startswith(str(cache_folder())):
            raise
        raise MissingCapabilityError(
            f"the cache {cache_folder()} cannot be written ({os.strerror(error.errno)}); {REMEDY}"
        ) from None


REMEDY = f"{CACHE_VARIABLE} names another folder"
