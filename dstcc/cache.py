"""The cache folder, for results that can be computed again."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "DSTCC_CACHE"
"""Environment variable with the cache folder."""


def cache_folder() -> Path:
    """``$DSTCC_CACHE``, or ``~/.cache/dstcc`` unless that is set."""
    given = os.environ.get(CACHE_VARIABLE)
    return Path(given) if given else Path.home() / ".cache" / "dstcc"
