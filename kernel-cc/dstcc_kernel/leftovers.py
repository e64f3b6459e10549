"""Folders in a temporary folder whose maker is gone: the name says its process, a file inside that it is ours."""

from __future__ import annotations

import re
from pathlib import Path

from .remains import discard


def remove_leftovers(parent: Path, prefix: str, sign: str) -> None:
    """Remove what killed processes left in ``parent``: folders ``PREFIX`` + process + ``-`` + 8 random characters (as
    :func:`tempfile.mkdtemp` has them) that hold a file ``sign`` or nothing (:func:`.running.room` makes them so).

    Whatever else has such a name is somebody's own.
    """
    for left in parent.glob(f"{prefix}*"):
        made = re.fullmatch(rf"{re.escape(prefix)}([0-9]+)-[a-z0-9_]{{8}}", left.name)
        if made is None or left.is_symlink() or not left.is_dir():
            continue
        if Path("/proc", made[1]).exists():
            continue
        if (left / sign).is_file():
            discard(left)
        elif not any(left.iterdir()):
            left.rmdir()
