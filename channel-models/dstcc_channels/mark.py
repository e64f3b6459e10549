"""The mark by which exports of links are recognised: ``dstcc: VERSION``, first in their header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dstcc.errors import InputError, printable
from dstcc.outputs import Kind, beginning
from dstcc.reading import read_json
from dstcc.version import __version__

KEY = "dstcc"
HEAD_LINES = 3
"""Lines that are searched for the mark; a shell script begins with its interpreter."""


def marked(meta: dict[str, Any]) -> dict[str, Any]:
    """An export's header with the program's version added."""
    return {KEY: __version__, **meta}


def comments(meta: dict[str, Any]) -> list[str]:
    """A header as lines of comments, of which no value can begin another line: that would be a row, or a command."""
    texts = {key: printable(str(value)).replace("\n", r"\n") for key, value in meta.items()}
    return [f"# {key}: {text}" for key, text in texts.items()]


def _no_export(path: Path) -> str | None:
    head = beginning(path)
    if head.startswith("{"):
        ours = _is_document(path)
    else:
        ours = any(line.startswith(f"# {KEY}: ") for line in head.split("\n")[:HEAD_LINES])
    return None if ours else "has no mark of an export of dstcc links"


def _is_document(path: Path) -> bool:
    try:
        document = read_json(path, InputError)
    except InputError:
        return False
    return isinstance(document, dict) and {KEY, "profile", "rows"} <= document.keys()


EXPORT = Kind("an export", _no_export)
"""What ``dstcc links`` writes for ``--netem`` and ``--trace``."""
