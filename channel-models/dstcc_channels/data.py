"""The tables that come with the package, and how error messages list their names."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

SHOWN_NAMES = 40
"""Names listed in a message at most."""


@cache
def rows(table: str) -> tuple[dict[str, str], ...]:
    """The rows of ``tables/TABLE``, column name to text; lines that start with ``#`` are comments."""
    text = files("dstcc_channels").joinpath("tables", table).read_text(encoding="utf-8")
    return tuple(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def nearest(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest that is known, and all of them."""
    names = list(known)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    listed = ", ".join(names[:SHOWN_NAMES]) + (", ..." if len(names) > SHOWN_NAMES else "")
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}allowed: {listed}"
